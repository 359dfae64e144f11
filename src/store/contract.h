// The suite that holds every store to the contract of store.h: the fixture of contract_*_test.cc. A new store
// adds one name to kStores and one branch to MakeDisk; the tests stay as they are. Test code.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/contract_parts.h"

namespace duecourse {

class StoreContract : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { Start("i1"); }

  // A daemon starts; the one before it, if any, was killed.
  OpenReply Start(const std::string& incarnation) {
    reader_.reset();
    store_.reset();
    store_ = disk_.NewStore(clock_);
    Result<OpenReply> reply = store_->Open(RequestOf(incarnation, /*init=*/true));
    EXPECT_TRUE(reply.ok()) << reply.error().message();
    return *reply;
  }
  std::vector<StoreReply> CommitAll(const std::vector<StoreCall>& batch) {
    StoreFault fault;
    std::vector<StoreReply> replies = store_->Commit(batch, fault);
    EXPECT_EQ(fault.kind, StoreFault::Kind::kNone) << fault.message;
    EXPECT_EQ(replies.size(), batch.size());
    return replies;
  }
  template <typename Reply>
  Reply One(const StoreCall& call) {
    std::vector<StoreReply> replies = CommitAll({call});
    EXPECT_TRUE(!replies.empty() && std::holds_alternative<Reply>(replies[0]));
    return std::get<Reply>(replies.at(0));
  }

  // A task that rules brought to life an hour ago.
  void AddTask(const std::string& task, const std::string& hash = "h1") {
    ActivateCall call;
    call.version.hash = hash;
    call.version.by = "ann";
    call.texts = {{"rules/a.yaml", "task_id: a"}};
    TaskCursor cursor;
    cursor.task = task;
    cursor.in_force_since = clock_.wall - Hours(1);
    cursor.planned_through = clock_.wall - Hours(1);
    call.cursors = {cursor};
    One<ActivateReply>(call);
  }
  PlanReply PlanRuns(const std::vector<RunRow>& runs) {
    PlanCall call;
    call.task = runs.at(0).task;
    for (const RunRow& run : runs) call.runs.push_back({run, std::nullopt, {}, {}});
    return One<PlanReply>(call);
  }
  ClaimReply Claim(const ClaimCall& claim) { return One<ClaimReply>(claim); }
  // Plans and claims; the row as it then stands.
  RunRow RunningRun(const std::string& id, const std::string& task) {
    RunRow run = MakeRun(id, task, clock_.wall);
    PlanRuns({run});
    EXPECT_TRUE(Claim(MakeClaim(run, "n-" + id)).granted);
    return Stored(id);
  }
  FinishCall MakeFinish(const RunRow& run, RunState state, Outcome outcome) {
    FinishCall finish;
    finish.after = run;
    finish.after.state = state;
    finish.after.reason = outcome == Outcome::kSuccess ? Reason::kSucceeded : Reason::kFailed;
    finish.after.state_since = clock_.wall;
    finish.fence = run.fence;
    finish.end.number = run.attempts;
    finish.end.outcome = outcome;
    finish.decisions = {MakeDecision("state", finish.after.reason)};
    return finish;
  }

  StoreReader& reader() {
    if (!reader_) {
      Result<std::unique_ptr<StoreReader>> made = store_->NewReader();
      EXPECT_TRUE(made.ok());
      reader_ = std::move(*made);
    }
    return *reader_;
  }
  RunRow Stored(const std::string& id) {
    RunFilter filter;
    filter.run_id = id;
    Result<std::vector<RunRow>> rows = reader().Runs(filter);
    EXPECT_TRUE(rows.ok() && rows->size() == 1) << id;
    return rows->at(0);
  }
  std::vector<DecisionRow> DecisionsOf(const std::string& run_id) {
    DecisionFilter filter;
    filter.run_id = run_id;
    Result<std::vector<DecisionRow>> rows = reader().Decisions(filter);
    EXPECT_TRUE(rows.ok());
    return *rows;
  }
  Snapshot LoadAll() {
    Result<Snapshot> snapshot = store_->Load();
    EXPECT_TRUE(snapshot.ok());
    return *snapshot;
  }

  StillClock clock_;
  Disk disk_{GetParam()};
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreReader> reader_;
};

inline const char* const kStores[] = {"memory", "sqlite"};
// Every suite is run over every store.
#define HOLD_EVERY_STORE_TO(suite)                                   \
  INSTANTIATE_TEST_SUITE_P(Every, suite, testing::ValuesIn(kStores), \
                           [](const auto& info) { return std::string(info.param); })

}  // namespace duecourse
