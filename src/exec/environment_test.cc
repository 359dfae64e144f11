// What a command finds around it: variables, folder, descriptors, umask, user.
#include "exec/environment.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "exec/launch.h"
#include "exec/spawn.h"
#include "exec/test_harness.h"

namespace duecourse {
namespace {

using EnvironmentTest = ExecutorTest;

std::map<std::string, std::string> Variables(const std::string& text) {
  std::map<std::string, std::string> variables;
  for (std::string_view line : Split(text, '\n')) {
    const size_t sign = line.find('=');
    if (sign != std::string_view::npos) variables[std::string(line.substr(0, sign))] = line.substr(sign + 1);
  }
  return variables;
}

// 60 Works in my shell, "command not found" in the scheduler
TEST_F(EnvironmentTest, Scenario60TheEnvironmentIsTheDocumentedOneAndNothingElse) {
  ::setenv("DUECOURSE_DB_PASSWORD", "canary", 1);
  ::setenv("SOME_LOGIN_VARIABLE", "1", 1);
  ::setenv("LD_LIBRARY_PATH", "/tmp", 1);
  StartRequest request = Command("r1", {"env"});
  request.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"REGION", "eu"}};
  EXPECT_EQ(Run(std::move(request)).code, 0);
  ::unsetenv("LD_LIBRARY_PATH");
  ::unsetenv("SOME_LOGIN_VARIABLE");
  ::unsetenv("DUECOURSE_DB_PASSWORD");
  const Account account = OwnAccount();
  const std::map<std::string, std::string> expected = {
      {"PATH", "/usr/local/bin:/usr/bin:/bin"},
      {"HOME", account.home},
      {"USER", account.name},
      {"LOGNAME", account.name},
      {"SHELL", "/bin/sh"},
      {"LANG", "C.UTF-8"},
      {"TZ", "Asia/Shanghai"},
      {"REGION", "eu"},
      {"DUECOURSE_STORE_ID", options_.store_id},
      {"DUECOURSE_TASK", "task-r1"},
      {"DUECOURSE_RUN_ID", "r1"},
      {"DUECOURSE_ATTEMPT", "1"},
      {"DUECOURSE_KEY", "key-r1"},
      {"DUECOURSE_FENCE", "1"},
      {"DUECOURSE_TIMEZONE", "Asia/Shanghai"},
      {"DUECOURSE_RESULT", options_.data_folder + "/attempts/r1.1.result"},
  };
  EXPECT_EQ(Variables(OutputOf("r1").out), expected);
}

TEST_F(EnvironmentTest, Scenario60ToolsAreFoundAlongTheRulesPath) {
  const std::string bin = folder_ / "bin";
  ASSERT_TRUE(MakeFolders(bin, 0755).ok());
  const std::string tool = bin + "/mytool";
  ASSERT_TRUE(WriteFileAtomic(tool, "#!/bin/sh\necho found $1\n", false).ok());
  auto request = [&](const char* run) {
    StartRequest made = Command(run, {"mytool", "--version"});
    made.env = {{"PATH", "/usr/bin:" + bin}};
    return made;
  };
  Ending not_executable = Run(request("r1"));
  EXPECT_EQ(not_executable.code, 126);
  EXPECT_EQ(not_executable.summary, "exit 126: not executable: " + tool);
  ASSERT_EQ(::chmod(tool.c_str(), 0755), 0);
  EXPECT_EQ(Run(request("r2")).code, 0);
  EXPECT_EQ(OutputOf("r2").out, "found --version\n");
  ASSERT_TRUE(WriteFileAtomic(tool, "#!/no/such/interpreter\n", false).ok());
  Ending no_interpreter = Run(request("r3"));
  EXPECT_EQ(no_interpreter.code, 127);
  EXPECT_NE(no_interpreter.summary.find("interpreter"), std::string::npos) << no_interpreter.summary;
  ASSERT_EQ(::unlink(tool.c_str()), 0);
  Ending missing = Run(request("r4"));
  EXPECT_EQ(missing.kind, Ending::Kind::kExit);
  EXPECT_EQ(missing.code, 127);
  EXPECT_TRUE(missing.summary.starts_with("exit 127: command not found: mytool (looked in "))
      << missing.summary;
}

TEST_F(EnvironmentTest, APathInTheCommandIsTakenFromTheWorkingFolder) {
  ASSERT_TRUE(WriteFileAtomic(folder_ / "here.sh", "#!/bin/sh\necho here\n", false).ok());
  ASSERT_EQ(::chmod((folder_ / "here.sh").c_str(), 0755), 0);
  StartRequest request = Command("r1", {"./here.sh"});
  request.cwd = folder_.path();
  EXPECT_EQ(Run(std::move(request)).code, 0);
  EXPECT_EQ(OutputOf("r1").out, "here\n");
  StartRequest elsewhere = Command("r2", {"bin/there.sh"});
  elsewhere.cwd = folder_.path();
  const Ending missing = Run(std::move(elsewhere));
  EXPECT_EQ(missing.summary,
            StrCat("exit 127: command not found: bin/there.sh (looked in ", folder_ / "bin/there.sh", ")"));
}

// 61 The job ran in whatever folder the daemon was started from
TEST_F(EnvironmentTest, Scenario61TheFolderIsTheOneAskedForOrTheTasksOwn) {
  const std::string data = folder_ / "r/data";
  ASSERT_TRUE(MakeFolders(data, 0755).ok());
  auto in_data = [&](const char* run) {
    StartRequest request = Shell(run, "pwd; echo ran >> ran.log");
    request.cwd = data;
    return request;
  };
  EXPECT_EQ(Run(in_data("a1")).code, 0);
  EXPECT_EQ(OutputOf("a1").out, data + "\n");
  StartRequest own = Shell("c1", "pwd");
  own.task = "c";
  EXPECT_EQ(Run(std::move(own)).code, 0);
  EXPECT_EQ(OutputOf("c1").out, options_.data_folder + "/tasks/c\n");
  struct stat info {};
  ASSERT_EQ(::stat((options_.data_folder + "/tasks/c").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  std::filesystem::remove_all(data);
  Ending gone = Run(in_data("a2"));
  EXPECT_EQ(gone.kind, Ending::Kind::kExit);
  EXPECT_EQ(gone.code, 78);
  EXPECT_EQ(gone.said_code, "workdir_missing");
  EXPECT_EQ(gone.summary, "not started: workdir " + data + " does not exist");
  EXPECT_EQ(gone.detail.Get("started").AsBool(true), false);
  EXPECT_FALSE(OutputOf("a2").stored);
  EXPECT_FALSE(FileExists("ran.log"));
}

TEST_F(EnvironmentTest, AWorkingFolderThatIsAFileIsSaidToBeOne) {
  ASSERT_TRUE(WriteFileAtomic(folder_ / "file", "", false).ok());
  StartRequest request = Shell("r1", "true");
  request.cwd = folder_ / "file";
  Ending ending = Run(std::move(request));
  EXPECT_EQ(ending.code, 78);
  EXPECT_EQ(ending.summary, "not started: workdir " + (folder_ / "file") + ": Not a directory (ENOTDIR)");
}

// Somebody tidied up below a running daemon, or moved all of it away.
TEST_F(EnvironmentTest, FoldersOfOursAreMadeAgainButNeverInAnothersPlace) {
  const std::string data = options_.data_folder;
  EXPECT_EQ(Run(Shell("r1", "true")).code, 0);
  for (const char* name : {"tasks", "attempts", "output"})
    std::filesystem::remove_all(StrCat(data, "/", name));
  Ending ending = Run(Shell("r2", "pwd; echo '{\"summary\":\"here\"}' > $DUECOURSE_RESULT"));
  EXPECT_EQ(ending.kind, Ending::Kind::kExit) << ending.summary;
  EXPECT_EQ(ending.summary, "here");
  EXPECT_EQ(OutputOf("r2").out, StrCat(data, "/tasks/task-r2\n"));

  std::filesystem::rename(data, data + ".away");
  ending = Run(Shell("r3", "true"));
  EXPECT_EQ(ending.kind, Ending::Kind::kNotStarted);
  EXPECT_NE(ending.summary.find(StrCat("the data folder ", data, " cannot be entered")), std::string::npos)
      << ending.summary;
  EXPECT_FALSE(std::filesystem::exists(data));
  std::filesystem::create_directory(data);
  ending = Run(Shell("r4", "true"));
  EXPECT_EQ(ending.kind, Ending::Kind::kNotStarted);
  EXPECT_NE(
      ending.summary.find(StrCat("the data folder ", data, " is not the one this daemon was started on")),
      std::string::npos)
      << ending.summary;
  EXPECT_TRUE(std::filesystem::is_empty(data));
}

TEST(WorkFolder, NamesOfTasksCannotLeaveIt) {
  EXPECT_EQ(WorkFolder("/d", "order_sync-2.x"), "/d/tasks/order_sync-2.x");
  EXPECT_EQ(WorkFolder("/d", ".."), "/d/tasks/%2E.");
  EXPECT_EQ(WorkFolder("/d", "a/b c"), "/d/tasks/a%2Fb%20c");
}

// 62 A child keeps the daemon's port and lock after the daemon is gone
TEST_F(EnvironmentTest, Scenario62AChildHasItsThreeDescriptorsOnly) {
  // What a daemon holds: some of it not marked to be closed on exec.
  Fd leaky(::open("/etc/passwd", O_RDONLY));
  Fd leaky_high(::fcntl(leaky.get(), F_DUPFD, 700));
  ASSERT_TRUE(leaky_high.valid());
  for (int i = 0; i < 50; ++i)
    executor().Start(Shell(StrCat("r", i), "ls /proc/self/fd | tr '\\n' ' '; readlink /proc/$$/fd/0"));
  ASSERT_TRUE(sink_.EndedCount(50));
  for (int i = 0; i < 50; ++i) {
    // 3 is ls's own, of the folder it lists.
    EXPECT_EQ(OutputOf(StrCat("r", i)).out, "0 1 2 3 /dev/null\n");
  }
}

TEST_F(EnvironmentTest, SignalsAreAsAProgramExpectsThem) {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  EXPECT_EQ(Run(Shell("r1", "grep -E '^Sig(Blk|Ign)' /proc/self/status")).code, 0);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  EXPECT_EQ(OutputOf("r1").out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(EnvironmentTest, TheDeadlineIsReckonedFromTheStartAndNotFromTheClaim) {
  StartRequest request = Shell("r1", "echo $DUECOURSE_DEADLINE");
  request.timeout = Minutes(7);
  request.context.emplace_back("DUECOURSE_DEADLINE", "2020-01-01T00:00:00Z");  // it waited for long
  const Instant before = SystemClock().Wall();
  EXPECT_EQ(Run(std::move(request)).code, 0);
  Result<Instant> deadline = ParseUtc(std::string(Trim(OutputOf("r1").out)));
  ASSERT_TRUE(deadline.ok());
  EXPECT_GE(*deadline, before + Minutes(7));
  EXPECT_LE(*deadline, SystemClock().Wall() + Minutes(7));
}

TEST_F(EnvironmentTest, ASessionOfItsOwnWithoutATerminal) {
  EXPECT_EQ(Run(Shell("r1", "echo $$ $(ps -o pgid=,sid=,tty= -p $$)")).code, 0);
  std::string out = OutputOf("r1").out;
  std::vector<std::string_view> words = Split(Trim(out), ' ');
  ASSERT_EQ(words.size(), 4u) << out;
  EXPECT_EQ(words[0], words[1]);
  EXPECT_EQ(words[0], words[2]);
  EXPECT_EQ(words[3], "?");
}

TEST_F(EnvironmentTest, TheUmaskIsTheRulesAndNotTheDaemons) {
  const mode_t before = ::umask(077);
  ExecutionRule rule = ShellRule();
  rule.umask_bits = 022;
  EXPECT_EQ(Run(Shell("r1", "umask", rule)).code, 0);
  rule.umask_bits = 0007;
  EXPECT_EQ(Run(Shell("r2", "umask; touch made; stat -c %a made", rule)).code, 0);
  ::umask(before);
  EXPECT_EQ(OutputOf("r1").out, "0022\n");
  EXPECT_EQ(OutputOf("r2").out, "0007\n660\n");
}

TEST_F(EnvironmentTest, TheHelperLeavesNoTraceInTheCommand) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ExecutionRule rule = ShellRule();
  rule.kind = ExecutionRule::Kind::kCommand;
  rule.user = "nobody";
  StartRequest request = RequestOf("r1", rule);
  request.argv = {"sh", "-c", "echo $0 $1; ls /proc/self/fd | tr '\\n' ' '", "name", "a b"};
  EXPECT_EQ(Run(std::move(request)).code, 0);
  EXPECT_EQ(OutputOf("r1").out, "name a b\n0 1 2 3 ");
}

TEST_F(EnvironmentTest, AnExecThatFailsBehindTheHelperEndsAsInFrontOfIt) {
  ASSERT_TRUE(WriteFileAtomic(folder_ / "bad", "#!/no/such/interpreter\n", false).ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ / "text", "just text\n", false).ok());
  ASSERT_EQ(::chmod((folder_ / "bad").c_str(), 0755), 0);
  ASSERT_EQ(::chmod((folder_ / "text").c_str(), 0755), 0);
  ASSERT_EQ(::chmod((folder_ / "").c_str(), 0755), 0);
  for (const char* user : {"", "nobody"}) {
    if (*user != '\0' && ::geteuid() != 0) GTEST_SKIP() << "needs root";
    ExecutionRule rule = ShellRule();
    rule.user = user;
    StartRequest bad = RequestOf(StrCat("bad", user), rule);
    bad.argv = {folder_ / "bad"};
    EXPECT_EQ(Run(std::move(bad)).code, 127);
    StartRequest text = RequestOf(StrCat("text", user), rule);
    text.argv = {folder_ / "text"};
    Ending ending = Run(std::move(text));
    EXPECT_EQ(ending.code, 126);
    EXPECT_NE(ending.summary.find("begins with #!"), std::string::npos) << ending.summary;
  }
}

TEST_F(EnvironmentTest, TooMuchForAnExecIsTheCommandsFaultWhoeverRunsIt) {
  for (const char* user : {"", "nobody"}) {
    if (*user != '\0' && ::geteuid() != 0) GTEST_SKIP() << "needs root";
    ExecutionRule rule = ShellRule();
    rule.user = user;
    StartRequest request = RequestOf(StrCat("big", user), rule);
    request.argv = {"/bin/true"};
    for (int i = 0; i < 60; ++i) request.argv.emplace_back(100'000, 'x');
    Ending ending = Run(std::move(request));
    EXPECT_EQ(ending.code, 126) << ending.summary;
    EXPECT_NE(ending.summary.find("too large"), std::string::npos) << ending.summary;
  }
}

TEST_F(EnvironmentTest, AProgramThatIsBeingWrittenMayBeTriedAgain) {
  const std::string program = folder_ / "busy";
  std::filesystem::copy_file("/bin/true", program);
  const Fd writing(::open(program.c_str(), O_WRONLY | O_CLOEXEC));
  const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  SpawnPlan plan;
  plan.program = program;
  plan.argv = {"busy"};
  plan.cwd = root.get();
  plan.in = null.get();
  std::variant<Spawned, SpawnFault> spawned = Spawn(plan);
  ASSERT_TRUE(std::holds_alternative<SpawnFault>(spawned));
  EXPECT_EQ(std::get<SpawnFault>(spawned).error, ETXTBSY);
  EXPECT_TRUE(std::get<SpawnFault>(spawned).exhausted());
}

TEST_F(EnvironmentTest, AFolderThatCannotBeEnteredIsAFaultOfTheRule) {
  const Ending ending = FaultEnding({EACCES, "chdir"}, "true");
  EXPECT_EQ(ending.code, 78);
  EXPECT_EQ(ending.said_code, "workdir_unusable");
}

TEST_F(EnvironmentTest, AnotherUserStartsInNoFolderThatItMayNotEnter) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(MakeFolders(folder_ / "closed", 0700).ok());
  ExecutionRule rule = ShellRule();
  rule.user = "nobody";
  StartRequest request = Shell("r1", "echo it runs", rule);
  request.cwd = folder_ / "closed";
  const Ending ending = Run(std::move(request));
  EXPECT_EQ(ending.code, 78);
  EXPECT_EQ(ending.said_code, "workdir_unusable");
  EXPECT_EQ(ending.summary, "not started: its folder cannot be entered: Permission denied (EACCES)");
}

TEST_F(EnvironmentTest, TheSoftLimitOfFilesIsTheOneTheDaemonWasStartedWith) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 900;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  ExecutionRule rule = ShellRule();
  rule.umask_bits = 027;
  EXPECT_EQ(Run(Shell("r1", "ulimit -Sn", rule)).code, 0);
  rlimit raised{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_GT(raised.rlim_cur, 900u);
  EXPECT_EQ(OutputOf("r1").out, "900\n");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(EnvironmentTest, AnotherUserGetsItsOwnNameHomeFolderAndResultFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ExecutionRule rule = ShellRule();
  rule.user = "nobody";
  StartRequest request =
      Shell("r1",
            "id -un; id -Gn; echo $USER $HOME; touch in_my_folder && echo wrote;"
            " echo '{\"summary\": \"as nobody\"}' > $DUECOURSE_RESULT; ls -ld ${DUECOURSE_RESULT%/*}",
            rule);
  Ending ending = Run(std::move(request));
  Result<Account> nobody = FindAccount("nobody");
  ASSERT_TRUE(nobody.ok());
  const std::string out = OutputOf("r1").out;
  EXPECT_EQ(out.substr(0, out.find("drwx")), StrCat("nobody\nnogroup\nnobody ", nobody->home, "\nwrote\n"))
      << out << OutputOf("r1").err;
  EXPECT_EQ(ending.code, 0);
  EXPECT_EQ(ending.summary, "as nobody");
  const size_t folder = out.rfind(' ') + 1;
  EXPECT_FALSE(FolderExists(std::string(Trim(out.substr(folder)))));
}

TEST_F(EnvironmentTest, AnotherUserCannotBecomeMore) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ExecutionRule rule = ShellRule();
  Run(Shell("r1", "grep NoNewPrivs /proc/self/status", rule));
  EXPECT_EQ(OutputOf("r1").out, "NoNewPrivs:\t0\n");
  rule.user = "nobody";
  Run(Shell("r2", "grep NoNewPrivs /proc/self/status", rule));
  EXPECT_EQ(OutputOf("r2").out, "NoNewPrivs:\t1\n");
}

TEST_F(EnvironmentTest, AnUnknownUserIsTheRulesFault) {
  ExecutionRule rule = ShellRule();
  rule.user = "no-such-user";
  Ending ending = Run(Shell("r1", "true", rule));
  EXPECT_EQ(ending.code, 78);
  EXPECT_EQ(ending.summary, "not started: user no-such-user is not known on this machine");
}

TEST_F(EnvironmentTest, SecretsAreReadAtTheStartAndNeverShown) {
  ::setenv("DC_TEST_SECRET", "canary-4711", 1);
  ASSERT_TRUE(WriteFileAtomic(folder_ / "token", "from-file-0815\n", false).ok());
  StartRequest request =
      Shell("r1", "echo $ONE $TWO; echo ${#ONE} ${#TWO}; echo \"failed with $ONE\" >&2; exit 3");
  request.folder = folder_.path();
  request.secret_env = {{"ONE", {"DC_TEST_SECRET", ""}}, {"TWO", {"", "token"}}};
  Ending ending = Run(std::move(request));
  EXPECT_EQ(OutputOf("r1").out, "*** ***\n11 14\n");  // it had them, and what it printed of them is masked
  EXPECT_EQ(OutputOf("r1").err, "failed with ***\n");
  EXPECT_EQ(ending.summary, "exit 3: failed with ***");
  ::unsetenv("DC_TEST_SECRET");
  StartRequest missing = Shell("r2", "true");
  missing.secret_env = {{"ONE", {"DC_TEST_SECRET", ""}}};
  Ending ended = Run(std::move(missing));
  EXPECT_EQ(ended.code, 78);
  EXPECT_NE(ended.summary.find("DC_TEST_SECRET"), std::string::npos) << ended.summary;
}

}  // namespace
}  // namespace duecourse
