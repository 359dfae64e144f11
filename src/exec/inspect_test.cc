// What a daemon that came back finds of its predecessor's attempts. The predecessor is this program as
// `exec_test executor` (main_test.cc), killed at a named place or from outside.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>

#include "exec/journal.h"
#include "exec/process.h"
#include "exec/test_harness.h"

namespace duecourse {
namespace {

// A daemon with one attempt, in a process of its own.
class Daemon {
 public:
  Daemon(const ExecOptions& options, const std::string& run, const std::string& text,
         const std::string& failpoint) {
    std::array<int, 2> in{}, out{};
    EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
    stdin_ = Fd(in[1]);
    stdout_ = Fd(out[0]);
    Fd child_in(in[0]), child_out(out[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, child_in.get(), 0);
    ::posix_spawn_file_actions_adddup2(&actions, child_out.get(), 1);
    std::vector<std::string> argv = {"/proc/self/exe", "executor", options.data_folder,
                                     options.store_id, run,        text};
    std::vector<std::string> environment = {"DC_FAIL=" + failpoint, "PATH=/usr/bin:/bin"};
    std::vector<char*> arguments, variables;
    for (std::string& argument : argv) arguments.push_back(argument.data());
    for (std::string& variable : environment) variables.push_back(variable.data());
    arguments.push_back(nullptr);
    variables.push_back(nullptr);
    EXPECT_EQ(::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), variables.data()),
              0);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  ~Daemon() { KillNow(); }
  // The next line it says; empty once it is dead.
  std::string Line() {
    std::string line;
    char c = 0;
    while (::read(stdout_.get(), &c, 1) == 1 && c != '\n') line += c;
    return line;
  }
  // kill -9, and the end of it.
  void KillNow() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    AwaitDeath();
  }
  // The signal it died of, 0 where it exited.
  int AwaitDeath() {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
    }
    pid_ = 0;
    return info.si_code == CLD_EXITED ? 0 : info.si_status;
  }

 private:
  pid_t pid_ = 0;
  Fd stdin_;
  Fd stdout_;
};

class InspectTest : public ExecutorTest {
 protected:
  Inspection Inspect(const std::string& run, bool same_boot = true, int64_t fence = 1) {
    executor().Inspect({run, fence, 1}, same_boot);
    return sink_.Inspected(run);
  }
  static bool Alive(pid_t pid) {
    std::optional<ProcessStat> stat = ReadProcessStat(pid);
    return stat.has_value() && !stat->dead();
  }
  // A process that a former daemon of this very program left behind. It is our own child: EndChild is for it.
  pid_t LeaveRunning(const std::string& run) {
    executor().Start(Command(run, {"sleep", "300"}));
    const pid_t pid = sink_.StartedPid(run);
    executor_.reset();
    return pid;
  }
  static void EndChild(pid_t pid) {
    ::kill(pid, SIGKILL);
    siginfo_t info{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED), 0);
  }
  // As a former daemon would have left it.
  void NoteStart(const AttemptRef& ref, pid_t pid, int64_t start) {
    StartJournal journal(options_.data_folder, BootId(), log_);
    ASSERT_TRUE(journal.Start(ref, "").ok());
    if (pid > 0) {
      ASSERT_TRUE(journal.Process(ref, pid, {start - 1, start}).ok());
    }
  }
};

// 12 Crash loop re-sends the morning message dozens of times
TEST_F(InspectTest, Scenario12TheMarkerTellsWhetherAnythingCanHaveRun) {
  struct Row {
    const char* failpoint;
    Inspection::Found found;
    size_t messages_at_most;
  };
  const Row rows[] = {
      {"exec.before_marker", Inspection::Found::kNotStarted, 0},
      {"exec.after_marker", Inspection::Found::kGone, 0},  // nothing ran, but nobody can know
      {"exec.after_spawn", Inspection::Found::kGone, 1},
      {"exec.before_end", Inspection::Found::kGone, 1},
  };
  int n = 0;
  for (const Row& row : rows) {
    const std::string run = StrCat("r", ++n);
    const std::string sent = folder_ / StrCat(run, ".sent");
    executor_.reset();  // one daemon at a time
    Daemon daemon(options_, run, StrCat("echo sent >> ", sent), row.failpoint);
    EXPECT_EQ(daemon.AwaitDeath(), SIGKILL) << row.failpoint;
    Inspection inspection = Inspect(run);
    EXPECT_EQ(inspection.found, row.found) << row.failpoint << ": " << inspection.text;
    EXPECT_LE(Split(Content(sent), '\n').size() - 1, row.messages_at_most) << row.failpoint;
  }
}

// 22 Restart kills a run; downstream reports "ok" on nothing
TEST_F(InspectTest, Scenario22AnOrphanIsFoundAndEndedAtOnce) {
  Daemon daemon(options_, "r1", "trap '' TERM; sleep 300 & sleep 301", "");
  const std::string said = daemon.Line();
  ASSERT_TRUE(said.starts_with("pid ")) << said;
  const pid_t pid = static_cast<pid_t>(ParseInteger(said.substr(4)).value_or(0));
  daemon.KillNow();
  ASSERT_TRUE(Alive(pid));
  executor();
  const int64_t begin = MonotonicMicros();
  Inspection inspection = Inspect("r1");
  EXPECT_LT(MonotonicMicros() - begin, 2'000'000);
  EXPECT_EQ(inspection.found, Inspection::Found::kGone);
  EXPECT_TRUE(inspection.text.starts_with("ended ")) << inspection.text;
  EXPECT_NE(inspection.text.find(std::to_string(pid)), std::string::npos) << inspection.text;
  EXPECT_FALSE(Alive(pid));
  for (const SeenProcess& process : ListProcesses(options_.store_id, true)) EXPECT_FALSE(process.marked);
}

TEST_F(InspectTest, AnOrphanThatLeftItsSessionIsFoundByItsEnvironment) {
  Daemon daemon(options_, "r1", "setsid sleep 300 >/dev/null 2>&1 & sleep 0.5; exit 0", "exec.before_end");
  daemon.AwaitDeath();
  Inspection inspection = Inspect("r1");
  EXPECT_EQ(inspection.found, Inspection::Found::kGone);
  EXPECT_TRUE(inspection.text.starts_with("ended 1 process")) << inspection.text;
  for (const SeenProcess& process : ListProcesses(options_.store_id, true)) EXPECT_FALSE(process.marked);
}

TEST_F(InspectTest, OnlyTheAttemptInQuestionIsTouched) {
  // One daemon each, in a folder of its own: another run of the same store, and another store.
  ExecOptions same_store = options_, other_store = options_;
  same_store.data_folder = folder_ / "same";
  other_store.data_folder = folder_ / "other";
  other_store.store_id = "other-" + options_.store_id;
  Daemon asked(options_, "r1", "sleep 300", "");
  Daemon neighbour(same_store, "r2", "sleep 300", "");
  Daemon stranger(other_store, "r1", "sleep 300", "");
  auto pid_of = [](Daemon& daemon) {
    return static_cast<pid_t>(ParseInteger(daemon.Line().substr(4)).value_or(0));
  };
  const pid_t asked_pid = pid_of(asked), neighbour_pid = pid_of(neighbour), stranger_pid = pid_of(stranger);
  asked.KillNow();
  EXPECT_EQ(Inspect("r1").found, Inspection::Found::kGone);
  EXPECT_FALSE(Alive(asked_pid));
  EXPECT_TRUE(Alive(neighbour_pid));
  EXPECT_TRUE(Alive(stranger_pid));
  for (pid_t pid : {neighbour_pid, stranger_pid}) ::kill(-pid, SIGKILL);
}

TEST_F(InspectTest, AnotherFenceOfTheSameRunIsAnotherAttempt) {
  const pid_t pid = LeaveRunning("r1");
  NoteStart({"r1", 7, 2}, 0, 0);
  EXPECT_EQ(Inspect("r1", true, 7).text, "nothing of it was running any more");
  EXPECT_TRUE(Alive(pid));
  EndChild(pid);
}

TEST_F(InspectTest, AKeptChildOfAFinishedAttemptIsLeftAlone) {
  ExecutionRule rule = ShellRule();
  rule.keep_background = true;
  Ending ending = Run(Shell("r1", "sleep 300 >/dev/null 2>&1 & exit 0", rule));
  ASSERT_EQ(ending.detail.Get("processes_kept").AsArray().size(), 1u);
  const pid_t kept = static_cast<pid_t>(ending.detail.Get("processes_kept").AsArray()[0].AsInteger());
  executor().Forget({"r1", 1, 1});
  executor_.reset();
  NoteStart({"r2", 1, 1}, 0, 0);
  EXPECT_EQ(Inspect("r2").found, Inspection::Found::kGone);
  EXPECT_TRUE(Alive(kept));
  ::kill(kept, SIGKILL);
}

TEST_F(InspectTest, AReusedProcessIdIsNobodysOrphan) {
  // A process that has nothing to do with the attempt, under the id that the marker names with another start.
  const pid_t pid = LeaveRunning("r1");
  std::optional<ProcessStat> stat = ReadProcessStat(pid);
  ASSERT_TRUE(stat.has_value());
  NoteStart({"r2", 1, 1}, pid, stat->start - 2);
  Inspection inspection = Inspect("r2");
  EXPECT_EQ(inspection.found, Inspection::Found::kGone);
  EXPECT_EQ(inspection.text, "nothing of it was running any more");
  EXPECT_TRUE(Alive(pid));
  EndChild(pid);
}

TEST_F(InspectTest, AProcessThatClearedItsEnvironmentIsFoundByItsIdAndSession) {
  Daemon daemon(options_, "r1", "env -i sleep 300 & exec env -i sleep 300", "");
  const pid_t pid = static_cast<pid_t>(ParseInteger(daemon.Line().substr(4)).value_or(0));
  // Until both have become sleep.
  auto sleeps = [pid] {
    int n = 0;
    for (const SeenProcess& process : ListProcesses("", false)) {
      if (process.stat.session == pid && Content(StrCat("/proc/", process.stat.pid, "/comm")) == "sleep\n")
        ++n;
    }
    return n;
  };
  const int64_t until = MonotonicMicros() + 20'000'000;
  while (sleeps() < 2 && MonotonicMicros() < until) {
  }
  ASSERT_EQ(sleeps(), 2);
  daemon.KillNow();
  EXPECT_EQ(Inspect("r1").found, Inspection::Found::kGone);
  EXPECT_EQ(sleeps(), 0);
}

TEST_F(InspectTest, AfterARestartOfTheMachineTheOutcomeIsUnknownMarkerOrNot) {
  ASSERT_TRUE(MakeFolders(options_.data_folder + "/attempts", 0700).ok());
  ASSERT_TRUE(StartJournal(options_.data_folder, "another-boot", log_).Start({"r1", 1, 1}, "").ok());
  EXPECT_EQ(Inspect("r1", false).found, Inspection::Found::kGone);
  EXPECT_EQ(Inspect("r2", false).found, Inspection::Found::kGone);
  // The store says that it is this boot, yet no marker of it is left: somebody removed the folder.
  EXPECT_EQ(Inspect("r3", true).found, Inspection::Found::kGone);
}

TEST_F(InspectTest, AForgottenAttemptHasNoMarker) {
  Run(Shell("r1", "true"));
  Run(Shell("r2", "true"));
  executor().Forget({"r1", 1, 1});
  Run(Shell("r3", "true"));
  executor_.reset();
  EXPECT_EQ(Inspect("r1").found, Inspection::Found::kNotStarted);
  EXPECT_EQ(Inspect("r2").found, Inspection::Found::kGone);
}

TEST_F(InspectTest, AHundredOrphansShareOneLook) {
  std::vector<pid_t> pids;
  {
    TestSink former_sink;
    std::unique_ptr<Executor> former = NewExecutor(options_, clock_, log_, former_sink.sink());
    for (int i = 0; i < 100; ++i) former->Start(Command(StrCat("r", i), {"sleep", "300"}));
    for (int i = 0; i < 100; ++i) pids.push_back(former_sink.StartedPid(StrCat("r", i)));
  }
  executor();
  const int64_t begin = MonotonicMicros();
  for (int i = 0; i < 100; ++i) executor().Inspect({StrCat("r", i), 1, 1}, true);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(sink_.Inspected(StrCat("r", i)).text,
              StrCat("ended 1 process of it (", pids[static_cast<size_t>(i)], ")"));
  }
  EXPECT_LT(MonotonicMicros() - begin, 2'000'000);
  for (pid_t pid : pids) EndChild(pid);
}

TEST_F(InspectTest, ACommandThatCannotBeMarkedDoesNotStart) {
  executor();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = 10;
  ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  Ending ending = Run(Shell("r1", StrCat("mkdir ", folder_ / "ran")));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(ending.kind, Ending::Kind::kNotStarted);
  EXPECT_NE(ending.summary.find("start marker"), std::string::npos) << ending.summary;
  EXPECT_FALSE(FolderExists(folder_ / "ran"));
}

// Fault 35: no room for another process or descriptor
TEST_F(InspectTest, ALackOfDescriptorsDelaysAnAttemptAndFailsNone) {
  Run(Shell("first", "true"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 24;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  for (int i = 0; i < 40; ++i) executor().Start(Shell(StrCat("r", i), "sleep 0.2; exit 3"));
  for (int i = 0; i < 40; ++i) {
    Ending ending = sink_.Ended(StrCat("r", i));
    EXPECT_EQ(ending.kind, Ending::Kind::kExit) << ending.summary;
    EXPECT_EQ(ending.code, 3) << ending.summary;
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace duecourse
