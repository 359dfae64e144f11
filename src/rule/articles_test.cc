// Both articles' rules, as printed, mean what they say.
#include "rule/test_rules.h"

namespace duecourse {
namespace {

TEST(Articles, BothAreTheExamplesThatPeopleSee) {
  EXPECT_EQ(CaseText("rules/article_a.yaml"), CaseText("../../examples/digest.yaml"));
  EXPECT_EQ(CaseText("rules/article_b.yaml"), CaseText("../../examples/order_sync.yaml"));
}

TEST(Articles, OrderSyncSaysWhatArticleBPrints) {
  RuleBody rule = OnlyRule(CaseText("rules/article_b.yaml"));
  EXPECT_EQ(rule.trigger.schedule.zone.name(), "Asia/Shanghai");
  EXPECT_EQ(rule.trigger.window.start, 2 * 3600);
  EXPECT_EQ(rule.trigger.window.end, 5 * 3600);
  EXPECT_EQ(rule.trigger.min_interval, Minutes(5));
  EXPECT_EQ(rule.trigger.lease_ttl, Hours(1));
  EXPECT_EQ(rule.trigger.lease_heartbeat, Minutes(15));
  EXPECT_EQ(rule.trigger.on_window_end, OnWindowEnd::kManual);
  EXPECT_EQ(rule.trigger.missed, MissedPolicy::kLatest);
  ASSERT_EQ(rule.trigger.preconditions.size(), 1u);
  EXPECT_EQ(rule.trigger.preconditions[0].type, Precondition::Type::kFile);
  EXPECT_TRUE(rule.trigger.preconditions[0].file.must_exist);
  EXPECT_EQ(rule.retry.max_total_attempts, 10);
  EXPECT_EQ(rule.retry.catchup_max_times, 5);
  EXPECT_EQ(rule.execution.timeout, Minutes(30));
  EXPECT_EQ(rule.execution.on_timeout, ExecutionRule::OnTimeout::kFailAndNotify);
  EXPECT_EQ(rule.business_key.text(), "order_sync:{target_date}:{window}");
  ASSERT_EQ(rule.unsupported.size(), 1u);
  EXPECT_EQ(rule.unsupported[0].what, "s3:// paths");
  EXPECT_EQ(rule.unsupported[0].line, 10);
}

// Starts, counted from the due time, of a rule whose attempts all fail at once: the ladder, then catch-up.
std::vector<int64_t> StartsInSeconds(const RetryRule& retry, int most) {
  std::vector<int64_t> starts = {0};
  for (int i = 0; i < retry.immediate_max; ++i)
    starts.push_back(starts.back() + retry.immediate_interval.count / 1000);
  for (Millis delay : retry.backoff) starts.push_back(starts.back() + delay.count / 1000);
  while (static_cast<int>(starts.size()) < most)
    starts.push_back(starts.back() + retry.catchup_interval.count / 1000);
  return starts;
}

TEST(Articles, TheLaddersOfOrderSyncGiveItsTimeline) {
  RuleBody rule = OnlyRule(CaseText("rules/article_b.yaml"));
  std::vector<std::string> clock;
  for (int64_t second : StartsInSeconds(rule.retry, rule.retry.max_total_attempts)) {
    clock.push_back(FormatTimeOfDay(static_cast<int32_t>(2 * 3600 + second)));
  }
  const std::vector<std::string> expected = {"02:00",    "02:00:05", "02:01:05", "02:03:05", "02:07:05",
                                             "02:37:05", "03:07:05", "03:37:05", "04:07:05", "04:37:05"};
  EXPECT_EQ(clock, expected);
}

TEST(Articles, TheDigestSaysWhatArticleASays) {
  RuleBody rule = OnlyRule(CaseText("rules/article_a.yaml"));
  EXPECT_EQ(rule.trigger.business_date.kind, BusinessDateRule::Kind::kPreviousDay);
  EXPECT_EQ(rule.trigger.window.start, 9 * 3600);
  EXPECT_EQ(rule.trigger.window.end, 12 * 3600);
  EXPECT_FALSE(rule.trigger.workdays_only);
  ASSERT_EQ(rule.trigger.preconditions.size(), 1u);
  EXPECT_EQ(rule.trigger.preconditions[0].flag.name.text(), "daily_etl.finished_{business_date}");
  EXPECT_FALSE(rule.trigger.preconditions[0].flag.dated);
  EXPECT_EQ(rule.retry.backoff, std::vector<Millis>({Seconds(1), Seconds(2), Seconds(4), Seconds(8)}));
  EXPECT_EQ(rule.retry.jitter, Millis{500});
  EXPECT_TRUE(rule.retry.catchup);
  EXPECT_EQ(rule.retry.catchup_interval, Minutes(5));
  EXPECT_FALSE(rule.retry.catchup_max_times.has_value());
  EXPECT_EQ(rule.retry.max_total_attempts, 41);
  EXPECT_EQ(rule.supersede, Supersede::kNever);
  EXPECT_EQ(rule.execution.timeout, Seconds(30));
  EXPECT_TRUE(rule.unsupported.empty());
  // An agent that is down from 09:00 to 10:30 is reached by the 23rd attempt, at 10:30:15.
  std::vector<int64_t> starts = StartsInSeconds(rule.retry, 23);
  EXPECT_EQ(FormatTimeOfDay(static_cast<int32_t>(9 * 3600 + starts[22])), "10:30:15");
}

}  // namespace
}  // namespace duecourse
