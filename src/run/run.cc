#include "run/run.h"

#include <iterator>

namespace duecourse {
namespace {

constexpr RunState kStates[] = {RunState::kScheduled,      RunState::kRunning, RunState::kRetrying,
                                RunState::kCatchupWaiting, RunState::kSuccess, RunState::kManualRequired,
                                RunState::kSkipped,        RunState::kMissed};
static_assert(std::size(kStates) == kRunStateCount);

constexpr Outcome kOutcomes[] = {Outcome::kNone,       Outcome::kSuccess,  Outcome::kFailed,
                                 Outcome::kTimedOut,   Outcome::kLost,     Outcome::kNotReady,
                                 Outcome::kNotStarted, Outcome::kCancelled};

constexpr TriggerKind kTriggerKinds[] = {TriggerKind::kSchedule, TriggerKind::kEvent, TriggerKind::kManual,
                                         TriggerKind::kRetry, TriggerKind::kCatchup};

}  // namespace

const char* RunStateName(RunState state) {
  switch (state) {
    case RunState::kScheduled:
      return "scheduled";
    case RunState::kRunning:
      return "running";
    case RunState::kRetrying:
      return "retrying";
    case RunState::kCatchupWaiting:
      return "catchup_waiting";
    case RunState::kSuccess:
      return "success";
    case RunState::kManualRequired:
      return "manual_required";
    case RunState::kSkipped:
      return "skipped";
    case RunState::kMissed:
      return "missed";
  }
  return "";
}

std::optional<RunState> RunStateFromName(std::string_view name) {
  for (RunState state : kStates) {
    if (name == RunStateName(state)) return state;
  }
  return std::nullopt;
}

bool IsFinal(RunState state) {
  return state == RunState::kSuccess || state == RunState::kSkipped || state == RunState::kMissed;
}

bool IsOpen(RunState state) { return !IsFinal(state) && state != RunState::kManualRequired; }

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNone:
      return "none";
    case Outcome::kSuccess:
      return "success";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kTimedOut:
      return "timed_out";
    case Outcome::kLost:
      return "lost";
    case Outcome::kNotReady:
      return "not_ready";
    case Outcome::kNotStarted:
      return "not_started";
    case Outcome::kCancelled:
      return "cancelled";
  }
  return "";
}

std::optional<Outcome> OutcomeFromName(std::string_view name) {
  for (Outcome outcome : kOutcomes) {
    if (name == OutcomeName(outcome)) return outcome;
  }
  return std::nullopt;
}

const char* TriggerKindName(TriggerKind kind) {
  switch (kind) {
    case TriggerKind::kSchedule:
      return "schedule";
    case TriggerKind::kEvent:
      return "event";
    case TriggerKind::kManual:
      return "manual";
    case TriggerKind::kRetry:
      return "retry";
    case TriggerKind::kCatchup:
      return "catchup";
  }
  return "";
}

std::optional<TriggerKind> TriggerKindFromName(std::string_view name) {
  for (TriggerKind kind : kTriggerKinds) {
    if (name == TriggerKindName(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace duecourse
