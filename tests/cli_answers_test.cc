// What the command line answers to a newcomer: an empty folder, a slip in a name, a part of an id, a question
// whose answer is empty.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/text.h"
#include "daemon.h"

namespace duecourse {
namespace {

constexpr const char* kDaily =
    "task_id: daily\ntrigger: {cron: \"0 9 * * *\", timezone: Europe/Berlin}\nlabels: {team: fin}\n"
    "execution: {shell: \"echo hello\"}\n";

ProgramResult Duecourse(std::vector<std::string> words, const std::string& folder = "/tmp") {
  ProgramSpec spec;
  spec.argv = {DUECOURSE_PROGRAM};
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  spec.env = PlainEnvironment();
  spec.folder = folder;
  return RunProgram(spec);
}

void ExpectIn(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in:\n" << text;
}
void ExpectNotIn(const std::string& text, const std::string& part) {
  EXPECT_EQ(text.find(part), std::string::npos) << "\"" << part << "\" is in:\n" << text;
}

// Starts an occurrence beside the schedule and waits for its end.
std::string DoneExtra(TestDaemon& daemon, const std::string& task) {
  const ProgramResult started = daemon.Cli({"trigger", task, "--extra", "--by", "ann", "--reason", "try"});
  EXPECT_EQ(started.code, 0) << started.err;
  std::string id;
  EXPECT_TRUE(Eventually([&] {
    for (const Json& run : daemon.Runs(task)) {
      id = run.Get("run_id").AsString();
      if (run.Get("state").AsString() == "success") return true;
    }
    return false;
  })) << daemon.Tell(task);
  return id;
}

TEST(EmptyRules, AFirstStartRefusesThemUnlessItIsConfirmedAndCheckWarns) {
  TestDaemon daemon;
  std::filesystem::create_directories(daemon / "rules");
  WriteText(daemon / "rules/a.yml.txt", kDaily);
  TestDaemon::Launch first;
  EXPECT_EQ(daemon.StartRefused(first), 1);
  ExpectIn(daemon.log(), "the rules have 0 tasks (looked in " + (daemon / "rules"));
  ExpectIn(daemon.log(), "duecourse serve --init --confirm");
  EXPECT_FALSE(std::filesystem::exists(daemon.data()));

  const ProgramResult check = Duecourse({"check", "--rules", daemon / "rules"});
  EXPECT_EQ(check.code, 0) << check.err;
  ExpectIn(check.out, "warning: there is no task");
  ExpectIn(check.out, "0 tasks: 0 errors, 1 warning");
  EXPECT_EQ(Duecourse({"check", "--strict", "--rules", daemon / "rules"}).code, 1);
  ExpectIn(Duecourse({"doctor", "--rules", daemon / "rules"}).out, "warn rules          0 tasks in ");

  // Who has confirmed it is not asked at every start again; it is told.
  first.more = {"--confirm"};
  ASSERT_TRUE(daemon.Start(first)) << daemon.log();
  ASSERT_TRUE(Eventually([&] { return !daemon.Get("/api/v1/rules").Get("versions").AsArray().empty(); }));
  ASSERT_EQ(daemon.Stop(), 0);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ExpectIn(daemon.log(), "nothing runs until some are there and reloaded");
}

TEST(Resume, OfATaskSaysWhichPauseStillHoldsIt) {
  TestDaemon daemon;
  daemon.Rules(kDaily);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_EQ(daemon.Cli({"pause", "daily", "--by", "ann"}).code, 0);
  ASSERT_EQ(daemon.Cli({"pause", "--label", "team=fin", "--by", "bob", "--reason", "month's end"}).code, 0);
  const ProgramResult resumed = daemon.Cli({"resume", "daily", "--by", "ann"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  ExpectIn(resumed.out, "still held by the pause of label/team=fin, by bob: month's end");
  ASSERT_EQ(daemon.Cli({"pause", "daily", "--by", "ann"}).code, 0);
  ExpectIn(daemon.Ask({"resume", "daily", "--by", "ann"}).Get("still_held_by").AsString(), "label/team=fin");
  ASSERT_EQ(daemon.Cli({"resume", "--label", "team=fin", "--by", "ann"}).code, 0);
  ASSERT_EQ(daemon.Cli({"pause", "daily", "--by", "ann"}).code, 0);
  EXPECT_EQ(daemon.Cli({"resume", "daily", "--by", "ann"}).out, "daily is resumed\n");
}

TEST(Repeated, RerunsAndExtraRunsOfTheKeyAreToldWithWhoAskedForThem) {
  TestDaemon daemon;
  daemon.Rules(
      "task_id: daily\ntrigger: {cron: \"0 9 * * *\", timezone: Europe/Berlin, window_end: +4h}\n"
      "idempotency: {business_key: \"daily:{business_date}\"}\nexecution: {shell: \"echo hello\"}\n");
  daemon.InForceSince("2026-03-02T07:00:00Z");
  daemon.StandAt("2026-03-02T07:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  const std::string key = "daily:2026-03-02";
  ASSERT_TRUE(daemon.AwaitState(key, "success")) << daemon.Tell("daily");
  const std::string id = daemon.Run(key)->Get("run_id").AsString();
  // A result is in the store a moment before its slot is free again.
  ASSERT_TRUE(Eventually([&] {
    return daemon.Cli({"manual", "rerun", id, "--supersede", "--by", "ann", "--reason", "wrong table"})
               .code == 0;
  }));
  ASSERT_TRUE(daemon.AwaitState(key + "#r2", "success")) << daemon.Tell("daily");
  ASSERT_TRUE(Eventually([&] {
    return daemon.Cli({"trigger", "daily", "--extra", "--by", "bob", "--reason", "for the audit"}).code == 0;
  }));
  ASSERT_TRUE(daemon.AwaitState(key + "#m1", "success")) << daemon.Tell("daily");
  const std::string told = daemon.Cli({"doctor", "repeated", key}).out;
  for (const char* part :
       {"key daily:2026-03-02,", "key daily:2026-03-02#r2,", "key daily:2026-03-02#m1,",
        "3 successes are recorded in 3 runs", "wrong table", "for the audit", "by bob", "2026-03-02T09:00:0"})
    ExpectIn(told, part);
  EXPECT_EQ(daemon.Ask({"doctor", "repeated", key}).Get("beside").AsArray().size(), 2u);
  ExpectIn(daemon.Cli({"doctor", "repeated", key + "#r2"}).out, "1 success is recorded.");
}

TEST(Runs, WhatIsNoRunIsSaidAndHowManyCharactersAreNeeded) {
  TestDaemon daemon;
  daemon.Rules(kDaily);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  const std::string id = DoneExtra(daemon, "daily");
  for (const std::string& wrong : {std::string("zzzzzz9"), id.substr(0, 4), std::string("a b/c")}) {
    for (const char* verb : {"decisions", "audit"}) {
      const ProgramResult none = daemon.Cli({verb, "--run", wrong});
      EXPECT_EQ(none.code, 1) << verb << " " << wrong << "\n" << none.out;
      ExpectIn(none.err, "there is no run " + wrong);
      ExpectIn(none.err, "the first 6 characters");
    }
  }
  ExpectIn(daemon.Cli({"logs", id.substr(0, 4)}).err, "the first 6 characters");
  EXPECT_EQ(daemon.Cli({"decisions", "--run", id.substr(0, 8)}).code, 0);
  EXPECT_EQ(daemon.Cli({"audit", "--run", id}).code, 0);
}

TEST(Logs, RawIsOutOrErrAndAnEmptyOutputIsExplained) {
  TestDaemon daemon;
  daemon.Rules(
      "tasks:\n- {task_id: quiet, cron: \"0 9 * * *\", timezone: UTC, shell: \"true\"}\n"
      "- {task_id: slow, cron: \"0 9 * * *\", timezone: UTC, shell: \"sleep 60\"}\n");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  const std::string quiet = DoneExtra(daemon, "quiet");
  const ProgramResult raw = daemon.Cli({"logs", quiet, "--raw", "bad"});
  EXPECT_EQ(raw.code, 2);
  ExpectIn(raw.err, "--raw \"bad\": it is out or err");
  EXPECT_EQ(daemon.Status(StrCat("/api/v1/runs/", quiet, "/output?raw=bad")), 400);
  ExpectIn(daemon.Cli({"logs", quiet}).out, "it wrote nothing");
  ASSERT_EQ(daemon.Cli({"trigger", "slow", "--extra", "--by", "ann", "--reason", "try"}).code, 0);
  ASSERT_TRUE(Eventually([&] {
    const auto runs = daemon.Runs("slow");
    return !runs.empty() && runs.back().Get("state").AsString() == "running";
  })) << daemon.Tell("slow");
  const std::string slow = daemon.Runs("slow").back().Get("run_id").AsString();
  ExpectIn(daemon.Cli({"logs", slow}).out, "still running; its output is kept when it ends");
  ExpectIn(daemon.Cli({"doctor", "repeated", daemon.Runs("slow").back().Get("key").AsString()}).out,
           "running");
  EXPECT_EQ(daemon.Cli({"cancel", slow, "--by", "ann"}).code, 0);
}

TEST(Doctor, HasALineForEachCheckAndLineBreaksAreLines) {
  TestDaemon daemon;
  daemon.Rules(kDaily);
  daemon.Settings("channels: {page: {command: [/bin/true]}}\nowners: {default: {P1: [page]}}\n");
  const std::string down = daemon.Cli({"doctor"}).out;
  ExpectIn(down, "BAD  daemon");
  ExpectNotIn(down, "\\n");
  ExpectIn(down, "\n                    start one with: duecourse serve");
  ExpectIn(down, "ok   rules          1 task\n");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  const std::string up = daemon.Cli({"doctor"}).out;
  ExpectIn(up, "ok   owners         P1 and P2 have channels");
  ExpectIn(up, "ok   clock");
}

TEST(Flags, ASlipInTheNameIsRefusedOrTold) {
  TestDaemon daemon;
  daemon.Rules(
      "tasks:\n- task_id: after\n  trigger: {cron: \"0 9 * * *\", timezone: UTC, window_end: +4h, "
      "preconditions: [{flag: \"etl.done\"}, {flag: \"x_{date}\"}]}\n"
      "  idempotency: {business_key: \"{task}:{business_date}\"}\n  execution: {noop: {}}\n");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  const ProgramResult braces = daemon.Cli({"flag", "set", "x_{date}", "--date", "2026-06-01", "--by", "ann"});
  EXPECT_EQ(braces.code, 2);
  ExpectIn(braces.err, "duecourse flag set x_2026-06-01");
  EXPECT_TRUE(daemon.Ask({"flag", "list"}).Get("flags").AsArray().empty());
  const struct {
    std::vector<std::string> words;
    const char* told;  // empty: nothing
  } rows[] = {
      {{"x_2026-06-01", "--date", "2026-06-01"}, "ask for x_2026-06-01 without a date beside it"},
      {{"x_2026-06-01"}, ""},
      {{"etl.done", "--date", "2026-06-01"}, ""},
      {{"etl.done", "--undated"}, "ask for etl.done with a date beside it"},
      {{"etl.dnoe", "--date", "2026-06-01"},
       "no active rule waits for or sets a flag of the name etl.dnoe; "
       "did you mean etl.done?"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> words = {"flag", "set", "--by", "ann"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const ProgramResult set = daemon.Cli(words);
    EXPECT_EQ(set.code, 0) << set.err;
    ExpectIn(set.out, "is set");
    EXPECT_EQ(set.err.empty(), row.told[0] == '\0') << set.err;
    ExpectIn(set.err, row.told);
  }
}

TEST(Next, SaysWhereNothingIsDueAnyMore) {
  const ProgramResult over = Duecourse({"next", "--cron", "0 0 0 1 1 * 2020", "--timezone", "UTC"});
  EXPECT_EQ(over.code, 0);
  ExpectIn(over.err, "the years of this expression are over");
  EXPECT_EQ(Duecourse({"next", "--cron", "0 0 1 1 *", "--timezone", "UTC"}).err, "");
}

TEST(Check, ARuleThatCanNeverSucceedIsNoGoodRule) {
  ScratchFolder folder;
  const std::string head = "task_id: t\ncron: \"0 9 * * *\"\ntimezone: UTC\n";
  const struct {
    const char* http;
    int code;
    const char* told;  // empty: neither finding
  } rows[] = {
      {"{url: \"http://127.0.0.1/x\", expect: {status: 202}}", 1, "no run could ever succeed"},
      {"{url: \"http://127.0.0.1/x\", expect: {status: [200, 202]}}", 0, ""},
      {"{url: \"http://10.1.2.3/{date}\"}", 0, "10.1.2.3 is no public address and not listed"},
      {"{url: \"http://[fd00::1]:80/x\"}", 0, "fd00::1 is no public address and not listed"},
      {"{url: \"http://8.8.8.8/x\"}", 0, ""},
      {"{url: \"http://10.1.2.3{path_of}/x\"}\nvars: {path_of: \":81\"}", 0, ""},
  };
  for (const auto& row : rows) {
    WriteText(folder / "rules.yaml", StrCat(head, "http: ", row.http, "\n"));
    const ProgramResult check = Duecourse({"check", "--rules", folder / "rules.yaml"}, folder.path());
    EXPECT_EQ(check.code, row.code) << row.http << "\n" << check.out;
    if (row.told[0] != '\0') ExpectIn(check.out, row.told);
    EXPECT_EQ(check.out.find("[status_202]") != std::string::npos ||
                  check.out.find("[address_refused]") != std::string::npos,
              row.told[0] != '\0')
        << check.out;
  }
  WriteText(folder / "rules.yaml", StrCat(head, "http: {url: \"http://10.1.2.3/x\"}\n"));
  WriteText(folder / "duecourse.yaml", "http_allow: [private]\n");
  ExpectNotIn(Duecourse({"check", "--rules", folder / "rules.yaml"}, folder.path()).out, "address_refused");
}

TEST(Alerts, AnOwnerThatIsNotThereIsSaidAndAPendingAlertTellsItsErrorAndNextTry) {
  TestDaemon daemon;
  daemon.Rules(
      "task_id: daily\ntrigger: {cron: \"0 9 * * *\", timezone: UTC, window_end: +4h}\nowner: data\n"
      "execution: {shell: \"exit 65\"}\n");
  daemon.Settings("channels: {page: {command: [./nope.sh]}}\nowners: {data: {P1: [page]}}\n");
  daemon.InForceSince("2026-03-02T07:00:00Z");
  daemon.StandAt("2026-03-02T08:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  const ProgramResult test = daemon.Cli({"alert", "test", "dta"});
  EXPECT_EQ(test.code, 1);
  ExpectIn(test.err, "there is no owner dta in the settings; did you mean data?");
  EXPECT_TRUE(daemon.Ask({"audit"}).Get("audit").AsArray().empty()) << "nothing was done";
  const ProgramResult nosuch = daemon.Cli({"alert", "list", "dialy"});
  EXPECT_EQ(nosuch.code, 1);
  ExpectIn(nosuch.err, "there is no task dialy; did you mean daily?");
  ASSERT_TRUE(Eventually([&] {
    const auto alerts = daemon.Alerts("daily");
    return !alerts.empty() && alerts.front().Has("last_error") && alerts.front().Has("next_try_at");
  })) << daemon.Tell("daily");
  const std::string list = daemon.Cli({"alert", "list"}).out;
  ExpectIn(list, "last: page: cannot start ./nope.sh");
  ExpectIn(list, "; next try at 2026-03-02T");
  ExpectIn(
      Duecourse({"completion", "words", "--", "alert", "--config", daemon / "duecourse.yaml", "test"}).out,
      "data");
}

TEST(Words, AValueByOneOfItsFieldsAndOptionsBeforeTheVerb) {
  TestDaemon daemon;
  daemon.Rules(
      "task_id: fan\ntrigger: {cron: \"0 9 * * *\", timezone: UTC, window_end: +4h}\n"
      "for_each: [{channel: app, region: eu}, {channel: web, region: eu}]\n"
      "idempotency: {business_key: \"fan:{business_date}:{channel}:{region}\"}\nexecution: {noop: {}}\n");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  const auto trigger = [&](const char* value) {
    return daemon.Cli({"trigger", "fan", "--extra", "--value", value, "--by", "ann", "--reason", "try"});
  };
  EXPECT_EQ(trigger("app").code, 0) << trigger("app").err;
  EXPECT_EQ(trigger("channel=web").code, 0);
  EXPECT_NE(trigger("eu").code, 0) << "it fits both";
  EXPECT_NE(trigger("nope").code, 0);
  const ProgramResult before = Duecourse({"-o", "json", "next", "--cron", "0 9 * * *", "--timezone", "UTC"});
  EXPECT_EQ(before.code, 0) << before.err;
  EXPECT_TRUE(Json::Parse(before.out).ok()) << before.out;
  EXPECT_EQ(Duecourse({"--output=json", "version"}).code, 0);
  EXPECT_EQ(Duecourse({"--nope", "version"}).code, 2);
}

TEST(Why, TellsEveryInstantInTheZoneOfTheTask) {
  TestDaemon daemon;
  daemon.Rules(
      "task_id: daily\ntrigger: {cron: \"0 9 * * *\", timezone: Europe/Berlin, window_end: +2h}\n"
      "idempotency: {business_key: \"daily:{business_date}\"}\nexecution: {shell: \"echo hello\"}\n");
  daemon.InForceSince("2026-03-02T07:00:00Z");
  daemon.StandAt("2026-03-03T12:00:00Z");  // it was down over two windows
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(Eventually([&] { return !daemon.Ranges("daily").empty(); })) << daemon.Tell("daily");
  const std::string why = daemon.Cli({"why", "daily"}).out;
  ExpectIn(why, "the scheduler was down from 2026-03-02T08:");
  ExpectNotIn(why, "Z");
}

TEST(Why, LeavesAKeyAndAFileNameAsTheyAreWritten) {
  TestDaemon daemon;
  daemon.Rules(
      "task_id: load\ntrigger: {cron: \"0 9 * * *\", timezone: Asia/Tokyo, window_end: +2h, "
      "preconditions: [{file: \"in/x_{scheduled_at}.csv\"}]}\n"
      "idempotency: {business_key: \"loc:{scheduled_at}\"}\nexecution: {shell: \"echo hello\"}\n");
  daemon.InForceSince("2026-03-01T23:59:00Z");
  daemon.StandAt("2026-03-01T23:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(Eventually([&] { return !daemon.Details("load", "precondition_not_ready").empty(); }));
  const std::string why = daemon.Cli({"why", "load"}).out;
  ExpectIn(why, "in/x_2026-03-02T00:00:00Z.csv is not there");
  ExpectIn(why, "key     loc:2026-03-02T00:00:00Z\n");
  ExpectIn(why, "due     2026-03-02T09:00:00+09:00");
  EXPECT_EQ(daemon.Cli({"doctor", "repeated", "loc:2026-03-02T00:00:00Z"}).code, 0);
}

TEST(Why, OfAPausedRetryPromisesNothingThatThePauseHolds) {
  TestDaemon daemon;
  daemon.Rules(
      "task_id: late\ntrigger: {cron: \"0 8 * * *\", timezone: UTC, window_end: +4h}\n"
      "retry: {backoff: {max_attempts: 1, initial: 1h}}\n"
      "idempotency: {business_key: \"late:{business_date}\"}\nexecution: {shell: 'exit 75'}\n");
  daemon.InForceSince("2026-03-02T07:59:00Z");
  daemon.StandAt("2026-03-02T07:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(daemon.AwaitState("late:2026-03-02", "retrying")) << daemon.Tell("late");
  const std::vector<std::string> catchup = {"doctor", "catchup", "late", "2026-03-02"};
  ExpectIn(daemon.Cli({"why", "late"}).out, "next: again at 2026-03-02T09:00:");
  ExpectIn(daemon.Cli(catchup).out, "the ladder goes on at 2026-03-02T09:00:");
  ExpectIn(daemon.Cli(catchup).out, "no catch-up comes after it: it is off");
  ASSERT_EQ(daemon.Cli({"pause", "late", "--by", "ann"}).code, 0);
  const std::string why = daemon.Cli({"why", "late"}).out;
  ExpectIn(why,
           "next: nothing while it is paused (task/late) by ann; once resumed again at 2026-03-02T09:00:");
  ExpectNotIn(why, "next: again");
  ExpectIn(why, "\npaused (task/late) by ann\n");
  ExpectIn(daemon.Cli(catchup).out, "nothing while the pause of task/late, by ann holds it; once resumed");
  ExpectNotIn(daemon.Cli(catchup).out, "the ladder goes on");
}

TEST(Why, TellsOfTheOrderToEndAnAttemptWhileItStillRuns) {
  TestDaemon daemon;
  daemon.Rules(
      StrCat("task_id: deaf\ntrigger: {cron: \"0 9 * * *\", timezone: UTC}\n"
             "execution: {kill_grace: 5m, shell: \"trap '' TERM; while [ ! -e ",
             daemon / "enough", " ]; do sleep 0.05; done\"}\n"));
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_EQ(daemon.Cli({"trigger", "deaf", "--extra", "--by", "ann", "--reason", "try"}).code, 0);
  const std::string id = daemon.Runs("deaf").back().Get("run_id").AsString();
  ASSERT_TRUE(Eventually([&] {
    return daemon.Cli({"cancel", id, "--by", "bob", "--reason", "wrong day"}).code == 0;
  }));
  const std::string why = daemon.Cli({"why", "deaf"}).out;
  ExpectIn(why, "its attempt is being ended: cancelled by bob: wrong day\n");
  const size_t told = why.find("  its attempt is being ended");
  EXPECT_EQ(why.substr(told - 6, 6), "+00:00") << "the instant stands before it\n" << why;
  WriteText(daemon / "enough", "");
  ASSERT_TRUE(Eventually([&] { return daemon.Runs("deaf").back().Get("state").AsString() == "skipped"; }));
  ExpectNotIn(daemon.Cli({"why", "deaf"}).out, "is being ended");
}

TEST(Why, AndLogsTellWhatOfAnEndingWasNotKeptOrNotBelieved) {
  TestDaemon daemon;
  daemon.Rules(
      "tasks:\n- {task_id: said, cron: \"0 9 * * *\", timezone: UTC, shell: 'echo \"{\" > "
      "\"$DUECOURSE_RESULT\"'}\n"
      "- {task_id: lost, cron: \"0 9 * * *\", timezone: UTC, shell: 'echo hello'}\n");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  const std::string said = DoneExtra(daemon, "said");
  ExpectIn(daemon.Cli({"why", "said"}).out, "of attempt 1: result file is not believed: ");
  ExpectIn(daemon.Cli({"logs", said}).out, "== result file is not believed: ");
  ExpectIn(daemon.Cli({"logs", said}).out, "it wrote nothing");
  std::filesystem::remove_all(daemon.data() + "/output");
  WriteText(daemon.data() + "/output", "no folder");
  const std::string lost = DoneExtra(daemon, "lost");
  ExpectIn(daemon.Cli({"why", "lost"}).out, "of attempt 1: output was not kept: ");
  ExpectIn(daemon.Cli({"logs", lost}).out, "== output was not kept: ");
  ExpectNotIn(daemon.Cli({"logs", lost}).out, "wrote nothing");
}

TEST(Next, OfWhatIsDoneAlreadyOrNotEnabledSaysSo) {
  TestDaemon daemon;
  daemon.Rules(
      "tasks:\n- {task_id: early, cron: \"0 9 * * *\", timezone: UTC, shell: \"true\"}\n"
      "- {task_id: off, enabled: false, cron: \"0 9 * * *\", timezone: UTC, shell: \"true\"}\n");
  const ProgramResult off = daemon.Cli({"next", "off"});
  EXPECT_EQ(off.code, 0) << off.err;
  ExpectIn(off.err, "off is not enabled: nothing of it starts at these times");
  EXPECT_EQ(daemon.Cli({"next", "early"}).err, "");
  daemon.StandAt("2026-03-02T07:00:00Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ExpectIn(daemon.Cli({"why", "early"}).out, "next: due 2026-03-02T09:00:00+00:00");
  ASSERT_EQ(
      daemon.Cli({"trigger", "early", "--date", "2026-03-02", "--force", "--by", "ann", "--reason", "early"})
          .code,
      0);
  ASSERT_TRUE(Eventually([&] {
    return !daemon.Runs("early").empty() && daemon.Runs("early").back().Get("state").AsString() == "success";
  })) << daemon.Tell("early");
  ExpectIn(daemon.Cli({"why", "early"}).out, "next: due 2026-03-03T09:00:00+00:00");
  ExpectIn(daemon.Cli({"show"}).out, "2026-03-03T09:00:00+00:00");
  ExpectNotIn(daemon.Cli({"show"}).out, "2026-03-02T09:00:00+00:00");
}

TEST(Serve, TellsThePortThatItChose) {
  TestDaemon daemon;
  daemon.Rules(kDaily);
  TestDaemon::Launch launch;
  launch.more = {"--tcp=0"};
  ASSERT_TRUE(daemon.Start(launch)) << daemon.log();
  ASSERT_TRUE(Eventually([&] { return daemon.log().find("also on 127.0.0.1:") != std::string::npos; }));
  ExpectNotIn(daemon.log(), "also on 127.0.0.1:0\n");
}

TEST(Reload, ADryRunOfAFaultySetRefusesNothing) {
  TestDaemon daemon;
  daemon.Rules(kDaily);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  daemon.Rules("task_id: daily\n");
  const ProgramResult dry = daemon.Cli({"reload", "--dry-run", "--by", "ann"});
  EXPECT_EQ(dry.code, 1);
  ExpectIn(dry.err, "the new rules would be refused");
  ExpectNotIn(daemon.log(), "rules_refused");
  EXPECT_EQ(daemon.Cli({"reload", "--by", "ann"}).code, 1);
  ExpectIn(daemon.log(), "rules_refused");
}

// As another user where this is root, whom no mode keeps out; else as oneself, before a folder that is
// closed.
ProgramResult KeptOut(std::vector<std::string> words, const std::string& folder) {
  ProgramSpec spec;
  if (::geteuid() == 0)
    spec.argv = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
  else
    std::filesystem::permissions(folder, std::filesystem::perms::none);
  spec.argv.emplace_back(DUECOURSE_PROGRAM);
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  spec.env = PlainEnvironment();
  const ProgramResult result = RunProgram(spec);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  return result;
}

TEST(Access, WhoMayNotAskIsToldWhoseItIsAndNeverToMakeAStore) {
  ScratchFolder rules;
  std::filesystem::permissions(rules.path(), std::filesystem::perms(0755));
  WriteText(rules / "duecourse.yaml", "");
  WriteText(rules / "rules/a.yaml", kDaily);
  ScratchFolder outer;
  std::filesystem::permissions(outer.path(), std::filesystem::perms(0755));
  const std::string data = outer / "data";
  WriteText(data + "/store.db", "");
  std::filesystem::permissions(data, std::filesystem::perms::owner_all);
  const std::string places[] = {"--config=" + (rules / "duecourse.yaml"), "--rules=" + (rules / "rules"),
                                "--data=" + data};
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"show"}, {"doctor"}, {"serve"}, {"pause", "--all"}}) {
    std::vector<std::string> words = verb;
    words.insert(words.end(), std::begin(places), std::end(places));
    const ProgramResult result = KeptOut(words, data);
    const std::string told = result.out + result.err;
    EXPECT_EQ(result.code, 1) << verb[0] << "\n" << told;
    ExpectIn(told, StrCat("permission denied: ", data, " belongs to "));
    ExpectIn(told, "(mode 0");
    ExpectNotIn(told, "--init");
    ExpectNotIn(told, "there is no such socket");
  }
}

TEST(Access, ASocketPathThatNoneCanHaveIsSaidAndNothingWasAsked) {
  const std::string path = "/tmp/" + std::string(150, 's');
  for (const char* verb : {"show", "reload"}) {
    const ProgramResult result = Duecourse({verb, "--socket", path});
    EXPECT_EQ(result.code, 1);
    ExpectIn(result.err, "this path has 155 bytes; a socket's may have 107");
    ExpectIn(result.err, "nothing was asked");
    ExpectNotIn(result.err, "may still happen");
  }
}

TEST(FullDisk, AnAnswerThatCannotBeWrittenIsNoSuccess) {
  ScratchFolder folder;
  WriteText(folder / "rules/a.yaml", kDaily);
  for (const std::string words :
       {"version", "help", "schema", "run rules/a.yaml", "next --cron '* * * * *' --timezone UTC"}) {
    ProgramSpec spec;
    spec.argv = {"sh", "-c", StrCat("exec ", DUECOURSE_PROGRAM, " ", words, " > /dev/full")};
    spec.env = PlainEnvironment();
    spec.folder = folder.path();
    const ProgramResult result = RunProgram(spec);
    EXPECT_EQ(result.code, 1) << words;
    ExpectIn(result.err, "the answer could not be written to standard output");
  }
}

TEST(Slots, AnAttemptThatWaitsForOneIsNotSaidToRun) {
  TestDaemon daemon;
  daemon.Settings("command_slots: 1\n");
  const std::string head =
      ", trigger: {cron: \"0 9 * * *\", timezone: Europe/Berlin}, execution: {cwd: ., shell: ";
  daemon.Rules(StrCat("tasks:\n  - {task_id: long", head, "\"read line < gate\"}}\n  - {task_id: next", head,
                      "\"echo hello\"}}\n"));
  ASSERT_EQ(::mkfifo((daemon / "rules/gate").c_str(), 0600), 0);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  for (const char* task : {"long", "next"})
    ASSERT_EQ(daemon.Cli({"trigger", task, "--extra", "--by", "ann", "--reason", "try"}).code, 0);
  ASSERT_TRUE(Eventually([&] { return daemon.log().find("attempt_started") != std::string::npos; }));
  const auto id = [&](const char* task) { return daemon.Runs(task).at(0).Get("run_id").AsString(); };
  const std::string waits = daemon.Cli({"why", "next"}).out;
  ExpectIn(waits, "attempt 1 claimed: by hand, ann");
  ExpectIn(waits, "attempt 1 (manual) has been waiting for the only command slot since ");
  ExpectIn(daemon.Cli({"logs", id("next")}).out, "it has not started: it waits for the only command slot");
  EXPECT_EQ(daemon.Get("/api/v1/runs/" + id("next"))
                .Get("attempt_list")
                .AsArray()
                .at(0)
                .Get("waits_for")
                .AsString(),
            "the only command slot");
  const std::string runs = daemon.Cli({"why", "long"}).out;
  ExpectIn(runs, "attempt 1 started: by hand, ann");
  ExpectIn(runs, "attempt 1 (manual) has been running since ");

  ASSERT_EQ(daemon.Cli({"cancel", id("next"), "--by", "ann", "--reason", "enough"}).code, 0);
  ASSERT_TRUE(Eventually([&] { return daemon.Runs("next").at(0).Get("state").AsString() == "skipped"; }));
  const std::string ended = daemon.Cli({"why", "next"}).out;
  ExpectIn(ended, "attempt 1 claimed: by hand, ann");
  ExpectNotIn(ended, "started: by hand");
  ExpectIn(daemon.Cli({"logs", id("next")}).out, "it was never started");
  WriteText(daemon / "rules/gate", "\n");
  ASSERT_TRUE(Eventually([&] { return daemon.Runs("long").at(0).Get("state").AsString() == "success"; }));
}

}  // namespace
}  // namespace duecourse
