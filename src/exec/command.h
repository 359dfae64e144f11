// Commands, from Start to their Ending: a queue for a slot, the launch, the
// watch, the finish. No attempt fails for want of a slot, a descriptor or a
// process: it waits, first come, first served.
//
// Any thread may call; nothing blocks. The sink is called from the pool's
// threads: `started` before `ended`, and `ended` once for each Start.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "exec/finish.h"
#include "exec/launch.h"
#include "exec/pool.h"
#include "exec/slots.h"
#include "exec/watch.h"

namespace duecourse {

// How often a launch is tried again when the machine has no room, and how long after each.
inline constexpr int kLaunchTriesMax = 100;
inline constexpr int64_t kLaunchPauseUs = 100'000;

class CommandRunner {
 public:
  struct Options {
    const ExecOptions& exec;
    const ExecSink& sink;
    const Clock& clock;
    Log& log;
    StartJournal& journal;
    int slots = 1;
    uint64_t soft_files = 1024;
  };
  // The pool must be stopped before this goes, and outlive it.
  CommandRunner(Options options, Pool& pool);
  void Start(StartRequest request);
  void Kill(const AttemptRef& ref, KillWhy why);
  bool Withdraw(const AttemptRef& ref, const std::string& why);  // false where it is not here
  std::string WaitsFor(const AttemptRef& ref) { return slots_.WaitsFor(ref); }
  Watch& watch() { return watch_; }
  void Stop() { watch_.Stop(); }

 private:
  struct Place {
    bool watched = false;
    std::optional<KillWhy> kill;  // asked for before it was watched
    std::string withdrawn;        // why, where that was asked for while it had a slot and had not begun
  };

  bool LeaveLine(const AttemptRef& ref, const std::string& why);
  void PostLaunch(StartRequest request, int tries);
  void Launch(StartRequest request, int tries);
  void OnRunning(std::unique_ptr<Child> child);
  void PostFinish(std::unique_ptr<Child> child);
  void Finish(std::unique_ptr<Child> child);
  void PostCleanUp(std::unique_ptr<Child> child);
  void CleanUp();
  void Report(std::unique_ptr<Child> child);
  void End(const AttemptRef& ref, Ending ending);
  void NoteForSweep(const Child& child);
  void Sweep();

  const Options options_;
  Pool& pool_;
  const Launcher launcher_;
  const Finisher finisher_;
  Slots slots_;
  Mutex mutex_;
  std::unordered_map<std::string, Place> places_ GUARDED_BY(mutex_);  // of all that have not ended, by name
  std::vector<std::unique_ptr<Child>> to_clean_ GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, int64_t>> to_sweep_ GUARDED_BY(mutex_);  // run and fence
  Watch watch_;  // last: its callbacks use all of the above
};

}  // namespace duecourse
