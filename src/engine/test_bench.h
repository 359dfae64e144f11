// The engine on the in-memory store, with every reply in the test's hand. For the tests of this room only.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engine/engine.h"
#include "rule/ruleset.h"
#include "store/memory.h"

namespace duecourse {

inline const Instant kStart = *ParseUtc("2026-03-02T07:59:00Z");
inline const Instant kDue = *ParseUtc("2026-03-02T08:00:00Z");

class HandClock : public Clock {
 public:
  Instant Wall() const override { return wall; }
  Millis Monotonic() const override { return {wall.ms}; }
  Millis Boot() const override { return {wall.ms}; }
  Instant wall = kStart;
};

inline std::shared_ptr<const RuleSet> RulesOf(const std::string& text, const std::string& settings = "") {
  Loaded loaded = LoadRulesFromText({{"rules.yaml", text}}, {"duecourse.yaml", settings});
  for (const Finding& finding : loaded.findings) {
    if (loaded.set == nullptr) ADD_FAILURE() << FormatFinding(finding);
  }
  return loaded.set;
}

inline std::string Rule(const std::string& id, const std::string& more = "") {
  return StrCat("  - task_id: ", id,
                "\n    trigger: {cron: \"0 8 * * *\", timezone: UTC, window_start: \"08:00\", window_end: "
                "\"12:00\"",
                more, "}\n    idempotency: {business_key: \"", id,
                ":{business_date}\"}\n    execution: {noop: {}}\n");
}

class Bench {
 public:
  explicit Bench(std::shared_ptr<const RuleSet> rules,
                 const std::function<void(EngineOptions&, Bench&)>& with = nullptr)
      : rules_(std::move(rules)) {
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
    if (with) with(options, *this);
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
  // A new engine on what the store says, with the rules it is given.
  void RestartInMemory(std::shared_ptr<const RuleSet> rules = nullptr) {
    if (rules != nullptr) rules_ = std::move(rules);
    EngineOptions options;
    options.node = "n";
    options.incarnation = "i";
    options.boot_id = "b";
    engine = std::make_unique<Engine>(options, rules_, 2);
    OpenReply opened;
    opened.version = 1;
    opened.rules_hash = disk->versions.back().hash;
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
  void Reload(const std::string& text, const std::string& settings = "") {
    RulesOffered offered;
    offered.rules = RulesOf(text, settings);
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
  std::vector<AttemptWithdraw> withdrawn;
  std::vector<AttemptRef> forgotten;
  std::vector<uint64_t> probes;  // tickets
  std::vector<AttemptInspect> inspects;
  std::vector<Answer> answers;
  std::vector<std::string> waits;  // reasons, as logged
  size_t effects_seen = 0;
  size_t early = 0;  // how often a long step handed over what was ready
  bool drained = false;

  void Take(std::vector<Effect>& effects) {
    effects_seen += effects.size();
    for (Effect& effect : effects) {
      if (auto* batch = std::get_if<StoreBatch>(&effect)) batches.push_back(std::move(*batch));
      if (auto* start = std::get_if<AttemptStart>(&effect)) starts.push_back(start->request.ref);
      if (auto* forget = std::get_if<AttemptForget>(&effect)) forgotten.push_back(forget->ref);
      if (std::holds_alternative<Drained>(effect)) drained = true;
      if (auto* probe = std::get_if<ProbeStart>(&effect)) probes.push_back(probe->request.ticket);
      if (auto* kill = std::get_if<AttemptKill>(&effect)) kills.push_back(*kill);
      if (auto* withdraw = std::get_if<AttemptWithdraw>(&effect)) withdrawn.push_back(*withdraw);
      if (auto* inspect = std::get_if<AttemptInspect>(&effect)) inspects.push_back(*inspect);
      if (auto* answer = std::get_if<Answer>(&effect)) answers.push_back(*answer);
      if (auto* line = std::get_if<LogLine>(&effect); line != nullptr && line->event == "decision")
        waits.push_back(line->fields.Get("reason").AsString());
    }
  }

 private:
  std::shared_ptr<const RuleSet> rules_;
  std::unique_ptr<Store> store_;
};

}  // namespace duecourse
