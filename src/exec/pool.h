// A few threads that do what blocks: starting programs, writing files, looking
// at processes. Jobs begin in the order in which they were posted. Posting
// never blocks; any thread may post.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/queue.h"

namespace duecourse {

class Job {
 public:
  virtual ~Job() = default;
  virtual void Run() = 0;
};

// A job of a callable, which may hold what cannot be copied.
template <typename Callable>
std::unique_ptr<Job> MakeJob(Callable callable) {
  class CallableJob : public Job {
   public:
    explicit CallableJob(Callable work) : work_(std::move(work)) {}
    void Run() override { work_(); }

   private:
    Callable work_;
  };
  return std::make_unique<CallableJob>(std::move(callable));
}

class Pool {
 public:
  explicit Pool(int threads);
  // Ends the job each thread is at; what is still queued is dropped.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  void Post(std::unique_ptr<Job> job) { jobs_.Push(std::move(job)); }
  void Stop();

 private:
  // Far beyond what the engine's own limits let it start at once, so that no Post ever waits for room.
  static constexpr size_t kJobsMax = 4u << 20;

  void Work();

  Queue<std::unique_ptr<Job>> jobs_{kJobsMax};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace duecourse
