// The three clocks, read in one file only. Wall: schedules. Monotonic:
// durations. Boot: leases on one machine (it goes on while the machine is
// suspended). All methods may be called from any thread.
#pragma once

#include <string>

#include "base/instant.h"

namespace duecourse {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant Wall() const = 0;
  virtual Millis Monotonic() const = 0;
  virtual Millis Boot() const = 0;
  // Real milliseconds, rounded up, until Wall() shows the instant; at most an hour, and 0 where it is past.
  virtual int64_t RealMillisUntil(Instant wall) const;
};

// The machine's clocks. An offset (added to the wall clock) and a rate (how many seconds pass in one real second) serve
// tests of long stories in short time; all three clocks run at the rate, counted from construction.
class SystemClock : public Clock {
 public:
  explicit SystemClock(Millis wall_offset = {}, double rate = 1.0);
  Instant Wall() const override;
  Millis Monotonic() const override;
  Millis Boot() const override;
  int64_t RealMillisUntil(Instant wall) const override;
  double rate() const { return rate_; }

 private:
  Millis wall_offset_;
  double rate_;
  int64_t base_wall_us_;
  int64_t base_mono_us_;
  int64_t base_boot_us_;
};

// The kernel's id of this boot; the same text until the machine restarts.
std::string BootId();
// The host's name, a label only; "localhost" where it has none.
std::string HostName();
// The host's time zone as it calls it; shown beside the rules' zones, never used.
std::string HostZoneName();
// Microseconds of CLOCK_MONOTONIC, for measuring only.
int64_t MonotonicMicros();
// Microseconds of CLOCK_BOOTTIME, the clock by which the kernel notes when a process was started.
int64_t BootMicros();

}  // namespace duecourse
