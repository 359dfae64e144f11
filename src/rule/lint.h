// `check`: every rule against the eight questions asked before a task goes live,
// and the list under them (docs/reference/check.md). Errors of reading come from
// LoadRules; these are about rules that can be read.
#pragma once

#include <vector>

#include "rule/ruleset.h"

namespace duecourse {

struct LintOptions {
  Instant now;  // judges "past", "next 400 days", calendars that end
  bool thorough =
      true;  // false at start and reload: only what may be an error, nothing that tries occurrences
};
std::vector<Finding> Lint(const RuleSet& set, const LintOptions& options);
bool HasErrors(const std::vector<Finding>& findings);

// draft-07 JSON Schema texts of a rule file and of duecourse.yaml.
const std::string& RuleSchema();
const std::string& ConfigSchema();

}  // namespace duecourse
