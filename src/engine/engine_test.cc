// What a drill cannot say: replies that are late or lost, processes that would not die, what one step costs.
#include "engine/test_bench.h"

namespace duecourse {
namespace {

TEST(Engine, ARunThatSucceedsAtOnceLeavesTwoRowsAndTwoCommits) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  size_t before = bench.disk->commits;
  bench.Step(kDue);
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  bench.End(bench.starts[0]);
  bench.Settle();
  EXPECT_EQ(bench.disk->commits - before, 2u);
  ASSERT_EQ(bench.disk->decisions.size(), 2u);
  EXPECT_EQ(bench.disk->decisions.begin()->second.reason, Reason::kAllConditionsMet);
  EXPECT_EQ(bench.disk->decisions.rbegin()->second.reason, Reason::kSucceeded);
  EXPECT_EQ(bench.Only().state, RunState::kSuccess);
}

TEST(Engine, AStepTouchesOnlyTheLanesThatAreDue) {
  std::string text = "tasks:\n" + Rule("a");
  for (int i = 0; i < 10'000; ++i) {
    text += StrCat("  - {task_id: z", i,
                   ", trigger: {cron: \"0 9 * * *\", timezone: UTC, window_start: \"09:00\", "
                   "window_end: \"12:00\"}, idempotency: {business_key: \"z",
                   i, ":{business_date}\"}, execution: {noop: {}}}\n");
  }
  Bench bench(RulesOf(text));
  size_t before = bench.effects_seen;
  bench.Step(kDue);
  ASSERT_EQ(bench.batches.size(), 1u);
  EXPECT_EQ(bench.batches[0].calls.size(), 1u);
  EXPECT_EQ(std::get<PlanCall>(bench.batches[0].calls[0]).task, "a");
  bench.Settle();
  EXPECT_LE(bench.effects_seen - before, 5u);
  EXPECT_EQ(bench.engine->figures().decisions, 1);
}

// More tasks than two batches hold, and what a step of them hands over early.
constexpr size_t kCrowd = 2 * kBatchCallsMax + 10;
std::unique_ptr<Bench> BenchOfACrowd(const std::string& more = "") {
  std::string text = "tasks:\n";
  for (size_t i = 0; i < kCrowd; ++i) text += Rule(StrCat("t", i), more);
  return std::make_unique<Bench>(RulesOf(text), [](EngineOptions& options, Bench& own) {
    options.early = [&own](std::vector<Effect> effects) {
      own.early += 1;
      own.Take(effects);
    };
  });
}

void ExpectThreePieces(const Bench& bench) {
  EXPECT_EQ(bench.early, 2u);
  ASSERT_EQ(bench.batches.size(), 3u);
  EXPECT_EQ(bench.batches[0].calls.size(), kBatchCallsMax);
  EXPECT_EQ(bench.batches[1].calls.size(), kBatchCallsMax);
  EXPECT_EQ(bench.batches[2].calls.size(), 10u);
}

void ExpectEachStartedOnce(const Bench& bench) {
  std::set<std::string> started;
  for (const AttemptRef& ref : bench.starts) EXPECT_TRUE(started.insert(ref.run_id).second) << "twice";
  EXPECT_EQ(started.size(), kCrowd);
  EXPECT_EQ(bench.disk->runs.size(), kCrowd);
}

TEST(Engine, OfACrowdTheFirstStartWhileTheOthersAreStillStored) {
  std::unique_ptr<Bench> bench = BenchOfACrowd();
  bench->Step(kDue);
  ExpectThreePieces(*bench);
  bench->CommitOne();
  EXPECT_EQ(bench->starts.size(), kBatchCallsMax) << "they do not wait for the rest";
  bench->Settle();
  ExpectEachStartedOnce(*bench);
  std::vector<Event> ends;
  for (const AttemptRef& ref : bench->starts) ends.push_back(AttemptEnded{ref, Ending()});
  bench->Step(kDue, std::move(ends));
  bench->Settle();
  for (const auto& [id, stored] : bench->disk->runs) EXPECT_EQ(stored.run.state, RunState::kSuccess);
}

TEST(Engine, ACrowdThatWaitedForOneFlagIsClaimedInPiecesToo) {
  std::unique_ptr<Bench> bench = BenchOfACrowd(", depends_on: [ready]");
  bench->Step(kDue);
  bench->Settle();
  ASSERT_TRUE(bench->starts.empty());
  bench->Ask(1, FlagRequest{"ready", ParseDay("2026-03-02").value(), "true", std::nullopt});
  bench->early = 0;
  while (!bench->batches.empty() && bench->early == 0) bench->CommitOne();
  ExpectThreePieces(*bench);
  bench->Settle();
  ExpectEachStartedOnce(*bench);
}

TEST(Engine, WhatIsLostBetweenThePiecesOfACrowdStartsOnceAllTheSame) {
  for (bool restart : {true, false}) {
    std::unique_ptr<Bench> bench = BenchOfACrowd();
    bench->Step(kDue);
    bench->CommitOne();
    ASSERT_EQ(bench->starts.size(), kBatchCallsMax);
    bench->batches.clear();
    if (restart) {
      bench->RestartInMemory();
    } else {
      bench->Resync(false);
      bench->Settle();
    }
    ExpectEachStartedOnce(*bench);
  }
}

// As an executor tells it of what still stood in line.
Event NotStarted(const AttemptRef& ref, const std::string& why) {
  Ending ending;
  ending.kind = Ending::Kind::kNotStarted;
  ending.request_sent = false;
  ending.summary = StrCat("not started: ", why);
  return AttemptEnded{ref, ending};
}

TEST(Engine, WhatWaitsForASlotDoesNotStartAfterItsWindowInAPauseOrInADrain) {
  for (const char* what : {"window", "pause", "drain", "kill", "maintenance"}) {
    SCOPED_TRACE(what);
    const std::string name = what;
    std::string rule = Rule("a");
    if (name == "kill") rule.replace(rule.find("execution: {"), 12, "execution: {kill_at_window_end: true, ");
    const std::string maintenance =
        "maintenance: [{name: m, why: w, from: 2026-03-02T08:01:31Z, until: 2026-03-02T08:30:00Z}]\n";
    Bench bench(RulesOf("tasks:\n" + rule, name == "maintenance" ? maintenance : ""));
    bench.Step(kDue);
    bench.Settle();
    ASSERT_EQ(bench.starts.size(), 1u);
    for (const Millis later : {Minutes(1), Seconds(90)}) {
      bench.Step(kDue + later);
      bench.Settle();
      EXPECT_TRUE(bench.withdrawn.empty());
    }
    const Instant at = name == "maintenance"                ? kDue + Seconds(91)  // between two heartbeats
                       : name == "window" || name == "kill" ? kDue + Hours(4)
                                                            : kDue + Minutes(2);
    if (name == "pause") {
      bench.clock.wall = at;
      bench.Ask(1, PauseRequest{"task/a"});
      bench.Settle();
    } else if (name == "drain") {
      bench.Step(at, {DrainAsked{}});
    } else {
      bench.Step(at);
      bench.Settle();
    }
    ASSERT_EQ(bench.withdrawn.size(), 1u);
    EXPECT_EQ(bench.withdrawn[0].ref.run_id, bench.starts[0].run_id);
    bench.Step(at, {NotStarted(bench.starts[0], bench.withdrawn[0].why)});
    bench.Settle();
    EXPECT_EQ(bench.starts.size(), 1u) << "it does not start again";
    EXPECT_EQ(bench.Only().counted, 0);
    const bool over = name == "window" || name == "kill";
    EXPECT_EQ(bench.Only().state, over ? RunState::kMissed : RunState::kScheduled)
        << "a pause and a stop only put it off";
    EXPECT_EQ(bench.disk->runs.begin()->second.attempts[0].outcome, Outcome::kNotStarted);
  }
}

// A claim on its way when the daemon is told to stop is granted, and may find no slot.
TEST(Engine, WhatIsGrantedInADrainBeginsOnlyWhereASlotIsFree) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Step(kDue, {DrainAsked{}});
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  ASSERT_EQ(bench.withdrawn.size(), 1u);
  EXPECT_EQ(bench.withdrawn[0].why, "the daemon stopped");
}

TEST(Engine, WhatWaitsForASlotIsAskedAgainUnderANewSet) {
  for (const bool removed : {true, false}) {
    SCOPED_TRACE(removed);
    Bench bench(RulesOf("tasks:\n" + Rule("a") + Rule("b")));
    bench.Step(kDue);
    bench.Settle();
    ASSERT_EQ(bench.starts.size(), 2u);
    const std::string maintenance =
        "maintenance: [{name: m, why: w, from: 2026-03-02T07:00:00Z, until: 2026-03-02T08:30:00Z}]\n";
    RulesOffered offered;
    offered.rules =
        removed ? RulesOf("tasks:\n" + Rule("b")) : RulesOf("tasks:\n" + Rule("a") + Rule("b"), maintenance);
    offered.confirm = true;
    bench.Step(kDue + Millis{10}, {offered});
    bench.Settle();
    bench.Step(kDue + Millis{20});
    ASSERT_EQ(bench.withdrawn.size(), removed ? 1u : 2u);
    EXPECT_EQ(bench.withdrawn[0].why, removed ? "its rule was removed" : "a maintenance began");
    if (!removed) continue;
    bench.Step(kDue + Millis{30}, {NotStarted(bench.withdrawn[0].ref, bench.withdrawn[0].why)});
    bench.Settle();
    EXPECT_EQ(bench.starts.size(), 2u);
    for (const auto& [id, stored] : bench.disk->runs) {
      if (stored.run.task != "a") continue;
      EXPECT_EQ(stored.run.state, RunState::kSkipped);
      EXPECT_EQ(stored.run.reason, Reason::kRuleRemoved);
    }
  }
}

TEST(Engine, WhatAPersonStartedIsWithdrawnOnlyByADrain) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.clock.wall = kDue - Minutes(30);
  TriggerRequest trigger;
  trigger.task = "a";
  trigger.force = true;
  bench.Ask(1, trigger);
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  bench.Ask(2, PauseRequest{"task/a"});
  bench.Settle();
  bench.Step(kDue + Hours(5));
  bench.Settle();
  EXPECT_TRUE(bench.withdrawn.empty());
  bench.Step(kDue + Hours(5), {DrainAsked{}});
  EXPECT_EQ(bench.withdrawn.size(), 1u);
}

TEST(Engine, AClaimUnderWayKeepsTheRuleItWasDecidedWith) {
  Bench bench(RulesOf("tasks:\n" + Rule("a") + Rule("b", ", depends_on: [f]")));
  bench.Step(kDue);  // the plan with its claim is on its way
  bench.Reload("tasks:\n" + Rule("b", ", depends_on: [f]"));
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  bench.End(bench.starts[0], 75);
  bench.Settle();
  for (const auto& [id, stored] : bench.disk->runs) {
    if (stored.run.task != "a") continue;
    EXPECT_EQ(stored.run.state, RunState::kManualRequired);
  }
}

TEST(Engine, APlanUnderWayWhoseRuleGoesIsSkipped) {
  Bench bench(RulesOf("tasks:\n" + Rule("a") + Rule("b", ", depends_on: [f]")));
  bench.Step(kDue);
  bench.Reload("tasks:\n" + Rule("a"));
  bench.Settle();
  for (const auto& [id, stored] : bench.disk->runs) {
    if (stored.run.task != "b") continue;
    EXPECT_EQ(stored.run.state, RunState::kSkipped);
    EXPECT_EQ(stored.run.reason, Reason::kRuleRemoved);
  }
}

// Nothing ends silently: under the levels and for the owner that it had, where this daemon knew them.
TEST(Engine, ARunWhoseRuleWasRemovedIsToldOf) {
  const std::string told = "    owner: desk\n    alerts: {levels: {skipped: P2}}\n";
  const std::string both = "tasks:\n" + Rule("a", ", depends_on: [f]") + told + Rule("b");
  const std::string one = "tasks:\n" + Rule("b");
  const std::string desk = "owners: {desk: {P2: [page]}}\nchannels: {page: {command: [/bin/true]}}\n";
  for (bool restarted : {false, true}) {
    SCOPED_TRACE(restarted);
    Bench bench(RulesOf(both, desk));
    bench.Step(kDue);
    bench.Settle();
    if (restarted) {
      bench.RestartInMemory(RulesOf(one, desk));
    } else {
      bench.Reload(one, desk);
      bench.Settle();
    }
    ASSERT_EQ(bench.disk->alerts.size(), 1u);
    const AlertRow& row = bench.disk->alerts.begin()->second;
    EXPECT_EQ(row.event, "skipped");
    EXPECT_EQ(row.task, "a");
    EXPECT_EQ(row.level, restarted ? AlertLevel::kP3 : AlertLevel::kP2);
    EXPECT_EQ(row.owner, restarted ? "" : "desk");
    EXPECT_NE(row.title.find("a 2026-03-02: skipped: rule_removed: its rule was removed"), std::string::npos)
        << row.title;
  }
}

TEST(Engine, AnAttemptThatIsLostWithItsRuleIsToldOf) {
  Bench bench(RulesOf("tasks:\n" + Rule("a") + Rule("b", ", depends_on: [f]")));
  bench.Step(kDue);
  bench.Settle();
  bench.RestartInMemory(RulesOf("tasks:\n" + Rule("b", ", depends_on: [f]")));
  ASSERT_EQ(bench.inspects.size(), 1u);
  Inspection gone;
  gone.ref = bench.inspects[0].ref;
  gone.found = Inspection::Found::kGone;
  bench.Step(kDue, {AttemptInspected{gone}});
  bench.Settle();
  ASSERT_EQ(bench.disk->alerts.size(), 1u);
  EXPECT_EQ(bench.disk->alerts.begin()->second.event, "skipped");
  EXPECT_NE(bench.disk->alerts.begin()->second.title.find("rule_removed: attempt 1 lost"), std::string::npos);
}

// Who waits for a pool that its rule no longer has waits there no more.
TEST(Engine, AReloadThatDropsAPoolLeavesNobodyWaitingInIt) {
  const std::string pool = "pools: {gpu: {max_concurrency: 1}}\n";
  const std::string with = "tasks:\n" + Rule("a", ", pools: [gpu]") + Rule("b", ", pools: [gpu]");
  const std::string without = "tasks:\n" + Rule("a", ", pools: [gpu]") + Rule("b");
  Bench bench(RulesOf(with, pool));
  size_t held = 0;
  for (int day = 0; day < 30; ++day) {
    bench.Step(kDue + Hours(24 * day));
    bench.Settle();
    ASSERT_EQ(bench.starts.size(), 2 * static_cast<size_t>(day) + 1);
    bench.Reload(without, pool);
    bench.Settle();
    ASSERT_EQ(bench.starts.size(), 2 * static_cast<size_t>(day) + 2);
    bench.End(bench.starts[bench.starts.size() - 2]);
    bench.End(bench.starts.back());
    bench.Settle();
    bench.Reload(with, pool);
    bench.Settle();
    if (day == 5) held = bench.engine->figures().held;
  }
  EXPECT_LT(bench.engine->figures().held, held + 10);
}

TEST(Engine, AnAnswerAboutAnUpstreamThatNobodyAsksForAnyMoreIsDropped) {
  std::string waits = Rule("b", ", preconditions: [{type: task, task: a}]");
  Bench bench(RulesOf("tasks:\n" + Rule("a") + waits));
  bench.Step(kDue);
  while (!bench.batches.empty() && bench.batches.size() < 2) bench.CommitOne();
  bench.Reload("tasks:\n" + Rule("a"));
  bench.Settle();
  for (const auto& [id, stored] : bench.disk->runs) {
    if (stored.run.task != "b") continue;
    EXPECT_EQ(stored.run.reason, Reason::kRuleRemoved);
  }
}

TEST(Engine, ClaimsWaitForTheVersionOfTheRulesThatTheyName) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.clock.wall = kDue - Millis{1};
  bench.Reload("tasks:\n" + Rule("a", ", min_interval: 5m"));
  bench.Step(kDue);
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 1u);
  EXPECT_TRUE(bench.waits.empty()) << bench.waits.front();
  EXPECT_EQ(bench.disk->decisions.begin()->second.rule_version, 2);
}

TEST(Engine, ProcessesThatWouldNotDieHoldTheirKeyAndEndWithAPerson) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Resync(true);
  ASSERT_EQ(bench.inspects.size(), 1u);
  Inspection alive;
  alive.ref = bench.inspects[0].ref;
  alive.found = Inspection::Found::kAlive;
  bench.Step(kDue, {AttemptInspected{alive}});
  bench.Settle();
  EXPECT_EQ(bench.Only().state, RunState::kRetrying);
  EXPECT_EQ(bench.Only().reason, Reason::kAttemptLost);
  ASSERT_FALSE(bench.waits.empty());
  EXPECT_EQ(bench.waits.back(), "previous_attempt_alive");
  for (int i = 1; i <= 25 && bench.Only().state != RunState::kManualRequired; ++i) {
    size_t looks = bench.inspects.size();
    bench.Step(kDue + Seconds(30 * i));
    bench.Settle();
    if (bench.inspects.size() > looks) bench.Step(bench.clock.wall, {AttemptInspected{alive}});
    bench.Settle();
  }
  EXPECT_TRUE(bench.starts.empty());
  EXPECT_EQ(bench.Only().state, RunState::kManualRequired);
  EXPECT_EQ(bench.Only().reason, Reason::kStuck);
  EXPECT_TRUE(bench.forgotten.empty()) << "what lives is remembered";

  // A person's rerun waits for them too, also under the next daemon, and goes when they are gone.
  bench.RestartInMemory();
  bench.Step(bench.clock.wall, {AttemptInspected{alive}});
  ManualRequest rerun{ManualRequest::Verb::kRerun, bench.Only().id, false, std::nullopt};
  bench.Ask(7, rerun);
  bench.Settle();
  EXPECT_EQ(bench.answers.back().body.Get("reason").AsString(), "previous_attempt_alive");
  size_t looks = bench.inspects.size();
  bench.Step(bench.clock.wall + Seconds(30));
  EXPECT_GT(bench.inspects.size(), looks);
  alive.found = Inspection::Found::kGone;
  bench.Step(bench.clock.wall, {AttemptInspected{alive}});
  bench.Ask(8, rerun);
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 1u);
  EXPECT_EQ(bench.forgotten.size(), 1u);
}

TEST(Engine, AnAnswerCountsForTheRoundThatAskedForIt) {
  Bench bench(
      RulesOf("tasks:\n" + Rule("a",
                                ", check_interval: 5s, preconditions: [{type: file, path: one, max_age: 0s}, "
                                "{type: file, path: two, max_age: 0s}]")));
  bench.Step(kDue);
  bench.Settle();
  ASSERT_EQ(bench.probes.size(), 2u);
  for (size_t i = 0; i < bench.probes.size() && i < 10; ++i) {
    ProbeAnswer yes;
    yes.ticket = bench.probes[i];
    yes.answer = PreconditionFact::Answer::kYes;
    bench.Step(bench.clock.wall + Seconds(1), {ProbeReplied{yes}});
    bench.Settle();
  }
  EXPECT_EQ(bench.probes.size(), 2u);
  EXPECT_EQ(bench.starts.size(), 1u);
}

TEST(Engine, AKeyThatCannotBeRenderedIsAPersonsAtOnce) {
  // The checks refuse such a rule, so it is made here: its variable goes after it was checked.
  std::string text = "tasks:\n" + Rule("a");
  text += "    vars: {part: one}\n";
  text.replace(text.find("a:{business_date}"), 17, "a:{business_date}:{part}");
  std::shared_ptr<const RuleSet> good = RulesOf(text);
  auto bad = std::make_shared<RuleSet>(*good);
  auto body = std::make_shared<RuleBody>(bad->tasks[0].rule());
  body->vars.clear();
  bad->tasks[0].body = body;
  Bench bench(bad);
  bench.Step(kDue);
  bench.Settle();
  EXPECT_TRUE(bench.starts.empty());
  EXPECT_EQ(bench.Only().state, RunState::kManualRequired);
  EXPECT_EQ(bench.Only().reason, Reason::kKeyError);
  EXPECT_FALSE(bench.Only().key.has_value());
  EXPECT_NE(bench.Only().detail.find("part"), std::string::npos) << bench.Only().detail;
}

TEST(Engine, FailuresFromBeforeARestartAreToldByTheNextDaemon) {
  Bench bench(
      RulesOf("tasks:\n" + Rule("a") +
              "    retry: {backoff: {intervals: [1m, 6h], max_attempts: 2}, max_total_attempts: 3}\n"));
  bench.Step(kDue);
  bench.Settle();
  bench.End(bench.starts[0], 75);
  bench.Settle();
  bench.Step(kDue + Minutes(2));
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 2u);
  bench.RestartInMemory();  // while the second runs
  ASSERT_EQ(bench.inspects.size(), 1u);
  Inspection gone;
  gone.ref = bench.inspects[0].ref;
  gone.found = Inspection::Found::kGone;
  bench.Step(kDue + Minutes(2), {AttemptInspected{gone}});
  bench.Settle();
  bench.Step(kDue + Minutes(2) + Seconds(1));
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 3u);
  bench.End(bench.starts[2], 75);
  bench.Settle();
  ASSERT_EQ(bench.Only().state, RunState::kManualRequired);
  std::string body;
  for (const auto& [id, row] : bench.disk->alerts) {
    if (row.event == "manual_required") body = row.body;
  }
  EXPECT_NE(body.find("attempt 1 (schedule) at 2026-03-02T08:00:00+00:00: exit 75"), std::string::npos)
      << body;
  EXPECT_NE(body.find("attempt 2 (retry) at 2026-03-02T08:02:00+00:00: lost"), std::string::npos) << body;
  EXPECT_NE(body.find("attempt 3 (retry) at 2026-03-02T08:02:00+00:00: exit 75"), std::string::npos) << body;
}

TEST(Engine, AnOlderSuccessOfAFrequentUpstreamDoesNotStandForWhatNeverRan) {
  Bench bench(RulesOf(
      "tasks:\n  - task_id: up\n    trigger: {every: 10s, timezone: UTC}\n    idempotency: {business_key: "
      "\"up:{scheduled_at}\"}\n    execution: {noop: {}}\n" +
      Rule("b", ", preconditions: [{type: task, task: up, business_date: previous_day}]")));
  bench.Step(kDue - Minutes(1) + Seconds(20));
  bench.Settle();
  ASSERT_FALSE(bench.starts.empty());
  for (size_t i = 0; i < bench.starts.size(); ++i) {
    bench.End(bench.starts[i]);
    bench.Settle();
  }
  bench.Step(kDue + Hours(25));  // an hour late; of the day before nothing after eight ran
  bench.Settle();
  bench.Ask(7, ExplainRequest{"b"});
  const Json& values = bench.answers.back().body.Get("values");
  std::string text;
  for (const Json& open : values.AsArray()[0].Get("open").AsArray())
    text += open.Get("detail").AsString() + "\n";
  EXPECT_NE(text.find("up of 2026-03-02T23:59:50+00:00 never ran"), std::string::npos) << text;
  for (const AttemptRef& start : bench.starts) EXPECT_NE(bench.disk->runs.at(start.run_id).run.task, "b");
}

}  // namespace
}  // namespace duecourse
