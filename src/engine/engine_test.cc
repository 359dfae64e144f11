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
  void Resync(bool committed) {
    StoreFault fault;
    for (const StoreBatch& batch : batches) {
      if (committed) store_->Commit(batch.calls, fault);
    }
    batches.clear();
    std::vector<Effect> effects;
    engine->Resync(*store_->Load(), clock.wall, effects);
    Take(effects);
    Step(clock.wall);
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
