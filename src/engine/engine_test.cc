// What a drill cannot say: replies that are late or lost, processes that would not die, what one step costs.
// The engine on the in-memory store, with every reply in the test's hand.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "rule/ruleset.h"
#include "store/memory.h"

namespace duecourse {
namespace {

const Instant kStart = *ParseUtc("2026-03-02T07:59:00Z");
const Instant kDue = *ParseUtc("2026-03-02T08:00:00Z");

class HandClock : public Clock {
 public:
  Instant Wall() const override { return wall; }
  Millis Monotonic() const override { return {wall.ms}; }
  Millis Boot() const override { return {wall.ms}; }
  Instant wall = kStart;
};

std::shared_ptr<const RuleSet> RulesOf(const std::string& text) {
  Loaded loaded = LoadRulesFromText({{"rules.yaml", text}}, {"duecourse.yaml", ""});
  for (const Finding& finding : loaded.findings) {
    if (loaded.set == nullptr) ADD_FAILURE() << FormatFinding(finding);
  }
  return loaded.set;
}

std::string Rule(const std::string& id, const std::string& more = "") {
  return StrCat("  - task_id: ", id,
                "\n    trigger: {cron: \"0 8 * * *\", timezone: UTC, window_start: \"08:00\", window_end: "
                "\"12:00\"",
                more, "}\n    idempotency: {business_key: \"", id,
                ":{business_date}\"}\n    execution: {noop: {}}\n");
}

class Bench {
 public:
  explicit Bench(std::shared_ptr<const RuleSet> rules) : rules_(std::move(rules)) {
    store_ = NewMemoryStore(disk, clock);
    OpenRequest request;
    request.node = "n";
    request.incarnation = "i";
    request.boot_id = "b";
    request.init = true;
    Result<OpenReply> opened = store_->Open(request);
    EXPECT_TRUE(opened.ok());
    EngineOptions options;
    options.node = "n";
    options.incarnation = "i";
    options.boot_id = "b";
    engine = std::make_unique<Engine>(options, rules_, 1);
    std::vector<Effect> effects;
    engine->Begin(*opened, *store_->Load(), {}, clock.wall, effects);
    Take(effects);
    Settle();
  }

  void Step(Instant at, std::vector<Event> events = {}) {
    clock.wall = at;
    std::vector<Effect> effects;
    engine->Step(at, std::move(events), effects);
    Take(effects);
  }
  // Commits what waits and gives the replies, until nothing waits.
  void Settle() {
    for (int round = 0; round < 100 && !batches.empty(); ++round) CommitOne();
    EXPECT_TRUE(batches.empty());
  }
  void CommitOne() {
    StoreBatch batch = std::move(batches.front());
    batches.erase(batches.begin());
    StoreFault fault;
    std::vector<StoreReply> replies = store_->Commit(batch.calls, fault);
    Step(clock.wall, {StoreReplied{batch.ticket, std::move(replies)}});
  }
  // As after a commit of which nobody knows whether it happened.
  void Resync(bool committed, const std::optional<OpenReply>& reopened = std::nullopt) {
    StoreFault fault;
    for (const StoreBatch& batch : batches) {
      if (committed) store_->Commit(batch.calls, fault);
    }
    batches.clear();
    std::vector<Effect> effects;
    engine->Resync(*store_->Load(), reopened, {}, clock.wall, effects);
    Take(effects);
    Step(clock.wall);
  }
  // A new engine on what the store says.
  void RestartInMemory() {
    EngineOptions options;
    options.node = "n";
    options.incarnation = "i";
    options.boot_id = "b";
    engine = std::make_unique<Engine>(options, rules_, 2);
    OpenReply opened;
    opened.version = 1;
    opened.rules_hash = rules_->hash;
    std::vector<Effect> effects;
    engine->Begin(opened, *store_->Load(), {}, clock.wall, effects);
    Take(effects);
    Step(clock.wall);
    Settle();
  }
  void End(const AttemptRef& ref, int code = 0) {
    Ending ending;
    ending.code = code;
    Step(clock.wall, {AttemptEnded{ref, ending}});
  }
  void Ask(uint64_t id, RequestBody body) {
    Step(clock.wall, {Requested{{id, "ann", "because", std::move(body)}}});
  }
  void Reload(const std::string& text) {
    RulesOffered offered;
    offered.rules = RulesOf(text);
    offered.confirm = true;
    Step(clock.wall, {std::move(offered)});
  }
  const Run& Only() const {
    EXPECT_EQ(disk->runs.size(), 1u);
    return disk->runs.begin()->second.run;
  }

  HandClock clock;
  std::shared_ptr<MemoryDisk> disk = NewMemoryDisk();
  std::unique_ptr<Engine> engine;
  std::vector<StoreBatch> batches;
  std::vector<AttemptRef> starts;
  std::vector<AttemptKill> kills;
  std::vector<AttemptRef> forgotten;
  std::vector<uint64_t> probes;  // tickets
  std::vector<AttemptInspect> inspects;
  std::vector<Answer> answers;
  std::vector<std::string> waits;  // reasons, as logged
  size_t effects_seen = 0;

 private:
  void Take(std::vector<Effect>& effects) {
    effects_seen += effects.size();
    for (Effect& effect : effects) {
      if (auto* batch = std::get_if<StoreBatch>(&effect)) batches.push_back(std::move(*batch));
      if (auto* start = std::get_if<AttemptStart>(&effect)) starts.push_back(start->request.ref);
      if (auto* forget = std::get_if<AttemptForget>(&effect)) forgotten.push_back(forget->ref);
      if (auto* probe = std::get_if<ProbeStart>(&effect)) probes.push_back(probe->request.ticket);
      if (auto* kill = std::get_if<AttemptKill>(&effect)) kills.push_back(*kill);
      if (auto* inspect = std::get_if<AttemptInspect>(&effect)) inspects.push_back(*inspect);
      if (auto* answer = std::get_if<Answer>(&effect)) answers.push_back(*answer);
      if (auto* line = std::get_if<LogLine>(&effect); line != nullptr && line->event == "decision")
        waits.push_back(line->fields.Get("reason").AsString());
    }
  }
  std::shared_ptr<const RuleSet> rules_;
  std::unique_ptr<Store> store_;
};

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

TEST(Engine, ATriggerOfARunThatRunsIsRefused) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Settle();
  bench.Ask(7, TriggerRequest{"a", "", std::nullopt, std::nullopt, false, false});
  ASSERT_EQ(bench.answers.size(), 1u);
  EXPECT_EQ(bench.answers[0].kind, Answer::Kind::kRefused);
  EXPECT_EQ(bench.answers[0].body.Get("reason").AsString(), "lock_occupied");
}

TEST(Engine, AQuestionBesideTheScheduleIsNowhereUntilItsClaimIsStored) {
  const char* file = ", preconditions: [{type: file, path: in.csv, must_exist: true}]";
  Bench bench(RulesOf("tasks:\n" + Rule("a", file)));
  bench.Step(kDue - Hours(1));
  bench.Settle();
  bench.Ask(7, TriggerRequest{"a", "", std::nullopt, std::nullopt, true, false});
  bench.Settle();
  EXPECT_TRUE(bench.disk->runs.empty()) << "it is being looked at";
  EXPECT_TRUE(bench.disk->audit.empty());
  bench.Ask(8, ExplainRequest{"a"});
  ASSERT_EQ(bench.answers.size(), 1u);
  EXPECT_TRUE(bench.answers[0].body.Get("values").AsArray()[0].Get("open").AsArray().empty());
  bench.Resync(false);
  ASSERT_EQ(bench.answers.size(), 2u) << "nobody is left without an answer";
  EXPECT_EQ(bench.answers[1].request_id, 7u);
  EXPECT_TRUE(bench.disk->runs.empty());
}

TEST(Engine, WhoAsksWhileTheStoreIsAwayIsToldSo) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Step(kDue + Seconds(1), {StoreTrouble{false, StoreFault()}});
  bench.Ask(7, ExplainRequest{"a"});
  ASSERT_EQ(bench.answers.size(), 1u);
  const Json& body = bench.answers[0].body;
  EXPECT_TRUE(body.Has("store_away_since"));
  EXPECT_EQ(body.Get("values").AsArray()[0].Get("open").AsArray()[0].Get("reason").AsString(),
            "store_unavailable");
}

TEST(Engine, ATaskWhoseRuleWasRemovedIsListedWhileARunOfItIsOpen) {
  Bench bench(RulesOf("tasks:\n" + Rule("a") + Rule("b")));
  bench.Step(kDue);
  bench.Settle();
  bench.Reload("tasks:\n" + Rule("a"));
  bench.Settle();
  bench.answers.clear();
  bench.Ask(7, TasksRequest{});
  ASSERT_EQ(bench.answers.size(), 1u);
  const Json::Array& tasks = bench.answers[0].body.Get("tasks").AsArray();
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_TRUE(tasks[1].Get("removed").AsBool());
  EXPECT_EQ(tasks[1].Get("open").AsArray().size(), 1u);
}

TEST(Engine, ACancelIsInTheStoreBeforeItIsAnswered) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Settle();
  bench.Ask(7, CancelRequest{bench.Only().id});
  EXPECT_TRUE(bench.answers.empty());
  EXPECT_TRUE(bench.kills.empty());
  ASSERT_EQ(bench.batches.size(), 1u);
  bench.CommitOne();
  EXPECT_EQ(bench.Only().cancel, "cancelled by ann: because");
  ASSERT_EQ(bench.answers.size(), 1u);
  EXPECT_EQ(bench.answers[0].kind, Answer::Kind::kFine);
  ASSERT_EQ(bench.kills.size(), 1u);
  EXPECT_EQ(bench.kills[0].why, KillWhy::kCancelled);
  ASSERT_EQ(bench.disk->audit.size(), 1u);
  EXPECT_EQ(bench.disk->audit.begin()->second.action, "cancel");
}

TEST(Engine, ACancelWhoseReplyWasLostIsObeyed) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Settle();
  bench.Ask(7, CancelRequest{bench.Only().id});
  bench.Resync(true);
  ASSERT_EQ(bench.kills.size(), 1u);
  bench.End(bench.starts[0], 143);
  bench.Settle();
  EXPECT_EQ(bench.Only().state, RunState::kSkipped);
  EXPECT_EQ(bench.Only().reason, Reason::kCancelled);
}

TEST(Engine, AnEndingThatOvertakesTheOrderToCancelWaitsForIt) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Settle();
  bench.Ask(7, CancelRequest{bench.Only().id});
  bench.End(bench.starts[0], 75);
  bench.Settle();
  EXPECT_EQ(bench.Only().state, RunState::kSkipped);
  EXPECT_EQ(bench.Only().reason, Reason::kCancelled);
}

TEST(Engine, WhatAPersonCancelledIsNotOverWhileItsProcessesLive) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Settle();
  AttemptRef ref = bench.starts[0];
  bench.disk->runs.begin()->second.run.cancel = "cancelled by ann: because";
  bench.disk->runs.begin()->second.run.incarnation = "former";
  bench.RestartInMemory();
  ASSERT_EQ(bench.inspects.size(), 1u);
  Inspection seen;
  seen.ref = ref;
  seen.found = Inspection::Found::kAlive;
  bench.Step(kDue, {AttemptInspected{seen}});
  bench.Settle();
  EXPECT_EQ(bench.Only().state, RunState::kRetrying);
  EXPECT_EQ(bench.waits.back(), "previous_attempt_alive");
  seen.found = Inspection::Found::kGone;
  bench.Step(kDue + Seconds(30), {AttemptInspected{seen}});
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 1u);
  EXPECT_EQ(bench.Only().state, RunState::kSkipped);
  EXPECT_EQ(bench.Only().reason, Reason::kCancelled);
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

TEST(Engine, APauseOfAnotherTaskRefusesAClaimForAMomentOnly) {
  Bench bench(RulesOf("tasks:\n" + Rule("a") + "    retry: {immediate: {max_attempts: 1, interval: 5s}}\n" +
                      Rule("b", ", depends_on: [f]")));
  bench.Step(kDue);
  bench.Settle();
  bench.End(bench.starts[0], 75);
  bench.Settle();
  bench.clock.wall = kDue + Seconds(5);
  bench.Ask(7, PauseRequest{"task/b", false, false});  // stored before the claim of the same step
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 1u);
  bench.Step(kDue + Seconds(6));
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 2u);
  for (const auto& [id, row] : bench.disk->decisions)
    EXPECT_TRUE(row.task != "a" || row.reason != Reason::kPaused);
}

TEST(Engine, TwoPausesOnTheirWayHaveTwoNumbers) {
  Bench bench(RulesOf("tasks:\n" + Rule("a") + Rule("b")));
  bench.Ask(7, PauseRequest{"task/b", false, false});
  bench.Ask(8, PauseRequest{"task/a", false, false});
  bench.Settle();
  std::set<int64_t> numbers;
  for (const auto& [scope, control] : bench.disk->controls) numbers.insert(control.version);
  EXPECT_EQ(numbers.size(), 2u);
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

}  // namespace
}  // namespace duecourse
