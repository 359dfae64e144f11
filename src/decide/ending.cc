#include <algorithm>
#include <iterator>

#include "decide/decide.h"

namespace duecourse {
namespace {

// The window ended, or what stands for it. After a counted failure it is always a person; else the rule says.
Ended ByRule(const EndFacts& facts, Reason reason) {
  const bool person = facts.counted > 0 || facts.on_window_end == OnWindowEnd::kManual;
  return {person ? RunState::kManualRequired : RunState::kMissed, reason};
}

}  // namespace

Ended DecideEnd(const EndFacts& facts) {
  switch (facts.reason) {
    case Reason::kAlreadyDone:
    case Reason::kSuperseded:
    case Reason::kCancelled:
    case Reason::kCalendarExcluded:
    case Reason::kRuleRemoved:
      return {RunState::kSkipped, facts.reason};
    case Reason::kPaused:
      // A pause is intent, but what failed before it stays owed to somebody.
      if (facts.counted > 0) return {RunState::kManualRequired, Reason::kExceededWindow};
      return {RunState::kSkipped, Reason::kPaused};
    case Reason::kExceededWindow:
    case Reason::kExceededMaxDelay:
    case Reason::kSchedulerDown:
      return ByRule(facts, facts.reason);
    case Reason::kCalendarUnknown:
    case Reason::kAttemptsExhausted:
    case Reason::kPreconditionInvalid:
    case Reason::kAwaitingPerson:
    case Reason::kFailed:
    case Reason::kBusinessError:
    case Reason::kAttemptLost:
    case Reason::kStuck:
    case Reason::kKeyError:
    case Reason::kStoreGap:
    case Reason::kInternalInvariant:
      return {RunState::kManualRequired, facts.reason};
    case Reason::kAllConditionsMet:
    case Reason::kNotDue:
    case Reason::kOutOfWindow:
    case Reason::kBusyHours:
    case Reason::kMaintenanceWindow:
    case Reason::kWaitingRetry:
    case Reason::kWaitingCatchup:
    case Reason::kBreakerOpen:
    case Reason::kBudgetExhausted:
    case Reason::kPreconditionNotReady:
    case Reason::kPreconditionCheckFailed:
    case Reason::kLockOccupied:
    case Reason::kPreviousAttemptAlive:
    case Reason::kWaitingInOrder:
    case Reason::kMaxConcurrency:
    case Reason::kMinInterval:
    case Reason::kPoolFull:
    case Reason::kRateLimited:
    case Reason::kDraining:
    case Reason::kClockSkew:
    case Reason::kStoreUnavailable:
    case Reason::kSucceeded:
    case Reason::kNotReady:
    case Reason::kResolved:
      return ByRule(facts, Reason::kExceededWindow);
  }
  return ByRule(facts, Reason::kExceededWindow);
}

bool CanBeForced(Reason reason) {
  static constexpr Reason kPassable[] = {Reason::kPaused,
                                         Reason::kNotDue,
                                         Reason::kCalendarExcluded,
                                         Reason::kCalendarUnknown,
                                         Reason::kOutOfWindow,
                                         Reason::kExceededWindow,
                                         Reason::kExceededMaxDelay,
                                         Reason::kBusyHours,
                                         Reason::kMaintenanceWindow,
                                         Reason::kWaitingRetry,
                                         Reason::kWaitingCatchup,
                                         Reason::kBreakerOpen,
                                         Reason::kBudgetExhausted,
                                         Reason::kPreconditionNotReady,
                                         Reason::kPreconditionInvalid,
                                         Reason::kPreconditionCheckFailed};
  return std::find(std::begin(kPassable), std::end(kPassable), reason) != std::end(kPassable);
}

}  // namespace duecourse
