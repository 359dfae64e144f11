// So many attempts at once, the others in line, first come, first served. Any
// thread.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "exec/exec.h"

namespace duecourse {

class Slots {
 public:
  explicit Slots(int count) : count_(count) {}
  int count() const { return count_; }

  // Takes a slot and gives the request back, or puts it in line.
  std::optional<StartRequest> Enter(StartRequest request) {
    MutexLock lock(mutex_);
    if (in_use_ >= count_) {
      line_.push_back(std::move(request));
      return std::nullopt;
    }
    ++in_use_;
    return request;
  }
  // Gives the slot to the first in line, which is returned, or frees it.
  std::optional<StartRequest> Leave() {
    MutexLock lock(mutex_);
    if (line_.empty()) {
      --in_use_;
      return std::nullopt;
    }
    std::optional<StartRequest> next(std::move(line_.front()));
    line_.pop_front();
    return next;
  }
  // Takes it out of the line; false where it is not in it.
  bool Drop(const AttemptRef& ref) {
    MutexLock lock(mutex_);
    return std::erase_if(line_, [&ref](const StartRequest& request) { return request.ref == ref; }) > 0;
  }

 private:
  const int count_;
  Mutex mutex_;
  std::deque<StartRequest> line_ GUARDED_BY(mutex_);
  int in_use_ GUARDED_BY(mutex_) = 0;
};

}  // namespace duecourse
