// What `check` looks for in URLs: an address that the daemon will refuse to connect to, by the same guard as
// its HTTP calls (net/address_guard.h). Only addresses that are written out are judged: what a name resolves
// to is known at the call. No network is asked.
#pragma once

#include <vector>

#include "rule/ruleset.h"

namespace duecourse {

// Warnings, as a rule may be checked with other settings than it runs with.
std::vector<Finding> RefusedAddresses(const RuleSet& set);

}  // namespace duecourse
