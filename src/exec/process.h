// Processes as /proc shows them, and ending them without ever hitting a
// stranger. A process id alone names nobody: ids are used again. A process is
// named by its id and its start time (field 22 of /proc/PID/stat, clock ticks
// since boot; or the stretch in which that lies), or by DUECOURSE_STORE_ID, DUECOURSE_RUN_ID and
// DUECOURSE_FENCE in the environment it was started with, which its descendants inherit. Signals go through a
// pidfd that was opened first and checked afterwards.
//
// All calls block for the time of a few system calls, or as long as they say;
// none is for the engine's thread. Any other thread may call.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"

namespace duecourse {

struct ProcessStat {
  pid_t pid = 0;
  char state = '?';
  pid_t group = 0;
  pid_t session = 0;
  int64_t start = 0;
  bool dead() const { return state == 'Z' || state == 'X'; }
};
// When a process was started: at `earliest` or later, at `latest` or earlier, in the ticks of
// ProcessStat::start. Noting the time before and after costs nothing; asking /proc for the one tick makes the
// kernel build and tear down its files for every process. The stretch is a tick or two, and no id comes round
// again in that.
struct ProcessBirth {
  int64_t earliest = 0;
  int64_t latest = 0;
  bool Holds(int64_t start) const { return earliest <= start && start <= latest; }
};
int64_t TicksNow();

// Nothing where there is no such process.
std::optional<ProcessStat> ReadProcessStat(pid_t pid);

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

// A pidfd of exactly this process, or an invalid one where it is gone.
Fd OpenProcess(pid_t pid, int64_t start);
bool SignalProcess(const Fd& process, int signal);  // false: gone, or not ours to signal
// Waits until all have ended, at most wait_ms real milliseconds; for each, whether it has.
std::vector<bool> WaitForEnd(const std::vector<Fd>& processes, int wait_ms);

// What became of processes that were to be ended.
struct EndedProcesses {
  std::vector<pid_t> ended;  // signalled, and gone
  std::vector<pid_t> alive;  // still there when the wait was over, or not ours to signal
};
// KILL, without grace, to every process that `pick` gives to one of `groups` (an index; -1: leave it alone),
// and what became of each group's. Looks again up to kKillRounds times, for a process may fork while we look.
// Waits at most wait_ms in all. Never picks the calling process itself.
inline constexpr int kKillRounds = 4;
std::vector<EndedProcesses> KillProcesses(const std::string& store_id, size_t groups,
                                          const std::function<int(const SeenProcess&)>& pick, int wait_ms);

}  // namespace duecourse
