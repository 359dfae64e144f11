#include "rule/test_lint.h"

namespace duecourse {
namespace {

std::string Rule(const std::string& cron, const std::string& zone = "UTC", const std::string& more = "") {
  return "task_id: t\ncron: \"" + cron + "\"\ntimezone: " + zone + "\nowner: data\nnoop: {}\n" + more;
}

TEST(LintSchedule, AWindowThatEndsBeforeItStartsSaysHowLongItIs) {
  const struct {
    const char* end;
    const char* told;  // empty: a night, which is meant
  } rows[] = {{"01:00", "open for 23h"}, {"02:00", "open for 1d"}, {"05:00", ""}};
  for (const auto& row : rows) {
    const Linted linted = CheckRules(
        StrCat("task_id: t\ncron: \"0 2 * * *\"\ntimezone: UTC\nnoop: {}\nwindow_start: \"02:00\"\n",
               "window_end: \"", row.end, "\"\n"));
    if (*row.told == '\0') {
      EXPECT_FALSE(linted.Has("window_long")) << linted.All();
    } else {
      EXPECT_NE(linted.Text("window_long").find(row.told), std::string::npos) << linted.All();
    }
  }
  EXPECT_FALSE(
      CheckRules("task_id: t\ncron: \"0 23 * * *\"\ntimezone: UTC\nnoop: {}\nwindow_start: \"22:00\"\n"
                 "window_end: \"04:00\"\n")
          .Has("window_long"));
}

TEST(LintTime, The31stIsNamedWithItsNextTwelveDates) {  // Scenario 91.
  const Linted linted = CheckRules(
      Rule("0 9 31 * *", "Asia/Shanghai", "business_key: \"a:{business_month}\"\n"), "2026-01-01T00:00:00Z");
  EXPECT_NE(linted.Text("short_months")
                .find("the next 12 dates are 2026-01-31, 2026-03-31, 2026-05-31, 2026-07-31, 2026-08-31, "
                      "2026-10-31, 2026-12-31, "
                      "2027-01-31, 2027-03-31, 2027-05-31, 2027-07-31, 2027-08-31"),
            std::string::npos)
      << linted.All();
  for (const char* fine : {"0 9 L * *", "0 9 28 * *", "0 9 31 1,3 *", "0 9 * * *"}) {
    EXPECT_FALSE(CheckRules(Rule(fine)).Has("short_months")) << fine;
  }
  EXPECT_TRUE(CheckRules(Rule("0 9 30 * *")).Has("short_months"));
}

TEST(LintTime, DaysOfTheMonthWithWeekdaysRunOnEither) {
  EXPECT_NE(CheckRules(Rule("0 9 1 * 1"))
                .Text("day_or_weekday")
                .find("either suffices; next 2026-02-16, 2026-02-23, 2026-03-01"),
            std::string::npos);
  EXPECT_TRUE(CheckRules(Rule("0 9 */2 * 1")).Has("day_star_step"));
  EXPECT_FALSE(CheckRules(Rule("0 9 */2 * 1")).Has("day_or_weekday"));
  for (const char* fine : {"0 9 1 * *", "0 9 * * 1", "0 9 1 * +1", "0 9 ? * 1"}) {
    const Linted linted = CheckRules(Rule(fine));
    EXPECT_FALSE(linted.Has("day_or_weekday") || linted.Has("day_star_step")) << fine;
  }
}

TEST(LintTime, AGapIsNamedWithItsDateAndBothInstants) {
  const std::string ny = "America/New_York";
  EXPECT_NE(
      CheckRules(Rule("30 2 * * *", ny))
          .Text("dst_gap")
          .find("02:30 does not exist on 2026-03-08 in America/New_York: due at the first instant after it, "
                "2026-03-08T03:00:00-04:00 (2026-03-08T07:00:00Z)"),
      std::string::npos);
  EXPECT_NE(CheckRules(Rule("30 2 * * *", ny, "dst: {gap: skip}\n")).Text("dst_gap").find("not due that day"),
            std::string::npos);
  // What somebody has decided is shown, not warned of.
  EXPECT_EQ(CheckRules(Rule("30 2 * * *", ny)).Of("dst_gap").at(0).severity, Finding::Severity::kWarning);
  for (const char* written : {"dst: {gap: skip}\n", "dst: {gap: after}\n"}) {
    EXPECT_EQ(CheckRules(Rule("30 2 * * *", ny, written)).Of("dst_gap").at(0).severity,
              Finding::Severity::kHint)
        << written;
  }
  EXPECT_EQ(CheckRules(Rule("30 2 * * *", ny, "dst: {overlap: second}\n")).Of("dst_gap").at(0).severity,
            Finding::Severity::kWarning);
  EXPECT_NE(
      CheckRules(Rule("*/20 2 * * *", ny)).Text("dst_named_hour").find("02:00 does not exist on 2026-03-08"),
      std::string::npos);
  for (const auto& [cron, zone] :
       {std::pair{"30 2 * * *", "Asia/Shanghai"}, std::pair{"0 3 * * *", "America/New_York"},
        std::pair{"*/15 * * * *", "America/New_York"}, std::pair{"30 2 * * 1-5", "America/New_York"},
        std::pair{"*/20 2 * * *", "Asia/Shanghai"}}) {
    const Linted linted = CheckRules(Rule(cron, zone));
    EXPECT_FALSE(linted.Has("dst_gap") || linted.Has("dst_named_hour")) << cron << " " << zone << "\n"
                                                                        << linted.All();
  }
  EXPECT_FALSE(CheckRules(Rule("30 2 * * *", ny, "days: mon-fri\n")).Has("dst_gap"))
      << "it is excluded on that Sunday anyway";
}

TEST(LintTime, AnOverlapIsAHintWithBothInstants) {
  const std::string ny = "America/New_York";
  const Linted first = CheckRules(Rule("30 1 * * *", ny));
  ASSERT_EQ(first.Of("dst_overlap").size(), 1u);
  EXPECT_EQ(first.Of("dst_overlap")[0].severity, Finding::Severity::kHint);
  EXPECT_NE(first.Text("dst_overlap")
                .find("01:30 comes twice on 2026-11-01 in America/New_York: due once, in the first pass, "
                      "2026-11-01T01:30:00-04:00 (2026-11-01T05:30:00Z)"),
            std::string::npos);
  EXPECT_NE(CheckRules(Rule("30 1 * * *", ny, "dst: {overlap: second}\n"))
                .Text("dst_overlap")
                .find("2026-11-01T06:30:00Z"),
            std::string::npos);
  EXPECT_NE(CheckRules(Rule("30 1 * * *", ny, "dst: {overlap: both}\nbusiness_key: \"t:{scheduled_at}\"\n"))
                .Text("dst_overlap")
                .find("in both passes"),
            std::string::npos);
  EXPECT_FALSE(CheckRules(Rule("0 * * * *", ny)).Has("dst_overlap"));
}

TEST(LintTime, EachValuesZoneIsLookedAtOnce) {
  const Linted linted = CheckRules(
      "task_id: t\ncron: \"30 2 * * *\"\ntimezone: \"{zone}\"\nowner: data\nnoop: {}\nwindow_end: +2h\n"
      "business_key: \"{task}:{user}:{date}\"\n"
      "for_each: [{user: a, zone: Asia/Tokyo}, {user: b, zone: America/New_York}, {user: c, zone: "
      "America/New_York}, {user: d, zone: Europe/Paris}]\n");
  EXPECT_EQ(linted.Of("dst_gap").size(), 2u) << linted.All();
}

TEST(LintTime, ADueTimeOutsideItsWindowIsTold) {
  const std::string more = "window_start: \"09:00\"\nwindow_end: \"12:00\"\n";
  EXPECT_NE(CheckRules(Rule("0 8 * * *", "UTC", more))
                .Text("due_outside_window")
                .find("due 2026-02-10T08:00:00+00:00, outside its window: it waits until the next one opens, "
                      "2026-02-10T09:00:00+00:00"),
            std::string::npos);
  EXPECT_FALSE(CheckRules(Rule("0 9 * * *", "UTC", more)).Has("due_outside_window"));
  EXPECT_TRUE(
      CheckRules(Rule("0 12 * * *", "UTC", more)).Has("due_outside_window"));  // The end is exclusive.
  EXPECT_FALSE(CheckRules(Rule("0 1 * * *", "UTC", "window_start: \"22:00\"\nwindow_end: \"02:00\"\n"))
                   .Has("due_outside_window"));
}

TEST(LintTime, DaysThatNeverMeetAreTold) {
  EXPECT_NE(CheckRules(Rule("0 9 * * 6", "UTC", "days: mon-fri\n"))
                .Text("always_excluded")
                .find("Saturday is not in days"),
            std::string::npos);
  EXPECT_FALSE(CheckRules(Rule("0 9 * * *", "UTC", "days: mon\n")).Has("always_excluded"));
}

TEST(LintTime, WhatIsPast) {
  const std::string at = "task_id: t\ntimezone: UTC\nowner: data\nnoop: {}\nat: ";
  const Linted past = CheckRules(at + "\"2026-01-01 09:00\"\n");
  EXPECT_NE(past.Text("at_past").find("error: t: trigger.at: at: 2026-01-01T09:00:00+00:00 is in the past"),
            std::string::npos);
  const Linted partly =
      CheckRules(at + "[\"2026-01-01 09:00\", \"2027-01-01 09:00\"]\nbusiness_key: \"t:{date}\"\n");
  EXPECT_FALSE(HasErrors(partly.findings));
  EXPECT_TRUE(partly.Has("at_partly_past"));
  // A daemon that is started again after the day must not refuse its rules.
  EXPECT_FALSE(HasErrors(LintRules(at + "\"2026-01-01 09:00\"\n", "2026-02-10T00:00:00Z", false).findings));
  EXPECT_NE(CheckRules(Rule("0 9 * * *", "UTC", "until: 2026-01-31\n"))
                .Text("never_due")
                .find("until 2026-01-31 is over"),
            std::string::npos);
  EXPECT_FALSE(CheckRules(Rule("0 9 * * *", "UTC", "until: 2026-02-10\n")).Has("never_due"));
}

TEST(LintTime, ACalendarThatEndsIsToldSixtyDaysBefore) {  // Scenario 94, the lint.
  const std::string rule = Rule("0 9 * * *", "Asia/Shanghai", "days: workdays\ncalendar: cn\n");
  const Linted november = CheckRules(rule, "2026-11-25T00:00:00Z");
  ASSERT_EQ(november.Of("calendar_ends").size(), 1u);
  EXPECT_EQ(november.Of("calendar_ends")[0].severity, Finding::Severity::kWarning);
  EXPECT_NE(november.Text("calendar_ends").find("calendar cn has no 2027: from 2027-01-01, in 37 days,"),
            std::string::npos)
      << november.All();
  EXPECT_TRUE(CheckRules(rule, "2026-11-02T00:00:00Z").Has("calendar_ends"));   // 60 days
  EXPECT_FALSE(CheckRules(rule, "2026-11-01T00:00:00Z").Has("calendar_ends"));  // 61 days
  EXPECT_NE(CheckRules(rule, "2027-01-04T00:00:00Z")
                .Text("calendar_ends")
                .find("calendar cn has no 2027: from today,"),
            std::string::npos);
  EXPECT_FALSE(
      CheckRules(Rule("0 9 * * *", "Asia/Shanghai", "allow_weekend: false\n"), "2026-11-25T00:00:00Z")
          .Has("calendar_ends"));
}

}  // namespace
}  // namespace duecourse
