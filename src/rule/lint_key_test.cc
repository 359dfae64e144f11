#include "rule/test_lint.h"

namespace duecourse {
namespace {

std::string Rule(const std::string& id, const std::string& cron, const std::string& key,
                 const std::string& more = "") {
  return "---\ntask_id: " + id + "\ncron: \"" + cron +
         "\"\ntimezone: UTC\nowner: data\nnoop: {}\nbusiness_key: \"" + key + "\"\n" + more;
}

TEST(LintKey, AWrongVariableIsNamedWithWhatWasMeant) {  // Scenario 97, what a clock can trigger.
  const Linted linted = CheckRules(Rule("b", "0 8 * * *", "b:{busines_date}"));
  EXPECT_EQ(linted.Text("unknown_variable"),
            "rules.yaml:7:1: error: b: idempotency.business_key: \"b:{busines_date}\" cannot be rendered: "
            "unknown variable {busines_date}; did you mean {business_date}?; "
            "name a template name, a var or a for_each name that has a value [unknown_variable]");
  const Loaded loaded = LoadRulesFromText({{"rules.yaml", Rule("c", "0 8 * * *", "c:{business_date")}},
                                          {"duecourse.yaml", kLintSettings});
  ASSERT_EQ(loaded.findings.size(), 1u);
  EXPECT_NE(loaded.findings[0].message.find("at character 3: the brace is not closed"), std::string::npos);
  EXPECT_EQ(loaded.findings[0].line, 7);
}

TEST(LintKey, ConstantCoarseAndTooFineKeys) {  // Scenario 98.
  const Linted linted =
      CheckRules(Rule("a", "0 8 * * *", "course_pipeline") + Rule("b", "0 * * * *", "b:{business_date}") +
                 Rule("c", "0 8 * * *", "c:{run_id}") + Rule("d", "0 8 * * *", "d:{business_date}") +
                 Rule("e", "30 8 * * *", "d:{business_date}"));
  ASSERT_EQ(linted.Of("key_constant").size(), 1u);
  const Finding constant = linted.Of("key_constant")[0];
  EXPECT_EQ(constant.task, "a");
  EXPECT_EQ(constant.severity, Finding::Severity::kError);
  EXPECT_EQ(constant.path, "idempotency.business_key");
  ASSERT_EQ(linted.Of("key_coarse").size(), 1u);
  const Finding coarse = linted.Of("key_coarse")[0];
  EXPECT_EQ(coarse.task, "b");
  EXPECT_EQ(coarse.severity, Finding::Severity::kWarning);
  EXPECT_NE(coarse.message.find("24 occurrences, 1 run a day"), std::string::npos) << coarse.message;
  ASSERT_EQ(linted.Of("key_too_fine").size(), 1u);
  EXPECT_EQ(linted.Of("key_too_fine")[0].task, "c");
  EXPECT_EQ(linted.Of("key_too_fine")[0].severity, Finding::Severity::kError);
  ASSERT_EQ(linted.Of("key_shared").size(), 1u);
  const Finding shared = linted.Of("key_shared")[0];
  EXPECT_EQ(shared.severity, Finding::Severity::kError);
  EXPECT_EQ(shared.task, "e");
  EXPECT_NE(shared.message.find("tasks d and e have the same key"), std::string::npos);
}

TEST(LintKey, ANameMisspeltIsOneErrorNotAlsoAKeyWithoutATime) {
  const Linted linted = CheckRules(Rule("a", "0 8 * * *", "a:{bussiness_date}"));
  EXPECT_TRUE(linted.Has("unknown_variable")) << linted.All();
  EXPECT_FALSE(linted.Has("key_constant")) << linted.All();
}

TEST(LintKey, TheSameErrorsAreFoundAtStart) {
  const std::string rules = Rule("a", "0 8 * * *", "x") + Rule("c", "0 8 * * *", "c:{attempt}") +
                            Rule("d", "0 8 * * *", "d:{date}") + Rule("e", "0 9 * * *", "d:{business_date}") +
                            Rule("f", "0 8 * * *", "f:{busines_date}") + Rule("g", "0 * * * *", "g:{date}");
  const Linted at_start = LintRules(rules, "2026-02-10T00:00:00Z", false);
  EXPECT_EQ(at_start.Serious(),
            (std::vector<std::string>{"key_constant", "key_too_fine", "key_shared", "unknown_variable"}));
  EXPECT_TRUE(HasErrors(at_start.findings));
  EXPECT_FALSE(
      HasErrors(LintRules(Rule("g", "0 * * * *", "g:{date}"), "2026-02-10T00:00:00Z", false).findings));
}

TEST(LintKey, SharedKeysAreSeenThroughTheirSpelling) {
  const struct {
    const char* first;
    const char* second;
    bool shared;
  } rows[] = {
      {"r:{date}", "r:{business_date}", true},
      {"r:{target_date}", "r:{business_date:%Y%m%d}", true},
      {"r:{business_month}", "r:{year}-{month}", true},
      {"r:{iso_week}", "r:{business_date:%G-W%V}", true},
      {"{task}:{date}", "{task}:{date}", false},
      {"a:{date}", "{task}:{date}", true},  // the first task is a
      {"r:{date}", "r:{target_date}", false},
      {"r:{scheduled_at}", "r:{scheduled_at}", true},
      {"r:{date}:{window}", "r:{date}", false},
  };
  for (const auto& row : rows) {
    const Linted linted = CheckRules(Rule("a", "0 8 * * *", row.first) + Rule("z", "0 9 * * *", row.second));
    EXPECT_EQ(linted.Has("key_shared"), row.shared && std::string(row.second) != "{task}:{date}")
        << row.first << " " << row.second;
  }
  const Linted three = CheckRules(Rule("a", "0 8 * * *", "r:{date}") + Rule("b", "0 9 * * *", "r:{date}") +
                                  Rule("c", "0 9 * * *", "r:{date}"));
  EXPECT_NE(three.Text("key_shared").find("tasks a and b (and 1 more)"), std::string::npos) << three.All();
  const Linted disabled =
      CheckRules(Rule("a", "0 8 * * *", "r:{date}", "enabled: false\n") + Rule("b", "0 9 * * *", "r:{date}"));
  EXPECT_FALSE(disabled.Has("key_shared"));
}

TEST(LintKey, ValuesThatShareAKeyAreAnError) {
  const std::string more = "for_each: {channel: [app, web]}\nwindow_end: +4h\n";
  EXPECT_NE(CheckRules(Rule("a", "0 8 * * *", "a:{date}", more))
                .Text("key_shared_by_values")
                .find("channel=app and channel=web have the same key"),
            std::string::npos);
  EXPECT_FALSE(CheckRules(Rule("a", "0 8 * * *", "a:{channel}:{date}", more)).Has("key_shared_by_values"));
  EXPECT_TRUE(CheckRules(Rule("a", "0 8 * * *", "a:{channel}", more)).Has("key_constant"));
}

TEST(LintKey, CoarserThanTheSchedule) {
  const struct {
    const char* cron;
    const char* key;
    const char* ratio;  // empty: unique
  } rows[] = {
      {"0 8 * * *", "{date}", ""},
      {"0 8 * * *", "{target_date}:{window}", ""},
      {"*/5 * * * *", "{date}:{window}", ""},
      {"*/5 * * * *", "{scheduled_at}", ""},
      {"*/5 * * * *", "{scheduled_at:%Y%m%d%H%M}", ""},
      {"*/5 * * * *", "{scheduled_at:%Y%m%d%H}", "288 occurrences, 24 run a day"},
      {"0 9 * * 1", "{iso_week}", ""},
      {"0 9 1 * *", "{business_month}", ""},
      {"0 9,17 * * *", "{date}", "2 occurrences, 1 run a day"},
      {"0 10 * * *", "{iso_week}", "7 occurrences, 1 run a week"},
      {"0 10 * * *", "{business_month}", "31 occurrences, 1 run a month"},
      {"0 9 1 * *", "{year}", "13 occurrences, 2 run in 366 days"},
      {"* * * * *", "{date}", "1440 occurrences, 1 run a day"},
      {"* * * * * *", "{date}", "2000 occurrences, 1 run in 1 day"},
  };
  for (const auto& row : rows) {
    const Linted linted = CheckRules(Rule("t", row.cron, row.key));
    if (*row.ratio == '\0') {
      EXPECT_FALSE(linted.Has("key_coarse")) << row.cron << " " << row.key << "\n" << linted.All();
    } else {
      EXPECT_NE(linted.Text("key_coarse").find(row.ratio), std::string::npos)
          << row.cron << " " << row.key << "\n"
          << linted.All();
    }
  }
}

TEST(LintKey, ABusinessDateThatSeveralDaysShareIsTriedAndDaysOffAreNot) {
  const std::string previous = "business_date: previous_workday\nwindow_end: +4h\n";
  // Saturday, Sunday and Monday all have Friday's date.
  EXPECT_NE(CheckRules(Rule("t", "0 8 * * *", "{date}", previous))
                .Text("key_coarse")
                .find("7 occurrences, 5 run a week"),
            std::string::npos);
  EXPECT_FALSE(
      CheckRules(Rule("t", "0 8 * * *", "{date}", previous + "allow_weekend: false\n")).Has("key_coarse"));
}

TEST(LintKey, ARepeatedHourInBothPassesNeedsTheWindowName) {
  const std::string zone = "dst: {overlap: both}\n";
  const auto rule = [&](const std::string& key) {
    std::string text = Rule("t", "30 1 * * *", key, zone);
    return text.replace(text.find("UTC"), 3, "America/New_York");
  };
  EXPECT_NE(CheckRules(rule("{date}"))
                .Text("key_coarse")
                .find("2 occurrences, 1 run a day: 2026-11-01T06:30:00Z has the key of "
                      "2026-11-01T05:30:00Z"),
            std::string::npos);
  EXPECT_FALSE(CheckRules(rule("{date}:{window}")).Has("key_coarse"));
}

TEST(LintKey, CalendarYearWithIsoWeek) {  // Scenario 92.
  const Linted wrong = CheckRules(Rule("wrong", "0 9 * * 1", "w:{year}-W{iso_week_number}"));
  EXPECT_NE(wrong.Text("key_iso_week").find("2025-12-29 renders 2025-W01 though it belongs to 2026-W01"),
            std::string::npos);
  EXPECT_TRUE(CheckRules(Rule("t", "0 9 * * 1", "{business_date:%Y%V}")).Has("key_iso_week"));
  EXPECT_TRUE(CheckRules(Rule("t", "0 9 1 * *", "{business_date:%G-%m}")).Has("key_iso_week"));
  for (const char* right : {"{iso_week}", "{business_date:%G%V}", "{date}-{iso_week_number}"}) {
    EXPECT_FALSE(CheckRules(Rule("t", "0 9 * * 1", right)).Has("key_iso_week")) << right;
  }
  const Linted daily = CheckRules(Rule("daily", "0 10 * * *", "once:{iso_week}"));
  EXPECT_EQ(daily.Serious(), std::vector<std::string>{"key_coarse"});
}

TEST(LintKey, AKeyWithoutItsYearReturns) {
  for (const char* key : {"t:{month}", "t:{month}-{day}", "t:{iso_week_number}", "t:{business_date:%j}"}) {
    EXPECT_TRUE(CheckRules(Rule("t", "0 9 * * *", key)).Has("key_no_year")) << key;
  }
  EXPECT_FALSE(CheckRules(Rule("t", "0 9 * * *", "t:{year}{month}{day}")).Has("key_no_year"));
}

TEST(LintKey, ATimeOfDayAloneIsConstantTooAndOneInstantMayBe) {
  EXPECT_NE(CheckRules(Rule("t", "0 9 * * *", "t:{window}"))
                .Text("key_constant")
                .find("names a time of day and no day"),
            std::string::npos);
  const std::string once =
      "task_id: t\nat: \"2026-06-01 09:00\"\ntimezone: UTC\nowner: data\nnoop: {}\nbusiness_key: once\n";
  EXPECT_EQ(CheckRules(once).Serious(), std::vector<std::string>{});
  const std::string twice =
      "task_id: t\nat: [\"2026-06-01 09:00\", \"2026-06-02 09:00\"]\ntimezone: UTC\nowner: data\nnoop: "
      "{}\nbusiness_key: once\n";
  EXPECT_TRUE(CheckRules(twice).Has("key_constant"));
}

TEST(LintKey, EveryIntervalIsHeldAgainstItsKeyToo) {
  const auto every = [](const std::string& interval, const std::string& key) {
    return "task_id: t\nevery: " + interval +
           "\nanchor: \"2026-01-01T00:00:00Z\"\ntimezone: Europe/Berlin\nowner: data\nnoop: "
           "{}\nbusiness_key: \"" +
           key + "\"\n";
  };
  EXPECT_FALSE(CheckRules(every("90s", "{scheduled_at}")).Has("key_coarse"));
  EXPECT_FALSE(CheckRules(every("90s", "{date}:{window}")).Has("key_coarse"));
  EXPECT_NE(CheckRules(every("6h", "{date}")).Text("key_coarse").find("4 occurrences, 1 run a day"),
            std::string::npos);
  // 24 h of elapsed time: twice on the day of 25 hours, if it is due just after midnight then.
  EXPECT_TRUE(CheckRules(every("30m", "{scheduled_at:%Y%m%d%H}")).Has("key_coarse"));
}

TEST(LintKey, NamesOfAttemptsThatTheRuleDefinesItselfAreNoneOfThem) {
  EXPECT_FALSE(CheckRules(Rule("t", "0 9 * * *", "{node}:{date}", "vars: {node: n1}\n")).Has("key_too_fine"));
  EXPECT_TRUE(CheckRules(Rule("t", "0 9 * * *", "{node}:{date}")).Has("key_too_fine"));
}

TEST(LintKey, VariablesElsewhereAreCheckedToo) {
  const Linted linted = CheckRules(
      "task_id: t\ncron: \"0 9 * * *\"\ntimezone: UTC\nowner: data\nwindow_end: +4h\nbusiness_key: "
      "\"{task}:{date}\"\n"
      "preconditions:\n"
      "  - {file: {path: \"{dat}.csv\", checksum: \"{path}.sha256\"}, why: x}\n"
      "  - {flag: \"x.{regoin}\", why: x}\n"
      "vars: {region: eu}\n"
      "command: [run, \"{bussiness_date}\", \"{path}\"]\n"
      "env: {A: \"{run_id}\", B: {env: SECRET}}\n"
      "on_success: {set: [\"done.{regio}\"]}\n");
  std::vector<std::string> paths;
  for (const Finding& finding : linted.Of("unknown_variable")) paths.push_back(finding.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"trigger.preconditions[0].path", "trigger.preconditions[1].name",
                                             "execution.command[1]", "execution.command[2]",
                                             "execution.env.A", "on_success.set"}))
      << linted.All();
}

TEST(LintKey, AKeyThatCanNeverBeOneIsAnErrorWithItsPlace) {
  const auto vars = [](const std::string& part) { return "vars: {part: \"" + part + "\"}\n"; };
  const std::string key = "{part}:{business_date}";
  struct Row {
    std::string rules;
    const char* told;  // a part of the finding; "": none
  };
  const Row rows[] = {
      {Rule("a", "0 8 * * *", key, vars(std::string(501, 'x'))), ""},
      {Rule("a", "0 8 * * *", key, vars(std::string(502, 'x'))), "the key has 513 bytes"},
      {Rule("a", "0 8 * * *", key, vars("x\\ty")), "characters that do not print"},
      {Rule("a", "0 8 * * *", key, vars("x#y")), "contains '#'"},
      {Rule("a", "0 8 * * *", key, vars("x y")), ""},
      {Rule("a", "0 8 * * *", "{site}:{business_date}", "for_each: [{site: ok}, {site: \"b\\t\"}]\n"),
       "of site=b"},
  };
  for (const Row& row : rows) {
    const Linted linted = LintRules(row.rules, "2026-02-10T00:00:00Z", false);
    EXPECT_EQ(linted.Has("key_invalid"), *row.told != '\0') << row.rules << linted.All();
    if (!linted.Has("key_invalid")) continue;
    const Finding finding = linted.Of("key_invalid")[0];
    EXPECT_EQ(finding.severity, Finding::Severity::kError);
    EXPECT_EQ(finding.path, "idempotency.business_key");
    EXPECT_EQ(finding.line, 7) << "the line of business_key";
    EXPECT_NE(finding.message.find(row.told), std::string::npos) << finding.message;
  }
}

}  // namespace
}  // namespace duecourse
