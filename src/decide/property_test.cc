// What must hold for any facts whatever, tried on random ones. The seed is printed with what failed.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/random.h"
#include "decide/decide.h"
#include "decide/recover.h"
#include "run/lifecycle.h"

namespace duecourse {
namespace {

constexpr uint64_t kSeed = 20260302;
constexpr int kRounds = 200'000;
const Instant kNow = *ParseUtc("2026-03-02T12:00:00Z");

bool OneIn(Random& random, int n) { return random.Between(1, n) == 1; }
// Around now, often exactly now, to the millisecond where edges are.
Instant Near(Random& random) {
  switch (random.Between(0, 3)) {
    case 0:
      return kNow;
    case 1:
      return kNow + Millis{random.Between(-2, 2)};
    default:
      return kNow + Seconds(random.Between(-7200, 7200));
  }
}
Instant Rarely(Random& random, Instant otherwise) { return OneIn(random, 6) ? Near(random) : otherwise; }

struct Drawn {
  std::vector<PreconditionFact> preconditions;
  std::vector<PoolFact> pools;
  Facts facts;
};

void DrawOutside(Random& random, Drawn& drawn) {
  for (int64_t n = random.Between(0, 3); n > 0; --n) {
    PreconditionFact fact;
    fact.answer = OneIn(random, 3) ? static_cast<PreconditionFact::Answer>(random.Between(0, 4))
                                   : PreconditionFact::Answer::kYes;
    fact.at = OneIn(random, 2) ? kNow : kNow - Seconds(random.Between(-5, 90));
    fact.max_age = Seconds(random.Between(0, 60));
    fact.once_met_stays = OneIn(random, 8);
    fact.invalid_calls_person = OneIn(random, 2);
    drawn.preconditions.push_back(fact);
  }
  for (int64_t n = random.Between(0, 2); n > 0; --n) {
    drawn.pools.push_back({static_cast<int>(random.Between(0, 2)), 2, Rarely(random, kLongAgo)});
  }
  drawn.facts.preconditions = drawn.preconditions;
  drawn.facts.pools = drawn.pools;
}

Drawn Draw(Random& random) {
  Drawn drawn;
  Facts& f = drawn.facts;
  f.now = kNow;
  if (OneIn(random, 4)) {
    f.force = {true, OneIn(random, 2), OneIn(random, 2), OneIn(random, 2), OneIn(random, 2)};
  }
  f.state =
      OneIn(random, 2) ? RunState::kScheduled : static_cast<RunState>(random.Between(0, kRunStateCount - 1));
  f.state_reason = OneIn(random, 2) ? Reason::kSuperseded : Reason::kExceededWindow;
  f.key_done = OneIn(random, 20);
  f.paused = OneIn(random, 10);
  f.day = OneIn(random, 10) ? static_cast<Occurrence::Day>(random.Between(0, 2)) : Occurrence::Day::kOpen;
  f.due = Rarely(random, kNow - Minutes(3));
  f.opens = Rarely(random, kNow - Minutes(3));
  f.ends = Rarely(random, kNow + Hours(1));
  f.max_delay_end = Rarely(random, kNever);
  f.busy_until = Rarely(random, kLongAgo);
  f.maintenance_until = Rarely(random, kLongAgo);
  f.counted = static_cast<int>(random.Between(0, 3));
  f.uncounted = OneIn(random, 10) ? static_cast<int>(random.Between(98, 101)) : 0;
  f.attempts_max = static_cast<int>(random.Between(1, 4));
  f.next_at = Rarely(random, kLongAgo);
  f.next_is_catchup = OneIn(random, 3);
  f.owed = OneIn(random, 5);
  f.breaker_open = OneIn(random, 8);
  f.breaker_until = Near(random);
  f.breaker_trial_taken = OneIn(random, 3);
  f.budget_until = Rarely(random, kLongAgo);
  f.key_running = OneIn(random, 10);
  f.previous_alive = OneIn(random, 10);
  f.earlier_open = OneIn(random, 10);
  f.task_running = OneIn(random, 10) ? 1 : 0;
  f.first_attempt = f.counted == 0;
  f.min_interval_until = Rarely(random, kLongAgo);
  f.pool_interval_until = Rarely(random, kLongAgo);
  f.draining = OneIn(random, 20);
  f.clock_skewed = OneIn(random, 20);
  f.store_available = !OneIn(random, 20);
  f.check_interval = Seconds(random.Between(0, 60));
  DrawOutside(random, drawn);
  return drawn;
}

std::string Where(int round) { return "seed " + std::to_string(kSeed) + " round " + std::to_string(round); }

// G1, G4, G5 and G2 as far as facts can tell them, written without a look at the gates.
void CheckAllowed(const Facts& f, int round) {
  const std::string where = Where(round);
  const bool rerun = f.force.manual && f.state == RunState::kManualRequired;
  EXPECT_FALSE(f.key_done || IsFinal(f.state) || f.state == RunState::kRunning) << where;
  if (!f.force.manual) {
    EXPECT_NE(f.state, RunState::kManualRequired) << where;
    EXPECT_FALSE(f.counted > 0 && f.counted >= f.attempts_max) << where;
    EXPECT_LT(f.uncounted, kUncountedMax) << where;
  }
  if (!f.force.time && !rerun) {
    EXPECT_TRUE(f.opens <= f.now && f.due <= f.now && f.now < f.ends) << where;
    EXPECT_EQ(f.day, Occurrence::Day::kOpen) << where;
    if (f.next_is_catchup) {
      EXPECT_TRUE(f.now < f.max_delay_end && f.busy_until <= f.now) << where;
    }
  }
  if (!f.force.pause && !rerun) {
    EXPECT_FALSE(f.paused) << where;
  }
  if (!f.force.maintenance) {
    EXPECT_LE(f.maintenance_until, f.now) << where;
  }
  if (!f.force.readiness) {
    EXPECT_LE(f.next_at, f.now) << where;
    EXPECT_FALSE(f.breaker_open && (f.breaker_until > f.now || f.breaker_trial_taken)) << where;
    for (const PreconditionFact& fact : f.preconditions) {
      const bool met = fact.answer == PreconditionFact::Answer::kYes && fact.at <= f.now &&
                       f.now - fact.at <= fact.max_age;
      EXPECT_TRUE(met || fact.once_met_stays) << where;
    }
  }
  EXPECT_FALSE(f.key_running || f.previous_alive || f.earlier_open || f.task_running >= f.task_limit)
      << where;
  for (const PoolFact& pool : f.pools)
    EXPECT_TRUE(pool.running < pool.limit && pool.rate_until <= f.now) << where;
  if (f.first_attempt) {
    EXPECT_TRUE(f.min_interval_until <= f.now && f.pool_interval_until <= f.now) << where;
  }
  EXPECT_TRUE(!f.draining && !f.clock_skewed && f.store_available) << where;
}

void CheckDenied(const Facts& f, const Decision& decision, Random& random, int round) {
  const std::string where = Where(round) + " " + ReasonName(decision.reason);
  EXPECT_GT(decision.recheck_at, f.now) << where;
  if (decision.recheck_at == kNever) {
    // Only what no passing of time can change.
    EXPECT_TRUE(f.key_done || IsFinal(f.state) || f.state == RunState::kManualRequired) << where;
    return;
  }
  if (f.ends > f.now) {
    EXPECT_LE(decision.recheck_at, f.ends) << where;
  }
  for (const PreconditionFact& fact : f.preconditions) {
    if (fact.at > f.now) return;  // set back clocks: an answer that is unknown now would be read later
  }
  // It is not asked again too late: with the same facts nothing could start or end before (a yes may have
  // become old).
  Facts later = f;
  later.now = f.now + Millis{random.Between(0, (decision.recheck_at - f.now).count - 1)};
  const Verdict verdict = Decide(later).verdict;
  EXPECT_TRUE(verdict == Verdict::kDeny || verdict == Verdict::kProbe)
      << where << " at +" << (later.now - f.now).count << " ms";
}

void CheckEnded(const Facts& f, const Decision& decision, int round) {
  const std::string where = Where(round) + " " + ReasonName(decision.reason);
  EXPECT_TRUE(IsOpen(f.state) && f.state != RunState::kRunning) << where;
  EXPECT_FALSE(f.force.manual || f.key_running) << where;
  for (OnWindowEnd on_window_end : {OnWindowEnd::kManual, OnWindowEnd::kMissed}) {
    const Ended ended = DecideEnd({decision.reason, on_window_end, f.counted});
    const bool attempted = f.state == RunState::kRetrying || f.state == RunState::kCatchupWaiting;
    // Runs that wait to retry have a counted attempt; facts drawn at random may deny it.
    if (!attempted || f.counted > 0) {
      EXPECT_TRUE(EdgeExists(f.state, ended.state)) << where;
    }
  }
}

void CheckProbed(Facts f, int round) {
  const std::string where = Where(round);
  EXPECT_FALSE(f.preconditions.empty()) << where;
  // With the preconditions met and everything ours, nothing else stands in the way.
  f.preconditions = {};
  f.pools = {};
  f.key_running = f.previous_alive = f.earlier_open = f.draining = f.clock_skewed = false;
  f.store_available = true;
  f.task_running = 0;
  f.first_attempt = false;
  EXPECT_EQ(Decide(f).verdict, Verdict::kAllow) << where;
}

TEST(DecideProperty, WhateverTheFactsTheAnswerKeepsTheGuarantees) {
  Random random(kSeed);
  std::array<int, 4> verdicts = {};
  for (int round = 0; round < kRounds; ++round) {
    const Drawn drawn = Draw(random);
    const Decision decision = Decide(drawn.facts);
    ++verdicts[static_cast<size_t>(decision.verdict)];
    switch (decision.verdict) {
      case Verdict::kAllow:
        EXPECT_EQ(decision.reason, Reason::kAllConditionsMet);
        CheckAllowed(drawn.facts, round);
        break;
      case Verdict::kDeny:
        CheckDenied(drawn.facts, decision, random, round);
        break;
      case Verdict::kEnd:
        CheckEnded(drawn.facts, decision, round);
        break;
      case Verdict::kProbe:
        CheckProbed(drawn.facts, round);
        break;
    }
    if (testing::Test::HasFailure()) break;
  }
  for (int count : verdicts) EXPECT_GT(count, kRounds / 200) << "the draw should try every kind of answer";
}

struct DrawnEnding {
  Run run;
  RetryRule retry;
  Breaker breaker;
  Zone zone = Zone::Utc();
  RecoverFacts facts;
};

void DrawRule(Random& random, DrawnEnding& drawn) {
  RetryRule& retry = drawn.retry;
  retry.immediate_max = static_cast<int>(random.Between(0, 2));
  retry.backoff =
      std::vector<Millis>(static_cast<size_t>(random.Between(0, 3)), Minutes(random.Between(1, 4)));
  retry.jitter = Millis{random.Between(0, 1000)};
  retry.catchup = OneIn(random, 2);
  retry.then_manual = OneIn(random, 10);
  if (OneIn(random, 2)) retry.catchup_max_times = static_cast<int>(random.Between(1, 5));
  retry.max_total_attempts = static_cast<int>(random.Between(1, 10));
  if (OneIn(random, 3)) retry.avoid = {{static_cast<int32_t>(random.Between(0, 86'399)), 13 * 3600}};
}

DrawnEnding DrawEnding(Random& random) {
  DrawnEnding drawn;
  DrawRule(random, drawn);
  Run& run = drawn.run;
  constexpr RunState kWaiting[] = {RunState::kScheduled, RunState::kRetrying, RunState::kCatchupWaiting};
  run.state = RunState::kRunning;
  run.before_claim = kWaiting[random.Between(0, 2)];
  if (OneIn(random, 2)) run.next_at = Near(random);
  run.before_manual = OneIn(random, 2) ? RunState::kManualRequired : kWaiting[random.Between(0, 2)];
  run.counted = static_cast<int>(random.Between(1, drawn.retry.max_total_attempts));
  run.uncounted = static_cast<int>(random.Between(0, kUncountedMax - 1));
  run.ladder = {static_cast<int>(random.Between(0, 2)), static_cast<int>(random.Between(0, 3)),
                static_cast<int>(random.Between(0, 5))};
  drawn.breaker.open = OneIn(random, 4);
  drawn.breaker.until = Near(random);
  RecoverFacts& f = drawn.facts;
  f.now = kNow;
  f.outcome = static_cast<Outcome>(random.Between(1, 7));
  f.failure_class = static_cast<FailureClass>(random.Between(1, 3));
  if (OneIn(random, 4)) f.retry_after = Seconds(random.Between(-5, 7200));
  f.request_unanswered = OneIn(random, 6);
  f.timed_out_manual = OneIn(random, 6);
  f.manual_attempt = OneIn(random, 5);
  f.draining_stop = OneIn(random, 10);
  f.on_lost = OneIn(random, 3) ? OnLost::kHold : OnLost::kRerun;
  f.ends = OneIn(random, 4) ? Near(random) : kNow + Hours(3);
  f.max_delay_end = Rarely(random, kNever);
  f.breaker_manual = OneIn(random, 10);
  f.jitter = Millis{random.Between(0, drawn.retry.jitter.count)};
  return drawn;
}

// An automatic step: later than now, before the end, past the breaker, outside the hours to avoid, and within
// the cap.
void CheckStep(const DrawnEnding& drawn, const Recovery& next, const std::string& where) {
  const RecoverFacts& f = drawn.facts;
  EXPECT_GE(*next.next_at, f.now) << where;
  EXPECT_LT(*next.next_at, f.ends) << where;
  EXPECT_LT(next.counted, drawn.retry.max_total_attempts) << where;
  EXPECT_NE(f.failure_class == FailureClass::kBusiness && f.outcome == Outcome::kFailed && !f.draining_stop,
            true)
      << where;
  if (drawn.breaker.open) {
    EXPECT_GE(*next.next_at, *drawn.breaker.until) << where;
  }
  if (next.next == RunState::kCatchupWaiting) {
    EXPECT_LT(*next.next_at, f.max_delay_end) << where;
    EXPECT_EQ(AvoidEnd(drawn.retry, drawn.zone, *next.next_at), std::nullopt) << where;
  }
  const Ladder& a = drawn.run.ladder;
  const Ladder& b = next.ladder;
  const int used = (b.immediate - a.immediate) + (b.backoff - a.backoff) + (b.catchup - a.catchup);
  EXPECT_EQ(used, next.lost_rerun ? 0 : 1) << where;
  if (next.lost_rerun || next.next == RunState::kCatchupWaiting) return;
  if (f.retry_after) {
    EXPECT_GE(*next.next_at, f.now + *f.retry_after) << where;
  }
}

TEST(RecoverProperty, WhateverTheEndingTheNextStepKeepsTheGuarantees) {
  Random random(kSeed);
  int steps = 0;
  for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    DrawnEnding drawn = DrawEnding(random);
    RecoverFacts& f = drawn.facts;
    f.run = &drawn.run;
    f.retry = &drawn.retry;
    f.breaker = &drawn.breaker;
    f.zone = &drawn.zone;
    const Recovery next = Recover(f);
    const std::string where = Where(round) + " " + OutcomeName(f.outcome) + " -> " + RunStateName(next.next);
    EXPECT_TRUE(EdgeExists(RunState::kRunning, next.next)) << where;
    if (f.outcome == Outcome::kSuccess) {
      EXPECT_EQ(next.next, RunState::kSuccess) << where;
    }
    const bool waits = next.next == RunState::kRetrying || next.next == RunState::kCatchupWaiting;
    if (waits) {
      EXPECT_TRUE(next.next_at.has_value()) << where;
    }
    if (next.next == RunState::kManualRequired || IsFinal(next.next)) {
      EXPECT_FALSE(next.next_at.has_value()) << where;
    }
    const bool unknown =
        f.outcome == Outcome::kLost ||
        (f.request_unanswered && (f.outcome == Outcome::kFailed || f.outcome == Outcome::kTimedOut));
    if (unknown && f.on_lost == OnLost::kHold) {
      EXPECT_EQ(next.next, RunState::kManualRequired) << where;
    }
    // Automation goes on after a person's attempt only with a pause, and never over a refusal.
    const bool started_by_hand_waits = f.manual_attempt && (waits || next.next == RunState::kScheduled);
    if (started_by_hand_waits) {
      ASSERT_TRUE(next.next_at.has_value()) << where;
      EXPECT_GT(*next.next_at, f.now) << where;
      EXPECT_TRUE(!f.retry_after || *next.next_at >= f.now + *f.retry_after) << where;
      EXPECT_FALSE(f.failure_class == FailureClass::kBusiness && f.outcome == Outcome::kFailed &&
                   !f.draining_stop)
          << where;
    }
    const bool free = f.outcome == Outcome::kNotReady || f.outcome == Outcome::kNotStarted;
    EXPECT_EQ(next.counted, free && !f.manual_attempt ? drawn.run.counted - 1 : drawn.run.counted) << where;
    EXPECT_LE(next.uncounted, kUncountedMax) << where;
    if (!waits || f.manual_attempt || free) continue;
    CheckStep(drawn, next, where);
    ++steps;
  }
  EXPECT_GT(steps, kRounds / 20);
}

// Whatever the rule and however attempts end, a run comes to an end within its cap and its uncounted bound.
TEST(RecoverProperty, EveryRunEndsInABoundedNumberOfAttempts) {
  Random random(kSeed);
  for (int round = 0; round < 2'000 && !testing::Test::HasFailure(); ++round) {
    DrawnEnding drawn = DrawEnding(random);
    duecourse::Run& run = drawn.run;
    run.state = RunState::kScheduled;
    run.counted = run.uncounted = 0;
    run.ladder = {};
    drawn.breaker = {};
    int attempts = 0;
    while (IsOpen(run.state)) {
      ASSERT_LE(++attempts, drawn.retry.max_total_attempts + kUncountedMax) << Where(round);
      run.before_claim = run.state;
      run.state = RunState::kRunning;
      ++run.counted;
      RecoverFacts f = drawn.facts;
      f.ends = kNever;
      f.manual_attempt = false;
      f.outcome = static_cast<Outcome>(random.Between(2, 6));
      f.run = &run;
      f.retry = &drawn.retry;
      f.breaker = &drawn.breaker;
      const Recovery next = Recover(f);
      run.state = next.next;
      run.ladder = next.ladder;
      run.counted = next.counted;
      run.uncounted = next.uncounted;
    }
    EXPECT_LE(run.counted, drawn.retry.max_total_attempts) << Where(round);
  }
}

}  // namespace
}  // namespace duecourse
