// From a due instant to everything about that occurrence: its window, its
// business date, whether its calendar lets it run, and its key. Pure; the same
// rule and due instant always give the same answer.
//
// The day an occurrence belongs to is the local day on which its window opens:
// `days` and the calendar are judged on it, and the business date is that day
// plus the rule's offset. A rule is held against working days where it says
// allow_weekend: false or days: workdays, and wherever it names a calendar; with
// no calendar Saturday and Sunday are off. A day that is not in `days` is
// excluded for good; on_excluded: next_workday moves only what the calendar
// excluded: the due time of day and the window go to the next working day, the
// due instant (the identity), the business date and the key stay.
//
// DroppedAfterMove answers which moved occurrences are not owed; whether
// anything runs is decided elsewhere.
#pragma once

#include <optional>
#include <string>

#include "rule/ruleset.h"

namespace duecourse {

struct Occurrence {
  enum class Day {
    kOpen,
    kExcluded,
    kUnknown
  };  // calendar and days; kUnknown: the calendar has no data for the year
  Instant due;
  Instant starts;       // not due before then: due itself, or the same time of day on the day it was moved to
  Window window;        // as the rule has it, moved where on_excluded moved it
  Instant start_limit;  // min(window.ends, starts + max_delay): catch-up starts end here
  CivilDay business_date;
  bool business_date_known =
      true;  // false: previous_workday or next_workday needs a year the calendar does not have
  Day day = Day::kOpen;
  std::string day_detail;  // "holiday", "Saturday is not in days", "calendar cn has no data for 2027"
  bool moved = false;      // by on_excluded: next_workday
  bool in_gap = false;     // the named local time did not exist; due is the first instant after the gap
  std::string gap_detail;  // "02:30 does not exist on 2026-03-08"
};

Occurrence OccurrenceAt(const Task& task, size_t value, Instant due, const ServerConfig& config);

// Scope for rendering this occurrence's key, arguments, paths and URLs. Keeps references into the task.
TemplateScope ScopeOf(const Task& task, size_t value, const Occurrence& occurrence);

// The key is printable UTF-8 of at most kKeyMaxBytes without '#', which marks reruns (#r2) and extra runs
// (#m1). Errors name the variable, or what the key may not contain.
inline constexpr size_t kKeyMaxBytes = 512;
Result<std::string> RenderKey(const Task& task, size_t value, const Occurrence& occurrence);

// The default window's length: min(time to the next due, 24 h).
Millis DefaultWindowLength(const Schedule& schedule, Instant due);

// What is due of one value, up to the rule's `until` (its last local day included): strictly later, strictly
// earlier, and how many in (after, through].
std::optional<Instant> NextDue(const RuleBody& rule, size_t value, Instant after);
std::optional<Instant> PreviousDue(const RuleBody& rule, size_t value, Instant before);
int64_t CountDue(const RuleBody& rule, size_t value, Instant after, Instant through);

// Of a moved occurrence: true where the day it moved to has an open occurrence of its own, or a later
// occurrence moves to the same day (of several the newest remains). False for one that was not moved.
bool DroppedAfterMove(const Task& task, size_t value, const Occurrence& occurrence,
                      const ServerConfig& config);

}  // namespace duecourse
