#include <gtest/gtest.h>

#include "rule/occurrence.h"

namespace duecourse {
namespace {

Instant At(const std::string& utc) { return *ParseUtc(utc); }

// October 2026: Thursday 1 to Wednesday 7 off (the 3rd and 4th are a weekend), Saturday 10 working.
ServerConfig Settings() {
  Calendar calendar;
  calendar.name = "cn";
  for (const char* day : {"2026-10-01", "2026-10-02", "2026-10-05", "2026-10-06", "2026-10-07"}) {
    calendar.holidays.insert(*ParseDay(day));
  }
  calendar.workdays.insert(*ParseDay("2026-10-10"));
  calendar.covers = {2026};
  ServerConfig config;
  config.calendars.emplace_back("cn", calendar);
  return config;
}

Task MovingTask(const std::string& cron, const char* window_start, const char* window_end) {
  RuleBody rule;
  rule.trigger.schedule.zone = *Zone::Load("Asia/Shanghai");
  rule.trigger.schedule.kind = CronSchedule{*Cron::Parse(cron), {}};
  rule.trigger.calendar = "cn";
  rule.trigger.on_excluded = OnExcluded::kNextWorkday;
  if (window_start != nullptr) rule.trigger.window.start = *ParseTimeOfDay(window_start);
  if (window_end != nullptr) rule.trigger.window.end = *ParseTimeOfDay(window_end);
  rule.business_key = *Template::Parse("w:{business_date}");
  Task task;
  task.id = "t";
  task.body = std::make_shared<const RuleBody>(std::move(rule));
  return task;
}

TEST(MovedOccurrence, ItTakesItsWindowAlongAndKeepsIdentityDateAndKey) {
  const Task task = MovingTask("0 9 * * 1", "08:00", "12:00");  // Mondays; the 5th is a holiday
  const Occurrence moved = OccurrenceAt(task, 0, At("2026-10-05T01:00:00Z"), Settings());
  EXPECT_TRUE(moved.moved);
  EXPECT_EQ(moved.day, Occurrence::Day::kOpen);
  EXPECT_EQ(FormatUtc(moved.due), "2026-10-05T01:00:00Z");
  EXPECT_EQ(FormatUtc(moved.starts), "2026-10-08T01:00:00Z");
  EXPECT_EQ(FormatUtc(moved.window.opens), "2026-10-08T00:00:00Z");
  EXPECT_EQ(FormatUtc(moved.window.ends), "2026-10-08T04:00:00Z");
  EXPECT_EQ(FormatDay(moved.window.day), "2026-10-08");
  EXPECT_EQ(*RenderKey(task, 0, moved), "w:2026-10-05");
  EXPECT_EQ(moved.day_detail,
            "2026-10-05 (Monday) is a holiday in calendar cn; moved to 2026-10-08 (Thursday)");
  EXPECT_FALSE(DroppedAfterMove(task, 0, moved, Settings()));
}

TEST(MovedOccurrence, AWindowOverMidnightAndOneWithoutAnEndMoveTheSameWay) {
  const Task night = MovingTask("0 1 * * 2", "22:00", "02:00");  // Tuesday 01:00 is Monday's window
  const Occurrence moved = OccurrenceAt(night, 0, At("2026-10-05T17:00:00Z"), Settings());
  EXPECT_EQ(FormatUtc(moved.starts), "2026-10-08T17:00:00Z");
  EXPECT_EQ(FormatUtc(moved.window.opens), "2026-10-08T14:00:00Z");
  EXPECT_EQ(FormatDay(moved.business_date), "2026-10-05");
  const Task plain = MovingTask("0 9 * * 1", nullptr, nullptr);
  const Occurrence day = OccurrenceAt(plain, 0, At("2026-10-05T01:00:00Z"), Settings());
  EXPECT_EQ(day.window.opens, day.starts);
  EXPECT_EQ(day.window.ends - day.window.opens, Hours(24));
}

TEST(MovedOccurrence, OfSeveralMovedToOneDayTheNewestRemains) {
  const Task task = MovingTask("0 9 5,6,7 * *", "09:00", "12:00");
  const struct {
    const char* due;
    bool dropped;
  } rows[] = {
      {"2026-10-05T01:00:00Z", true}, {"2026-10-06T01:00:00Z", true}, {"2026-10-07T01:00:00Z", false}};
  for (const auto& row : rows) {
    const Occurrence occurrence = OccurrenceAt(task, 0, At(row.due), Settings());
    ASSERT_TRUE(occurrence.moved);
    EXPECT_EQ(DroppedAfterMove(task, 0, occurrence, Settings()), row.dropped) << row.due;
  }
}

TEST(MovedOccurrence, ItIsDroppedWhereThatDayHasItsOwn) {
  const Task daily = MovingTask("0 9 * * *", "09:00", "12:00");
  const Occurrence last = OccurrenceAt(daily, 0, At("2026-10-07T01:00:00Z"), Settings());
  ASSERT_TRUE(last.moved);
  EXPECT_TRUE(DroppedAfterMove(daily, 0, last, Settings()));
  const Occurrence own = OccurrenceAt(daily, 0, At("2026-10-08T01:00:00Z"), Settings());
  EXPECT_FALSE(own.moved);
  EXPECT_FALSE(DroppedAfterMove(daily, 0, own, Settings()));
}

TEST(MovedOccurrence, AnOccurrenceThatDaysExcludeOnThatDayIsNotItsOwn) {
  Task task = MovingTask("0 9 * * *", "09:00", "12:00");
  RuleBody rule = task.rule();
  rule.trigger.days = 1 << 3;  // Wednesdays
  task.body = std::make_shared<const RuleBody>(rule);
  const Occurrence wednesday = OccurrenceAt(task, 0, At("2026-10-07T01:00:00Z"), Settings());
  ASSERT_TRUE(wednesday.moved);  // to Thursday, whose own occurrence is not in days
  EXPECT_FALSE(DroppedAfterMove(task, 0, wednesday, Settings()));
  const Occurrence tuesday = OccurrenceAt(task, 0, At("2026-10-06T01:00:00Z"), Settings());
  EXPECT_FALSE(tuesday.moved);
  EXPECT_EQ(tuesday.day, Occurrence::Day::kExcluded);
}

TEST(MovedOccurrence, MinutelyOccurrencesOfALongHolidayAreJudgedWithoutWalkingThemAll) {
  const Task task = MovingTask("* * * * *", nullptr, nullptr);
  const Occurrence first = OccurrenceAt(task, 0, At("2026-09-30T16:00:00Z"), Settings());
  ASSERT_TRUE(first.moved);
  EXPECT_TRUE(DroppedAfterMove(task, 0, first, Settings()));
}

TEST(MovedOccurrence, AMoveIntoAYearWithoutDataIsUnknown) {
  ServerConfig config = Settings();
  config.calendars[0].second.holidays.insert(*ParseDay("2026-12-31"));
  const Task task = MovingTask("0 9 31 12 *", nullptr, nullptr);
  const Occurrence occurrence = OccurrenceAt(task, 0, At("2026-12-31T01:00:00Z"), config);
  EXPECT_EQ(occurrence.day, Occurrence::Day::kUnknown);
  EXPECT_FALSE(occurrence.moved);
  EXPECT_EQ(occurrence.day_detail, "calendar cn has no data for 2027");
}

TEST(Key, ItIsPrintableShortAndWithoutTheReservedMark) {
  Task task = MovingTask("0 9 * * *", nullptr, nullptr);
  const Occurrence occurrence = OccurrenceAt(task, 0, At("2026-10-08T01:00:00Z"), Settings());
  const struct {
    std::string value;
    const char* part;
  } rows[] = {
      {"a", ""},
      {"北京", ""},
      {std::string(500, 'x'), ""},
      {std::string(511, 'x'), "has 513 bytes, at most 512"},
      {"a\nb", "characters that do not print"},
      {"a\x1b[31m", "characters that do not print"},
      {std::string("a\0b", 3), "characters that do not print"},
      {"\xff", "characters that do not print"},
      {"a\xe2\x80\xae"
       "b",
       "characters that do not print"},
      {"a#r2", "'#', which is reserved"},
      {"", "{v} is empty"},
  };
  for (const auto& row : rows) {
    RuleBody rule = task.rule();
    rule.vars = {{"v", row.value}};
    rule.business_key = *Template::Parse("k:{v}");
    task.body = std::make_shared<const RuleBody>(rule);
    const Result<std::string> key = RenderKey(task, 0, occurrence);
    if (*row.part == '\0') {
      ASSERT_TRUE(key.ok()) << key.error().message();
      EXPECT_EQ(*key, "k:" + row.value);
    } else {
      ASSERT_FALSE(key.ok()) << *key;
      EXPECT_NE(key.error().message().find(row.part), std::string::npos) << key.error().message();
      EXPECT_EQ(key.error().message().find("business_key \"k:{v}\""), 0u);
    }
  }
}

TEST(Key, EachValueHasItsNames) {
  Task task = MovingTask("0 9 * * *", nullptr, nullptr);
  RuleBody rule = task.rule();
  rule.for_each = {{"channel=app", {{"channel", "app"}}, std::nullopt},
                   {"channel=web", {{"channel", "web"}}, std::nullopt}};
  rule.business_key = *Template::Parse("{task}:{channel}:{business_date}");
  task.body = std::make_shared<const RuleBody>(rule);
  const Occurrence occurrence = OccurrenceAt(task, 1, At("2026-10-08T01:00:00Z"), Settings());
  EXPECT_EQ(*RenderKey(task, 0, occurrence), "t:app:2026-10-08");
  EXPECT_EQ(*RenderKey(task, 1, occurrence), "t:web:2026-10-08");
}

}  // namespace
}  // namespace duecourse
