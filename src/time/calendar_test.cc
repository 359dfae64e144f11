#include "time/calendar.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace duecourse {
namespace {

CivilDay Day(const char* text) { return *ParseDay(text); }

std::string Show(std::optional<CivilDay> day) { return day ? FormatDay(*day) : "unknown"; }

// China 2025: 1 to 8 October off, 28 September and 11 October worked instead.
Calendar China() {
  Calendar calendar;
  for (int i = 1; i <= 8; ++i) calendar.holidays.insert(Day("2025-09-30") + i);
  calendar.workdays = {Day("2025-09-28"), Day("2025-10-11")};
  calendar.covers = {2025};
  return calendar;
}

std::string Ics(const std::string& events) {
  return StrCat("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n", events, "END:VCALENDAR\r\n");
}
std::string Event(const std::string& lines) {
  return StrCat("BEGIN:VEVENT\r\nUID:1\r\n", lines, "END:VEVENT\r\n");
}

std::string IcsError(const std::string& text) {
  Result<Calendar> calendar = ParseIcs(text);
  return calendar.ok() ? "accepted" : calendar.error().message();
}

TEST(Calendar, WeekendsHolidaysAndMadeUpDaysDecide) {
  Calendar calendar = China();
  EXPECT_EQ(calendar.IsWorkday(Day("2025-09-27")), false);  // a Saturday
  EXPECT_EQ(calendar.IsWorkday(Day("2025-09-28")), true);   // a Sunday, worked
  EXPECT_EQ(calendar.IsWorkday(Day("2025-09-30")), true);
  EXPECT_EQ(calendar.IsWorkday(Day("2025-10-08")), false);
  EXPECT_EQ(calendar.IsWorkday(Day("2025-10-11")), true);  // a Saturday, worked
  EXPECT_EQ(Show(calendar.NextWorkday(Day("2025-09-30"))), "2025-10-09");
  EXPECT_EQ(Show(calendar.PreviousWorkday(Day("2025-10-09"))), "2025-09-30");
  EXPECT_EQ(Show(calendar.NextWorkday(Day("2025-09-27"))), "2025-09-28");
}

TEST(Calendar, AYearThatIsNotCoveredIsNeverGuessed) {
  Calendar calendar = China();
  EXPECT_FALSE(calendar.Covers(Day("2026-01-05")));
  EXPECT_EQ(calendar.IsWorkday(Day("2026-01-05")), std::nullopt);
  EXPECT_EQ(Show(calendar.NextWorkday(Day("2025-12-31"))), "unknown");
  EXPECT_EQ(Show(calendar.PreviousWorkday(Day("2025-01-01"))), "unknown");
}

TEST(Calendar, OneOfWeekendsOnlyCoversEveryYear) {
  Calendar calendar;
  EXPECT_EQ(calendar.IsWorkday(Day("2031-03-01")), false);
  EXPECT_EQ(Show(calendar.NextWorkday(Day("2031-02-28"))), "2031-03-03");
  calendar.weekend = 0b1100000;  // Friday and Saturday
  EXPECT_EQ(calendar.IsWorkday(Day("2031-02-28")), false);
  EXPECT_EQ(calendar.IsWorkday(Day("2031-03-02")), true);
  calendar.weekend = 0b1111111;
  EXPECT_EQ(Show(calendar.NextWorkday(Day("2031-03-01"))), "unknown");
}

TEST(Ics, AllDayEventsAreHolidays) {
  std::string text = Ics(Event("DTSTART;VALUE=DATE:20250101\r\nSUMMARY:New Year\r\n") +
                         Event("DTSTART;VALUE=DATE:20251001\r\nDTEND;VALUE=DATE:20251009\r\n") +
                         Event("DTSTART;VALUE=DATE:20250501\r\nDURATION:P5D\r\n") +
                         Event("DTSTART;VALUE=DATE:20250601\r\nDURATION:P1W\r\n") +
                         Event("DTSTART;VALUE=DATE:20250928\r\nCATEGORIES:Holidays,Workday\r\n"));
  Result<Calendar> calendar = ParseIcs(text);
  ASSERT_TRUE(calendar.ok()) << calendar.error().message();
  EXPECT_EQ(calendar->holidays.size(), 1u + 8 + 5 + 7);
  EXPECT_EQ(calendar->holidays.count(Day("2025-10-08")), 1u);
  EXPECT_EQ(calendar->holidays.count(Day("2025-10-09")), 0u);
  EXPECT_EQ(calendar->workdays, std::set<CivilDay>{Day("2025-09-28")});
  EXPECT_EQ(calendar->covers, std::set<int>{2025});
}

TEST(Ics, FoldedLinesPlainLineEndsAndLowerCaseAreRead) {
  Result<Calendar> calendar = ParseIcs(
      "\xEF\xBB\xBF"
      "begin:vcalendar\nBEGIN:VEVENT\nDTST\n ART;VALUE=DA\n\tTE:2025\n "
      "0704\nSUMMARY;X=\"a:b\":Independence\n  Day\nEND:VEVENT\n"
      "\nEND:VCALENDAR");
  ASSERT_TRUE(calendar.ok()) << calendar.error().message();
  EXPECT_EQ(calendar->holidays, std::set<CivilDay>{Day("2025-07-04")});
}

TEST(Ics, CoverageGoesFromTheFirstStartToTheLast) {
  std::string text = Ics(Event("DTSTART;VALUE=DATE:20231225\r\n") +
                         Event("DTSTART;VALUE=DATE:20251231\r\nDURATION:P3D\r\n"));
  Result<Calendar> calendar = ParseIcs(text);
  ASSERT_TRUE(calendar.ok()) << calendar.error().message();
  EXPECT_EQ(calendar->covers, (std::set<int>{2023, 2024, 2025}));
}

TEST(Ics, TimedCancelledAndNestedThingsAreNoHolidays) {
  std::string zone =
      "BEGIN:VTIMEZONE\r\nTZID:X\r\nBEGIN:STANDARD\r\nDTSTART:19701101T020000\r\nRRULE:FREQ=YEARLY\r\n"
      "END:STANDARD\r\nEND:VTIMEZONE\r\n";
  std::string text =
      Ics(zone + Event("DTSTART:20250102T090000Z\r\nDTEND:20250102T100000Z\r\nRRULE:FREQ=DAILY\r\n") +
          Event("DTSTART;VALUE=DATE:20250103\r\nSTATUS:CANCELLED\r\n") +
          Event("DTSTART;VALUE=DATE:20250106\r\nBEGIN:VALARM\r\nDURATION:PT5M\r\nRRULE:X\r\nEND:VALARM\r\n"));
  Result<Calendar> calendar = ParseIcs(text);
  ASSERT_TRUE(calendar.ok()) << calendar.error().message();
  EXPECT_EQ(calendar->holidays, std::set<CivilDay>{Day("2025-01-06")});
}

TEST(Ics, WhatCannotBeReadIsAnErrorWithItsLine) {
  struct Row {
    std::string text;
    const char* error;
  };
  for (const Row& row : {
           Row{Ics(Event("DTSTART;VALUE=DATE:20250101\r\nRRULE:FREQ=YEARLY\r\n")),
               "line 3: the event repeats"},
           Row{Ics(Event("DTSTART;VALUE=DATE:20250230\r\n")), "line 5: DTSTART \"20250230\" is no date"},
           Row{Ics(Event("DTSTART;VALUE=DATE:20250105\r\nDTEND;VALUE=DATE:20250101\r\n")),
               "ends before it starts"},
           Row{Ics(Event("DTSTART;VALUE=DATE:20250101\r\nDTEND;VALUE=DATE:99991231\r\n")), "over 366 days"},
           Row{Ics(Event("DTSTART;VALUE=DATE:20250101\r\nDURATION:soon\r\n")), "line 6: DURATION \"soon\""},
           Row{Ics(Event("SUMMARY:no day\r\n")), "line 3: the event has no DTSTART"},
           Row{Ics(""), "there is no VEVENT"},
           Row{Ics(Event("DTSTART:20250102T090000Z\r\n")), "no all-day VEVENT"},
           Row{"2025-01-01\n2025-05-01\n", "line 1: there is no \":\""},
           Row{"a: b\n", "line 1: this is no .ics file"},
           Row{"", "there is no VEVENT"},
           Row{"BEGIN:VCALENDAR\nBEGIN:VEVENT\n", "END:vevent is missing"},
           Row{"BEGIN:VCALENDAR\nEND:VEVENT\n", "line 2: END:VEVENT closes what is not open"},
           Row{"BEGIN:VCALENDAR\nno colon\n", "line 2: there is no \":\""},
       }) {
    EXPECT_NE(IcsError(row.text).find(row.error), std::string::npos) << IcsError(row.text);
  }
}

TEST(Ics, LargeFilesAreBounded) {
  std::string lines(17u << 20, '\n');
  EXPECT_NE(IcsError(lines).find("larger than"), std::string::npos);
  std::string events = "BEGIN:VCALENDAR\n";
  for (int i = 0; i < 100'001; ++i) events += "BEGIN:VEVENT\nDTSTART:20250101\nEND:VEVENT\n";
  EXPECT_NE(IcsError(events).find("more than 100000 events"), std::string::npos);
  std::string nested = "BEGIN:VCALENDAR\n";
  for (int i = 0; i < 100'000; ++i) nested += "BEGIN:X\n";
  EXPECT_NE(IcsError(nested).find("nested too deeply"), std::string::npos);
  std::string folded = "BEGIN:VCALENDAR\nSUMMARY:x\n";
  for (int i = 0; i < 1'000'000; ++i) folded += " y\n";
  EXPECT_NE(IcsError(folded).find("cut off"), std::string::npos);
}

}  // namespace
}  // namespace duecourse
