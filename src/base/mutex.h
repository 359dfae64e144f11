// A mutex that clang's -Wthread-safety understands. Never hold one across I/O or a callback.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#if defined(__clang__)
#define DC_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define DC_THREAD_ATTRIBUTE(x)
#endif
#define CAPABILITY(x) DC_THREAD_ATTRIBUTE(capability(x))
#define SCOPED_CAPABILITY DC_THREAD_ATTRIBUTE(scoped_lockable)
#define GUARDED_BY(x) DC_THREAD_ATTRIBUTE(guarded_by(x))
#define ACQUIRE(...) DC_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RELEASE(...) DC_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define REQUIRES(...) DC_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))

namespace duecourse {

class CAPABILITY("mutex") Mutex {
 public:
  void Lock() ACQUIRE() { mutex_.lock(); }
  void Unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits are always on a predicate and may have a real-time bound; used by queues only.
class CondVar {
 public:
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    cv_.wait(held);
    held.release();  // the caller's, as before
  }
  // False when the real time ran out.
  bool WaitFor(Mutex& mutex, int64_t milliseconds) REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    const bool told =
        cv_.wait_for(held, std::chrono::milliseconds(milliseconds)) == std::cv_status::no_timeout;
    held.release();
    return told;
  }
  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace duecourse
