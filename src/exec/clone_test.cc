// What CloneAndExec leaves behind, and what a child of it finds that its own words cannot tell.
#include "exec/clone.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>
#include <thread>

namespace duecourse {
namespace {

class CloneTest : public ::testing::Test {
 protected:
  CloneTest() {
    plan_.program = "/bin/sh";
    plan_.argv = argv_;
    plan_.environment = environment_;
    plan_.cwd = root_.get();
    plan_.files = {null_.get(), null_.get(), null_.get(), -1};
  }
  // The exit code, or the signal's number below zero.
  static int EndOf(const Born& born) {
    pollfd end{born.pidfd.get(), POLLIN, 0};
    while (::poll(&end, 1, -1) < 0 && errno == EINTR) {
    }
    siginfo_t info{};
    EXPECT_EQ(::waitid(P_PIDFD, static_cast<id_t>(born.pidfd.get()), &info, WEXITED), 0);
    EXPECT_EQ(info.si_pid, born.pid);
    return info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
  }
  void ExpectFault(int error, const char* step) {
    Run("");
    const Born born = CloneAndExec(plan_);
    EXPECT_EQ(born.error, error);
    EXPECT_STREQ(born.step, step);
    EXPECT_FALSE(born.pidfd.valid());
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD) << "no child, dead or alive";
  }
  void Run(const char* script) { argv_[2] = const_cast<char*>(script); }

  const Fd root_{::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  const Fd null_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  std::string sh_ = "sh", c_ = "-c";
  char* argv_[4] = {sh_.data(), c_.data(), nullptr, nullptr};
  char* environment_[1] = {nullptr};
  ExecPlan plan_;
};

TEST_F(CloneTest, ItsPidfdTellsOfItsEndAndIsNotInherited) {
  Run("exit 7");
  Born born = CloneAndExec(plan_);
  ASSERT_EQ(born.error, 0);
  EXPECT_NE(::fcntl(born.pidfd.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(EndOf(born), 7);
}

TEST_F(CloneTest, AProgramThatIsNotThereIsToldAndNothingIsLeft) {
  plan_.program = "/no/such/program";
  ExpectFault(ENOENT, "exec");
}

TEST_F(CloneTest, AFolderThatCannotBeEnteredIsNamedAndNotTheProgram) {
  plan_.cwd = null_.get();
  ExpectFault(ENOTDIR, "chdir");
}

TEST_F(CloneTest, ADescriptorThatIsNoneIsToldAndNothingIsLeft) {
  plan_.files[1] = 999'999;
  ExpectFault(EBADF, "descriptors");
}

TEST_F(CloneTest, AStandardDescriptorThatWasForgottenIsNotTheDaemons) {
  plan_.files[0] = -1;
  ExpectFault(EBADF, "descriptors");
}

// Signals 32 and 33 are the C library's own and only the kernel's call reaches them.
TEST_F(CloneTest, WhateverWasIgnoredIsNot) {
  const char none[8] = {};
  struct {
    void (*handler)(int) = SIG_IGN;
    char rest[56] = {};
  } ignore;
  const char by_default[64] = {};
  for (int signal : {2, 13, 32, 33, 64}) {
    ASSERT_EQ(::syscall(SYS_rt_sigaction, signal, &ignore, nullptr, sizeof none), 0) << signal;
  }
  Run("test \"$(sed -n 's/^SigIgn:.//p' /proc/self/status)\" = 0000000000000000");
  const Born born = CloneAndExec(plan_);
  for (int signal : {2, 13, 32, 33, 64})
    ::syscall(SYS_rt_sigaction, signal, by_default, nullptr, sizeof none);
  ASSERT_EQ(born.error, 0);
  EXPECT_EQ(EndOf(born), 0);
}

// As on a kernel before 5.9, or in a sandbox that never heard of it. In a process of its own, for a filter
// stays.
TEST_F(CloneTest, WithoutCloseRangeDescriptorsAreClosedAllTheSame) {
  const Fd leaky(::open("/", O_RDONLY | O_DIRECTORY));
  Run("test \"$(echo /proc/self/fd/*)\" = '/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3'");
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    sock_filter refuse[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_close_range},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    const sock_fprog filter = {4, refuse};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const bool set = ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
    const bool refused = ::syscall(SYS_close_range, 900, 900, 0) < 0;
    const Born born = CloneAndExec(plan_);
    ::_exit(!set || !refused ? 100 : born.error != 0 ? 101 : EndOf(born));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "100: no filter here; 101: not started";
}

// A Ctrl-C or a closed terminal is the daemon's, also where it comes while a command is being started.
TEST_F(CloneTest, ASignalToTheDaemonsGroupIsNoneToWhatItStarts) {
  Run("exit 0");
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    ::setsid();
    ::signal(SIGUSR1, SIG_IGN);
    std::atomic<bool> over = false;
    std::thread loud([&over] {
      while (!over.load()) ::killpg(0, SIGUSR1);
    });
    int wrong = 0;
    for (int i = 0; i < 200; ++i) {
      const Born born = CloneAndExec(plan_);
      if (born.error != 0 || EndOf(born) != 0) ++wrong;
    }
    over.store(true);
    loud.join();
    ::_exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST_F(CloneTest, TheParentsSignalMaskAndUmaskAreAsTheyWere) {
  sigset_t blocked, before, after;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const mode_t umask_before = ::umask(077);
  plan_.umask_bits = 0;
  Run("kill -USR2 $$; exit 1");
  const Born born = CloneAndExec(plan_);
  ASSERT_EQ(born.error, 0);
  EXPECT_EQ(EndOf(born), -SIGUSR2) << "what its parent blocks is not blocked";
  ::pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(::sigismember(&after, SIGUSR2), 1);
  EXPECT_EQ(::sigismember(&after, SIGTERM), ::sigismember(&before, SIGTERM));
  EXPECT_EQ(::umask(umask_before), 077u);
}

TEST_F(CloneTest, ItIsInASessionOfItsOwn) {
  Run("test \"$(cut -d ' ' -f 6 /proc/self/stat)\" = $$");
  const Born born = CloneAndExec(plan_);
  ASSERT_EQ(born.error, 0);
  EXPECT_EQ(EndOf(born), 0);
}

}  // namespace
}  // namespace duecourse
