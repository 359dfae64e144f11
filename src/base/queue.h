// A bounded queue between threads: pools post results to it, one thread takes them. Push waits while it is full; Close
// wakes everybody, after which Push refuses and Take drains what is left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace duecourse {

template <typename T>
class Queue {
 public:
  explicit Queue(size_t capacity) : capacity_(capacity) {}

  // False when the queue is closed (the value is dropped).
  bool Push(T value) {
    MutexLock lock(mutex_);
    while (items_.size() >= capacity_ && !closed_) not_full_.Wait(mutex_);
    if (closed_) return false;
    items_.push_back(std::move(value));
    urgent_ = true;
    not_empty_.NotifyOne();
    return true;
  }
  // As Push, but whoever gathers is not woken for it.
  bool PushSoon(T value) {
    MutexLock lock(mutex_);
    while (items_.size() >= capacity_ && !closed_) not_full_.Wait(mutex_);
    if (closed_) return false;
    items_.push_back(std::move(value));
    if (!gathering_ || items_.size() >= enough_) not_empty_.NotifyOne();
    return true;
  }
  // All of them, or where the queue is closed none; the taker is woken once. They may go beyond the capacity.
  bool PushAll(std::vector<T> values) {
    MutexLock lock(mutex_);
    while (items_.size() >= capacity_ && !closed_) not_full_.Wait(mutex_);
    if (closed_) return false;
    std::move(values.begin(), values.end(), std::back_inserter(items_));
    urgent_ = true;
    not_empty_.NotifyOne();
    return true;
  }
  // Everything there is, waiting at most wait_ms real milliseconds for the first (negative: without bound; 0:
  // not at all). What can wait then comes together for up to gather_ms more, but not beyond wait_ms in all,
  // and only until something comes that cannot, or enough.
  std::vector<T> TakeAll(int64_t wait_ms, int64_t gather_ms = 0, size_t enough = SIZE_MAX) {
    MutexLock lock(mutex_);
    const int64_t begin_us = gather_ms > 0 ? MonotonicMicros() : 0;
    if (items_.empty() && !closed_ && wait_ms != 0) {
      if (wait_ms > 0) {
        not_empty_.WaitFor(mutex_, wait_ms);
      } else {
        while (items_.empty() && !closed_) not_empty_.Wait(mutex_);
      }
    }
    if (gather_ms > 0 && wait_ms >= 0)
      gather_ms = std::min(gather_ms, wait_ms - (MonotonicMicros() - begin_us) / 1000);
    enough_ = std::min(enough, capacity_);
    if (gather_ms > 0 && !items_.empty() && !urgent_ && !closed_ && items_.size() < enough_) {
      gathering_ = true;
      not_empty_.WaitFor(mutex_, gather_ms);
      gathering_ = false;
    }
    std::vector<T> out(std::make_move_iterator(items_.begin()), std::make_move_iterator(items_.end()));
    items_.clear();
    urgent_ = false;
    not_full_.NotifyAll();
    return out;
  }
  // The oldest, waiting for it; nothing when the queue is closed and empty.
  std::optional<T> Take() {
    MutexLock lock(mutex_);
    while (items_.empty() && !closed_) not_empty_.Wait(mutex_);
    if (items_.empty()) return std::nullopt;
    std::optional<T> out(std::move(items_.front()));
    items_.pop_front();
    not_full_.NotifyOne();
    return out;
  }
  void Close() {
    MutexLock lock(mutex_);
    closed_ = true;
    not_empty_.NotifyAll();
    not_full_.NotifyAll();
  }
  bool closed() {
    MutexLock lock(mutex_);
    return closed_;
  }
  size_t size() {
    MutexLock lock(mutex_);
    return items_.size();
  }

 private:
  const size_t capacity_;
  Mutex mutex_;
  CondVar not_empty_;
  CondVar not_full_;
  std::deque<T> items_ GUARDED_BY(mutex_);
  bool gathering_ GUARDED_BY(mutex_) = false;
  size_t enough_ GUARDED_BY(mutex_) = 0;    // of what whoever gathers waits for
  bool urgent_ GUARDED_BY(mutex_) = false;  // something is in it that does not wait for others
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace duecourse
