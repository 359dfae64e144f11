// What a wall shows: days and times of day of the proleptic Gregorian calendar, without a zone. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/instant.h"

namespace duecourse {

struct CivilDay {
  int32_t days = 0;  // since 1970-01-01
  friend constexpr auto operator<=>(CivilDay, CivilDay) = default;
  friend constexpr CivilDay operator+(CivilDay a, int n) { return {a.days + n}; }
  friend constexpr CivilDay operator-(CivilDay a, int n) { return {a.days - n}; }
};

struct YearMonthDay {
  int year = 1970;
  int month = 1;  // 1..12
  int day = 1;    // 1..31
  friend constexpr auto operator<=>(const YearMonthDay&, const YearMonthDay&) = default;
};

YearMonthDay ToYmd(CivilDay day);
CivilDay FromYmd(const YearMonthDay& ymd);  // CHECKs that the date exists
bool DateExists(int year, int month, int day);
int DaysInMonth(int year, int month);
int WeekdayOf(CivilDay day);  // 0 = Sunday .. 6 = Saturday

struct IsoWeek {
  int year = 1970;
  int week = 1;
};
IsoWeek IsoWeekOf(CivilDay day);

std::string FormatDay(CivilDay day);               // 2025-06-01
Result<CivilDay> ParseDay(std::string_view text);  // that, and nothing else

struct CivilTime {
  CivilDay day;
  int32_t second = 0;  // of the day, 0..86399
  friend constexpr auto operator<=>(CivilTime, CivilTime) = default;
};

// "HH:MM", "H:MM" or "HH:MM:SS" as seconds of the day. "24:00" is refused with a hint (an end of 00:00 is the
// next day).
Result<int32_t> ParseTimeOfDay(std::string_view text);
std::string FormatTimeOfDay(int32_t second);  // 02:00, with seconds where there are any

// A subset of strftime over a day and a time of day: %Y %m %d %H %M %S %j %y %G %V %u %a %b %%; %G%V is ISO
// year and week. Any other letter is an error that lists these.
Result<std::string> FormatCivil(std::string_view format, CivilTime time);

}  // namespace duecourse
