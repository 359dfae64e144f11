#include "rule/test_lint.h"
#include "rule/wait_graph.h"

namespace duecourse {
namespace {

// A rule that waits, with all that such a rule must write.
std::string Waiting(const std::string& id, const std::string& conditions, const std::string& more = "",
                    const std::string& cron = "0 8 * * *") {
  return "---\ntask_id: " + id + "\ncron: \"" + cron +
         "\"\ntimezone: UTC\nowner: data\nnoop: {}\nwindow_end: +4h\nbusiness_key: \"{task}:{date}\"\n" +
         conditions + more;
}
std::string On(const std::string& task) { return "preconditions: [{task: " + task + ", why: x}]\n"; }

TEST(LintWait, AnUnknownUpstreamIsAnErrorWithWhatWasMeant) {
  const Linted linted = CheckRules(Waiting("load", On("extarct")) + Waiting("extract", ""));
  EXPECT_EQ(
      linted.Text("unknown_upstream"),
      "rules.yaml:9:17: error: load: trigger.preconditions[0]: waits for the task extarct, which is not "
      "in the rules; did "
      "you mean extract? [unknown_upstream]");
  EXPECT_TRUE(HasErrors(linted.findings));
  const Linted by_name =
      CheckRules(Waiting("a_load", On("\"{task}_in\"")) +
                 Waiting("b", On("\"{source}_in\""), "vars: {source: a_load}\n") + Waiting("a_load_in", ""));
  EXPECT_FALSE(by_name.Has("unknown_upstream")) << by_name.All();
}

TEST(LintWait, AnUpstreamMayDependOnTheValue) {
  const std::string each = "for_each: {region: [eu, us]}\n";
  std::string rule = Waiting("load", On("\"extract_{region}\""), each);
  rule.replace(rule.find("{task}:{date}"), 13, "{task}:{region}:{date}");
  const Linted linted = CheckRules(rule + Waiting("extract_eu", ""));
  EXPECT_NE(linted.Text("unknown_upstream").find("extract_us"), std::string::npos);
}

TEST(LintWait, WhatWaitsForItselfIsAnErrorThatNamesTheCircle) {
  const struct {
    std::string rules;
    const char* circle;  // empty: none
  } rows[] = {
      {Waiting("a", On("self")), "a → a;"},
      {Waiting("a", On("a")), "a → a;"},
      {Waiting("a", On("b")) + Waiting("b", On("c")) + Waiting("c", On("a")), "a → b → c → a;"},
      {Waiting("a", "depends_on: [b.done]\n") + Waiting("b", On("a"), "on_success: {set: [b.done]}\n"),
       "a → b → a;"},
      {Waiting("a", "depends_on: [\"a.done_{date}\"]\n", "on_success: {set: [\"a.done_{date}\"]}\n"),
       "a → a;"},
      {Waiting("a", "preconditions: [{task: self, business_date: previous_day}]\n"), ""},
      {Waiting("a", On("b")) + Waiting("b", "preconditions: [{task: a, business_date: previous_day}]\n"), ""},
      {Waiting("a", On("b")) + Waiting("b", On("c")) + Waiting("c", ""), ""},
      // Once set, an undated flag stays.
      {Waiting("a", "preconditions: [{flag: on, dated: false}]\n", "on_success: {set: [on]}\n"), ""},
      // Someone outside sets it as well.
      {Waiting("a", "depends_on: [health]\n", "on_success: {set: [health]}\n"), ""},
      // Either of two tasks sets it.
      {Waiting("a", "depends_on: [x]\n", "on_success: {set: [x]}\n") +
           Waiting("b", "", "on_success: {set: [x]}\n"),
       ""},
  };
  for (const auto& row : rows) {
    const Linted linted = CheckRules(row.rules);
    if (*row.circle == '\0') {
      EXPECT_FALSE(linted.Has("waits_for_itself")) << row.rules << linted.All();
      continue;
    }
    EXPECT_NE(linted.Text("waits_for_itself").find(std::string("waits for itself: ") + row.circle),
              std::string::npos)
        << row.rules << linted.All();
    EXPECT_TRUE(LintRules(row.rules, "2026-02-10T00:00:00Z", false).Has("waits_for_itself"))
        << "at start, too";
  }
}

TEST(LintWait, AFlagNeedsSomeoneWhoSetsIt) {
  EXPECT_NE(CheckRules(Waiting("a", "depends_on: [etl.raedy]\n"))
                .Text("flag_unsourced")
                .find("waits for the flag etl.raedy"),
            std::string::npos);
  for (const char* known :
       {"etl.finished", "\"etl.finished_{business_date}\"", "\"etl.finished_{target_date}\"", "health"}) {
    EXPECT_FALSE(CheckRules(Waiting("a", std::string("depends_on: [") + known + "]\n")).Has("flag_unsourced"))
        << known;
  }
  const Linted by_task = CheckRules(Waiting("a", "depends_on: [\"b.done_{date}\"]\n") +
                                    Waiting("b", "", "on_success: {set: [\"b.done_{target_date}\"]}\n"));
  EXPECT_FALSE(by_task.Has("flag_unsourced")) << by_task.All();
}

TEST(LintWait, ADisabledUpstreamIsNamed) {
  EXPECT_TRUE(
      CheckRules(Waiting("a", On("b")) + Waiting("b", "", "enabled: false\n")).Has("upstream_disabled"));
}

TEST(LintWait, AnUpstreamThatDoesNotRunThatDayIsNamedWithTheDay) {
  const struct {
    const char* mine;
    const char* upstream;
    const char* more;
    const char* text;  // empty: it always runs
  } rows[] = {
      {"0 8 * * *", "0 2 * * *", "", ""},
      {"0 8 * * *", "0 2 * * 1-5", "",
       "due 2026-02-14T08:00:00+00:00, it asks for the business date 2026-02-14 (Saturday), and no "
       "occurrence of up due by then"},
      {"0 8 * * 1-5", "0 2 * * 1-5", "", ""},
      {"0 8 * * *", "0 9 * * *", "", "business date 2026-02-10 (Tuesday)"},  // later than mine
      {"0 8 * * *", "*/10 * * * *", "", ""},
      {"0 8 1 * *", "0 2 1 * *", "", ""},
      {"0 8 2 * *", "0 2 1 * *", "", "business date 2026-03-02"},
      {"0 8 * * *", "0 9 * * *", "business_date: previous_day\n",
       ""},  // of the task: mine is yesterday's, so is up's
  };
  for (const auto& row : rows) {
    const Linted linted =
        CheckRules(Waiting("t", On("up"), row.more, row.mine) + Waiting("up", "", "", row.upstream));
    if (*row.text == '\0') {
      EXPECT_FALSE(linted.Has("upstream_not_that_day")) << row.mine << " " << row.upstream << "\n"
                                                        << linted.All();
    } else {
      EXPECT_NE(linted.Text("upstream_not_that_day").find(row.text), std::string::npos)
          << row.mine << " " << row.upstream << "\n"
          << linted.All();
    }
  }
}

TEST(LintWait, AFlagThatATaskSetsIsMissedOnTheDaysThatTaskDoesNotRun) {
  const struct {
    const char* mine;
    const char* setter;
    const char* name;  // as it is set
    const char* more;  // of who waits
    const char* text;  // empty: it is always set
  } rows[] = {
      {"0 8 * * *", "0 2 * * *", "load.done", "depends_on: [load.done]\n", ""},
      {"0 8 * * *", "0 2 * * 1-5", "load.done", "depends_on: [load.done]\n",
       "waits in vain for the flag load.done: due 2026-02-14T08:00:00+00:00, it asks for the business date "
       "2026-02-14 (Saturday), and up, which sets it, has no occurrence for that date due before its window "
       "ends"},
      {"0 8 * * *", "0 2 * * 1-5", "load.done_{business_date}",
       "depends_on: [\"load.done_{business_date}\"]\n", "(Saturday)"},
      {"0 8 * * 1-5", "0 2 * * 1-5", "load.done", "depends_on: [load.done]\n", ""},
      {"0 8 * * *", "0 9 * * *", "load.done", "depends_on: [load.done]\n", ""},  // later, but in the window
      {"0 8 * * *", "0 2 * * 1-5", "health", "depends_on: [health]\n", ""},      // others set it too
      {"0 8 * * *", "0 2 * * 1-5", "load.done",
       "preconditions: [{type: flag, name: load.done, dated: false, why: x}]\n", ""},
  };
  for (const auto& row : rows) {
    const Linted linted =
        CheckRules(Waiting("t", "", row.more, row.mine) +
                   Waiting("up", "", StrCat("on_success: {set: [\"", row.name, "\"]}\n"), row.setter));
    if (*row.text == '\0') {
      EXPECT_FALSE(linted.Has("upstream_not_that_day")) << row.mine << " " << row.setter << "\n"
                                                        << linted.All();
    } else {
      EXPECT_NE(linted.Text("upstream_not_that_day").find(row.text), std::string::npos)
          << row.mine << " " << row.setter << "\n"
          << linted.All();
    }
  }
}

TEST(LintWait, WhatWaitsRetriesOrFansOutMustWriteItsKeyAndItsEnd) {
  const std::string head = "task_id: t\ncron: \"0 8 * * *\"\ntimezone: UTC\nowner: data\nnoop: {}\n";
  const struct {
    const char* more;
    const char* why;
    Finding::Severity severity;
  } rows[] = {
      {"depends_on: [health]\n", "the rule waits for preconditions", Finding::Severity::kError},
      {"retry: standard\n", "the rule retries", Finding::Severity::kError},
      {"catchup: {enabled: true}\n", "the rule catches up", Finding::Severity::kError},
      {"for_each: {c: [x, y]}\n", "the rule fans out", Finding::Severity::kError},
      {"business_date: previous_day\n", "the rule has another business date", Finding::Severity::kWarning},
  };
  for (const auto& row : rows) {
    const Linted linted = CheckRules(head + row.more);
    for (const char* id : {"key_missing", "window_end_missing"}) {
      ASSERT_EQ(linted.Of(id).size(), 1u) << row.more;
      EXPECT_EQ(linted.Of(id)[0].severity, row.severity) << row.more;
      EXPECT_EQ(linted.Of(id)[0].message.find(row.why), 0u) << linted.Of(id)[0].message;
    }
    const Linted written = CheckRules(head + row.more + "window_end: +4h\nbusiness_key: \"{task}:{date}\"\n");
    EXPECT_FALSE(written.Has("key_missing") || written.Has("window_end_missing")) << row.more;
  }
  EXPECT_FALSE(CheckRules(head).Has("key_missing"));
}

TEST(WaitGraph, OneShortestCircleForEachTangle) {
  using Edges = std::vector<std::vector<size_t>>;
  EXPECT_EQ(FindWaitCycles({}), Edges{});
  EXPECT_EQ(FindWaitCycles({{1}, {2}, {}}), Edges{});
  EXPECT_EQ(FindWaitCycles({{0}}), (Edges{{0}}));
  EXPECT_EQ(FindWaitCycles({{1}, {0}, {3}, {2}}), (Edges{{0, 1}, {2, 3}}));
  // 0 → 1 → 2 → 3 → 0 and a shorter way 0 → 3.
  EXPECT_EQ(FindWaitCycles({{1, 3}, {2}, {3}, {0}}), (Edges{{0, 3}}));
  // What leads into a circle is no part of it.
  EXPECT_EQ(FindWaitCycles({{1}, {2}, {1}}), (Edges{{1, 2}}));
}

}  // namespace
}  // namespace duecourse
