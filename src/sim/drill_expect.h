// What a drill expects, held against what happened. Internal to this room.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/checkers.h"
#include "sim/drill.h"

namespace duecourse {

// Appends a sentence with the line in the drill file for each expectation that is not met.
void CheckExpectations(const Drill& drill, const CheckInput& input, World& world,
                       const std::map<std::string, uint64_t>& asked, std::vector<std::string>& failures);

}  // namespace duecourse
