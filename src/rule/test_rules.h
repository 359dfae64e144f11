// For tests of this room: rules from texts and from the fixtures of tests/cases.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "rule/ruleset.h"

namespace duecourse {

inline std::string CasePath(const std::string& name) {
  return StrCat(DUECOURSE_SOURCE_DIR, "/tests/cases/", name);
}

inline std::string CaseText(const std::string& name) {
  Result<std::string> text = ReadFile(CasePath(name), 1 << 20);
  EXPECT_TRUE(text.ok()) << name;
  return text.ok() ? *text : std::string();
}

// Rules beside the settings that every fixture may use.
inline Loaded LoadText(const std::string& rules) {
  return LoadRulesFromText({{"a.yaml", rules}}, {"duecourse.yaml", CaseText("settings/duecourse.yaml")});
}

inline std::string FindingsText(const Loaded& loaded) {
  std::string out;
  for (const Finding& finding : loaded.findings) out += FormatFinding(finding) + "\n";
  return out;
}

// The one rule of a text that has no fault.
inline RuleBody OnlyRule(const std::string& text) {
  Loaded loaded = LoadText(text);
  EXPECT_NE(loaded.set, nullptr) << FindingsText(loaded) << text;
  EXPECT_EQ(loaded.readable->tasks.size(), 1u);
  return loaded.readable->tasks.empty() ? RuleBody() : loaded.readable->tasks[0].rule();
}

// A short rule with more lines.
inline std::string ShortRule(const std::string& more) {
  return "task_id: t\ncron: \"0 8 * * *\"\ntimezone: UTC\n" + more;
}
inline RuleBody ShortBody(const std::string& more) { return OnlyRule(ShortRule(more + "\nnoop: {}\n")); }

inline const std::vector<std::string>& FixtureNames() {
  static const std::vector<std::string> names = {"article_a", "article_b",  "documents", "every_key",
                                                 "fan_out",   "later_keys", "list",      "map",
                                                 "short",     "spellings",  "task_rules"};
  return names;
}

}  // namespace duecourse
