#include "net/retry_after.h"

#include <gtest/gtest.h>

namespace duecourse {
namespace {

TEST(RetryAfterTest, SecondsAndDatesAreRead) {
  const Instant now = *ParseUtc("1994-11-06T08:49:00Z");
  struct Row {
    const char* value;
    std::optional<Millis> wait;
  };
  const Row rows[] = {{"0", Seconds(0)},
                      {"120", Seconds(120)},
                      {" 7 ", Seconds(7)},
                      {"315360000", Days(3650)},
                      {"99999999999999999999", Seconds(999'999'999'999)},
                      {"Sun, 06 Nov 1994 08:49:37 GMT", Seconds(37)},
                      {"Sun, 06 Nov 1994 08:48:00 GMT", Seconds(0)},
                      {"Mon, 07 Nov 1994 08:49:00 GMT", Days(1)},
                      {"", std::nullopt},
                      {"-1", std::nullopt},
                      {"1.5", std::nullopt},
                      {"soon", std::nullopt},
                      {"Sun, 06 Nov 1994 08:49:37 CET", std::nullopt},
                      {"Sun, 06 Xyz 1994 08:49:37 GMT", std::nullopt},
                      {"Sun, 06 Nov 1994 28:49:37 GMT", std::nullopt},
                      {"Sun, xx Nov 1994 08:49:37 GMT", std::nullopt}};
  for (const Row& row : rows) {
    EXPECT_EQ(RetryAfterOf({{"Retry-After", row.value}}, now), row.wait) << row.value;
    EXPECT_EQ(RetryAfterOf({{"retry-after", row.value}}, now), row.wait) << row.value;
  }
  EXPECT_EQ(RetryAfterOf({{"Other", "1"}}, now), std::nullopt);
}

}  // namespace
}  // namespace duecourse
