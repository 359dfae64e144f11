#include "decide/recover.h"

#include <algorithm>

#include "base/check.h"

namespace duecourse {
namespace {

// Hours to avoid follow one another at most this often before the search gives up and a person is asked: more
// than a year of days, far longer than any window.
constexpr int kAvoidHopsMax = 400;

// The next permitted attempt as the ladder has it, before anything moves it.
struct Step {
  bool catchup = false;
  Instant at;
  Ladder ladder;
  bool asked_to_wait = false;  // the ladder alone would come sooner
};

Recovery Unchanged(const RecoverFacts& facts) {
  Recovery result;
  result.ladder = facts.run->ladder;
  result.counted = facts.run->counted;
  result.uncounted = facts.run->uncounted;
  return result;
}

Recovery Ends(const RecoverFacts& facts, RunState state, Reason reason) {
  Recovery result = Unchanged(facts);
  result.next = state;
  result.reason = reason;
  return result;
}

Recovery Person(const RecoverFacts& facts, Reason reason, const char* because) {
  Recovery result = Ends(facts, RunState::kManualRequired, reason);
  result.because = because;
  return result;
}

constexpr const char* kHold = "the rule says on_lost: hold";
constexpr const char* kCapReached = "max_total_attempts is reached";
constexpr const char* kBusiness = "a business failure, which is not tried again";
constexpr const char* kAskedToWait = "it asked for a longer wait (Retry-After), which moves the next attempt";

bool Waits(RunState state) {
  return state == RunState::kScheduled || state == RunState::kRetrying || state == RunState::kCatchupWaiting;
}

// Never sooner than it asked for.
Instant Heed(const RecoverFacts& facts, Instant at) {
  return facts.retry_after ? std::max(at, facts.now + *facts.retry_after) : at;
}

// A person's attempt that did not succeed changes nothing: the run stands where it stood, with the instant it
// had. Where none is ahead automation leaves it a pause, for the person saw it fail a moment ago.
Recovery PutBack(const RecoverFacts& facts, Reason reason) {
  const RunState before = facts.run->before_manual;
  CHECK(Waits(before) || before == RunState::kManualRequired);
  Recovery result = Ends(facts, before, reason);
  result.lost_rerun = facts.run->next_lost_rerun;
  if (!Waits(before)) return result;
  const Instant had = facts.run->next_at.value_or(kLongAgo);
  Instant at = had > facts.now ? had : facts.now + facts.check_interval;
  if (before == RunState::kScheduled) at = std::max(at, facts.opens);
  result.next_at = Heed(facts, at);
  if (*result.next_at > at) result.because = kAskedToWait;
  return result;
}

// The attempt did no work: not ready, or never started. It is taken off again, and asked again where it came
// from. The first that never started goes again at once: it was most likely cut off by our own end, not by
// its surroundings.
Recovery Uncounted(const RecoverFacts& facts) {
  if (facts.manual_attempt) return PutBack(facts, Reason::kNotReady);
  const Run& run = *facts.run;
  CHECK(Waits(run.before_claim));
  Recovery result = Ends(facts, run.before_claim, Reason::kNotReady);
  result.counted = std::max(0, run.counted - 1);
  result.uncounted = run.uncounted + 1;
  if (result.uncounted >= kUncountedMax) {
    result.next = RunState::kManualRequired;
    result.reason = Reason::kAttemptsExhausted;
    result.because = "it was not ready, or not started, 100 times";
    return result;
  }
  result.lost_rerun = run.next_lost_rerun;
  const bool at_once = facts.outcome == Outcome::kNotStarted && run.uncounted == 0;
  const Instant at = at_once ? facts.now : facts.now + facts.check_interval;
  result.next_at = Heed(facts, at);
  if (*result.next_at > at) result.because = kAskedToWait;
  return result;
}

// Moves the step past the breaker's cooldown and the hours to avoid; where that leads to the end, it is a
// person now.
Recovery Place(const RecoverFacts& facts, const Step& step, Reason reason) {
  Recovery result = Ends(facts, step.catchup ? RunState::kCatchupWaiting : RunState::kRetrying, reason);
  result.ladder = step.ladder;
  Instant at = step.at;
  if (step.asked_to_wait) result.because = kAskedToWait;
  const Breaker* breaker = facts.breaker;
  if (breaker != nullptr && breaker->open && breaker->until && *breaker->until > at) {
    at = *breaker->until;
    result.because = "the breaker is open, which moves the next attempt to the end of its cooldown";
  }
  if (step.catchup && facts.zone != nullptr) {
    for (int hop = 0; hop < kAvoidHopsMax && at < facts.ends; ++hop) {
      const std::optional<Instant> end = AvoidEnd(*facts.retry, *facts.zone, at);
      if (!end) break;
      at = hop + 1 < kAvoidHopsMax ? *end : kNever;
    }
  }
  const Instant limit = step.catchup ? std::min(facts.ends, facts.max_delay_end) : facts.ends;
  if (at >= limit) {
    const bool by_delay = limit < facts.ends;
    if (step.asked_to_wait && step.at >= limit)
      return Person(facts, by_delay ? Reason::kExceededMaxDelay : Reason::kExceededWindow,
                    by_delay ? "it asked for a wait (Retry-After) that ends after max_delay"
                             : "it asked for a wait (Retry-After) that ends after the window");
    return Person(facts, by_delay ? Reason::kExceededMaxDelay : Reason::kExceededWindow,
                  by_delay ? "the next attempt would come after max_delay"
                           : "the next attempt would come after the window's end");
  }
  result.next_at = at;
  return result;
}

bool RungLeft(const Run& run, const RetryRule& retry) {
  return run.ladder.immediate < retry.immediate_max ||
         run.ladder.backoff < static_cast<int>(retry.backoff.size());
}

bool CatchupLeft(const Run& run, const RetryRule& retry) {
  if (!retry.catchup || retry.then_manual) return false;
  return !retry.catchup_max_times || run.ladder.catchup < *retry.catchup_max_times;
}

// Immediate, then backoff, then catch-up. Nothing: no step is left.
std::optional<Step> NextStep(const RecoverFacts& facts) {
  const RetryRule& retry = *facts.retry;
  const Run& run = *facts.run;
  Step step;
  step.ladder = run.ladder;
  Millis delay;
  if (run.ladder.immediate < retry.immediate_max) {
    delay = retry.immediate_interval;
    ++step.ladder.immediate;
  } else if (RungLeft(run, retry)) {
    delay = retry.backoff[static_cast<size_t>(run.ladder.backoff)];
    ++step.ladder.backoff;
  } else if (CatchupLeft(run, retry) && facts.failure_class == FailureClass::kTransient) {
    delay = retry.catchup_interval;
    ++step.ladder.catchup;
    step.catchup = true;
  } else {
    return std::nullopt;
  }
  if (!step.catchup) delay = delay + std::clamp(facts.jitter, Millis{0}, std::max(retry.jitter, Millis{0}));
  step.at = Heed(facts, facts.now + delay);
  step.asked_to_wait = step.at > facts.now + delay;
  return step;
}

// Why nothing is left, where the cap is not it.
const char* NoStepText(const RetryRule& retry) {
  const bool ladder = retry.immediate_max > 0 || !retry.backoff.empty();
  if (retry.catchup && !retry.then_manual) return "the ladder and max_times of catch-up are used up";
  if (retry.then_manual) return "the ladder is used up, and the rule says then: manual";
  return ladder ? "the ladder is used up, and the rule has no catch-up" : "the rule has no retry";
}

// What cannot be known is a person's under `hold`, by hand or not.
bool HeldUnknown(const RecoverFacts& facts, bool unknown) {
  return unknown && facts.on_lost == OnLost::kHold;
}

Recovery Lost(const RecoverFacts& facts) {
  if (HeldUnknown(facts, true)) return Person(facts, Reason::kAttemptLost, kHold);
  if (facts.manual_attempt) return PutBack(facts, Reason::kAttemptLost);
  const Run& run = *facts.run;
  if (run.counted >= facts.retry->max_total_attempts)
    return Person(facts, Reason::kAttemptsExhausted, kCapReached);
  const Step again = {run.before_claim == RunState::kCatchupWaiting, facts.now, run.ladder, false};
  Recovery result = Place(facts, again, Reason::kAttemptLost);
  result.lost_rerun = result.next != RunState::kManualRequired;
  return result;
}

Recovery Failed(const RecoverFacts& facts) {
  if (HeldUnknown(facts, facts.request_unanswered)) return Person(facts, Reason::kAttemptLost, kHold);
  if (facts.timed_out_manual && facts.outcome == Outcome::kTimedOut)
    return Person(facts, Reason::kFailed, "the rule says on_timeout: manual");
  const bool business = facts.failure_class == FailureClass::kBusiness;
  const bool goes_on = !facts.manual_attempt || Waits(facts.run->before_manual);
  if (business && goes_on) return Person(facts, Reason::kBusinessError, kBusiness);
  if (facts.manual_attempt) return PutBack(facts, business ? Reason::kBusinessError : Reason::kFailed);
  if (facts.run->counted >= facts.retry->max_total_attempts)
    return Person(facts, Reason::kAttemptsExhausted, kCapReached);
  if (facts.breaker_manual)
    return Person(facts, Reason::kBreakerOpen, "the breaker is open and its rule says then: manual");
  if (const std::optional<Step> step = NextStep(facts)) return Place(facts, *step, Reason::kFailed);
  // Catch-up would go on, were it known that the error passes: the failure itself is the reason then.
  if (CatchupLeft(*facts.run, *facts.retry))
    return Person(
        facts, Reason::kFailed,
        "its class is unknown, and catch-up repeats only what is transient (errors: in the rule says "
        "what is)");
  return Person(facts, Reason::kAttemptsExhausted, NoStepText(*facts.retry));
}

}  // namespace

Recovery Recover(const RecoverFacts& facts) {
  CHECK(facts.run != nullptr);
  CHECK(facts.retry != nullptr);
  CHECK(facts.outcome != Outcome::kNone);
  switch (facts.outcome) {
    case Outcome::kNone:
    case Outcome::kSuccess:
      return Ends(facts, RunState::kSuccess, Reason::kSucceeded);
    case Outcome::kCancelled:
      return Ends(facts, RunState::kSkipped, Reason::kCancelled);
    case Outcome::kNotReady:
    case Outcome::kNotStarted:
      return Uncounted(facts);
    case Outcome::kLost:
      return Lost(facts);
    case Outcome::kFailed:
    case Outcome::kTimedOut:
      break;
  }
  if (facts.draining_stop) return Lost(facts);
  return Failed(facts);
}

bool LadderUsedUp(const Run& run, const RetryRule& retry, FailureClass failure_class) {
  if (failure_class == FailureClass::kNotReady || run.ladder.catchup > 0) return false;
  if (failure_class == FailureClass::kBusiness || run.counted >= retry.max_total_attempts) return true;
  return !RungLeft(run, retry);
}

std::optional<Instant> AvoidEnd(const RetryRule& retry, const Zone& zone, Instant at) {
  std::optional<Instant> end;
  for (const AvoidHours& hours : retry.avoid) {
    WindowSpec spec;
    spec.start = hours.start;
    spec.end = hours.end;
    const Window window = WindowFor(spec, at, zone, Hours(24));
    if (window.Contains(at) && (!end || window.ends > *end)) end = window.ends;
  }
  return end;
}

}  // namespace duecourse
