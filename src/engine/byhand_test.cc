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

TEST(Engine, APauseOfWhatIsPausedSaysWhoHadPausedIt) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  const auto pause = [&bench](const char* by, bool resume) {
    bench.Step(bench.clock.wall, {Requested{{7, by, "repairs", PauseRequest{"task/a", resume, false}}}});
    bench.Settle();
    return bench.answers.back();
  };
  EXPECT_FALSE(pause("ann", false).body.Has("was_paused_by"));
  const Answer second = pause("bob", false);
  EXPECT_EQ(second.kind, Answer::Kind::kFine);
  EXPECT_TRUE(second.body.Get("was_paused_by").AsString().starts_with("ann at ")) << second.body.Dump();
  EXPECT_NE(second.message.find("task/a is paused by bob; it was paused by ann at "), std::string::npos);
  EXPECT_NE(second.message.find(": repairs"), std::string::npos) << second.message;
  EXPECT_FALSE(pause("bob", true).body.Has("was_paused_by"));
  EXPECT_FALSE(pause("ann", false).body.Has("was_paused_by")) << "a pause that is over is nobody's";
}

TEST(Engine, ADateOfManyOccurrencesIsAnsweredHoweverManyThereAre) {
  struct Row {
    const char* trigger;
    const char* says;
  };
  const Row rows[] = {
      {"cron: \"*/5 * * * *\"", "288 occurrences"},
      {"cron: \"*/2 * * * *\"", "720 occurrences"},
      {"every: 1s", "86400 occurrences"},
      // Those due before ten are of the window that opened the day before.
      {"cron: \"*/2 * * * *\", window_start: \"10:00\", window_end: \"09:00\"", "720 occurrences"},
      {"cron: \"*/2 * * * *\", days: [sat]", "720 occurrences"},
      {"cron: \"*/2 * * * *\", business_date: previous_day", "720 occurrences"},
      {"cron: \"0 0 1 1 *\"", "no occurrence of a has business date"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.trigger);
    Bench bench(RulesOf(StrCat("tasks:\n  - task_id: a\n    trigger: {", row.trigger,
                               ", timezone: Europe/Berlin}\n    idempotency: {business_key: "
                               "\"a:{scheduled_at}\"}\n    execution: {noop: {}}\n")));
    bench.Ask(7, TriggerRequest{"a", "", *ParseDay("2026-03-04"), std::nullopt, false, false});
    ASSERT_EQ(bench.answers.size(), 1u);
    EXPECT_EQ(bench.answers[0].kind, Answer::Kind::kUsage);
    EXPECT_EQ(bench.answers[0].message.rfind(row.says, 0), 0u) << bench.answers[0].message;
  }
}

TEST(Engine, ARefusalThatForceCouldPassSaysSo) {
  const char* waits = ", depends_on: [f]";
  Bench bench(RulesOf("tasks:\n" + Rule("a", waits)));
  bench.Step(kDue);
  bench.Settle();
  auto ask = [&bench](bool forced) {
    bench.Ask(7, TriggerRequest{"a", "", std::nullopt, std::nullopt, false, forced});
    bench.Settle();
    return bench.answers.back().message;
  };
  EXPECT_NE(ask(false).find("--force --reason \"why\""), std::string::npos);
  ask(true);
  ASSERT_EQ(bench.starts.size(), 1u);
  EXPECT_EQ(ask(false).find("--force"), std::string::npos) << "a lease is never passed";
}

TEST(Engine, WhatIsNoPersonsYetIsRefusedForWhatItIsAt) {
  Bench bench(RulesOf("tasks:\n" + Rule("a") +
                      "    retry: {catchup: {enabled: true, check_interval: 30m}, max_total_attempts: 5}\n"));
  bench.Step(kDue);
  bench.Settle();
  const std::string id = bench.Only().id;
  auto ask = [&](ManualRequest::Verb verb, bool supersede) {
    ManualRequest manual;
    manual.verb = verb;
    manual.run_id = id;
    manual.supersede = supersede;
    manual.stored = bench.Only();
    bench.Ask(7, manual);
    bench.Settle();
    return bench.answers.back().body.Get("reason").AsString();
  };
  EXPECT_EQ(ask(ManualRequest::Verb::kRerun, true), "lock_occupied");
  EXPECT_EQ(ask(ManualRequest::Verb::kClaim, false), "lock_occupied");
  bench.End(bench.starts[0], 75);
  bench.Settle();
  ASSERT_EQ(bench.Only().state, RunState::kCatchupWaiting);
  EXPECT_EQ(ask(ManualRequest::Verb::kClaim, false), "waiting_catchup");
  EXPECT_EQ(ask(ManualRequest::Verb::kRerun, true), "waiting_catchup");
}

TEST(Engine, AClaimKeepsItsCauseAndOneFromAnotherSaysWhoHadIt) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue);
  bench.Settle();
  bench.End(bench.starts[0], 65);
  bench.Settle();
  const std::string cause = bench.Only().detail;
  ASSERT_NE(cause.find("exit 65"), std::string::npos) << cause;
  auto claim = [&](const std::string& by) {
    ManualRequest manual;
    manual.verb = ManualRequest::Verb::kClaim;
    manual.run_id = bench.Only().id;
    bench.Step(bench.clock.wall, {Requested{{7, by, "calling them", manual}}});
    bench.Settle();
    return bench.answers.back();
  };
  EXPECT_TRUE(claim("ana").body.Get("done").AsBool());
  EXPECT_EQ(bench.Only().detail,
            StrCat(cause, "; claimed by ana at 2026-03-02T08:00:00+00:00: calling them"));
  EXPECT_TRUE(claim("ana").body.Get("done").AsBool()) << "one's own is no take-over";
  const Answer taken = claim("bob");
  EXPECT_EQ(taken.kind, Answer::Kind::kFine);
  EXPECT_NE(taken.message.find("is claimed by bob; it was claimed by ana at 2026-03-02T08:00:00+00:00"),
            std::string::npos)
      << taken.message;
  EXPECT_EQ(bench.Only().detail,
            StrCat(cause, "; claimed by bob at 2026-03-02T08:00:00+00:00: calling them"));
  std::vector<std::string> told;
  for (const auto& [id, row] : bench.disk->decisions) {
    if (row.reason == Reason::kAwaitingPerson) told.push_back(row.detail);
  }
  ASSERT_EQ(told.size(), 3u);
  EXPECT_NE(told[0].find("claimed by ana"), std::string::npos);
  EXPECT_NE(told[2].find("claimed by bob"), std::string::npos);
  EXPECT_NE(told[2].find("before that by ana"), std::string::npos);
}

TEST(Engine, AnUpstreamThatEndedOtherwiseIsNamedWithWhatWouldHelp) {
  Bench bench(RulesOf("tasks:\n" + Rule("up") + Rule("b", ", preconditions: [{type: task, task: up}]")));
  bench.Step(kDue);
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  const std::string up = bench.starts[0].run_id;
  auto seen = [&bench] {
    bench.Ask(7, ExplainRequest{"b"});
    const Json& open = bench.answers.back().body.Get("values").AsArray()[0].Get("open").AsArray()[0];
    return open.Get("preconditions").AsArray()[0];
  };
  EXPECT_FALSE(seen().Has("help"));
  bench.Ask(8, CancelRequest{up});
  bench.Settle();
  bench.End(bench.starts[0], 143);
  bench.Settle();
  EXPECT_EQ(seen().Get("text").AsString(),
            StrCat("up:2026-03-02 is skipped (cancelled, run ", up, ") and will not become so by itself"));
  const std::string help = StrCat("duecourse manual rerun ", up, " --supersede --reason \"why\"");
  EXPECT_EQ(seen().Get("help").AsString(), help);
}

TEST(Engine, ARetryThatTheBreakerMovedNamesTheBreaker) {
  Bench bench(
      RulesOf("tasks:\n" + Rule("a") +
              "    retry: {immediate: {max_attempts: 1, interval: 5s}, breaker: {failures: 1, cooldown: "
              "30m}}\n"));
  bench.Step(kDue);
  bench.Settle();
  bench.End(bench.starts[0], 75);
  bench.Settle();
  EXPECT_EQ(bench.Only().next_at, kDue + Minutes(30));
  EXPECT_NE(bench.Only().detail.find("the breaker is open"), std::string::npos) << bench.Only().detail;
  bench.Ask(7, ExplainRequest{"a"});
  const Json& open = bench.answers.back().body.Get("values").AsArray()[0].Get("open").AsArray()[0];
  EXPECT_EQ(open.Get("reason").AsString(), "waiting_retry");
  EXPECT_NE(open.Get("detail").AsString().find("moved there by the breaker"), std::string::npos)
      << open.Get("detail").AsString();
}

// The checks refuse such a rule, so it is made here: its variable goes after it was checked.
std::shared_ptr<const RuleSet> RulesWithoutAKey() {
  std::string text = "tasks:\n" + Rule("a");
  text += "    vars: {part: one}\n";
  text.replace(text.find("a:{business_date}"), 17, "a:{business_date}:{part}");
  auto bad = std::make_shared<RuleSet>(*RulesOf(text));
  auto body = std::make_shared<RuleBody>(bad->tasks[0].rule());
  body->vars.clear();
  bad->tasks[0].body = body;
  return bad;
}

TEST(Engine, WhatHasNoKeyIsNotStartedByHandEither) {
  Bench bench(RulesWithoutAKey());
  bench.Step(kDue);
  bench.Settle();
  const std::string id = bench.Only().id;
  auto said = [&](RequestBody body) {
    bench.Ask(7, std::move(body));
    bench.Settle();
    EXPECT_EQ(bench.answers.back().kind, Answer::Kind::kRefused);
    const std::string& text = bench.answers.back().message;
    EXPECT_EQ(text.find("manual rerun"), std::string::npos) << text;
    EXPECT_NE(text.find("trigger a --extra --date 2026-03-02"), std::string::npos) << text;
    return bench.answers.back().body.Get("reason").AsString();
  };
  ManualRequest rerun;
  rerun.verb = ManualRequest::Verb::kRerun;
  rerun.run_id = id;
  EXPECT_EQ(said(rerun), "key_error");
  rerun.force = true;
  EXPECT_EQ(said(rerun), "key_error");
  rerun.supersede = true;
  EXPECT_EQ(said(rerun), "awaiting_person");
  EXPECT_EQ(said(TriggerRequest{"a", "", std::nullopt, kDue, false, false}), "awaiting_person");
  EXPECT_EQ(said(TriggerRequest{"a", "", std::nullopt, kDue, false, true}), "awaiting_person");
  EXPECT_TRUE(bench.starts.empty());
  EXPECT_EQ(bench.Only().state, RunState::kManualRequired);
  for (const auto& [alert, row] : bench.disk->alerts)
    EXPECT_EQ(row.body.find("rerun"), std::string::npos) << row.body;
}

TEST(Engine, WhatIsAskedForBesideTheScheduleIsOfTheDateThatWasNamed) {
  Bench bench(RulesOf(
      "tasks:\n  - task_id: a\n"
      "    for_each: [{channel: app}, {channel: web}]\n"
      "    trigger: {cron: \"0 8 * * *\", timezone: UTC, window_end: +4h, business_date: previous_day, "
      "preconditions: [{type: file, path: \"in-{target_date}.csv\", must_exist: true}]}\n"
      "    idempotency: {business_key: \"a:{channel}:{target_date}\"}\n    execution: {noop: {}}\n"));
  bench.Ask(7, TriggerRequest{"a", "channel=web", *ParseDay("2026-02-10"), std::nullopt, true, true});
  bench.Settle();
  EXPECT_EQ(bench.Only().key, "a:web:20260210#m1");
  EXPECT_EQ(bench.Only().business_date, *ParseDay("2026-02-10"));
  const std::string& passed = bench.disk->audit.begin()->second.detail;
  EXPECT_NE(passed.find("file in-20260210.csv"), std::string::npos) << passed;
  bench.Ask(8, TriggerRequest{"a", "channel=app", std::nullopt, std::nullopt, true, true});
  bench.Settle();
  EXPECT_NE(bench.answers.back().body.Get("key").AsString(), "a:app:20260302#m1");
  EXPECT_EQ(bench.answers.back().body.Get("key").AsString(), "a:app:20260301#m1") << "the day before";
}

TEST(Engine, BesideTheScheduleTheDayIsThatOnWhichOneAsks) {
  const struct {
    const char* window;
    const char* asked;
    const char* day;
  } rows[] = {
      {"window_start: \"02:00\", window_end: \"05:00\"", "2026-03-02T01:30:00Z", "2026-03-02"},
      {"window_start: \"02:00\", window_end: \"05:00\"", "2026-03-02T03:00:00Z", "2026-03-02"},
      {"window_start: \"02:00\", window_end: \"05:00\"", "2026-03-02T06:43:00Z", "2026-03-02"},
      {"window_start: \"02:00\", window_end: +3h", "2026-03-02T06:43:00Z", "2026-03-02"},
      {"window_end: \"05:00\"", "2026-03-02T06:43:00Z", "2026-03-02"},
      {"window_end: +3h", "2026-03-02T06:43:00Z", "2026-03-02"},
      {"window_start: \"22:00\", window_end: \"05:00\"", "2026-03-02T03:00:00Z", "2026-03-01"},
      {"window_start: \"22:00\", window_end: \"05:00\"", "2026-03-02T06:43:00Z", "2026-03-02"},
      {"window_start: \"02:00\", window_end: \"05:00\", business_date: previous_day", "2026-03-02T06:43:00Z",
       "2026-03-01"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(StrCat(row.window, " at ", row.asked));
    Bench bench(RulesOf(StrCat("tasks:\n  - task_id: a\n    trigger: {cron: \"0 2 * * *\", timezone: UTC, ",
                               row.window, "}\n    idempotency: {business_key: \"a:{business_date}\"}\n",
                               "    execution: {noop: {}}\n")));
    bench.clock.wall = *ParseUtc(row.asked);
    bench.Ask(7, TriggerRequest{"a", "", std::nullopt, std::nullopt, true, true});
    bench.Settle();
    EXPECT_EQ(bench.answers.back().body.Get("key").AsString(), StrCat("a:", row.day, "#m1"));
    ASSERT_EQ(bench.disk->audit.size(), 1u);
    EXPECT_EQ(bench.disk->audit.begin()->second.detail, "") << "nothing stood in its way";
  }
}

TEST(Engine, AfterAFailedAttemptByHandAutomationLeavesAPause) {
  Bench bench(RulesOf("tasks:\n" + Rule("a", ", depends_on: [f]")));
  const Instant asked = kDue + Minutes(10);
  bench.Step(asked);
  bench.Settle();
  bench.Ask(7, TriggerRequest{"a", "", std::nullopt, std::nullopt, false, true});
  bench.Settle();
  ASSERT_EQ(bench.starts.size(), 1u);
  bench.End(bench.starts[0], 75);
  bench.Ask(8, FlagRequest{"f", *ParseDay("2026-03-02"), "", std::nullopt, false});
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 1u) << "all is ready, and a person saw it fail a moment ago";
  EXPECT_EQ(bench.Only().state, RunState::kScheduled);
  EXPECT_EQ(bench.Only().next_at, asked + Seconds(30));
  bench.RestartInMemory();
  EXPECT_EQ(bench.starts.size(), 1u);
  bench.Ask(9, ExplainRequest{"a"});
  const Json& open = bench.answers.back().body.Get("values").AsArray()[0].Get("open").AsArray()[0];
  EXPECT_EQ(open.Get("reason").AsString(), "waiting_retry");
  EXPECT_EQ(open.Get("asked_again_at").AsString(), FormatUtc(asked + Seconds(30)));
  bench.Step(asked + Seconds(30) - Millis{1});
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 1u);
  bench.Step(asked + Seconds(30));
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 2u);
}

TEST(Engine, WhatFailedByHandBeforeItWasDueIsAskedAgainWhenItIsDue) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue - Minutes(30));
  bench.Ask(7, TriggerRequest{"a", "", std::nullopt, kDue, false, true});
  bench.Settle();
  bench.End(bench.starts[0], 75);
  bench.Settle();
  EXPECT_EQ(bench.Only().next_at, kDue);
  bench.Step(kDue);
  bench.Settle();
  EXPECT_EQ(bench.starts.size(), 2u);
}

TEST(Engine, WhatIsRefusedByHandIsAPersonsAndIsTold) {
  Bench bench(RulesOf("tasks:\n" + Rule("a")));
  bench.Step(kDue - Minutes(30));
  bench.Ask(7, TriggerRequest{"a", "", std::nullopt, kDue, false, true});
  bench.Settle();
  bench.End(bench.starts[0], 65);
  bench.Settle();
  EXPECT_EQ(bench.Only().state, RunState::kManualRequired);
  EXPECT_EQ(bench.Only().reason, Reason::kBusinessError);
  ASSERT_EQ(bench.disk->alerts.size(), 1u);
  EXPECT_EQ(bench.disk->alerts.begin()->second.event, "manual_required");
}

}  // namespace
}  // namespace duecourse
