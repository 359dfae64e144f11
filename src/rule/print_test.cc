// What prints is what was read.
#include "rule/print.h"

#include <fstream>

#include "base/random.h"
#include "base/test_folder.h"
#include "rule/parse.h"
#include "rule/test_rules.h"

namespace duecourse {
namespace {

Task TaskOf(const std::string& id, RuleBody body) {
  Task task;
  task.id = id;
  task.body = std::make_shared<const RuleBody>(std::move(body));
  return task;
}

TEST(Print, EveryFixtureReadsBackEqual) {
  for (const std::string& name : FixtureNames()) {
    Loaded loaded = LoadText(CaseText("rules/" + name + ".yaml"));
    for (const Task& task : loaded.readable->tasks) {
      std::string text = PrintRule(task, false);
      Loaded again = LoadText(text);
      ASSERT_NE(again.set, nullptr) << name << "\n" << FindingsText(again) << text;
      ASSERT_EQ(again.set->tasks.size(), 1u);
      EXPECT_EQ(again.set->tasks[0].id, task.id);
      EXPECT_TRUE(again.set->tasks[0].rule() == task.rule()) << "first:\n"
                                                             << text << "\nsecond:\n"
                                                             << PrintRule(again.set->tasks[0], false);
      EXPECT_EQ(PrintRule(again.set->tasks[0], false), text);
    }
  }
}

TEST(Print, TheEffectiveFormMeansTheSame) {
  for (const std::string& name : FixtureNames()) {
    Loaded loaded = LoadText(CaseText("rules/" + name + ".yaml"));
    for (const Task& task : loaded.readable->tasks) {
      std::string text = PrintRule(task, true);
      Loaded again = LoadText(text);
      ASSERT_NE(again.set, nullptr) << name << "\n" << FindingsText(again) << text;
      EXPECT_EQ(again.set->tasks[0].rule().hash, task.rule().hash) << text;
    }
  }
}

TEST(Print, TextsThatAnotherReaderCouldMistakeAreQuoted) {
  struct Row {
    const char* text;
    const char* yaml;
  };
  const std::vector<Row> rows = {
      {"plain", "plain"},
      {"a/b.c-d_e", "a/b.c-d_e"},
      {"no", "\"no\""},
      {"ON", "\"ON\""},
      {"null", "\"null\""},
      {"~", "\"~\""},
      {"", "\"\""},
      {"010", "\"010\""},
      {"1e3", "\"1e3\""},
      {"0x1f", "\"0x1f\""},
      {"22:00", "\"22:00\""},
      {"2026-03-02", "\"2026-03-02\""},
      {"a: b", "\"a: b\""},
      {"- a", "\"- a\""},
      {"#x", "\"#x\""},
      {"{a}", "\"{a}\""},
      {"a\"b", "\"a\\\"b\""},
      {"a\\b", "\"a\\\\b\""},
      {"two\nlines", "\"two\\nlines\""},
      {"tab\t", "\"tab\\t\""},
      {"30s", "30s"},
      {"中文", "\"中文\""},
  };
  for (const Row& row : rows) EXPECT_EQ(YamlScalar(row.text), row.yaml) << row.text;
}

// Any text that a value may hold comes back as it was, in blocks and out of them.
TEST(Print, TextsOfAnyShapeComeBack) {
  Random random(20260301);
  const std::vector<std::string> alphabet = {"a", "b", " ", "\t", "\n", ":", "#",  "-",   "'",   "\"", "\\",
                                             "{", "}", "[", "]",  ",",  "&", "*",  "!",   "|",   ">",  "%",
                                             "@", "`", "~", "0",  ".",  "é", "中", "\n ", "---", "- "};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int64_t n = random.Between(1, 24); n > 0; --n) {
      text += alphabet[static_cast<size_t>(random.Between(0, static_cast<int64_t>(alphabet.size()) - 1))];
    }
    RuleBody body;
    body.trigger.schedule.kind = EverySchedule{Minutes(5), {}};
    body.business_key = *Template::Parse("{task}:{scheduled_at}");
    body.trigger.missed = MissedPolicy::kSkip;
    body.retry.max_total_attempts = 2;
    body.execution.kind = ExecutionRule::Kind::kShell;
    body.execution.shell = text;
    body.vars.emplace_back("v", text);
    body.labels.emplace_back("l " + text, "x");
    body.why = text;
    std::string yaml = PrintRule(TaskOf("t", body), false);
    Loaded loaded = LoadText(yaml);
    ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded) << yaml;
    RuleBody again = loaded.set->tasks[0].rule();
    again.hash.clear();
    ASSERT_TRUE(again == body) << yaml << PrintRule(loaded.set->tasks[0], false);
  }
}

TEST(Print, EffectiveSaysWhereEachLineComesFrom) {
  const TestFolder scratch;
  const std::string& folder = scratch.path();
  std::string path = folder + "/b.yaml";
  ASSERT_TRUE(WriteFileAtomic(path, CaseText("rules/article_b.yaml"), false).ok());
  LoadRequest request;
  request.rules_path = folder;
  Loaded loaded = LoadRules(request);
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  std::string text = PrintEffective(loaded.set->tasks[0], *loaded.set);
  auto line_of = [&](const std::string& key) {
    size_t at = text.find(key);
    return at == std::string::npos ? "absent" : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_TRUE(line_of("cron:").ends_with("# " + path + ":4")) << text;
  EXPECT_TRUE(line_of("window_end:").ends_with(":7")) << text;
  EXPECT_TRUE(line_of("ttl:").ends_with(":11")) << "written as lock_ttl: " << text;
  EXPECT_TRUE(line_of("heartbeat:").ends_with("# default")) << text;
  EXPECT_TRUE(line_of("on_window_end: manual").ends_with("# default")) << text;
  EXPECT_TRUE(line_of("type: file").ends_with(":10")) << text;
  EXPECT_TRUE(line_of("intervals:").ends_with(":14")) << text;
  EXPECT_NE(LoadText(text).set, nullptr) << "the notes are comments";

  ASSERT_TRUE(WriteFileAtomic(path, "# another\n" + CaseText("rules/article_b.yaml"), false).ok());
  text = PrintEffective(loaded.set->tasks[0], *loaded.set);
  EXPECT_NE(text.find("has changed since it was loaded"), std::string::npos)
      << "lines that may be wrong are not named";
}

TEST(Print, AnAliasIsTracedToTheLineThatWroteIt) {
  const TestFolder scratch;
  const std::string& folder = scratch.path();
  ASSERT_TRUE(WriteFileAtomic(folder + "/a.yaml",
                              ShortRule("retry: standard\ndedupe_key: \"t:{business_date}\"\nnoop: {}\n"),
                              false)
                  .ok());
  LoadRequest request;
  request.rules_path = folder + "/a.yaml";
  Loaded loaded = LoadRules(request);
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  std::string text = PrintEffective(loaded.set->tasks[0], *loaded.set);
  EXPECT_NE(text.find("intervals: [60s, 2m, 4m]"), std::string::npos) << text;
  size_t at = text.find("business_key:");
  EXPECT_NE(text.find("a.yaml:5", at), std::string::npos) << text;
}

}  // namespace
}  // namespace duecourse
