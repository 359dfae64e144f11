// The store's thread: takes what the engine asks, commits everything that is
// queued at once (no gathering), keeps what the store refuses and tries it again
// until it is taken. After a commit whose outcome nobody knows the store is
// opened anew and the engine is given what it really holds.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/queue.h"
#include "engine/events.h"

namespace duecourse {

struct StoreThreadSink {
  std::function<void(Event)> event;  // StoreReplied, StoreTrouble
  // The engine must lay its memory aside for this, and tag its batches with the epoch from then on; older
  // ones are dropped.
  std::function<void(Snapshot, uint64_t epoch)> resync;
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
  // Commits what is queued as long as the store takes it, closes it in order, ends the thread.
  void Stop();
  // Milliseconds (monotonic) since which the store refuses, 0 while it takes.
  int64_t refusing_since() const { return refusing_since_.load(); }
  // Runs on the store's thread between commits, e.g. a backup.
  void Run(std::function<void(Store&)> job);

 private:
  struct Item {
    StoreBatch batch;
    uint64_t epoch = 0;
    std::function<void(Store&)> job;
  };
  void Loop();
  void Beat();  // a heartbeat, and what follows from its answer
  void CommitAll(std::vector<Item> items);
  bool TryCommit(const std::vector<StoreCall>& calls, std::vector<StoreReply>& replies);
  bool OpenAgain();  // false when the thread is to stop before it could
  bool Resync();
  void Refused(const StoreFault& fault);
  void Taken();
  bool Pause();  // before the next try; false when the thread is to stop

  std::unique_ptr<Store> store_;
  Reopen reopen_;
  const Clock& clock_;
  Log& log_;
  StoreThreadSink sink_;
  Queue<Item> queue_;
  Queue<int> stop_;  // closed by Stop: wakes the pause between tries
  std::atomic<uint64_t> epoch_{0};
  std::atomic<int64_t> refusing_since_{0};
  int64_t last_beat_ = 0;
  bool stopping_ = false;
  bool laid_aside_ = false;
  std::thread thread_;
};

}  // namespace duecourse
