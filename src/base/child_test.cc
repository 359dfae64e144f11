#include "base/child.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "base/test_folder.h"
#include "base/text.h"

namespace duecourse {
namespace {

using Kind = ChildEnding::Kind;

ChildEnding Shell(const std::string& script, Millis timeout = Seconds(20)) {
  ChildRequest request;
  request.argv = {"sh", "-c", script};
  request.timeout = timeout;
  return RunChild(request);
}

TEST(ChildTest, EndingsAreTold) {
  struct Row {
    const char* script;
    Kind kind;
    int code;
    const char* text;
    const char* output;
  };
  const Row rows[] = {
      {"echo yes", Kind::kExit, 0, "exit 0", "yes\n"},
      {"echo out; echo err >&2; exit 3", Kind::kExit, 3, "exit 3", "out\nerr\n"},
      {"kill -9 $$", Kind::kSignal, 9, "killed by signal 9", ""},
      {"kill -TERM $$", Kind::kSignal, 15, "killed by signal 15", ""},
  };
  for (const Row& row : rows) {
    ChildEnding ending = Shell(row.script);
    EXPECT_EQ(ending.kind, row.kind) << row.script;
    EXPECT_EQ(ending.code, row.code) << row.script;
    EXPECT_EQ(ending.text, row.text) << row.script;
    EXPECT_EQ(ending.output, row.output) << row.script;
  }
}

TEST(ChildTest, WhatCannotStartSaysWhy) {
  struct Row {
    std::vector<std::string> argv;
    std::string folder;
    const char* says;
  };
  const Row rows[] = {
      {{}, "", "no command is named"},
      {{""}, "", "no command is named"},
      {{"no-such-program-here"}, "", "command not found: no-such-program-here (looked in /usr/local/sbin"},
      {{"./missing"}, "/tmp", "cannot start ./missing in /tmp: No such file or directory"},
      {{"true"}, "/no/such/folder", "in /no/such/folder: No such file or directory"},
      {{"/usr"}, "", "Permission denied"}};
  for (const Row& row : rows) {
    ChildRequest request;
    request.argv = row.argv;
    request.folder = row.folder;
    ChildEnding ending = RunChild(request);
    EXPECT_EQ(ending.kind, Kind::kNotStarted);
    EXPECT_NE(ending.text.find(row.says), std::string::npos) << ending.text;
  }
}

TEST(ChildTest, TheEnvironmentIsCleanAndTheFolderAsAsked) {
  ASSERT_EQ(::setenv("CHILD_TEST_LEAK", "leaked", 1), 0);
  ChildRequest request;
  request.argv = {"sh", "-c", "echo $CHILD_TEST_LEAK-$GIVEN-$LANG; pwd; ls /proc/self/fd | tr '\\n' ' '"};
  request.folder = "/usr";
  request.env = {{"GIVEN", "two words"}, {"LANG", "C"}};
  ChildEnding ending = RunChild(request);
  // The fourth descriptor is the folder that ls itself reads.
  EXPECT_EQ(ending.output, "-two words-C\n/usr\n0 1 2 3 ");
}

TEST(ChildTest, AChildThatReadsNothingAndALargeInputDoNotStopUs) {
  ChildRequest request;
  request.input = std::string(1 << 20, 'x');
  request.argv = {"true"};
  EXPECT_EQ(RunChild(request).text, "exit 0");
  request.argv = {"wc", "-c"};
  EXPECT_EQ(Trim(RunChild(request).output), "1048576");
}

TEST(ChildTest, OfEndlessOutputTheTailIsKeptAndTheTimeHolds) {
  ChildRequest request;
  request.argv = {"yes"};
  request.output_max = 1000;
  request.timeout = Millis{300};
  const int64_t begun = MonotonicMicros();
  ChildEnding ending = RunChild(request);
  EXPECT_LT(MonotonicMicros() - begun, 3'000'000);
  EXPECT_EQ(ending.kind, Kind::kTimedOut);
  EXPECT_EQ(ending.text, "still running after 300ms");
  EXPECT_EQ(ending.output.size(), 1000u);

  request.argv = {"sh", "-c", "yes | head -c 300000; echo; echo last words"};
  request.timeout = Seconds(20);
  ending = RunChild(request);
  EXPECT_EQ(ending.output.size(), 1000u);
  EXPECT_EQ(LastLine(ending.output, 100), "last words");
}

TEST(ChildTest, NothingThatItLeavesBehindLivesOnOrHoldsUs) {
  const std::string file = testing::TempDir() + "/child_test_" + SecureToken(6);
  const int64_t begun = MonotonicMicros();
  // The grandchild holds the pipe and would live for ever.
  ChildEnding ending = Shell(StrCat("tail -f /dev/null & echo $! > ", file, "; echo done"));
  EXPECT_LT(MonotonicMicros() - begun, 10'000'000);
  EXPECT_EQ(ending.output, "done\n");
  std::optional<int64_t> pid = ParseInteger(Trim(*ReadFile(file, 100)));
  std::filesystem::remove(file);
  ASSERT_TRUE(pid.has_value());
  // KILL was sent before RunChild returned; the process may still be on its way out, never asleep again.
  Result<std::string> state = ReadFile(StrCat("/proc/", *pid, "/stat"), 4096);
  EXPECT_TRUE(!state.ok() || state->find(") S ") == std::string::npos) << *state;
}

// In its group, in its session, in a session of its own, and there with another environment around the mark.
TEST(ChildTest, WhatLeavesItsGroupOrItsSessionIsEndedToo) {
  for (const char* leave : {"", "setsid", "setsid setsid", "env OTHER=1 setsid"}) {
    for (const char* end : {"exit 1", "while :; do :; done"}) {
      const std::string file = testing::TempDir() + "/child_test_" + SecureToken(6);
      const std::string script = StrCat(leave, " sh -c 'echo $$ > ", file, "; exec tail -f /dev/null' & ",
                                        "while [ ! -s ", file, " ]; do :; done; ", end);
      ChildEnding ending = Shell(script, *end == 'e' ? Seconds(20) : Millis{700});
      std::optional<int64_t> pid = ParseInteger(Trim(*ReadFile(file, 100)));
      std::filesystem::remove(file);
      ASSERT_TRUE(pid.has_value()) << script;
      Result<std::string> state = ReadFile(StrCat("/proc/", *pid, "/stat"), 4096);
      EXPECT_TRUE(!state.ok() || state->find(") S ") == std::string::npos) << script << "\n" << *state;
    }
  }
}

TEST(ChildTest, AChildThatIgnoresTermIsKilledAtTheDeadline) {
  ChildEnding ending = Shell("trap '' TERM INT HUP; while :; do :; done", Millis{300});
  EXPECT_EQ(ending.text, "still running after 300ms");
}

TEST(ChildTest, AChildIsEndedWhenItIsNoLongerWanted) {
  Fd cancel(::eventfd(0, EFD_CLOEXEC));
  ChildRequest request;
  request.argv = {"tail", "-f", "/dev/null"};
  request.cancel_fd = cancel.get();
  const uint64_t one = 1;
  ASSERT_EQ(::write(cancel.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  const int64_t begun = MonotonicMicros();
  ChildEnding ending = RunChild(request);
  EXPECT_EQ(ending.kind, Kind::kCancelled);
  EXPECT_LT(MonotonicMicros() - begun, 5'000'000);
}

TEST(ChildTest, TheLastLineIsSafeToShow) {
  struct Row {
    std::string output;
    const char* line;
  };
  const Row rows[] = {{"", ""},
                      {"\n\n", ""},
                      {"one\ntwo\n\n", "two"},
                      {"progress 1\rprogress 2", "progress 2"},
                      {"\x1b[31mred\x1b[0m\n", "\\x1b[31mred\\x1b[0m"},
                      {"bad \xff byte", "bad \xEF\xBF\xBD byte"},
                      {"1234567890123456789é12345", "1234567890123456789…"}};
  for (const Row& row : rows) EXPECT_EQ(LastLine(row.output, 20), row.line);
}

// A copy of a store may be served beside the first: what the living daemon started is left alone.
TEST(ChildTest, OnlyWhatADeadProcessLeftIsEndedLater) {
  const TestFolder folder;
  const std::string living = folder.path() + "/living", orphan = folder.path() + "/orphan";
  const std::string store = StrCat("STORE_OF_TEST=", SecureToken(6));
  // As a process that is no more would have left it: its mark names a process that is not there.
  ChildRequest made;
  made.argv = {"sh", "-c",
               StrCat("env ", kChildMark, "=1.999999999999.x ", store, " setsid sh -c 'echo $$ > ", orphan,
                      "; exec tail -f /dev/null' & while [ ! -s ", orphan, " ]; do :; done")};
  ASSERT_EQ(RunChild(made).text, "exit 0");
  const Fd cancel(::eventfd(0, EFD_CLOEXEC));
  ChildRequest request;
  request.argv = {"sh", "-c", StrCat("echo $$ > ", living, "; exec tail -f /dev/null")};
  request.env = {{store.substr(0, store.find('=')), store.substr(store.find('=') + 1)}};
  request.cancel_fd = cancel.get();
  request.timeout = Seconds(60);
  ChildEnding ending;
  std::thread runner([&] { ending = RunChild(request); });
  while (!ReadFile(living, 100).ok() || ReadFile(living, 100)->empty()) std::this_thread::yield();
  EXPECT_EQ(EndChildrenOf("STORE_OF_TEST", store.substr(store.find('=') + 1)), 1u);
  const uint64_t one = 1;
  ASSERT_EQ(::write(cancel.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  runner.join();
  EXPECT_EQ(ending.kind, Kind::kCancelled) << ending.text;
  const std::string stat = StrCat("/proc/", Trim(*ReadFile(orphan, 100)), "/stat");
  Result<std::string> state = ReadFile(stat, 4096);
  EXPECT_TRUE(!state.ok() || state->find(") S ") == std::string::npos) << *state;
}

}  // namespace
}  // namespace duecourse
