// How the process of a command is made, as posix_spawn makes it on Linux: clone(2) with CLONE_VM and
// CLONE_VFORK. Nothing is copied and the thread waits until the child's exec, so that a daemon of two
// gigabytes starts programs as fast as a small one.
//
// By our own hand, for posix_spawn knows no umask and no limits, which a child had to be given by another
// program or too late; and it maps a stack for each child and leaves the pidfd to another call, which is up
// to a tenth of what starting and ending /bin/true costs (./dev bench spawn).
//
// Any thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>

#include "base/file.h"

namespace duecourse {

// Nothing in it is owned; all of it lives until CloneAndExec returns.
struct ExecPlan {
  const char* program = nullptr;  // path; relative to cwd where it is relative
  char* const* argv = nullptr;    // as execve(2) wants them
  char* const* environment = nullptr;
  int cwd = -1;  // descriptor of the folder
  // What becomes descriptors 0 to 3, none of them below 3 itself; the last may be -1. All others are closed.
  std::array<int, 4> files{-1, -1, -1, -1};
  mode_t umask_bits = 022;
  std::optional<uint64_t> soft_files;  // RLIMIT_NOFILE at the most
};

struct Born {
  pid_t pid = 0;
  Fd pidfd;
  // Where it did not come to run the program, errno and what failed ("clone", "exec"…); nothing is left of
  // it.
  int error = 0;
  const char* step = "";
};
// In a session of its own, with no signal blocked and none ignored.
Born CloneAndExec(const ExecPlan& plan);

}  // namespace duecourse
