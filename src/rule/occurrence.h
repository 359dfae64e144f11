// From a due instant to everything about that occurrence: its window, its
// business date, whether its calendar lets it run, and its key. Pure; the same
// rule and due instant always give the same answer.
#pragma once

#include <optional>
#include <string>

#include "rule/ruleset.h"

namespace duecourse {

struct Occurrence {
  enum class Day { kOpen, kExcluded, kUnknown };  // calendar and days; kUnknown: the calendar has no data for the year
  Instant due;
  Window window;               // as the rule has it, moved where on_excluded moved it
  Instant start_limit;         // min(window.ends, due + max_delay): catch-up starts end here
  CivilDay business_date;
  Day day = Day::kOpen;
  std::string day_detail;      // "holiday", "Saturday is not in days", "calendar cn has no data for 2027"
  bool moved = false;          // by on_excluded: next_workday
  bool in_gap = false;         // the named local time did not exist; due is the first instant after the gap
};

Occurrence OccurrenceAt(const Task& task, size_t value, Instant due, const ServerConfig& config);

// Scope for rendering this occurrence's key, arguments, paths and URLs. Keeps references into the task.
TemplateScope ScopeOf(const Task& task, size_t value, const Occurrence& occurrence);
Result<std::string> RenderKey(const Task& task, size_t value, const Occurrence& occurrence);

// The default window's length: min(time to the next due, 24 h).
Millis DefaultWindowLength(const Schedule& schedule, Instant due);

}  // namespace duecourse
