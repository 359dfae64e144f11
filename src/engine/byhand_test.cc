// What people ask for while replies are late or lost.
#include "engine/test_bench.h"

namespace duecourse {
namespace {

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

TEST(Engine, WhatAPersonPassesOverIsNamedAndNothingIsSaidOfWhatNobodySaw) {
  const char* waits =
      ", preconditions: [{type: file, path: \"in-{business_date}.csv\", must_exist: true}, {command: "
      "{command: "
      "[/bin/ready]}}, {flag: {name: f}}]";
  Bench bench(RulesOf("tasks:\n" + Rule("a", waits)));
  bench.Ask(7, TriggerRequest{"a", "", std::nullopt, std::nullopt, false, true});
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  const std::string want =
      "precondition_not_ready (flag f for 2026-03-02 is not set; not looked at: file in-2026-03-02.csv, "
      "command "
      "/bin/ready)";
  EXPECT_NE(bench.disk->audit.begin()->second.detail.find(want), std::string::npos)
      << bench.disk->audit.begin()->second.detail;
  EXPECT_NE(bench.disk->decisions.begin()->second.detail.find(want), std::string::npos);
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

}  // namespace
}  // namespace duecourse
