// How many /bin/true a second: posix_spawn alone with one and with four threads, the product's own way of
// spawning with four, and the same through the Executor (start marker, output, exit by pidfd). Rounds
// alternate, so that a busy machine slows all; the figures are medians.
//   spawn_bench [COUNT] [ROUNDS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/text.h"
#include "exec/exec.h"
#include "exec/helper.h"
#include "figures.h"
#include "machine_limits.h"

namespace duecourse {
namespace {

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
  BenchFolder folder;
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
  options.data_folder = folder.path();
  options.store_id = "bench";
  std::unique_ptr<Executor> executor = NewExecutor(options, clock, log, sink);
  std::vector<double> one, four, ours, through;
  for (int round = 0; round < rounds; ++round) {
    one.push_back(BareSpawns(count / 4, 1));
    four.push_back(BareSpawns(count, 4));
    ours.push_back(ProductSpawns(count, 4));
    through.push_back(Through(*executor, ends, count, round));
  }
  executor.reset();
  const double limit = Median(four);
  const std::string beside = StrCat("4 threads ", Number(limit), " /s");
  Report({"limit: spawns, 1 thread", StrCat(Number(Median(one)), " /s"), "", "", "", {}});
  Report({"limit: spawns, 4 threads", StrCat(Number(limit), " /s"), "", "", "", {}});
  Report({"spawns, the product's way",
          StrCat(Number(Median(ours)), " /s"),
          beside,
          Number(Median(ours) / limit, 2),
          "",
          {}});
  Report({"executor alone",
          StrCat(Number(Median(through)), " /s"),
          beside,
          Number(Median(through) / limit, 2),
          "",
          {}});
  MutexLock lock(ends.mutex);
  if (ends.bad != 0) std::fprintf(stderr, "spawn_bench: %d ended otherwise than by exit 0\n", ends.bad);
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
