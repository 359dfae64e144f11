#include "cli/find.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "cli/client.h"
#include "cli/report.h"
#include "time/zone.h"

namespace duecourse {
namespace {

constexpr size_t kRunIdLength = 21;         // "r" and twenty hexadecimal digits
constexpr const char* kRunsAsked = "1000";  // a short id is looked for among the newest

}  // namespace

Result<Instant> InstantOrDay(const std::string& text) {
  Result<CivilDay> day = ParseDay(text);
  if (day.ok()) return Zone::Utc().Lookup({*day, 0}).first;
  Result<Instant> instant = ParseUtc(text);
  if (instant.ok()) return instant;
  return Error(
      StrCat("\"", ShowBytes(text, false),
             "\" is neither a day (2026-12-04, which begins at 00:00 UTC) nor an instant with its zone "
             "(2026-12-04T09:00:00Z, 2026-12-04T09:00:00+01:00)"));
}

std::optional<std::string> FindRunId(const Args& args, const std::string& text) {
  if (text.size() < kRunPrefixLeast || text.size() >= kRunIdLength || text[0] != 'r') return text;
  const DaemonAnswer answer = Get(args, "/api/v1/runs", {{"limit", kRunsAsked}});
  if (answer.status != 200) return text;
  std::vector<std::string> fitting;
  std::string told;
  for (const Json& run : answer.body.Get("runs").AsArray()) {
    const std::string& id = run.Get("run_id").AsString();
    if (!id.starts_with(text)) continue;
    fitting.push_back(id);
    told += StrCat("\n  ", id, "  ", ShowBytes(TaskAndValue(run), false), "  due ",
                   run.Get("due_local").AsString(), "  ", run.Get("state").AsString());
  }
  if (fitting.empty()) return text;
  if (fitting.size() == 1) return fitting.front();
  Fail(args, kExitProblem, StrCat("several runs begin with ", text, ":", told));
  return std::nullopt;
}

bool SayIfUnknownTask(const Args& args, const std::string& task) {
  if (task.empty()) return false;
  const DaemonAnswer tasks = Get(args, "/api/v1/tasks");
  if (tasks.status != 200) return false;
  std::vector<std::string> names;
  for (const Json& known : tasks.body.Get("tasks").AsArray()) {
    names.push_back(known.Get("task_id").AsString());
    if (names.back() == task) return false;
  }
  if (!Get(args, "/api/v1/runs", {{"task", task}, {"limit", "1"}}).body.Get("runs").AsArray().empty())
    return false;
  const std::optional<std::string> nearest = Nearest(task, names);
  Fail(args, kExitProblem,
       StrCat("there is no task ", task, nearest ? StrCat("; did you mean ", *nearest, "?") : ""));
  return true;
}

bool SayIfUnknownRun(const Args& args, const std::string& run) {
  if (run.empty()) return false;
  const bool plain =
      std::all_of(run.begin(), run.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  if (plain && Get(args, StrCat("/api/v1/runs/", run)).status != 404) return false;
  Fail(args, kExitProblem,
       StrCat("there is no run ", run,
              run.size() < kRunIdLength
                  ? StrCat("; a run is its id, or the first ", kRunPrefixLeast,
                           " characters of it and more, where it is one of the newest ", kRunsAsked)
                  : ""));
  return true;
}

std::string HeldBy(const Args& args, const std::string& task) {
  const Json live = Get(args, "/api/v1/why", {{"task", task}}).body.Get("live");
  if (!live.Has("paused_scope")) return "";
  const std::string reason = live.Get("paused_reason").AsString();
  return StrCat(live.Get("paused_scope").AsString(), ", by ", live.Get("paused_by").AsString(),
                reason.empty() ? "" : StrCat(": ", reason));
}

std::string TaskAndValue(const Json& run) {
  const std::string& value = run.Get("value").AsString();
  return value.empty() ? run.Get("task_id").AsString() : StrCat(run.Get("task_id").AsString(), " ", value);
}

}  // namespace duecourse
