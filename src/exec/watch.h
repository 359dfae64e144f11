// One thread that waits for everything that commands do: output, exit, the end
// of a time. Both streams are read from the start, as fast as they come; a
// hundred hanging commands cost three descriptors each and nothing else.
//
// A command has ended when its direct child has: what is still in the pipes is
// read until nothing came for kDrainIdle, at most kDrainMax, then they are
// closed, whoever holds their other ends. A command that must end gets TERM to
// its group, the rule's grace (cut short once nobody of its session lives), and
// KILL to its group. The direct child is not reaped here, so that its id, group
// and session stay its own until the finish has looked after them.
//
// Any thread may call. Callbacks come on the watch's own thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "exec/child.h"
#include "exec/pool.h"

namespace duecourse {

inline constexpr int64_t kDrainIdleUs =
    300'000;  // real time: how pipes behave has nothing to do with a rule's clock
inline constexpr int64_t kDrainMaxUs = 5'000'000;

struct WatchOptions {
  const Clock& clock;
  Log& log;
  double clock_rate = 1.0;  // seconds of `clock` in a real one
  std::function<void(std::unique_ptr<Child>)> ended;
};

class Watch {
 public:
  explicit Watch(WatchOptions options);
  // Ends the thread. Commands that still run are let go: neither killed nor reported.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void Add(std::unique_ptr<Child> child);
  // Nothing happens where the attempt is unknown or has ended.
  void Kill(const AttemptRef& ref, KillWhy why);
  // Runs the job on the watch's thread when so much of the clock, or of real time, has gone; it must not
  // block.
  void After(Millis span, std::unique_ptr<Job> job);
  void AfterReal(int64_t us, std::unique_ptr<Job> job);
  void Stop();

 private:
  struct Watched {
    std::unique_ptr<Child> child;
    enum class State { kRunning, kTerminating, kKilling, kDraining } state = State::kRunning;
    int64_t wake_us = 0;         // when Wake looks at it next
    int64_t state_until_us = 0;  // end of the time-out, the grace or the drain
    int64_t last_data_us = 0;
  };
  struct Inbox {
    std::vector<std::pair<uint64_t, std::unique_ptr<Child>>> added;
    std::vector<std::pair<std::string, KillWhy>> kills;
    std::vector<std::pair<int64_t, std::unique_ptr<Job>>> timers;
    bool empty() const { return added.empty() && kills.empty() && timers.empty(); }
  };

  int64_t RealUs(Millis span) const;
  void Run();
  void TakeInbox();
  void Adopt(uint64_t id, std::unique_ptr<Child> child);
  void RunTimers();
  int WaitMs();
  void OnEvent(uint64_t token);
  bool ReadSome(Watched& watched, ChildStream& stream);
  void ReadAll(Watched& watched, ChildStream& stream);
  void CloseStream(ChildStream& stream);
  void OnExit(uint64_t id, Watched& watched);
  void Terminate(uint64_t id, Watched& watched, KillWhy why);
  void Wake(uint64_t id, Watched& watched);
  void WakeTerminating(uint64_t id, Watched& watched);
  void SetWake(uint64_t id, Watched& watched, int64_t at_us);
  void Done(uint64_t id);
  bool HasFollowers(pid_t session);

  const WatchOptions options_;
  Fd epoll_;
  Fd wake_;
  Mutex mutex_;
  Inbox inbox_ GUARDED_BY(mutex_);
  uint64_t next_id_ GUARDED_BY(mutex_) = 1;
  int64_t sleeps_until_us_ GUARDED_BY(mutex_) =
      0;  // when the thread wakes by itself at the latest; 0: it is awake
  std::atomic<bool> stopping_{false};
  // The thread's own.
  std::map<uint64_t, Watched> watched_;
  std::unordered_map<std::string, uint64_t> ids_;  // by attempt name; looked up, never walked
  std::set<std::pair<int64_t, uint64_t>> wakes_;   // of watched_, by wake_us
  std::multimap<int64_t, std::unique_ptr<Job>> timers_;
  std::set<pid_t> followers_;
  int64_t followers_us_ = 0;
  std::vector<char> buffer_;
  std::thread thread_;
};

}  // namespace duecourse
