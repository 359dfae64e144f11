// Spawns as fast as the machine makes them, with nothing scheduled and nothing stored.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "exec/spawn.h"
#include "machine_limits.h"

namespace duecourse {
namespace {

double PerSecond(int count, int threads, const std::function<void()>& one) {
  std::atomic<int> next{0};
  const int64_t from = MonotonicMicros();
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      while (next.fetch_add(1) < count) one();
    });
  }
  for (std::thread& worker : workers) worker.join();
  return count * 1e6 / static_cast<double>(MonotonicMicros() - from);
}

}  // namespace

double BareSpawns(int count, int threads) {
  return PerSecond(count, threads, [] {
    char program[] = "/bin/true";
    char* argv[] = {program, nullptr};
    char* environment[] = {nullptr};
    pid_t pid = 0;
    CHECK(::posix_spawn(&pid, program, nullptr, nullptr, argv, environment) == 0);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  });
}

double ProductSpawns(int count, int threads) {
  Fd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  SpawnPlan plan;
  plan.program = "/bin/true";
  plan.argv = {"/bin/true"};
  plan.cwd = folder.get();
  plan.in = null.get();
  return PerSecond(count, threads, [&plan] {
    std::variant<Spawned, SpawnFault> started = Spawn(plan);
    const auto* spawned = std::get_if<Spawned>(&started);
    CHECK(spawned != nullptr);
    pollfd end{spawned->pidfd.get(), POLLIN, 0};
    while (::poll(&end, 1, -1) < 0 && errno == EINTR) {
    }
    siginfo_t info{};
    while (::waitid(P_PIDFD, static_cast<id_t>(spawned->pidfd.get()), &info, WEXITED) != 0 &&
           errno == EINTR) {
    }
  });
}

}  // namespace duecourse
