#include "time/civil.h"

#include <array>
#include <cstdio>

#include "base/text.h"

namespace duecourse {
namespace {

constexpr std::array<std::string_view, 7> kWeekdays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

bool IsLeap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The number written in text[at, at + length), or -1 where it is not all digits.
int Digits(std::string_view text, size_t at, size_t length) {
  if (at + length > text.size()) return -1;
  int value = 0;
  for (char c : text.substr(at, length)) {
    if (!IsDigit(c)) return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::string Padded(int value, int width) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%0*d", width, value);
  return buffer.data();
}

std::string Quoted(std::string_view text) { return StrCat("\"", ShowBytes(text.substr(0, 40), false), "\""); }

int DayOfYear(const YearMonthDay& ymd) { return FromYmd(ymd).days - FromYmd({ymd.year, 1, 1}).days + 1; }

// The replacement of one letter, or nothing where the letter is not in the subset.
std::optional<std::string> Expand(char letter, const CivilTime& time) {
  YearMonthDay ymd = ToYmd(time.day);
  int weekday = WeekdayOf(time.day);
  switch (letter) {
    case 'Y':
      return Padded(ymd.year, 4);
    case 'm':
      return Padded(ymd.month, 2);
    case 'd':
      return Padded(ymd.day, 2);
    case 'H':
      return Padded(time.second / 3600, 2);
    case 'M':
      return Padded(time.second / 60 % 60, 2);
    case 'S':
      return Padded(time.second % 60, 2);
    case 'j':
      return Padded(DayOfYear(ymd), 3);
    case 'y':
      return Padded(ymd.year % 100, 2);
    case 'G':
      return Padded(IsoWeekOf(time.day).year, 4);
    case 'V':
      return Padded(IsoWeekOf(time.day).week, 2);
    case 'u':
      return Padded(weekday == 0 ? 7 : weekday, 1);
    case 'a':
      return std::string(kWeekdays[static_cast<size_t>(weekday)]);
    case 'b':
      return std::string(kMonths[static_cast<size_t>(ymd.month - 1)]);
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

}  // namespace

// Years are counted from March, so that the leap day is the last of its year and the days before a month
// follow from one line of arithmetic.
YearMonthDay ToYmd(CivilDay day) {
  int64_t shifted = static_cast<int64_t>(day.days) + 719'468;
  int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  uint32_t day_of_era = static_cast<uint32_t>(shifted - era * 146'097);
  uint32_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  uint32_t from_march = (5 * day_of_year + 2) / 153;
  int month = static_cast<int>(from_march < 10 ? from_march + 3 : from_march - 9);
  int year = static_cast<int>(static_cast<int64_t>(year_of_era) + era * 400) + (month <= 2 ? 1 : 0);
  return {year, month, static_cast<int>(day_of_year - (153 * from_march + 2) / 5 + 1)};
}

CivilDay FromYmd(const YearMonthDay& ymd) {
  CHECK(DateExists(ymd.year, ymd.month, ymd.day));
  int year = ymd.month <= 2 ? ymd.year - 1 : ymd.year;
  int era = (year >= 0 ? year : year - 399) / 400;
  int year_of_era = year - era * 400;
  int from_march = ymd.month > 2 ? ymd.month - 3 : ymd.month + 9;
  int day_of_year = (153 * from_march + 2) / 5 + ymd.day - 1;
  int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return {era * 146'097 + day_of_era - 719'468};
}

bool DateExists(int year, int month, int day) {
  return month >= 1 && month <= 12 && day >= 1 && day <= DaysInMonth(year, month);
}

int DaysInMonth(int year, int month) {
  static constexpr std::array<int8_t, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  CHECK(month >= 1 && month <= 12);
  return month == 2 && IsLeap(year) ? 29 : kDays[static_cast<size_t>(month - 1)];
}

int WeekdayOf(CivilDay day) {
  int64_t shifted = static_cast<int64_t>(day.days) + 4;  // 1970-01-01 was a Thursday
  return static_cast<int>(shifted >= 0 ? shifted % 7 : (shifted + 1) % 7 + 6);
}

// The week of a day is the week of its Thursday, and belongs to that Thursday's year.
IsoWeek IsoWeekOf(CivilDay day) {
  int weekday = WeekdayOf(day);
  YearMonthDay thursday = ToYmd(day + (4 - (weekday == 0 ? 7 : weekday)));
  return {thursday.year, (DayOfYear(thursday) - 1) / 7 + 1};
}

std::string FormatDay(CivilDay day) {
  YearMonthDay ymd = ToYmd(day);
  return StrCat(Padded(ymd.year, 4), "-", Padded(ymd.month, 2), "-", Padded(ymd.day, 2));
}

Result<CivilDay> ParseDay(std::string_view text) {
  int year = Digits(text, 0, 4);
  int month = Digits(text, 5, 2);
  int day = Digits(text, 8, 2);
  if (text.size() != 10 || text[4] != '-' || text[7] != '-' || year < 1 || month < 0 || day < 0) {
    return Error(StrCat(Quoted(text), " is no date; write it like 2025-06-01"));
  }
  if (month < 1 || month > 12) return Error(StrCat(Quoted(text), " is no date: months go from 01 to 12"));
  if (!DateExists(year, month, day)) {
    return Error(StrCat(Quoted(text), " is no date: that month has ", DaysInMonth(year, month), " days"));
  }
  return FromYmd({year, month, day});
}

Result<int32_t> ParseTimeOfDay(std::string_view text) {
  Error shape(StrCat(Quoted(text), " is no time of day; write it like 02:00 or 02:00:30"));
  size_t hour_digits = text.size() > 1 && text[1] == ':' ? 1 : 2;
  int hour = Digits(text, 0, hour_digits);
  size_t at = hour_digits;
  bool has_seconds = text.size() == at + 6;
  if (text.size() != at + 3 && !has_seconds) return shape;
  int minute = text[at] == ':' ? Digits(text, at + 1, 2) : -1;
  int second = !has_seconds ? 0 : text[at + 3] == ':' ? Digits(text, at + 4, 2) : -1;
  if (hour < 0 || minute < 0 || second < 0) return shape;
  if (hour == 24 && minute == 0 && second == 0) {
    return Error(StrCat(
        Quoted(text), " is no time of day; write 00:00 (an end of 00:00 is midnight at the end of the day)"));
  }
  if (hour > 23) return Error(StrCat(Quoted(text), " is no time of day: hours go from 00 to 23"));
  if (minute > 59 || second > 59) {
    return Error(StrCat(Quoted(text), " is no time of day: minutes and seconds go from 00 to 59"));
  }
  return hour * 3600 + minute * 60 + second;
}

std::string FormatTimeOfDay(int32_t second) {
  std::string out = StrCat(Padded(second / 3600, 2), ":", Padded(second / 60 % 60, 2));
  if (second % 60 != 0) out += StrCat(":", Padded(second % 60, 2));
  return out;
}

Result<std::string> FormatCivil(std::string_view format, CivilTime time) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    ++i;
    std::optional<std::string> text = i < format.size() ? Expand(format[i], time) : std::nullopt;
    if (!text) {
      return Error(StrCat("the format ", Quoted(format), " has ", Quoted(format.substr(i - 1, 2)),
                          ", which is none of %Y %m %d %H %M %S %j %y %G %V %u %a %b %%"));
    }
    out += *text;
  }
  return out;
}

}  // namespace duecourse
