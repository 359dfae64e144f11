// duecourse run FILE: a rule once, in the foreground; nothing is stored, claimed or told. Preconditions are
// not asked.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/queue.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/verbs.h"
#include "engine/attempt.h"
#include "engine/memory.h"

namespace duecourse {
namespace {

// The folder of one trial; gone with it.
class TrialFolder {
 public:
  TrialFolder() {
    char path[] = "/tmp/duecourse-run-XXXXXX";
    const char* made = ::mkdtemp(path);
    if (made != nullptr) path_ = made;
  }
  ~TrialFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The newest occurrence that came due, or the one of the date.
std::optional<Instant> Choose(const RuleSet& set, size_t value, const Args& args, Instant now,
                              std::string* problem) {
  const Task& task = set.tasks.front();
  const RuleBody& rule = task.rule();
  if (!args.Has("--date")) {
    std::optional<Instant> due = PreviousDue(rule, value, now);
    return due ? due : NextDue(rule, value, now);
  }
  Result<CivilDay> date = ParseDay(args.Get("--date"));
  if (!date.ok()) {
    *problem = date.error().message();
    return std::nullopt;
  }
  const Zone& zone = ScheduleOf(rule, value).zone;
  constexpr int kReachDays = 31;
  Instant until = zone.Lookup({*date + kReachDays, 0}).first;
  for (std::optional<Instant> due = NextDue(rule, value, zone.Lookup({*date - kReachDays, 0}).first);
       due && *due < until; due = NextDue(rule, value, *due)) {
    if (OccurrenceAt(task, value, *due, set.config).business_date == *date) return due;
  }
  *problem = StrCat("no occurrence of ", task.id, " has business date ", FormatDay(*date));
  return std::nullopt;
}

int Report(const Task& task, const Ending& ending, const CapturedOutput& output) {
  std::fwrite(output.out.data(), 1, output.out.size(), stdout);
  std::fflush(stdout);
  std::fwrite(output.err.data(), 1, output.err.size(), stderr);
  Classified what = Classify(task.rule().execution, ending);
  std::fprintf(stderr, "duecourse run: %s%s%s", OutcomeName(what.outcome), what.summary.empty() ? "" : ": ",
               what.summary.c_str());
  if (what.failure_class != FailureClass::kNone)
    std::fprintf(stderr, " (%s)", FailureClassName(what.failure_class));
  std::fprintf(stderr, "\n");
  return what.outcome == Outcome::kSuccess ? kExitFine : kExitProblem;
}

}  // namespace

int RunVerbOnce(const Args& args) {
  Places places = FindPlaces(args);
  places.load.rules_path = args.At(0);
  Loaded loaded = LoadRules(places.load);
  for (const Finding& finding : loaded.findings) std::fprintf(stderr, "%s\n", FormatFinding(finding).c_str());
  if (loaded.set == nullptr) return kExitProblem;
  if (loaded.set->tasks.size() != 1) {
    std::fprintf(stderr, "%s holds %zu tasks; run tries a file with one\n", args.At(0).c_str(),
                 loaded.set->tasks.size());
    return kExitUsage;
  }
  const Task& task = loaded.set->tasks.front();
  size_t value = 0;
  if (args.Has("--value") && !FindValue(task.rule(), args.Get("--value"), &value)) {
    std::fprintf(stderr, "task %s has no value %s\n", task.id.c_str(), args.Get("--value").c_str());
    return kExitUsage;
  }
  SystemClock clock;
  std::string problem = "the task is never due";
  std::optional<Instant> due = Choose(*loaded.set, value, args, clock.Wall(), &problem);
  if (!due) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    return kExitUsage;
  }
  TrialFolder folder;
  Occurrence occurrence = OccurrenceAt(task, value, *due, loaded.set->config);
  Result<std::string> key = RenderKey(task, value, occurrence);
  Run run;
  run.id = "rtrial";
  run.task = task.id;
  run.value = ValueId(task.rule(), value);
  run.due = *due;
  run.business_date = occurrence.business_date;
  if (key.ok()) run.key = *key;
  run.attempts = 1;
  run.fence = 1;
  StartRequest start = RenderAttempt(
      {loaded.set.get(), &task, value, &occurrence, &run, TriggerKind::kManual, clock.Wall()}, &problem);
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    return kExitProblem;
  }
  std::fprintf(stderr, "duecourse run: %s for %s, key %s\n", task.id.c_str(),
               FormatDay(run.business_date).c_str(), key.ok() ? key->c_str() : key.error().message().c_str());
  Log log(clock, STDERR_FILENO, LogLevel::kError);
  auto endings = std::make_shared<Queue<Ending>>(1);
  ExecSink sink;
  sink.started = [](const AttemptRef&, const std::string&) {};
  sink.ended = [endings](const AttemptRef&, Ending ending) { endings->Push(std::move(ending)); };
  sink.inspected = [](const Inspection&) {};
  ExecOptions options;
  options.data_folder = folder.path();
  options.store_id = "trial";
  options.http_allow = loaded.set->config.http_allow;
  std::unique_ptr<Executor> executor = NewExecutor(options, clock, log, std::move(sink));
  executor->Start(std::move(start));
  std::optional<Ending> ending = endings->Take();
  CHECK(ending.has_value());
  Result<CapturedOutput> output = ReadOutput(folder.path(), run.id, 1);
  return Report(task, *ending, output.ok() ? *output : CapturedOutput());
}

}  // namespace duecourse
