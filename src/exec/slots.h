// So many attempts at once, the others in line, first come, first served. Any
// thread.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/text.h"
#include "exec/exec.h"
#include "exec/launch.h"

namespace duecourse {

class Slots {
 public:
  // `what`: "command", as people are told of it.
  Slots(int count, const char* what) : count_(count), what_(what) {}
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
  // Takes it out of the line, and gives how it ended; nothing where it is not in it.
  std::optional<Ending> Withdraw(const AttemptRef& ref, const std::string& why) {
    MutexLock lock(mutex_);
    const size_t left = std::erase_if(line_, [&ref](const StartRequest& one) { return one.ref == ref; });
    if (left == 0) return std::nullopt;
    return NotStartedEnding(StrCat(why, " while it waited for ", Name()));
  }
  // "one of the 4 command slots" where it stands in line for one; else empty.
  std::string WaitsFor(const AttemptRef& ref) {
    MutexLock lock(mutex_);
    const bool waits =
        std::any_of(line_.begin(), line_.end(), [&ref](const StartRequest& one) { return one.ref == ref; });
    return waits ? Name() : "";
  }

 private:
  std::string Name() const {
    return count_ == 1 ? StrCat("the only ", what_, " slot")
                       : StrCat("one of the ", count_, " ", what_, " slots");
  }

  const int count_;
  const char* const what_;
  Mutex mutex_;
  std::deque<StartRequest> line_ GUARDED_BY(mutex_);
  int in_use_ GUARDED_BY(mutex_) = 0;
};

}  // namespace duecourse
