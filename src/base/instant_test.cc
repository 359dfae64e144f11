#include "base/instant.h"

#include <gtest/gtest.h>

namespace duecourse {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(Instant, ArithmeticStopsAtTheEndsInsteadOfWrapping) {
  EXPECT_EQ(Instant{kMax} + Millis{1}, Instant{kMax});
  EXPECT_EQ(Instant{kMin} - Millis{1}, Instant{kMin});
  EXPECT_EQ(Instant{kMax} - Instant{kMin}, Millis{kMax});
  EXPECT_EQ(Instant{0} - Millis{kMin}, Instant{kMax});
  EXPECT_EQ(kNever + Millis{kMax}, Instant{kMax});
  EXPECT_EQ(Instant{1000} + Seconds(1), Instant{2000});
}

TEST(Instant, IsWrittenAndReadAsUtc) {
  struct Row {
    const char* text;
    int64_t ms;
  };
  const Row rows[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"2026-12-01T00:01:00Z", 1'796'083'260'000},
      {"2024-02-29T23:59:59.999Z", 1'709'251'199'999},
      {"2000-02-29T12:00:00.007Z", 951'825'600'007},
      {"1969-12-31T23:59:59.999Z", -1},
      {"0000-03-01T00:00:00Z", -62'162'035'200'000},
      {"9999-12-31T23:59:59Z", kNever.ms},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(FormatUtc(Instant{row.ms}), row.text);
    ASSERT_TRUE(ParseUtc(row.text).ok()) << row.text;
    EXPECT_EQ(ParseUtc(row.text)->ms, row.ms) << row.text;
  }
}

TEST(Instant, EveryDayOfFourCenturiesComesBack) {
  for (int64_t day = -1; day < 146'097 + 1; ++day) {
    Instant instant{day * 86'400'000 + 1};
    ASSERT_EQ(*ParseUtc(FormatUtc(instant)), instant);
  }
}

TEST(Instant, AnOffsetInPlaceOfZIsTakenIntoAccount) {
  EXPECT_EQ(*ParseUtc("2026-12-01T08:01:00+08:00"), *ParseUtc("2026-12-01T00:01:00Z"));
  EXPECT_EQ(*ParseUtc("2026-11-30T18:31:00-05:30"), *ParseUtc("2026-12-01T00:01:00Z"));
  EXPECT_EQ(ParseUtc("2026-12-01T00:01:00.5Z")->ms % 1000, 500);
}

TEST(Instant, WhatIsNoInstantIsRefusedWithTheRightSpelling) {
  for (const char* text :
       {"", "2026-12-01", "2026-12-01T00:01:00", "2026-12-01 00:01:00Z", "2026-13-01T00:00:00Z",
        "2026-12-01T24:00:00Z", "2026-12-01T00:60:00Z", "2026-12-01T00:00:60Z", "2026-12-01T00:00:00.Z",
        "2026-12-01T00:00:00Z ", "2026-12-01T00:00:00+0800", "2026-12-01T00:00:00+25:00"}) {
    ASSERT_FALSE(ParseUtc(text).ok()) << text;
    EXPECT_NE(ParseUtc(text).error().message().find("2026-12-01T00:01:00Z"), std::string::npos);
  }
  ASSERT_FALSE(ParseUtc("2026-02-29T00:00:00Z").ok());
  EXPECT_NE(ParseUtc("2026-02-29T00:00:00Z").error().message().find("28 days"), std::string::npos);
  EXPECT_FALSE(ParseUtc("1900-02-29T00:00:00Z").ok());
}

TEST(Millis, AreWrittenAsPeopleWriteThem) {
  struct Row {
    int64_t ms;
    const char* text;
  };
  const Row rows[] = {
      {0, "0s"},          {250, "250ms"},    {1500, "1500ms"},      {90'000, "90s"},     {119'000, "119s"},
      {120'000, "2m"},    {300'000, "5m"},   {5'400'000, "1h30m"},  {172'800'000, "2d"}, {90'000'000, "1d1h"},
      {10'001, "10s1ms"}, {-90'000, "-90s"}, {-5'400'000, "-1h30m"}};
  for (const Row& row : rows) EXPECT_EQ(FormatMillis(Millis{row.ms}), row.text);
  EXPECT_EQ(FormatMillis(Millis{kMin}).substr(0, 13), "-106751991167");  // does not overflow
}

TEST(Millis, WhatIsWrittenIsReadBack) {
  for (int64_t ms :
       {0LL, 1LL, 999LL, 1000LL, 61'001LL, 119'999LL, 3'600'000LL, 86'399'999LL, 315'360'000'000LL}) {
    std::string text = FormatMillis(Millis{ms});
    ASSERT_TRUE(ParseMillis(text).ok()) << text;
    EXPECT_EQ(ParseMillis(text)->count, ms) << text;
  }
}

TEST(Millis, WhatIsNoSpanIsRefusedAndSaysWhy) {
  struct Row {
    const char* text;
    const char* why;
  };
  const Row rows[] = {{"", "missing"},
                      {"30", "write 30s, 30m or 30h"},
                      {"1.5h", "whole numbers"},
                      {"-2d", "whole numbers"},
                      {"5 m", "whole numbers"},
                      {"h", "whole numbers"},
                      {"5m30", "whole numbers"},
                      {"5w", "whole numbers"},
                      {"30m1h", "largest to the smallest"},
                      {"1h1h", "largest to the smallest"},
                      {"3651d", "ten years"},
                      {"3650d1ms", "ten years"},
                      {"9223372036854775807s", "ten years"}};
  for (const Row& row : rows) {
    Result<Millis> span = ParseMillis(row.text);
    ASSERT_FALSE(span.ok()) << row.text;
    EXPECT_NE(span.error().message().find(row.why), std::string::npos) << span.error().message();
  }
}

}  // namespace
}  // namespace duecourse
