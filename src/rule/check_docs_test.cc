// The reference page of `check` and the code name the same findings.
#include <gtest/gtest.h>

#include "rule/template.h"
#include "rule/test_lint.h"

namespace duecourse {
namespace {

TEST(CheckReference, EveryFindingHasItsRow) {
  const std::string page = SourceFile("docs/reference/check.md");
  // What stands in the first column of a table, or in the list of a question.
  const std::set<std::string> told = Matches(page, "`([a-z0-9_]+)`");
  const std::set<std::string> rows = Matches(page, "\n\\| `([a-z0-9_]+)`");
  const std::set<std::string> used = LintIds();
  EXPECT_GE(used.size(), 40u) << "the pattern has lost the code";
  for (const std::string& id : used)
    EXPECT_EQ(rows.count(id), 1u) << id << " has no row in docs/reference/check.md";
  for (const char* name : {"reader", "tree", "parse", "parse_trigger", "parse_retry", "parse_precondition",
                           "parse_http", "parse_execution", "parse_config", "builder", "load", "split"}) {
    const std::string code = SourceFile(StrCat("src/rule/", name, ".cc"));
    for (const std::string& id :
         Matches(code,
                 "\\{\"((?:bad|file|unknown|duplicate|empty|null|wrong|too|out|missing|key|cron|timezone|env|"
                 "inline|cwd|yaml|task_id|calendar)_[a-z_]+)\",\\s")) {
      EXPECT_EQ(told.count(id), 1u) << id << " of " << name << ".cc is not told in docs/reference/check.md";
    }
  }
}

TEST(TemplateReference, EveryNameIsOnThePage) {
  const std::string page = SourceFile("docs/reference/templates.md");
  for (const auto& [name, words] : TemplateNames()) {
    EXPECT_NE(page.find(StrCat("`{", name, "}`")), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace duecourse
