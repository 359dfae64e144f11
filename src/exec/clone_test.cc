// What CloneAndExec leaves behind, and what a child of it finds that its own words cannot tell.
#include "exec/clone.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

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
  void ExpectNothingLeft(const Born& born) {
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
  Run("");
  plan_.program = "/no/such/program";
  const Born born = CloneAndExec(plan_);
  EXPECT_EQ(born.error, ENOENT);
  EXPECT_STREQ(born.step, "exec");
  ExpectNothingLeft(born);
}

TEST_F(CloneTest, AFolderThatCannotBeEnteredIsNamedAndNotTheProgram) {
  Run("");
  plan_.cwd = null_.get();
  const Born born = CloneAndExec(plan_);
  EXPECT_EQ(born.error, ENOTDIR);
  EXPECT_STREQ(born.step, "chdir");
  ExpectNothingLeft(born);
}

TEST_F(CloneTest, ADescriptorThatIsNoneIsToldAndNothingIsLeft) {
  Run("");
  plan_.files[1] = 999'999;
  const Born born = CloneAndExec(plan_);
  EXPECT_EQ(born.error, EBADF);
  EXPECT_STREQ(born.step, "descriptors");
  ExpectNothingLeft(born);
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
