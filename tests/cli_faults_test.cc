// What the command line does where something is amiss: errors as JSON, refusals, interruption; and what it
// asks of a daemon for a shell.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "cli/args.h"
#include "daemon.h"
#include "db/sqlite.h"

namespace duecourse {
namespace {

ProgramSpec Spec(std::vector<std::string> words, const std::string& folder) {
  ProgramSpec spec;
  spec.argv = {DUECOURSE_PROGRAM};
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  spec.env = PlainEnvironment();
  spec.folder = folder;
  return spec;
}

ProgramResult Duecourse(std::vector<std::string> words, const std::string& folder = "/tmp") {
  return RunProgram(Spec(std::move(words), folder));
}

std::vector<std::string> AsJson(std::vector<std::string> words) {
  words.insert(words.end(), {"-o", "json"});
  return words;
}

// The one object that standard error must be; a failed expectation where it is anything else.
Json ErrorOf(const ProgramResult& result, const std::string& words) {
  Result<Json> body = Json::Parse(result.err);
  EXPECT_TRUE(body.ok() && body->is_object()) << words << "\n" << result.err;
  EXPECT_EQ(result.out, "") << words;
  if (!body.ok()) return Json();
  EXPECT_EQ(body->Get("exit_code").AsInteger(), result.code) << words;
  EXPECT_NE(body->Get("message").AsString(), "") << words;
  return *body;
}

struct FaultRow {
  std::vector<std::string> words;
  int code;
  const char* told;  // a part of `message` or `errors`
};

TEST(CliErrors, WithJsonEveryMistakeOfUseAndEveryProblemIsOneObjectOnStandardError) {
  ScratchFolder folder;
  WriteText(folder / "bad.yaml", "task_id: bad\ncron: \"0 99 * * *\"\ntimezone: UTC\nnoop: {}\n");
  WriteText(folder / "none.yaml", "");
  const FaultRow rows[] = {
      {{"triger", "x"}, 2, "did you mean trigger"},
      {{"why"}, 2, "usage: duecourse why TASK [DATE]"},
      {{"runs", "a", "b"}, 2, "usage: duecourse runs"},
      {{"runs", "--nosuch"}, 2, "--nosuch"},
      {{"audit", "--from", "yesterday"}, 2, "neither a day"},
      {{"flag", "set"}, 2, "which flag"},
      {{"pause"}, 2, "TASK"},
      {{"manual", "resolve", "r1"}, 2, "--reason"},
      {{"manual", "eat", "r1", "--reason", "x"}, 2, "manual list"},
      {{"next", "--cron", "0 9 * * *"}, 2, "--timezone"},
      {{"next", "--cron", "0 99 * * *", "--timezone", "UTC"}, 1, "out of range"},
      {{"next", "nosuch", "--rules", folder / "bad.yaml"}, 1, "out of range"},
      {{"show", "nosuch", "--rules", folder / "bad.yaml"}, 1, "no task nosuch"},
      {{"completion", "tcsh"}, 2, "bash"},
      {{"schema", "houses"}, 2, "schema rules"},
      {{"serve", "--clock-rate", "0"}, 2, "--clock-rate"},
      {{"serve", "--tcp", "many"}, 2, "--tcp"},
      {{"serve", "--rules", folder / "bad.yaml"}, 1, "out of range"},
      {{"doctor", "nothing"}, 2, "doctor"},
      {{"doctor", "repeated", "k"}, 1, "no daemon answers"},
      {{"alert", "test"}, 2, "alert test"},
      {{"check", "--now", "someday"}, 2, "--now"},
      {{"run", folder / "bad.yaml"}, 1, "out of range"},
      {{"run", folder / "none.yaml"}, 2, "0 tasks"},
      {{"runs"}, 1, "no daemon answers"},
      {{"trigger", "x"}, 1, "no daemon answers"},
      {{"logs", "r1"}, 1, "no daemon answers"},
  };
  for (const FaultRow& row : rows) {
    const std::string words = Join(row.words, " ");
    ProgramResult result = Duecourse(AsJson(row.words), folder.path());
    EXPECT_EQ(result.code, row.code) << words << "\n" << result.err;
    EXPECT_NE(
        ErrorOf(result, words).Dump().find(Json(row.told).Dump().substr(1, std::string(row.told).size())),
        std::string::npos)
        << words << "\n"
        << result.err;
    EXPECT_EQ(Duecourse(row.words, folder.path()).code, row.code) << words;
  }
}

TEST(CliErrors, NothingButTheirOnePlaceWritesToStandardError) {
  std::set<std::string> writers;
  for (const auto& file : std::filesystem::directory_iterator(StrCat(DUECOURSE_SOURCE_DIR, "/src/cli"))) {
    if (file.path().extension() == ".cc" && CountOf(Content(file.path().string()), "fprintf(stderr") > 0)
      writers.insert(file.path().filename());
  }
  EXPECT_EQ(writers, std::set<std::string>{"report.cc"});
}

constexpr const char* kDaily =
    "task_id: daily\nlabels: {team: data}\ntrigger: {every: 1d, anchor: \"2026-01-01T00:00:00Z\", timezone: "
    "UTC}\n"
    "execution: {shell: 'exec sleep 300'}\n";

TEST(CliErrors, ARefusalAnUnknownNameAndAProblemOfTheDaemonAreObjectsToo) {
  TestDaemon daemon;
  daemon.Rules(kDaily);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_EQ(daemon.Cli({"pause", "daily", "--by", "ann", "--reason", "repairs"}).code, 0);
  const FaultRow rows[] = {
      {{"trigger", "daily", "--extra", "--by", "bob"}, 3, "paused"},
      {{"trigger", "dayly", "--by", "bob"}, 1, "did you mean daily"},
      {{"pause", "dayly", "--by", "bob"}, 1, "there is no task dayly"},
      {{"flag", "unset", "f", "--undated", "--by", "bob"}, 1, "flag f is not set"},
      {{"why", "dayly"}, 1, "there is no task dayly"},
      {{"runs", "dayly"}, 1, "there is no task dayly"},
      {{"runs", "--state", "happy"}, 2, "there is no state happy; there are scheduled, running"},
      {{"cancel", "rnothing", "--by", "bob"}, 1, "there is no run rnothing"},
  };
  for (const FaultRow& row : rows) {
    const std::string words = Join(row.words, " ");
    ProgramResult result = daemon.Cli(AsJson(row.words));
    EXPECT_EQ(result.code, row.code) << words << "\n" << result.err;
    const Json body = ErrorOf(result, words);
    EXPECT_NE(body.Get("message").AsString().find(row.told), std::string::npos) << words << "\n"
                                                                                << result.err;
    EXPECT_EQ(body.Get("reason").AsString(), row.code == 3 ? "paused" : "") << words;
  }
}

TEST(Resume, OfWhatIsNotPausedIsFineAndOfWhatAnotherPauseHoldsIsRefused) {
  TestDaemon daemon;
  daemon.Rules(kDaily);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  for (const std::vector<std::string>& scope :
       std::vector<std::vector<std::string>>{{"daily"}, {"--label", "team=data"}, {"--all"}}) {
    std::vector<std::string> words = {"resume", "--by", "ann"};
    words.insert(words.end(), scope.begin(), scope.end());
    ProgramResult resumed = daemon.Cli(words);
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_NE(resumed.out.find("is not paused: nothing to resume"), std::string::npos) << resumed.out;
  }
  ASSERT_EQ(daemon.Cli({"pause", "--all", "--by", "ann", "--reason", "repairs"}).code, 0);
  ProgramResult held = daemon.Cli({"resume", "daily", "--by", "ann"});
  EXPECT_EQ(held.code, 3) << held.err;
  for (const char* part : {"paused", "held by the pause of all, by ann: repairs"})
    EXPECT_NE(held.err.find(part), std::string::npos) << held.err;
  EXPECT_EQ(daemon.Cli({"resume", "--all", "--by", "ann"}).code, 0);
}

TEST(Show, APausedTaskSaysSoAndWhenItIsDueNext) {
  TestDaemon daemon;
  daemon.Rules(kDaily);
  daemon.StandAt("2026-03-02T10:00:00Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_EQ(daemon.Cli({"pause", "daily", "--by", "ann"}).code, 0);
  const std::string shown = daemon.Cli({"show"}).out;
  EXPECT_NE(shown.find("paused; 2026-03-03T00:00:00"), std::string::npos) << shown;
}

// The work is in a process group of its own: a terminal's Ctrl-C reaches the try alone.
TEST(Run, WhatInterruptsATryEndsItsWorkAndIsTold) {
  for (const int signal : {SIGINT, SIGTERM}) {
    ScratchFolder folder;
    WriteText(folder / "long.yaml", StrCat("task_id: long\ntrigger: {cron: \"0 9 * * *\", timezone: UTC}\n"
                                           "execution: {shell: 'sleep 300 & echo $$ $! > ",
                                           folder / "pids", "; wait', kill_grace: 5s}\n"));
    ProgramSpec spec = Spec({"run", folder / "long.yaml"}, folder.path());
    spec.out = folder / "out";
    spec.err = folder / "err";
    Program program(spec);
    ASSERT_TRUE(Eventually([&] { return Content(folder / "pids").ends_with('\n'); }))
        << Content(folder / "err");
    std::vector<pid_t> pids;
    const std::string line = Content(folder / "pids");
    for (std::string_view word : Split(Trim(line), ' '))
      pids.push_back(static_cast<pid_t>(ParseInteger(word).value()));
    ASSERT_EQ(pids.size(), 2u) << line;
    for (pid_t pid : pids) ASSERT_TRUE(Alive(pid));
    program.Signal(signal);
    EXPECT_EQ(program.Wait(), 128 + signal);
    for (pid_t pid : pids) EXPECT_FALSE(Alive(pid));
    const std::string told = Content(folder / "err");
    EXPECT_NE(told.find(StrCat("interrupted by ", signal == SIGINT ? "SIGINT" : "SIGTERM")),
              std::string::npos)
        << told;
    EXPECT_FALSE(FolderExists(folder / "data"));
  }
}

TEST(Drain, APersonMayEndWhatAStopWaitsFor) {
  TestDaemon daemon;
  daemon.Rules(kDaily);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_EQ(daemon.Cli({"trigger", "daily", "--extra", "--by", "ann"}).code, 0);
  const std::string run = daemon.Runs("daily").at(0).Get("run_id").AsString();
  daemon.program().Signal(SIGTERM);
  ASSERT_TRUE(Eventually([&] { return daemon.Get("/healthz").Get("draining").AsBool(); }));
  EXPECT_EQ(daemon.Cli({"pause", "daily", "--by", "ann"}).code, 3) << "other acts wait for the next start";
  ProgramResult cancelled =
      daemon.Cli({"cancel", run, "--by", "ann", "--reason", "the machine must go down"});
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  constexpr int64_t kWellBeforeTheDrainIsOver = 40'000;
  EXPECT_EQ(daemon.program().Wait(kWellBeforeTheDrainIsOver), 0) << daemon.log();
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  const Json after = daemon.Runs("daily").at(0);
  EXPECT_EQ(after.Get("state").AsString(), "skipped") << after.Dump();
  EXPECT_EQ(after.Get("reason").AsString(), "cancelled") << after.Dump();
}

TEST(Lists, SayWhereThereIsMoreThanTheyShow) {
  TestDaemon daemon;
  std::string values;
  for (int i = 0; i < 120; ++i) values += StrCat(i == 0 ? "" : ", ", "{n: v", i, "}");
  daemon.Rules(StrCat(
      "task_id: many\ntrigger: {every: 1d, anchor: \"2026-03-02T10:00:00Z\", timezone: UTC, window_end: "
      "+4h}\n"
      "for_each: [",
      values,
      "]\nidempotency: {business_key: \"many:{business_date}:{n}\"}\nexecution: {shell: 'exit 65'}\n"));
  daemon.InForceSince("2026-03-02T09:00:00Z");
  daemon.StandAt("2026-03-02T09:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(Eventually([&] {
    return daemon.Ask({"manual", "list", "--limit", "1000"}).Get("runs").AsArray().size() == 120;
  })) << daemon.Tell("many");
  ProgramResult list = daemon.Cli({"manual", "list"});
  EXPECT_EQ(Lines(list.out).size(), 101u);
  EXPECT_NE(list.err.find("there are more than the 100 shown: --limit"), std::string::npos) << list.err;
  EXPECT_TRUE(daemon.Ask({"manual", "list"}).Get("more").AsBool());
  ProgramResult all = daemon.Cli({"manual", "list", "--limit", "120"});
  EXPECT_EQ(Lines(all.out).size(), 121u);
  EXPECT_EQ(all.err, "");
  EXPECT_NE(daemon.Cli({"runs"}).err.find("more than the 100 shown"), std::string::npos);
  const std::string doctor = daemon.Cli({"doctor"}).out;
  EXPECT_NE(doctor.find("120 runs wait for a person"), std::string::npos) << doctor;
}

TEST(Lists, ARowWithAReasonOfAnotherProgramIsShownAsItIsStoredAndHidesNoOther) {
  TestDaemon daemon;
  daemon.Rules(
      "task_id: quick\ntrigger: {every: 1d, anchor: \"2026-01-01T00:00:00Z\", timezone: UTC}\n"
      "execution: {noop: {}}\n");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  for (int i = 0; i < 2; ++i) ASSERT_EQ(daemon.Cli({"trigger", "quick", "--extra", "--by", "ann"}).code, 0);
  ASSERT_TRUE(Eventually([&] {
    return daemon.Ask({"runs", "--state", "success"}).Get("runs").AsArray().size() == 2;
  }));
  ASSERT_EQ(daemon.Stop(), 0);
  {
    Database database;
    ASSERT_TRUE(Database::Open(daemon.data() + "/store.db", {}, database).ok());
    ASSERT_TRUE(
        database.Execute("UPDATE run SET reason = 'lunar_eclipse' WHERE seq = (SELECT min(seq) FROM run)")
            .ok());
  }
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ProgramResult runs = daemon.Cli({"runs"});
  EXPECT_EQ(runs.code, 0) << runs.err;
  EXPECT_EQ(Lines(runs.out).size(), 3u) << runs.out;
  EXPECT_NE(runs.out.find("lunar_eclipse"), std::string::npos) << runs.out;
  EXPECT_EQ(daemon.Cli({"show"}).code, 0);
  EXPECT_EQ(daemon.Cli({"why", "quick"}).code, 0);
}

TEST(Reload, ADryRunNamesTasksThatWouldBeRemovedAndAdded) {
  TestDaemon daemon;
  const std::string rest =
      "\ntrigger: {every: 1d, anchor: \"2026-01-01T00:00:00Z\", timezone: UTC}\nexecution: {noop: {}}\n";
  daemon.Rules("task_id: a" + rest + "---\ntask_id: b" + rest + "---\ntask_id: c" + rest + "---\ntask_id: d" +
               rest);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  daemon.Rules("task_id: a" + rest + "why: asked for\n---\ntask_id: b" + rest + "---\ntask_id: c" + rest +
               "---\ntask_id: e" + rest);
  ProgramResult dry = daemon.Cli({"reload", "--dry-run", "--by", "ann"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_NE(dry.out.find("task d would be removed; task e would be added; 1 field would change"),
            std::string::npos)
      << dry.out;
}

TEST(Reload, OneThatIsReadHoldsUpNobodyAndAnotherIsRefusedMeanwhile) {
  TestDaemon daemon;
  const std::string rest =
      "\ntrigger: {every: 1d, anchor: \"2026-01-01T00:00:00Z\", timezone: UTC}\nexecution: {noop: {}}\n";
  daemon.Rules("task_id: a" + rest);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += StrCat("---\ntask_id: t", i, rest);
  daemon.Rules(many);
  // Whichever comes second is refused while the first is still being read; on a busy machine they may miss
  // each other.
  EXPECT_TRUE(Eventually([&] {
    ProgramSpec spec =
        Spec({"reload", "--dry-run", "--confirm", "--by", "ann", "--data", daemon.data()}, "/tmp");
    spec.err = daemon / "refused";
    Program both[] = {Program(spec), Program(spec)};
    if (!Eventually([&] { return !both[0].running() || !both[1].running(); })) return false;
    Program& first = both[0].running() ? both[1] : both[0];
    Program& other = both[0].running() ? both[0] : both[1];
    const bool healthy = daemon.Status("/healthz") == 200;
    return healthy && other.running() && first.Wait() == 3 && other.Wait() == 0;
  }));
  EXPECT_NE(Content(daemon / "refused").find("a reload is running"), std::string::npos);
}

TEST(Completion, NamesThatTheDaemonKnowsAreOfferedAndNoneIsWithoutIt) {
  TestDaemon daemon;
  daemon.Rules(StrCat(kDaily,
                      "---\ntask_id: failing\ntrigger: {every: 1d, anchor: \"2026-01-01T00:00:00Z\", "
                      "timezone: UTC}\nexecution: {shell: 'exit 65'}\n"));
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_EQ(daemon.Cli({"flag", "set", "etl.done", "--undated", "--by", "ann"}).code, 0);
  ASSERT_EQ(daemon.Cli({"flag", "set", "$(touch x)", "--undated", "--by", "ann"}).code, 0);
  ASSERT_EQ(daemon.Cli({"trigger", "daily", "--extra", "--by", "ann"}).code, 0);
  ASSERT_EQ(daemon.Cli({"trigger", "failing", "--extra", "--by", "ann"}).code, 0);
  ASSERT_TRUE(Eventually([&] { return daemon.Ask({"manual", "list"}).Get("runs").AsArray().size() == 1; }));
  const std::string running = daemon.Runs("daily").at(0).Get("run_id").AsString();
  const std::string waiting = daemon.Runs("failing").at(0).Get("run_id").AsString();
  const std::string flag = "etl.done";
  const struct {
    std::vector<std::string> typed;
    std::vector<std::string> offered;
  } rows[] = {{{"why"}, {"daily", "failing"}},
              {{"alert", "list"}, {"daily", "failing"}},
              {{"cancel"}, {running}},
              {{"manual", "claim"}, {waiting}},
              {{"decisions", "--run"}, {running, waiting}},
              {{"flag", "set"}, {flag}},
              {{"why", "daily"}, {}},
              {{"runs", "--state"}, {"manual_required", "success"}}};
  for (const auto& row : rows) {
    std::vector<std::string> words = {"completion", "words", "--"};
    words.insert(words.end(), row.typed.begin(), row.typed.end());
    words.insert(words.begin() + 4, {"--data", daemon.data()});
    ProgramResult offered = Duecourse(words);
    EXPECT_EQ(offered.code, 0) << offered.err;
    for (const std::string& word : row.offered)
      EXPECT_NE(("\n" + offered.out).find("\n" + word + "\n"), std::string::npos)
          << Join(row.typed, " ") << "\n"
          << offered.out;
    if (row.typed.back() == "--state") continue;
    EXPECT_EQ(Lines(offered.out).size(), row.offered.size()) << Join(row.typed, " ") << "\n" << offered.out;
  }
  WriteText(daemon / "script",
            StrCat(Duecourse({"completion", "bash"}).out, "COMP_WORDS=(", DUECOURSE_PROGRAM, " why --data ",
                   daemon.data(), " da); COMP_CWORD=4; _duecourse; echo \"${COMPREPLY[@]}\"\n"));
  ProgramSpec bash;
  bash.argv = {"bash", daemon / "script"};
  bash.env = PlainEnvironment();
  EXPECT_EQ(RunProgram(bash).out, "daily\n");
  ASSERT_EQ(daemon.Cli({"cancel", running, "--by", "ann"}).code, 0);
  EXPECT_EQ(daemon.Stop(), 0);
  ProgramResult silent = Duecourse({"completion", "words", "--", "why", "--data", daemon.data()});
  EXPECT_EQ(silent.code, 0);
  EXPECT_EQ(silent.out + silent.err, "");
}

TEST(Why, NamesTheCommandThatHelpsTheClassOfAFailureAndWhatDoesNotCount) {
  TestDaemon daemon;
  daemon.Rules(
      "task_id: waits\ntrigger: {every: 1d, anchor: \"2026-03-02T10:00:00Z\", timezone: UTC, window_end: "
      "+8h, "
      "preconditions: [{type: flag, name: \"etl.{business_date}\"}, {type: flag, name: orders, value: two "
      "words}]}\n"
      "idempotency: {business_key: \"w:{business_date}\"}\n"
      "execution: {noop: {}}\n---\n"
      "task_id: fails\ntrigger: {every: 1d, anchor: \"2026-03-02T10:00:00Z\", timezone: UTC}\n"
      "idempotency: {business_key: \"f:{business_date}\"}\nexecution: {shell: 'exit 65'}\n");
  daemon.InForceSince("2026-03-02T09:00:00Z");
  daemon.StandAt("2026-03-02T09:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(daemon.AwaitState("f:2026-03-02", "manual_required")) << daemon.Tell("fails");
  const std::string run = daemon.Run("f:2026-03-02")->Get("run_id").AsString();
  ASSERT_EQ(daemon.Cli({"manual", "rerun", run, "--by", "ann", "--reason", "again"}).code, 0);
  ASSERT_TRUE(Eventually([&] {
    std::vector<Json> attempts = daemon.Attempts("f:2026-03-02");
    return attempts.size() == 2 && attempts[1].Has("ended_at");
  }));
  const std::string fails = daemon.Cli({"why", "fails"}).out;
  for (const char* part : {"[business]", "2 attempts, 1 of", "attempt 2 does not count: a person started it"})
    EXPECT_NE(fails.find(part), std::string::npos) << part << "\n" << fails;
  EXPECT_EQ(fails.find("attempt 1 does not count"), std::string::npos) << fails;
  ASSERT_TRUE(Eventually([&] {
    return daemon.Cli({"why", "waits"}).out.find("is not set") != std::string::npos;
  }));
  const std::string waits = daemon.Cli({"why", "waits"}).out;
  for (const char* part :
       {"duecourse flag set etl.2026-03-02 ", "duecourse flag set orders ", "--value 'two words'"})
    EXPECT_NE(waits.find(part), std::string::npos) << part << "\n" << waits;
}

// A check that nobody needed to make stands before it in the rule.
TEST(Why, QuotesTheReasonOfWhatIsWaitedForAndOfNothingElse) {
  TestDaemon daemon;
  daemon.Rules(
      "task_id: waits\ntrigger: {every: 1d, anchor: \"2026-03-02T10:00:00Z\", timezone: UTC, window_end: "
      "+8h, "
      "preconditions: [{file: {path: in.csv, must_exist: true}, why: the shops export}, "
      "{type: flag, name: till, why: the till is counted}]}\n"
      "idempotency: {business_key: \"w:{business_date}\"}\nexecution: {noop: {}}\n");
  daemon.InForceSince("2026-03-02T09:00:00Z");
  daemon.StandAt("2026-03-02T09:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  std::string why;
  ASSERT_TRUE(Eventually([&] {
    why = daemon.Cli({"why", "waits"}).out;
    return why.find("it waits for this because") != std::string::npos;
  })) << why;
  EXPECT_NE(why.find("because: the till is counted"), std::string::npos) << why;
  EXPECT_EQ(why.find("the shops export"), std::string::npos) << why;
}

}  // namespace
}  // namespace duecourse
