// Claims, leases and fences, as claim.h says them, on every store.
#include <functional>

#include "store/contract.h"

namespace duecourse {
namespace {

class ClaimContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    AddTask("t");
  }
  // Every limit stands against this claim at once; each row of the table takes away what comes before its
  // reason.
  void SetEverythingAgainst() {
    RunningRun("r-other", "t");
    ControlCall control;
    control.control.scope = "task/t";
    control.control.version = 7;
    control.audit = MakeAudit("pause");
    Breaker breaker;
    breaker.task = "t";
    breaker.version = 3;
    breaker.open = true;
    breaker.until = clock_.wall + Minutes(30);
    CommitAll({control, BreakerCall{breaker}});
  }
  ClaimCall AgainstEverything(const RunRow& run) {
    ClaimCall claim = MakeClaim(run, "n-all");
    claim.control_version = 6;
    claim.rule_version = 9;
    claim.not_before = clock_.wall + Minutes(5);
    claim.not_after = clock_.wall - Minutes(5);
    claim.attempts_max = 0;
    claim.breaker_version = 2;
    claim.task_limit = 1;
    claim.min_interval = Minutes(10);
    claim.pools = {{"gpu", 0}};
    return claim;
  }
};

TEST_P(ClaimContract, GrantsAndWritesRunAttemptLeaseAndDecisionTogether) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanRuns({run});
  clock_.Pass(Seconds(2));
  ClaimCall claim = MakeClaim(run, "nonce1");
  claim.kind = TriggerKind::kRetry;
  claim.rule_version = 1;
  claim.by = "";
  ClaimReply reply = Claim(claim);
  EXPECT_TRUE(reply.granted);
  EXPECT_EQ(reply.fence, 1);
  EXPECT_EQ(reply.attempt, 1);
  EXPECT_EQ(reply.at, clock_.wall);

  RunRow stored = Stored("r1");
  EXPECT_EQ(stored.state, RunState::kRunning);
  EXPECT_EQ(stored.reason, Reason::kAllConditionsMet);
  EXPECT_EQ(stored.before_claim, RunState::kScheduled);
  EXPECT_EQ(stored.counted, 1);
  EXPECT_EQ(stored.first_start, clock_.wall);
  EXPECT_EQ(stored.state_since, clock_.wall);
  EXPECT_EQ(stored.incarnation, "i1");
  EXPECT_EQ(stored.boot_id, "boot1");
  EXPECT_EQ(stored.lease_until, clock_.boot + Seconds(60));

  Snapshot snapshot = LoadAll();
  ASSERT_EQ(snapshot.unfinished.size(), 1u);
  const Attempt& attempt = snapshot.unfinished[0];
  EXPECT_EQ(attempt.run_id, "r1");
  EXPECT_EQ(attempt.nonce, "nonce1");
  EXPECT_EQ(attempt.kind, TriggerKind::kRetry);
  EXPECT_EQ(attempt.fence, 1);
  EXPECT_EQ(attempt.node, "n1");
  EXPECT_EQ(attempt.rule_version, 1);
  EXPECT_EQ(attempt.claimed_at, clock_.wall);
  EXPECT_EQ(snapshot.cursors.at(0).last_start, clock_.wall);

  std::vector<DecisionRow> rows = DecisionsOf("r1");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].decision, "run");
  EXPECT_EQ(rows[0].attempt, 1);
  EXPECT_EQ(rows[0].fence, 1);
  EXPECT_EQ(rows[0].key, "t:r1");
  EXPECT_EQ(rows[0].node, "n1");
  EXPECT_EQ(rows[0].zone_data, "2025b");
  EXPECT_EQ(rows[0].at, clock_.wall);
}

TEST_P(ClaimContract, RefusesInTheOrderInWhichADecisionAsks) {
  SetEverythingAgainst();
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanRuns({run});
  ClaimCall claim = AgainstEverything(run);
  const Instant now = clock_.wall;
  struct Row {
    Reason reason;
    Instant recheck_at;
    std::function<void(ClaimCall&)> cure;  // so that the next reason is the first
  };
  const std::vector<Row> rows = {
      {Reason::kPaused, now, [](ClaimCall& c) { c.control_version = 7; }},
      {Reason::kNotDue, now, [](ClaimCall& c) { c.rule_version = 1; }},
      {Reason::kOutOfWindow, now + Minutes(5), [](ClaimCall& c) { c.not_before = kLongAgo; }},
      {Reason::kOutOfWindow, now, [](ClaimCall& c) { c.not_after = kNever; }},
      {Reason::kAttemptsExhausted, kNever, [](ClaimCall& c) { c.attempts_max = 1; }},
      {Reason::kBreakerOpen, now + Minutes(30), [](ClaimCall& c) { c.breaker_version = 3; }},
      {Reason::kMaxConcurrency, now + Seconds(60), [](ClaimCall& c) { c.task_limit = 2; }},
      {Reason::kMinInterval, now + Minutes(10), [](ClaimCall& c) { c.min_interval = Millis{}; }},
      {Reason::kPoolFull, now,
       [](ClaimCall& c) {
         c.pools = {{"gpu", 1}};
       }},
  };
  for (const Row& row : rows) {
    ClaimReply reply = Claim(claim);
    EXPECT_FALSE(reply.granted);
    EXPECT_STREQ(ReasonName(reply.refusal), ReasonName(row.reason));
    EXPECT_EQ(FormatUtc(reply.recheck_at), FormatUtc(row.recheck_at)) << ReasonName(row.reason);
    EXPECT_FALSE(reply.detail.empty()) << ReasonName(row.reason);
    row.cure(claim);
  }
  EXPECT_TRUE(Claim(claim).granted);
}

TEST_P(ClaimContract, RefusesWhatIsDoneBeforeAllElse) {
  SetEverythingAgainst();
  struct Row {
    RunState state;
    Reason why;  // the run's own
    Reason refusal;
  };
  const std::vector<Row> rows = {
      {RunState::kSuccess, Reason::kSucceeded, Reason::kAlreadyDone},
      {RunState::kSkipped, Reason::kSuperseded, Reason::kSuperseded},
      {RunState::kSkipped, Reason::kCancelled, Reason::kCancelled},
      {RunState::kMissed, Reason::kExceededWindow, Reason::kExceededWindow},
      {RunState::kManualRequired, Reason::kFailed, Reason::kAwaitingPerson},
  };
  int i = 0;
  for (const Row& row : rows) {
    RunRow run = MakeRun(StrCat("r-done", ++i), "t", clock_.wall);
    run.state = row.state;
    run.reason = row.why;
    PlanRuns({run});
    ClaimReply reply = Claim(AgainstEverything(run));
    EXPECT_FALSE(reply.granted);
    EXPECT_STREQ(ReasonName(reply.refusal), ReasonName(row.refusal));
  }
}

TEST_P(ClaimContract, RefusesARunningRunAndNamesTheEndOfItsLease) {
  RunRow run = RunningRun("r1", "t");
  ClaimReply reply = Claim(MakeClaim(run, "again"));
  EXPECT_FALSE(reply.granted);
  EXPECT_EQ(reply.refusal, Reason::kLockOccupied);
  EXPECT_EQ(reply.holder, "r1");
  EXPECT_EQ(reply.recheck_at, clock_.wall + Seconds(60));
  // Also after its lease: whoever wants it must first say that the attempt is lost.
  clock_.Pass(Seconds(61));
  EXPECT_EQ(Claim(MakeClaim(run, "again")).refusal, Reason::kLockOccupied);
}

TEST_P(ClaimContract, RefusesAStateOrFenceThatTheDecisionDidNotSee) {
  RunRow run = RunningRun("r1", "t");
  ASSERT_TRUE(One<FinishReply>(MakeFinish(run, RunState::kRetrying, Outcome::kFailed)).accepted);
  ClaimCall stale = MakeClaim(MakeRun("r1", "t", clock_.wall), "stale");  // scheduled, fence 0
  EXPECT_EQ(Claim(stale).refusal, Reason::kLockOccupied);
  stale.expected_state = RunState::kRetrying;
  EXPECT_EQ(Claim(stale).refusal, Reason::kLockOccupied);
  stale.expected_fence = 1;
  EXPECT_TRUE(Claim(stale).granted);
}

TEST_P(ClaimContract, ARunThatIsNotThereOrAnotherOwnersClaimIsAnInvariantBroken) {
  EXPECT_EQ(Claim(MakeClaim(MakeRun("none", "t", clock_.wall), "n")).refusal, Reason::kInternalInvariant);
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanRuns({run});
  ClaimCall claim = MakeClaim(run, "n");
  claim.incarnation = "somebody else";
  EXPECT_EQ(Claim(claim).refusal, Reason::kInternalInvariant);
  claim.incarnation = "i1";
  claim.boot_id = "boot1";
  EXPECT_TRUE(Claim(claim).granted);
}

TEST_P(ClaimContract, FencesRiseWithEveryClaimAndAttemptsAreNumberedInOrder) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanRuns({run});
  for (int i = 1; i <= 5; ++i) {
    ClaimReply reply = Claim(MakeClaim(run, StrCat("n", i)));
    ASSERT_TRUE(reply.granted);
    EXPECT_EQ(reply.fence, i);
    EXPECT_EQ(reply.attempt, i);
    clock_.Pass(Seconds(5));
    ASSERT_TRUE(One<FinishReply>(MakeFinish(Stored("r1"), RunState::kRetrying, Outcome::kFailed)).accepted);
    run = Stored("r1");
  }
  Result<std::vector<Attempt>> attempts = reader().Attempts("r1");
  ASSERT_TRUE(attempts.ok());
  ASSERT_EQ(attempts->size(), 5u);
  EXPECT_EQ(attempts->at(4).number, 5);
  EXPECT_EQ(attempts->at(4).fence, 5);
  EXPECT_EQ(attempts->at(4).outcome, Outcome::kFailed);
  // Only the first of them was the start of this run.
  EXPECT_EQ(Stored("r1").first_start, clock_.wall - Seconds(25));
}

TEST_P(ClaimContract, TheCapCountsClaimsSoThatNoCrashPassesIt) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanRuns({run});
  for (int i = 1; i <= 3; ++i) {
    ClaimCall claim = MakeClaim(run, StrCat("n", i));
    claim.attempts_max = 2;
    ClaimReply reply = Claim(claim);
    EXPECT_EQ(reply.granted, i <= 2);
    if (!reply.granted) {
      EXPECT_EQ(reply.refusal, Reason::kAttemptsExhausted);
      break;
    }
    Start(StrCat("after-crash-", i));
    FinishCall lost = MakeFinish(Stored("r1"), RunState::kRetrying, Outcome::kLost);
    lost.lost = true;
    ASSERT_TRUE(One<FinishReply>(lost).accepted);
    run = Stored("r1");
  }
  // A person's attempt is outside the cap.
  ClaimCall manual = MakeClaim(run, "by hand");
  manual.kind = TriggerKind::kManual;
  manual.counts = false;
  manual.attempts_max = 2;
  manual.by = "ann";
  EXPECT_TRUE(Claim(manual).granted);
  EXPECT_EQ(Stored("r1").counted, 2);
  EXPECT_EQ(Stored("r1").before_manual, RunState::kRetrying);
}

TEST_P(ClaimContract, APersonsAttemptKeepsTheInstantThatAFailurePutsBack) {
  RunRow run = RunningRun("r1", "t");
  FinishCall failed = MakeFinish(run, RunState::kRetrying, Outcome::kFailed);
  failed.after.next_at = clock_.wall + Hours(6);
  ASSERT_TRUE(One<FinishReply>(failed).accepted);
  ClaimCall manual = MakeClaim(Stored("r1"), "by hand");
  manual.kind = TriggerKind::kManual;
  manual.counts = false;
  ASSERT_TRUE(Claim(manual).granted);
  EXPECT_EQ(Stored("r1").next_at, failed.after.next_at);
  failed = MakeFinish(Stored("r1"), RunState::kRetrying, Outcome::kFailed);
  ASSERT_TRUE(One<FinishReply>(failed).accepted);
  ASSERT_TRUE(Claim(MakeClaim(Stored("r1"), "its own")).granted);
  EXPECT_EQ(Stored("r1").next_at, std::nullopt);
}

TEST_P(ClaimContract, WhatWasMetForGoodIsKeptWithClaimsAndAnswers) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanRuns({run});
  DecisionRow row = MakeDecision("wait", Reason::kPreconditionNotReady);
  row.run_id = "r1";
  CommitAll({NoteDecisionCall{row, "m1"}});
  EXPECT_EQ(Stored("r1").met, "m1");
  CommitAll({NoteDecisionCall{row}});
  EXPECT_EQ(Stored("r1").met, "m1");
  ClaimCall claim = MakeClaim(run, "n1");
  claim.met = "m1 m2";
  ASSERT_TRUE(Claim(claim).granted);
  EXPECT_EQ(Stored("r1").met, "m1 m2");
  ASSERT_TRUE(One<FinishReply>(MakeFinish(Stored("r1"), RunState::kRetrying, Outcome::kFailed)).accepted);
  ASSERT_TRUE(Claim(MakeClaim(Stored("r1"), "n2")).granted);
  EXPECT_EQ(Stored("r1").met, "m1 m2");
}

TEST_P(ClaimContract, ARunningRunTakesAnOrderAndKeepsItsLease) {
  RunRow run = RunningRun("r1", "t");
  MoveCall order;
  order.after = run;
  order.after.cancel = "cancelled by ann: wrong disk";
  order.expected_state = RunState::kRunning;
  order.expected_fence = run.fence;
  order.audit = MakeAudit("cancel");
  ASSERT_TRUE(One<MoveReply>(order).moved);
  RunRow ordered = Stored("r1");
  EXPECT_EQ(ordered.cancel, order.after.cancel);
  ordered.cancel.clear();
  EXPECT_TRUE(ordered == run);
}

TEST_P(ClaimContract, ARefusalSaysWhetherTheRowHasMovedOn) {
  RunRow run = RunningRun("r1", "t");
  EXPECT_TRUE(Claim(MakeClaim(run, "n2")).moved_on);
  EXPECT_TRUE(Claim(MakeClaim(MakeRun("r9", "t", clock_.wall), "n3")).moved_on);
  RunRow other = MakeRun("r2", "t", clock_.wall);
  PlanRuns({other});
  ClaimReply full = Claim(MakeClaim(other, "n4"));
  EXPECT_FALSE(full.granted);
  EXPECT_FALSE(full.moved_on);
  FindRunsCall one;
  one.run_id = "r2";
  FindRunsReply found = One<FindRunsReply>(one);
  ASSERT_EQ(found.runs.size(), 1u);
  EXPECT_TRUE(found.runs[0] == Stored("r2"));
  one.run_id = "r9";
  EXPECT_TRUE(One<FindRunsReply>(one).runs.empty());
}

TEST_P(ClaimContract, LimitsCountLiveLeasesOfTheTaskAndValueOnly) {
  AddTask("u");
  RunningRun("r1", "t");
  RunningRun("r2", "u");
  RunRow other_value = MakeRun("r3", "t", clock_.wall);
  other_value.value = "channel=app";
  RunRow same = MakeRun("r4", "t", clock_.wall);
  PlanRuns({other_value, same});
  EXPECT_TRUE(Claim(MakeClaim(other_value, "n3")).granted);
  ClaimReply reply = Claim(MakeClaim(same, "n4"));
  EXPECT_EQ(reply.refusal, Reason::kMaxConcurrency);
  EXPECT_EQ(reply.holder, "r1");
  // A lease that has run out is no slot in use.
  clock_.Pass(Seconds(60));
  EXPECT_TRUE(Claim(MakeClaim(same, "n4")).granted);
}

TEST_P(ClaimContract, MinIntervalIsAskedOfFirstAttemptsOnly) {
  RunRow first = RunningRun("r1", "t");
  clock_.Pass(Seconds(10));
  ASSERT_TRUE(One<FinishReply>(MakeFinish(first, RunState::kRetrying, Outcome::kFailed)).accepted);
  RunRow second = MakeRun("r2", "t", clock_.wall);
  PlanRuns({second});
  ClaimCall claim = MakeClaim(second, "n2");
  claim.min_interval = Seconds(300);
  ClaimReply reply = Claim(claim);
  EXPECT_EQ(reply.refusal, Reason::kMinInterval);
  EXPECT_EQ(reply.recheck_at, clock_.wall + Seconds(290));
  ClaimCall retry = MakeClaim(Stored("r1"), "n1b");
  retry.min_interval = Seconds(300);
  EXPECT_TRUE(Claim(retry).granted);
  // A retry is no first start, so it puts nothing off.
  clock_.Pass(Seconds(290));
  claim.task_limit = 0;
  EXPECT_TRUE(Claim(claim).granted);
}

TEST_P(ClaimContract, PoolsAreSharedByTasksAndFreedByTheEndOfAnAttempt) {
  AddTask("u");
  RunRow a = MakeRun("r1", "t", clock_.wall);
  RunRow b = MakeRun("r2", "u", clock_.wall);
  PlanRuns({a});
  PlanRuns({b});
  ClaimCall claim_a = MakeClaim(a, "n1");
  claim_a.pools = {{"db", 2}, {"gpu", 1}};
  ClaimCall claim_b = MakeClaim(b, "n2");
  claim_b.pools = {{"db", 2}, {"gpu", 1}};
  EXPECT_TRUE(Claim(claim_a).granted);
  ClaimReply reply = Claim(claim_b);
  EXPECT_EQ(reply.refusal, Reason::kPoolFull);
  EXPECT_EQ(reply.holder, "r1");
  EXPECT_NE(reply.detail.find("gpu"), std::string::npos);
  ASSERT_TRUE(One<FinishReply>(MakeFinish(Stored("r1"), RunState::kSuccess, Outcome::kSuccess)).accepted);
  EXPECT_TRUE(Claim(claim_b).granted);
  std::vector<std::pair<std::string, Instant>> starts = LoadAll().pool_last_start;
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(starts[0].first, "db");
  EXPECT_EQ(starts[1].second, clock_.wall);
}

TEST_P(ClaimContract, AnOldSlotOfTheSameRunIsNotCountedTwice) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanRuns({run});
  for (int i = 1; i <= 3; ++i) {
    ClaimCall claim = MakeClaim(run, StrCat("n", i));
    claim.pools = {{"gpu", 1}};
    ASSERT_TRUE(Claim(claim).granted) << i;
    ASSERT_TRUE(One<FinishReply>(MakeFinish(Stored("r1"), RunState::kRetrying, Outcome::kFailed)).accepted);
    run = Stored("r1");
  }
}

TEST_P(ClaimContract, AVersionOfBreakerControlOrRulesThatStillStandsIsNoObstacle) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanRuns({run});
  ClaimCall claim = MakeClaim(run, "n1");
  claim.breaker_version = 0;  // no breaker has a row
  claim.control_version = 0;  // nobody ever paused anything
  claim.rule_version = 1;
  EXPECT_TRUE(Claim(claim).granted);
}

TEST_P(ClaimContract, FindNonceTellsWhatBecameOfAClaim) {
  RunningRun("r1", "t");
  ClaimReply found = One<ClaimReply>(FindNonceCall{"r1", "n-r1"});
  EXPECT_TRUE(found.granted);
  EXPECT_EQ(found.fence, 1);
  EXPECT_EQ(found.attempt, 1);
  EXPECT_EQ(found.at, clock_.wall);
  EXPECT_FALSE(One<ClaimReply>(FindNonceCall{"r1", "never sent"}).granted);
  EXPECT_FALSE(One<ClaimReply>(FindNonceCall{"none", "n-r1"}).granted);
}

TEST_P(ClaimContract, RenewMovesTheLeaseAlsoAfterItsEndUntilItIsLost) {
  RunRow run = RunningRun("r1", "t");
  clock_.Pass(Seconds(90));
  EXPECT_TRUE(One<RenewReply>(RenewCall{"r1", 1, Seconds(60)}).held);
  EXPECT_EQ(Stored("r1").lease_until, clock_.boot + Seconds(60));
  EXPECT_FALSE(One<RenewReply>(RenewCall{"r1", 2, Seconds(60)}).held);
  EXPECT_FALSE(One<RenewReply>(RenewCall{"none", 1, Seconds(60)}).held);
  clock_.Pass(Seconds(60));
  FinishCall lost = MakeFinish(run, RunState::kRetrying, Outcome::kLost);
  lost.lost = true;
  ASSERT_TRUE(One<FinishReply>(lost).accepted);
  EXPECT_FALSE(One<RenewReply>(RenewCall{"r1", 1, Seconds(60)}).held);
}

TEST_P(ClaimContract, SixtyFourClaimersOfOneKeyHaveOneWinner) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanRuns({run});
  std::vector<StoreCall> batch;
  for (int i = 0; i < 64; ++i) batch.push_back(MakeClaim(run, StrCat("n", i)));
  int granted = 0;
  for (const StoreReply& reply : CommitAll(batch)) granted += std::get<ClaimReply>(reply).granted ? 1 : 0;
  EXPECT_EQ(granted, 1);
  EXPECT_EQ(Stored("r1").fence, 1);
}

HOLD_EVERY_STORE_TO(ClaimContract);

}  // namespace
}  // namespace duecourse
