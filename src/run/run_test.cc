#include "run/run.h"

#include <gtest/gtest.h>

#include <set>

namespace duecourse {
namespace {

TEST(Run, EveryStateHasAStableNameThatReadsBack) {
  const char* const names[] = {"scheduled", "running",         "retrying", "catchup_waiting",
                               "success",   "manual_required", "skipped",  "missed"};
  for (int i = 0; i < kRunStateCount; ++i) {
    const auto state = static_cast<RunState>(i);
    EXPECT_STREQ(RunStateName(state), names[i]);
    EXPECT_EQ(RunStateFromName(names[i]), state);
  }
  EXPECT_EQ(RunStateFromName("done"), std::nullopt);
  EXPECT_EQ(RunStateFromName(""), std::nullopt);
}

TEST(Run, EachStateIsFinalOpenOrAPersons) {
  const struct {
    RunState state;
    bool is_final;
    bool is_open;
  } rows[] = {
      {RunState::kScheduled, false, true}, {RunState::kRunning, false, true},
      {RunState::kRetrying, false, true},  {RunState::kCatchupWaiting, false, true},
      {RunState::kSuccess, true, false},   {RunState::kManualRequired, false, false},
      {RunState::kSkipped, true, false},   {RunState::kMissed, true, false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(IsFinal(row.state), row.is_final) << RunStateName(row.state);
    EXPECT_EQ(IsOpen(row.state), row.is_open) << RunStateName(row.state);
  }
}

TEST(Run, OutcomesAndTriggerKindsReadBack) {
  std::set<std::string> names;
  for (Outcome outcome : {Outcome::kNone, Outcome::kSuccess, Outcome::kFailed, Outcome::kTimedOut,
                          Outcome::kLost, Outcome::kNotReady, Outcome::kNotStarted, Outcome::kCancelled}) {
    names.insert(OutcomeName(outcome));
    EXPECT_EQ(OutcomeFromName(OutcomeName(outcome)), outcome);
  }
  EXPECT_EQ(names, (std::set<std::string>{"none", "success", "failed", "timed_out", "lost", "not_ready",
                                          "not_started", "cancelled"}));
  names.clear();
  for (TriggerKind kind : {TriggerKind::kSchedule, TriggerKind::kEvent, TriggerKind::kManual,
                           TriggerKind::kRetry, TriggerKind::kCatchup}) {
    names.insert(TriggerKindName(kind));
    EXPECT_EQ(TriggerKindFromName(TriggerKindName(kind)), kind);
  }
  EXPECT_EQ(names, (std::set<std::string>{"schedule", "event", "manual", "retry", "catchup"}));
  EXPECT_EQ(OutcomeFromName("accepted"), std::nullopt);
  EXPECT_EQ(TriggerKindFromName("cron"), std::nullopt);
}

}  // namespace
}  // namespace duecourse
