// Cron expressions, exactly as docs/reference/cron.md: the Open Cron Pattern
// Specification with three differences, and vixie's rule for daylight saving.
// Fields are bit sets; a search is bounded by years, never by steps. Immutable,
// any thread. Cost: a next occurrence is some hundred nanoseconds at most.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "time/zone.h"

namespace duecourse {

// What a rule may change about the two sides of a clock change, for fixed times only: a wildcard expression
// follows the clock whatever is written here. See docs/reference/cron.md for wildcard and fixed.
struct DstRule {
  enum class Gap { kAfter, kSkip };
  enum class Overlap { kFirst, kSecond, kBoth };
  Gap gap = Gap::kAfter;
  Overlap overlap = Overlap::kFirst;
  friend bool operator==(const DstRule&, const DstRule&) = default;
};

class Cron {
 public:
  // Errors name the field, what is wrong and what would be right. A well-formed expression that can never be
  // due (30 February) is an error too. One whose years are over is not, since that depends on today: its Next
  // has no answer.
  static Result<Cron> Parse(std::string_view expression);

  // The first due instant strictly later than `after`, never before 1970; nothing when there is none up to
  // the end of 2199 (UTC).
  std::optional<Instant> Next(Instant after, const Zone& zone, DstRule dst = {}) const;
  // The last due instant strictly earlier than `before`; nothing when there is none since 1970.
  std::optional<Instant> Previous(Instant before, const Zone& zone, DstRule dst = {}) const;
  // How many are due in (after, until], by arithmetic over day patterns: a year of minutes costs
  // microseconds.
  int64_t Count(Instant after, Instant until, const Zone& zone, DstRule dst = {}) const;

  const std::string& expression() const { return expression_; }
  // True where a second, minute or hour field begins with * or covers every value: it follows the clock.
  bool wildcard() const { return wildcard_; }
  bool has_seconds() const { return has_seconds_; }
  // Local times that are named on each of its days: seconds x minutes x hours.
  int times_a_day() const {
    return std::popcount(seconds_) * std::popcount(minutes_) * std::popcount(hours_);
  }
  bool day_restricted() const { return !day_star_; }  // anything but *, ?, */1
  bool weekday_restricted() const { return !weekday_star_; }
  // */n in one day field with the other restricted, without '+': cronie reads AND there, we read OR.
  bool day_or_weekday_star_step() const { return star_step_; }
  // A day 29 to 31 is written that some of the chosen months lack (29 February included).
  bool names_day_29_to_31() const { return names_late_day_; }
  // A wildcard second or minute under an hour that is named: on a gap day it may not run at all.
  bool wildcard_minute_in_named_hour() const { return named_hour_; }
  // The sentence that says when, in English: "at 02:00 every day".
  std::string Words() const;

  friend bool operator==(const Cron& a, const Cron& b) { return a.expression_ == b.expression_; }

 private:
  friend class CronParser;
  friend class CronReadings;
  friend class CronWords;
  Cron() = default;
  std::string expression_;
  uint64_t seconds_ = 1;  // bit n = second n
  uint64_t minutes_ = 0;
  uint64_t nth_weekdays_ = 0;  // bit (weekday * 5 + nth - 1)
  uint64_t years_[4] = {};     // bit (year - 1970), where has_years_
  uint32_t hours_ = 0;
  uint32_t days_ = 0;             // bit n = day n, 1..31
  uint32_t last_minus_ = 0;       // bit n = n days before the last (L = bit 0)
  uint32_t nearest_weekday_ = 0;  // bit n = nW; bit 0 = LW
  uint16_t months_ = 0;           // bit n, 1..12
  uint8_t weekdays_ = 0;          // bit n, 0 = Sunday
  uint8_t last_weekdays_ = 0;     // bit n = nL
  bool has_years_ = false;
  bool has_seconds_ = false;
  bool and_days_ = false;  // '+'
  bool wildcard_ = false;
  bool day_star_ = true;
  bool weekday_star_ = true;
  bool star_step_ = false;
  bool names_late_day_ = false;
  bool named_hour_ = false;
};

}  // namespace duecourse
