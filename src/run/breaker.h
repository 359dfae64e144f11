// The breaker of one (task, value): after so many consecutive failures no
// automatic attempt for a cooldown, then one trial. Our own stops, cancels and
// not-ready never count. Stored, so it survives restarts. Pure.
//
// What to feed it: the failure of an automatic attempt (failed, timed_out) goes to AfterFailure; any success,
// a person's too, to AfterSuccess; every other ending (lost, cancelled, not ready, not started, a person's
// failed attempt) to AfterNeutral. `version` rises only where something else changed, so a quiet breaker is
// never written again.
#pragma once

#include <optional>
#include <string>

#include "base/instant.h"
#include "rule/rule.h"

namespace duecourse {

struct Breaker {
  std::string task;
  std::string value;
  int64_t version = 0;  // rises with every change; a claim names the one it relied on
  bool open = false;
  std::optional<Instant> until;  // end of the cooldown, while open
  std::string trial_run;         // run of the trial under way, or empty
  int failed_attempts = 0;       // consecutive, for a written `failures`
  int failed_ladders = 0;        // consecutive runs that used up their ladder, for the default
  Instant opened_at;
  std::string episode;  // alert episode of this opening
  friend bool operator==(const Breaker&, const Breaker&) = default;
};

// Default: this many consecutive runs that used up their ladder.
inline constexpr int kBreakerLadders = 3;

struct BreakerChange {
  Breaker after;
  bool opened = false;    // closed -> open: one P2
  bool closed = false;    // open -> closed: the recovery note
  bool reopened = false;  // a failed trial: silent
};
// After an attempt of `run_id` ended. `ladder_used_up`: this failure left the run no retry of the ladder
// (LadderUsedUp, true once a run). While it is open, only the trial's failure begins a new cooldown; attempts
// that were under way when it opened change nothing, unless the cooldown is over and nobody is noted as the
// trial. The episode is kept after closing, for the recovery note; whoever sees `opened` gives the new one.
BreakerChange AfterSuccess(const Breaker& breaker, const std::string& run_id);
BreakerChange AfterFailure(const Breaker& breaker, const RetryRule& rule, const std::string& run_id,
                           bool ladder_used_up, Instant at);
// A trial that was lost to our own stop, cancelled or not ready frees the place of the trial and changes
// nothing else.
BreakerChange AfterNeutral(const Breaker& breaker, const std::string& run_id);

}  // namespace duecourse
