#include "exec/command.h"

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "exec/failpoint.h"
#include "exec/journal.h"

namespace duecourse {
namespace {

// One look at all processes serves whatever ended in this time.
constexpr int64_t kSweepPauseUs = 1'000'000;

}  // namespace

CommandRunner::CommandRunner(Options options, Pool& pool)
    : options_(options),
      pool_(pool),
      launcher_(options.exec, options.clock, options.journal, options.soft_files),
      finisher_(options.exec, options.clock, options.log),
      slots_(options.slots, "command"),
      watch_({options.clock, options.log, options.exec.clock_rate,
              [this](std::unique_ptr<Child> child) { PostFinish(std::move(child)); }}) {}

void CommandRunner::Start(StartRequest request) {
  {
    MutexLock lock(mutex_);
    places_[AttemptName(request.ref)];
  }
  std::optional<StartRequest> admitted = slots_.Enter(std::move(request));
  if (admitted.has_value()) PostLaunch(*std::move(admitted), 0);
}

void CommandRunner::Kill(const AttemptRef& ref, KillWhy why) {
  if (LeaveLine(ref, KillWhyText(why))) return;
  {
    MutexLock lock(mutex_);
    auto found = places_.find(AttemptName(ref));
    if (found == places_.end()) return;
    Place& place = found->second;
    if (!place.watched) {
      if (!place.kill.has_value()) place.kill = why;
      return;
    }
  }
  watch_.Kill(ref, why);
}

bool CommandRunner::Withdraw(const AttemptRef& ref, const std::string& why) {
  if (LeaveLine(ref, why)) return true;
  MutexLock lock(mutex_);
  auto found = places_.find(AttemptName(ref));
  if (found == places_.end()) return false;
  // Its launch may wait for a thread, or for room on the machine; once it runs nobody reads this.
  if (!found->second.watched) found->second.withdrawn = why;
  return true;
}

bool CommandRunner::LeaveLine(const AttemptRef& ref, const std::string& why) {
  std::optional<Ending> ending = slots_.Withdraw(ref, why);
  if (!ending.has_value()) return false;
  {
    MutexLock lock(mutex_);
    places_.erase(AttemptName(ref));
  }
  // Not from here: whoever asks may hold what the sink needs.
  pool_.PostEnding(MakeJob(
      [this, ref, ending = *std::move(ending)]() mutable { options_.sink.ended(ref, std::move(ending)); }));
  return true;
}

void CommandRunner::PostLaunch(StartRequest request, int tries) {
  pool_.Post(
      MakeJob([this, request = std::move(request), tries]() mutable { Launch(std::move(request), tries); }));
}

void CommandRunner::Launch(StartRequest request, int tries) {
  const AttemptRef ref = request.ref;
  std::string stopped;
  {
    MutexLock lock(mutex_);
    const Place& place = places_.at(AttemptName(ref));
    stopped = place.kill.has_value() ? KillWhyText(*place.kill) : place.withdrawn;
  }
  if (!stopped.empty()) return End(ref, NotStartedEnding(StrCat(stopped, " before it was started")));
  request.BeginsAt(options_.clock.Wall());
  Launcher::Launched launched = launcher_.Launch(request);
  if (Ending* ending = std::get_if<Ending>(&launched)) return End(ref, std::move(*ending));
  if (auto* child = std::get_if<std::unique_ptr<Child>>(&launched)) return OnRunning(std::move(*child));

  const SpawnFault& fault = std::get<SpawnFault>(launched);
  const std::string text = StrCat(fault.step, ": ", ErrnoText(fault.error));
  if (tries + 1 >= kLaunchTriesMax) {
    return End(ref, NotStartedEnding(StrCat(fault.error == ETXTBSY ? "its program is open for writing, in "
                                                                   : "the machine has had no room for it in ",
                                            kLaunchTriesMax, " tries: ", text)));
  }
  if (tries == 0) {
    options_.log.Warning("launch_waits",
                         Json::MakeObject().Set("attempt", AttemptName(ref)).Set("error", text));
  }
  watch_.AfterReal(kLaunchPauseUs, MakeJob([this, request = std::move(request), tries]() mutable {
                     PostLaunch(std::move(request), tries + 1);
                   }));
}

void CommandRunner::OnRunning(std::unique_ptr<Child> child) {
  const AttemptRef ref = child->ref;
  options_.sink.started(ref, StrCat("pid ", child->pid));
  std::optional<KillWhy> kill;
  {
    // Both under the lock: a Kill that finds it watched must come to the watch after it, and it may end at
    // once.
    MutexLock lock(mutex_);
    Place& place = places_.at(AttemptName(ref));
    place.watched = true;
    kill = place.kill;
    watch_.Add(std::move(child));
  }
  if (kill.has_value()) watch_.Kill(ref, *kill);
}

void CommandRunner::PostFinish(std::unique_ptr<Child> child) {
  pool_.PostEnding(MakeJob([this, child = std::move(child)]() mutable { Finish(std::move(child)); }));
}

void CommandRunner::Finish(std::unique_ptr<Child> child) {
  if (!finisher_.EndedAlone(*child)) return PostCleanUp(std::move(child));
  if (Finisher::NeedsSweep(*child)) NoteForSweep(*child);
  Report(std::move(child));
}

void CommandRunner::PostCleanUp(std::unique_ptr<Child> child) {
  bool first = false;
  {
    MutexLock lock(mutex_);
    first = to_clean_.empty();
    to_clean_.push_back(std::move(child));
  }
  if (first) pool_.PostEnding(MakeJob([this] { CleanUp(); }));
}

void CommandRunner::CleanUp() {
  constexpr int64_t kAgainUs = 1'000'000;
  std::vector<std::unique_ptr<Child>> children;
  {
    MutexLock lock(mutex_);
    std::swap(children, to_clean_);
  }
  const std::vector<bool> gone = finisher_.EndLeftovers(children);
  for (size_t i = 0; i < children.size(); ++i) {
    if (gone[i]) {
      pool_.PostEnding(
          MakeJob([this, child = std::move(children[i])]() mutable { Report(std::move(child)); }));
    } else {
      watch_.AfterReal(kAgainUs, MakeJob([this, child = std::move(children[i])]() mutable {
                         PostCleanUp(std::move(child));
                       }));
    }
  }
}

void CommandRunner::Report(std::unique_ptr<Child> child) {
  Ending ending = finisher_.Finish(*child);
  Failpoint("exec.before_end");
  const AttemptRef ref = child->ref;
  child.reset();  // whoever hears of the end finds nothing of it left
  End(ref, std::move(ending));
}

void CommandRunner::End(const AttemptRef& ref, Ending ending) {
  {
    MutexLock lock(mutex_);
    places_.erase(AttemptName(ref));
  }
  std::optional<StartRequest> next = slots_.Leave();
  if (next.has_value()) PostLaunch(*std::move(next), 0);
  options_.sink.ended(ref, std::move(ending));
}

void CommandRunner::NoteForSweep(const Child& child) {
  bool first = false;
  {
    MutexLock lock(mutex_);
    first = to_sweep_.empty();
    to_sweep_.emplace_back(child.ref.run_id, child.ref.fence);
  }
  if (!first) return;
  watch_.AfterReal(kSweepPauseUs, MakeJob([this] { pool_.Post(MakeJob([this] { Sweep(); })); }));
}

void CommandRunner::Sweep() {
  std::vector<std::pair<std::string, int64_t>> attempts;
  {
    MutexLock lock(mutex_);
    std::swap(attempts, to_sweep_);
  }
  finisher_.Sweep({attempts.begin(), attempts.end()});
}

}  // namespace duecourse
