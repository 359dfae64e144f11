// What is due next by the clock. The engine plans an occurrence when it is due, so until then its plan knows
// nothing of one that a person had started before its time; the store does.
#include <algorithm>

#include "rule/occurrence.h"
#include "web/api.h"

namespace duecourse {

// A run of it is over, under way or a person's: the clock starts nothing of it.
static bool IsBegun(const Task& task, size_t value, Instant due, StoreReader& reader) {
  RunFilter filter;
  filter.task = task.id;
  filter.value = ValueId(task.rule(), value);
  filter.from = due;
  filter.until = due + Millis{1};
  const Result<std::vector<Run>> runs = reader.Runs(filter);
  return runs.ok() && std::any_of(runs->begin(), runs->end(), [](const Run& run) {
           return !run.extra && run.state != RunState::kScheduled && run.state != RunState::kRetrying &&
                  run.state != RunState::kCatchupWaiting;
         });
}

Instant NextToCome(const Task& task, size_t value, Instant next, StoreReader& reader) {
  constexpr int kTried = 100;
  for (int i = 0; i < kTried && next < kNever && IsBegun(task, value, next, reader); ++i)
    next = NextDue(task.rule(), value, next).value_or(kNever);
  return next;
}

}  // namespace duecourse
