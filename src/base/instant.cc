#include "base/instant.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"

namespace duecourse {
namespace {

constexpr int64_t kDayMs = 86'400'000;
constexpr int64_t kMaxSpanMs = 3650 * kDayMs;

struct Date {
  int64_t year;
  int month;
  int day;
};

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Days since 1970-01-01 of the proleptic Gregorian calendar. Years are counted from March, so that the leap
// day is the last of its year and the length of a month needs no table.
int64_t DaysOf(Date date) {
  int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  int64_t era = FloorDivide(year, 400);
  int64_t year_of_era = year - era * 400;
  int64_t month_from_march = (date.month + 9) % 12;
  int64_t day_of_year = (153 * month_from_march + 2) / 5 + date.day - 1;
  int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

Date DateOf(int64_t days) {
  days += 719'468;
  int64_t era = FloorDivide(days, 146'097);
  int64_t day_of_era = days - era * 146'097;
  int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t month_from_march = (5 * day_of_year + 2) / 153;
  int month = static_cast<int>(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
  int day = static_cast<int>(day_of_year - (153 * month_from_march + 2) / 5 + 1);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

int DaysInMonth(int64_t year, int month) {
  static constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[static_cast<size_t>(month - 1)];
}

// Takes digits off the front; false where fewer than `digits` are there.
bool TakeNumber(std::string_view& rest, int digits, int& value) {
  if (rest.size() < static_cast<size_t>(digits)) return false;
  value = 0;
  for (int i = 0; i < digits; ++i) {
    char c = rest[static_cast<size_t>(i)];
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  rest.remove_prefix(static_cast<size_t>(digits));
  return true;
}

bool TakeChar(std::string_view& rest, char wanted) {
  if (rest.empty() || rest.front() != wanted) return false;
  rest.remove_prefix(1);
  return true;
}

// ".5", ".123"; finer than a millisecond is cut off.
bool TakeFraction(std::string_view& rest, int& millis) {
  millis = 0;
  if (!TakeChar(rest, '.')) return true;
  int digits = 0;
  while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
    if (digits < 3) millis = millis * 10 + (rest.front() - '0');
    ++digits;
    rest.remove_prefix(1);
  }
  for (int i = digits; i < 3; ++i) millis *= 10;
  return digits >= 1 && digits <= 9;
}

// "Z" or "+08:00", as milliseconds east of UTC; nothing may follow.
bool TakeOffset(std::string_view rest, int64_t& offset_ms) {
  offset_ms = 0;
  if (rest == "Z") return true;
  if (rest.empty() || (rest.front() != '+' && rest.front() != '-')) return false;
  int sign = rest.front() == '-' ? -1 : 1;
  rest.remove_prefix(1);
  int hours = 0;
  int minutes = 0;
  if (!TakeNumber(rest, 2, hours) || !TakeChar(rest, ':') || !TakeNumber(rest, 2, minutes)) return false;
  offset_ms = sign * (hours * 3'600'000LL + minutes * 60'000LL);
  return rest.empty() && hours <= 23 && minutes <= 59;
}

struct Unit {
  std::string_view name;
  int64_t ms;
};
constexpr std::array<Unit, 5> kUnits = {
    {{"d", kDayMs}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

Error SpanError(std::string_view text, std::string_view why) {
  return Error(StrCat("\"", ShowBytes(text.substr(0, 40), false), "\" is no length of time: ", why));
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string FormatUtc(Instant instant) {
  int64_t days = FloorDivide(instant.ms, kDayMs);
  int64_t in_day = instant.ms - days * kDayMs;
  Date date = DateOf(days);
  std::array<char, 64> buffer{};
  int seconds = static_cast<int>(in_day / 1000);
  int millis = static_cast<int>(in_day % 1000);
  std::snprintf(buffer.data(), buffer.size(), "%04lld-%02d-%02dT%02d:%02d:%02d",
                static_cast<long long>(date.year), date.month, date.day, seconds / 3600, seconds / 60 % 60,
                seconds % 60);
  std::string out = buffer.data();
  if (millis != 0) {
    std::snprintf(buffer.data(), buffer.size(), ".%03d", millis);
    out += buffer.data();
  }
  return out + "Z";
}

Result<Instant> ParseUtc(std::string_view text) {
  Error error(StrCat("\"", ShowBytes(text.substr(0, 40), false),
                     "\" is no instant; write it like 2026-12-01T00:01:00Z or 2026-12-01T08:01:00+08:00"));
  std::string_view rest = text;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, millis = 0;
  int64_t offset_ms = 0;
  bool shaped = TakeNumber(rest, 4, year) && TakeChar(rest, '-') && TakeNumber(rest, 2, month) &&
                TakeChar(rest, '-') && TakeNumber(rest, 2, day) && TakeChar(rest, 'T') &&
                TakeNumber(rest, 2, hour) && TakeChar(rest, ':') && TakeNumber(rest, 2, minute) &&
                TakeChar(rest, ':') && TakeNumber(rest, 2, second) && TakeFraction(rest, millis) &&
                TakeOffset(rest, offset_ms);
  if (!shaped || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) return error;
  if (day < 1 || day > DaysInMonth(year, month)) {
    return Error(StrCat("\"", text, "\" is no instant: that month has ", DaysInMonth(year, month), " days"));
  }
  int64_t ms =
      DaysOf({year, month, day}) * kDayMs + hour * 3'600'000LL + minute * 60'000LL + second * 1000LL + millis;
  return Instant{ms - offset_ms};
}

std::string FormatMillis(Millis span) {
  if (span.count == 0) return "0s";
  std::string out = span.count < 0 ? "-" : "";
  // Counted downwards from zero, so that the smallest int64 has an absolute value too.
  int64_t left = span.count < 0 ? span.count : -span.count;
  bool whole_seconds = left % 1000 == 0;
  if (whole_seconds && left > -120'000) return out + std::to_string(-(left / 1000)) + "s";
  if (!whole_seconds && left > -10'000) return out + std::to_string(-left) + "ms";
  for (const Unit& unit : kUnits) {
    int64_t amount = left / unit.ms;
    if (amount == 0) continue;
    std::string digits = std::to_string(amount);
    out += digits.substr(1);  // without the minus
    out += unit.name;
    left -= amount * unit.ms;
  }
  return out;
}

Result<Millis> ParseMillis(std::string_view text) {
  if (text.empty()) return Error("a length of time is missing; write one like 30s, 5m or 1h30m");
  if (IsDigits(text)) {
    std::string number(text.substr(0, 20));
    return SpanError(text,
                     StrCat("the unit is missing; write ", number, "s, ", number, "m or ", number, "h"));
  }
  int64_t total = 0;
  size_t next_unit = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    int64_t number = 0;
    size_t digits = 0;
    for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; ++digits) {
      if (digits >= 15) return SpanError(text, "it is longer than ten years (3650d)");
      number = number * 10 + (rest[digits] - '0');
    }
    size_t name_length = std::min(rest.find_first_of("0123456789", digits), rest.size()) - digits;
    std::string_view name = rest.substr(digits, name_length);
    size_t unit = 0;
    while (unit < kUnits.size() && kUnits[unit].name != name) ++unit;
    if (digits == 0 || unit == kUnits.size()) {
      return SpanError(text, "expected whole numbers with a unit of ms, s, m, h or d, like 90s or 1h30m");
    }
    if (unit < next_unit)
      return SpanError(text, "units go from the largest to the smallest, each once, like 1h30m");
    if (number > kMaxSpanMs / kUnits[unit].ms) return SpanError(text, "it is longer than ten years (3650d)");
    total += number * kUnits[unit].ms;
    if (total > kMaxSpanMs) return SpanError(text, "it is longer than ten years (3650d)");
    next_unit = unit + 1;
    rest.remove_prefix(digits + name_length);
  }
  return Millis{total};
}

}  // namespace duecourse
