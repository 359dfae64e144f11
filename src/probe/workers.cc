#include "probe/workers.h"

#include <algorithm>
#include <deque>
#include <list>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace duecourse {
namespace {

struct Waiting {
  Look look;
  int64_t since_us = 0;
  int64_t deadline_us = 0;
};

struct Running {
  enum class Phase { kLooking, kTelling, kLost };
  Look look;
  std::atomic<bool> cancelled = false;
  int64_t deadline_us = 0;
  Phase phase = Phase::kLooking;
};

using Call = std::pair<std::function<void(LookEnd)>, LookEnd>;

int64_t Micros(Millis span) { return std::clamp<int64_t>(span.count, 0, Days(1).count) * 1000; }

}  // namespace

struct Workers::State {
  State(int usual, int most) : threads(usual), threads_max(most) {}

  const int threads;
  const int threads_max;
  mutable Mutex mutex;
  CondVar work;    // something waits, or the end
  CondVar change;  // for the watch and the destructor
  bool closing GUARDED_BY(mutex) = false;
  std::deque<Waiting> waiting GUARDED_BY(mutex);
  std::list<Running> running GUARDED_BY(mutex);
  int alive GUARDED_BY(mutex) = 0;  // threads that are not lost
  int idle GUARDED_BY(mutex) = 0;
  int starting GUARDED_BY(mutex) = 0;  // of the living: not at their first look yet
  int lost GUARDED_BY(mutex) = 0;
  int64_t grown_us GUARDED_BY(mutex) = 0;  // when one more thread was last asked for
  bool watch_idle GUARDED_BY(mutex) = false;
  std::thread watch GUARDED_BY(mutex);

  static void Work(const std::shared_ptr<State>& state);
  void StartThread(const std::shared_ptr<State>& self) REQUIRES(mutex);
  static void Watch(const std::shared_ptr<State>& state);
  void StartWatch(const std::shared_ptr<State>& self) REQUIRES(mutex);
  // More waits than threads are free, or about to be, for.
  bool Short() const REQUIRES(mutex) { return waiting.size() > static_cast<size_t>(idle + starting); }
  // Gives up what is overdue; answers what is to be called for it.
  std::vector<Call> TakeOverdue(int64_t now_us) REQUIRES(mutex);
};

void Workers::State::StartThread(const std::shared_ptr<State>& self) {
  grown_us = MonotonicMicros();
  if (alive + lost >= threads_max) return;
  try {
    std::thread([self] { Work(self); }).detach();
    ++alive;
    ++starting;
  } catch (const std::system_error&) {
    // The machine has no more threads. Those there are go on; what waits too long is told kNoThread.
  }
}

void Workers::State::StartWatch(const std::shared_ptr<State>& self) {
  try {
    watch = std::thread([self] { Watch(self); });
  } catch (const std::system_error&) {
    // The next Submit tries again; until then nothing is given up.
  }
}

void Workers::State::Work(const std::shared_ptr<State>& state) {
  State& s = *state;
  bool lost = false;
  {
    MutexLock lock(s.mutex);
    --s.starting;
    ++s.idle;
  }
  while (!lost) {
    std::list<Running>::iterator mine;
    {
      MutexLock lock(s.mutex);
      while (s.waiting.empty() && !s.closing && s.alive <= s.threads) s.work.Wait(s.mutex);
      --s.idle;
      if (s.closing || s.waiting.empty()) break;
      s.running.emplace_front();
      mine = s.running.begin();
      mine->look = std::move(s.waiting.front().look);
      mine->deadline_us = MonotonicMicros() + Micros(mine->look.timeout);
      s.waiting.pop_front();
    }
    mine->look.look(mine->cancelled);
    bool silent = false;
    {
      MutexLock lock(s.mutex);
      lost = mine->phase == Running::Phase::kLost;
      silent = s.closing;
      if (!lost) mine->phase = Running::Phase::kTelling;
      if (lost) --s.lost;
    }
    if (!silent && !lost) mine->look.end(LookEnd::kDone);
    if (!silent && lost && mine->look.back) mine->look.back();
    std::list<Running> over;  // destroyed after the lock is given back: a look may own a lot
    MutexLock lock(s.mutex);
    over.splice(over.begin(), s.running, mine);
    if (!lost) ++s.idle;
    s.change.NotifyAll();
  }
  if (lost) return;  // it was taken off the living when it was given up
  MutexLock lock(s.mutex);
  --s.alive;
  s.change.NotifyAll();
}

std::vector<Call> Workers::State::TakeOverdue(int64_t now_us) {
  std::vector<Call> calls;
  for (Running& one : running) {
    if (one.phase != Running::Phase::kLooking || one.deadline_us > now_us) continue;
    one.phase = Running::Phase::kLost;
    one.cancelled = true;
    --alive;
    ++lost;
    calls.emplace_back(one.look.end, LookEnd::kTimedOut);
  }
  for (auto one = waiting.begin(); one != waiting.end();) {
    if (one->deadline_us > now_us) {
      ++one;
      continue;
    }
    calls.emplace_back(std::move(one->look.end), LookEnd::kNoThread);
    one = waiting.erase(one);
  }
  return calls;
}

void Workers::State::Watch(const std::shared_ptr<State>& state) {
  State& s = *state;
  while (true) {
    std::vector<Call> calls;
    {
      MutexLock lock(s.mutex);
      if (s.closing) return;
      const int64_t now_us = MonotonicMicros();
      calls = s.TakeOverdue(now_us);
      if (s.Short()) {
        const int64_t since_us = std::max(s.waiting.front().since_us, s.grown_us);
        const bool grow = now_us - since_us >= Micros(kPatience);
        for (int i = 0; i < s.threads && s.Short() && (grow || s.alive < s.threads); ++i)
          s.StartThread(state);
      }
      if (calls.empty()) {
        s.watch_idle = s.waiting.empty() && s.running.empty();
        int64_t wait_us = Micros(kPatience);
        for (const Running& one : s.running) {
          if (one.phase == Running::Phase::kLooking) wait_us = std::min(wait_us, one.deadline_us - now_us);
        }
        if (s.watch_idle) {
          s.change.Wait(s.mutex);
        } else {
          s.change.WaitFor(s.mutex, wait_us / 1000 + 1);
        }
        s.watch_idle = false;
      }
    }
    for (Call& call : calls) call.first(call.second);
  }
}

Workers::Workers(int threads, int threads_max)
    : state_(std::make_shared<State>(std::max(threads, 1), std::max(threads_max, threads))) {}

Workers::~Workers() {
  std::thread watch;
  {
    MutexLock lock(state_->mutex);
    state_->closing = true;
    state_->waiting.clear();
    for (Running& one : state_->running) one.cancelled = true;
    watch.swap(state_->watch);
    state_->work.NotifyAll();
    state_->change.NotifyAll();
  }
  if (watch.joinable()) watch.join();
  MutexLock lock(state_->mutex);
  const int64_t deadline_us = MonotonicMicros() + Micros(kClosePatience);
  while (state_->alive > 0 && MonotonicMicros() < deadline_us) {
    state_->change.WaitFor(state_->mutex, kPatience.count);
  }
  for (Running& one : state_->running) {
    if (one.phase != Running::Phase::kLooking) continue;
    one.phase = Running::Phase::kLost;
    --state_->alive;
    ++state_->lost;
  }
  // What is telling somebody right now is waited for: its listener goes away after us.
  while (state_->alive > 0) state_->change.Wait(state_->mutex);
}

void Workers::Submit(Look look) {
  MutexLock lock(state_->mutex);
  if (state_->closing) return;
  const int64_t now_us = MonotonicMicros();
  const int64_t deadline_us = now_us + Micros(look.timeout);
  state_->waiting.push_back({std::move(look), now_us, deadline_us});
  if (state_->Short() && state_->alive < state_->threads) state_->StartThread(state_);
  if (!state_->watch.joinable()) state_->StartWatch(state_);
  state_->work.NotifyOne();
  if (state_->watch_idle) state_->change.NotifyAll();
}

int Workers::hanging() const {
  MutexLock lock(state_->mutex);
  return state_->lost;
}

}  // namespace duecourse
