// What `check` looks for on this machine: programs that rules and channels start,
// and the scripts that interpreters are given. Pure reading of names is rule/lint.h;
// this looks at the disk, with the same search as the executor's (exec/environment.h),
// so what is not found here fails there. A rule may be checked on another machine
// than it runs on: findings are warnings.
#pragma once

#include <string>
#include <vector>

#include "rule/ruleset.h"

namespace duecourse {

// `data` is the data folder, absolute: a task without `cwd` works in its own folder there.
// Blocks on the disk; no errors of its own.
std::vector<Finding> MissingPrograms(const RuleSet& set, const std::string& data);

}  // namespace duecourse
