// NewExecutor: one pool, and a runner for each way of doing the work.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/mutex.h"
#include "base/text.h"
#include "exec/command.h"
#include "exec/exec.h"
#include "exec/http.h"
#include "exec/inspect.h"
#include "exec/journal.h"
#include "exec/noop.h"

namespace duecourse {
namespace {

// Descriptors of one running command: two pipes and a pidfd, and while it is started both other ends and its
// folder.
constexpr int64_t kFilesOfCommand = 6;
constexpr int64_t kFilesOfHttp = 2;
// Kept for everybody else in the daemon: store, log, socket, probes.
constexpr int64_t kFilesReserved = 256;

struct Limits {
  uint64_t soft_before = 1024;
  int command_slots = 1;
  int http_slots = 1;
};

// Raises our own soft limit of descriptors as far as the slots need it; where the hard limit is too low,
// there are fewer slots.
Limits PrepareLimits(const ExecOptions& options, Log& log) {
  Limits limits;
  limits.command_slots = std::max(1, options.command_slots);
  limits.http_slots = std::max(1, options.http_slots);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return limits;
  limits.soft_before = files.rlim_cur;
  const int64_t wanted =
      kFilesReserved + limits.command_slots * kFilesOfCommand + limits.http_slots * kFilesOfHttp;
  if (files.rlim_cur < static_cast<rlim_t>(wanted)) {
    files.rlim_cur = std::min(files.rlim_max, static_cast<rlim_t>(wanted));
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  const int64_t got = static_cast<int64_t>(std::min<rlim_t>(files.rlim_cur, static_cast<rlim_t>(wanted)));
  if (got >= wanted) return limits;
  const double share = static_cast<double>(std::max<int64_t>(0, got - kFilesReserved)) /
                       static_cast<double>(wanted - kFilesReserved);
  limits.command_slots = std::max(1, static_cast<int>(limits.command_slots * share));
  limits.http_slots = std::max(1, static_cast<int>(limits.http_slots * share));
  log.Warning("fewer_slots",
              Json::MakeObject()
                  .Set("why", StrCat("the hard limit of open files is ", got, ", ", wanted, " are needed"))
                  .Set("command_slots", limits.command_slots)
                  .Set("http_slots", limits.http_slots));
  return limits;
}

// Descriptors 0, 1 and 2 must be something, or a pipe of ours would get their numbers and be lost in the
// child.
void HoldStandardFiles() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) == -1) CHECK(::open("/dev/null", O_RDWR) == fd);
  }
}

// A daemon started with SIGCHLD ignored would never hear how a command ended.
void HearOfChildren() {
  struct sigaction action {};
  if (::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &action, nullptr);
  }
}

int SpawnThreads(const ExecOptions& options) {
  constexpr int kMost = 16;
  if (options.spawn_threads > 0) return options.spawn_threads;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) + 1, 2, kMost);
}

class LocalExecutor : public Executor {
 public:
  LocalExecutor(ExecOptions options, const Clock& clock, Log& log, ExecSink sink, Limits limits)
      : options_(std::move(options)),
        sink_(std::move(sink)),
        journal_(options_.data_folder, BootId(), log),
        pool_(SpawnThreads(options_)),
        commands_({options_, sink_, clock, log, journal_, limits.command_slots, limits.soft_before}, pool_),
        agents_({options_, sink_, clock, log, journal_, limits.http_slots}, pool_),
        noops_(sink_, journal_, pool_, commands_.watch()),
        inspector_(options_, sink_, journal_, pool_) {}

  ~LocalExecutor() override {
    commands_.Stop();
    pool_.Stop();
    agents_.Stop();  // after the pool, whose threads use the client
  }

  void Start(StartRequest request) override {
    CHECK(request.rule != nullptr);
    switch (request.rule->execution.kind) {
      case ExecutionRule::Kind::kCommand:
      case ExecutionRule::Kind::kShell:
        return commands_.Start(std::move(request));
      case ExecutionRule::Kind::kNoop:
        return noops_.Start(std::move(request));
      case ExecutionRule::Kind::kHttp:
        return agents_.Start(std::move(request));
      case ExecutionRule::Kind::kNone:
        break;
    }
    CHECK(false);  // no rule without a way of doing its work is ever in force
  }

  void Kill(const AttemptRef& ref, KillWhy why) override {
    commands_.Kill(ref, why);
    agents_.Kill(ref, why);
    noops_.Kill(ref, why);
  }

  void Withdraw(const AttemptRef& ref, const std::string& why) override {
    if (!commands_.Withdraw(ref, why)) agents_.Withdraw(ref, why);
  }

  std::string WaitsFor(const AttemptRef& ref) override {
    const std::string slot = commands_.WaitsFor(ref);
    return slot.empty() ? agents_.WaitsFor(ref) : slot;
  }

  void Inspect(const AttemptRef& ref, bool same_boot) override { inspector_.Inspect(ref, same_boot); }

  void Forget(const AttemptRef& ref) override {
    bool first = false;
    {
      MutexLock lock(mutex_);
      first = to_forget_.empty();
      to_forget_.push_back(ref);
    }
    if (first) pool_.PostEnding(MakeJob([this] { ForgetAll(); }));
  }

 private:
  void ForgetAll() {
    std::vector<AttemptRef> refs;
    {
      MutexLock lock(mutex_);
      std::swap(refs, to_forget_);
    }
    journal_.End(refs);
  }

  const ExecOptions options_;
  const ExecSink sink_;
  Mutex mutex_;
  std::vector<AttemptRef> to_forget_ GUARDED_BY(mutex_);
  StartJournal journal_;
  Pool pool_;
  CommandRunner commands_;
  HttpRunner agents_;
  NoopRunner noops_;
  Inspector inspector_;
};

}  // namespace

std::unique_ptr<Executor> NewExecutor(ExecOptions options, const Clock& clock, Log& log, ExecSink sink) {
  options.data_folder = AbsolutePath(options.data_folder);
  for (const char* folder : {"attempts", "tasks", "output"}) {
    Status made = MakeFolders(StrCat(options.data_folder, "/", folder), 0700);
    // Each attempt says so too; nothing starts without its marker.
    if (!made.ok()) log.Problem("executor_folder", Json::MakeObject().Set("error", made.error().message()));
  }
  HoldStandardFiles();
  HearOfChildren();
  const Limits limits = PrepareLimits(options, log);
  return std::make_unique<LocalExecutor>(std::move(options), clock, log, std::move(sink), limits);
}

}  // namespace duecourse
