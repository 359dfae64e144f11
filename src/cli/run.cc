// duecourse run FILE: a rule once, in the foreground; nothing is stored, claimed or told. Preconditions are
// not asked. The key it gives the work ends in "#try" and chance, and the fence is 0: a target that remembers
// keys must not take the real run for one that is done, nor the try for the newest attempt.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/queue.h"
#include "base/random.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "engine/attempt.h"
#include "engine/memory.h"
#include "rule/choose_value.h"

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

// What ends a try before its time: Ctrl-C, and the signals that a terminal or a supervisor sends. The work is
// in a process group of its own and hears of none of them.
class Interrupt {
 public:
  Interrupt() {
    sigemptyset(&set_);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction now {};
      // What was ignored when we began (nohup) stays so.
      if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&set_, signal);
    }
    // Before any thread is made, so that all of them inherit it. (Children get the defaults back.)
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    signals_ = Fd(::signalfd(-1, &set_, SFD_CLOEXEC));
    ended_ = Fd(::eventfd(0, EFD_CLOEXEC));
    CHECK(signals_.valid() && ended_.valid());
  }
  // Any thread: the work has ended.
  void Ended() {
    const uint64_t one = 1;
    CHECK(::write(ended_.get(), &one, sizeof(one)) == static_cast<ssize_t>(sizeof(one)));
  }
  // Waits for the end of the work or for a signal; the signal's number, 0 at the end.
  int Wait() {
    pollfd waits[] = {{ended_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    while (true) {
      if (::poll(waits, 2, -1) < 0) continue;
      if (waits[0].revents != 0) return 0;
      signalfd_siginfo info{};
      if (::read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info)))
        return static_cast<int>(info.ssi_signo);
    }
  }

 private:
  sigset_t set_;
  Fd signals_;
  Fd ended_;
};

const char* SignalName(int signal) {
  return signal == SIGINT ? "SIGINT" : signal == SIGHUP ? "SIGHUP" : "SIGTERM";
}

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

struct Trial {
  const Task& task;
  const Run& run;
  const Ending& ending;
  const CapturedOutput& output;
  int signal = 0;  // what interrupted it
};

int Report(const Args& args, const Trial& trial) {
  const Classified what = Classify(trial.task.rule().execution, trial.ending);
  int code = what.outcome == Outcome::kSuccess ? kExitFine : kExitProblem;
  if (trial.signal != 0) code = kExitSignalled + trial.signal;
  if (args.json()) {
    Json body = Json::MakeObject();
    body.Set("task_id", trial.task.id)
        .Set("value", trial.run.value)
        .Set("business_date", FormatDay(trial.run.business_date))
        .Set("key", trial.run.key ? Json(*trial.run.key) : Json());
    body.Set("outcome", OutcomeName(what.outcome)).Set("summary", what.summary);
    if (what.failure_class != FailureClass::kNone) body.Set("class", FailureClassName(what.failure_class));
    if (trial.signal != 0) body.Set("interrupted_by", SignalName(trial.signal));
    body.Set("stdout", ShowBytes(trial.output.out, true)).Set("stderr", ShowBytes(trial.output.err, true));
    std::printf("%s\n", body.DumpPretty().c_str());
    return code;
  }
  std::fwrite(trial.output.out.data(), 1, trial.output.out.size(), stdout);
  std::fflush(stdout);
  std::fwrite(trial.output.err.data(), 1, trial.output.err.size(), stderr);
  const bool classed = what.failure_class != FailureClass::kNone;
  Tell(args, StrCat("duecourse run: ",
                    trial.signal != 0 ? StrCat("interrupted by ", SignalName(trial.signal), ", ") : "",
                    OutcomeName(what.outcome), what.summary.empty() ? "" : ": ", what.summary,
                    classed ? StrCat(" (", FailureClassName(what.failure_class), ")") : ""));
  return code;
}

Run TrialRun(const Task& task, size_t value, const Occurrence& occurrence, Instant due) {
  Run run;
  run.id = "rtrial";
  run.task = task.id;
  run.value = ValueId(task.rule(), value);
  run.due = due;
  run.business_date = occurrence.business_date;
  constexpr int kTrialBytes = 4;
  const Result<std::string> key = RenderKey(task, value, occurrence);
  if (key.ok()) run.key = StrCat(*key, "#try", SecureToken(kTrialBytes));
  run.attempts = 1;
  run.fence = 0;
  return run;
}

// What was interrupted must not go on: its group gets TERM and, after the rule's grace, KILL. The first
// signal.
int AwaitEnd(const Args& args, const Task& task, const Run& run, Interrupt& interrupt, Executor& executor) {
  int first = 0;
  while (const int signal = interrupt.Wait()) {
    if (first != 0) continue;
    first = signal;
    if (!args.json())
      Tell(args, StrCat("duecourse run: ", SignalName(signal),
                        ": the work is ended with TERM, and with KILL after ",
                        FormatMillis(task.rule().execution.kill_grace)));
    executor.Kill({run.id, run.fence, 1}, KillWhy::kCancelled);
  }
  return first;
}

// Runs it and waits for its end.
int Try(const Args& args, const RuleSet& set, size_t value, Instant due) {
  Interrupt interrupt;
  const Task& task = set.tasks.front();
  SystemClock clock;
  TrialFolder folder;
  const Occurrence occurrence = OccurrenceAt(task, value, due, set.config);
  const Run run = TrialRun(task, value, occurrence, due);
  std::string problem;
  StartRequest start =
      RenderAttempt({&set, &task, value, &occurrence, &run, TriggerKind::kManual, clock.Wall()}, &problem);
  if (!problem.empty()) return Fail(args, kExitProblem, problem);
  if (!args.json())  // whose answer says all this
    Tell(args, StrCat("duecourse run: ", task.id, run.value.empty() ? "" : " ", run.value, " for ",
                      FormatDay(run.business_date), ", key ", run.key ? *run.key : "cannot be rendered"));
  Log log(clock, STDERR_FILENO, LogLevel::kError);
  auto endings = std::make_shared<Queue<Ending>>(1);
  ExecSink sink;
  sink.started = [](const AttemptRef&, const std::string&) {};
  sink.ended = [endings, &interrupt](const AttemptRef&, Ending ending) {
    endings->Push(std::move(ending));
    interrupt.Ended();
  };
  sink.inspected = [](const Inspection&) {};
  ExecOptions options;
  options.data_folder = folder.path();
  options.store_id = "trial";
  options.http_allow = set.config.http_allow;
  std::unique_ptr<Executor> executor = NewExecutor(options, clock, log, std::move(sink));
  executor->Start(std::move(start));
  const int signal = AwaitEnd(args, task, run, interrupt, *executor);
  std::optional<Ending> ending = endings->Take();
  CHECK(ending.has_value());
  Result<CapturedOutput> output = ReadOutput(folder.path(), run.id, 1);
  return Report(args, {task, run, *ending, output.ok() ? *output : CapturedOutput(), signal});
}

}  // namespace

int RunVerbOnce(const Args& args) {
  Places places = FindPlaces(args);
  places.load.rules_path = args.At(0);
  Loaded loaded = LoadRules(places.load);
  if (loaded.set == nullptr)
    return FailWith(args, kExitProblem, StrCat(args.At(0), " cannot be read:"), loaded.findings);
  if (loaded.set->tasks.size() != 1) {
    return UsageFault(
        args, StrCat(args.At(0), " holds ", loaded.set->tasks.size(), " tasks; run tries a file with one"));
  }
  if (!args.json()) {  // `check -o json` has them
    for (const Finding& finding : loaded.findings) Tell(args, FormatFinding(finding));
  }
  const Task& task = loaded.set->tasks.front();
  std::string problem;
  const std::optional<size_t> value = ChooseValue(task.rule(), args.Get("--value"), &problem);
  if (!value) return UsageFault(args, StrCat(task.id, ": ", problem));
  problem = "the task is never due";
  const std::optional<Instant> due = Choose(*loaded.set, *value, args, SystemClock().Wall(), &problem);
  if (!due) return UsageFault(args, problem);
  return Try(args, *loaded.set, *value, *due);
}

}  // namespace duecourse
