// Ends of attempts and moves of runs, on every store.
#include "store/contract.h"

namespace duecourse {
namespace {

class FinishContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    AddTask("t");
  }
  AlertRow MakeAlert(const std::string& id) {
    AlertRow row;
    row.id = id;
    row.episode = "r1";
    row.event = "failure";
    row.level = AlertLevel::kP2;
    row.task = "t";
    row.run_id = "r1";
    return row;
  }
  MoveCall MakeMove(const RunRow& run, RunState state, Reason reason) {
    MoveCall move;
    move.after = run;
    move.after.state = state;
    move.after.reason = reason;
    move.after.state_since = clock_.wall;
    move.expected_state = run.state;
    move.expected_fence = run.fence;
    move.decisions = {MakeDecision("state", reason)};
    return move;
  }
};

TEST_P(FinishContract, WritesAllThatFollowsFromAnAttemptInOneStep) {
  RunRow run = RunningRun("r1", "t");
  clock_.Pass(Seconds(7));
  FinishCall finish = MakeFinish(run, RunState::kRetrying, Outcome::kFailed);
  finish.after.next_at = clock_.wall + Minutes(1);
  finish.after.ladder.backoff = 1;
  finish.after.failures = 1;
  finish.after.told = AlertLevel::kP3;
  finish.after.detail = "exit 75";
  finish.end.failure_class = FailureClass::kTransient;
  finish.end.code = "exit 75";
  finish.end.summary = "temporary failure";
  finish.end.detail = R"({"bytes":12})";
  finish.alerts = {MakeAlert("a1")};
  finish.breaker = Breaker{};
  finish.breaker->task = "t";
  finish.breaker->version = 1;
  finish.breaker->failed_attempts = 1;
  Flag flag;
  flag.name = "t.done";
  flag.date = CivilDay{20'000};
  finish.flags = {flag};
  FinishReply reply = One<FinishReply>(finish);
  EXPECT_TRUE(reply.accepted);

  RunRow after = Stored("r1");
  EXPECT_EQ(after.state, RunState::kRetrying);
  EXPECT_EQ(after.next_at, clock_.wall + Minutes(1));
  EXPECT_EQ(after.ladder.backoff, 1);
  EXPECT_EQ(after.failures, 1);
  EXPECT_EQ(after.told, AlertLevel::kP3);
  EXPECT_EQ(after.detail, "exit 75");
  EXPECT_EQ(after.fence, 1);
  EXPECT_EQ(after.incarnation, "");  // nobody owns what does not run
  EXPECT_EQ(after.lease_until, Millis{});
  Result<std::vector<Attempt>> attempts = reader().Attempts("r1");
  ASSERT_TRUE(attempts.ok() && attempts->size() == 1);
  EXPECT_EQ(attempts->at(0).outcome, Outcome::kFailed);
  EXPECT_EQ(attempts->at(0).failure_class, FailureClass::kTransient);
  EXPECT_EQ(attempts->at(0).code, "exit 75");
  EXPECT_EQ(attempts->at(0).ended_at, clock_.wall);
  std::vector<DecisionRow> rows = DecisionsOf("r1");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].decision, "state");
  EXPECT_EQ(rows[1].id, reply.decision_id);
  Snapshot snapshot = LoadAll();
  EXPECT_EQ(snapshot.pending_alerts.size(), 1u);
  EXPECT_EQ(snapshot.breakers.at(0).failed_attempts, 1);
  EXPECT_EQ(snapshot.flags.at(0).name, "t.done");
  EXPECT_EQ(snapshot.unfinished.size(), 0u);
  ASSERT_EQ(snapshot.failed.size(), 1u);
  EXPECT_EQ(snapshot.failed[0].run_id, "r1");
  EXPECT_EQ(snapshot.failed[0].outcome, Outcome::kFailed);
}

TEST_P(FinishContract, ARunThatSucceedsAtOnceHasTwoDecisionRows) {
  PlanCall plan;
  plan.task = "t";
  RunRow run = MakeRun("r1", "t", clock_.wall);
  plan.runs = {{run, MakeClaim(run, "n1"), {}, {}}};
  PlanReply planned = One<PlanReply>(plan);
  ASSERT_TRUE(planned.runs.at(0).claim.granted);
  ASSERT_TRUE(One<FinishReply>(MakeFinish(Stored("r1"), RunState::kSuccess, Outcome::kSuccess)).accepted);
  EXPECT_EQ(DecisionsOf("r1").size(), 2u);
}

TEST_P(FinishContract, IsAcceptedAfterTheLeasesEndUntilMarkedLost) {
  RunRow run = RunningRun("r1", "t");
  clock_.Pass(Hours(2));
  EXPECT_TRUE(One<FinishReply>(MakeFinish(run, RunState::kSuccess, Outcome::kSuccess)).accepted);
  EXPECT_EQ(Stored("r1").state, RunState::kSuccess);
}

TEST_P(FinishContract, WhatComesTooLateLeavesOneLateRowAndChangesNothing) {
  RunRow run = RunningRun("r1", "t");
  clock_.Pass(Seconds(60));
  FinishCall lost = MakeFinish(run, RunState::kRetrying, Outcome::kLost);
  lost.lost = true;
  ASSERT_TRUE(One<FinishReply>(lost).accepted);
  const RunRow before = Stored("r1");
  const size_t rows_before = DecisionsOf("r1").size();

  FinishCall late = MakeFinish(run, RunState::kSuccess, Outcome::kSuccess);
  late.end.code = "exit 0";
  late.alerts = {MakeAlert("a-late")};
  late.flags = {Flag{}};
  FinishReply reply = One<FinishReply>(late);
  EXPECT_FALSE(reply.accepted);
  EXPECT_TRUE(Stored("r1") == before);
  std::vector<DecisionRow> rows = DecisionsOf("r1");
  ASSERT_EQ(rows.size(), rows_before + 1);
  EXPECT_EQ(rows.back().decision, "late");
  EXPECT_EQ(rows.back().reason, Reason::kAttemptLost);
  EXPECT_EQ(rows.back().fence, 1);
  EXPECT_EQ(rows.back().error_code, "exit 0");
  EXPECT_EQ(rows.back().id, reply.decision_id);
  Snapshot snapshot = LoadAll();
  EXPECT_TRUE(snapshot.pending_alerts.empty());
  EXPECT_TRUE(snapshot.flags.empty());
}

TEST_P(FinishContract, AnOlderFenceIsLateThoughTheRunRunsAgain) {
  RunRow first = RunningRun("r1", "t");
  ASSERT_TRUE(One<FinishReply>(MakeFinish(first, RunState::kRetrying, Outcome::kFailed)).accepted);
  ASSERT_TRUE(Claim(MakeClaim(Stored("r1"), "n2")).granted);
  const RunRow second = Stored("r1");
  EXPECT_FALSE(One<FinishReply>(MakeFinish(first, RunState::kSuccess, Outcome::kSuccess)).accepted);
  EXPECT_TRUE(Stored("r1") == second);
  EXPECT_TRUE(One<FinishReply>(MakeFinish(second, RunState::kSuccess, Outcome::kSuccess)).accepted);
}

TEST_P(FinishContract, ALateResultOfAnUnknownRunIsKeptWithoutARun) {
  RunRow unknown = MakeRun("gone", "t", clock_.wall);
  unknown.fence = 1;
  EXPECT_FALSE(One<FinishReply>(MakeFinish(unknown, RunState::kSuccess, Outcome::kSuccess)).accepted);
  DecisionFilter filter;
  filter.task = "t";
  Result<std::vector<DecisionRow>> rows = reader().Decisions(filter);
  ASSERT_TRUE(rows.ok() && rows->size() == 1);
  EXPECT_EQ(rows->at(0).decision, "late");
  EXPECT_EQ(rows->at(0).run_id, "");
  EXPECT_EQ(rows->at(0).key, "t:gone");
}

TEST_P(FinishContract, LostIsSaidOnlyAfterTheLeaseOrOfADeadOwner) {
  struct Row {
    const char* what;
    Millis passed;
    const char* next_owner;  // empty: the same daemon
    bool accepted;
  };
  const std::vector<Row> rows = {{"a live lease of our own", Seconds(59), "", false},
                                 {"a lease that has ended", Seconds(60), "", true},
                                 {"a predecessor's, at once", Seconds(1), "i2", true}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    RunRow run = RunningRun(StrCat("r", &row - rows.data()), "t");
    clock_.Pass(row.passed);
    if (*row.next_owner != '\0') Start(row.next_owner);
    const size_t decisions = DecisionsOf(run.id).size();
    FinishCall lost = MakeFinish(run, RunState::kRetrying, Outcome::kLost);
    lost.lost = true;
    EXPECT_EQ(One<FinishReply>(lost).accepted, row.accepted);
    // A verdict that is refused is nobody's result: no row.
    EXPECT_EQ(DecisionsOf(run.id).size(), decisions + (row.accepted ? 1 : 0));
    clock_.Pass(Minutes(5));
  }
}

TEST_P(FinishContract, FinishesOnlyAlongAnEdgeOfTheLifeOfARun) {
  RunRow run = RunningRun("r1", "t");
  EXPECT_FALSE(One<FinishReply>(MakeFinish(run, RunState::kMissed, Outcome::kFailed)).accepted);
  EXPECT_EQ(Stored("r1").state, RunState::kRunning);
}

TEST_P(FinishContract, MoveChangesTheRowOnlyFromTheStateAndFenceItExpects) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanRuns({run});
  MoveCall stale = MakeMove(run, RunState::kMissed, Reason::kExceededWindow);
  stale.expected_fence = 4;
  MoveReply refused = One<MoveReply>(stale);
  EXPECT_FALSE(refused.moved);
  EXPECT_EQ(refused.state, RunState::kScheduled);
  EXPECT_EQ(refused.fence, 0);
  EXPECT_TRUE(DecisionsOf("r1").empty());

  MoveCall move = MakeMove(run, RunState::kMissed, Reason::kExceededWindow);
  move.after.key = "not to be changed";
  move.after.due = kNever;
  move.after.attempts = 99;
  move.alerts = {MakeAlert("a1")};
  MoveReply reply = One<MoveReply>(move);
  EXPECT_TRUE(reply.moved);
  RunRow after = Stored("r1");
  EXPECT_EQ(after.state, RunState::kMissed);
  EXPECT_EQ(after.key, "t:r1");
  EXPECT_EQ(after.due, run.due);
  EXPECT_EQ(after.attempts, 0);
  ASSERT_EQ(DecisionsOf("r1").size(), 1u);
  EXPECT_EQ(DecisionsOf("r1")[0].id, reply.decision_id);
  EXPECT_EQ(LoadAll().pending_alerts.size(), 1u);
  EXPECT_FALSE(
      One<MoveReply>(MakeMove(MakeRun("none", "t", clock_.wall), RunState::kSkipped, Reason::kCancelled))
          .moved);
}

TEST_P(FinishContract, MoveKeepsToTheEdgesAndRunningBelongsToClaims) {
  struct Row {
    RunState from;
    RunState to;
    bool by_person;
    bool moved;
  };
  const std::vector<Row> rows = {
      {RunState::kScheduled, RunState::kSkipped, false, true},
      {RunState::kScheduled, RunState::kRunning, false, false},
      {RunState::kScheduled, RunState::kSuccess, true, false},
      {RunState::kMissed, RunState::kScheduled, true, false},
      {RunState::kSuccess, RunState::kManualRequired, true, false},
      {RunState::kManualRequired, RunState::kSkipped, false, false},
      {RunState::kManualRequired, RunState::kSkipped, true, true},
      {RunState::kManualRequired, RunState::kSuccess, true, true},
      {RunState::kRetrying, RunState::kCatchupWaiting, false, true},
      {RunState::kRetrying, RunState::kMissed, false, false},
  };
  int i = 0;
  for (const Row& row : rows) {
    RunRow run = MakeRun(StrCat("r", ++i), "t", clock_.wall);
    run.state = row.from;
    PlanRuns({run});
    MoveCall move = MakeMove(run, row.to, Reason::kResolved);
    if (row.by_person) move.audit = MakeAudit("manual");
    EXPECT_EQ(One<MoveReply>(move).moved, row.moved)
        << RunStateName(row.from) << " to " << RunStateName(row.to);
  }
  RunRow running = RunningRun("r-running", "t");
  EXPECT_FALSE(One<MoveReply>(MakeMove(running, RunState::kSkipped, Reason::kCancelled)).moved);
}

TEST_P(FinishContract, ARunIsSupersededOnce) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  run.state = RunState::kSuccess;
  PlanRuns({run});
  MoveCall first = MakeMove(run, RunState::kSuccess, Reason::kSucceeded);
  first.after.superseded_by = "r2";
  EXPECT_TRUE(One<MoveReply>(first).moved);
  MoveCall second = MakeMove(run, RunState::kSuccess, Reason::kSucceeded);
  second.after.superseded_by = "r3";
  MoveReply refused = One<MoveReply>(second);
  EXPECT_FALSE(refused.moved);
  EXPECT_EQ(refused.superseded_by, "r2");
}

TEST_P(FinishContract, AChangeOfTheRowAloneKeepsARunningRunRunning) {
  RunRow run = RunningRun("r1", "t");
  MoveCall move = MakeMove(run, RunState::kRunning, Reason::kAllConditionsMet);
  move.after.window_ends = run.window_ends + Hours(1);
  EXPECT_TRUE(One<MoveReply>(move).moved);
  RunRow after = Stored("r1");
  EXPECT_EQ(after.window_ends, run.window_ends + Hours(1));
  EXPECT_EQ(after.incarnation, "i1");
  EXPECT_EQ(after.lease_until, run.lease_until);
}

TEST_P(FinishContract, ARefusalRollsBackNoNeighbour) {
  RunRow a = RunningRun("r1", "t");
  RunRow b = MakeRun("r2", "t", clock_.wall);
  PlanRuns({b});
  ClaimCall refused = MakeClaim(b, "n2");  // the limit is taken by r1
  FinishCall late = MakeFinish(a, RunState::kSuccess, Outcome::kSuccess);
  late.fence = 9;
  std::vector<StoreReply> replies =
      CommitAll({refused, late, MakeFinish(a, RunState::kSuccess, Outcome::kSuccess), MakeClaim(b, "n3"),
                 MakeMove(b, RunState::kSkipped, Reason::kCancelled)});
  EXPECT_FALSE(std::get<ClaimReply>(replies.at(0)).granted);
  EXPECT_FALSE(std::get<FinishReply>(replies.at(1)).accepted);
  EXPECT_TRUE(std::get<FinishReply>(replies.at(2)).accepted);
  EXPECT_TRUE(std::get<ClaimReply>(replies.at(3)).granted);
  EXPECT_FALSE(std::get<MoveReply>(replies.at(4)).moved);
  EXPECT_EQ(Stored("r1").state, RunState::kSuccess);
  EXPECT_EQ(Stored("r2").state, RunState::kRunning);
}

HOLD_EVERY_STORE_TO(FinishContract);

}  // namespace
}  // namespace duecourse
