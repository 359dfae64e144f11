// Which value of a task that fans out somebody means. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "rule/rule.h"

namespace duecourse {

// The value that the words mean: its whole id, or one field of it (user=bob, or bob) that no other value has.
// Nothing where none or several fit, or where nothing is said and there is a choice; `problem` says which
// there are.
std::optional<size_t> ChooseValue(const RuleBody& rule, const std::string& words, std::string* problem);

}  // namespace duecourse
