#include "exec/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "exec/test_harness.h"

namespace duecourse {
namespace {

TEST(Process, IsNamedByItsIdAndItsStart) {
  std::optional<ProcessStat> self = ReadProcessStat(::getpid());
  ASSERT_TRUE(self.has_value());
  EXPECT_EQ(self->group, ::getpgrp());
  EXPECT_EQ(self->session, ::getsid(0));
  EXPECT_GT(self->start, 0);
  EXPECT_TRUE(OpenProcess(::getpid(), self->start).valid());
  EXPECT_FALSE(OpenProcess(::getpid(), self->start + 1).valid());
}

TEST(Process, ThereIsNoneBeyondTheLargestId) { EXPECT_FALSE(ReadProcessStat(0x3fffffff).has_value()); }

using ProcessTest = ExecutorTest;

TEST_F(ProcessTest, ANameWithSpacesAndBracketsShiftsNoField) {
  const std::string program = folder_ / "a ) S 1 (b";
  std::filesystem::copy_file("/bin/sleep", program);
  executor().Start(Command("r1", {program, "300"}));
  const pid_t pid = sink_.StartedPid("r1");
  std::optional<ProcessStat> stat = ReadProcessStat(pid);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->session, pid);
  EXPECT_EQ(stat->group, pid);
  executor().Kill({"r1", 1, 1}, KillWhy::kCancelled);
  sink_.Ended("r1");
}

TEST_F(ProcessTest, TheMarkIsReadOutOfTheEnvironment) {
  executor().Start(Command("r1", {"sleep", "300"}));
  const pid_t pid = sink_.StartedPid("r1");
  // Its environment is in place a moment after its exec is known to have worked.
  SeenProcess seen;
  const int64_t until = MonotonicMicros() + 20'000'000;
  while (!seen.marked && MonotonicMicros() < until) {
    for (const SeenProcess& process : ListProcesses(options_.store_id, true)) {
      if (process.stat.pid == pid) seen = process;
    }
  }
  EXPECT_TRUE(seen.marked);
  EXPECT_EQ(seen.run_id, "r1");
  EXPECT_EQ(seen.fence, 1);
  for (const SeenProcess& process : ListProcesses("another store", true)) EXPECT_FALSE(process.marked);
  executor().Kill({"r1", 1, 1}, KillWhy::kCancelled);
  sink_.Ended("r1");
}

TEST_F(ProcessTest, AWaitThatIsTooShortSaysWhoIsStillThere) {
  executor().Start(Command("r1", {"sleep", "300"}));
  const pid_t pid = sink_.StartedPid("r1");
  std::vector<Fd> handles;
  handles.push_back(OpenProcess(pid, ReadProcessStat(pid)->start));
  EXPECT_EQ(WaitForEnd(handles, 20), std::vector<bool>{false});
  executor().Kill({"r1", 1, 1}, KillWhy::kCancelled);
  EXPECT_EQ(WaitForEnd(handles, 20'000), std::vector<bool>{true});
  sink_.Ended("r1");
}

}  // namespace
}  // namespace duecourse
