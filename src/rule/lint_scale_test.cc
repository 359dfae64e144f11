// What `serve` pays at start, and what `check` pays for rules that are all alike or all different.
#include <ctime>

#include "base/text.h"
#include "rule/test_lint.h"

namespace duecourse {
namespace {

// Processor time of this program: a busy machine must not fail the test.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Instant Now() { return *ParseUtc("2026-02-10T00:00:00Z"); }

std::shared_ptr<RuleBody> Body() {
  auto body = std::make_shared<RuleBody>();
  body->trigger.schedule.kind = CronSchedule{*Cron::Parse("0 8 * * *"), {}};
  body->business_key = *Template::Parse("{task}:{business_date}");
  body->key_written = true;
  body->trigger.window.length = Hours(4);
  body->trigger.window_end_written = true;
  return body;
}

RuleSet Set(int count, const std::shared_ptr<const RuleBody>& shared) {
  RuleSet set;
  set.files.push_back({"rules.yaml", ".", ""});
  for (int i = 0; i < count; ++i) {
    Task task;
    task.id = StrCat("t", 100'000 + i);
    task.line = i + 1;
    if (shared != nullptr) {
      task.body = shared;
    } else {
      // Every rule another one, and each with a key that must be tried.
      const std::shared_ptr<RuleBody> body = Body();
      body->trigger.schedule.kind =
          CronSchedule{*Cron::Parse(StrCat(i % 60, " ", i / 60 % 24, ",23 * * *")), {}};
      task.body = body;
    }
    set.tasks.push_back(std::move(task));
  }
  return set;
}

double TimeOf(const RuleSet& set, bool thorough, std::vector<Finding>* findings) {
  LintOptions options;
  options.now = Now();
  options.thorough = thorough;
  const double begin = CpuSeconds();
  *findings = Lint(set, options);
  return CpuSeconds() - begin;
}

TEST(LintScale, TenThousandTasksCostLittleAtStart) {
  std::vector<Finding> findings;
  const double alike = TimeOf(Set(10'000, Body()), false, &findings);
  EXPECT_TRUE(findings.empty());
  const double different = TimeOf(Set(10'000, nullptr), false, &findings);
  EXPECT_TRUE(findings.empty());
  RecordProperty("alike_ms", static_cast<int>(alike * 1000));
  RecordProperty("different_ms", static_cast<int>(different * 1000));
  EXPECT_LT(alike, 0.3);
  EXPECT_LT(different, 0.3);
}

TEST(LintScale, RulesThatAreAlikeAreToldOnce) {
  std::vector<Finding> findings;
  const double seconds = TimeOf(Set(10'000, Body()), true, &findings);
  EXPECT_LT(seconds, 1.0);
  std::vector<std::string> owners;
  for (const Finding& finding : findings) {
    if (finding.id == "no_owner") owners.push_back(finding.task + ": " + finding.message);
  }
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_EQ(owners[0],
            "t100000: no owner: nobody is told of the final failure, or decides what was missed (so do 9999 "
            "more tasks with this rule)");
}

TEST(LintScale, RulesThatAreAllDifferentAreCheckedWithinABound) {
  std::vector<Finding> findings;
  const double seconds = TimeOf(Set(1'000, nullptr), true, &findings);
  RecordProperty("thousand_different_ms", static_cast<int>(seconds * 1000));
  EXPECT_LT(seconds, 10.0);
}

TEST(LintScale, ACircleOfFiveThousandTasksIsFoundAtOnce) {
  constexpr int kTasks = 5'000;
  RuleSet set = Set(kTasks, Body());
  for (int i = 0; i < kTasks; ++i) {
    const std::shared_ptr<RuleBody> body = Body();
    Precondition condition;
    condition.type = Precondition::Type::kTask;
    condition.task.task = *Template::Parse(set.tasks[static_cast<size_t>((i + 1) % kTasks)].id);
    body->trigger.preconditions.push_back(condition);
    set.tasks[static_cast<size_t>(i)].body = body;
  }
  std::vector<Finding> findings;
  EXPECT_LT(TimeOf(set, false, &findings), 0.3);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].message,
            "waits for itself: t100000 → t100001 → t100002 → … → t104998 → t104999 → t100000 (5000 tasks); "
            "none of them can ever start");
}

}  // namespace
}  // namespace duecourse
