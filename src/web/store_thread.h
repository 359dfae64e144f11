// The store's thread: takes what the engine asks, commits everything that is
// queued at once (no gathering), keeps what the store refuses and tries it again
// until it is taken. After a commit whose outcome nobody knows the store is
// opened anew and the engine is given what it really holds.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/queue.h"
#include "engine/events.h"

namespace duecourse {

struct StoreThreadSink {
  std::function<void(std::vector<Event>)> events;  // StoreReplied of one commit, StoreTrouble
  // The engine must lay its memory aside for this, and tag its batches with the epoch from then on; older
  // ones are dropped.
  std::function<void(Snapshot, uint64_t epoch)> resync;
};

// Why and since when the store takes nothing.
struct StoreAway {
  int64_t since_ms = 0;  // monotonic
  Instant since;
  StoreFault fault;  // as it was last met
};

class StoreThread {
 public:
  // `reopen` opens the same Store again after a fault of the handle, so that it stays its owner; errors are
  // tried again.
  using Reopen = std::function<Status(Store&)>;
  StoreThread(std::unique_ptr<Store> store, Reopen reopen, const Clock& clock, Log& log,
              StoreThreadSink sink);
  ~StoreThread();  // Stop()

  // Any thread; never waits but on a queue of a million batches.
  void Post(StoreBatch batch, uint64_t epoch);
  // A reader met damage that the writer has not seen: the store is opened anew, which looks it through. At
  // most once in ten seconds; more is not asked of it.
  void Doubt(const std::string& what);
  // Commits what is queued as long as the store takes it, closes it in order, ends the thread. What it does
  // not take then is lost, and each result that is lost is logged.
  void Stop();
  // Calls that Stop had to give up.
  size_t given_up() const { return given_up_; }
  // Milliseconds (monotonic) since which the store refuses, 0 while it takes.
  int64_t refusing_since() const { return refusing_since_.load(); }
  std::optional<StoreAway> away();
  // Runs on the store's thread between commits.
  void Run(std::function<void(Store&)> job);

 private:
  static constexpr size_t kCallsToForget = 5'000;
  struct Item {
    StoreBatch batch;
    uint64_t epoch = 0;
    std::function<void(Store&)> job;
  };
  void Loop();
  void Beat();  // a heartbeat, and what follows from its answer
  void Relax();
  void CommitAll(std::vector<Item> items);
  bool TryCommit(const std::vector<StoreCall>& calls, std::vector<StoreReply>& replies);
  bool OpenAgain();  // false when the thread is to stop before it could
  bool Resync();
  void Refused(const StoreFault& fault);
  void Taken();
  void TellReopen(const std::string& error);
  void GiveUp(const std::vector<StoreCall>& calls);
  bool Pause(int tries);  // before the next try; false when the thread is to stop

  std::unique_ptr<Store> store_;
  Reopen reopen_;
  const Clock& clock_;
  Log& log_;
  StoreThreadSink sink_;
  Queue<Item> queue_;
  Queue<int> stop_;  // closed by Stop: wakes the pause between tries
  std::atomic<uint64_t> epoch_{0};
  std::atomic<int64_t> refusing_since_{0};
  Mutex mutex_;
  std::optional<StoreAway> away_ GUARDED_BY(mutex_);
  std::atomic<int64_t> doubted_at_{0};
  std::string told_;  // the last that was logged of opening it again
  int64_t told_at_ = 0;
  int64_t last_beat_ = 0;
  bool beat_now_ = false;  // it took something after it refused: is it well again?
  size_t given_up_ = 0;    // read by others after Stop
  size_t calls_since_beat_ = 0;
  size_t calls_since_relaxed_ = kCallsToForget;  // the first time after the start, whatever that wrote
  bool laid_aside_ = false;
  bool must_resync_ = false;  // what the engine believes may not be what is stored
  std::thread thread_;
};

}  // namespace duecourse
