// Every way of writing a rule means what it says.
#include <algorithm>

#include "rule/test_rules.h"

namespace duecourse {
namespace {

std::vector<std::string> IdsOf(const std::string& fixture) {
  Loaded loaded = LoadText(CaseText("rules/" + fixture + ".yaml"));
  EXPECT_NE(loaded.set, nullptr) << FindingsText(loaded);
  std::vector<std::string> ids;
  for (const Task& task : loaded.readable->tasks) ids.push_back(task.id);
  return ids;
}

TEST(Forms, EachFormOfAFileIsReadAndTasksAreSortedById) {
  using Ids = std::vector<std::string>;
  EXPECT_EQ(IdsOf("short"), Ids({"ping"}));
  EXPECT_EQ(IdsOf("documents"), Ids({"first", "second", "third"}));
  EXPECT_EQ(IdsOf("list"), Ids({"list-a", "list-b"}));
  EXPECT_EQ(IdsOf("map"), Ids({"map-a", "map-b"}));
  EXPECT_EQ(IdsOf("task_rules"), Ids({"rules-a", "rules-b"}));
}

TEST(Forms, AFixtureExistsForEachFileAndEachOneLoads) {
  Result<std::vector<std::string>> files = ListFiles(CasePath("rules"), {".yaml"});
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->size(), FixtureNames().size());
  for (const std::string& name : FixtureNames()) {
    Loaded loaded = LoadText(CaseText("rules/" + name + ".yaml"));
    EXPECT_NE(loaded.set, nullptr) << name << ":\n" << FindingsText(loaded);
    EXPECT_TRUE(loaded.findings.empty()) << FindingsText(loaded);
  }
}

TEST(Forms, FourLinesAreARuleWithTheDocumentedDefaults) {
  RuleBody rule = OnlyRule(CaseText("rules/short.yaml"));
  EXPECT_EQ(rule.execution.kind, ExecutionRule::Kind::kCommand);
  ASSERT_EQ(rule.execution.command.size(), 3u);
  EXPECT_EQ(rule.execution.command[1].text(), "-fsS");
  EXPECT_EQ(rule.business_key.text(), "{task}:{scheduled_at}");
  EXPECT_FALSE(rule.key_written);
  EXPECT_FALSE(rule.Elaborate());
  EXPECT_EQ(rule.trigger.on_window_end, OnWindowEnd::kMissed);
  EXPECT_EQ(rule.trigger.missed, MissedPolicy::kSkip);
  EXPECT_FALSE(rule.trigger.window_end_written);
  EXPECT_EQ(rule.trigger.check_interval, Seconds(30));
  EXPECT_EQ(rule.trigger.lease_ttl, Seconds(60));
  EXPECT_EQ(rule.trigger.lease_heartbeat, Seconds(15));
  EXPECT_EQ(rule.retry.max_total_attempts, 2) << "one attempt, and one more if it was lost";
  EXPECT_EQ(rule.retry.jitter, Millis{0});
  EXPECT_EQ(rule.execution.timeout, Minutes(30));
  EXPECT_EQ(rule.keep, Days(400));
}

TEST(Forms, BothSpellingsOfEverythingGiveEqualRules) {
  Loaded loaded = LoadText(CaseText("rules/spellings.yaml"));
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  ASSERT_EQ(loaded.set->tasks.size(), 3u);
  const RuleBody& first = loaded.set->tasks[0].rule();
  for (const Task& task : loaded.set->tasks)
    EXPECT_EQ(task.body.get(), &first) << task.id << " is not kept once with the others";
  EXPECT_EQ(first.trigger.window.length, Hours(4));
  EXPECT_EQ(first.retry.backoff, std::vector<Millis>({Minutes(1), Minutes(2), Minutes(4)}));
  EXPECT_EQ(first.retry.immediate_max, 1);
}

TEST(Forms, BodiesThatDifferOnlyInTheirIdAreKeptOnce) {
  Loaded loaded = LoadText(
      "tasks:\n"
      "- {task_id: a, cron: \"0 8 * * *\", timezone: UTC, noop: {}, business_key: "
      "\"{task}:{business_date}\"}\n"
      "- {task_id: b, cron: \"0 8 * * *\", timezone: UTC, noop: {}, business_key: "
      "\"{task}:{business_date}\"}\n"
      "- {noop: {}, timezone: UTC, business_key: \"{task}:{business_date}\", task_id: c, cron: \"0 8 * * "
      "*\"}\n"
      "- {task_id: d, cron: \"1 8 * * *\", timezone: UTC, noop: {}, business_key: "
      "\"{task}:{business_date}\"}\n");
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  const auto& tasks = loaded.set->tasks;
  EXPECT_EQ(tasks[0].body, tasks[1].body);
  EXPECT_EQ(tasks[0].body, tasks[2].body) << "another order of keys is the same rule";
  EXPECT_NE(tasks[0].body, tasks[3].body);
}

TEST(Forms, AKeyThatIsWrittenAsTheDefaultIsStillWritten) {
  Loaded loaded = LoadText(
      "tasks:\n"
      "- {task_id: a, cron: \"0 8 * * *\", timezone: UTC, noop: {}}\n"
      "- {task_id: b, cron: \"0 8 * * *\", timezone: UTC, noop: {}, business_key: "
      "\"{task}:{scheduled_at}\"}\n");
  ASSERT_NE(loaded.set, nullptr);
  EXPECT_FALSE(loaded.set->tasks[0].rule().key_written);
  EXPECT_TRUE(loaded.set->tasks[1].rule().key_written);
  EXPECT_EQ(loaded.set->tasks[0].rule().hash, loaded.set->tasks[1].rule().hash) << "they mean the same";
}

TEST(Forms, TheLineOfATaskIsWhereItsRuleBegins) {
  Loaded loaded = LoadText(CaseText("rules/documents.yaml"));
  ASSERT_EQ(loaded.readable->tasks.size(), 3u);
  EXPECT_EQ(loaded.readable->tasks[0].line, 2);
  EXPECT_EQ(loaded.readable->tasks[1].line, 7);
  Loaded map = LoadText(CaseText("rules/map.yaml"));
  EXPECT_EQ(map.readable->tasks[1].line, 2);
}

struct WindowRow {
  const char* text;
  std::optional<int32_t> start;
  std::optional<int32_t> end;
  std::optional<Millis> length;
};

TEST(Forms, WindowsInAllTheirSpellings) {
  constexpr int kHour = 3600;
  const std::vector<WindowRow> rows = {
      {"window_start: 22:00\nwindow_end: 02:00", 22 * kHour, 2 * kHour, {}},
      {"window_start: \"9:05\"", 9 * kHour + 300, {}, {}},
      {"window_end: +4h", {}, {}, Hours(4)},
      {"execution_window: 90m", {}, {}, Minutes(90)},
      {"execution_window: \"09:00-12:00\"", 9 * kHour, 12 * kHour, {}},
      {"execution_window: {start: 09:00, end: 12:00}", 9 * kHour, 12 * kHour, {}},
      {"guardrails: {execution_window: 09:00 - 12:00}", 9 * kHour, 12 * kHour, {}},
      {"window: {start: 09:00, length: 2h}", 9 * kHour, {}, Hours(2)},
      {"trigger: {window_start: 02:00, window_end: 05:00}", 2 * kHour, 5 * kHour, {}},
  };
  for (const WindowRow& row : rows) {
    RuleBody rule = ShortBody(row.text);
    EXPECT_EQ(rule.trigger.window.start, row.start) << row.text;
    EXPECT_EQ(rule.trigger.window.end, row.end) << row.text;
    EXPECT_EQ(rule.trigger.window.length, row.length) << row.text;
    EXPECT_EQ(rule.trigger.window_end_written, row.end.has_value() || row.length.has_value()) << row.text;
  }
}

TEST(Forms, DaysAndWorkdays) {
  EXPECT_EQ(ShortBody("days: mon-fri").trigger.days, 0b0111110);
  EXPECT_EQ(ShortBody("days: [mon, Tuesday]").trigger.days, 0b0000110);
  EXPECT_EQ(ShortBody("days: fri-mon").trigger.days, 0b1100011);
  EXPECT_EQ(ShortBody("days: [mon-wed, sat]").trigger.days, 0b1001110);
  EXPECT_TRUE(ShortBody("days: workdays").trigger.workdays_only);
  EXPECT_TRUE(ShortBody("allow_weekend: false").trigger.workdays_only);
  EXPECT_FALSE(ShortBody("allow_weekend: true").trigger.workdays_only);
  EXPECT_EQ(ShortBody("window: {days: workdays, calendar: cn}").trigger.calendar, "cn");
}

TEST(Forms, BusinessDatesHaveOneFormForEachMeaning) {
  using Kind = BusinessDateRule::Kind;
  EXPECT_EQ(ShortBody("business_date: same_day").trigger.business_date, BusinessDateRule{});
  EXPECT_EQ(ShortBody("business_date: previous_workday").trigger.business_date.kind, Kind::kPreviousWorkday);
  EXPECT_EQ(ShortBody("business_date: {offset: -2d}").trigger.business_date,
            (BusinessDateRule{Kind::kOffset, -2}));
  EXPECT_EQ(ShortBody("business_date: +3d").trigger.business_date, (BusinessDateRule{Kind::kOffset, 3}));
  EXPECT_EQ(ShortBody("business_date: {offset: -1d}").trigger.business_date,
            (BusinessDateRule{Kind::kPreviousDay, 0}));
}

TEST(Forms, DependenciesComeFirstAndKeepTheirWhy) {
  RuleBody rule = ShortBody(
      "depends_on: [etl.ready, {flag: \"done_{business_date}\", why: last night}, {task: upstream}]\n"
      "preconditions: [{file: {path: a.csv}}]");
  const auto& conditions = rule.trigger.preconditions;
  ASSERT_EQ(conditions.size(), 4u);
  EXPECT_EQ(conditions[0].flag.name.text(), "etl.ready");
  EXPECT_TRUE(conditions[0].flag.dated);
  EXPECT_FALSE(conditions[1].flag.dated) << "a name that renders a date is undated";
  EXPECT_EQ(conditions[1].why, "last night");
  EXPECT_EQ(conditions[2].type, Precondition::Type::kTask);
  EXPECT_EQ(conditions[3].type, Precondition::Type::kFile);
  EXPECT_EQ(ShortBody("depends_on: etl.ready").trigger.preconditions.size(), 1u);
}

struct RetryRow {
  const char* text;
  int immediate;
  std::vector<Millis> backoff;
  int64_t jitter_ms;
  int total;
};

TEST(Forms, RetriesInAllTheirSpellings) {
  const std::vector<RetryRow> rows = {
      {"retry: standard", 1, {Minutes(1), Minutes(2), Minutes(4)}, 1000, 6},
      {"retry: {max_attempts: 4, base: 2}", 0, {Seconds(1), Seconds(2), Seconds(4), Seconds(8)}, 500, 6},
      {"retry: {max_attempts: 3, base: 3, jitter: 0}", 0, {Seconds(1), Seconds(3), Seconds(9)}, 0, 5},
      {"retry: {immediate: {max_attempts: 2}}", 2, {}, 0, 4},
      {"retry: {immediate: {interval: 3s}}", 1, {}, 0, 3},
      {"retry: {backoff: {intervals: [10s, 20s]}}", 0, {Seconds(10), Seconds(20)}, 1000, 4},
      {"retry: {backoff: {intervals: [10s], max_attempts: 3}}",
       0,
       {Seconds(10), Seconds(10), Seconds(10)},
       1000,
       5},
      {"retry: {backoff: {initial: 30s, max_attempts: 4, max: 2m}}",
       0,
       {Seconds(30), Seconds(60), Seconds(120), Seconds(120)},
       1000,
       6},
      {"retry: {backoff: {initial: 10s, factor: 1, max_attempts: 3, jitter: 0s}}",
       0,
       {Seconds(10), Seconds(10), Seconds(10)},
       0,
       5},
      {"retry: {backoff: {initial: 1s, max_attempts: 20}}\non_lost: hold", 0, {}, 1000, 10},
  };
  for (const RetryRow& row : rows) {
    RuleBody rule = ShortBody(row.text);
    EXPECT_EQ(rule.retry.immediate_max, row.immediate) << row.text;
    if (!row.backoff.empty()) {
      EXPECT_EQ(rule.retry.backoff, row.backoff) << row.text;
    }
    EXPECT_EQ(rule.retry.jitter.count, row.jitter_ms) << row.text;
    EXPECT_EQ(rule.retry.max_total_attempts, row.total) << row.text;
    EXPECT_EQ(rule.trigger.on_window_end, OnWindowEnd::kManual) << row.text;
  }
}

TEST(Forms, TheDefaultOfMaxTotalAttemptsCountsEveryKind) {
  EXPECT_EQ(ShortBody("on_lost: hold").retry.max_total_attempts, 1);
  EXPECT_EQ(ShortBody("catchup: {max_times: 2}").retry.max_total_attempts, 4);
  EXPECT_EQ(ShortBody("catchup: {enabled: true}").retry.max_total_attempts, 10)
      << "as many as fit, but never above 10";
  EXPECT_EQ(ShortBody("retry: standard\ncatchup: {max_times: 5}").retry.max_total_attempts, 10);
  EXPECT_EQ(ShortBody("retry: {max_total_attempts: 41}").retry.max_total_attempts, 41)
      << "a written value may exceed it";
  EXPECT_EQ(ShortBody("catchup: {enabled: false, max_times: 5}").retry.max_total_attempts, 2);
}

TEST(Forms, MissedInsideCatchupSaysWhatIsOwedAndSwitchesNothingOn) {
  RuleBody rule = ShortBody("retry: {catchup: {missed: all}}");
  EXPECT_EQ(rule.trigger.missed, MissedPolicy::kAll);
  EXPECT_FALSE(rule.retry.catchup);
  EXPECT_EQ(rule.trigger.on_window_end, OnWindowEnd::kMissed);
  EXPECT_EQ(ShortBody("window_end: \"09:00\"").trigger.missed, MissedPolicy::kLatest);
  EXPECT_EQ(ShortBody("window_end: \"09:00\"\nmissed: skip").trigger.missed, MissedPolicy::kSkip);
}

TEST(Forms, CatchupAtTheTopSpeaksInMinutes) {
  RuleBody rule = ShortBody("catchup: {enabled: true, max_delay_min: 180, only_if_data_ready: false}");
  EXPECT_TRUE(rule.retry.catchup);
  EXPECT_EQ(rule.retry.max_delay, Hours(3));
  EXPECT_FALSE(rule.retry.only_if_data_ready);
  EXPECT_EQ(rule.retry.catchup_interval, Minutes(30));
}

TEST(Forms, SchedulesByIntervalAndByList) {
  RuleBody every = OnlyRule("task_id: t\nevery: 7d\nanchor: 2026-03-01T02:00:00Z\ntimezone: UTC\nnoop: {}");
  const auto* interval = std::get_if<EverySchedule>(&every.trigger.schedule.kind);
  ASSERT_NE(interval, nullptr);
  EXPECT_EQ(interval->every, Days(7));
  EXPECT_EQ(FormatUtc(interval->anchor), "2026-03-01T02:00:00Z");
  RuleBody at = OnlyRule(
      "task_id: t\nat: [\"2026-12-31 23:59\", \"2026-12-24T18:00\", \"2026-12-24 18:00\"]\ntimezone: "
      "UTC\nnoop: {}");
  const auto* list = std::get_if<AtSchedule>(&at.trigger.schedule.kind);
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->at.size(), 2u) << "sorted, each once";
  EXPECT_EQ(FormatDay(list->at[0].day), "2026-12-24");
}

TEST(Forms, ForEachValuesHaveIdsAndZonesOfTheirOwn) {
  Loaded loaded = LoadText(CaseText("rules/fan_out.yaml"));
  const RuleBody& rule = loaded.readable->Find("fan-out")->rule();
  ASSERT_EQ(ValueCount(rule), 4u);
  EXPECT_EQ(ValueId(rule, 0), "channel=app,region=cn");
  EXPECT_EQ(ValueId(rule, 3), "channel=web,region=eu");
  RuleBody zones = OnlyRule(
      "task_id: t\ncron: \"0 9 * * *\"\ntimezone: \"{zone}\"\nnoop: {}\n"
      "for_each: [{user: u1, zone: Asia/Tokyo}, {user: u2, zone: Europe/Berlin}]");
  EXPECT_EQ(ScheduleOf(zones, 0).zone.name(), "Asia/Tokyo");
  EXPECT_EQ(ScheduleOf(zones, 1).zone.name(), "Europe/Berlin");
  EXPECT_EQ(ValueCount(ShortBody("why: none")), 1u);
  EXPECT_EQ(ValueId(ShortBody("why: none"), 0), "");
}

TEST(Forms, AMapAsBodyIsSentAsJson) {
  RuleBody rule = OnlyRule(ShortRule(
      "http: {url: \"http://127.0.0.1/x\", body: {date: \"{business_date}\", n: 3, list: [true, null]}}"));
  EXPECT_EQ(rule.execution.http.method, "POST");
  ASSERT_TRUE(rule.execution.http.body.has_value());
  EXPECT_EQ(rule.execution.http.body->text.text(),
            "{{\"date\": \"{business_date}\", \"n\": 3, \"list\": [true, null]}}");
  ASSERT_EQ(rule.execution.http.headers.size(), 1u);
  EXPECT_EQ(rule.execution.http.headers[0].first, "Content-Type");
}

TEST(Forms, ErrorsExtendTheClasses) {
  const std::vector<ErrorRule> errors = OnlyRule(CaseText("rules/every_key.yaml")).execution.errors;
  ASSERT_EQ(errors.size(), 4u);
  EXPECT_EQ(errors[0].ranges, (std::vector<std::pair<int, int>>{{3, 3}, {10, 12}}));
  EXPECT_EQ(errors[0].as, FailureClass::kBusiness);
  EXPECT_EQ(errors[2].ranges[0].first, 11);
  EXPECT_EQ(errors[3].contains, "quota exceeded");
}

TEST(Forms, KeysOfLaterIssuesAreKeptAndNamed) {
  Loaded loaded = LoadText(CaseText("rules/later_keys.yaml"));
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  const RuleBody& rule = loaded.set->Find("later")->rule();
  std::vector<std::string> paths;
  for (const UnsupportedKey& key : rule.unsupported) paths.push_back(key.path);
  const std::vector<std::string> expected = {"use",
                                             "trigger.event",
                                             "trigger.spread",
                                             "trigger.run_on",
                                             "trigger.dialect",
                                             "trigger.cron",
                                             "trigger.preconditions[0]",
                                             "trigger.preconditions[1].path",
                                             "trigger.preconditions[1].signature",
                                             "trigger.pools",
                                             "lookup",
                                             "execution.http.async",
                                             "execution.http.poll",
                                             "execution.budget"};
  EXPECT_EQ(paths, expected);
  EXPECT_EQ(rule.unsupported[1].line, 9);
  EXPECT_EQ(rule.unsupported[1].what, "event triggers");
  EXPECT_EQ(rule.unsupported.back().text, "{unit: usd, per_day: 5}");
}

}  // namespace
}  // namespace duecourse
