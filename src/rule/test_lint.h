// What the tests of `check` share: rules as text in, findings out. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "rule/lint.h"
#include "rule/origin.h"

namespace duecourse {

struct Linted {
  std::vector<Finding> findings;

  // All of this id, in order.
  std::vector<Finding> Of(const std::string& id) const {
    std::vector<Finding> found;
    for (const Finding& finding : findings) {
      if (finding.id == id) found.push_back(finding);
    }
    return found;
  }
  bool Has(const std::string& id) const { return !Of(id).empty(); }
  // "error [id]: message; fix" of the only finding with this id; what went wrong otherwise.
  std::string Text(const std::string& id) const {
    const std::vector<Finding> found = Of(id);
    if (found.size() != 1) return std::to_string(found.size()) + " findings " + id + "\n" + All();
    return FormatFinding(found[0]);
  }
  std::string All() const {
    std::string text;
    for (const Finding& finding : findings) text += FormatFinding(finding) + "\n";
    return text;
  }
  // The ids of errors and warnings, each once, in order.
  std::vector<std::string> Serious() const {
    std::vector<std::string> ids;
    for (const Finding& finding : findings) {
      if (finding.severity == Finding::Severity::kHint) continue;
      if (std::find(ids.begin(), ids.end(), finding.id) == ids.end()) ids.push_back(finding.id);
    }
    return ids;
  }
};

// An owner `data` with a P1 channel, a calendar of working days for 2026, and a pool.
inline const char* const kLintSettings = R"(
owners: {data: {P1: [phone], P2: [phone]}, quiet: {P2: [phone]}}
channels: {phone: {command: [/bin/true]}}
calendars: {cn: {holidays: [2026-10-01, 2026-10-02], workdays: [2026-10-10], covers: [2026]}}
flags: {"etl.finished": {set_by: the ETL's last step}, health: {set_by: the monitor}}
)";

inline Linted LintRules(const std::string& rules, const std::string& now, bool thorough,
                        const std::string& settings = kLintSettings) {
  const Loaded loaded = LoadRulesFromText({{"rules.yaml", rules}}, {"duecourse.yaml", settings});
  Linted result;
  EXPECT_NE(loaded.set, nullptr);
  for (const Finding& finding : loaded.findings) ADD_FAILURE() << FormatFinding(finding);
  if (loaded.set == nullptr) return result;
  LintOptions options;
  options.now = *ParseUtc(now);
  options.thorough = thorough;
  result.findings = Lint(*loaded.set, options);
  PlaceInText(rules, "rules.yaml", &result.findings);
  return result;
}
inline Linted CheckRules(const std::string& rules, const std::string& now = "2026-02-10T00:00:00Z") {
  return LintRules(rules, now, true);
}

// ---- what the code says

inline std::string SourceFile(const std::string& path) {
  const Result<std::string> text = ReadFile(StrCat(DUECOURSE_SOURCE_DIR, "/", path), 1 << 20);
  EXPECT_TRUE(text.ok()) << path;
  return text.ok() ? *text : "";
}
inline std::set<std::string> Matches(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex expression(pattern);
  for (auto it = std::sregex_iterator(text.begin(), text.end(), expression); it != std::sregex_iterator();
       ++it) {
    found.insert((*it)[1]);
  }
  return found;
}
// The ids of all findings of lint.
inline std::set<std::string> LintIds() {
  std::set<std::string> ids;
  for (const char* name : {"key", "people", "retry", "schedule", "clock", "sources", "template", "unique",
                           "upstream", "written"}) {
    const std::string code = SourceFile(StrCat("src/rule/lint_", name, ".cc"));
    for (const char* pattern : {"\\{\\s*\"([a-z0-9]+_[a-z0-9_]+|defaults)\",", "comes \\? \"([a-z_]+)\"",
                                "comes \\? \"[a-z_]+\" : \"([a-z_]+)\""}) {
      ids.merge(Matches(code, pattern));
    }
  }
  return ids;
}

}  // namespace duecourse
