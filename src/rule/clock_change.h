// What a clock change does to a schedule: which local times it names that do
// not exist, or exist twice. Used to explain a moved occurrence and to warn
// beforehand. Pure.
#pragma once

#include <optional>

#include "time/schedule.h"

namespace duecourse {

struct ClockChange {
  Instant at;       // the first instant with the new offset
  bool gap = true;  // local readings [from, to) do not exist; false: they exist twice
  CivilTime from;
  CivilTime to;
};
// Nothing where the offset does not change at that instant.
std::optional<ClockChange> ClockChangeAt(const Zone& zone, Instant at);

// The first local time in [from, to) that the schedule names, whether it exists or not. Nothing for `every`.
std::optional<CivilTime> FirstNamed(const Schedule& schedule, CivilTime from, CivilTime to);

// A local time in a gap is the gap's end, in an overlap the first pass.
Instant InstantOf(CivilTime civil, const Zone& zone);

}  // namespace duecourse
