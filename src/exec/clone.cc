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
#include <ctime>

// The C library's clone by its second name: the thread sanitizer puts its own in front of the first, which
// takes the child for a fork with memory of its own.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

namespace duecourse {
namespace {

// The child makes system calls and nothing else. What is most: the dynamic linker may look up syscall(2)
// there, and saves all vector registers meanwhile.
constexpr size_t kStackBytes = 32u << 10;
constexpr int kSignalMax = 64;

// A sandbox without close_range may allow a billion descriptors; none of ours has such a number.
constexpr rlim_t kClosedMost = 65'536;

struct Birth {
  const ExecPlan& plan;
  int error = 0;
  const char* step = "";
};

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
    if (fd == 3 && from < 0) break;
    last = fd;
    const long placed = from == fd ? ::syscall(SYS_fcntl, fd, F_SETFD, 0) : ::syscall(SYS_dup3, from, fd, 0);
    if (placed < 0) return "descriptors";
  }
  rlimit limit{};
  if (::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) < 0) return "getrlimit";
  if (::syscall(SYS_close_range, last + 1, ~0u, 0) < 0) {
    const rlim_t end = limit.rlim_cur < kClosedMost ? limit.rlim_cur : kClosedMost;
    for (rlim_t fd = static_cast<rlim_t>(last) + 1; fd < end; ++fd) ::syscall(SYS_close, fd);
  }
  if (plan.soft_files.has_value() && limit.rlim_cur > *plan.soft_files) {
    limit.rlim_cur = *plan.soft_files;
    if (::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, nullptr) < 0) return "setrlimit";
  }
  ::syscall(SYS_umask, plan.umask_bits);
  // As the kernel has it: all of it zero is SIG_DFL without flags or mask, whatever the machine.
  const char by_default[64] = {};
  const char none[kSignalMax / 8] = {};
  for (int signal = 1; signal <= kSignalMax; ++signal) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    if (::syscall(SYS_rt_sigaction, signal, by_default, nullptr, sizeof none) < 0) return "signals";
  }
  // What came before it had a session of its own was for the daemon's process group and not for it.
  const unsigned char any[kSignalMax / 8] = {255, 255, 255, 255, 255, 255, 255, 255};
  const timespec now{};
  while (::syscall(SYS_rt_sigtimedwait, any, nullptr, &now, sizeof any) > 0) {
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
  Birth birth{plan};
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
  if (born.error == 0 && !born.pidfd.valid()) {
    // A kernel before 5.2 leaves out what it does not know.
    ::kill(-born.pid, SIGKILL);
    born.error = ENOSYS;
    born.step = "pidfd";
  }
  if (born.error == 0) return born;
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(born.pid), &info, WEXITED) != 0 && errno == EINTR) {
  }
  born.pidfd.Reset();
  return born;
}

}  // namespace duecourse
