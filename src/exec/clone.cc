#include "exec/clone.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

// The C library's clone by its second name: the thread sanitizer puts its own in front of the first, which
// takes the child for a fork with memory of its own.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

namespace duecourse {
namespace {

// The child makes system calls and nothing else. What is most: the dynamic linker may look up syscall(2)
// there, and saves all vector registers meanwhile.
constexpr size_t kStackBytes = 32u << 10;
constexpr int kSignalMax = 64;

struct Birth {
  const ExecPlan& plan;
  const std::vector<int>& signals;  // to be as they are by default
  int error = 0;
  const char* step = "";
};

// Those that this process ignores or catches, as its first spawn finds them: they are set when it starts and
// then left. But SIGPIPE some libraries turn off for a while.
const std::vector<int>& ChangedSignals() {
  static const std::vector<int> signals = [] {
    std::vector<int> changed;
    for (int signal = 1; signal <= kSignalMax; ++signal) {
      struct sigaction action {};
      const bool known = ::sigaction(signal, nullptr, &action) == 0;
      if (signal == SIGPIPE || (known && action.sa_handler != SIG_DFL)) changed.push_back(signal);
    }
    return changed;
  }();
  return signals;
}

// The two functions that run in the child do so in the parent's memory: they allocate nothing, take no lock,
// and go past whatever a sanitizer would note about them.
#define DC_IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

// Returns only where a step failed: its name, and its errno.
DC_IN_CHILD const char* Become(const Birth& birth) {
  const ExecPlan& plan = birth.plan;
  if (::syscall(SYS_setsid) < 0) return "setsid";
  if (::syscall(SYS_fchdir, plan.cwd) < 0) return "chdir";
  int last = 0;
  for (int fd = 0; fd < 4; ++fd) {
    const int from = plan.files.data()[fd];
    if (from < 0) continue;
    last = fd;
    const long placed = from == fd ? ::syscall(SYS_fcntl, fd, F_SETFD, 0) : ::syscall(SYS_dup3, from, fd, 0);
    if (placed < 0) return "descriptors";
  }
  rlimit limit{};
  if (::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) < 0) return "getrlimit";
  // A kernel or a sandbox that does not have close_range: one by one.
  if (::syscall(SYS_close_range, last + 1, ~0u, 0) < 0) {
    for (rlim_t fd = static_cast<rlim_t>(last) + 1; fd < limit.rlim_cur; ++fd) ::syscall(SYS_close, fd);
  }
  if (plan.soft_files.has_value() && limit.rlim_cur > *plan.soft_files) {
    limit.rlim_cur = *plan.soft_files;
    if (::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, nullptr) < 0) return "setrlimit";
  }
  ::syscall(SYS_umask, plan.umask_bits);
  // As the kernel has it: all of it zero is SIG_DFL without flags or mask, whatever the machine.
  const char by_default[64] = {};
  const char none[kSignalMax / 8] = {};
  for (size_t i = 0; i < birth.signals.size(); ++i) {
    if (::syscall(SYS_rt_sigaction, birth.signals.data()[i], by_default, nullptr, sizeof none) < 0)
      return "signals";
  }
  if (::syscall(SYS_rt_sigprocmask, SIG_SETMASK, none, nullptr, sizeof none) < 0) return "signals";
  ::syscall(SYS_execve, plan.program, plan.argv, plan.environment);
  return "exec";
}

DC_IN_CHILD int Child(void* argument) {
  Birth& birth = *static_cast<Birth*>(argument);
  birth.step = Become(birth);
  birth.error = errno;
  ::syscall(SYS_exit_group, 127);
  return 127;
}

}  // namespace

Born CloneAndExec(const ExecPlan& plan) {
  Birth birth{plan, ChangedSignals(), 0, ""};
  // The child's, on our own stack: we sleep until it has become another program.
  alignas(16) std::byte stack[kStackBytes];
  sigset_t all, before;
  ::sigfillset(&all);
  // No handler of ours may run in the child.
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  int pidfd = -1;
  Born born;
  born.pid =
      ::__clone(&Child, stack + kStackBytes, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &birth, &pidfd);
  const int clone_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (born.pid < 0) {
    born.error = clone_error;
    born.step = "clone";
    return born;
  }
  born.pidfd = Fd(pidfd);
  born.error = birth.error;
  born.step = birth.step;
  if (born.error == 0) return born;
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED) != 0 && errno == EINTR) {
  }
  born.pidfd.Reset();
  return born;
}

}  // namespace duecourse
