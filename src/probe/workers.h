// Threads for looks that may hang for ever: a stat on a dead network mount
// sleeps in the kernel and cannot be interrupted. So every look has a deadline
// after which it is answered for (it timed out) and its thread is given up:
// another takes its place, and if the lost one ever comes back it says so and
// ends. All threads, the lost ones included, are at most `threads_max`.
//
// Usually `threads` work. When the oldest look has waited for kPatience although
// all of them are busy, as many again are started: looks that take long but not
// for ever do not hold up the others either.
//
// Any thread may call Submit. Callbacks come on threads of this class with no
// lock held; after the destructor has returned none comes any more.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/instant.h"

namespace duecourse {

// How a look ended for whoever waits.
enum class LookEnd {
  kDone,      // `look` has run to its end
  kTimedOut,  // it is still running, maybe for ever; `back` is called if it ever returns
  kNoThread,  // it never began: all threads hang
};

struct Look {
  // Must own (or share) all it touches: it may outlive everybody else. Should return soon once `cancelled`.
  std::function<void(const std::atomic<bool>& cancelled)> look;
  std::function<void(LookEnd)> end;  // exactly once
  std::function<void()> back;        // after kTimedOut: its thread has returned
  Millis timeout = Seconds(10);      // real time, from the start; and the longest wait for a thread
};

class Workers {
 public:
  static constexpr Millis kPatience{100};
  // How long the destructor waits for looks under way before it leaves their threads behind.
  static constexpr Millis kClosePatience = Seconds(1);

  Workers(int threads, int threads_max);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void Submit(Look look);
  // Threads that were given up and have not come back.
  int hanging() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;  // shared with the threads, of which some may never end
};

}  // namespace duecourse
