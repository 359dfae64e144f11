#include "exec/pool.h"

#include <pthread.h>

#include <algorithm>

namespace duecourse {

Pool::Pool(int threads) {
  for (int i = 0; i < std::max(1, threads); ++i) threads_.emplace_back([this] { Work(); });
}

Pool::~Pool() { Stop(); }

void Pool::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Pool::Push(std::unique_ptr<Job> job, bool ending) {
  MutexLock lock(mutex_);
  if (stopping_) return;
  (ending ? endings_ : jobs_).push_back(std::move(job));
  changed_.NotifyOne();
}

std::unique_ptr<Job> Pool::Take() {
  MutexLock lock(mutex_);
  while (!stopping_ && endings_.empty() && jobs_.empty()) changed_.Wait(mutex_);
  if (stopping_) return nullptr;
  Line& line = endings_.empty() ? jobs_ : endings_;
  std::unique_ptr<Job> job = std::move(line.front());
  line.pop_front();
  return job;
}

void Pool::Work() {
  ::pthread_setname_np(::pthread_self(), "dc-pool");  // for whoever looks at the threads of a busy daemon
  while (std::unique_ptr<Job> job = Take()) job->Run();
}

}  // namespace duecourse
