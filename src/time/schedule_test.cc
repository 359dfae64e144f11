#include "time/schedule.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace duecourse {
namespace {

Instant At(const char* text) { return *ParseUtc(text); }
CivilTime Local(const char* day, const char* time) { return {*ParseDay(day), *ParseTimeOfDay(time)}; }

std::string Next(const Schedule& schedule, Instant from, size_t count) {
  std::vector<std::string> out;
  std::optional<Instant> at = from;
  while (out.size() < count && (at = schedule.Next(*at))) out.push_back(FormatUtc(*at));
  return Join(out, ",");
}

std::string Back(const Schedule& schedule, Instant from, size_t count) {
  std::vector<std::string> out;
  std::optional<Instant> at = from;
  while (out.size() < count && (at = schedule.Previous(*at))) out.push_back(FormatUtc(*at));
  return Join(out, ",");
}

TEST(Schedule, CronIsReadInTheZoneWithItsDstRule) {
  Zone zone = *Zone::Load("America/New_York");
  DstRule skip{DstRule::Gap::kSkip, DstRule::Overlap::kSecond};
  Schedule schedule{CronSchedule{*Cron::Parse("30 1,2 * * *"), skip}, zone};
  EXPECT_EQ(Next(schedule, At("2026-03-08T05:00:00Z"), 2), "2026-03-08T06:30:00Z,2026-03-09T05:30:00Z");
  EXPECT_EQ(Next(schedule, At("2026-11-01T04:00:00Z"), 1), "2026-11-01T06:30:00Z");
  EXPECT_EQ(Back(schedule, At("2026-03-08T12:00:00Z"), 1), "2026-03-08T06:30:00Z");
  EXPECT_EQ(schedule.Count(At("2026-03-08T05:00:00Z"), At("2026-03-09T05:30:00Z")), 2);
}

TEST(Schedule, AnIntervalIsElapsedTimeFromItsAnchorBothWays) {
  Schedule schedule{EverySchedule{Hours(5), At("2026-03-08T00:00:00Z")}, *Zone::Load("America/New_York")};
  EXPECT_EQ(Next(schedule, At("2026-03-08T00:00:00Z"), 2), "2026-03-08T05:00:00Z,2026-03-08T10:00:00Z");
  EXPECT_EQ(Next(schedule, At("2026-03-07T00:00:00Z"), 1), "2026-03-07T04:00:00Z");
  EXPECT_EQ(Next(schedule, {At("2026-03-08T00:00:00Z").ms - 1}, 1), "2026-03-08T00:00:00Z");
  EXPECT_EQ(Back(schedule, At("2026-03-08T00:00:00Z"), 2), "2026-03-07T19:00:00Z,2026-03-07T14:00:00Z");
  EXPECT_EQ(Back(schedule, {At("2026-03-08T00:00:00Z").ms + 1}, 1), "2026-03-08T00:00:00Z");
  EXPECT_EQ(schedule.Count(At("2026-03-08T00:00:00Z"), At("2026-03-08T10:00:00Z")), 2);
  EXPECT_EQ(schedule.Count(At("2026-03-07T20:00:00Z"), At("2026-03-08T09:59:59Z")), 2);
  EXPECT_EQ(schedule.Count(At("2026-03-08T10:00:00Z"), At("2026-03-08T00:00:00Z")), 0);
}

TEST(Schedule, AnIntervalFarFromItsAnchorDoesNotOverflow) {
  Schedule schedule{EverySchedule{Millis{1}, At("2026-01-01T00:00:00Z")}, Zone::Utc()};
  EXPECT_EQ(schedule.Next({INT64_MAX}), std::nullopt);
  EXPECT_EQ(schedule.Previous({INT64_MIN}), std::nullopt);
  EXPECT_GT(schedule.Count({INT64_MIN}, {INT64_MAX}), 0);
}

TEST(Schedule, ListedTimesMoveOutOfGapsAndTakeTheFirstPass) {
  AtSchedule at{{Local("2026-03-08", "02:10"), Local("2026-03-08", "02:30"), Local("2026-11-01", "01:30"),
                 Local("2026-12-24", "18:00")}};
  Schedule schedule{at, *Zone::Load("America/New_York")};
  const char* all = "2026-03-08T07:00:00Z,2026-11-01T05:30:00Z,2026-12-24T23:00:00Z";
  EXPECT_EQ(Next(schedule, At("2026-01-01T00:00:00Z"), 9), all);
  EXPECT_EQ(Back(schedule, At("2027-01-01T00:00:00Z"), 9),
            "2026-12-24T23:00:00Z,2026-11-01T05:30:00Z,2026-03-08T07:00:00Z");
  EXPECT_EQ(schedule.Count(At("2026-01-01T00:00:00Z"), At("2027-01-01T00:00:00Z")), 3);
  EXPECT_EQ(schedule.Count(At("2026-03-08T07:00:00Z"), At("2026-11-01T05:30:00Z")), 1);
  EXPECT_EQ(schedule.Next(At("2026-12-24T23:00:00Z")), std::nullopt);
  EXPECT_EQ(schedule.Previous(At("2026-03-08T07:00:00Z")), std::nullopt);
  EXPECT_EQ((Schedule{AtSchedule{}, Zone::Utc()}.Next({0})), std::nullopt);
}

TEST(Schedule, EqualSchedulesAreEqual) {
  Schedule a{CronSchedule{*Cron::Parse("0 2 * * *"), {}}, *Zone::Load("Asia/Shanghai")};
  Schedule b = a;
  EXPECT_EQ(a, b);
  b.zone = Zone::Utc();
  EXPECT_FALSE(a == b);
  b = a;
  std::get<CronSchedule>(b.kind).dst.gap = DstRule::Gap::kSkip;
  EXPECT_FALSE(a == b);
}

}  // namespace
}  // namespace duecourse
