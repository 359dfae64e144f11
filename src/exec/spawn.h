// Starts one program in a session of its own, with nothing of the daemon's but
// what is named here: descriptors 0 to 2, default signals, a given environment,
// folder, umask and limit. How a process is made: exec/clone.h.
//
// Another user's goes through our own program's verb __exec (exec/helper.h),
// which ends in the same exec: a process that shares our memory must not become
// somebody else. Blocks until the program runs or failed to; any thread.
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
  int in = -1;   // what is to be descriptor 0; above 2 itself
  mode_t umask_bits = 022;
  std::optional<uint64_t> soft_files;  // RLIMIT_NOFILE: our own was raised, which programs need not expect
  std::optional<Account> account;      // where it is not our own: through the helper
  std::string helper_program;
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
  // The machine has no room at the moment (descriptors, processes, memory), or somebody is writing the
  // program: the same may succeed later.
  bool exhausted() const;
};
std::variant<Spawned, SpawnFault> Spawn(const SpawnPlan& plan);

}  // namespace duecourse
