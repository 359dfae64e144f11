#include "rule/occurrence.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace duecourse {
namespace {

Schedule CronIn(const std::string& expression, const std::string& zone, DstRule dst = {}) {
  Schedule schedule;
  schedule.zone = *Zone::Load(zone);
  schedule.kind = CronSchedule{*Cron::Parse(expression), dst};
  return schedule;
}

RuleBody RuleOf(const std::string& expression, const std::string& zone, const std::string& key) {
  RuleBody rule;
  rule.trigger.schedule = CronIn(expression, zone);
  rule.business_key = *Template::Parse(key);
  return rule;
}

Task TaskOf(RuleBody rule, const std::string& id = "t") {
  Task task;
  task.id = id;
  task.body = std::make_shared<const RuleBody>(std::move(rule));
  return task;
}

Instant At(const std::string& utc) { return *ParseUtc(utc); }

void SetWindow(RuleBody* rule, const char* start, const char* end) {
  rule->trigger.window.start = *ParseTimeOfDay(start);
  rule->trigger.window.end = *ParseTimeOfDay(end);
  rule->trigger.window_end_written = true;
}

std::string KeyAt(const Task& task, const Occurrence& occurrence) {
  const Result<std::string> key = RenderKey(task, 0, occurrence);
  return key.ok() ? *key : "error: " + key.error().message();
}

// Everything due after `from` up to `through`, in order.
std::vector<Occurrence> Between(const Task& task, const std::string& from, const std::string& through,
                                const ServerConfig& config = {}) {
  std::vector<Occurrence> all;
  std::optional<Instant> due = NextDue(task.rule(), 0, At(from));
  for (; due && *due <= At(through); due = NextDue(task.rule(), 0, *due)) {
    all.push_back(OccurrenceAt(task, 0, *due, config));
  }
  return all;
}

// The calendar of scenario 94.
ServerConfig China() {
  Calendar calendar;
  calendar.name = "cn";
  for (const char* day :
       {"2026-09-25", "2026-10-01", "2026-10-02", "2026-10-05", "2026-10-06", "2026-10-07"}) {
    calendar.holidays.insert(*ParseDay(day));
  }
  for (const char* day : {"2026-09-20", "2026-10-10"}) calendar.workdays.insert(*ParseDay(day));
  calendar.covers = {2026};
  ServerConfig config;
  config.calendars.emplace_back("cn", calendar);
  return config;
}

TEST(Occurrence, ATimeInAGapIsDueAtItsEndWithTheNormalBusinessDate) {  // Scenario 33.
  RuleBody rule = RuleOf("30 2 * * *", "America/New_York", "close:{business_date}");
  SetWindow(&rule, "02:30", "05:00");
  const Task task = TaskOf(std::move(rule));
  const struct {
    const char* due;
    const char* key;
    const char* ends;
    const char* gap;
  } rows[] = {
      {"2026-03-07T07:30:00Z", "close:2026-03-07", "2026-03-07T10:00:00Z", ""},
      {"2026-03-08T07:00:00Z", "close:2026-03-08", "2026-03-08T09:00:00Z",
       "02:30 does not exist on 2026-03-08"},
      {"2026-03-09T06:30:00Z", "close:2026-03-09", "2026-03-09T09:00:00Z", ""},
  };
  const auto all = Between(task, "2026-03-07T05:00:00Z", "2026-03-10T04:00:00Z");
  ASSERT_EQ(all.size(), std::size(rows));
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(FormatUtc(all[i].due), rows[i].due);
    EXPECT_EQ(KeyAt(task, all[i]), rows[i].key);
    EXPECT_EQ(FormatUtc(all[i].window.ends), rows[i].ends);
    EXPECT_EQ(all[i].gap_detail, rows[i].gap);
    EXPECT_EQ(all[i].in_gap, *rows[i].gap != '\0');
  }
}

TEST(Occurrence, ATimeNamedAtTheGapsEndIsNotInTheGap) {
  const Task task = TaskOf(RuleOf("0 3 * * *", "America/New_York", "{task}"));
  const Occurrence occurrence = OccurrenceAt(task, 0, At("2026-03-08T07:00:00Z"), {});
  EXPECT_FALSE(occurrence.in_gap);
  const Task wild = TaskOf(RuleOf("*/15 * * * *", "America/New_York", "{task}"));
  EXPECT_FALSE(OccurrenceAt(wild, 0, At("2026-03-08T07:00:00Z"), {}).in_gap);
}

TEST(Occurrence, AnInstantAtWhichClocksAreSetBackIsInNoGap) {
  RuleBody rule = RuleOf("0 1 * * *", "America/New_York", "{window}");
  rule.trigger.schedule =
      CronIn("0 1 * * *", "America/New_York", {DstRule::Gap::kAfter, DstRule::Overlap::kSecond});
  const Task task = TaskOf(std::move(rule));
  const auto all = Between(task, "2026-11-01T04:00:00Z", "2026-11-02T00:00:00Z");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(FormatUtc(all[0].due), "2026-11-01T06:00:00Z");  // the first instant of the second pass
  EXPECT_FALSE(all[0].in_gap);
  EXPECT_EQ(KeyAt(task, all[0]), "0100b");
}

TEST(Occurrence, ARepeatedTimeIsDueOnceAndBothPassesHaveTheirOwnWindowName) {  // Scenario 34.
  for (const char* key : {"a:{business_date}", "b:{scheduled_at}"}) {
    const Task task = TaskOf(RuleOf("30 1 * * *", "America/New_York", key));
    const auto all = Between(task, "2026-10-31T04:00:00Z", "2026-11-03T05:00:00Z");
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(FormatUtc(all[0].due), "2026-10-31T05:30:00Z");
    EXPECT_EQ(FormatUtc(all[1].due), "2026-11-01T05:30:00Z");
    EXPECT_EQ(FormatUtc(all[2].due), "2026-11-02T06:30:00Z");
  }
  RuleBody rule = RuleOf("30 1 * * *", "America/New_York", "{business_date}:{window}");
  rule.trigger.schedule =
      CronIn("30 1 * * *", "America/New_York", {DstRule::Gap::kAfter, DstRule::Overlap::kBoth});
  const Task both = TaskOf(std::move(rule));
  const auto all = Between(both, "2026-11-01T04:00:00Z", "2026-11-02T00:00:00Z");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(KeyAt(both, all[0]), "2026-11-01:0130");
  EXPECT_EQ(KeyAt(both, all[1]), "2026-11-01:0130b");
}

TEST(Occurrence, AWeeklyKeyFollowsTheIsoYear) {  // Scenario 92.
  const Task weekly = TaskOf(RuleOf("0 9 * * 1", "Asia/Shanghai", "weekly:{iso_week}"));
  const auto all = Between(weekly, "2025-12-21T16:00:00Z", "2027-01-10T16:00:00Z");
  std::set<std::string> keys;
  for (const Occurrence& occurrence : all) keys.insert(KeyAt(weekly, occurrence));
  EXPECT_EQ(all.size(), 55u);
  EXPECT_EQ(keys.size(), 55u);
  EXPECT_EQ(KeyAt(weekly, all[0]), "weekly:2025-W52");
  EXPECT_EQ(KeyAt(weekly, all[1]), "weekly:2026-W01");
  EXPECT_EQ(KeyAt(weekly, all[2]), "weekly:2026-W02");
  EXPECT_EQ(KeyAt(weekly, all[53]), "weekly:2026-W53");
  EXPECT_EQ(KeyAt(weekly, all[54]), "weekly:2027-W01");

  const Task daily = TaskOf(RuleOf("0 10 * * *", "Asia/Shanghai", "once:{iso_week}"));
  for (const auto& [from, through] : {std::pair{"2025-12-28T16:00:00Z", "2026-01-04T16:00:00Z"},
                                      std::pair{"2026-12-27T16:00:00Z", "2027-01-03T16:00:00Z"}}) {
    std::set<std::string> in_week;
    for (const Occurrence& occurrence : Between(daily, from, through))
      in_week.insert(KeyAt(daily, occurrence));
    EXPECT_EQ(in_week.size(), 1u) << from;
  }
}

TEST(Occurrence, AWindowOverMidnightBelongsToTheDayOnWhichItOpens) {  // Scenario 93.
  RuleBody rule = RuleOf("0 22 * * *", "Asia/Shanghai", "batch:{business_date}");
  SetWindow(&rule, "22:00", "02:00");
  rule.trigger.days = 0b0111110;
  const Task task = TaskOf(std::move(rule));
  const auto all = Between(task, "2026-03-02T04:00:00Z", "2026-03-09T04:00:00Z");
  ASSERT_EQ(all.size(), 7u);  // Monday to Sunday evening.
  for (size_t i = 0; i < all.size(); ++i) {
    const Occurrence& occurrence = all[i];
    EXPECT_EQ(occurrence.day, i < 5 ? Occurrence::Day::kOpen : Occurrence::Day::kExcluded) << i;
    EXPECT_EQ(occurrence.window.ends - occurrence.window.opens, Hours(4));
    EXPECT_EQ(occurrence.window.opens, occurrence.due);
  }
  EXPECT_EQ(KeyAt(task, all[2]), "batch:2026-03-04");
  EXPECT_EQ(FormatUtc(all[2].window.ends), "2026-03-04T18:00:00Z");  // 02:00 on Thursday
  EXPECT_FALSE(all[2].window.Contains(all[2].window.ends));
  EXPECT_EQ(KeyAt(task, all[4]), "batch:2026-03-06");
  EXPECT_TRUE(all[4].window.Contains(At("2026-03-06T16:30:00Z")));  // Saturday 00:30 is Friday's window
  EXPECT_EQ(all[5].day_detail, "Saturday is not in days");
  EXPECT_EQ(all[6].day_detail, "Sunday is not in days");
}

TEST(Occurrence, ADueTimeAfterMidnightHasTheBusinessDateOfTheOpeningDay) {
  RuleBody rule = RuleOf("30 0 * * *", "Asia/Shanghai", "{business_date}");
  SetWindow(&rule, "22:00", "02:00");
  rule.trigger.days = 0b0111110;
  const Task task = TaskOf(std::move(rule));
  // Saturday 00:30 is Friday's; Sunday 00:30 is Saturday's and excluded; Monday 00:30 is Sunday's.
  const auto all = Between(task, "2026-03-06T12:00:00Z", "2026-03-08T18:00:00Z");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(KeyAt(task, all[0]), "2026-03-06");
  EXPECT_EQ(all[0].day, Occurrence::Day::kOpen);
  EXPECT_EQ(all[1].day, Occurrence::Day::kExcluded);
  EXPECT_EQ(all[2].day, Occurrence::Day::kExcluded);
}

TEST(Occurrence, WeekendsThatAreWorkingDaysRunAndHolidaysDoNot) {  // Scenario 94.
  RuleBody rule = RuleOf("0 9 * * *", "Asia/Shanghai", "s:{business_date}");
  SetWindow(&rule, "09:00", "10:00");
  rule.trigger.calendar = "cn";
  rule.trigger.workdays_only = true;
  const Task task = TaskOf(std::move(rule));
  std::vector<std::string> open;
  std::map<std::string, std::string> details;
  for (const Occurrence& occurrence :
       Between(task, "2026-09-17T16:00:00Z", "2026-10-12T15:59:59Z", China())) {
    const std::string day = FormatDay(occurrence.business_date);
    details[day] = occurrence.day_detail;
    if (occurrence.day == Occurrence::Day::kOpen) open.push_back(day);
  }
  EXPECT_EQ(open,
            (std::vector<std::string>{"2026-09-18", "2026-09-20", "2026-09-21", "2026-09-22", "2026-09-23",
                                      "2026-09-24", "2026-09-28", "2026-09-29", "2026-09-30", "2026-10-08",
                                      "2026-10-09", "2026-10-10", "2026-10-12"}));
  EXPECT_EQ(details["2026-09-19"], "2026-09-19 (Saturday) is no working day in calendar cn");
  EXPECT_EQ(details["2026-09-20"], "2026-09-20 (Sunday) is a made-up working day in calendar cn");
  EXPECT_EQ(details["2026-10-01"], "2026-10-01 (Thursday) is a holiday in calendar cn");

  const Occurrence unknown = OccurrenceAt(task, 0, At("2027-01-04T01:00:00Z"), China());
  EXPECT_EQ(unknown.day, Occurrence::Day::kUnknown);
  EXPECT_EQ(unknown.day_detail, "calendar cn has no data for 2027");
}

TEST(Occurrence, ANamedCalendarIsJudgedWithoutAllowWeekendToo) {
  RuleBody rule = RuleOf("0 9 * * *", "Asia/Shanghai", "{task}");
  rule.trigger.calendar = "cn";
  const Task task = TaskOf(rule);
  EXPECT_EQ(OccurrenceAt(task, 0, At("2026-10-01T01:00:00Z"), China()).day, Occurrence::Day::kExcluded);
  const Occurrence lost = OccurrenceAt(task, 0, At("2026-10-01T01:00:00Z"), {});
  EXPECT_EQ(lost.day, Occurrence::Day::kUnknown);
  EXPECT_EQ(lost.day_detail, "calendar cn is not in the settings");
  rule.trigger.calendar.clear();
  const Task free = TaskOf(rule);
  EXPECT_EQ(OccurrenceAt(free, 0, At("2026-10-03T01:00:00Z"), China()).day,
            Occurrence::Day::kOpen);  // a Saturday
}

TEST(Occurrence, BusinessDates) {
  using Kind = BusinessDateRule::Kind;
  const struct {
    Kind kind;
    int offset;
    const char* due;
    const char* date;
  } rows[] = {
      {Kind::kSameDay, 0, "2026-09-28T01:00:00Z", "2026-09-28"},
      {Kind::kPreviousDay, 0, "2026-09-28T01:00:00Z", "2026-09-27"},
      {Kind::kOffset, -2, "2026-09-28T01:00:00Z", "2026-09-26"},
      {Kind::kOffset, 3, "2026-09-28T01:00:00Z", "2026-10-01"},
      {Kind::kPreviousWorkday, 0, "2026-09-28T01:00:00Z", "2026-09-24"},  // the 25th is a holiday
      {Kind::kPreviousWorkday, 0, "2026-09-21T01:00:00Z", "2026-09-20"},  // a made-up working Sunday
      {Kind::kNextWorkday, 0, "2026-09-30T01:00:00Z", "2026-10-08"},
      {Kind::kSameDay, 0, "2026-09-27T16:30:00Z", "2026-09-28"},  // 00:30 in Shanghai
  };
  for (const auto& row : rows) {
    RuleBody rule = RuleOf("* * * * *", "Asia/Shanghai", "{business_date}");
    rule.trigger.business_date = {row.kind, row.offset};
    rule.trigger.calendar = "cn";
    const Task task = TaskOf(std::move(rule));
    const Occurrence occurrence = OccurrenceAt(task, 0, At(row.due), China());
    EXPECT_EQ(FormatDay(occurrence.business_date), row.date) << row.due;
    EXPECT_TRUE(occurrence.business_date_known);
    EXPECT_EQ(KeyAt(task, occurrence), row.date);
  }
}

TEST(Occurrence, WithoutACalendarWorkdaysAreMondayToFriday) {
  RuleBody rule = RuleOf("0 9 * * *", "UTC", "{business_date}");
  rule.trigger.business_date.kind = BusinessDateRule::Kind::kPreviousWorkday;
  const Task task = TaskOf(std::move(rule));
  EXPECT_EQ(KeyAt(task, OccurrenceAt(task, 0, At("2026-10-05T09:00:00Z"), {})), "2026-10-02");
  EXPECT_EQ(OccurrenceAt(task, 0, At("2026-10-04T09:00:00Z"), {}).day, Occurrence::Day::kOpen);
}

TEST(Occurrence, ABusinessDateThatNeedsAnUnknownYearIsNeverGuessed) {
  RuleBody rule = RuleOf("0 9 * * *", "Asia/Shanghai", "s:{business_month}");
  rule.trigger.business_date.kind = BusinessDateRule::Kind::kPreviousWorkday;
  rule.trigger.calendar = "cn";
  const Task task = TaskOf(rule);
  const Occurrence occurrence = OccurrenceAt(task, 0, At("2026-01-01T01:00:00Z"), China());
  EXPECT_EQ(occurrence.day, Occurrence::Day::kUnknown);
  EXPECT_EQ(occurrence.day_detail, "calendar cn has no data for 2025");
  EXPECT_FALSE(occurrence.business_date_known);
  EXPECT_EQ(KeyAt(task, occurrence),
            "error: business_key \"s:{business_month}\": the business date is not known: calendar cn has no "
            "data for 2025");
  rule.business_key = *Template::Parse("s:{scheduled_at}");
  EXPECT_EQ(KeyAt(TaskOf(rule), occurrence), "s:2026-01-01T01:00:00Z");
}

TEST(Occurrence, TheWindowWithoutAWrittenEndLastsUntilTheNextDueAtMostADay) {
  const struct {
    const char* cron;
    Millis length;
  } rows[] = {{"*/10 * * * *", Minutes(10)},
              {"0 9 * * *", Hours(24)},
              {"0 9 1 * *", Hours(24)},
              {"0 9,17 * * *", Hours(8)}};
  for (const auto& row : rows) {
    const Task task = TaskOf(RuleOf(row.cron, "UTC", "{task}"));
    const Occurrence occurrence = OccurrenceAt(task, 0, At("2026-05-01T09:00:00Z"), {});
    EXPECT_EQ(occurrence.window.opens, occurrence.due) << row.cron;
    EXPECT_EQ(occurrence.window.ends - occurrence.due, row.length) << row.cron;
    EXPECT_EQ(occurrence.start_limit, occurrence.window.ends);
  }
  Schedule once;
  once.kind = AtSchedule{{{*ParseDay("2026-05-01"), 9 * 3600}}};
  EXPECT_EQ(DefaultWindowLength(once, At("2026-05-01T09:00:00Z")), Hours(24));
}

TEST(Occurrence, MaxDelayIsAnEarlierEndAndNeverALaterOne) {
  RuleBody rule = RuleOf("0 9 * * *", "UTC", "{task}");
  SetWindow(&rule, "09:00", "12:00");
  rule.retry.max_delay = Minutes(90);
  EXPECT_EQ(OccurrenceAt(TaskOf(rule), 0, At("2026-05-01T09:00:00Z"), {}).start_limit,
            At("2026-05-01T10:30:00Z"));
  rule.retry.max_delay = Hours(10);
  EXPECT_EQ(OccurrenceAt(TaskOf(rule), 0, At("2026-05-01T09:00:00Z"), {}).start_limit,
            At("2026-05-01T12:00:00Z"));
}

TEST(Occurrence, UntilIsTheLastLocalDayOnWhichItIsDue) {
  RuleBody rule = RuleOf("0 23 * * *", "America/New_York", "{task}");
  rule.trigger.until = *ParseDay("2026-05-02");
  EXPECT_EQ(NextDue(rule, 0, At("2026-05-02T12:00:00Z")), At("2026-05-03T03:00:00Z"));  // the 2nd, 23:00
  EXPECT_EQ(NextDue(rule, 0, At("2026-05-03T03:00:00Z")), std::nullopt);
  EXPECT_EQ(PreviousDue(rule, 0, At("2027-01-01T00:00:00Z")), At("2026-05-03T03:00:00Z"));
  EXPECT_EQ(CountDue(rule, 0, At("2026-05-01T00:00:00Z"), At("2026-06-01T00:00:00Z")), 3);
  EXPECT_EQ(CountDue(rule, 0, At("2026-05-04T00:00:00Z"), At("2026-06-01T00:00:00Z")), 0);
}

}  // namespace
}  // namespace duecourse
