// Cron expressions, exactly as docs/reference/cron.md: the Open Cron Pattern
// Specification with three differences, and vixie's rule for daylight saving.
// Fields are bit sets; a search is bounded by years, never by steps. Immutable,
// any thread. Cost: a next occurrence is some hundred nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "time/zone.h"

namespace duecourse {

// What a rule may change about the two sides of a clock change. See docs/reference/cron.md for wildcard and fixed.
struct DstRule {
  enum class Gap { kAfter, kSkip };
  enum class Overlap { kFirst, kSecond, kBoth };
  Gap gap = Gap::kAfter;
  Overlap overlap = Overlap::kFirst;
  friend bool operator==(const DstRule&, const DstRule&) = default;
};

class Cron {
 public:
  // Errors name the field, what is wrong and what would be right. A well-formed expression that can never be due
  // (30 February) is an error too.
  static Result<Cron> Parse(std::string_view expression);

  // The first due instant strictly later than `after`; nothing when there is none up to the year 2199.
  std::optional<Instant> Next(Instant after, const Zone& zone, DstRule dst = {}) const;
  // The last due instant strictly earlier than `before`; nothing when there is none since 1970.
  std::optional<Instant> Previous(Instant before, const Zone& zone, DstRule dst = {}) const;
  // How many are due in (after, until], by arithmetic over day patterns: a year of minutes costs microseconds.
  int64_t Count(Instant after, Instant until, const Zone& zone, DstRule dst = {}) const;

  const std::string& expression() const { return expression_; }
  // True where a second, minute or hour field begins with * or covers every value (CRON.md, DST rule 1).
  bool wildcard() const { return wildcard_; }
  bool has_seconds() const { return has_seconds_; }
  bool day_restricted() const;       // anything but *, ?, */1
  bool weekday_restricted() const;
  bool day_or_weekday_star_step() const;  // */n in one day field with the other restricted (cronie reads AND)
  bool names_day_29_to_31() const;
  bool wildcard_minute_in_named_hour() const;
  // One sentence in English: "at 02:00 every day".
  std::string Words() const;

  friend bool operator==(const Cron& a, const Cron& b) { return a.expression_ == b.expression_; }

 private:
  friend class CronParser;
  friend class CronSearch;
  Cron() = default;
  std::string expression_;
  uint64_t seconds_ = 0;   // bit n = second n
  uint64_t minutes_ = 0;
  uint32_t hours_ = 0;
  uint32_t days_ = 0;      // bit n = day n, 1..31
  uint32_t last_minus_ = 0;     // bit n = n days before the last (L = bit 0)
  uint32_t nearest_weekday_ = 0;  // bit n = nW; bit 0 = LW
  uint16_t months_ = 0;    // bit n, 1..12
  uint8_t weekdays_ = 0;   // bit n, 0 = Sunday
  uint8_t last_weekdays_ = 0;         // dL
  uint64_t nth_weekdays_ = 0;         // bit (weekday * 5 + nth - 1)
  int first_year_ = 0;     // 0: no year field
  uint64_t years_[4] = {0, 0, 0, 0};  // bit (year - 1970)
  bool has_years_ = false;
  bool has_seconds_ = false;
  bool and_days_ = false;  // '+'
  bool wildcard_ = false;
  bool day_star_ = true;
  bool weekday_star_ = true;
  uint8_t traits_ = 0;
};

}  // namespace duecourse
