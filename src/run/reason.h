// The closed list of reasons: why a run may start, may not start now, or changed
// its state. Names are stable outside names; each has a sentence for people and
// is reached by a test. Never renamed without a CHANGELOG line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duecourse {

enum class Reason {
  kAllConditionsMet,
  // Is it done?
  kAlreadyDone,
  kAwaitingPerson,
  kSuperseded,
  kCancelled,
  // Is it time?
  kPaused,
  kNotDue,
  kCalendarExcluded,
  kCalendarUnknown,
  kOutOfWindow,
  kExceededWindow,
  kExceededMaxDelay,
  kBusyHours,
  kMaintenanceWindow,
  // Is it ready?
  kAttemptsExhausted,
  kWaitingRetry,
  kWaitingCatchup,
  kBreakerOpen,
  kBudgetExhausted,
  kPreconditionNotReady,
  kPreconditionInvalid,
  kPreconditionCheckFailed,
  // Is it ours?
  kLockOccupied,
  kPreviousAttemptAlive,
  kWaitingInOrder,
  kMaxConcurrency,
  kMinInterval,
  kPoolFull,
  kRateLimited,
  kDraining,
  kClockSkew,
  kStoreUnavailable,
  // Changes of state that are no decisions to run.
  kSucceeded,
  kFailed,
  kNotReady,
  kBusinessError,
  kAttemptLost,
  kStuck,
  kSchedulerDown,
  kRuleRemoved,
  kKeyError,
  kStoreGap,
  kResolved,
  kInternalInvariant,
};
inline constexpr int kReasonCount = static_cast<int>(Reason::kInternalInvariant) + 1;

const char* ReasonName(Reason reason);      // "precondition_not_ready"
const char* ReasonSentence(Reason reason);  // "Something it waits for is not there yet."
std::optional<Reason> ReasonFromName(std::string_view name);

}  // namespace duecourse
