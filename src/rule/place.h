// Where rules are read from; for messages that name the place.
#pragma once

#include <string>

#include "rule/ruleset.h"

namespace duecourse {

// The folder or file that LoadRules reads: what the request names, else what the settings say, beside them.
std::string RulesPlace(const LoadRequest& request, const ServerConfig& config);

}  // namespace duecourse
