// So many attempts at once, the others in line, first come, first served. Any
// thread.
#pragma once

#include <iterator>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"
#include "base/text.h"
#include "exec/exec.h"
#include "exec/journal.h"
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
      places_.emplace(AttemptName(line_.back().ref), std::prev(line_.end()));
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
    places_.erase(AttemptName(next->ref));
    return next;
  }
  // Takes it out of the line, and gives how it ended; nothing where it is not in it.
  std::optional<Ending> Withdraw(const AttemptRef& ref, const std::string& why) {
    MutexLock lock(mutex_);
    const auto place = places_.find(AttemptName(ref));
    if (place == places_.end()) return std::nullopt;
    line_.erase(place->second);
    places_.erase(place);
    return NotStartedEnding(StrCat(why, " while it waited for ", Name()));
  }
  // "one of the 4 command slots" where it stands in line for one; else empty.
  std::string WaitsFor(const AttemptRef& ref) {
    MutexLock lock(mutex_);
    return places_.contains(AttemptName(ref)) ? Name() : "";
  }

 private:
  std::string Name() const {
    return count_ == 1 ? StrCat("the only ", what_, " slot")
                       : StrCat("one of the ", count_, " ", what_, " slots");
  }

  const int count_;
  const char* const what_;
  Mutex mutex_;
  std::list<StartRequest> line_ GUARDED_BY(mutex_);
  // By name: of a crowd that waits all may be withdrawn at once, on the engine's thread.
  std::unordered_map<std::string, std::list<StartRequest>::iterator> places_ GUARDED_BY(mutex_);
  int in_use_ GUARDED_BY(mutex_) = 0;
};

}  // namespace duecourse
