// A whole set of rules with the server's settings: what `serve` runs on. Loading
// reads every file once, reports every fault of every file, and is all or
// nothing. Immutable; shared between threads by shared_ptr<const RuleSet>.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rule/config.h"

namespace duecourse {

// One thing wrong, or worth saying. Ids are stable and listed in docs/reference/check.md.
struct Finding {
  enum class Severity { kError, kWarning, kHint };
  Severity severity = Severity::kError;
  std::string id;  // "cron_invalid", "key_constant", "no_owner"…
  std::string file;
  int line = 0;
  int column = 0;
  std::string task;     // empty where none
  std::string path;     // "trigger.cron"
  std::string message;  // what is wrong
  std::string fix;      // what would be right
};
// "rules/a.yaml:3:9: error: …; fix [id]"
std::string FormatFinding(const Finding& finding);

struct RuleFile {
  std::string path;
  std::string folder;
  std::string hash;  // SHA-256 of the text
};

struct RuleSet {
  ServerConfig config;
  std::vector<RuleFile> files;
  std::vector<Task> tasks;  // sorted by id
  std::string hash;  // of what the rules and settings mean, not of white space; same content, same version

  const Task* Find(const std::string& id) const;
};

struct LoadRequest {
  std::string config_path;  // may be missing only where it was not named: defaults apply
  bool config_named = false;
  std::string rules_path;  // folder or file; empty: what the settings say
};
struct Loaded {
  std::shared_ptr<const RuleSet> set;  // null where there are errors
  std::shared_ptr<const RuleSet>
      readable;  // the rules that could be read, errors or not; for `check` only, never to run
  std::vector<Finding> findings;  // errors of reading; lint adds its own (rule/lint.h)
  size_t tasks_seen = 0;
};
Loaded LoadRules(const LoadRequest& request);
// Only the settings, for those who need to know where things are.
struct LoadedSettings {
  ServerConfig config;
  std::vector<Finding> findings;
};
LoadedSettings LoadSettings(const LoadRequest& request);
// The same from texts in memory, for drills, tests and the API. `name` stands in for the file's path.
struct NamedText {
  std::string name;
  std::string text;
};
Loaded LoadRulesFromText(const std::vector<NamedText>& rules, const NamedText& config);

// What changed between two sets, field by field; for `reload --dry-run` and the version log.
struct RuleChange {
  enum class Kind { kAdded, kRemoved, kChanged };
  Kind kind = Kind::kChanged;
  std::string task;   // "duecourse.yaml" for a setting
  std::string field;  // "trigger.cron"; empty for added and removed
  std::string before;
  std::string after;
};
std::vector<RuleChange> CompareRules(const RuleSet& before, const RuleSet& after);
// The schedule of a task changed in a way that makes its occurrences others (cron, every, at, zone, dst).
bool SameSchedule(const RuleBody& a, const RuleBody& b);

// Canonical YAML of one rule; parsing it gives an equal rule. With `effective`, every default is written out.
std::string PrintRule(const Task& task, bool effective);

}  // namespace duecourse
