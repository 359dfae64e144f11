#include "exec/pool.h"

#include <algorithm>
#include <optional>

namespace duecourse {

Pool::Pool(int threads) {
  for (int i = 0; i < std::max(1, threads); ++i) threads_.emplace_back([this] { Work(); });
}

Pool::~Pool() { Stop(); }

void Pool::Stop() {
  stopping_ = true;
  jobs_.Close();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Pool::Work() {
  while (!stopping_) {
    std::optional<std::unique_ptr<Job>> job = jobs_.Take();
    if (!job.has_value()) return;
    if (!stopping_) (*job)->Run();
  }
}

}  // namespace duecourse
