// Which keys may stand where, in a rule and in duecourse.yaml: one table each.
// What is in neither is a fault, never ignored. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace duecourse {

// The keys of the map at this path ("", "trigger", "trigger.preconditions[]"), aliases included; nullptr
// where names are free (vars, env, headers) or the value is no map of ours.
const std::vector<std::string>* RuleKeysAt(std::string_view path);
const std::vector<std::string>* ConfigKeysAt(std::string_view path);

// The key of ours for a word that other schedulers use ("tz" -> "timezone"); empty where there is none.
std::string FamiliarKey(std::string_view key);

}  // namespace duecourse
