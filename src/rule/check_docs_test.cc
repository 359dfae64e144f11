// The reference page of `check` and the code name the same findings.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "rule/template.h"

namespace duecourse {
namespace {

std::string Source(const std::string& path) {
  const Result<std::string> text = ReadFile(StrCat(DUECOURSE_SOURCE_DIR, "/", path), 1 << 20);
  EXPECT_TRUE(text.ok()) << path;
  return text.ok() ? *text : "";
}

std::set<std::string> Matches(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex expression(pattern);
  for (auto it = std::sregex_iterator(text.begin(), text.end(), expression); it != std::sregex_iterator();
       ++it) {
    found.insert((*it)[1]);
  }
  return found;
}

TEST(CheckReference, EveryFindingHasItsRow) {
  const std::string page = Source("docs/reference/check.md");
  // What stands in the first column of a table, or in the list of a question.
  const std::set<std::string> told = Matches(page, "`([a-z0-9_]+)`");
  const std::set<std::string> rows = Matches(page, "\n\\| `([a-z0-9_]+)`");
  std::set<std::string> used;
  for (const char* name : {"key", "people", "retry", "schedule", "clock", "sources", "template", "unique",
                           "upstream", "written"}) {
    const std::string code = Source(StrCat("src/rule/lint_", name, ".cc"));
    for (const std::string& id : Matches(code, "\\{\\s*\"([a-z0-9]+_[a-z0-9_]+|defaults)\","))
      used.insert(id);
    for (const std::string& id : Matches(code, "comes \\? \"([a-z_]+)\"")) used.insert(id);
    for (const std::string& id : Matches(code, "comes \\? \"[a-z_]+\" : \"([a-z_]+)\"")) used.insert(id);
  }
  EXPECT_GE(used.size(), 40u) << "the pattern has lost the code";
  for (const std::string& id : used)
    EXPECT_EQ(rows.count(id), 1u) << id << " has no row in docs/reference/check.md";
  for (const char* name : {"reader", "tree", "parse", "parse_trigger", "parse_retry", "parse_precondition",
                           "parse_http", "parse_execution", "parse_config", "builder", "load", "split"}) {
    const std::string code = Source(StrCat("src/rule/", name, ".cc"));
    for (const std::string& id :
         Matches(code,
                 "\\{\"((?:bad|file|unknown|duplicate|empty|null|wrong|too|out|missing|key|cron|timezone|env|"
                 "inline|cwd|yaml|task_id|calendar)_[a-z_]+)\",\\s")) {
      EXPECT_EQ(told.count(id), 1u) << id << " of " << name << ".cc is not told in docs/reference/check.md";
    }
  }
}

TEST(TemplateReference, EveryNameIsOnThePage) {
  const std::string page = Source("docs/reference/templates.md");
  for (const auto& [name, words] : TemplateNames()) {
    EXPECT_NE(page.find(StrCat("`{", name, "}`")), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace duecourse
