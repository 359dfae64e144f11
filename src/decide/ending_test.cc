#include <gtest/gtest.h>

#include "decide/decide.h"
#include "run/lifecycle.h"

namespace duecourse {
namespace {

std::string After(Reason reason, OnWindowEnd on_window_end, int counted) {
  const Ended ended = DecideEnd({reason, on_window_end, counted});
  return std::string(RunStateName(ended.state)) + " " + ReasonName(ended.reason);
}

TEST(DecideEnd, EveryEndingHasItsStateAndReason) {
  const auto manual = OnWindowEnd::kManual;
  const auto missed = OnWindowEnd::kMissed;
  const struct {
    const char* what;
    Reason reason;
    OnWindowEnd on_window_end;
    int counted;
    const char* expected;
  } rows[] = {
      {"window ended, nobody need act", Reason::kExceededWindow, missed, 0, "missed exceeded_window"},
      {"window ended, the rule calls a person", Reason::kExceededWindow, manual, 0,
       "manual_required exceeded_window"},
      {"after a failure it is always a person", Reason::kExceededWindow, missed, 1,
       "manual_required exceeded_window"},
      {"too late to catch up", Reason::kExceededMaxDelay, missed, 0, "missed exceeded_max_delay"},
      {"too late to catch up, failed", Reason::kExceededMaxDelay, missed, 5,
       "manual_required exceeded_max_delay"},
      {"down", Reason::kSchedulerDown, missed, 0, "missed scheduler_down"},
      {"down, the rule calls a person", Reason::kSchedulerDown, manual, 0, "manual_required scheduler_down"},
      {"pool full until the end (scenario 06)", Reason::kPoolFull, missed, 0, "missed exceeded_window"},
      {"breaker open until the end (scenario 43)", Reason::kBreakerOpen, missed, 0, "missed exceeded_window"},
      {"breaker open until the end", Reason::kBreakerOpen, manual, 0, "manual_required exceeded_window"},
      {"data never came", Reason::kPreconditionNotReady, manual, 0, "manual_required exceeded_window"},
      {"data never came, rule says missed", Reason::kPreconditionNotReady, missed, 0,
       "missed exceeded_window"},
      {"never ready by its own word", Reason::kNotReady, missed, 0, "missed exceeded_window"},
      {"no working day", Reason::kCalendarExcluded, manual, 0, "skipped calendar_excluded"},
      {"calendar without that year", Reason::kCalendarUnknown, missed, 0, "manual_required calendar_unknown"},
      {"paused", Reason::kPaused, manual, 0, "skipped paused"},
      {"failed, then paused", Reason::kPaused, missed, 2, "manual_required exceeded_window"},
      {"superseded (scenario 06)", Reason::kSuperseded, manual, 0, "skipped superseded"},
      {"cancelled", Reason::kCancelled, manual, 2, "skipped cancelled"},
      {"rule removed", Reason::kRuleRemoved, manual, 2, "skipped rule_removed"},
      {"another occurrence of the key", Reason::kAlreadyDone, manual, 0, "skipped already_done"},
      {"cap", Reason::kAttemptsExhausted, missed, 3, "manual_required attempts_exhausted"},
      {"a hundred times not ready", Reason::kAttemptsExhausted, missed, 0,
       "manual_required attempts_exhausted"},
      {"wrong content, on_invalid: manual", Reason::kPreconditionInvalid, missed, 0,
       "manual_required precondition_invalid"},
      {"no key", Reason::kKeyError, missed, 0, "manual_required key_error"},
      {"processes that will not end", Reason::kStuck, missed, 1, "manual_required stuck"},
      {"the store went back", Reason::kStoreGap, missed, 0, "manual_required store_gap"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(After(row.reason, row.on_window_end, row.counted), row.expected) << row.what;
}

TEST(DecideEnd, WhateverTheReasonItEndsOnAnEdgeAndNeverMissedAfterACountedAttempt) {
  for (int i = 0; i < kReasonCount; ++i) {
    for (OnWindowEnd on_window_end : {OnWindowEnd::kManual, OnWindowEnd::kMissed}) {
      for (int counted : {0, 1, 7}) {
        const Ended ended = DecideEnd({static_cast<Reason>(i), on_window_end, counted});
        const std::string what = ReasonName(static_cast<Reason>(i));
        EXPECT_TRUE(EdgeExists(RunState::kScheduled, ended.state)) << what;
        EXPECT_NE(ended.state, RunState::kRunning) << what;
        if (counted > 0) {
          EXPECT_TRUE(EdgeExists(RunState::kRetrying, ended.state)) << what;
          EXPECT_TRUE(EdgeExists(RunState::kCatchupWaiting, ended.state)) << what;
        }
      }
    }
  }
}

}  // namespace
}  // namespace duecourse
