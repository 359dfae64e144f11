#include "rule/choose_value.h"

#include <vector>

#include "base/text.h"

namespace duecourse {

std::optional<size_t> ChooseValue(const RuleBody& rule, const std::string& words, std::string* problem) {
  std::vector<size_t> fitting;
  std::string all;
  for (size_t v = 0; v < ValueCount(rule); ++v) {
    const std::string id = ValueId(rule, v);
    if (id == words) return v;
    if (rule.for_each.empty()) continue;
    all += StrCat("\n  ", ShowBytes(id, false));
    for (const auto& [name, value] : rule.for_each[v].fields) {
      if (words != value && words != StrCat(name, "=", value)) continue;
      fitting.push_back(v);
      break;
    }
  }
  if (fitting.size() == 1) return fitting.front();
  if (rule.for_each.empty()) {
    if (words.empty()) return 0;
    *problem = "the task has no values: leave --value out";
  } else if (words.empty()) {
    if (ValueCount(rule) == 1) return 0;
    *problem = StrCat("say which of its values, with --value:", all);
  } else {
    *problem = StrCat(ShowBytes(words, false),
                      fitting.empty() ? " is none of its values:" : " fits several of its values:", all);
  }
  return std::nullopt;
}

}  // namespace duecourse
