// Which flags the rules speak of: those that preconditions ask for, those that tasks set and those that the
// settings name. For whoever sets one by hand, as a slip in its name is a flag that nobody asks for. Pure.
#pragma once

#include <string>

#include "rule/ruleset.h"

namespace duecourse {

// What to tell of a flag of this name, with a date beside it or without: empty where a rule or the settings
// speak of it, else a sentence that names what is nearest to it. A variable in a rule's name stands for
// anything, so a slip in a date is not found.
std::string UnknownFlagNote(const RuleSet& rules, const std::string& name, bool dated);

}  // namespace duecourse
