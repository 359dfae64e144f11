#include "web/store_thread.h"

#include <pthread.h>

#include <utility>

#include "base/text.h"

namespace duecourse {
namespace {

constexpr int64_t kRetryPauseMs = 200;  // a stranger's lock is gone in seconds; a try costs little
constexpr int kQuickTries = 10;         // after so many the trouble is of the longer kind
constexpr int64_t kLongPauseMs = 1'000;
constexpr int64_t kTellEveryMs = 10'000;   // the same error, again, of a store that cannot be opened
constexpr int64_t kDoubtEveryMs = 10'000;  // looking a store through takes time, and readers ask often
constexpr size_t kLostTold = 50;           // results lost at the stop that are named one by one
constexpr int64_t kBeatMs = 5'000;         // how exactly a downtime's begin is known after kill -9

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

void StoreThread::Doubt(const std::string& what) {
  const int64_t now = clock_.Monotonic().count;
  int64_t before = doubted_at_.load();
  if (before != 0 && now - before < kDoubtEveryMs) return;
  if (!doubted_at_.compare_exchange_strong(before, now)) return;
  Run([this, what](Store&) {
    StoreFault fault;
    fault.kind = StoreFault::Kind::kCorrupt;
    fault.message =
        StrCat("a reader met damage: ", what, ". Nothing starts until the store was looked through");
    Refused(fault);
    if (OpenAgain()) Resync();
  });
}

std::optional<StoreAway> StoreThread::away() {
  MutexLock lock(mutex_);
  return away_;
}

void StoreThread::Loop() {
  ::pthread_setname_np(::pthread_self(), "dc-store");  // for whoever looks at the threads of a busy daemon
  while (true) {
    std::vector<Item> items = queue_.TakeAll(refusing_since_.load() == 0 ? kBeatMs : kLongPauseMs);
    const bool idle = items.empty();
    if (idle && queue_.closed()) break;
    CommitAll(std::move(items));
    if (given_up_ > 0) continue;
    int64_t now = clock_.Monotonic().count;
    // Where it refuses and nothing is asked of it, somebody must notice when it is back.
    if (now - last_beat_ < kBeatMs && !beat_now_ && !(idle && refusing_since_.load() != 0)) continue;
    last_beat_ = now;
    beat_now_ = false;
    Beat();
    Relax();
  }
  if (given_up_ > 0) {
    std::optional<StoreAway> why = away();
    log_.Problem("store_gave_up",
                 Json::MakeObject()
                     .Set("calls", given_up_)
                     .Set("error", why ? why->fault.message : "")
                     .Set("text",
                          "the daemon stops and the store takes nothing: what was not stored is lost; "
                          "attempts whose end is not known there are judged by on_lost at the next start"));
  }
  store_->Close();
}

void StoreThread::Beat() {
  if (must_resync_ && !Resync()) return;
  StoreFault fault = store_->Heartbeat(clock_.Wall());
  if (fault.kind == StoreFault::Kind::kNone) return Taken();
  Refused(fault);
  if (fault.reopen && OpenAgain()) Resync();
}

// A burst (ten thousand starts, a new set of rules) leaves caches that nobody needs for hours.
void StoreThread::Relax() {
  const size_t since_beat = std::exchange(calls_since_beat_, 0);
  constexpr size_t kQuiet = 100;
  if (since_beat > kQuiet || calls_since_relaxed_ < kCallsToForget) return;
  calls_since_relaxed_ = 0;
  store_->Relax();
}

// As few commits as there can be, each of bounded length; replies leave after each.
void StoreThread::CommitAll(std::vector<Item> items) {
  size_t next = 0;
  while (next < items.size()) {
    if (items[next].job) {
      Item& item = items[next++];
      if (given_up_ == 0) item.job(*store_);
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
    calls_since_beat_ += calls.size();
    calls_since_relaxed_ += calls.size();
    std::vector<StoreReply> replies;
    laid_aside_ = false;
    if (given_up_ > 0 || !TryCommit(calls, replies)) {
      GiveUp(calls);
      continue;
    }
    if (laid_aside_) continue;  // the engine has what the store really holds
    size_t at = 0;
    std::vector<Event> events;
    for (size_t i = first; i < next; ++i) {
      if (items[i].epoch != epoch_.load()) continue;
      StoreReplied reply;
      reply.ticket = items[i].batch.ticket;
      for (size_t c = 0; c < items[i].batch.calls.size(); ++c)
        reply.replies.push_back(std::move(replies[at++]));
      events.emplace_back(std::move(reply));
    }
    sink_.events(std::move(events));
  }
}

// Tries until the store takes it. False only when the thread is to stop and the store still refuses.
bool StoreThread::TryCommit(const std::vector<StoreCall>& calls, std::vector<StoreReply>& replies) {
  for (int tries = 0;; ++tries) {
    if (must_resync_) {
      laid_aside_ = Resync();
      if (laid_aside_) return true;
      if (!Pause(tries)) return false;
      continue;
    }
    StoreFault fault;
    replies = store_->Commit(calls, fault);
    if (fault.kind == StoreFault::Kind::kNone) {
      beat_now_ = beat_now_ || refusing_since_.load() != 0;
      return true;
    }
    Refused(fault);
    if (fault.reopen && OpenAgain()) {
      // Where nothing of it was written and the file is the one it was, it is simply tried again. Else never:
      // what was committed unseen would be committed twice.
      must_resync_ = fault.kind != StoreFault::Kind::kIo || fault.outcome_unknown;
      if (must_resync_ || tries == 0) continue;
    }
    if (!Pause(tries)) return false;
  }
}

// The handle is worth nothing any more.
bool StoreThread::OpenAgain() {
  for (int tries = 0;; ++tries) {
    Status opened = reopen_(*store_);
    if (opened.ok()) return true;
    StoreFault fault = store_->last_fault();
    fault.message = opened.error().message();
    Refused(fault);
    TellReopen(fault.message);
    if (!Pause(tries)) return false;
  }
}

// Once, and again when something changed or some time has passed: an outage of a night is no log of its own.
void StoreThread::TellReopen(const std::string& error) {
  const int64_t now = clock_.Monotonic().count;
  if (error == told_ && now - told_at_ < kTellEveryMs) return;
  told_ = error;
  told_at_ = now;
  log_.Warning("store_reopen", Json::MakeObject().Set("error", error));
}

// The thread is to stop and the store still refuses.
void StoreThread::GiveUp(const std::vector<StoreCall>& calls) {
  for (const StoreCall& call : calls) {
    ++given_up_;
    const auto* finish = std::get_if<FinishCall>(&call);
    if (finish == nullptr || given_up_ > kLostTold) continue;
    log_.Problem("result_not_stored", Json::MakeObject()
                                          .Set("run", finish->after.id)
                                          .Set("task", finish->after.task)
                                          .Set("attempt", finish->end.number)
                                          .Set("outcome", OutcomeName(finish->end.outcome)));
  }
}

// What the store really holds, for the engine. False where it cannot be read; until it could be, nothing is
// committed.
bool StoreThread::Resync() {
  must_resync_ = true;
  Result<Snapshot> snapshot = store_->Load();
  if (!snapshot.ok()) {
    log_.Warning("store_reload", Json::MakeObject().Set("error", snapshot.error().message()));
    return false;
  }
  must_resync_ = false;
  Taken();
  uint64_t epoch = epoch_.fetch_add(1) + 1;
  sink_.resync(std::move(snapshot).value(), epoch);
  return true;
}

void StoreThread::Refused(const StoreFault& fault) {
  const int64_t now = clock_.Monotonic().count;
  {
    MutexLock lock(mutex_);
    if (away_) {
      away_->fault = fault;
      return;
    }
    away_ = StoreAway{now, clock_.Wall(), fault};
  }
  refusing_since_.store(now);
  sink_.events({StoreTrouble{false, fault}});
}

void StoreThread::Taken() {
  if (refusing_since_.exchange(0) == 0) return;
  {
    MutexLock lock(mutex_);
    away_.reset();
  }
  told_.clear();
  sink_.events({StoreTrouble{true, {}}});
}

bool StoreThread::Pause(int tries) {
  stop_.TakeAll(tries < kQuickTries ? kRetryPauseMs : kLongPauseMs);
  return !stop_.closed();
}

}  // namespace duecourse
