// How every verb says what went wrong, and what it has to tell besides. The one place of src/cli that writes
// to standard error: with `-o json` it holds JSON only, one object a line, and nothing but the error where a
// verb fails. Exit codes are those of args.h.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/args.h"
#include "rule/ruleset.h"

namespace duecourse {

// Says why the verb ends, and returns `code` for it to end with. With -o json it is one object: `message`,
// `exit_code` and the members of `more` (what the daemon answered; further `errors`). `message` may have
// lines; it is shown escaped, as it may hold what somebody typed.
int Fail(const Args& args, int code, const std::string& message, Json more = Json());

// The same for a mistake in how the verb was used; the exit code is 2.
int UsageFault(const Args& args, const std::string& message);

// Whether one of the options was given beside what makes nothing of it, so that it would be dropped silently.
// Says so: "--ttl means nothing with flag unset: leave it out".
bool SayIfIdle(const Args& args, const std::string& with, const std::vector<const char*>& options);

// What rules cannot be read for, one line a finding.
int FailWith(const Args& args, int code, const std::string& message, const std::vector<Finding>& findings);

// Told, while the verb goes on: {"note": …} with -o json.
void Tell(const Args& args, const std::string& text);

// Whether JSON is asked for in words that could not be parsed.
bool AsksForJson(int argc, const char* const* argv);

}  // namespace duecourse
