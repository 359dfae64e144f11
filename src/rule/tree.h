// The first look at a tree of YAML, the same for rules and settings: keys that
// nobody knows (a misspelt one then counts as the key it resembles), values that
// are missing, secrets that were written down. What was refused is taken out or
// hidden, so that it makes one fault and cannot be shown by a later one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rule/reader.h"

namespace duecourse {

struct TreeTable {
  // The keys known at a path; nullptr where names are free.
  const std::vector<std::string>* (*keys_at)(std::string_view path);
  // Where the value of a key of the outermost map belongs ("cron" -> "trigger.cron").
  std::string (*place_of)(std::string_view key);
};
void CheckTree(YamlNode& root, const TreeTable& table, Reader& reader);

}  // namespace duecourse
