// The processes of attempts: whose a process is says DUECOURSE_STORE_ID, DUECOURSE_RUN_ID and
// DUECOURSE_FENCE in the environment it was started with, which its descendants inherit; or its id with the
// stretch in which it was started. What a process is at all is in base/process.h.
//
// All calls block for the time of a few system calls, or as long as they say;
// none is for the engine's thread. Any other thread may call.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/process.h"

namespace duecourse {

// When a process was started: at `earliest` or later, at `latest` or earlier, in the ticks of
// ProcessStat::start. Noting the time before and after costs nothing; asking /proc for the one tick makes the
// kernel build and tear down its files for every process. The stretch is a tick or two, and no id comes round
// again in that.
struct ProcessBirth {
  int64_t earliest = 0;
  int64_t latest = 0;
  bool Holds(int64_t start) const { return earliest <= start && start <= latest; }
};

struct SeenProcess {
  ProcessStat stat;
  bool marked = false;  // its environment could be read and carries our store id
  std::string run_id;   // where marked
  int64_t fence = 0;
};
// All processes that live (no zombies). With `environments`, the mark of each is read too; without, only the
// stat.
std::vector<SeenProcess> ListProcesses(const std::string& store_id, bool environments);
// Sessions that have a living member other than their leader.
std::set<pid_t> SessionsWithFollowers();

// KillPicked with the mark of each process read.
std::vector<EndedProcesses> KillProcesses(const std::string& store_id, size_t groups,
                                          const std::function<int(const SeenProcess&)>& pick, int wait_ms);

}  // namespace duecourse
