#include "time/cron_readings.h"

#include <bit>

namespace duecourse {
namespace {

constexpr int kSaturday = 6;
constexpr int kSunday = 0;

// The bits from n on, and the bits up to n. A shift by 64 is no shift at all, hence the tests.
constexpr uint64_t From(uint64_t bits, int n) { return n >= 64 ? 0 : bits & (~uint64_t{0} << n); }
constexpr uint64_t UpTo(uint64_t bits, int n) {
  return n < 0 ? 0 : n >= 63 ? bits : bits & ((uint64_t{2} << n) - 1);
}
constexpr uint64_t Below(uint64_t bits, int n) { return UpTo(bits, n - 1); }
constexpr int Lowest(uint64_t bits) { return std::countr_zero(bits); }
constexpr int Highest(uint64_t bits) { return 63 - std::countl_zero(bits); }

int64_t AtTime(int hour, int minute, int second) { return hour * 3600 + minute * 60 + second; }

uint32_t AllDays(int length) { return static_cast<uint32_t>(((uint64_t{1} << length) - 1) << 1); }

// The working day nearest to a day of the month, without leaving it.
int NearestWorkday(int day, int length, int weekday) {
  if (weekday == kSaturday) return day > 1 ? day - 1 : day + 2;
  if (weekday == kSunday) return day < length ? day + 1 : day - 2;
  return day;
}

}  // namespace

CronReadings::Month CronReadings::MonthOf(int year, int month) {
  return {year, month, FromYmd({year, month, 1}).days, DaysInMonth(year, month)};
}

bool CronReadings::YearNamed(int year) const {
  if (!cron_.has_years_) return true;
  int bit = year - kFirstYear;
  return bit >= 0 && bit < 256 && ((cron_.years_[bit >> 6] >> (bit & 63)) & 1) != 0;
}

bool CronReadings::MonthNamed(const Month& month) const {
  return ((cron_.months_ >> month.month) & 1) != 0 && YearNamed(month.year);
}

uint32_t CronReadings::MonthDays(const Month& month, int first_weekday) const {
  uint32_t out = cron_.days_;
  for (uint32_t left = cron_.last_minus_; left != 0; left &= left - 1) {
    int day = month.length - Lowest(left);
    if (day >= 1) out |= 1u << day;
  }
  for (uint32_t left = cron_.nearest_weekday_; left != 0; left &= left - 1) {
    int day = Lowest(left);
    if (day == 0) day = month.length;  // LW
    if (day > month.length) continue;
    out |= 1u << NearestWorkday(day, month.length, (first_weekday + day - 1) % 7);
  }
  return out;
}

uint32_t CronReadings::WeekdayDays(const Month& month, int first_weekday) const {
  // Seven bits turned so that bit 0 is the month's first day, then written five times side by side.
  uint32_t week = cron_.weekdays_;
  uint64_t turned = ((week | (week << 7)) >> first_weekday) & 0x7f;
  uint32_t out = static_cast<uint32_t>((turned * 0x1020'4081u) << 1);
  for (uint64_t left = cron_.nth_weekdays_; left != 0; left &= left - 1) {
    int weekday = Lowest(left) / 5;
    int nth = Lowest(left) % 5;
    int day = 1 + (weekday - first_weekday + 7) % 7 + nth * 7;
    if (day <= month.length) out |= 1u << day;
  }
  for (uint32_t left = cron_.last_weekdays_; left != 0; left &= left - 1) {
    int last_weekday = (first_weekday + month.length - 1) % 7;
    out |= 1u << (month.length - (last_weekday - Lowest(left) + 7) % 7);
  }
  return out;
}

uint32_t CronReadings::DaysIn(const Month& month) const {
  uint32_t all = AllDays(month.length);
  if (cron_.day_star_ && cron_.weekday_star_) return all;
  int first_weekday = WeekdayOf({month.first});
  if (cron_.day_star_) return WeekdayDays(month, first_weekday) & all;
  if (cron_.weekday_star_) return MonthDays(month, first_weekday) & all;
  uint32_t days = MonthDays(month, first_weekday);
  uint32_t weekdays = WeekdayDays(month, first_weekday);
  return (cron_.and_days_ ? days & weekdays : days | weekdays) & all;
}

bool CronReadings::Later(Month& month) const {
  uint64_t later = From(cron_.months_, month.month + 1);
  int year = month.year;
  // The usual step, to the month beside it, needs no calendar arithmetic.
  if (later != 0 && Lowest(later) == month.month + 1 && YearNamed(year)) {
    month = {year, month.month + 1, month.first + month.length, DaysInMonth(year, month.month + 1)};
    return true;
  }
  if (later == 0 || !YearNamed(year)) {
    do {
      if (++year > kLastYear + 1) return false;
    } while (!YearNamed(year));
    later = cron_.months_;
  }
  month = MonthOf(year, Lowest(later));
  return true;
}

bool CronReadings::Earlier(Month& month) const {
  uint64_t earlier = Below(cron_.months_, month.month);
  int year = month.year;
  if (earlier == 0 || !YearNamed(year)) {
    do {
      if (--year < kFirstYear - 1) return false;
    } while (!YearNamed(year));
    earlier = cron_.months_;
  }
  month = MonthOf(year, Highest(earlier));
  return true;
}

int64_t CronReadings::NextTime(int64_t second) const {
  int hour = static_cast<int>(second / 3600);
  int minute = static_cast<int>(second / 60 % 60);
  if ((cron_.hours_ >> hour) & 1) {
    if ((cron_.minutes_ >> minute) & 1) {
      uint64_t seconds = From(cron_.seconds_, static_cast<int>(second % 60));
      if (seconds != 0) return AtTime(hour, minute, Lowest(seconds));
    }
    uint64_t minutes = From(cron_.minutes_, minute + 1);
    if (minutes != 0) return AtTime(hour, Lowest(minutes), Lowest(cron_.seconds_));
  }
  uint64_t hours = From(cron_.hours_, hour + 1);
  if (hours == 0) return -1;
  return AtTime(Lowest(hours), Lowest(cron_.minutes_), Lowest(cron_.seconds_));
}

int64_t CronReadings::PreviousTime(int64_t second) const {
  int hour = static_cast<int>(second / 3600);
  int minute = static_cast<int>(second / 60 % 60);
  if ((cron_.hours_ >> hour) & 1) {
    if ((cron_.minutes_ >> minute) & 1) {
      uint64_t seconds = UpTo(cron_.seconds_, static_cast<int>(second % 60));
      if (seconds != 0) return AtTime(hour, minute, Highest(seconds));
    }
    uint64_t minutes = Below(cron_.minutes_, minute);
    if (minutes != 0) return AtTime(hour, Highest(minutes), Highest(cron_.seconds_));
  }
  uint64_t hours = Below(cron_.hours_, hour);
  if (hours == 0) return -1;
  return AtTime(Highest(hours), Highest(cron_.minutes_), Highest(cron_.seconds_));
}

int64_t CronReadings::TimesADay() const {
  return std::popcount(cron_.hours_) * std::popcount(cron_.minutes_) * std::popcount(cron_.seconds_);
}

int64_t CronReadings::TimesBelow(int64_t second) const {
  int hour = static_cast<int>(second / 3600);
  int minute = static_cast<int>(second / 60 % 60);
  int64_t a_minute = std::popcount(cron_.seconds_);
  int64_t an_hour = std::popcount(cron_.minutes_) * a_minute;
  int64_t times = std::popcount(Below(cron_.hours_, hour)) * an_hour;
  if (hour < 24 && ((cron_.hours_ >> hour) & 1)) {
    times += std::popcount(Below(cron_.minutes_, minute)) * a_minute;
    if ((cron_.minutes_ >> minute) & 1) {
      times += std::popcount(Below(cron_.seconds_, static_cast<int>(second % 60)));
    }
  }
  return times;
}

int64_t CronReadings::Next(int64_t reading) const {
  int64_t day = FloorDivide(reading, kDaySeconds);
  YearMonthDay ymd = ToYmd({static_cast<int32_t>(day)});
  Month month{ymd.year, ymd.month, static_cast<int32_t>(day) - (ymd.day - 1),
              DaysInMonth(ymd.year, ymd.month)};
  if (MonthNamed(month)) {
    uint32_t days = DaysIn(month) & (~0u << ymd.day);
    if ((days >> ymd.day) & 1) {
      int64_t time = NextTime(reading - day * kDaySeconds);
      if (time >= 0) return day * kDaySeconds + time;
      days &= days - 1;
    }
    if (days != 0) return (month.first + Lowest(days) - 1) * kDaySeconds + NextTime(0);
  }
  while (Later(month)) {
    uint32_t days = DaysIn(month);
    if (days != 0) return (month.first + Lowest(days) - 1) * kDaySeconds + NextTime(0);
  }
  return kNoLater;
}

int64_t CronReadings::Previous(int64_t reading) const {
  int64_t day = FloorDivide(reading, kDaySeconds);
  YearMonthDay ymd = ToYmd({static_cast<int32_t>(day)});
  Month month{ymd.year, ymd.month, static_cast<int32_t>(day) - (ymd.day - 1),
              DaysInMonth(ymd.year, ymd.month)};
  if (MonthNamed(month)) {
    uint64_t days = UpTo(DaysIn(month), ymd.day);
    if ((days >> ymd.day) & 1) {
      int64_t time = PreviousTime(reading - day * kDaySeconds);
      if (time >= 0) return day * kDaySeconds + time;
      days = Below(days, ymd.day);
    }
    if (days != 0) return (month.first + Highest(days) - 1) * kDaySeconds + PreviousTime(kDaySeconds - 1);
  }
  while (Earlier(month)) {
    uint32_t days = DaysIn(month);
    if (days != 0) return (month.first + Highest(days) - 1) * kDaySeconds + PreviousTime(kDaySeconds - 1);
  }
  return kNoEarlier;
}

int64_t CronReadings::CountDays(int64_t begin, int64_t end) const {
  int64_t count = 0;
  YearMonthDay ymd = ToYmd({static_cast<int32_t>(begin)});
  Month month = MonthOf(ymd.year, ymd.month);
  while (month.first < end) {
    if (MonthNamed(month)) {
      uint64_t days = DaysIn(month);
      if (month.first < begin) days = From(days, static_cast<int>(begin - month.first) + 1);
      if (month.first + month.length > end) days = UpTo(days, static_cast<int>(end - month.first));
      count += std::popcount(days);
    }
    int32_t next = month.first + month.length;
    month.year += month.month == 12 ? 1 : 0;
    month.month = month.month == 12 ? 1 : month.month + 1;
    month.first = next;
    month.length = DaysInMonth(month.year, month.month);
  }
  return count;
}

int64_t CronReadings::Count(int64_t begin, int64_t end) const {
  if (begin >= end) return 0;
  int64_t first = FloorDivide(begin, kDaySeconds);
  int64_t last = FloorDivide(end, kDaySeconds);  // only the part of it before `end`
  int64_t count = CountDays(first, last) * TimesADay();
  if (CountDays(first, first + 1) != 0) count -= TimesBelow(begin - first * kDaySeconds);
  if (end > last * kDaySeconds && CountDays(last, last + 1) != 0)
    count += TimesBelow(end - last * kDaySeconds);
  return count;
}

bool CronReadings::AnyDay() const {
  for (int year = kFirstYear; year <= kLastYear; ++year) {
    if (!YearNamed(year)) continue;
    for (uint32_t left = cron_.months_; left != 0; left &= left - 1) {
      if (DaysIn(MonthOf(year, Lowest(left))) != 0) return true;
    }
  }
  return false;
}

}  // namespace duecourse
