// Which files have stood still, and since when: `stable_for` needs two looks
// with the same size, modification time and inode between them. One memory for
// all checks of a daemon; after a restart it begins anew. Any thread.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/mutex.h"

namespace duecourse {

class SteadyFiles {
 public:
  static constexpr size_t kPathsMax = 10'000;  // the one not looked at for longest is forgotten first

  // Notes how the file looks in a look that began at begin_us and saw it by end_us (MonotonicMicros). Answers
  // since when it has been seen like this; end_us where it is new or has changed.
  int64_t See(const std::string& path, const struct stat& info, int64_t begin_us, int64_t end_us);
  // It is not there, or changed while it was read: the next look is the first again.
  void Forget(const std::string& path);

 private:
  struct Seen {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t size = 0;
    int64_t modified_s = 0;
    int64_t modified_ns = 0;
    int64_t since_us = 0;
    int64_t last_us = 0;
  };

  Mutex mutex_;
  std::map<std::string, Seen> seen_ GUARDED_BY(mutex_);
};

}  // namespace duecourse
