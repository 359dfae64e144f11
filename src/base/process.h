// Processes as /proc shows them, and ending them without ever hitting a
// stranger. A process id alone names nobody: ids are used again. A process is
// named by its id and its start time (field 22 of /proc/PID/stat, clock ticks
// since boot), or by a variable in the environment it was started with, which its descendants inherit.
// Signals go through a pidfd that was opened first and checked afterwards.
//
// All calls block for the time of a few system calls, or as long as they say;
// none is for the engine's thread. Any other thread may call.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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
int64_t TicksNow();  // as ProcessStat::start counts

// Nothing where there is no such process.
std::optional<ProcessStat> ReadProcessStat(pid_t pid);
// All processes that live (no zombies).
std::vector<ProcessStat> ListProcessStats();
// What it was started with, NAME=value and NUL each; empty where it may not be read, where the process is of
// the kernel, and for an instant in the middle of an exec.
std::string ProcessEnvironment(pid_t pid);
// The value of NAME in there. Of several the last counts, as in a program that takes ours.
std::string_view EnvironmentValue(std::string_view environment, std::string_view name);

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
std::vector<EndedProcesses> KillPicked(size_t groups, const std::function<int(const ProcessStat&)>& pick,
                                       int wait_ms);

}  // namespace duecourse
