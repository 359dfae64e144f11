#include "run/breaker.h"

namespace duecourse {
namespace {

// The version rises only where something else changed.
void Stamp(const Breaker& before, Breaker& after) {
  if (!(before == after)) after.version = before.version + 1;
}

bool IsTrial(const Breaker& breaker, const std::string& run_id, Instant at) {
  if (!breaker.trial_run.empty()) return breaker.trial_run == run_id;
  return breaker.until.has_value() && *breaker.until <= at;
}

}  // namespace

BreakerChange AfterSuccess(const Breaker& breaker, const std::string& /*run_id*/) {
  // Whoever succeeded, the thing works: a trial, an attempt that was under way, or a person's.
  BreakerChange change;
  change.after = breaker;
  change.closed = breaker.open;
  change.after.open = false;
  change.after.until.reset();
  change.after.trial_run.clear();
  change.after.failed_attempts = 0;
  change.after.failed_ladders = 0;
  Stamp(breaker, change.after);
  return change;
}

BreakerChange AfterFailure(const Breaker& breaker, const RetryRule& rule, const std::string& run_id,
                           bool ladder_used_up, Instant at) {
  BreakerChange change;
  change.after = breaker;
  Breaker& after = change.after;
  if (breaker.open) {
    if (!IsTrial(breaker, run_id, at)) return change;
    change.reopened = true;
    after.trial_run.clear();
    after.until = at + rule.breaker_cooldown;
    Stamp(breaker, after);
    return change;
  }
  if (rule.breaker_failures > 0) {
    ++after.failed_attempts;
    change.opened = after.failed_attempts >= rule.breaker_failures;
  } else if (ladder_used_up) {
    ++after.failed_ladders;
    change.opened = after.failed_ladders >= kBreakerLadders;
  }
  if (change.opened) {
    after.open = true;
    after.opened_at = at;
    after.until = at + rule.breaker_cooldown;
    after.trial_run.clear();
  }
  Stamp(breaker, after);
  return change;
}

BreakerChange AfterNeutral(const Breaker& breaker, const std::string& run_id) {
  BreakerChange change;
  change.after = breaker;
  if (breaker.trial_run == run_id) change.after.trial_run.clear();
  Stamp(breaker, change.after);
  return change;
}

}  // namespace duecourse
