// When history is pruned next, by the boot clock: a piece of bounded length a second after another as long as
// there is more, so that starts in between are not held up, else every ten minutes. Nothing is removed by a
// wall clock that was believed only just now: a machine that starts with a wrong hour is put right within
// minutes, a person who set a clock wrongly notices within a day.
//
// Pruned may be called by any thread, all else by one.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/instant.h"

namespace duecourse {

inline constexpr Millis kPruneEvery = Minutes(10);
inline constexpr Millis kPruneMore = Seconds(1);
inline constexpr Millis kPruneAfterStart = Minutes(15);
inline constexpr Millis kPruneAfterLeap = Hours(24);

class PrunePace {
 public:
  void Started(Millis boot) { next_ = boot + kPruneAfterStart; }
  // The wall clock leapt, and that was believed.
  void Leapt(Millis boot) { not_before_ = boot + kPruneAfterLeap; }
  // A piece is done; `more`: it was as long as a piece may be.
  void Pruned(bool more) { more_.store(more); }
  // Whether a piece is due; it is taken to be begun then.
  bool TakeDue(Millis boot) {
    if (more_.exchange(false)) next_ = std::min(next_, boot + kPruneMore);
    if (boot < std::max(next_, not_before_)) return false;
    next_ = boot + kPruneEvery;
    return true;
  }

 private:
  std::atomic<bool> more_{false};
  Millis next_;
  Millis not_before_;
};

}  // namespace duecourse
