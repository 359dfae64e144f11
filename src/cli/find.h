// What people type in place of what is meant: a day for an instant, the first
// characters of a run's id, a task that there may not be.
#pragma once

#include <optional>
#include <string>

#include "base/instant.h"
#include "base/json.h"
#include "base/result.h"
#include "cli/args.h"

namespace duecourse {

// An instant with its zone, or a day, which is its first instant in UTC (as in the API). Errors say what is
// accepted.
Result<Instant> InstantOrDay(const std::string& text);

// The id of the run whose id begins with `text` (kRunPrefixLeast characters and more), asked of the daemon
// among the newest runs. `text` itself where it is a whole id, where no run fits, or where no daemon answers:
// the verb's own request says so then. Nothing where several fit; they are listed on standard error.
inline constexpr size_t kRunPrefixLeast = 6;
std::optional<std::string> FindRunId(const Args& args, const std::string& text);

// Whether neither the rules in force nor a run knows this task, so that an empty list is no answer. Says so.
bool SayIfUnknownTask(const Args& args, const std::string& task);

// Whether there is no such run, so that an empty list is no answer. Says so, and how a run's id may be
// shortened.
bool SayIfUnknownRun(const Args& args, const std::string& run);

// The pause that holds a task: "label/team=fin, by ann: repairs". Empty where none does.
std::string HeldBy(const Args& args, const std::string& task);

// "digest", or "digest user=bob" for a task that fans out; of a run's JSON.
std::string TaskAndValue(const Json& run);

}  // namespace duecourse
