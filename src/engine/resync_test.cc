// What the store refuses, loses or knows otherwise: nothing is forgotten, nothing is done on what is only
// believed.
#include "engine/test_bench.h"

namespace duecourse {
namespace {

// A clock a year ahead, until somebody saw it: what it counted as missed comes due again, what was done does
// not.
TEST(Engine, AClockThatStoodAheadLeavesNoTaskSilentAndNothingTwice) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  bench.End(bench.starts[0]);
  bench.Settle();
  bench.Step(kDue + Hours(24 * 365) + Hours(5));
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 1u);
  bench.clock.wall = kDue - Minutes(10);
  bench.Resync(true);
  bench.Settle();
  bench.Step(kDue);
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 1u) << "the day that was done";
  for (int day = 1; day <= 3; ++day) {
    bench.Step(kDue + Hours(24 * day));
    bench.Settle();
    ASSERT_EQ(bench.starts.size(), 1u + static_cast<size_t>(day));
    bench.End(bench.starts.back());
    bench.Settle();
  }
  // A daemon that is started then finds the cursor where it belongs.
  EXPECT_EQ(bench.disk->cursors.begin()->second.planned_through, kDue + Hours(24 * 3));
}

// The same under a running daemon, which is told of it: nothing of what is on its way is given up for that.
TEST(Engine, AClockThatIsSetBackTurnsPlansBackAndLosesNoAnswer) {
  Bench bench(RulesOf("tasks:\n" + Rule("a") + Rule("b", ", depends_on: [f]")));
  bench.Step(kDue);
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  bench.End(bench.starts[0]);
  bench.Settle();
  const Instant ahead = kDue + Hours(24 * 365) + Minutes(5);
  bench.Step(ahead);
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 2u) << "a year on, it runs";
  bench.Ask(7, FlagRequest{"x", std::nullopt, "true", std::nullopt, false});
  const Instant back = kDue + Minutes(30);
  bench.Step(back, {ClockLeapt{back - ahead, true}});
  bench.Settle();
  ASSERT_EQ(bench.answers.size(), 1u);
  EXPECT_EQ(bench.answers[0].kind, Answer::Kind::kFine);
  EXPECT_TRUE(bench.kills.empty()) << "what runs notices nothing";
  EXPECT_LE(bench.engine->NextTimer(), back + Minutes(1)) << "heartbeats and housekeeping go on";
  bench.End(bench.starts[1]);
  bench.Settle();
  for (int day = 1; day <= 3; ++day) {
    bench.Step(kDue + Hours(24 * day));
    bench.Settle();
    ASSERT_EQ(bench.starts.size(), 2u + static_cast<size_t>(day));
    bench.End(bench.starts.back());
    bench.Settle();
  }
  for (const auto& [lane, cursor] : bench.disk->cursors)
    EXPECT_EQ(cursor.planned_through, kDue + Hours(24 * 3));
}

// Time is up, and a claim on its way is granted all the same: nothing of it starts, and it costs nothing.
TEST(Engine, WhatIsGrantedWhenTheDrainIsOverIsGivenBack) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Step(kDue, {DrainAsked{}});
  bench.Step(kDue, {StopNow{}});
  bench.Settle();
  EXPECT_TRUE(bench.starts.empty());
  EXPECT_EQ(bench.Only().state, RunState::kScheduled);
  EXPECT_EQ(bench.Only().counted, 0);
  EXPECT_EQ(bench.Only().uncounted, 1);
  const std::vector<Attempt>& attempts = bench.disk->runs.begin()->second.attempts;
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].outcome, Outcome::kNotStarted);
  EXPECT_EQ(attempts[0].summary, "not started: the daemon stops");
  EXPECT_TRUE(bench.drained);
  bench.RestartInMemory();
  EXPECT_EQ(bench.starts.size(), 1u) << "the next daemon starts it";
}

// A slot given back wakes its lane, the run that gave it back included.
TEST(Engine, ARefusedClaimIsNotAskedForAgainBeforeTheStoreSaid) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  ClaimReply no;
  no.refusal = Reason::kStoreUnavailable;
  no.recheck_at = kDue + Seconds(5);
  no.detail = "the disk is full";
  PlanReply planned;
  planned.runs = {{PlannedReply::Kind::kCreated, "", RunState::kScheduled, Reason::kNotDue, no, 0}};
  StoreReplied reply{bench.batches.front().ticket, {planned}};
  bench.batches.clear();
  bench.Step(kDue, {reply});
  auto claims = [&] {
    size_t count = 0;
    for (const StoreBatch& batch : bench.batches) {
      for (const StoreCall& call : batch.calls) count += std::holds_alternative<ClaimCall>(call) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(claims(), 0u);
  EXPECT_EQ(bench.waits, std::vector<std::string>{"store_unavailable"});
  for (int ms = 1; ms < 5000; ms += 499) {
    bench.Ask(static_cast<uint64_t>(ms), FlagRequest{"f", std::nullopt, "true", std::nullopt, false});
    EXPECT_EQ(claims(), 0u) << ms;
    bench.Step(kDue + Millis{ms});
  }
  bench.Step(kDue + Seconds(5));
  EXPECT_EQ(claims(), 1u);
}

TEST(Engine, ResyncKeepsWhatRunsAndTakesItsResult) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Settle();
  bench.Resync(false);
  EXPECT_TRUE(bench.inspects.empty());
  EXPECT_TRUE(bench.kills.empty());
  bench.End(bench.starts[0]);
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 1u);
  EXPECT_EQ(bench.Only().state, RunState::kSuccess);
}

// A backup that is put back under a running daemon: older than what runs, than a pause, than a reload.
TEST(Engine, AnOlderCopyOfTheStoreIsTakenForWhatItIs) {
  auto rules = RulesOf("tasks:\n" + Rule("a"));
  Bench bench(rules);
  const MemoryDisk before = *bench.disk;
  bench.Step(kDue);
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  bench.Ask(1, PauseRequest{"label/x=y", false, false});
  bench.Settle();
  bench.Reload("tasks:\n" + Rule("a") + Rule("b"));
  bench.Settle();
  *bench.disk = before;
  OpenReply older;
  older.version = 1;
  older.rules_hash = rules->hash;
  bench.Resync(false, older);
  ASSERT_EQ(bench.kills.size(), 1u) << "nobody holds the key of what ran";
  EXPECT_EQ(bench.kills[0].why, KillWhy::kLeaseLost);
  bench.Settle();
  bench.Step(kDue + Seconds(1));
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 2u) << "claims are held against the versions of the copy";
}

TEST(Engine, ResyncStoresAResultThatNeverGotThere) {
  for (bool committed : {false, true}) {
    Bench bench(RulesOf("tasks:\n" + Rule("a")));
    bench.Step(kDue);
    bench.Settle();
    bench.End(bench.starts[0]);
    bench.Resync(committed);
    bench.Settle();
    EXPECT_TRUE(bench.inspects.empty());
    EXPECT_EQ(bench.starts.size(), 1u);
    EXPECT_EQ(bench.forgotten.size(), 1u) << "the executor keeps nothing of it";
    EXPECT_EQ(bench.Only().state, RunState::kSuccess);
    EXPECT_EQ(bench.Only().attempts, 1);
  }
}

TEST(Engine, ResyncLooksAfterAClaimWhoseReplyWasLost) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Resync(true);
  EXPECT_TRUE(bench.starts.empty());
  ASSERT_EQ(bench.inspects.size(), 1u);
  Inspection seen;
  seen.ref = bench.inspects[0].ref;
  seen.found = Inspection::Found::kNotStarted;
  bench.Step(kDue, {AttemptInspected{seen}});
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  EXPECT_EQ(bench.Only().attempts, 2);
  EXPECT_EQ(bench.Only().counted, 1);
  EXPECT_EQ(bench.Only().uncounted, 1);
}

TEST(Engine, ResyncPlansAgainWhatWasNotStored) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Resync(false);
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 1u);
  EXPECT_EQ(bench.disk->runs.size(), 1u);
}

TEST(Engine, ResyncAnswersPeopleWhoWait) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Ask(7, FlagRequest{"f", CivilDay{20'000}, "true", std::nullopt, false});
  bench.Ask(8, TriggerRequest{"a", "", std::nullopt, std::nullopt, true, false});
  bench.Resync(true);
  ASSERT_EQ(bench.answers.size(), 2u);
  EXPECT_EQ(bench.answers[0].kind, Answer::Kind::kProblem);
  EXPECT_EQ(bench.answers[1].kind, Answer::Kind::kProblem);
}

TEST(Engine, AChangeOfRulesThatWasLostIsStoredAgain) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Reload("tasks:\n" + Rule("a", ", min_interval: 5m"));
  bench.Resync(false);
  bench.Settle();
  EXPECT_EQ(bench.engine->figures().rule_version, 2);
  bench.Step(kDue);
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 1u);
}

TEST(Engine, AFinishThatTheStoreRefusesLosesNoRun) {
  struct Case {
    const char* says;
    RunState state;
    int64_t fence;
    size_t starts;  // in all
    size_t inspects;
    size_t open;
  };
  const Case cases[] = {
      {"it waits for its retry", RunState::kRetrying, 1, 2, 0, 1},
      {"it is over", RunState::kSkipped, 1, 1, 0, 0},
      {"a person has it", RunState::kManualRequired, 1, 1, 0, 0},
      {"a newer claim has it", RunState::kRunning, 2, 1, 1, 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.says);
    Bench bench(RulesOf("tasks:\n" + Rule("a")));
    bench.Step(kDue);
    bench.Settle();
    auto& row = bench.disk->runs.begin()->second.run;
    row.state = c.state;
    row.fence = c.fence;
    if (c.state == RunState::kRetrying) row.next_at = kDue + Minutes(10);
    bench.End(bench.starts[0]);
    bench.Settle();
    bench.Step(kDue + Minutes(10));
    bench.Settle();
    EXPECT_EQ(bench.starts.size(), c.starts);
    EXPECT_EQ(bench.inspects.size(), c.inspects);
    EXPECT_EQ(bench.engine->figures().open_runs, c.open);
  }
}

TEST(Engine, AClaimOfARunThatIsOverIsNotAskedForEver) {
  Bench bench(RulesOf("tasks:\n" + Rule("a", ", depends_on: [f]")));
  bench.Step(kDue);
  bench.Settle();
  auto& row = bench.disk->runs.begin()->second.run;
  row.state = RunState::kSuccess;
  bench.Ask(7, FlagRequest{"f", row.business_date, "true", std::nullopt, false});
  bench.Settle();
  EXPECT_TRUE(bench.starts.empty());
  EXPECT_EQ(bench.engine->figures().open_runs, 0u);
}

TEST(Engine, AMoveThatTheStoreRefusesIsMadeOfWhatItSays) {
  Bench bench(RulesOf("tasks:\n" + Rule("a", ", depends_on: [f]")));
  bench.Step(kDue);
  bench.Settle();
  bench.disk->runs.begin()->second.run.fence = 5;
  bench.Step(kDue + Hours(4));
  bench.Settle();
  EXPECT_EQ(bench.Only().state, RunState::kManualRequired);
  EXPECT_EQ(bench.Only().reason, Reason::kExceededWindow);
}

TEST(Engine, CountsThatComeBeforeTheirRowIsStoredAreAdded) {
  Bench bench(RulesOf("tasks:\n" + Rule("a", ", depends_on: [f]")));
  bench.Step(kDue);
  bench.CommitOne();  // the plan; the answer's row is on its way
  bench.Step(kDue + Seconds(30));
  bench.Step(kDue + Seconds(60));
  bench.Ask(7, FlagRequest{"f", bench.Only().business_date, "true", std::nullopt, false});
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  int64_t asked = 0;
  for (const auto& [id, row] : bench.disk->decisions) {
    if (row.decision == "wait") asked += row.count;
  }
  EXPECT_EQ(asked, 3);
}

// The outage is over and planned for; what came due while the daemon itself was stopped is downtime.
TEST(Outage, AStopBehindItIsDowntimeNotLate) {
  Bench bench(RulesOf(
      "tasks:\n  - task_id: t\n    trigger: {cron: \"*/10 * * * *\", timezone: UTC, window_end: +1h, "
      "missed: skip}\n    idempotency: {business_key: \"t:{scheduled_at}\"}\n    execution: {noop: {}}\n"));
  bench.Step(kDue);
  bench.Settle();
  bench.Step(kDue + Seconds(62), {StoreTrouble{false, StoreFault()}});
  bench.Step(kDue + Seconds(65), {StoreTrouble{true, StoreFault()}});
  bench.Settle();
  const size_t before = bench.disk->runs.size();
  bench.Step(kDue + Minutes(23));
  bench.Settle();
  EXPECT_EQ(bench.disk->runs.size(), before);
  ASSERT_EQ(bench.disk->notes.size(), 1u);
  const Note& missed = bench.disk->notes.begin()->second.note;
  EXPECT_EQ(missed.count, 2);
  EXPECT_EQ(missed.detail.find("the store took nothing"), std::string::npos) << missed.detail;
}

// It would else stand open for as long as the clock had leapt.
TEST(ClockBack, AnOpenBreakerWaitsNoLongerThanItsCooldown) {
  Bench bench(RulesOf(
      "tasks:\n  - task_id: t\n    trigger: {cron: \"*/10 * * * *\", timezone: UTC, window_end: +9m}\n    "
      "retry: {max_total_attempts: 1, breaker: {failures: 1, cooldown: 15m}}\n    idempotency: "
      "{business_key: \"t:{scheduled_at}\"}\n    execution: {noop: {}}\n"));
  const Instant ahead = kDue + Hours(24);
  bench.Step(ahead, {ClockLeapt{Hours(24), true}});
  bench.Settle();
  bench.Step(ahead + Minutes(10));
  bench.Settle();
  ASSERT_FALSE(bench.starts.empty());
  bench.End(bench.starts.back(), 1);
  bench.Settle();
  ASSERT_EQ(bench.disk->breakers.size(), 1u);
  ASSERT_TRUE(bench.disk->breakers.begin()->second.open);
  const Instant back = kDue + Minutes(15);
  bench.Step(back, {ClockLeapt{back - bench.clock.wall, true}});
  bench.Settle();
  const size_t before = bench.starts.size();
  bench.Step(kDue + Minutes(40));  // more than the cooldown later: the trial
  bench.Settle();
  EXPECT_GT(bench.starts.size(), before);
}

std::string KillsAtEnd(const char* ends) {
  return StrCat(
      "tasks:\n  - task_id: a\n    trigger: {cron: \"0 8 * * *\", timezone: UTC, window_start: \"08:00\", ",
      "window_end: \"", ends, "\", lease: {ttl: 1h, heartbeat: 7m}}\n",
      "    idempotency: {business_key: \"a:{business_date}\"}\n",
      "    execution: {noop: {}, timeout: 3h, kill_at_window_end: true}\n");
}

// What has to be done at an instant is done at it, whatever the heartbeats.
void ExpectKilledAtTheEnd(Bench& bench) {
  const Instant ends = kDue + Hours(1);
  EXPECT_LE(bench.engine->NextTimer(), ends);
  bench.Step(ends - Millis{1});
  bench.Settle();
  EXPECT_TRUE(bench.kills.empty());
  EXPECT_EQ(bench.engine->NextTimer(), ends);
  bench.Step(ends);
  bench.Settle();
  ASSERT_EQ(bench.kills.size(), 1u);
  EXPECT_EQ(bench.kills[0].why, KillWhy::kWindowEnd);
}

TEST(Engine, KillAtWindowEndIsAtTheEndAlsoWhereNoHeartbeatComesBefore) {
  Bench bench(RulesOf(KillsAtEnd("09:00")));
  bench.Step(kDue + Minutes(56));
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  ExpectKilledAtTheEnd(bench);
}

TEST(Engine, KillAtWindowEndHoldsAfterAResyncAndIsOfTheRuleTheAttemptStartedUnder) {
  for (const char* ends : {"10:00", "08:30"}) {
    SCOPED_TRACE(ends);
    Bench bench(RulesOf(KillsAtEnd("09:00")));
    bench.Step(kDue);
    bench.Settle();
    bench.Reload(KillsAtEnd(ends));
    bench.Settle();
    bench.Resync(true);
    bench.Settle();
    ExpectKilledAtTheEnd(bench);
  }
}

TEST(Engine, WhatAPersonStartsAfterTheWindowIsNotKilledAtItsEnd) {
  Bench bench(RulesOf(KillsAtEnd("09:00")));
  bench.Step(kDue + Hours(2));
  bench.Ask(7, TriggerRequest{"a", "", std::nullopt, std::nullopt, true, false});
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  bench.Step(kDue + Hours(2) + Minutes(30));
  bench.Settle();
  EXPECT_TRUE(bench.kills.empty());
}

TEST(Engine, AShortDowntimeIsNamedWhereAWholeWindowFellIntoIt) {
  Bench bench(RulesOf(
      "tasks:\n  - task_id: a\n    trigger: {every: 1s, anchor: \"2026-03-02T00:00:00Z\", timezone: UTC, "
      "window_end: +1s, on_window_end: missed}\n"
      "    idempotency: {business_key: \"a:{scheduled_at}\"}\n    execution: {noop: {}}\n"));
  bench.Step(kStart + Seconds(1));
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  bench.End(bench.starts[0]);
  bench.Settle();
  bench.clock.wall = kStart + Seconds(10);
  bench.RestartInMemory();
  int missed = 0;
  for (const auto& [id, kept] : bench.disk->runs) {
    if (kept.run.state != RunState::kMissed) continue;
    ++missed;
    EXPECT_NE(kept.run.detail.find("the scheduler was down from 2026-03-02T07:59:01+00:00 to "
                                   "2026-03-02T07:59:10+00:00"),
              std::string::npos)
        << kept.run.detail;
  }
  EXPECT_EQ(missed, 8);
}

}  // namespace
}  // namespace duecourse
