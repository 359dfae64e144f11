#include "base/wall_guard.h"

#include <utility>

namespace duecourse {
namespace {

bool Near(Millis a, Millis b) {
  const Millis apart = a - b;
  return apart <= kWallSkew && Millis{} - apart <= kWallSkew;
}

}  // namespace

WallGuard::WallGuard(const Clock& machine)
    : machine_(machine), wall_(machine.Wall()), boot_(machine.Boot()) {}

Instant WallGuard::Wall() const {
  MutexLock lock(mutex_);
  return Reckon();
}

Instant WallGuard::Reckon() const {
  const Millis before = machine_.Boot();
  const Instant shown = machine_.Wall();
  const Millis after = machine_.Boot();
  const Instant reckoned = wall_ + (after - boot_);
  // Held up between two readings (a suspended machine, a stopped process): they cannot be compared.
  constexpr Millis kTooFarApart = Seconds(1);
  if (after - before >= kTooFarApart) return reckoned;
  const Millis ahead = shown - reckoned;
  if (Near(ahead, Millis{})) {
    if (leapt_at_) news_ = WallLeap{Millis{}, false};
    leapt_at_.reset();
    wall_ = shown;
    boot_ = after;
    return wall_;
  }
  if (!leapt_at_ || !Near(ahead, ahead_)) {
    leapt_at_ = after;
    ahead_ = ahead;
    news_ = WallLeap{ahead, false};
  }
  if (after - *leapt_at_ < kWallLeapBelieved) return reckoned;
  news_ = WallLeap{ahead, true};
  leapt_at_.reset();
  wall_ = shown;
  boot_ = after;
  return wall_;
}

int64_t WallGuard::RealMillisUntil(Instant wall) const {
  // The machine's clock knows its own rate; it is asked for the instant at which it will show as much more.
  const Millis until = wall - Wall();
  return machine_.RealMillisUntil(machine_.Wall() + until);
}

std::optional<WallLeap> WallGuard::TakeNews() {
  MutexLock lock(mutex_);
  return std::exchange(news_, std::nullopt);
}

}  // namespace duecourse
