// Starts one program in a session of its own, with nothing of the daemon's but
// what is named here: descriptors 0 (/dev/null), 1 and 2 (pipes), default
// signals, a given environment and folder. posix_spawn, never fork: a daemon of
// two gigabytes starts programs as fast as a small one.
//
// A umask, user or limit that posix_spawn cannot set goes through our own
// program's verb __exec (exec/helper.h), which ends in the same exec. Blocks
// until the program runs or failed to; any thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/file.h"
#include "exec/environment.h"
#include "exec/process.h"

namespace duecourse {

struct SpawnPlan {
  std::string program;            // path; relative to the folder where it is relative
  std::vector<std::string> argv;  // not empty
  std::vector<std::string> environment;
  int cwd = -1;  // descriptor of the folder
  // Through the helper, where any is set.
  std::string helper_program;
  std::optional<int> umask_bits;
  std::optional<Account> account;
  std::optional<uint64_t> soft_files;  // RLIMIT_NOFILE: our own was raised, which programs need not expect
};

struct Spawned {
  pid_t pid = 0;
  ProcessBirth birth;
  Fd pidfd;
  Fd out;  // read ends, not blocking
  Fd err;
};
// Nothing runs and nothing is left.
struct SpawnFault {
  int error = 0;
  std::string step;  // "exec", "setuid", "pipe"…
  // The machine has no room at the moment (descriptors, processes, memory): the same may succeed later.
  bool exhausted() const;
};
std::variant<Spawned, SpawnFault> Spawn(const SpawnPlan& plan);

}  // namespace duecourse
