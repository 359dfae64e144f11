// From when to when an occurrence may start. Wall-clock edges belong to the day
// on which the window opens; an end at or before its start is the next day. An
// edge in a gap moves to the gap's end; in an overlap an opening edge takes the
// first pass and a closing edge the second. Ends are exclusive. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "time/zone.h"

namespace duecourse {

struct WindowSpec {
  std::optional<int32_t> start;  // seconds of the day; nothing: the due instant opens it
  std::optional<int32_t> end;    // seconds of the day
  std::optional<Millis> length;  // elapsed time from the due instant, in place of `end`
  friend bool operator==(const WindowSpec&, const WindowSpec&) = default;
};

struct Window {
  Instant opens;
  Instant ends;              // exclusive
  CivilDay day;              // local day on which it opens
  bool contains_due = true;  // false: the due time lies outside, so this is the next window to open after it
  bool Contains(Instant t) const { return opens <= t && t < ends; }
};

// The window of an occurrence due then: the one that contains it, else the next to open; where two do, the
// one that opened last. One that a clock change leaves empty, or whose day does not exist, is passed over.
// With a start and a length, it opens at the start on the due day, or, where that is too late for the length,
// on the day before (start 22:00, due 01:00, 4 h). `default_length` applies where neither end nor length is
// written, and counts from the later of the due instant and the opening.
Window WindowFor(const WindowSpec& spec, Instant due, const Zone& zone, Millis default_length);

}  // namespace duecourse
