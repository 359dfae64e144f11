#include "decide/decide.h"

#include <algorithm>
#include <optional>

namespace duecourse {
namespace {

// Nothing: yes, ask the next gate. Else the answer.
using Answer = std::optional<Decision>;

Decision Never(Reason reason) { return {Verdict::kDeny, reason, -1, kNever}; }
Decision End(Reason reason, int index = -1) { return {Verdict::kEnd, reason, index, kNever}; }

// Asked again at `at`, or after check_interval where that has passed; never later than when waiting must end.
Decision NotNow(const Facts& facts, Reason reason, Instant at = kLongAgo, int index = -1) {
  if (at <= facts.now) at = facts.now + std::max(facts.check_interval, Millis{1});
  const Instant limit = StartLimit(facts) > facts.now ? StartLimit(facts) : facts.ends;
  if (limit > facts.now) at = std::min(at, limit);
  return {Verdict::kDeny, reason, index, at};
}

// ---- Is it done?

Answer AskDone(const Facts& facts) {
  if (facts.key_done || facts.state == RunState::kSuccess) return Never(Reason::kAlreadyDone);
  if (IsFinal(facts.state))
    return Never(facts.state_reason);  // superseded, cancelled, or why it was not owed
  if (facts.state == RunState::kManualRequired && !facts.force.manual) return Never(Reason::kAwaitingPerson);
  // A running attempt may end after the window, in a pause or in maintenance, so it is not asked about them.
  if (facts.state == RunState::kRunning) return NotNow(facts, Reason::kLockOccupied);
  // What a person ended starts no more; it is over when nothing of it is left on the machine.
  if (!facts.cancel_ordered || facts.state == RunState::kManualRequired) return std::nullopt;
  return facts.previous_alive ? NotNow(facts, Reason::kPreviousAttemptAlive) : End(Reason::kCancelled);
}

// ---- Is it time?

// A pause does not stop the window. What was never attempted ends as paused; what was is judged by its
// window.
Answer AskPaused(const Facts& facts) {
  if (!facts.paused) return std::nullopt;
  // Who is not asked for time is still asked for the pause.
  if (facts.now < StartLimit(facts) || facts.force.time) return NotNow(facts, Reason::kPaused, facts.ends);
  if (facts.counted == 0) return End(Reason::kPaused);
  return std::nullopt;
}

Answer AskDue(const Facts& facts) {
  if (facts.now >= facts.due) return std::nullopt;
  return NotNow(facts, Reason::kNotDue, facts.due);
}

Answer AskCalendar(const Facts& facts) {
  if (facts.day == Occurrence::Day::kExcluded) return End(Reason::kCalendarExcluded);
  if (facts.day == Occurrence::Day::kUnknown) return End(Reason::kCalendarUnknown);
  return std::nullopt;
}

Answer AskWindow(const Facts& facts) {
  if (facts.now < facts.opens) return NotNow(facts, Reason::kOutOfWindow, facts.opens);
  if (facts.now >= facts.ends) return End(Reason::kExceededWindow);
  return std::nullopt;
}

Answer AskMaxDelay(const Facts& facts) {
  if (facts.now < StartLimit(facts) || StartLimit(facts) >= facts.ends) return std::nullopt;  // the window's
  return End(Reason::kExceededMaxDelay);
}

Answer AskBusyHours(const Facts& facts) {
  if (!IsCatchupStart(facts) || facts.busy_until <= facts.now) return std::nullopt;
  return NotNow(facts, Reason::kBusyHours, facts.busy_until);
}

Answer AskMaintenance(const Facts& facts) {
  if (facts.maintenance_until <= facts.now) return std::nullopt;
  return NotNow(facts, Reason::kMaintenanceWindow, facts.maintenance_until, facts.maintenance_index);
}

// ---- Is it ready?

Answer AskAttempts(const Facts& facts) {
  const bool used_up = facts.counted > 0 && facts.counted >= facts.attempts_max;
  if (!used_up && facts.uncounted < kUncountedMax) return std::nullopt;
  return End(Reason::kAttemptsExhausted);
}

Answer AskRetryInstant(const Facts& facts) {
  if (facts.next_at <= facts.now) return std::nullopt;
  const Reason reason = facts.next_is_catchup ? Reason::kWaitingCatchup : Reason::kWaitingRetry;
  return NotNow(facts, reason, facts.next_at);
}

// After the cooldown one run is the trial; the others go on waiting for what comes of it.
Answer AskBreaker(const Facts& facts) {
  if (!facts.breaker_open) return std::nullopt;
  if (facts.breaker_until <= facts.now && !facts.breaker_trial_taken) return std::nullopt;
  return NotNow(facts, Reason::kBreakerOpen, facts.breaker_until);
}

Answer AskBudget(const Facts& facts) {
  if (facts.budget_until <= facts.now) return std::nullopt;
  return NotNow(facts, Reason::kBudgetExhausted, facts.budget_until);
}

Reason ReasonOf(PreconditionFact::Answer answer) {
  if (answer == PreconditionFact::Answer::kInvalid) return Reason::kPreconditionInvalid;
  if (answer == PreconditionFact::Answer::kCheckFailed) return Reason::kPreconditionCheckFailed;
  return Reason::kPreconditionNotReady;
}

// All must hold, so one fresh no is the answer and nothing more is read for it. Content that calls a person
// at once does not wait until the others are ready.
Answer AskPreconditions(const Facts& facts) {
  Answer no;
  int unknown = -1;
  for (size_t i = 0; i < facts.preconditions.size(); ++i) {
    const PreconditionFact& fact = facts.preconditions[i];
    const int index = static_cast<int>(i);
    if (fact.once_met_stays) continue;
    if (!IsFresh(fact, facts.now, facts.check_interval)) {
      if (unknown < 0) unknown = index;
      continue;
    }
    if (fact.answer == PreconditionFact::Answer::kYes) continue;
    if (fact.answer == PreconditionFact::Answer::kInvalid && fact.invalid_calls_person) {
      return End(Reason::kPreconditionInvalid, index);
    }
    if (!no) no = NotNow(facts, ReasonOf(fact.answer), fact.at + facts.check_interval, index);
  }
  if (no || unknown < 0) return no;
  return Decision{Verdict::kProbe, Reason::kPreconditionNotReady, unknown, kNever};
}

// ---- Is it ours?

Answer AskKey(const Facts& facts) {
  if (facts.key_running) return NotNow(facts, Reason::kLockOccupied);
  if (facts.previous_alive) return NotNow(facts, Reason::kPreviousAttemptAlive);
  return std::nullopt;
}

Answer AskOrder(const Facts& facts) {
  if (facts.earlier_open) return NotNow(facts, Reason::kWaitingInOrder);
  return std::nullopt;
}

Answer AskConcurrency(const Facts& facts) {
  if (facts.task_running >= facts.task_limit) return NotNow(facts, Reason::kMaxConcurrency);
  return std::nullopt;
}

Answer AskMinInterval(const Facts& facts) {
  const Instant until = std::max(facts.min_interval_until, facts.pool_interval_until);
  if (!facts.first_attempt || until <= facts.now) return std::nullopt;
  return NotNow(facts, Reason::kMinInterval, until);
}

Answer AskPools(const Facts& facts) {
  for (size_t i = 0; i < facts.pools.size(); ++i) {
    const PoolFact& pool = facts.pools[i];
    if (pool.running >= pool.limit) return NotNow(facts, Reason::kPoolFull, kLongAgo, static_cast<int>(i));
  }
  for (size_t i = 0; i < facts.pools.size(); ++i) {
    const Instant until = facts.pools[i].rate_until;
    if (until > facts.now) return NotNow(facts, Reason::kRateLimited, until, static_cast<int>(i));
  }
  return std::nullopt;
}

Answer AskNode(const Facts& facts) {
  if (facts.draining) return NotNow(facts, Reason::kDraining);
  if (facts.clock_skewed) return NotNow(facts, Reason::kClockSkew);
  if (!facts.store_available) return NotNow(facts, Reason::kStoreUnavailable);
  return std::nullopt;
}

// ---- The order of the questions, and what lets a person past each.

enum class Past { kNothing, kTime, kPause, kMaintenance, kReadiness, kBeingAPerson };

struct Gate {
  Answer (*ask)(const Facts&);
  Past past;
};

constexpr Gate kGates[] = {
    {AskDone, Past::kNothing},
    {AskPaused, Past::kPause},
    {AskDue, Past::kTime},
    {AskCalendar, Past::kTime},
    {AskWindow, Past::kTime},
    {AskMaxDelay, Past::kTime},
    {AskBusyHours, Past::kTime},
    {AskMaintenance, Past::kMaintenance},
    {AskAttempts, Past::kBeingAPerson},
    {AskRetryInstant, Past::kReadiness},
    {AskBreaker, Past::kReadiness},
    {AskBudget, Past::kReadiness},
    {AskPreconditions, Past::kReadiness},
    {AskKey, Past::kNothing},
    {AskOrder, Past::kNothing},
    {AskConcurrency, Past::kNothing},
    {AskMinInterval, Past::kNothing},
    {AskPools, Past::kNothing},
    {AskNode, Past::kNothing},
};

bool IsRerun(const Facts& facts) {
  return facts.force.manual && facts.state == RunState::kManualRequired;
}

bool MayPass(Past past, const Facts& facts) {
  const Force& force = facts.force;
  if (past == Past::kTime) return force.time || IsRerun(facts);
  if (past == Past::kPause) return force.pause || IsRerun(facts);
  if (past == Past::kMaintenance) return force.maintenance;
  if (past == Past::kReadiness) return force.readiness;
  return past == Past::kBeingAPerson && force.manual;
}

}  // namespace

Decision Decide(const Facts& facts) {
  for (const Gate& gate : kGates) {
    if (MayPass(gate.past, facts)) continue;
    const Answer answer = gate.ask(facts);
    if (!answer) continue;
    // A person's question ends nothing; neither does ours while a lease of this key lives, as its holder may
    // go on.
    const bool may_end = !facts.force.manual && !facts.key_running;
    if (answer->verdict != Verdict::kEnd || may_end) return *answer;
    return NotNow(facts, answer->reason, kLongAgo, answer->index);
  }
  return {Verdict::kAllow, Reason::kAllConditionsMet, -1, kNever};
}

std::vector<Decision> PassedOver(const Facts& facts) {
  std::vector<Decision> passed;
  for (const Gate& gate : kGates) {
    const bool time = gate.past == Past::kTime;
    const bool unasked = IsRerun(facts) ? time || gate.past == Past::kPause : time && facts.force.beside;
    if (unasked || gate.past == Past::kBeingAPerson || !MayPass(gate.past, facts)) continue;
    if (const Answer answer = gate.ask(facts)) passed.push_back(*answer);
  }
  return passed;
}

}  // namespace duecourse
