#include "base/text.h"
#include "rule/test_lint.h"

namespace duecourse {
namespace {

std::string Rule(const std::string& more, const std::string& cron = "0 2 * * *") {
  return StrCat("task_id: t\ncron: \"", cron,
                "\"\ntimezone: UTC\nowner: data\nnoop: {}\nbusiness_key: \"{task}:{date}:{window}\"\n", more);
}
const std::string kWindow = "window_start: \"02:00\"\nwindow_end: \"05:00\"\n";

TEST(LintRetry, ArticleBsLadderIsBoundedAndReachesItsTimes) {
  const Linted linted = CheckRules(Rule(kWindow + R"(
retry:
  immediate: {max_attempts: 1, interval: 5s}
  backoff: {max_attempts: 3, intervals: [1m, 2m, 4m]}
  catchup: {enabled: true, check_interval: 30m, max_times: 5, why: late data}
  max_total_attempts: 10
lock_ttl: 3600s
)"));
  EXPECT_EQ(linted.Serious(), std::vector<std::string>{"lease_long"}) << linted.All();
  EXPECT_NE(linted.Text("lease_long").find("a crash is noticed only when the lease of 1h ends"),
            std::string::npos);
  EXPECT_NE(
      linted.Text("cost_bound").find("at most 10 attempts a day: 1 occurrence, each tried at most 10 times"),
      std::string::npos);
}

TEST(LintRetry, ArticleAsDigestIsCleanOnceItHasAnOwner) {
  const Linted linted = CheckRules(R"(task_id: digest
owner: data
schedule: {cron: "0 9 * * *", timezone: Asia/Shanghai}
business_date: previous_day
guardrails: {execution_window: "09:00-12:00"}
depends_on: ["etl.finished_{business_date}"]
dedupe_key: "digest:{business_date}:{channel_id}"
vars: {channel_id: ops}
retry: {max_attempts: 4, base: 2}
catchup: {enabled: true, check_interval: 5m}
max_total_attempts: 41
timeout: 30s
supersede: never
http: {url: "http://127.0.0.1:8080/digest"}
)");
  EXPECT_EQ(linted.Serious(), std::vector<std::string>{}) << linted.All();
  EXPECT_NE(linted.Text("cost_bound").find("at most 41 attempts a day"), std::string::npos);
}

TEST(LintRetry, ACapThatNobodyWroteAndThatEndsCatchUpEarlyIsTold) {
  const std::string window = "window_start: \"02:00\"\nwindow_end: \"12:00\"\n";
  // 02:00 to 12:00 every 30 minutes: 02:30 to 11:30 are 19; ten attempts, the first among them, leave 9.
  const Linted linted = CheckRules(Rule(window + "retry: {catchup: {enabled: true, check_interval: 30m}}\n"));
  const std::string text = linted.Text("catchup_capped");
  for (const char* part : {"every 30m fits 19 times before 2026-02-10T12:00:00Z", "cap of 10", "leaves it 9",
                           "write max_total_attempts: 20 for all of them, or max_times: 9"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  for (const char* decided : {"{catchup: {enabled: true, check_interval: 30m}, max_total_attempts: 20}",
                              "{catchup: {enabled: true, check_interval: 30m}, max_total_attempts: 8}",
                              "{catchup: {enabled: true, check_interval: 30m, max_times: 9}}",
                              "{catchup: {enabled: true, check_interval: 2h}}"})
    EXPECT_FALSE(CheckRules(Rule(window + "retry: " + decided + "\n")).Has("catchup_capped")) << decided;
}

TEST(LintRetry, MaxTimesThatDoNotFit) {
  const struct {
    const char* retry;
    const char* text;  // empty: reachable
  } rows[] = {
      // 02:00 to 05:00 without a ladder: 02:30 … 04:30 are five; 05:00 itself is outside.
      {"{catchup: {max_times: 5}, max_total_attempts: 9}", ""},
      {"{catchup: {max_times: 6}, max_total_attempts: 9}",
       "at most 5 fit before 2026-02-10T05:00:00Z (the window's end)"},
      {"{catchup: {max_times: 5, max_delay: 2h}, max_total_attempts: 9}",
       "at most 3 fit before 2026-02-10T04:00:00Z (max_delay)"},
      {"{catchup: {max_times: 5}, max_total_attempts: 4}", "max_total_attempts: 4 leaves 3 after the ladder"},
      {"{backoff: {intervals: [40m]}, catchup: {max_times: 5}, max_total_attempts: 9}", "at most 4 fit"},
      {"{catchup: {enabled: true}}", ""},
  };
  for (const auto& row : rows) {
    const Linted linted = CheckRules(Rule(kWindow + "retry: " + row.retry + "\n"));
    if (*row.text == '\0') {
      EXPECT_FALSE(linted.Has("max_times_unreachable")) << row.retry << linted.All();
    } else {
      EXPECT_NE(linted.Text("max_times_unreachable").find(row.text), std::string::npos) << row.retry << "\n"
                                                                                        << linted.All();
    }
  }
}

TEST(LintRetry, ACapBelowTheLadderOrWithoutRoomForCatchup) {
  EXPECT_NE(CheckRules(Rule(kWindow + "retry: {backoff: {intervals: [1m, 2m, 4m]}, max_total_attempts: 3}\n"))
                .Text("cap_below_ladder")
                .find("write at least 4"),
            std::string::npos);
  EXPECT_TRUE(
      CheckRules(
          Rule(kWindow +
               "retry: {backoff: {intervals: [1m, 2m]}, catchup: {enabled: true}, max_total_attempts: 3}\n"))
          .Has("catchup_no_room"));
  EXPECT_TRUE(CheckRules(Rule(kWindow + "retry: {catchup: {check_interval: 1m}, max_total_attempts: 101}\n"))
                  .Has("cap_high"));
  EXPECT_FALSE(CheckRules(Rule(kWindow + "retry: {catchup: {check_interval: 1m}, max_total_attempts: 41}\n"))
                   .Has("cap_high"));
}

TEST(LintRetry, HintsForAFewOrManyRetriesAndForNoJitter) {
  const auto with = [](const std::string& retry) {
    return CheckRules(Rule(kWindow + "retry: " + retry + "\n"));
  };
  EXPECT_TRUE(with("{backoff: {intervals: [1m, 2m]}}").Has("retry_count"));
  EXPECT_TRUE(with("{backoff: {intervals: [1m, 1m, 1m, 1m, 1m, 1m]}}").Has("retry_count"));
  EXPECT_FALSE(with("standard").Has("retry_count"));
  EXPECT_FALSE(with("standard").Has("no_jitter"));
  EXPECT_TRUE(with("{backoff: {intervals: [1m, 2m, 4m], jitter: 0}}").Has("no_jitter"));
  EXPECT_FALSE(HasErrors(with("{backoff: {intervals: [1m, 2m]}}").findings));
  EXPECT_EQ(with("{backoff: {intervals: [1m, 2m], jitter: 0}}").Serious(), std::vector<std::string>{});
}

TEST(LintRetry, Leases) {
  EXPECT_TRUE(CheckRules(Rule(kWindow + "lease: {ttl: 60s, heartbeat: 25s}\n")).Has("lease_heartbeats"));
  EXPECT_FALSE(CheckRules(Rule(kWindow + "lease: {ttl: 60s, heartbeat: 20s}\n")).Has("lease_heartbeats"));
  EXPECT_FALSE(CheckRules(Rule(kWindow)).Has("lease_heartbeats"));
  EXPECT_FALSE(CheckRules(Rule(kWindow + "lease: {ttl: 5m}\n")).Has("lease_long"));
}

TEST(LintRetry, AKeyKeptShorterThanItsWindow) {
  EXPECT_NE(CheckRules(Rule("window_end: +72h\nkeep: 2d\n"))
                .Text("keep_short")
                .find("kept 2d, shorter than its window of 3d"),
            std::string::npos);
  EXPECT_FALSE(CheckRules(Rule("window_end: +72h\nkeep: 3d\n")).Has("keep_short"));
}

TEST(LintRetry, TheBoundOfAttemptsADayCountsOccurrencesValuesAndTheCap) {
  const struct {
    const char* cron;
    const char* more;
    const char* text;
  } rows[] = {
      {"0 * * * *", "", "at most 48 attempts a day: 24 occurrences, each tried at most 2 times"},
      {"0 * * * *", "on_lost: hold\n",
       "at most 24 attempts a day: 24 occurrences, each tried at most 1 time"},
      {"0 9 31 * *", "on_lost: hold\n", "at most 1 attempt a day: 1 occurrence,"},
      {"*/10 9-17 * * 1-5", "on_lost: hold\n", "at most 54 attempts a day: 54 occurrences,"},
  };
  for (const auto& row : rows) {
    EXPECT_NE(CheckRules(Rule(std::string("window_end: +1h\n") + row.more, row.cron))
                  .Text("cost_bound")
                  .find(row.text),
              std::string::npos)
        << row.cron << CheckRules(Rule(std::string("window_end: +1h\n") + row.more, row.cron)).All();
  }
  const Linted values = CheckRules(
      "task_id: t\ncron: \"0 8 * * *\"\ntimezone: UTC\nowner: data\nnoop: {}\nwindow_end: +1h\non_lost: "
      "hold\n"
      "for_each: {c: [x, y, z]}\nbusiness_key: \"{task}:{c}:{date}\"\n");
  EXPECT_NE(values.Text("cost_bound")
                .find("at most 3 attempts a day: 1 occurrence of 3 values, each tried at most 1 time"),
            std::string::npos);
}

TEST(LintRetry, ARuleOfFourLinesIsToldInOneWhatItImplies) {
  const Linted linted = CheckRules("task_id: t\ncron: \"0 8 * * *\"\ntimezone: UTC\ncommand: /bin/true\n");
  EXPECT_EQ(linted.Text("defaults"),
            "rules.yaml:2:1: hint: t: trigger: as nothing more is written: it may start until the next one "
            "is due, within 24 h; "
            "one attempt (and one more if it was lost), no retry; the key is {task}:{scheduled_at}; what is "
            "missed while the "
            "daemon is off stays missed; at most 2 attempts a day: 1 occurrence, each tried at most 2 times; "
            "write window_end, retry and business_key where that is not enough [defaults]");
  EXPECT_FALSE(linted.Has("cost_bound"));
  EXPECT_EQ(linted.Serious(), std::vector<std::string>{"no_owner"});
}

TEST(LintPeople, TheFinalFailureReachesAPerson) {
  const std::string head = "task_id: t\ncron: \"0 8 * * *\"\ntimezone: UTC\nnoop: {}\n";
  EXPECT_NE(CheckRules(head).Text("no_owner").find("write owner: data or quiet"), std::string::npos);
  EXPECT_NE(CheckRules(head + "owner: quiet\n").Text("no_p1_channel").find("owners.quiet.P1"),
            std::string::npos);
  EXPECT_EQ(CheckRules(head + "owner: data\n").Serious(), std::vector<std::string>{});
  EXPECT_TRUE(CheckRules(head + "owner: data\nalerts: {levels: {missed: none}}\n").Has("missed_silenced"));
  EXPECT_TRUE(
      CheckRules(head + "owner: data\nalerts: {levels: {manual_required: none}}\n").Has("manual_silenced"));
  EXPECT_FALSE(CheckRules(head + "owner: data\nalerts: {levels: {missed: P3, skipped: none}}\n")
                   .Has("missed_silenced"));
}

TEST(LintPeople, TheOwnerNamedDefaultHasTheRulesThatNameNone) {
  const std::string rule = "task_id: t\ncron: \"0 8 * * *\"\ntimezone: UTC\nnoop: {}\n";
  const std::string channels = "channels: {phone: {command: [/bin/true]}}\n";
  const auto lint = [&](const std::string& owners) {
    return LintRules(rule, "2026-02-10T00:00:00Z", true, channels + owners);
  };
  EXPECT_EQ(lint("owners: {default: {P1: [phone]}}").Serious(), std::vector<std::string>{});
  EXPECT_NE(lint("owners: {default: {P2: [phone]}}").Text("no_p1_channel").find("goes where all else goes"),
            std::string::npos);
  EXPECT_NE(lint("owners: {default: {P2: [phone]}}").Text("no_p1_channel").find("owners.default.P1"),
            std::string::npos);
  EXPECT_TRUE(lint("owners: {data: {P1: [phone]}}").Has("no_owner"));
}

TEST(LintPeople, WhyIsAskedWhereverSomethingIsWaitedFor) {
  const std::string wait =
      "depends_on: [health]\npreconditions: [{file: {path: a}, why: the feed}, {file: {path: b}}]\n";
  const Linted linted = CheckRules(Rule(kWindow + wait + "catchup: {enabled: true}\n"));
  EXPECT_NE(linted.Text("no_why").find(
                "no why for trigger.preconditions[0], trigger.preconditions[2], retry.catchup:"),
            std::string::npos)
      << linted.All();
  EXPECT_FALSE(CheckRules(Rule(kWindow + "catchup: {enabled: true, why: late}\n")).Has("no_why"));
  EXPECT_FALSE(CheckRules(Rule(kWindow)).Has("no_why"));
}

TEST(LintUnsupported, SettingsOfALaterVersionAreErrorsToo) {
  const Linted linted =
      LintRules(Rule(kWindow), "2026-02-10T00:00:00Z", false,
                std::string(kLintSettings) + "pools:\n  db: {max_concurrency: 2, rate: 3}\n");
  EXPECT_EQ(linted.Text("not_supported_yet").find("duecourse.yaml:"), 0u) << linted.All();
  EXPECT_NE(linted.Text("not_supported_yet").find("not supported yet: rate of pools"), std::string::npos);
}

TEST(LintUnsupported, KeysOfALaterVersionAreErrorsWithTheirPlace) {
  const std::string text = Rule(
      kWindow + "preconditions:\n  - {file: {path: \"s3://b/{target_date}.csv\"}, why: x}\nspread: 10m\n");
  const Linted linted = CheckRules(text);
  ASSERT_EQ(linted.Of("not_supported_yet").size(), 2u) << linted.All();
  for (const Finding& finding : linted.Of("not_supported_yet")) {
    EXPECT_EQ(finding.severity, Finding::Severity::kError);
    EXPECT_EQ(finding.message.find("not supported yet: "), 0u);
  }
  EXPECT_NE(linted.All().find(
                "rules.yaml:10:19: error: t: trigger.preconditions[0].path: not supported yet: s3:// paths"),
            std::string::npos)
      << linted.All();
  EXPECT_TRUE(HasErrors(LintRules(text, "2026-02-10T00:00:00Z", false).findings));
}

}  // namespace
}  // namespace duecourse
