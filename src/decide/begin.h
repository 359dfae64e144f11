// May it still begin? The third pure function, for what was claimed and waits for a slot of its executor:
// what decide/ said at the claim may not hold any more when a slot is free. What runs already is not asked.
#pragma once

#include <optional>

#include "decide/facts.h"

namespace duecourse {

struct BeginFacts {
  Instant now;
  Instant ends;                          // of the window, exclusive
  Instant start_limit = kNever;          // the claim's own: the window's end or max_delay's (facts.h)
  Instant maintenance_until = kLongAgo;  // of the maintenance that is on; kLongAgo: none
  bool paused = false;
  bool draining = false;
  bool gone = false;     // its task (or value) was removed or disabled since
  bool by_hand = false;  // a person started it, whatever stood against it: only a drain holds it back
};

// Why not; nothing where it may.
std::optional<Reason> MayNotBegin(const BeginFacts& facts);

}  // namespace duecourse
