// What now? The second pure function: from an attempt's outcome, the rule and
// the run's history to the next step: success, again at T (immediate, backoff,
// catch-up), or a person and why. Delays count from the failure's store time.
// Jitter arrives as a number already drawn.
//
// A rung is used when it is planned, so moving its instant (a breaker, hours to
// avoid, an attempt that was not ready) uses nothing more. A lost attempt uses
// none: it is done again at once and only the cap bounds it. max_times counts
// executions in the same way.
#pragma once

#include <optional>

#include "decide/facts.h"

namespace duecourse {

struct RecoverFacts {
  Instant now;  // store time at which the attempt ended
  Outcome outcome = Outcome::kFailed;
  FailureClass failure_class = FailureClass::kUnknown;
  std::optional<Millis> retry_after;  // Classified::retry_after
  bool request_unanswered = false;    // HTTP: sent and not answered
  bool timed_out_manual = false;      // on_timeout: manual
  bool manual_attempt = false;
  bool draining_stop = false;  // we stopped it ourselves: however it failed then, it is lost, not failed
  const Run* run = nullptr;    // before this ending; counted includes the attempt since its claim
  const RetryRule* retry = nullptr;
  OnLost on_lost = OnLost::kRerun;
  Millis check_interval = Seconds(30);
  Instant opens = kLongAgo;  // due, and its window open: a scheduled run is not looked at before that
  Instant ends;  // of the window
  Instant max_delay_end = kNever;
  const Zone* zone = nullptr;        // for avoid hours
  const Breaker* breaker = nullptr;  // after this ending was counted into it; nullptr: none
  bool breaker_manual = false;       // it opened or its trial failed, and its rule says then: manual
  Millis jitter;                     // drawn in [0, retry.jitter]
};

struct Recovery {
  RunState next = RunState::kManualRequired;
  Reason reason = Reason::kFailed;
  std::optional<Instant> next_at;  // retrying, catchup_waiting, or the not-ready wait
  Ladder ladder;                   // after
  int counted = 0;                 // after
  int uncounted = 0;
  bool lost_rerun = false;
  // A clause for people: which rule called a person, or moved the next attempt. Null where it follows from
  // the ladder alone.
  const char* because = nullptr;
};
Recovery Recover(const RecoverFacts& facts);

// True where a failure as described leaves the run no retry of immediate or backoff (asked before Recover,
// for the breaker): the rungs or the cap are used up, or the class allows none. True once a run: the failures
// of catch-up come after it.
bool LadderUsedUp(const Run& run, const RetryRule& retry, FailureClass failure_class);
// The end of the avoid hours that contain the instant, or nothing.
std::optional<Instant> AvoidEnd(const RetryRule& retry, const Zone& zone, Instant at);

}  // namespace duecourse
