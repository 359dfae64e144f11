#include "decide/decide.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace duecourse {
namespace {

using Answer = PreconditionFact::Answer;

const Instant kNoon = *ParseUtc("2026-03-02T12:00:00Z");
constexpr Instant kFromNever = kNever;

// A run that was due at noon, in a window until two, with nothing against it.
Facts Ready() {
  Facts facts;
  facts.now = kNoon;
  facts.due = kNoon;
  facts.opens = kNoon;
  facts.ends = kNoon + Hours(2);
  facts.attempts_max = 3;
  return facts;
}

PreconditionFact Observed(Answer answer, Instant at) {
  PreconditionFact fact;
  fact.answer = answer;
  fact.at = at;
  fact.max_age = Seconds(60);
  return fact;
}

struct Row {
  const char* what;
  std::function<void(Facts&)> change;
  Verdict verdict;
  Reason reason;
  Millis recheck_after;  // kDeny: from noon; {-1} is never
};
constexpr Millis kNot{-1};

const std::vector<PreconditionFact>& Missing() {
  static const std::vector<PreconditionFact> facts = {Observed(Answer::kYes, kNoon - Seconds(60)),
                                                      Observed(Answer::kNo, kNoon - Seconds(10))};
  return facts;
}
const std::vector<PreconditionFact>& Wrong() {
  static const std::vector<PreconditionFact> facts = {Observed(Answer::kInvalid, kNoon)};
  return facts;
}
const std::vector<PreconditionFact>& Broken() {
  static const std::vector<PreconditionFact> facts = {Observed(Answer::kCheckFailed, kNoon)};
  return facts;
}
const std::vector<PoolFact>& FullPools() {
  static const std::vector<PoolFact> pools = {{0, 1, kLongAgo}, {2, 2, kLongAgo}};
  return pools;
}
const std::vector<PoolFact>& UsedRates() {
  static const std::vector<PoolFact> pools = {{0, 1, kLongAgo}, {1, 2, kNoon + Seconds(7)}};
  return pools;
}

// Each reason of the table in the table's order, as the first thing that is wrong. The same rows serve the
// order test.
const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"succeeded", [](Facts& f) { f.state = RunState::kSuccess; }, Verdict::kDeny, Reason::kAlreadyDone,
       kNot},
      {"with a person", [](Facts& f) { f.state = RunState::kManualRequired; }, Verdict::kDeny,
       Reason::kAwaitingPerson, kNot},
      {"superseded",
       [](Facts& f) {
         f.state = RunState::kSkipped;
         f.state_reason = Reason::kSuperseded;
       },
       Verdict::kDeny, Reason::kSuperseded, kNot},
      {"cancelled",
       [](Facts& f) {
         f.state = RunState::kSkipped;
         f.state_reason = Reason::kCancelled;
       },
       Verdict::kDeny, Reason::kCancelled, kNot},
      {"paused", [](Facts& f) { f.paused = true; }, Verdict::kDeny, Reason::kPaused, Hours(2)},
      {"not due", [](Facts& f) { f.due = kNoon + Minutes(5); }, Verdict::kDeny, Reason::kNotDue, Minutes(5)},
      {"a day off", [](Facts& f) { f.day = Occurrence::Day::kExcluded; }, Verdict::kEnd,
       Reason::kCalendarExcluded, kNot},
      {"a year without data", [](Facts& f) { f.day = Occurrence::Day::kUnknown; }, Verdict::kEnd,
       Reason::kCalendarUnknown, kNot},
      {"before the window",
       [](Facts& f) {
         f.opens = kNoon + Minutes(30);
         f.ends = kNoon + Hours(2);
         f.max_delay_end = kNever;
       },
       Verdict::kDeny, Reason::kOutOfWindow, Minutes(30)},
      {"the window's end is exclusive", [](Facts& f) { f.ends = kNoon; }, Verdict::kEnd,
       Reason::kExceededWindow, kNot},
      {"too late for a catch-up",
       [](Facts& f) {
         f.next_is_catchup = true;
         f.max_delay_end = kNoon;
       },
       Verdict::kEnd, Reason::kExceededMaxDelay, kNot},
      {"hours to avoid",
       [](Facts& f) {
         f.next_is_catchup = true;
         f.busy_until = kNoon + Hours(1);
       },
       Verdict::kDeny, Reason::kBusyHours, Hours(1)},
      {"maintenance",
       [](Facts& f) {
         f.maintenance_until = kNoon + Minutes(20);
         f.maintenance_index = 4;
       },
       Verdict::kDeny, Reason::kMaintenanceWindow, Minutes(20)},
      {"the cap", [](Facts& f) { f.counted = 3; }, Verdict::kEnd, Reason::kAttemptsExhausted, kNot},
      {"waits to retry",
       [](Facts& f) {
         f.state = RunState::kRetrying;
         f.next_at = kNoon + Minutes(4);
         f.next_is_catchup = false;
       },
       Verdict::kDeny, Reason::kWaitingRetry, Minutes(4)},
      {"waits to catch up",
       [](Facts& f) {
         f.state = RunState::kCatchupWaiting;
         f.next_at = kNoon + Minutes(40);
         f.next_is_catchup = true;
       },
       Verdict::kDeny, Reason::kWaitingCatchup, Minutes(40)},
      {"breaker",
       [](Facts& f) {
         f.breaker_open = true;
         f.breaker_until = kNoon + Minutes(9);
       },
       Verdict::kDeny, Reason::kBreakerOpen, Minutes(9)},
      {"budget", [](Facts& f) { f.budget_until = kNoon + Minutes(50); }, Verdict::kDeny,
       Reason::kBudgetExhausted, Minutes(50)},
      {"a file is missing", [](Facts& f) { f.preconditions = Missing(); }, Verdict::kDeny,
       Reason::kPreconditionNotReady, Seconds(20)},
      {"its content is wrong", [](Facts& f) { f.preconditions = Wrong(); }, Verdict::kDeny,
       Reason::kPreconditionInvalid, Seconds(30)},
      {"the check fails", [](Facts& f) { f.preconditions = Broken(); }, Verdict::kDeny,
       Reason::kPreconditionCheckFailed, Seconds(30)},
      {"a live lease", [](Facts& f) { f.key_running = true; }, Verdict::kDeny, Reason::kLockOccupied,
       Seconds(30)},
      {"old processes", [](Facts& f) { f.previous_alive = true; }, Verdict::kDeny,
       Reason::kPreviousAttemptAlive, Seconds(30)},
      {"an earlier run is open", [](Facts& f) { f.earlier_open = true; }, Verdict::kDeny,
       Reason::kWaitingInOrder, Seconds(30)},
      {"as many as may run", [](Facts& f) { f.task_running = 1; }, Verdict::kDeny, Reason::kMaxConcurrency,
       Seconds(30)},
      {"too soon", [](Facts& f) { f.min_interval_until = kNoon + Seconds(90); }, Verdict::kDeny,
       Reason::kMinInterval, Seconds(90)},
      {"full pool", [](Facts& f) { f.pools = FullPools(); }, Verdict::kDeny, Reason::kPoolFull, Seconds(30)},
      {"rate", [](Facts& f) { f.pools = UsedRates(); }, Verdict::kDeny, Reason::kRateLimited, Seconds(7)},
      {"draining", [](Facts& f) { f.draining = true; }, Verdict::kDeny, Reason::kDraining, Seconds(30)},
      {"skew", [](Facts& f) { f.clock_skewed = true; }, Verdict::kDeny, Reason::kClockSkew, Seconds(30)},
      {"store", [](Facts& f) { f.store_available = false; }, Verdict::kDeny, Reason::kStoreUnavailable,
       Seconds(30)},
  };
  return rows;
}

TEST(Decide, EachThingThatIsWrongIsAnsweredWithItsReasonAndWhenItIsAskedAgain) {
  std::set<Reason> reached;
  for (const Row& row : Rows()) {
    Facts facts = Ready();
    row.change(facts);
    const Decision decision = Decide(facts);
    EXPECT_EQ(decision.verdict, row.verdict) << row.what;
    EXPECT_STREQ(ReasonName(decision.reason), ReasonName(row.reason)) << row.what;
    const Instant expected =
        row.verdict == Verdict::kEnd || row.recheck_after == kNot ? kFromNever : kNoon + row.recheck_after;
    EXPECT_EQ(FormatUtc(decision.recheck_at), FormatUtc(expected)) << row.what;
    reached.insert(decision.reason);
  }
  const Decision yes = Decide(Ready());
  EXPECT_EQ(yes.verdict, Verdict::kAllow);
  reached.insert(yes.reason);
  // The whole list of reasons up to those of changes of state, so no gate is without its row.
  for (int i = 0; i < static_cast<int>(Reason::kSucceeded); ++i) {
    EXPECT_EQ(reached.count(static_cast<Reason>(i)), 1u) << ReasonName(static_cast<Reason>(i));
  }
  EXPECT_EQ(reached.size(), static_cast<size_t>(Reason::kSucceeded));
}

// From the last row up, each fault is added to all that stand below it: the new one must be the answer.
// (Faults of one field overwrite each other, so the state of a finished run is given last.)
TEST(Decide, TheFirstNoInTheOrderOfTheTableIsTheAnswer) {
  Facts facts = Ready();
  for (size_t i = Rows().size(); i-- > 0;) {
    Rows()[i].change(facts);
    if (Rows()[i].reason == Reason::kExceededMaxDelay)
      facts.key_running = false;  // a live lease keeps it from ending
    EXPECT_STREQ(ReasonName(Decide(facts).reason), ReasonName(Rows()[i].reason)) << Rows()[i].what;
  }
}

TEST(Decide, TheReasonsStandInTheOrderOfTheClosedList) {
  for (size_t i = 1; i < Rows().size(); ++i)
    EXPECT_LT(Rows()[i - 1].reason, Rows()[i].reason) << Rows()[i].what;
}

TEST(Decide, TheAnswerNamesWhichPreconditionPoolOrMaintenanceSaidNo) {
  Facts facts = Ready();
  facts.preconditions = Missing();
  EXPECT_EQ(Decide(facts).index, 1);
  facts = Ready();
  facts.pools = FullPools();
  EXPECT_EQ(Decide(facts).index, 1);
  facts = Ready();
  facts.maintenance_until = kNoon + Minutes(1);
  facts.maintenance_index = 4;
  EXPECT_EQ(Decide(facts).index, 4);
}

TEST(Decide, NothingIsProbedBeforeTheCheapGatesHaveSaidYes) {
  const std::vector<PreconditionFact> unknown(1);
  size_t probed = 0;
  for (const Row& row : Rows()) {
    Facts facts = Ready();
    facts.preconditions = unknown;
    row.change(facts);
    if (row.reason >= Reason::kPreconditionNotReady && row.reason <= Reason::kPreconditionCheckFailed)
      continue;
    const Decision decision = Decide(facts);
    if (row.reason < Reason::kPreconditionNotReady) {
      EXPECT_STREQ(ReasonName(decision.reason), ReasonName(row.reason)) << row.what;
      EXPECT_NE(decision.verdict, Verdict::kProbe) << row.what;
    } else {
      EXPECT_EQ(decision.verdict, Verdict::kProbe) << "ready is asked before ours: " << row.what;
      ++probed;
    }
  }
  EXPECT_EQ(probed, 10u);
}

TEST(Decide, AYesServesForMaxAgeAndANoForOneCheckInterval) {
  const struct {
    const char* what;
    Answer answer;
    Millis age;
    Verdict verdict;
  } rows[] = {
      {"never observed", Answer::kUnknown, Seconds(0), Verdict::kProbe},
      {"a fresh yes", Answer::kYes, Seconds(0), Verdict::kAllow},
      {"a yes of max_age", Answer::kYes, Seconds(60), Verdict::kAllow},
      {"an older yes", Answer::kYes, Millis{60'001}, Verdict::kProbe},
      {"a fresh no", Answer::kNo, Millis{29'999}, Verdict::kDeny},
      {"a no of check_interval", Answer::kNo, Seconds(30), Verdict::kProbe},
      {"an old failed check", Answer::kCheckFailed, Seconds(30), Verdict::kProbe},
      {"a yes from before the clock was set back", Answer::kYes, Seconds(-3600), Verdict::kProbe},
      {"a no from before the clock was set back", Answer::kNo, Seconds(-3600), Verdict::kProbe},
  };
  for (const auto& row : rows) {
    const std::vector<PreconditionFact> preconditions = {Observed(row.answer, kNoon - row.age)};
    Facts facts = Ready();
    facts.preconditions = preconditions;
    EXPECT_EQ(Decide(facts).verdict, row.verdict) << row.what;
  }
}

TEST(Decide, OneFreshNoIsEnoughSoTheOthersAreNotReadForIt) {
  const std::vector<PreconditionFact> preconditions = {Observed(Answer::kUnknown, kNoon),
                                                       Observed(Answer::kNo, kNoon)};
  Facts facts = Ready();
  facts.preconditions = preconditions;
  const Decision decision = Decide(facts);
  EXPECT_EQ(decision.verdict, Verdict::kDeny);
  EXPECT_EQ(decision.index, 1);
}

TEST(Decide, APreconditionOnceMetIsNotReadAgainWhereTheRuleSaysSo) {
  std::vector<PreconditionFact> preconditions = {Observed(Answer::kYes, kNoon - Hours(1))};
  Facts facts = Ready();
  facts.preconditions = preconditions;
  EXPECT_EQ(Decide(facts).verdict, Verdict::kProbe);
  preconditions[0].once_met_stays = true;
  EXPECT_EQ(Decide(facts).verdict, Verdict::kAllow);
}

TEST(Decide, AnAnswerServesTheRoundThatAskedForItWhateverItsAge) {
  for (bool this_round : {false, true}) {
    Facts facts = Ready();
    std::vector<PreconditionFact> conditions = {Observed(Answer::kYes, kNoon - Seconds(9)),
                                                Observed(Answer::kYes, kNoon)};
    for (PreconditionFact& fact : conditions) {
      fact.max_age = Millis{0};
      fact.this_round = this_round;
    }
    facts.preconditions = conditions;
    EXPECT_EQ(Decide(facts).verdict, this_round ? Verdict::kAllow : Verdict::kProbe);
    conditions[0].at = kNoon + Seconds(1);  // the clock was set back
    EXPECT_EQ(Decide(facts).verdict, Verdict::kProbe);
  }
}

TEST(Decide, WhatAPersonOrderedToEndStartsNoMoreAndIsOverWhenNothingOfItLives) {
  Facts facts = Ready();
  facts.cancel_ordered = true;
  for (RunState state : {RunState::kScheduled, RunState::kRetrying, RunState::kCatchupWaiting}) {
    facts.state = state;
    facts.previous_alive = true;
    EXPECT_EQ(Decide(facts).verdict, Verdict::kDeny);
    EXPECT_EQ(Decide(facts).reason, Reason::kPreviousAttemptAlive);
    facts.previous_alive = false;
    EXPECT_EQ(Decide(facts).verdict, Verdict::kEnd);
    EXPECT_EQ(Decide(facts).reason, Reason::kCancelled);
  }
  facts.state = RunState::kRunning;
  EXPECT_EQ(Decide(facts).reason, Reason::kLockOccupied);
}

TEST(Decide, WrongContentCallsAPersonAtOnceOnlyWhereTheRuleSaysSo) {
  std::vector<PreconditionFact> preconditions = {Observed(Answer::kNo, kNoon),
                                                 Observed(Answer::kInvalid, kNoon)};
  Facts facts = Ready();
  facts.preconditions = preconditions;
  EXPECT_EQ(Decide(facts).reason, Reason::kPreconditionNotReady);
  preconditions[1].invalid_calls_person = true;
  const Decision decision = Decide(facts);
  EXPECT_EQ(decision.verdict, Verdict::kEnd);
  EXPECT_EQ(decision.reason, Reason::kPreconditionInvalid);
  EXPECT_EQ(decision.index, 1);
}

TEST(Decide, APauseAnswersUntilTheWindowEnds) {
  Facts facts = Ready();
  facts.paused = true;
  facts.now = facts.ends - Millis{1};
  EXPECT_EQ(Decide(facts).reason, Reason::kPaused);
  EXPECT_EQ(Decide(facts).recheck_at, facts.ends);
  facts.now = facts.ends;
  EXPECT_EQ(Decide(facts).verdict, Verdict::kEnd);
  EXPECT_EQ(Decide(facts).reason, Reason::kPaused);
  facts.counted = 1;  // what was attempted before the pause keeps its window, and a person
  facts.state = RunState::kRetrying;
  EXPECT_EQ(Decide(facts).verdict, Verdict::kEnd);
  EXPECT_EQ(Decide(facts).reason, Reason::kExceededWindow);
}

TEST(Decide, MaxDelayEndsOnlyCatchUpStarts) {
  Facts facts = Ready();
  facts.max_delay_end = kNoon - Minutes(1);
  EXPECT_EQ(Decide(facts).verdict, Verdict::kAllow) << "waiting for data is not catching up";
  facts.owed = true;
  EXPECT_EQ(Decide(facts).reason, Reason::kExceededMaxDelay) << "the start of what downtime left is";
  facts.counted = 1;
  EXPECT_EQ(Decide(facts).verdict, Verdict::kAllow) << "a retry of it is not";
  facts.next_is_catchup = true;
  EXPECT_EQ(Decide(facts).reason, Reason::kExceededMaxDelay);
  facts.max_delay_end = facts.ends + Hours(9);  // never lengthens the window
  facts.now = facts.ends;
  EXPECT_EQ(Decide(facts).reason, Reason::kExceededWindow);
}

TEST(Decide, AWaitIsAskedAgainNoLaterThanItsEnd) {
  Facts facts = Ready();
  facts.next_at = kNoon + Hours(5);
  EXPECT_EQ(Decide(facts).recheck_at, facts.ends);
  facts.next_is_catchup = true;
  facts.max_delay_end = kNoon + Hours(1);
  EXPECT_EQ(Decide(facts).recheck_at, kNoon + Hours(1));
  facts = Ready();
  facts.ends = kNoon + Seconds(10);
  facts.pools = FullPools();
  EXPECT_EQ(Decide(facts).recheck_at, kNoon + Seconds(10)) << "sooner than check_interval";
}

TEST(Decide, AfterTheCooldownOneRunIsTheTrialAndOthersWait) {
  Facts facts = Ready();
  facts.breaker_open = true;
  facts.breaker_until = kNoon;
  EXPECT_EQ(Decide(facts).verdict, Verdict::kAllow);
  facts.breaker_trial_taken = true;
  EXPECT_EQ(Decide(facts).reason, Reason::kBreakerOpen);
  EXPECT_EQ(Decide(facts).recheck_at, kNoon + Seconds(30));
}

TEST(Decide, TheCapEndsOnlyWhatWasAttemptedAndAHundredUncountedEndEverything) {
  Facts facts = Ready();
  facts.attempts_max = 0;
  EXPECT_EQ(Decide(facts).verdict, Verdict::kAllow);
  facts.counted = 1;
  EXPECT_EQ(Decide(facts).reason, Reason::kAttemptsExhausted);
  facts = Ready();
  facts.uncounted = kUncountedMax - 1;
  EXPECT_EQ(Decide(facts).verdict, Verdict::kAllow);
  facts.uncounted = kUncountedMax;
  EXPECT_EQ(Decide(facts).verdict, Verdict::kEnd);
  EXPECT_EQ(Decide(facts).reason, Reason::kAttemptsExhausted);
}

TEST(Decide, ARunningAttemptIsEndedByNothingAndAnswersThatItRuns) {
  for (const Row& row : Rows()) {
    Facts facts = Ready();
    row.change(facts);
    facts.state = RunState::kRunning;
    const Decision decision = Decide(facts);
    EXPECT_EQ(decision.verdict, Verdict::kDeny) << row.what;
    EXPECT_EQ(decision.reason, Reason::kLockOccupied) << row.what;
    EXPECT_GT(decision.recheck_at, kNoon) << row.what;
  }
  Facts facts = Ready();
  facts.key_running = true;
  facts.now = facts.ends + Minutes(1);
  EXPECT_EQ(Decide(facts).verdict, Verdict::kDeny) << "nor where only the lease is known";
}

// What a person gets past without --force, with it, and never.
TEST(Decide, APersonPassesTheSameGatesAndForceOpensOnlySome) {
  const std::set<Reason> never = {Reason::kAlreadyDone,
                                  Reason::kSuperseded,
                                  Reason::kCancelled,
                                  Reason::kLockOccupied,
                                  Reason::kPreviousAttemptAlive,
                                  Reason::kWaitingInOrder,
                                  Reason::kMaxConcurrency,
                                  Reason::kMinInterval,
                                  Reason::kPoolFull,
                                  Reason::kRateLimited,
                                  Reason::kDraining,
                                  Reason::kClockSkew,
                                  Reason::kStoreUnavailable};
  for (const Row& row : Rows()) {
    Facts facts = Ready();
    row.change(facts);
    facts.force.manual = true;
    const bool free = row.reason == Reason::kAttemptsExhausted || row.reason == Reason::kAwaitingPerson;
    const Decision asked = Decide(facts);
    EXPECT_EQ(asked.verdict, free ? Verdict::kAllow : Verdict::kDeny) << row.what;
    EXPECT_STREQ(ReasonName(asked.reason), ReasonName(free ? Reason::kAllConditionsMet : row.reason));
    EXPECT_GT(asked.recheck_at, kNoon) << row.what;
    facts.force = {true, true, true, true, true};
    const Decision forced = Decide(facts);
    EXPECT_EQ(forced.verdict, never.count(row.reason) > 0 ? Verdict::kDeny : Verdict::kAllow) << row.what;
    EXPECT_EQ(CanBeForced(row.reason), asked.verdict != Verdict::kAllow && forced.verdict == Verdict::kAllow)
        << row.what << ": what a refusal promises is what force does";
  }
}

TEST(Decide, ARerunOfWhatWaitsForAPersonIsNotAskedForTimeButForMaintenanceAndReadiness) {
  for (const Row& row : Rows()) {
    if (row.reason <= Reason::kCancelled) continue;
    Facts facts = Ready();
    row.change(facts);
    facts.state = RunState::kManualRequired;
    facts.force.manual = true;
    const bool time = row.reason >= Reason::kPaused && row.reason <= Reason::kBusyHours;
    const bool allowed = time || row.reason == Reason::kAttemptsExhausted;
    EXPECT_EQ(Decide(facts).verdict, allowed ? Verdict::kAllow : Verdict::kDeny) << row.what;
  }
}

TEST(Decide, WhatAPersonPassesOverIsTheAnswerThatStoodInTheWay) {
  for (const Row& row : Rows()) {
    Facts facts = Ready();
    row.change(facts);
    EXPECT_TRUE(PassedOver(facts).empty()) << row.what << ": nobody passes over anything";
    facts.force = {true, true, true, true, true};
    const std::vector<Decision> passed = PassedOver(facts);
    const bool forced = Decide(facts).verdict == Verdict::kAllow && row.reason != Reason::kAllConditionsMet &&
                        row.reason != Reason::kAttemptsExhausted && row.reason != Reason::kAwaitingPerson;
    if (forced) {
      ASSERT_FALSE(passed.empty()) << row.what;
      EXPECT_STREQ(ReasonName(passed.front().reason), ReasonName(row.reason)) << row.what;
    }
    EXPECT_EQ(passed.empty(), !forced) << row.what;
  }
  Facts late = Ready();
  late.now = late.ends + Hours(1);
  late.owed = true;
  late.force = {true, true, true, true, true};
  ASSERT_EQ(PassedOver(late).size(), 1U) << "the rule has no max_delay";
  EXPECT_EQ(PassedOver(late).front().reason, Reason::kExceededWindow);
  late.max_delay_end = late.ends;  // it does not come before the window's end
  EXPECT_EQ(PassedOver(late).size(), 1U);
  late.max_delay_end = late.ends - Hours(1);
  EXPECT_EQ(PassedOver(late).size(), 2U);
  late.force.beside = true;
  EXPECT_TRUE(PassedOver(late).empty()) << "beside the schedule there is no time to pass over";
  Facts rerun = Ready();
  rerun.state = RunState::kManualRequired;
  rerun.now = rerun.ends + Hours(1);
  rerun.paused = true;
  rerun.force = {true, true, true, false, false};
  EXPECT_TRUE(PassedOver(rerun).empty()) << "a rerun is not asked for time";
  rerun.maintenance_until = rerun.now + Hours(1);
  rerun.force.maintenance = true;
  ASSERT_EQ(PassedOver(rerun).size(), 1U);
  EXPECT_EQ(PassedOver(rerun).front().reason, Reason::kMaintenanceWindow);
}

TEST(Decide, WhatIsFinalAnswersWithItsOwnReason) {
  Facts facts = Ready();
  facts.state = RunState::kMissed;
  facts.state_reason = Reason::kSchedulerDown;
  EXPECT_EQ(Decide(facts).reason, Reason::kSchedulerDown);
  facts.state = RunState::kSkipped;
  facts.state_reason = Reason::kCalendarExcluded;
  EXPECT_EQ(Decide(facts).reason, Reason::kCalendarExcluded);
  facts.key_done = true;
  EXPECT_EQ(Decide(facts).reason, Reason::kAlreadyDone);
}

TEST(Decide, ACheckIntervalOfNothingStillMovesForward) {
  Facts facts = Ready();
  facts.check_interval = Millis{0};
  facts.draining = true;
  EXPECT_GT(Decide(facts).recheck_at, facts.now);
}

}  // namespace
}  // namespace duecourse
