#include "web/store_thread.h"

#include <utility>

namespace duecourse {
namespace {

constexpr int64_t kRetryPauseMs = 200;  // a stranger's lock is gone in seconds; a try costs little
constexpr int64_t kBeatMs = 5'000;      // how exactly a downtime's begin is known after kill -9
constexpr size_t kBatchCallsMax =
    2'000;  // one commit: 20 ms of work, so that replies do not wait for a whole queue

}  // namespace

StoreThread::StoreThread(std::unique_ptr<Store> store, Reopen reopen, const Clock& clock, Log& log,
                         StoreThreadSink sink)
    : store_(std::move(store)),
      reopen_(std::move(reopen)),
      clock_(clock),
      log_(log),
      sink_(std::move(sink)),
      queue_(1u << 20),
      stop_(1),
      thread_([this] { Loop(); }) {}

StoreThread::~StoreThread() { Stop(); }

void StoreThread::Post(StoreBatch batch, uint64_t epoch) { queue_.Push({std::move(batch), epoch, nullptr}); }

void StoreThread::Run(std::function<void(Store&)> job) { queue_.Push({{}, epoch_.load(), std::move(job)}); }

void StoreThread::Stop() {
  if (!thread_.joinable()) return;
  queue_.Close();
  stop_.Close();
  thread_.join();
}

void StoreThread::Loop() {
  while (true) {
    std::vector<Item> items = queue_.TakeAll(kBeatMs);
    if (items.empty()) {
      if (queue_.closed()) break;
    } else {
      CommitAll(std::move(items));
    }
    int64_t now = clock_.Monotonic().count;
    if (now - last_beat_ >= kBeatMs && refusing_since_.load() == 0) {
      last_beat_ = now;
      Beat();
    } else if (items.empty() && refusing_since_.load() != 0) {
      Beat();  // nothing is asked of it, but somebody must notice when it is back
    }
  }
  store_->Close();
}

void StoreThread::Beat() {
  StoreFault fault = store_->Heartbeat(clock_.Wall());
  if (fault.kind == StoreFault::Kind::kNone) return Taken();
  Refused(fault);
  if (fault.reopen && OpenAgain()) Resync();
}

// As few commits as there can be, each of bounded length; replies leave after each.
void StoreThread::CommitAll(std::vector<Item> items) {
  size_t next = 0;
  while (next < items.size()) {
    if (items[next].job) {
      items[next++].job(*store_);
      continue;
    }
    std::vector<StoreCall> calls;
    size_t first = next;
    for (; next < items.size() && !items[next].job && (calls.empty() || calls.size() < kBatchCallsMax);
         ++next) {
      if (items[next].epoch != epoch_.load()) continue;
      for (StoreCall& call : items[next].batch.calls) calls.push_back(std::move(call));
    }
    if (calls.empty()) continue;
    std::vector<StoreReply> replies;
    laid_aside_ = false;
    if (!TryCommit(calls, replies)) return;
    if (laid_aside_) continue;  // the engine has what the store really holds
    size_t at = 0;
    for (size_t i = first; i < next; ++i) {
      if (items[i].epoch != epoch_.load()) continue;
      StoreReplied reply;
      reply.ticket = items[i].batch.ticket;
      for (size_t c = 0; c < items[i].batch.calls.size(); ++c)
        reply.replies.push_back(std::move(replies[at++]));
      sink_.event(std::move(reply));
    }
  }
}

// Tries until the store takes it. False only when the thread is to stop and the store still refuses.
bool StoreThread::TryCommit(const std::vector<StoreCall>& calls, std::vector<StoreReply>& replies) {
  while (true) {
    StoreFault fault;
    replies = store_->Commit(calls, fault);
    if (fault.kind == StoreFault::Kind::kNone) {
      Taken();
      return true;
    }
    Refused(fault);
    if (fault.reopen && OpenAgain()) {
      // Where nothing of it was written and the file is the one it was, it is simply tried again.
      bool same = fault.kind == StoreFault::Kind::kIo && !fault.outcome_unknown;
      if (same) continue;
      laid_aside_ = Resync();
      if (laid_aside_) return true;
    }
    if (!Pause()) {
      log_.Problem("store_gave_up",
                   Json::MakeObject().Set("calls", calls.size()).Set("error", fault.message));
      return false;
    }
  }
}

// The handle is worth nothing any more.
bool StoreThread::OpenAgain() {
  while (true) {
    Status opened = reopen_(*store_);
    if (opened.ok()) return true;
    log_.Warning("store_reopen", Json::MakeObject().Set("error", opened.error().message()));
    if (!Pause()) return false;
  }
}

// What the store really holds, for the engine. False where it cannot be read; then it is tried again by and
// by.
bool StoreThread::Resync() {
  Result<Snapshot> snapshot = store_->Load();
  if (!snapshot.ok()) {
    log_.Warning("store_reload", Json::MakeObject().Set("error", snapshot.error().message()));
    return false;
  }
  Taken();
  uint64_t epoch = epoch_.fetch_add(1) + 1;
  sink_.resync(std::move(snapshot).value(), epoch);
  return true;
}

void StoreThread::Refused(const StoreFault& fault) {
  if (refusing_since_.load() != 0) return;
  refusing_since_.store(clock_.Monotonic().count);
  sink_.event(StoreTrouble{false, fault});
}

void StoreThread::Taken() {
  if (refusing_since_.exchange(0) == 0) return;
  sink_.event(StoreTrouble{true, {}});
}

bool StoreThread::Pause() {
  stop_.TakeAll(kRetryPauseMs);
  return !stop_.closed();
}

}  // namespace duecourse
