// A few threads that do what blocks: starting programs, writing files, looking
// at processes. Jobs begin in the order in which they were posted, but what ends
// something goes before what begins something: else a crowd holds the descriptors
// of all that has ended, each of which every further spawn has to copy and to
// close (./dev bench W5). Posting never blocks; any thread may post.
#pragma once

#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

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
  void Post(std::unique_ptr<Job> job) { Push(std::move(job), false); }
  // Before all that was posted so.
  void PostEnding(std::unique_ptr<Job> job) { Push(std::move(job), true); }
  void Stop();

 private:
  using Line = std::deque<std::unique_ptr<Job>>;

  void Push(std::unique_ptr<Job> job, bool ending);
  std::unique_ptr<Job> Take();  // nothing once it stops
  void Work();

  Mutex mutex_;
  CondVar changed_;
  Line endings_ GUARDED_BY(mutex_);
  Line jobs_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace duecourse
