#include "run/reason.h"

#include <iterator>

namespace duecourse {
namespace {

struct Row {
  Reason reason;
  const char* name;
  const char* sentence;
};

constexpr Row kRows[] = {
    {Reason::kAllConditionsMet, "all_conditions_met", "Everything it asks for is true, so it starts."},
    // Is it done?
    {Reason::kAlreadyDone, "already_done", "The result of this key exists already; it is not made twice."},
    {Reason::kAwaitingPerson, "awaiting_person",
     "Automation has ended for this run; a person has to take it over."},
    {Reason::kSuperseded, "superseded", "A newer run has taken its place."},
    {Reason::kCancelled, "cancelled", "A person cancelled it."},
    // Is it time?
    {Reason::kPaused, "paused", "A person has paused it; what comes due in a pause is not owed."},
    {Reason::kNotDue, "not_due", "It is not due yet."},
    {Reason::kCalendarExcluded, "calendar_excluded", "Its rule does not run on this day."},
    {Reason::kCalendarUnknown, "calendar_unknown",
     "Its calendar has no data for this day, so a person decides; a guess would be worse."},
    {Reason::kOutOfWindow, "out_of_window", "Its window has not opened yet."},
    {Reason::kExceededWindow, "exceeded_window", "Its window ended before it was done."},
    {Reason::kExceededMaxDelay, "exceeded_max_delay", "It is later than max_delay allows for catching up."},
    {Reason::kBusyHours, "busy_hours", "Its rule avoids these hours for catching up."},
    {Reason::kMaintenanceWindow, "maintenance_window",
     "There is maintenance now; nothing starts by itself until it is over."},
    // Is it ready?
    {Reason::kAttemptsExhausted, "attempts_exhausted",
     "No automatic attempt is left of those its rule allows."},
    {Reason::kWaitingRetry, "waiting_retry", "An attempt did not succeed; the next has its instant."},
    {Reason::kWaitingCatchup, "waiting_catchup",
     "The quick retries are used up; the next catch-up has its instant."},
    {Reason::kBreakerOpen, "breaker_open",
     "It failed too often in a row; nothing starts until the cooldown ends and a trial succeeds."},
    {Reason::kBudgetExhausted, "budget_exhausted", "Its budget is spent for now."},
    {Reason::kPreconditionNotReady, "precondition_not_ready", "Something it waits for is not there yet."},
    {Reason::kPreconditionInvalid, "precondition_invalid",
     "What it waits for is there, but its content is wrong."},
    {Reason::kPreconditionCheckFailed, "precondition_check_failed",
     "The check itself failed, so nobody knows whether what it waits for is there."},
    // Is it ours?
    {Reason::kLockOccupied, "lock_occupied", "An attempt of this key is running."},
    {Reason::kPreviousAttemptAlive, "previous_attempt_alive",
     "Processes of a former attempt are still there; it waits until they are gone."},
    {Reason::kWaitingInOrder, "waiting_in_order",
     "An earlier run of this task is not final, and its rule asks for order."},
    {Reason::kMaxConcurrency, "max_concurrency", "As many runs of this task are running as its rule allows."},
    {Reason::kMinInterval, "min_interval", "Another run started too short a time ago."},
    {Reason::kPoolFull, "pool_full", "All slots of a pool it needs are taken."},
    {Reason::kRateLimited, "rate_limited",
     "A pool it needs has given out all the starts of this stretch of time."},
    {Reason::kDraining, "draining", "The daemon is shutting down and starts nothing new."},
    {Reason::kClockSkew, "clock_skew",
     "This node's clock is too far from the store's; it starts nothing until that is put right."},
    {Reason::kStoreUnavailable, "store_unavailable",
     "The store does not take commits, and nothing starts that cannot be recorded first."},
    // Changes of state that are no decisions to run.
    {Reason::kSucceeded, "succeeded", "An attempt succeeded."},
    {Reason::kFailed, "failed", "An attempt failed."},
    {Reason::kNotReady, "not_ready",
     "The attempt found that it could not begin its work; it is not counted."},
    {Reason::kBusinessError, "business_error",
     "The attempt failed in a way that trying again does not mend."},
    {Reason::kAttemptLost, "attempt_lost", "Nobody knows how the attempt ended; it is counted."},
    {Reason::kStuck, "stuck", "It has been in one state for longer than it should."},
    {Reason::kSchedulerDown, "scheduler_down",
     "The scheduler was not at work when it was due, or its store took nothing."},
    {Reason::kRuleRemoved, "rule_removed",
     "Its rule, or its value of for_each, was taken away or switched off."},
    {Reason::kKeyError, "key_error", "Its business key could not be made, or belongs to another task."},
    {Reason::kStoreGap, "store_gap",
     "The store went back in time; what happened to this run since is unknown."},
    {Reason::kResolved, "resolved", "A person did the work by hand and said so."},
    {Reason::kInternalInvariant, "internal_invariant",
     "Duecourse found a contradiction in its own records and holds this task."},
};

// A new reason does not compile until it has its row, in its place.
constexpr bool RowsAreComplete() {
  if (std::size(kRows) != static_cast<size_t>(kReasonCount)) return false;
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].reason) != i) return false;
  }
  return true;
}
static_assert(RowsAreComplete());

const Row& RowOf(Reason reason) { return kRows[static_cast<size_t>(reason)]; }

}  // namespace

const char* ReasonName(Reason reason) { return RowOf(reason).name; }

const char* ReasonSentence(Reason reason) { return RowOf(reason).sentence; }

std::optional<Reason> ReasonFromName(std::string_view name) {
  for (const Row& row : kRows) {
    if (name == row.name) return row.reason;
  }
  return std::nullopt;
}

}  // namespace duecourse
