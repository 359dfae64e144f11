// What the engine remembers of one (task, value), and what came due of it. Internal to this room.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rule/ruleset.h"
#include "run/breaker.h"
#include "store/rows.h"

namespace duecourse {

inline constexpr size_t kNoLane = static_cast<size_t>(-1);
inline constexpr uint32_t kNoFirstLane = static_cast<uint32_t>(-1);

// One (task, value). Small: there may be a hundred thousand.
struct Lane {
  uint32_t task = 0;  // index into the active set
  uint32_t value = 0;
  Instant next_due = kNever;
  Instant planned_through;
  Instant in_force_since;
  Instant last_start = kLongAgo;
  int running = 0;                   // live leases and claims in flight
  bool planning = false;             // a PlanCall of this lane is in flight
  std::unique_ptr<Breaker> breaker;  // where it ever failed
  std::vector<std::string> open;     // ids of its runs that are not final, oldest due first
};

// Occurrences in (planned_through, now] of one lane, sorted into what starts and what is only counted.
struct DueSet {
  std::vector<Instant> starts;    // owed, to be planned as runs, oldest first
  std::vector<Instant> late;      // to be planned in any case; oldest first
  std::vector<Instant> by_hand;   // have their run already, so they are nobody's miss; oldest first
  std::vector<Note> ranges;       // missed, or on excluded days
  std::optional<Instant> person;  // the newest missed one, where a person must decide
};

// A time in which the store took nothing, until all that came due in it is planned.
struct StoreGap {
  Instant from = kNever;  // kNever: there is none
  Instant until = kNever;
};

// A short text that differs when what is due differs.
std::string ScheduleFingerprint(const Schedule& schedule);
// A lane that was planned by a clock which stood ahead would be silent until that time is reached. What it
// has already is known by its identity and its key. True where there was something to turn back.
bool TurnBack(Lane& lane, Instant now);
// Nor is an open breaker, which would stand for as long as the clock had leapt.
void TurnBack(Breaker& breaker, Millis cooldown, Instant now);
// The index of a for_each value by its id.
bool FindValue(const RuleBody& rule, const std::string& id, size_t* index);

}  // namespace duecourse
