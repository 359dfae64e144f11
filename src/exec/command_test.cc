// Commands through the executor: output, endings, time-outs, what is left behind, slots.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>

#include "exec/process.h"
#include "exec/test_harness.h"

namespace duecourse {
namespace {

using CommandTest = ExecutorTest;

// Processes that carry this attempt's mark and live.
std::vector<pid_t> ProcessesOf(const std::string& store_id, const std::string& run) {
  std::vector<pid_t> pids;
  for (const SeenProcess& process : ListProcesses(store_id, true)) {
    if (process.marked && process.run_id == run) pids.push_back(process.stat.pid);
  }
  return pids;
}

void EndAll(const std::string& store_id, const std::string& run) {
  KillProcesses(
      store_id, 1, [&](const SeenProcess& p) { return p.marked && p.run_id == run ? 0 : -1; }, 5'000);
}

TEST_F(CommandTest, EndsAsTheDirectChildDoes) {
  struct Row {
    const char* text;
    Ending::Kind kind;
    int code;
    const char* summary;
  };
  const Row rows[] = {
      {"true", Ending::Kind::kExit, 0, ""},
      {"exit 75", Ending::Kind::kExit, 75, ""},
      {"echo one >&2; echo 'no such order' >&2; exit 65", Ending::Kind::kExit, 65, "exit 65: no such order"},
      {"kill -9 $$", Ending::Kind::kSignal, 9, ""},
      {"kill -15 $$", Ending::Kind::kSignal, 15, ""},
      {"mytool --version", Ending::Kind::kExit, 127, "exit 127: command not found: mytool"},
      {"/etc/passwd", Ending::Kind::kExit, 126, "exit 126: not executable: /etc/passwd"},
  };
  int n = 0;
  for (const Row& row : rows) {
    Ending ending = Run(Shell(StrCat("r", ++n), row.text));
    EXPECT_EQ(ending.kind, row.kind) << row.text;
    EXPECT_EQ(ending.code, row.code) << row.text;
    EXPECT_EQ(ending.summary, row.summary) << row.text;
  }
}

TEST_F(CommandTest, StartedComesBeforeEndedAndNamesTheProcess) {
  executor().Start(Shell("r1", "echo $$"));
  const pid_t pid = sink_.StartedPid("r1");
  Ending ending = sink_.Ended("r1");
  EXPECT_GT(pid, 0);
  EXPECT_EQ(ending.detail.Get("pid").AsInteger(), pid);
  EXPECT_EQ(OutputOf("r1").out, StrCat(pid, "\n"));
  EXPECT_EQ(sink_.EndingsOf("r1"), 1u);
}

TEST_F(CommandTest, ArgumentsArriveWholeAndNoShellSeesThem) {
  Ending ending = Run(Command("r1", {"printf", "%s|", "a b", "$HOME", "'", "", "中文\n"}));
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(OutputOf("r1").out, "a b|$HOME|'||中文\n|");
}

// 28 A verbose command blocks because nobody reads the pipe
TEST_F(CommandTest, Scenario28FiftyFiveMegabytesPassInTenSeconds) {
  ExecutionRule rule = ShellRule();
  rule.output_max = 1 << 20;
  const int64_t begin = MonotonicMicros();
  Ending ending = Run(Shell("r1",
                            "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo LAST;"
                            " head -c 5000000 /dev/zero >&2; exit 3",
                            rule));
  EXPECT_LT(MonotonicMicros() - begin, 10'000'000);
  EXPECT_EQ(ending.kind, Ending::Kind::kExit);
  EXPECT_EQ(ending.code, 3);
  CapturedOutput output = OutputOf("r1");
  EXPECT_EQ(output.out_bytes, 50'000'006);
  EXPECT_EQ(output.out.size(), size_t{1} << 20);
  EXPECT_EQ(output.out_dropped, 50'000'006 - (1 << 20));
  EXPECT_TRUE(output.out.ends_with("xx\nLAST\n"));
  EXPECT_EQ(output.out.front(), 'x');
  EXPECT_EQ(output.err_bytes, 5'000'000);
  EXPECT_EQ(output.err.size(), size_t{1} << 20);
  EXPECT_EQ(output.out_sha256, Sha256Hex(std::string(50'000'000, 'x') + "\nLAST\n"));
  EXPECT_EQ(ending.detail.Get("output").Get("out").Get("dropped").AsInteger(), output.out_dropped);
}

// 27 One undecodable byte turns a good run into a failure (or an empty output)
TEST_F(CommandTest, Scenario27OutputIsBytesWhateverTheLocale) {
  const std::string expected("ok \xe2\x28\xa1 \x80 \x00 \x1b[31m 中文\n", 24);
  int n = 0;
  for (const char* language : {"C", "zh_CN.GBK", ""}) {
    const std::string run = StrCat("r", ++n);
    StartRequest request = Shell(run, "printf 'ok \\342\\050\\241 \\200 \\000 \\033[31m 中文\\n'; exit 0");
    if (*language != '\0') request.env = {{"LANG", language}, {"LC_ALL", language}};
    Ending ending = Run(std::move(request));
    EXPECT_EQ(ending.kind, Ending::Kind::kExit);
    EXPECT_EQ(ending.code, 0);
    CapturedOutput output = OutputOf(run);
    EXPECT_EQ(output.out, expected) << language;
    EXPECT_EQ(output.out_sha256, Sha256Hex(expected)) << language;
    EXPECT_TRUE(Json::Parse(ending.detail.Dump()).ok()) << ending.detail.Dump();
  }
}

// 26 The command ended; the run stays "running" 12 hours because a child holds stdout
TEST_F(CommandTest, Scenario26EndsThoughAKeptChildHoldsThePipe) {
  ExecutionRule rule = ShellRule();
  rule.keep_background = true;
  const int64_t begin = MonotonicMicros();
  Ending ending = Run(Shell("r1", "(sleep 600) & echo started", rule));
  EXPECT_LT(MonotonicMicros() - begin, 3'000'000);
  EXPECT_EQ(ending.kind, Ending::Kind::kExit);
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(OutputOf("r1").out, "started\n");
  EXPECT_TRUE(ending.detail.Get("closed_after_exit").AsBool());
  EXPECT_EQ(ending.detail.Get("processes_kept").AsArray().size(), 1u) << ending.detail.Dump();
  EXPECT_EQ(ProcessesOf(options_.store_id, "r1").size(), 1u);
  EndAll(options_.store_id, "r1");
}

TEST_F(CommandTest, Scenario26EndsThoughABackgroundChildIsNoisy) {
  const int64_t begin = MonotonicMicros();
  Ending ending = Run(Shell("r1", "(while :; do echo noise; sleep 0.1; done) & echo started"));
  EXPECT_LT(MonotonicMicros() - begin, 6'500'000);
  EXPECT_EQ(ending.code, 0);
  const std::string out = OutputOf("r1").out;
  EXPECT_NE(out.find("started\n"), std::string::npos);
  EXPECT_NE(out.find("noise\n"), std::string::npos);
  EXPECT_TRUE(ending.detail.Get("closed_after_exit").AsBool());
  EXPECT_GE(ending.detail.Get("processes_ended").AsArray().size(), 1u);
  EXPECT_TRUE(ProcessesOf(options_.store_id, "r1").empty());
}

TEST_F(CommandTest, ABackgroundChildThatNeverFallsSilentIsListenedToForFiveSecondsAtMost) {
  const int64_t begin = MonotonicMicros();
  Ending ending = Run(Shell("r1", "yes & exit 4"));
  EXPECT_LT(MonotonicMicros() - begin, 20'000'000);
  EXPECT_EQ(ending.code, 4);
  // On an idle machine it ends with the fifth second, on a busy one perhaps in a pause of `yes`.
  EXPECT_TRUE(ending.detail.Get("closed_after_exit").AsBool());
  EXPECT_TRUE(ProcessesOf(options_.store_id, "r1").empty());
}

TEST_F(CommandTest, WhatABackgroundChildWritesSoonAfterTheExitIsKept) {
  Ending ending = Run(Shell("r1", "(sleep 0.1; echo late) & echo early"));
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(OutputOf("r1").out, "early\nlate\n");
}

TEST_F(CommandTest, SilentBackgroundChildrenAreEndedByDefault) {
  Ending ending = Run(Shell("r1", "sleep 600 >/dev/null 2>&1 & exit 0"));
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(ending.detail.Get("processes_ended").AsArray().size(), 1u) << ending.detail.Dump();
  EXPECT_TRUE(ProcessesOf(options_.store_id, "r1").empty());
}

// 25 Time-out kills the shell, not what it started
TEST_F(CommandTest, Scenario25ATimeOutEndsEverybodyInTheSession) {
  ExecutionRule rule = ShellRule();
  rule.timeout = Millis{500};
  rule.kill_grace = Millis{700};
  StartRequest request = Shell(
      "r1", "sh -c 'trap \"\" TERM; (sleep 300; echo leaked >> bad.log) & sleep 300'; echo after", rule);
  request.cwd = folder_.path();
  const int64_t begin = MonotonicMicros();
  Ending ending = Run(std::move(request));
  const int64_t took_ms = (MonotonicMicros() - begin) / 1000;
  EXPECT_EQ(ending.kind, Ending::Kind::kTimeout);
  EXPECT_GE(took_ms, 1'150);
  EXPECT_LT(took_ms, 10'000);
  EXPECT_EQ(ending.summary, "ended after its time-out of 500ms (TERM, and KILL 700ms later)");
  EXPECT_EQ(ending.detail.Get("kill").Get("why").AsString(), "timeout");
  EXPECT_TRUE(ProcessesOf(options_.store_id, "r1").empty());
  EXPECT_FALSE(FileExists(folder_ / "bad.log"));
}

TEST_F(CommandTest, TermIsEnoughForAHandlerThatTakesIt) {
  ExecutionRule rule = ShellRule();
  rule.timeout = Millis{300};
  rule.kill_grace = Seconds(300);
  Ending ending = Run(Shell("r1", "trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.05; done", rule));
  EXPECT_EQ(ending.kind, Ending::Kind::kTimeout);
  EXPECT_EQ(ending.detail.Get("kill").Get("signals").AsString(), "TERM");
  EXPECT_EQ(OutputOf("r1").out, "cleaned\n");
}

TEST_F(CommandTest, TheGraceIsTheWholeSessionsAndNotTheDirectChildsAlone) {
  ExecutionRule rule = ShellRule();
  rule.kill_grace = Seconds(30);
  StartRequest request =
      Shell("r1",
            "sh -c 'trap \"sleep 0.6; echo saved > saved.txt; exit 0\" TERM;"
            " echo ready; while :; do sleep 0.05; done' >ready.txt 2>/dev/null & exec sleep 300",
            rule);
  request.cwd = folder_.path();
  executor().Start(std::move(request));
  ASSERT_GT(sink_.StartedPid("r1"), 0);
  const int64_t until = MonotonicMicros() + 10'000'000;
  while (Content(folder_ / "ready.txt").empty() && MonotonicMicros() < until) {
  }
  executor().Kill({"r1", 1, 1}, KillWhy::kCancelled);
  Ending ending = sink_.Ended("r1");
  EXPECT_EQ(ending.kind, Ending::Kind::kKilled);
  EXPECT_EQ(Content(folder_ / "saved.txt"), "saved\n");
}

// Fault 26 Handler daemonises
TEST_F(CommandTest, AGrandchildInASessionOfItsOwnIsEndedToo) {
  ExecutionRule rule = ShellRule();
  rule.timeout = Millis{500};
  rule.kill_grace = Millis{100};
  Ending ending = Run(Shell("r1", "setsid sleep 300 >/dev/null 2>&1 & sleep 300", rule));
  EXPECT_EQ(ending.kind, Ending::Kind::kTimeout);
  EXPECT_TRUE(ProcessesOf(options_.store_id, "r1").empty());
  EXPECT_GE(ending.detail.Get("processes_ended").AsArray().size(), 1u);
}

TEST_F(CommandTest, AGrandchildThatHidAtAGoodEndIsFoundSoonAfter) {
  Ending ending = Run(Shell("r1", "setsid sleep 300 </dev/null >/dev/null 2>&1 & sleep 0.5; exit 0"));
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(ProcessesOf(options_.store_id, "r1").size(), 1u);
  const int64_t until = MonotonicMicros() + 20'000'000;
  while (!ProcessesOf(options_.store_id, "r1").empty() && MonotonicMicros() < until) {
  }
  EXPECT_TRUE(ProcessesOf(options_.store_id, "r1").empty());
}

TEST_F(CommandTest, KillNamesItsReasonAndComesOnce) {
  struct Row {
    KillWhy why;
    const char* name;   // for programs
    const char* words;  // for people
  };
  const Row rows[] = {{KillWhy::kCancelled, "cancelled", "cancelled"},
                      {KillWhy::kLeaseLost, "lease_lost", "its lease was lost"},
                      {KillWhy::kWindowEnd, "window_end", "its window ended"},
                      {KillWhy::kShutdown, "shutdown", "the daemon stopped"}};
  int n = 0;
  for (const Row& row : rows) {
    const std::string run = StrCat("r", ++n);
    executor().Start(Shell(run, "sleep 300"));
    executor().Kill({run, 1, 1}, row.why);  // before, during or after its start
    executor().Kill({run, 1, 1}, KillWhy::kTimeout);
    Ending ending = sink_.Ended(run);
    if (ending.kind == Ending::Kind::kKilled) {
      EXPECT_EQ(ending.detail.Get("kill").Get("why").AsString(), row.name);
    } else {
      EXPECT_EQ(ending.kind, Ending::Kind::kNotStarted);
    }
    EXPECT_NE(ending.summary.find(row.words), std::string::npos) << ending.summary;
    executor().Kill({run, 1, 1}, row.why);
  }
  EXPECT_TRUE(sink_.NothingEndsFor(200));
}

// 05 One 14-minute job starves every other task (as far as the executor goes)
TEST_F(CommandTest, Scenario05HangingCommandsCostNoThreadAndDelayNobody) {
  options_.command_slots = 256;
  Run(Shell("first", "true"));
  auto threads = [] {
    const std::string status = Content("/proc/self/status");
    const size_t at = status.find("Threads:");
    return ParseInteger(Trim(std::string_view(status).substr(at + 8, status.find('\n', at) - at - 8)))
        .value_or(-1);
  };
  const int64_t before = threads();
  for (int i = 0; i < 100; ++i) executor().Start(Command(StrCat("hung", i), {"sleep", "600"}));
  for (int i = 0; i < 100; ++i) ASSERT_GT(sink_.StartedPid(StrCat("hung", i)), 0);
  EXPECT_EQ(threads(), before);
  const int64_t begin = MonotonicMicros();
  EXPECT_EQ(Run(Shell("beat", "true")).code, 0);
  EXPECT_LT(MonotonicMicros() - begin,
            10'000'000);  // milliseconds, but on a busy machine; they hang for 600 s
  for (int i = 0; i < 100; ++i) executor().Kill({StrCat("hung", i), 1, 1}, KillWhy::kShutdown);
  EXPECT_TRUE(sink_.EndedCount(102));
}

TEST_F(CommandTest, WhoFindsNoSlotWaitsItsTurn) {
  options_.command_slots = 1;
  StartRequest first = Shell("r1", "read line < gate");
  first.cwd = folder_.path();
  ASSERT_EQ(::mkfifo((folder_ / "gate").c_str(), 0600), 0);
  executor().Start(std::move(first));
  ASSERT_GT(sink_.StartedPid("r1"), 0);
  for (int i = 2; i <= 6; ++i) executor().Start(Shell(StrCat("r", i), "true"));
  EXPECT_EQ(executor().WaitsFor({"r4", 1, 1}), "the only command slot");
  EXPECT_EQ(executor().WaitsFor({"r1", 1, 1}), "");
  executor().Kill({"r4", 1, 1}, KillWhy::kCancelled);
  Ending dropped = sink_.Ended("r4");
  EXPECT_EQ(dropped.kind, Ending::Kind::kNotStarted);
  EXPECT_EQ(dropped.summary, "not started: cancelled while it waited for the only command slot");
  executor().Withdraw({"r5", 1, 1}, "its window ended");
  EXPECT_EQ(sink_.Ended("r5").summary,
            "not started: its window ended while it waited for the only command slot");
  executor().Withdraw({"r1", 1, 1}, "its window ended");  // it runs, and goes on
  EXPECT_FALSE(sink_.HasEnded("r1"));
  EXPECT_FALSE(sink_.HasEnded("r2"));
  {
    Fd gate(::open((folder_ / "gate").c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(::write(gate.get(), "\n", 1), 1);
  }
  ASSERT_TRUE(sink_.EndedCount(6));
  EXPECT_EQ(sink_.order(), (std::vector<std::string>{"r4", "r5", "r1", "r2", "r3", "r6"}));
}

// It has a slot, and waits until nobody writes its program any more.
TEST_F(CommandTest, WhatWaitsForRoomOnTheMachineCanBeWithdrawn) {
  const std::string program = folder_ / "busy";
  std::filesystem::copy_file("/bin/true", program);
  const Fd writing(::open(program.c_str(), O_WRONLY | O_CLOEXEC));
  StartRequest request = Shell("r1", "");
  request.argv = {program};
  executor().Start(std::move(request));
  executor().Withdraw({"r1", 1, 1}, "its window ended");
  const Ending ending = sink_.Ended("r1");
  EXPECT_EQ(ending.kind, Ending::Kind::kNotStarted);
  EXPECT_EQ(ending.summary, "not started: its window ended before it was started");
}

// Fault 27: endless output without a newline
TEST_F(CommandTest, EndlessOutputIsReadAndDroppedUntilItsTimeIsUp) {
  ExecutionRule rule = ShellRule();
  rule.timeout = Millis{700};
  rule.output_max = 1000;
  executor().Start(Shell("r1", "cat /dev/zero", rule));
  EXPECT_EQ(Run(Shell("r2", "echo beside")).code, 0);
  Ending ending = sink_.Ended("r1");
  EXPECT_EQ(ending.kind, Ending::Kind::kTimeout);
  CapturedOutput output = OutputOf("r1");
  EXPECT_EQ(output.out.size(), 1000u);
  EXPECT_GT(output.out_bytes, 100'000);
  EXPECT_EQ(OutputOf("r2").out, "beside\n");
}

TEST_F(CommandTest, ACommandThatClosesItsOutputRunsOn) {
  Ending ending = Run(Shell("r1", "exec >&- 2>&-; sleep 0.3; exit 9"));
  EXPECT_EQ(ending.kind, Ending::Kind::kExit);
  EXPECT_EQ(ending.code, 9);
  EXPECT_GE(ending.detail.Get("duration_ms").AsInteger(), 290);
}

TEST_F(CommandTest, NoZombieAndNoDescriptorIsLeft) {
  Run(Shell("first", "true"));
  auto files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const auto before = files();
  for (int i = 0; i < 50; ++i)
    executor().Start(Shell(StrCat("r", i), i % 2 == 0 ? "true" : "sleep 9 & exit 1"));
  ASSERT_TRUE(sink_.EndedCount(51));
  // The look for hidden processes, a second after the last end, opens a few for a moment.
  const int64_t until = MonotonicMicros() + 20'000'000;
  while (files() != before && MonotonicMicros() < until) {
  }
  EXPECT_EQ(files(), before);
  siginfo_t info{};
  EXPECT_NE(::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), 0);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(CommandTest, AStoppedCommandTakesItsTermToo) {
  ExecutionRule rule = ShellRule();
  rule.kill_grace = Seconds(300);
  executor().Start(Shell("r1", "kill -STOP $$", rule));
  ASSERT_GT(sink_.StartedPid("r1"), 0);
  executor().Kill({"r1", 1, 1}, KillWhy::kCancelled);
  EXPECT_EQ(sink_.Ended("r1").detail.Get("kill").Get("signals").AsString(), "TERM");
}

TEST_F(CommandTest, AFasterClockShortensATimeOut) {
  SystemClock fast({}, 100.0);
  options_.clock_rate = 100.0;
  executor_ = NewExecutor(options_, fast, log_, sink_.sink());
  ExecutionRule rule = ShellRule();
  rule.timeout = Seconds(30);
  const int64_t begin = MonotonicMicros();
  Ending ending = Run(Shell("r1", "sleep 300", rule));
  EXPECT_EQ(ending.kind, Ending::Kind::kTimeout);
  const int64_t took_ms = (MonotonicMicros() - begin) / 1000;
  EXPECT_GE(took_ms, 290);
  EXPECT_LT(took_ms, 10'000);
}

TEST_F(CommandTest, NoopsEndWithoutAProcess) {
  ExecutionRule rule;
  rule.kind = ExecutionRule::Kind::kNoop;
  rule.noop.exit_code = 75;
  Ending at_once = Run(RequestOf("r1", rule));
  EXPECT_EQ(at_once.kind, Ending::Kind::kExit);
  EXPECT_EQ(at_once.code, 75);
  rule.noop.after = Millis{200};
  const int64_t begin = MonotonicMicros();
  EXPECT_EQ(Run(RequestOf("r2", rule)).code, 75);
  EXPECT_GE(MonotonicMicros() - begin, 200'000);
  rule.noop.after = Hours(1);
  executor().Start(RequestOf("r3", rule));
  EXPECT_EQ(sink_.Started("r3"), "noop");
  executor().Kill({"r3", 1, 1}, KillWhy::kCancelled);
  EXPECT_EQ(sink_.Ended("r3").kind, Ending::Kind::kKilled);
  rule.timeout = Millis{100};
  EXPECT_EQ(Run(RequestOf("r4", rule)).kind, Ending::Kind::kTimeout);
}

TEST_F(CommandTest, TenThousandNoopsEndInASecond) {
  ExecutionRule rule;
  rule.kind = ExecutionRule::Kind::kNoop;
  std::vector<StartRequest> requests;
  for (int i = 0; i < 10'000; ++i) requests.push_back(RequestOf(StrCat("r", i), rule));
  const int64_t begin = MonotonicMicros();
  for (StartRequest& request : requests) executor().Start(std::move(request));
  ASSERT_TRUE(sink_.EndedCount(10'000));
  EXPECT_LT(MonotonicMicros() - begin, 5'000'000);  // alone on the machine it is a tenth of a second
}

}  // namespace
}  // namespace duecourse
