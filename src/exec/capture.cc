#include "exec/capture.h"

#include <algorithm>

namespace duecourse {

Capture::Capture(int64_t max_bytes)
    : head_max_(static_cast<size_t>(std::max<int64_t>(0, max_bytes / 2))),
      tail_max_(max_bytes < 2 ? 0 : static_cast<size_t>(max_bytes) - head_max_) {}

void Capture::Add(std::string_view bytes) {
  total_ += static_cast<int64_t>(bytes.size());
  hash_.Add(bytes);
  const size_t to_head = std::min(bytes.size(), head_max_ - head_.size());
  head_.append(bytes.substr(0, to_head));
  bytes.remove_prefix(to_head);
  if (bytes.size() > tail_max_) {
    bytes.remove_prefix(bytes.size() - tail_max_);
    // All that the ring holds is older than what is about to fill it.
    tail_.clear();
    tail_begin_ = 0;
  }
  const size_t to_grow = std::min(bytes.size(), tail_max_ - tail_.size());
  tail_.append(bytes.substr(0, to_grow));
  bytes.remove_prefix(to_grow);
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), tail_.size() - tail_begin_);
    tail_.replace(tail_begin_, n, bytes.substr(0, n));
    tail_begin_ = (tail_begin_ + n) % tail_.size();
    bytes.remove_prefix(n);
  }
}

int64_t Capture::dropped() const { return total_ - static_cast<int64_t>(head_.size() + tail_.size()); }

std::string Capture::Tail() const { return tail_.substr(tail_begin_) + tail_.substr(0, tail_begin_); }

std::string Capture::Kept() const { return head_ + Tail(); }

std::string Capture::Last(size_t n) const {
  std::string kept = tail_.size() < n ? Kept() : Tail();
  if (kept.size() > n) kept.erase(0, kept.size() - n);
  return kept;
}

}  // namespace duecourse
