#include "time/civil.h"

#include <gtest/gtest.h>

namespace duecourse {
namespace {

CivilDay Day(const char* text) { return *ParseDay(text); }

TEST(Civil, DaysAndDatesAreEachOthersInverseOverEightHundredYears) {
  YearMonthDay before = ToYmd({-200'000});
  for (int32_t days = -199'999; days < 100'000; ++days) {
    YearMonthDay ymd = ToYmd({days});
    ASSERT_EQ(FromYmd(ymd).days, days);
    bool next_day = ymd.day == before.day + 1 && ymd.month == before.month;
    bool next_month = ymd.day == 1 && before.day == DaysInMonth(before.year, before.month);
    ASSERT_TRUE(next_day || next_month) << days;
    before = ymd;
  }
}

TEST(Civil, WeekdaysAreThoseOfTheCalendar) {
  EXPECT_EQ(WeekdayOf(Day("1970-01-01")), 4);
  EXPECT_EQ(WeekdayOf(Day("1969-12-31")), 3);
  EXPECT_EQ(WeekdayOf(Day("1969-12-28")), 0);
  EXPECT_EQ(WeekdayOf(Day("2000-02-29")), 2);
  EXPECT_EQ(WeekdayOf(Day("2026-03-08")), 0);
}

TEST(Civil, LeapDaysFollowTheGregorianRule) {
  EXPECT_TRUE(DateExists(2000, 2, 29));
  EXPECT_FALSE(DateExists(1900, 2, 29));
  EXPECT_FALSE(DateExists(2100, 2, 29));
  EXPECT_TRUE(DateExists(2024, 2, 29));
  EXPECT_FALSE(DateExists(2025, 4, 31));
  EXPECT_FALSE(DateExists(2025, 13, 1));
  EXPECT_FALSE(DateExists(2025, 0, 1));
}

TEST(Civil, IsoWeeksBelongToTheYearOfTheirThursday) {
  struct Row {
    const char* day;
    int year;
    int week;
  };
  for (const Row& row :
       {Row{"2021-01-03", 2020, 53}, Row{"2021-01-04", 2021, 1}, Row{"2024-12-30", 2025, 1},
        Row{"2016-01-01", 2015, 53}, Row{"2026-12-31", 2026, 53}, Row{"2023-01-01", 2022, 52}}) {
    EXPECT_EQ(IsoWeekOf(Day(row.day)).year, row.year) << row.day;
    EXPECT_EQ(IsoWeekOf(Day(row.day)).week, row.week) << row.day;
  }
}

TEST(Civil, DatesAreReadOnlyInTheirOneForm) {
  EXPECT_EQ(FormatDay(Day("2025-06-01")), "2025-06-01");
  for (const char* wrong : {"2025-6-1", "20250601", "2025-02-30", "2025-13-01", "2025-00-10", "2025-06-01 ",
                            "", "0000-01-01", "2025-06-1x", "+025-06-01", "2025/06/01"}) {
    EXPECT_FALSE(ParseDay(wrong).ok()) << wrong;
  }
  EXPECT_EQ(ParseDay("2025-02-30").error().message(), "\"2025-02-30\" is no date: that month has 28 days");
}

TEST(Civil, TimesOfDayAreReadWithAndWithoutSeconds) {
  EXPECT_EQ(*ParseTimeOfDay("02:00"), 7200);
  EXPECT_EQ(*ParseTimeOfDay("2:00"), 7200);
  EXPECT_EQ(*ParseTimeOfDay("23:59:59"), 86'399);
  EXPECT_EQ(*ParseTimeOfDay("9:05:30"), 9 * 3600 + 330);
  EXPECT_EQ(FormatTimeOfDay(7200), "02:00");
  EXPECT_EQ(FormatTimeOfDay(86'399), "23:59:59");
  for (const char* wrong : {"", "1320", "2", "02:0", "02:60", "24:01", "25:00", "02:00:60",
                            "02:00:", "2:00am", "-1:00", "02.00", "002:00", "02:000", "+2:00"}) {
    EXPECT_FALSE(ParseTimeOfDay(wrong).ok()) << wrong;
  }
}

TEST(Civil, TwentyFourOClockIsRefusedWithTheRightSpelling) {
  EXPECT_NE(ParseTimeOfDay("24:00").error().message().find("write 00:00"), std::string::npos);
}

TEST(Civil, FormatsHoldDateTimeAndIsoWeek) {
  CivilTime time{Day("2024-12-30"), 2 * 3600 + 5 * 60 + 9};
  struct Row {
    const char* format;
    const char* text;
  };
  for (const Row& row : {Row{"%Y%m%d", "20241230"}, Row{"%H:%M:%S", "02:05:09"}, Row{"%j", "365"},
                         Row{"%y", "24"}, Row{"%G-W%V-%u", "2025-W01-1"}, Row{"%a %b", "Mon Dec"},
                         Row{"100%%", "100%"}, Row{"", ""}, Row{"plain", "plain"}}) {
    EXPECT_EQ(*FormatCivil(row.format, time), row.text);
  }
  EXPECT_EQ(*FormatCivil("%u", {Day("2024-12-29"), 0}), "7");
}

TEST(Civil, UnknownFormatLettersAreErrorsThatListTheKnownOnes) {
  for (const char* format : {"%Q", "%", "%Y-%", "%F", "%-d"}) {
    Result<std::string> text = FormatCivil(format, {});
    ASSERT_FALSE(text.ok()) << format;
    EXPECT_NE(text.error().message().find("%Y %m %d"), std::string::npos);
  }
}

}  // namespace
}  // namespace duecourse
