// A wall clock that does not believe every leap. The machine's wall clock can be set: by a person, by a time
// service that was given a wrong hour, by a virtual machine that comes back. A scheduler that follows at once
// takes years of occurrences for missed, and keys for old enough to be forgotten, within a second, and cannot
// take it back when the clock is right again.
//
// So the wall time is reckoned on from the last one believed by the boot clock, which nobody can set and
// which goes on while the machine is suspended. A reading within kWallSkew of the reckoning is believed (the
// clock is slewed, not set). Any other is a leap: time is reckoned on without it until it has lasted
// kWallLeapBelieved, and then it is believed (it was a correction). GUARANTEES, fault 7.
//
// Any thread. The machine's clock must outlive it.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/mutex.h"

namespace duecourse {

inline constexpr Millis kWallSkew = Seconds(2);
inline constexpr Millis kWallLeapBelieved = Seconds(60);

// How far the machine's wall clock stands from the time reckoned; ahead is positive.
struct WallLeap {
  Millis by;
  bool believed = false;  // from now on time is told by it
};

class WallGuard : public Clock {
 public:
  explicit WallGuard(const Clock& machine);
  Instant Wall() const override;
  Millis Monotonic() const override { return machine_.Monotonic(); }
  Millis Boot() const override { return machine_.Boot(); }
  int64_t RealMillisUntil(Instant wall) const override;

  // Once for each leap when it is seen, once more when it is believed or is over (`by` zero). Needs a Wall()
  // now and then to see anything.
  std::optional<WallLeap> TakeNews();

 private:
  Instant Reckon() const REQUIRES(mutex_);

  const Clock& machine_;
  mutable Mutex mutex_;
  mutable Instant wall_ GUARDED_BY(mutex_);  // believed, at boot_
  mutable Millis boot_ GUARDED_BY(mutex_);
  mutable Millis ahead_ GUARDED_BY(mutex_);                    // of the leap under way
  mutable std::optional<Millis> leapt_at_ GUARDED_BY(mutex_);  // boot clock
  mutable std::optional<WallLeap> news_ GUARDED_BY(mutex_);
};

}  // namespace duecourse
