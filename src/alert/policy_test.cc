#include <gtest/gtest.h>

#include <algorithm>

#include "alert/alert.h"
#include "base/log.h"
#include "base/text.h"

namespace duecourse {
namespace {

using Event = AlertRule::Event;
using Policy = AlertRule::Policy;
using Level = AlertLevel;

Task TaskWith(const AlertRule& alerts) {
  auto body = std::make_shared<RuleBody>();
  body->alerts = alerts;
  body->owner = "data";
  body->why = "the orders are billed from it";
  Task task;
  task.id = "order_sync";
  task.body = body;
  return task;
}

Run RunIn(RunState state, int failures) {
  Run run;
  run.id = "r0123456789abcdef0123";
  run.task = "order_sync";
  run.key = "order_sync:20250601:0200";
  run.business_date = *ParseDay("2025-06-01");
  run.due = *ParseUtc("2025-05-31T18:00:00Z");
  run.state = state;
  run.reason = Reason::kWaitingRetry;
  run.failures = failures;
  run.attempts = failures;
  return run;
}

// Plays the events of one episode and writes down what was told: "P3 failure" or "P2 second_failure!", with
// "!" where it is sent. As the engine does, it keeps the highest level told.
struct Step {
  Event event;
  RunState state;
  int failures;
};
std::vector<std::string> Play(const AlertRule& alerts, const std::vector<Step>& steps,
                              bool part_of_breaker = false) {
  const Task task = TaskWith(alerts);
  std::vector<std::string> told;
  Level highest = Level::kNone;
  for (const Step& step : steps) {
    const duecourse::Run run = RunIn(step.state, step.failures);
    AlertFacts facts;
    facts.event = step.event;
    facts.task = &task;
    facts.run = &run;
    facts.episode = run.id;
    facts.told = highest;
    facts.part_of_breaker = part_of_breaker;
    facts.what = "exit 75";
    const AlertDraft draft = DraftAlert(facts);
    if (draft.level == Level::kNone) continue;
    told.push_back(StrCat(AlertLevelName(draft.level), " ", draft.event, draft.send ? "!" : ""));
    highest = std::max(highest, draft.level);
  }
  return told;
}

std::vector<Step> Failures(int count) {
  std::vector<Step> steps;
  for (int i = 1; i <= count; ++i) steps.push_back({Event::kFailure, RunState::kRetrying, i});
  return steps;
}
std::vector<Step> With(std::vector<Step> steps, const Step& last) {
  steps.push_back(last);
  return steps;
}
using Told = std::vector<std::string>;

TEST(AlertPolicyTest, TitlesSayEachThingOnce) {
  const struct {
    Event event;
    RunState state;
    int failures;
    const char* what;  // as the engine says it
    const char* title;
  } rows[] = {
      {Event::kFailure, RunState::kRetrying, 1, "failed: attempt 1 failed: exit 75",
       "P3 order_sync 2025-06-01: attempt 1 failed: exit 75"},
      {Event::kFailure, RunState::kRetrying, 2, "failed: attempt 2 failed: exit 75",
       "P2 order_sync 2025-06-01: attempt 2 failed: exit 75"},
      {Event::kFailure, RunState::kRetrying, 3, "attempt_lost: attempt 3 lost: the daemon died while it ran",
       "P2 order_sync 2025-06-01: third failure in a row: attempt 3 lost: the daemon died while it ran"},
      {Event::kManualRequired, RunState::kManualRequired, 4, "attempts_exhausted: attempt 4 failed: exit 75",
       "P2 order_sync 2025-06-01: needs a person: attempts_exhausted: attempt 4 failed: exit 75"},
      {Event::kMissed, RunState::kMissed, 0, "exceeded_window: precondition_not_ready, the file is not there",
       "P2 order_sync 2025-06-01: missed: exceeded_window: precondition_not_ready, the file is not there"},
      {Event::kMissed, RunState::kMissed, 0, "missed 3 occurrences: the daemon was down",
       "P2 order_sync 2025-06-01: missed 3 occurrences: the daemon was down"},
      {Event::kSkipped, RunState::kSkipped, 0, "cancelled: by ann: wrong file",
       "P3 order_sync 2025-06-01: skipped: cancelled: by ann: wrong file"},
      {Event::kStuck, RunState::kCatchupWaiting, 0, "stuck: 2h in catchup_waiting",
       "P2 order_sync 2025-06-01: stuck: 2h in catchup_waiting"},
  };
  for (const auto& row : rows) {
    const duecourse::Run run = RunIn(row.state, row.failures);
    const Task task = TaskWith({});
    AlertFacts facts;
    facts.event = row.event;
    facts.task = &task;
    facts.run = &run;
    facts.episode = run.id;
    facts.what = row.what;
    const AlertDraft draft = DraftAlert(facts);
    EXPECT_EQ(draft.title, row.title);
    EXPECT_EQ(draft.body.find("failed: attempt 1"), std::string::npos) << draft.body;
  }
}

TEST(AlertPolicyTest, OneMessageAnEpisodeAndLevelAndNeverOneAnAttempt) {
  const Step kManual = {Event::kManualRequired, RunState::kManualRequired, 10};
  const Step kSkip = {Event::kSkipped, RunState::kSkipped, 0};
  const Step kMiss = {Event::kMissed, RunState::kMissed, 0};
  const Step kStuckStep = {Event::kStuck, RunState::kCatchupWaiting, 0};
  const AlertRule graded;
  AlertRule three_step;
  three_step.policy = Policy::kThreeStep;
  AlertRule quiet;
  quiet.levels = {{Event::kFailure, Level::kNone},
                  {Event::kSecondFailure, Level::kNone},
                  {Event::kThirdFailure, Level::kNone},
                  {Event::kManualRequired, Level::kP2}};
  AlertRule only_p3;
  only_p3.levels = {{Event::kSecondFailure, Level::kP3}, {Event::kThirdFailure, Level::kP3}};
  AlertRule urgent;
  urgent.levels = {{Event::kFailure, Level::kP1}};
  AlertRule no_missed;
  no_missed.levels = {{Event::kMissed, Level::kNone}};
  struct Row {
    const char* name;
    AlertRule rule;
    std::vector<Step> steps;
    Told told;
  };
  const Row rows[] = {
      {"one failure is shown only", graded, Failures(1), {"P3 failure"}},
      {"nine failures, three messages",
       graded,
       Failures(9),
       {"P3 failure", "P2 second_failure!", "P2 third_failure!"}},
      {"the end is told too",
       graded,
       With(Failures(9), kManual),
       {"P3 failure", "P2 second_failure!", "P2 third_failure!", "P2 manual_required!"}},
      {"a business error goes to a person at once",
       graded,
       {{Event::kManualRequired, RunState::kManualRequired, 1}},
       {"P2 manual_required!"}},
      {"a failure that is already a person's is not told twice",
       graded,
       {{Event::kFailure, RunState::kManualRequired, 1}, kManual},
       {"P2 manual_required!"}},
      {"three steps: the final one wakes somebody",
       three_step,
       With(Failures(9), kManual),
       {"P3 failure", "P2 second_failure!", "P1 manual_required!"}},
      {"none silences", quiet, With(Failures(9), kManual), {"P2 manual_required!"}},
      {"P3 is shown, not sent",
       only_p3,
       With(Failures(9), kManual),
       {"P3 failure", "P3 third_failure", "P2 manual_required!"}},
      {"an urgent first failure, and the third on its own",
       urgent,
       Failures(9),
       {"P1 failure!", "P2 third_failure!"}},
      {"a skip is shown", graded, {kSkip}, {"P3 skipped"}},
      {"a missed run is told", graded, {kMiss}, {"P2 missed!"}},
      {"a silenced missed is not", no_missed, {kMiss}, {}},
      {"stuck is told once", graded, {kStuckStep, kStuckStep}, {"P2 stuck!"}},
      {"the end of a stuck run is news", graded, {kStuckStep, kMiss}, {"P2 stuck!", "P2 missed!"}},
      {"a skip after a P2 is no message",
       graded,
       With(Failures(2), kSkip),
       {"P3 failure", "P2 second_failure!"}},
  };
  for (const Row& row : rows) EXPECT_EQ(Play(row.rule, row.steps), row.told) << row.name;
}

TEST(AlertPolicyTest, WhatBelongsToAnOpenBreakerHasNoMessageOfItsOwn) {
  EXPECT_EQ(Play({}, With(Failures(9), {Event::kManualRequired, RunState::kManualRequired, 9}), true),
            Told{});
  EXPECT_EQ(Play({}, {{Event::kMissed, RunState::kMissed, 0}}, true), Told{});
  EXPECT_EQ(Play({}, {{Event::kBreakerOpen, RunState::kRetrying, 3}}, true), Told{"P2 breaker_open!"});
}

TEST(AlertPolicyTest, Scenario43OneMessageForAnOpenBreakerAndOneForItsEnd) {
  // Five runs fail with their only attempt; the fifth opens the breaker; eight trials fail; the ninth
  // succeeds.
  AlertRule alerts;
  for (Event event : {Event::kFailure, Event::kSecondFailure, Event::kThirdFailure, Event::kManualRequired}) {
    alerts.levels.emplace_back(event, Level::kNone);
  }
  alerts.levels.emplace_back(Event::kBreakerOpen, Level::kP2);
  const Task task = TaskWith(alerts);
  const std::string episode = "breaker/triage/1";
  Level told = Level::kNone;
  Told sent;
  const auto tell = [&](const AlertDraft& draft) {
    if (draft.level == Level::kNone) return;
    sent.push_back(StrCat(draft.event, draft.send ? "!" : ""));
    told = std::max(told, draft.level);
  };
  AlertFacts facts;
  facts.task = &task;
  facts.what = "open after 5 failures";
  for (int run_number = 1; run_number <= 13; ++run_number) {
    const duecourse::Run run = RunIn(RunState::kManualRequired, 1);
    AlertFacts own = facts;
    own.run = &run;
    own.episode = run.id;
    own.event = Event::kManualRequired;
    own.part_of_breaker = run_number > 5;
    tell(DraftAlert(own));
    if (run_number < 5) continue;
    facts.event = Event::kBreakerOpen;
    facts.episode = episode;
    facts.told = told;
    tell(DraftAlert(facts));
  }
  facts.told = told;
  facts.what = "the trial succeeded";
  tell(DraftRecovery(facts));
  EXPECT_EQ(sent, (Told{"breaker_open!", "recovered!"}));
}

TEST(AlertPolicyTest, ManyRunsOfOneCauseAreOneMessage) {
  const Task task = TaskWith({});
  AlertFacts facts;
  facts.task = &task;
  facts.episode = "outage/i42";
  facts.event = Event::kMissed;
  facts.what = "missed: the daemon was down";
  EXPECT_EQ(DraftAlert(facts).level, Level::kP2);
  const duecourse::Run run = RunIn(RunState::kMissed, 0);
  facts.run = &run;
  facts.told = Level::kP2;
  EXPECT_EQ(DraftAlert(facts).level, Level::kNone);
}

TEST(AlertPolicyTest, ARecoveryNoteFollowsOnlyWhatWasSent) {
  const Task task = TaskWith({});
  const duecourse::Run run = RunIn(RunState::kSuccess, 0);
  AlertFacts facts;
  facts.task = &task;
  facts.run = &run;
  facts.episode = run.id;
  facts.what = "succeeded on attempt 4";
  for (Level told : {Level::kNone, Level::kP3}) {
    facts.told = told;
    EXPECT_EQ(DraftRecovery(facts).level, Level::kNone);
  }
  facts.told = Level::kP1;
  const AlertDraft draft = DraftRecovery(facts);
  EXPECT_EQ(draft.level, Level::kP1);  // to whoever was woken
  EXPECT_TRUE(draft.send);
  EXPECT_EQ(draft.title, "P1 over: order_sync 2025-06-01: succeeded on attempt 4");
}

TEST(AlertPolicyTest, LevelsAreThoseOfThePolicyUnlessTheRuleSaysOtherwise) {
  AlertRule written;
  written.levels = {{Event::kThirdFailure, Level::kP1}, {Event::kMissed, Level::kNone}};
  AlertRule three_step;
  three_step.policy = Policy::kThreeStep;
  struct Row {
    AlertRule rule;
    Event event;
    int failures;
    Level level;
  };
  const Row rows[] = {
      {{}, Event::kFailure, 1, Level::kP3},
      {{}, Event::kFailure, 2, Level::kP2},
      {{}, Event::kThirdFailure, 1, Level::kP3},
      {{}, Event::kFailure, 7, Level::kP2},
      {{}, Event::kManualRequired, 7, Level::kP2},
      {{}, Event::kSkipped, 0, Level::kP3},
      {{}, Event::kBreakerOpen, 0, Level::kP2},
      {{}, Event::kStuck, 0, Level::kP2},
      {{}, Event::kMissed, 0, Level::kP2},
      {written, Event::kFailure, 7, Level::kP1},
      {written, Event::kMissed, 0, Level::kNone},
      {written, Event::kFailure, 1, Level::kP3},
      {three_step, Event::kFailure, 1, Level::kP3},
      {three_step, Event::kFailure, 2, Level::kP2},
      {three_step, Event::kManualRequired, 3, Level::kP1},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(LevelOf(row.rule, row.event, row.failures), row.level)
        << static_cast<int>(row.event) << " " << row.failures;
  }
}

Attempt FailedAttempt(int number, const std::string& summary) {
  Attempt attempt;
  attempt.number = number;
  attempt.kind = TriggerKind::kRetry;
  attempt.claimed_at = *ParseUtc("2025-05-31T18:07:05Z");
  attempt.outcome = Outcome::kFailed;
  attempt.code = "exit 75";
  attempt.summary = summary;
  return attempt;
}

TEST(AlertMessageTest, ARunOfAValueIsToldWithItsValueAndInItsOwnZone) {
  auto body = std::make_shared<RuleBody>(TaskWith(AlertRule()).rule());
  body->trigger.zone_by_value = true;
  body->trigger.schedule.zone = *Zone::Load("Asia/Tokyo");
  for (const char* zone : {"Asia/Tokyo", "Europe/London"}) {
    ForEachValue value;
    value.id = StrCat("zone=", zone);
    value.schedule = body->trigger.schedule;
    value.schedule->zone = *Zone::Load(zone);
    body->for_each.push_back(value);
  }
  Task task = TaskWith(AlertRule());
  task.body = body;
  duecourse::Run run = RunIn(RunState::kManualRequired, 1);
  run.value = "zone=Europe/London";
  AlertFacts facts;
  facts.event = Event::kManualRequired;
  facts.task = &task;
  facts.run = &run;
  facts.episode = run.id;
  facts.what = "exit 75";
  const AlertDraft draft = DraftAlert(facts);
  const AlertMessage message = MessageOf("a1", draft.level, draft.title, draft.body);
  for (const char* part :
       {"value    zone=Europe/London\n", "due      2025-05-31T19:00:00+01:00 (Europe/London)"})
    EXPECT_NE(message.text.find(part), std::string::npos) << part << "\n" << message.text;
  EXPECT_NE(draft.title.find("order_sync[zone=Europe/London] 2025-06-01"), std::string::npos) << draft.title;
  run.value = "zone=Europe/Paris";  // the rule has it no more
  EXPECT_NE(DraftAlert(facts).body.find("2025-05-31T18:00:00+00:00"), std::string::npos);
}

TEST(AlertMessageTest, TheTextSaysWhatAndHowToTakeOver) {
  AlertRule alerts;
  auto body = std::make_shared<RuleBody>(TaskWith(alerts).rule());
  Result<Zone> zone = Zone::Load("Asia/Shanghai");
  ASSERT_TRUE(zone.ok());
  body->trigger.schedule.zone = *zone;
  Task task = TaskWith(alerts);
  task.body = body;
  duecourse::Run run = RunIn(RunState::kManualRequired, 10);
  run.reason = Reason::kAttemptsExhausted;
  const std::vector<Attempt> failures = {FailedAttempt(10, "exit 75: no answer from db1"),
                                         FailedAttempt(9, ""), FailedAttempt(8, "db1 refused"),
                                         FailedAttempt(7, "not told")};
  AlertFacts facts;
  facts.event = Event::kManualRequired;
  facts.task = &task;
  facts.run = &run;
  facts.last_failures = &failures;
  facts.episode = run.id;
  facts.what = "attempt 10 of 10 failed: exit 75";
  facts.next = "nothing until a person acts";
  facts.at = *ParseUtc("2025-05-31T20:37:06Z");
  const AlertDraft draft = DraftAlert(facts);
  const AlertMessage message = MessageOf("a1", draft.level, draft.title, draft.body);
  EXPECT_EQ(message.text,
            "P2 order_sync 2025-06-01: needs a person: attempt 10 of 10 failed: exit 75\n"
            "what     attempt 10 of 10 failed: exit 75\n"
            "next     nothing until a person acts\n"
            "run      r0123456789abcdef0123\n"
            "key      order_sync:20250601:0200\n"
            "due      2025-06-01T02:00:00+08:00 (Asia/Shanghai), for 2025-06-01\n"
            "state    manual_required (attempts_exhausted), 10 attempts\n"
            "why      the orders are billed from it\n"
            "last failures\n"
            "  attempt 10 (retry) at 2025-06-01T02:07:05+08:00: exit 75: no answer from db1\n"
            "  attempt 9 (retry) at 2025-06-01T02:07:05+08:00: exit 75\n"
            "  attempt 8 (retry) at 2025-06-01T02:07:05+08:00: exit 75: db1 refused\n"
            "what to do\n"
            "  look: duecourse why order_sync 2025-06-01\n"
            "  its output: duecourse logs r0123456789abcdef0123\n"
            "  take over: duecourse manual claim r0123456789abcdef0123 --by NAME --reason \"…\"\n"
            "  then one of: duecourse manual rerun | resolve | skip r0123456789abcdef0123 --by NAME --reason "
            "\"…\"\n"
            "alert    a1 at 2025-05-31T20:37:06Z\n");
  Result<Json> json = Json::Parse(message.json);
  ASSERT_TRUE(json.ok());
  struct Row {
    const char* member;
    const char* value;
  };
  const Row rows[] = {{"/id", "a1"},
                      {"/level", "P2"},
                      {"/event", "manual_required"},
                      {"/task", "order_sync"},
                      {"/run", "r0123456789abcdef0123"},
                      {"/key", "order_sync:20250601:0200"},
                      {"/body/owner", "data"},
                      {"/body/next", "nothing until a person acts"},
                      {"/body/last_failures/1", "attempt 9 (retry) at 2025-06-01T02:07:05+08:00: exit 75"}};
  for (const Row& row : rows) {
    const Json* found = json->Pointer(row.member);
    ASSERT_NE(found, nullptr) << row.member;
    EXPECT_EQ(found->AsString(), row.value) << row.member;
  }
  EXPECT_EQ(json->Get("text").AsString(), message.text);
}

TEST(AlertMessageTest, HostileTextIsShownAndNotObeyed) {
  Task task = TaskWith({});
  duecourse::Run run = RunIn(RunState::kManualRequired, 1);
  run.value = "app\r\nBcc: x@example.org";
  run.key = std::string("k\0\x1b[2J", 6);
  const std::vector<Attempt> failures = {FailedAttempt(1, "\x1b]0;owned\x07 \xff line\nfake: line")};
  AlertFacts facts;
  facts.event = Event::kManualRequired;
  facts.task = &task;
  facts.run = &run;
  facts.last_failures = &failures;
  facts.episode = run.id;
  facts.what = StrCat("exit 1: ", std::string(10'000, 'x'), "\ninjected");
  const AlertDraft draft = DraftAlert(facts);
  const AlertMessage message = MessageOf("a1", draft.level, draft.title, draft.body);
  for (const std::string& text : {draft.title, message.title}) {
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_LT(text.size(), 700u);
  }
  for (char c : message.text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  EXPECT_TRUE(IsValidUtf8(message.text));
  EXPECT_EQ(message.text.find("\nBcc:"), std::string::npos);
  EXPECT_EQ(message.text.find("\nfake:"), std::string::npos);
  EXPECT_EQ(message.text.find("\ninjected"), std::string::npos);
  EXPECT_NE(message.text.find("\\x1b[2J"), std::string::npos);
}

TEST(AlertMessageTest, NoSecretIsInAnyPartOfIt) {
  const std::string canary = "canary-\"quoted\"-secret";
  RegisterSecret(canary);
  Task task = TaskWith({});
  duecourse::Run run = RunIn(RunState::kRetrying, 2);
  run.key = canary;
  const std::vector<Attempt> failures = {FailedAttempt(2, canary)};
  AlertFacts facts;
  facts.task = &task;
  facts.run = &run;
  facts.episode = run.id;
  facts.what = StrCat("failed with ", canary);
  facts.next = canary;
  facts.last_failures = &failures;
  const AlertDraft draft = DraftAlert(facts);
  ASSERT_TRUE(draft.send);
  const AlertMessage message = MessageOf("a1", draft.level, draft.title, draft.body);
  for (const std::string& text : {draft.title, draft.body, message.title, message.text, message.json}) {
    EXPECT_EQ(text.find("canary"), std::string::npos) << text;
    EXPECT_NE(text.find("***"), std::string::npos);
  }
}

TEST(AlertMessageTest, ANoticeOfTheDaemonItselfNeedsNoRun) {
  NoticeFacts facts;
  facts.event = "store_unavailable";
  facts.what = "the store does not answer: disk full";
  facts.next = "nothing is started until it does";
  facts.todo = {"free space on /var/lib/duecourse", "duecourse doctor"};
  const AlertDraft draft = DraftNotice(facts);
  EXPECT_TRUE(draft.send);
  const AlertMessage message = MessageOf("a2", draft.level, draft.title, draft.body);
  EXPECT_EQ(message.title, "P1 duecourse: the store does not answer: disk full");
  EXPECT_NE(message.text.find("what to do\n  free space on /var/lib/duecourse\n  duecourse doctor\n"),
            std::string::npos)
      << message.text;
}

TEST(AlertMessageTest, AnUnreadableBodyStillMakesAMessage) {
  const AlertMessage message = MessageOf("a3", Level::kP2, "P2 t: it\x01 failed", "{not json");
  EXPECT_EQ(message.title, "P2 t: it\\x01 failed");
  EXPECT_TRUE(Json::Parse(message.json).ok());
}

}  // namespace
}  // namespace duecourse
