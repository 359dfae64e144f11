#include "probe/steady.h"

#include <algorithm>

namespace duecourse {

int64_t SteadyFiles::See(const std::string& path, const struct stat& info, int64_t begin_us, int64_t end_us) {
  Seen now;
  now.device = info.st_dev;
  now.inode = info.st_ino;
  now.size = info.st_size;
  now.modified_s = info.st_mtim.tv_sec;
  now.modified_ns = info.st_mtim.tv_nsec;
  now.since_us = end_us;
  now.last_us = begin_us;
  MutexLock lock(mutex_);
  auto found = seen_.find(path);
  if (found != seen_.end()) {
    const Seen& before = found->second;
    const bool same = before.device == now.device && before.inode == now.inode && before.size == now.size &&
                      before.modified_s == now.modified_s && before.modified_ns == now.modified_ns;
    if (same) now.since_us = before.since_us;
    found->second = now;
    return now.since_us;
  }
  if (seen_.size() >= kPathsMax) {
    seen_.erase(std::min_element(seen_.begin(), seen_.end(), [](const auto& a, const auto& b) {
      return a.second.last_us < b.second.last_us;
    }));
  }
  seen_.emplace(path, now);
  return now.since_us;
}

void SteadyFiles::Forget(const std::string& path) {
  MutexLock lock(mutex_);
  seen_.erase(path);
}

}  // namespace duecourse
