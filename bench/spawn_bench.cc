// How many /bin/true a second: a bare posix_spawn loop with one and with four threads, and the same through
// the Executor (own session, two pipes, descriptors closed, start marker, exit by pidfd). Rounds alternate,
// so that a busy machine slows both; the figures are medians.
//   spawn_bench [COUNT] [ROUNDS]
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/text.h"
#include "exec/exec.h"
#include "exec/helper.h"

namespace duecourse {
namespace {

// Spawns a second.
double Bare(int count, int threads) {
  std::atomic<int> next{0};
  const int64_t begin = MonotonicMicros();
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      char program[] = "/bin/true";
      char* argv[] = {program, nullptr};
      char* environment[] = {nullptr};
      while (next.fetch_add(1) < count) {
        pid_t pid = 0;
        if (::posix_spawn(&pid, program, nullptr, nullptr, argv, environment) != 0) std::abort();
        int status = 0;
        while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  return count * 1e6 / static_cast<double>(MonotonicMicros() - begin);
}

struct Ends {
  Mutex mutex;
  CondVar changed;
  int good GUARDED_BY(mutex) = 0;
  int bad GUARDED_BY(mutex) = 0;
  int wanted GUARDED_BY(mutex) = 0;  // so that the measuring thread is woken once
};

StartRequest TrueRequest(const std::string& run, const std::shared_ptr<const RuleBody>& rule) {
  StartRequest request;
  request.ref = {run, 1, 1};
  request.task = "true";
  request.key = run;
  request.rule = rule;
  request.argv = {"/bin/true"};
  request.context = {{"DUECOURSE_TASK", "true"},
                     {"DUECOURSE_RUN_ID", run},
                     {"DUECOURSE_ATTEMPT", "1"},
                     {"DUECOURSE_KEY", run},
                     {"DUECOURSE_FENCE", "1"}};
  return request;
}

double Through(Executor& executor, Ends& ends, int count, int round) {
  RuleBody body;
  body.execution.kind = ExecutionRule::Kind::kCommand;
  auto rule = std::make_shared<const RuleBody>(std::move(body));
  {
    MutexLock lock(ends.mutex);
    ends.wanted = count * (round + 1);
  }
  const int64_t begin = MonotonicMicros();
  for (int i = 0; i < count; ++i) executor.Start(TrueRequest(StrCat("r", round, "x", i), rule));
  {
    MutexLock lock(ends.mutex);
    while (ends.good + ends.bad < ends.wanted) ends.changed.Wait(ends.mutex);
  }
  const double rate = count * 1e6 / static_cast<double>(MonotonicMicros() - begin);
  for (int i = 0; i < count; ++i) executor.Forget({StrCat("r", round, "x", i), 1, 1});
  return rate;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Main(int count, int rounds) {
  std::string folder = "duecourse-spawn-bench-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  SystemClock clock;
  Log log(clock, 2, LogLevel::kWarning);
  Ends ends;
  ExecSink sink;
  sink.started = [](AttemptRef, std::string) {};
  sink.ended = [&ends](AttemptRef, Ending ending) {
    MutexLock lock(ends.mutex);
    ++(ending.kind == Ending::Kind::kExit && ending.code == 0 ? ends.good : ends.bad);
    if (ends.good + ends.bad == ends.wanted) ends.changed.NotifyAll();
  };
  ExecOptions options;
  options.data_folder = AbsolutePath(folder);
  options.store_id = "bench";
  std::unique_ptr<Executor> executor = NewExecutor(options, clock, log, sink);
  std::vector<double> one, four, through;
  for (int round = 0; round < rounds; ++round) {
    one.push_back(Bare(count / 4, 1));
    four.push_back(Bare(count, 4));
    through.push_back(Through(*executor, ends, count, round));
  }
  executor.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  MutexLock lock(ends.mutex);
  std::printf("posix_spawn of /bin/true, 1 thread     %8.0f /s\n", Median(one));
  std::printf("posix_spawn of /bin/true, 4 threads    %8.0f /s\n", Median(four));
  std::printf("through the executor                   %8.0f /s\n", Median(through));
  std::printf("of the bare four threads               %8.2f\n", Median(through) / Median(four));
  std::printf("ended otherwise than by exit 0         %8d\n", ends.bad);
  return ends.bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace duecourse

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == duecourse::kHelperVerb)
    return duecourse::ExecHelperMain(argc, argv);
  const int count = argc > 1 ? std::atoi(argv[1]) : 2000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  return duecourse::Main(std::max(4, count), std::max(1, rounds));
}
