// What is kept of one stream of output: its beginning and its end, each up to
// half of the allowance, with the number of bytes dropped between, and the size
// and hash of all of it. Any bytes. A value; one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace duecourse {

class Capture {
 public:
  // max_bytes: what is kept at the most. Below 2 nothing is.
  explicit Capture(int64_t max_bytes);

  void Add(std::string_view bytes);
  int64_t total() const { return total_; }  // bytes added
  int64_t head_size() const { return static_cast<int64_t>(head_.size()); }
  int64_t dropped() const;                            // bytes between head and tail that are gone
  std::string Kept() const;                           // head and tail, nothing between
  std::string Last(size_t n) const;                   // at most the last n bytes of what is kept
  std::string Sha256() const { return hash_.Hex(); }  // of all that was added

 private:
  std::string Tail() const;

  size_t head_max_;
  size_t tail_max_;
  std::string head_;
  std::string tail_;       // a ring once it has tail_max_ bytes
  size_t tail_begin_ = 0;  // of the oldest byte in the ring
  int64_t total_ = 0;
  duecourse::Sha256 hash_;
};

}  // namespace duecourse
