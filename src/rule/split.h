// The rules of one file, whatever form it has: one task, several documents, a
// list under `tasks:`, a map of name to rule (also under `TASK_RULES:`). Large
// lists arrive entry by entry and are never whole in memory.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rule/reader.h"

namespace duecourse {

struct RuleSource {
  YamlNode name;  // the key where the rule stands in a map; else kNull
  YamlNode rule;
};
using OnRule = std::function<void(RuleSource source)>;

// Hands each rule of the text to the callback. Faults of YAML and of the file's shape go to the reader.
void SplitRules(std::string_view text, Reader& reader, const OnRule& on_rule);

// The task id that the rule is known by, and where it stands; empty where it has none.
struct TaskName {
  std::string id;
  YamlPlace place;
};
TaskName NameOfRule(const RuleSource& source);

}  // namespace duecourse
