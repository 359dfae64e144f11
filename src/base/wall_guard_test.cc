#include "base/wall_guard.h"

#include <gtest/gtest.h>

namespace duecourse {
namespace {

constexpr Millis kYear = Hours(365 * 24);
constexpr Millis kTenYears = Hours(3650 * 24);

class HandClock : public Clock {
 public:
  Instant Wall() const override { return Instant{1'700'000'000'000} + boot + leap; }
  Millis Monotonic() const override { return boot; }
  Millis Boot() const override {
    const Millis at = boot;
    boot = boot + drag;
    return at;
  }
  mutable Millis boot;
  Millis leap;
  Millis drag;  // what each reading of the boot clock takes
};

Instant Began(Millis after) { return Instant{1'700'000'000'000} + after; }

TEST(WallGuard, AClockThatIsSlewedIsFollowed) {
  HandClock machine;
  WallGuard guard(machine);
  for (int i = 1; i <= 100; ++i) {
    machine.boot = Seconds(i);
    machine.leap = Millis{1900 * i};  // far in all, never two seconds at once
    EXPECT_EQ(guard.Wall(), machine.Wall());
  }
  EXPECT_FALSE(guard.TakeNews().has_value());
}

TEST(WallGuard, ALeapThatDoesNotLastMovesNothing) {
  for (Millis leap : {kTenYears, Hours(1), Seconds(3), Millis{} - Hours(1), Millis{} - kTenYears}) {
    HandClock machine;
    WallGuard guard(machine);
    machine.leap = leap;
    for (int i = 1; i <= 59; ++i) {
      machine.boot = Seconds(i);
      EXPECT_EQ(guard.Wall(), Began(Seconds(i))) << leap.count;
    }
    std::optional<WallLeap> news = guard.TakeNews();
    ASSERT_TRUE(news.has_value());
    EXPECT_EQ(news->by, leap);
    EXPECT_FALSE(news->believed);
    EXPECT_FALSE(guard.TakeNews().has_value());
    machine.leap = Millis{};
    machine.boot = Seconds(70);
    EXPECT_EQ(guard.Wall(), Began(Seconds(70)));
    news = guard.TakeNews();
    ASSERT_TRUE(news.has_value());
    EXPECT_EQ(news->by, Millis{});
  }
}

TEST(WallGuard, ALeapThatLastsIsBelieved) {
  for (Millis leap : {Hours(1), Millis{} - Hours(1)}) {
    HandClock machine;
    WallGuard guard(machine);
    machine.boot = Seconds(1);
    machine.leap = leap;
    EXPECT_EQ(guard.Wall(), Began(Seconds(1)));
    guard.TakeNews();
    machine.boot = Seconds(61);
    EXPECT_EQ(guard.Wall(), Began(Seconds(61) + leap));
    std::optional<WallLeap> news = guard.TakeNews();
    ASSERT_TRUE(news.has_value());
    EXPECT_TRUE(news->believed);
    EXPECT_EQ(news->by, leap);
    machine.boot = Seconds(62);
    EXPECT_EQ(guard.Wall(), Began(Seconds(62) + leap));
    EXPECT_FALSE(guard.TakeNews().has_value());
  }
}

TEST(WallGuard, ASecondLeapBeginsItsOwnWait) {
  HandClock machine;
  WallGuard guard(machine);
  machine.boot = Seconds(1);
  machine.leap = Hours(1);
  guard.Wall();
  machine.boot = Seconds(50);
  machine.leap = Hours(2);
  EXPECT_EQ(guard.Wall(), Began(Seconds(50)));
  machine.boot = Seconds(62);
  EXPECT_EQ(guard.Wall(), Began(Seconds(62)));
  machine.boot = Seconds(110);
  EXPECT_EQ(guard.Wall(), Began(Seconds(110) + Hours(2)));
}

// The boot clock goes on while a machine is suspended, so waking up is no leap.
TEST(WallGuard, TimeThatTheBootClockSawPassIsNoLeap) {
  HandClock machine;
  WallGuard guard(machine);
  machine.boot = Hours(9);
  EXPECT_EQ(guard.Wall(), Began(Hours(9)));
  EXPECT_FALSE(guard.TakeNews().has_value());
}

TEST(WallGuard, ReadingsThatLieApartAreNotCompared) {
  HandClock machine;
  WallGuard guard(machine);
  machine.boot = Seconds(10);
  machine.drag = Seconds(30);  // stopped between two readings
  guard.Wall();
  EXPECT_FALSE(guard.TakeNews().has_value());
  machine.drag = Millis{};
  const Millis at = machine.boot;
  EXPECT_EQ(guard.Wall(), Began(at));
}

TEST(WallGuard, AWaitIsMeasuredFromTheTimeBelieved) {
  HandClock machine;
  WallGuard guard(machine);
  machine.boot = Seconds(1);
  machine.leap = kYear;
  EXPECT_EQ(guard.RealMillisUntil(Began(Seconds(4))), 3000);
}

}  // namespace
}  // namespace duecourse
