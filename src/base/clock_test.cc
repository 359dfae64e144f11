#include "base/clock.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace duecourse {
namespace {

// Reads until real time has moved on by the microseconds; no sleep, only readings.
void Spin(int64_t micros) {
  int64_t until = MonotonicMicros() + micros;
  while (MonotonicMicros() < until) {
  }
}

TEST(Clock, TheOffsetMovesTheWallClockOnly) {
  SystemClock plain;
  SystemClock later(Days(1));
  Millis apart = later.Wall() - plain.Wall();
  EXPECT_GE(apart, Days(1) - Millis{1000});
  EXPECT_LE(apart, Days(1) + Millis{1000});
  EXPECT_LE(later.Boot() - plain.Boot(), Millis{1000});
  EXPECT_LE(later.Monotonic() - plain.Monotonic(), Millis{1000});
}

TEST(Clock, AllThreeRunAtTheRate) {
  SystemClock fast({}, 1000.0);
  Instant wall = fast.Wall();
  Millis mono = fast.Monotonic();
  Millis boot = fast.Boot();
  Spin(5000);
  EXPECT_GE(fast.Wall() - wall, Millis{4000});
  EXPECT_GE(fast.Monotonic() - mono, Millis{4000});
  EXPECT_GE(fast.Boot() - boot, Millis{4000});
}

TEST(Clock, ThisBootHasOneId) {
  EXPECT_FALSE(BootId().empty());
  EXPECT_EQ(BootId(), BootId());
}

TEST(Random, TheSameSeedGivesTheSameNumbersOnEveryMachine) {
  Random random(42);
  // From a second implementation, written in another language.
  EXPECT_EQ(random.Next(), 1546998764402558742u);
  EXPECT_EQ(random.Next(), 6990951692964543102u);
  EXPECT_EQ(random.Next(), 12544586762248559009u);
}

TEST(Random, BetweenReachesBothEndsAndNothingElse) {
  Random random(1);
  int seen[3] = {};
  for (int i = 0; i < 3000; ++i) {
    int64_t drawn = random.Between(-1, 1);
    ASSERT_GE(drawn, -1);
    ASSERT_LE(drawn, 1);
    ++seen[drawn + 1];
  }
  for (int count : seen) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(random.Between(5, 5), 5);
  random.Between(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  EXPECT_DEATH(random.Between(2, 1), "low <= high");
}

TEST(Random, TokensAreHexAndDiffer) {
  std::string token = SecureToken(32);
  EXPECT_EQ(token.size(), 64u);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(token, SecureToken(32));
  EXPECT_NE(RandomSeed(), RandomSeed());
}

}  // namespace
}  // namespace duecourse
