// What is left of attempts that a former daemon did not finish, and its end. All
// that is asked at one time shares one look at all processes; what still lives
// gets KILL without grace (nobody is there to take its result) and is waited for
// kInspectWaitMs, so that a daemon that came back knows within two seconds.
//
// A process belongs to the attempt if it is the one its marker names (id and
// start time, same boot), is in that one's session while that one lives, or
// carries store id, run id and fence in its environment. Others are left alone:
// other attempts, kept children of finished ones, and whoever got an old id.
//
// Any thread may call; nothing blocks. The sink is called from the pool.
#pragma once

#include <string>
#include <vector>

#include "base/mutex.h"
#include "exec/exec.h"
#include "exec/journal.h"
#include "exec/pool.h"

namespace duecourse {

inline constexpr int kInspectWaitMs = 1'500;

class Inspector {
 public:
  Inspector(const ExecOptions& options, const ExecSink& sink, StartJournal& journal, Pool& pool);
  void Inspect(const AttemptRef& ref, bool same_boot);

 private:
  struct Asked {
    AttemptRef ref;
    bool same_boot = false;
  };
  void Run();

  const ExecOptions& options_;
  const ExecSink& sink_;
  StartJournal& journal_;
  Pool& pool_;
  Mutex mutex_;
  std::vector<Asked> asked_ GUARDED_BY(mutex_);
};

}  // namespace duecourse
