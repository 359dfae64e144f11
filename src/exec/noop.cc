#include "exec/noop.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "exec/finish.h"
#include "exec/launch.h"

namespace duecourse {
namespace {

Ending ExitOf(const NoopExecution& noop, bool timed_out) {
  Ending ending;
  ending.kind = timed_out ? Ending::Kind::kTimeout : Ending::Kind::kExit;
  ending.code = noop.exit_code;
  return ending;
}

}  // namespace

NoopRunner::NoopRunner(const ExecSink& sink, StartJournal& journal, Pool& pool, Watch& timers)
    : sink_(sink), journal_(journal), pool_(pool), timers_(timers) {}

void NoopRunner::Start(StartRequest request) {
  {
    MutexLock lock(mutex_);
    running_.insert(AttemptName(request.ref));
  }
  pool_.Post(MakeJob([this, request = std::move(request)] { Begin(request); }));
}

void NoopRunner::Begin(const StartRequest& request) {
  const NoopExecution& noop = request.rule->execution.noop;
  const bool lasts = noop.after.count > 0;
  if (lasts) {
    Status marked = journal_.Start(request.ref, "");
    if (!marked.ok()) return End(request.ref, NotStartedEnding(marked.error().message()));
  }
  sink_.started(request.ref, "noop");
  if (!lasts) return End(request.ref, ExitOf(noop, false));
  const bool timed_out = request.timeout < noop.after;
  timers_.After(std::min(noop.after, request.timeout),
                MakeJob([this, ref = request.ref, ending = ExitOf(noop, timed_out)] {
                  pool_.Post(MakeJob([this, ref, ending] { End(ref, ending); }));
                }));
}

void NoopRunner::End(const AttemptRef& ref, Ending ending) {
  {
    MutexLock lock(mutex_);
    if (running_.erase(AttemptName(ref)) == 0) return;  // killed before
  }
  sink_.ended(ref, std::move(ending));
}

void NoopRunner::Kill(const AttemptRef& ref, KillWhy why) {
  Ending ending;
  ending.kind = why == KillWhy::kTimeout ? Ending::Kind::kTimeout : Ending::Kind::kKilled;
  ending.summary = StrCat("stopped: ", KillWhyText(why));
  pool_.Post(MakeJob([this, ref, ending] { End(ref, ending); }));
}

}  // namespace duecourse
