// Attempts that do nothing, for tests, drills and benches: each ends as its rule
// says, at once or after a time of the clock, without a process, a thread or a
// slot. One that lasts writes a start marker, so that a crash in its middle
// looks like that of a command; one that ends at once does not.
//
// Any thread may call; nothing blocks. The sink is called from the pool.
#pragma once

#include <string>
#include <unordered_set>

#include "base/mutex.h"
#include "exec/exec.h"
#include "exec/journal.h"
#include "exec/pool.h"
#include "exec/watch.h"

namespace duecourse {

class NoopRunner {
 public:
  NoopRunner(const ExecSink& sink, StartJournal& journal, Pool& pool, Watch& timers);
  void Start(StartRequest request);
  void Kill(const AttemptRef& ref, KillWhy why);

 private:
  void Begin(const StartRequest& request);
  void End(const AttemptRef& ref, Ending ending);

  const ExecSink& sink_;
  StartJournal& journal_;
  Pool& pool_;
  Watch& timers_;
  Mutex mutex_;
  std::unordered_set<std::string> running_
      GUARDED_BY(mutex_);  // names; whoever takes one out reports its end
};

}  // namespace duecourse
