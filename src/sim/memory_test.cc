// Memory returns to where it was (invariant 43): a thousand days leave nothing behind but what history keeps.
#include <gtest/gtest.h>

#include "base/text.h"
#include "rule/ruleset.h"
#include "sim/world.h"

namespace duecourse {
namespace {

// Names that carry a date, on both sides of a flag; an upstream; a file that is late; failures, retries and
// alerts that nobody takes at first; a run that waits in a long window.
constexpr const char* kRules = R"yaml(
tasks:
  - task_id: etl
    owner: desk
    trigger:
      cron: "0 1 * * *"
      timezone: UTC
      window_start: "01:00"
      window_end: "05:00"
      check_interval: 1h
      preconditions: [{type: file, path: "in_{date}.csv", must_exist: true}]
    retry: {immediate: {max_attempts: 1, interval: 5s}, catchup: {enabled: true, check_interval: 30m, max_times: 2}}
    idempotency: {business_key: "etl:{business_date}"}
    on_success: {set: ["etl.finished_{date}", etl.ready]}
    execution: {noop: {}}
  - task_id: report
    owner: desk
    trigger:
      cron: "0 0 * * *"
      timezone: UTC
      window_start: "00:00"
      window_end: "06:00"
      check_interval: 1h
      depends_on: ["etl.finished_{date}", "never.set_{date}"]
      on_window_end: missed
    idempotency: {business_key: "report:{business_date}"}
    execution: {noop: {}}
  - task_id: after
    owner: desk
    trigger:
      cron: "30 1 * * *"
      timezone: UTC
      window_start: "01:30"
      window_end: "06:00"
      check_interval: 1h
      on_window_end: missed
      preconditions: [{type: task, task: etl}, {type: flag, name: etl.ready}]
    idempotency: {business_key: "after:{business_date}"}
    execution: {noop: {}}
)yaml";
constexpr const char* kSettings = R"yaml(
retention: 30d
owners: {desk: {P2: [page], P1: [page]}}
channels: {page: {command: [/bin/true]}}
)yaml";

TEST(Memory, AThousandDaysLeaveNothingBehind) {
  Loaded loaded = LoadRulesFromText({{"rules.yaml", kRules}}, {"duecourse.yaml", kSettings});
  for (const Finding& finding : loaded.findings) {
    ASSERT_NE(finding.severity, Finding::Severity::kError) << FormatFinding(finding);
  }
  WorldScript script;
  script.execute = [](const StartRequest& request, Instant now) {
    SimEnding ending;
    bool fails = request.task == "etl" && request.ref.attempt == 1;
    ending.ending.code = fails && now.ms / Days(1).count % 3 == 0 ? 75 : 0;
    return ending;
  };
  script.probe = [](const ProbeRequest&, Instant now) {
    bool there = now.ms % Days(1).count > Hours(2).count;
    ProbeAnswer answer;
    answer.answer = there ? PreconditionFact::Answer::kYes : PreconditionFact::Answer::kNo;
    answer.code = there ? "met" : "missing";
    answer.text = there ? "it is there" : "it is not there";
    return answer;
  };
  script.deliver = [](const AlertMessage&, Instant now) { return now.ms % Days(1).count > Hours(7).count; };
  const Instant start = *ParseUtc("2026-01-01T12:00:00Z");
  World world(loaded.set, start, 1, script);
  world.Start();
  world.RunUntil(start + Days(100));
  const size_t before = world.figures().held;
  world.RunUntil(start + Days(1000));
  EXPECT_LE(world.figures().held, before + 4);
  EXPECT_EQ(world.figures().open_runs, 0u);
  EXPECT_GE(world.starts().size(), 2000u);
}

TEST(Memory, ALongWaitLeavesNoTimersBehind) {
  Loaded loaded = LoadRulesFromText({{"rules.yaml", R"yaml(
task_id: waits
trigger:
  cron: "0 0 1 1 *"
  timezone: UTC
  window_end: +90d
  preconditions: [{type: file, path: in.csv, must_exist: true}]
idempotency: {business_key: "waits:{business_date}"}
execution: {noop: {}}
)yaml"}},
                                    {"duecourse.yaml", ""});
  ASSERT_NE(loaded.set, nullptr);
  WorldScript script;
  script.probe = [](const ProbeRequest&, Instant) {
    ProbeAnswer answer;
    answer.answer = PreconditionFact::Answer::kNo;
    answer.text = "it is not there";
    return answer;
  };
  const Instant start = *ParseUtc("2025-12-31T23:00:00Z");
  World world(loaded.set, start, 1, script);
  world.Start();
  world.RunUntil(start + Days(5));
  EXPECT_EQ(world.figures().open_runs, 1u);
  EXPECT_LE(world.figures().held, 600u);
}

}  // namespace
}  // namespace duecourse
