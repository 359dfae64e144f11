// Facts: what is known at one instant about one run, gathered beforehand by the
// engine, so that the decision itself is a pure function. Plain data, cheap to
// build: references and numbers, no text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "rule/occurrence.h"
#include "run/breaker.h"
#include "run/run.h"

namespace duecourse {

struct PreconditionFact {
  enum class Answer { kUnknown, kYes, kNo, kInvalid, kCheckFailed };
  Answer answer = Answer::kUnknown;
  Instant at;               // when the answer came; one from the future (the clock was set back) is unknown
  Millis max_age;           // a yes older than this is unknown again; a no is, after check_interval
  bool this_round = false;  // it was asked for by the round of questions that this decision ends
  bool once_met_stays = false;  // only_if_data_ready: false, and it was once yes in this run
  bool invalid_calls_person = false;
};

// A yes serves for max_age, any no until it is time to look again; and each for the round that asked for it,
// however long the slowest of that round took, or a max_age near 0 would ask for ever. The clock was set back
// under what lies in the future. Whoever looks asks this too, so that what the decision takes for unknown is
// looked at.
inline bool IsFresh(const PreconditionFact& fact, Instant now, Millis check_interval) {
  if (fact.answer == PreconditionFact::Answer::kUnknown || fact.at > now) return false;
  if (fact.this_round) return true;
  const Millis age = now - fact.at;
  return fact.answer == PreconditionFact::Answer::kYes ? age <= fact.max_age : age < check_interval;
}

struct PoolFact {
  int running = 0;
  int limit = 0;
  Instant rate_until = kLongAgo;  // later than now: its rate is used up until then
};

// What a person may override with --force --reason; never done, lease or live processes, nor order and
// limits.
struct Force {
  bool manual = false;     // a person asked: outside the cap, and a no ends nothing. In manual_required it is
                           // `manual rerun`, of which time is not asked (maintenance is)
  bool time = false;       // all of "is it time?" but maintenance and a pause
  bool pause = false;      // somebody else's intent: of a trigger only with --force
  bool readiness = false;  // retry instants, breaker, budget, preconditions
  bool maintenance = false;
  bool beside = false;  // the schedule: its time is when it is asked for, so no time is passed over
};

struct Facts {
  Instant now;
  Force force;
  // Is it done?
  RunState state = RunState::kScheduled;
  Reason state_reason = Reason::kNotDue;
  bool key_done = false;        // another run of this key succeeded
  bool cancel_ordered = false;  // a person ordered its end while an attempt ran
  // Is it time?
  bool paused = false;
  Occurrence::Day day = Occurrence::Day::kOpen;
  Instant due;
  Instant opens;
  Instant ends;                    // of the window, exclusive
  Instant max_delay_end = kNever;  // due + max_delay: earlier end of catch-up starts
  Instant busy_until = kLongAgo;   // avoid hours: later than now while inside (catch-up only)
  Instant maintenance_until = kLongAgo;
  int maintenance_index = -1;
  // Is it ready?
  int counted = 0;
  int uncounted = 0;
  int attempts_max = 1;
  Instant next_at = kLongAgo;    // of a retry, a catch-up or a not-ready wait
  bool next_is_catchup = false;  // the state is catchup_waiting
  bool owed = false;             // planned after downtime: its first start is a catch-up start too
  bool breaker_open = false;
  Instant breaker_until = kLongAgo;
  bool breaker_trial_taken = false;  // another run is, or comes first for, the trial
  Instant budget_until = kLongAgo;   // later than now: the budget is spent until then
  std::span<const PreconditionFact> preconditions;
  // Is it ours?
  bool key_running = false;     // a live lease on this key
  bool previous_alive = false;  // processes of a former attempt are still there
  bool earlier_open = false;    // in_order
  int task_running = 0;
  int task_limit = 1;
  bool first_attempt = true;              // min_interval is asked of first attempts only
  Instant min_interval_until = kLongAgo;  // last first start + min_interval
  Instant pool_interval_until = kLongAgo;
  std::span<const PoolFact> pools;
  bool draining = false;
  bool clock_skewed = false;
  bool store_available = true;
  Millis check_interval = Seconds(30);
};

// Catch-up starts: after the ladder, and what downtime left. Only they are bound by max_delay and the hours
// to avoid.
inline bool IsCatchupStart(const Facts& facts) {
  return facts.next_is_catchup || (facts.owed && facts.counted == 0);
}
// From here on nothing of this kind may start any more, unless time is overridden; the claim's not_after.
inline Instant StartLimit(const Facts& facts) {
  return IsCatchupStart(facts) ? std::min(facts.ends, facts.max_delay_end) : facts.ends;
}

// not_ready and not_started together at most this many a run, then a person.
inline constexpr int kUncountedMax = 100;

}  // namespace duecourse
