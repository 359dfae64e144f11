// What changed, field by field; and one hash for one meaning.
#include "rule/test_rules.h"

namespace duecourse {
namespace {

std::shared_ptr<const RuleSet> SetOf(const std::string& rules, const std::string& settings = "") {
  Loaded loaded = LoadRulesFromText({{"a.yaml", rules}}, {"duecourse.yaml", settings});
  EXPECT_NE(loaded.set, nullptr) << FindingsText(loaded);
  return loaded.set;
}

std::vector<std::string> ChangesOf(const std::string& before, const std::string& after) {
  std::vector<std::string> lines;
  for (const RuleChange& change : CompareRules(*SetOf(before), *SetOf(after))) {
    const char* kind = change.kind == RuleChange::Kind::kAdded     ? "+"
                       : change.kind == RuleChange::Kind::kRemoved ? "-"
                                                                   : "";
    lines.push_back(StrCat(kind, change.task, " ", change.field, " ", change.before, " -> ", change.after));
  }
  return lines;
}

const char* const kExpiry =
    "task_id: checkExpiry\nschedule: {cron: \"0,30 * * * *\", timezone: UTC}\n"
    "dedupe_key: \"expiry:{scheduled_at}\"\nnoop: {}\n";

// Scenario 14: the same content is no change; one edit is one field.
TEST(Compare, Scenario14OneEditIsExactlyOneChangedField) {
  EXPECT_TRUE(ChangesOf(kExpiry, kExpiry).empty());
  EXPECT_EQ(ChangesOf(kExpiry, std::string(kExpiry) + "output: {keep: 5d}\n"),
            std::vector<std::string>({"checkExpiry execution.output.keep 30d -> 5d"}));
}

TEST(Compare, EachKindOfEditIsNamedByItsField) {
  struct Row {
    const char* before;
    const char* after;
    std::vector<std::string> changes;
  };
  const std::vector<Row> rows = {
      {"why: a", "why: b", {"t why a -> b"}},
      {"why: a", "", {"t why a -> "}},
      {"timeout: 5m", "timeout: 300s", {}},
      {"window_end: \"09:00\"", "window_end: \"10:00\"", {"t trigger.window_end \"09:00\" -> \"10:00\""}},
      {"retry: {immediate: {max_attempts: 1}}",
       "retry: {immediate: {max_attempts: 2}}",
       {"t retry.immediate.max_attempts 1 -> 2"}},
      {"pools: [llm]", "pools: [llm, db]", {"t trigger.pools [llm] -> [llm, db]"}},
      {"preconditions: [{file: {path: a}}]",
       "preconditions: [{file: {path: b}}]",
       {"t trigger.preconditions[0].path a -> b"}},
      {"vars: {a: \"1\", b: \"2\"}", "vars: {b: \"2\", a: \"1\"}", {}},
      {"enabled: true", "enabled: false", {"t enabled true -> false"}},
  };
  for (const Row& row : rows) {
    std::vector<std::string> lines;
    Loaded before = LoadText(ShortRule(std::string(row.before) + "\nnoop: {}\n"));
    Loaded after = LoadText(ShortRule(std::string(row.after) + "\nnoop: {}\n"));
    ASSERT_NE(before.set, nullptr) << FindingsText(before);
    ASSERT_NE(after.set, nullptr) << FindingsText(after);
    for (const RuleChange& c : CompareRules(*before.set, *after.set))
      lines.push_back(StrCat(c.task, " ", c.field, " ", c.before, " -> ", c.after));
    EXPECT_EQ(lines, row.changes) << row.before;
    EXPECT_EQ(before.set->hash == after.set->hash, row.changes.empty()) << row.before;
  }
}

TEST(Compare, TasksThatComeAndGoAreNamedWhole) {
  std::string b = "\n---\ntask_id: b\ncron: \"0 1 * * *\"\ntimezone: UTC\nnoop: {}\n";
  EXPECT_EQ(ChangesOf(kExpiry, kExpiry + b), std::vector<std::string>({"+b   -> "}));
  EXPECT_EQ(ChangesOf(kExpiry + b, kExpiry), std::vector<std::string>({"-b   -> "}));
}

TEST(Compare, SettingsAreComparedToo) {
  auto before = SetOf(kExpiry, "retention: 30d\n");
  auto after = SetOf(kExpiry, "retention: 31d\n");
  std::vector<RuleChange> changes = CompareRules(*before, *after);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].task, "duecourse.yaml");
  EXPECT_EQ(changes[0].field, "retention");
  EXPECT_EQ(changes[0].after, "31d");
  EXPECT_NE(before->hash, after->hash);
}

TEST(Compare, OneMeaningHasOneHashHoweverItIsWritten) {
  auto one = SetOf(
      "task_id: t\ncron: \"0 2 * * *\"\ntimezone: UTC\nretry: standard\nnoop: {}\nlabels: {a: x, b: y}\n");
  auto two = SetOf(
      "# a comment\ntasks:\n  - execution: {noop: {}}\n    labels: {b: y, a: x}\n    task_id: t\n"
      "    retry: {backoff: {intervals: [60s, 2m, 240s]}, immediate: {max_attempts: 1}}\n"
      "    trigger: {timezone: 'UTC', cron: '0 2 * * *'}\n");
  EXPECT_EQ(one->hash, two->hash);
  EXPECT_TRUE(CompareRules(*one, *two).empty());
  auto other_file =
      LoadRulesFromText({{"x.yaml",
                          "task_id: t\ncron: \"0 2 * * *\"\ntimezone: UTC\nretry: standard\nnoop: {}\n"
                          "labels: {a: x, b: y}\n"}},
                        {"duecourse.yaml", ""});
  EXPECT_EQ(one->hash, other_file.set->hash) << "where a rule stands is not what it means";
}

TEST(Compare, TheSameScheduleIsKnownWhateverElseChanges) {
  auto body = [](const std::string& more) { return OnlyRule("task_id: t\nnoop: {}\n" + more); };
  RuleBody base = body("cron: \"0 2 * * *\"\ntimezone: Asia/Tokyo");
  EXPECT_TRUE(SameSchedule(
      base, body("cron: \"0 2 * * *\"\ntimezone: Asia/Tokyo\nwindow_end: +2h\nretry: standard")));
  EXPECT_FALSE(SameSchedule(base, body("cron: \"1 2 * * *\"\ntimezone: Asia/Tokyo")));
  EXPECT_FALSE(SameSchedule(base, body("cron: \"0 2 * * *\"\ntimezone: UTC")));
  EXPECT_FALSE(SameSchedule(base, body("cron: \"0 2 * * *\"\ntimezone: Asia/Tokyo\ndst: {gap: skip}")));
  EXPECT_FALSE(SameSchedule(base, body("every: 1h\ntimezone: Asia/Tokyo")));
  RuleBody fan = body("cron: \"0 2 * * *\"\ntimezone: \"{zone}\"\nfor_each: [{u: a, zone: UTC}]");
  RuleBody more = body(
      "cron: \"0 2 * * *\"\ntimezone: \"{zone}\"\nfor_each: [{u: a, zone: UTC}, {u: b, zone: Asia/Tokyo}]");
  EXPECT_TRUE(SameSchedule(fan, more)) << "an added value is not another schedule";
  EXPECT_FALSE(SameSchedule(fan, base));
}

}  // namespace
}  // namespace duecourse
