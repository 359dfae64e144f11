// Which readings of a wall (local days and times, without a zone) an expression
// names. A reading is a count of seconds as in zone_data.h. Days come from bit
// sets made a month at a time, times of day from the bits of the three fields.
#pragma once

#include <cstdint>

#include "time/civil.h"
#include "time/cron.h"
#include "time/zone_data.h"

namespace duecourse {

class CronReadings {
 public:
  static constexpr int kFirstYear = 1970;
  static constexpr int kLastYear = 2199;
  static constexpr int64_t kNoLater = INT64_MAX;
  static constexpr int64_t kNoEarlier = INT64_MIN;

  // The expression must outlive this.
  explicit CronReadings(const Cron& cron) : cron_(cron) {}

  // The first named reading at or after, up to the local year 2200; kNoLater where there is none.
  int64_t Next(int64_t reading) const;
  // The last named reading at or before, back to the local year 1969; kNoEarlier where there is none.
  int64_t Previous(int64_t reading) const;
  // How many are named in [begin, end).
  int64_t Count(int64_t begin, int64_t end) const;
  bool Names(int64_t reading) const { return Next(reading) == reading; }
  // False for dates that never come.
  bool AnyDay() const;

 private:
  struct Month {
    int year;
    int month;
    int32_t first;  // days since 1970-01-01
    int length;
  };
  static Month MonthOf(int year, int month);
  bool YearNamed(int year) const;
  bool MonthNamed(const Month& month) const;
  uint32_t DaysIn(const Month& month) const;  // bit n = day n
  uint32_t MonthDays(const Month& month, int first_weekday) const;
  uint32_t WeekdayDays(const Month& month, int first_weekday) const;
  bool Later(Month& month) const;  // to the next named month; false beyond the last year
  bool Earlier(Month& month) const;
  int64_t CountDays(int64_t begin, int64_t end) const;
  // Times of day in seconds, -1 where there is none.
  int64_t NextTime(int64_t second) const;
  int64_t PreviousTime(int64_t second) const;
  int64_t TimesBelow(int64_t second) const;
  int64_t TimesADay() const;

  const Cron& cron_;
};

}  // namespace duecourse
