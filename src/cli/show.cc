// duecourse show: all tasks as the daemon has them, or one rule as its file says it.
#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cli/client.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "rule/print.h"

namespace duecourse {
namespace {

int ShowRule(const Args& args) {
  Loaded loaded = LoadRules(FindPlaces(args).load);
  const std::vector<Finding> errors = ErrorsOf(loaded);
  std::shared_ptr<const RuleSet> set = loaded.set != nullptr ? loaded.set : loaded.readable;
  const Task* task = set == nullptr ? nullptr : set->Find(args.At(0));
  if (task == nullptr)
    return FailWith(args, kExitProblem, StrCat("there is no task ", args.At(0), " in the rules"), errors);
  for (const Finding& finding : errors) Tell(args, FormatFinding(finding));
  std::string text = args.Has("--effective") ? PrintEffective(*task, *set) : PrintRule(*task, false);
  if (args.json()) {
    std::printf("%s\n", Json::MakeObject()
                            .Set("task_id", task->id)
                            .Set("file", set->files[task->file].path)
                            .Set("line", task->line)
                            .Set("yaml", text)
                            .DumpPretty()
                            .c_str());
  } else {
    std::printf("%s", text.c_str());
  }
  return kExitFine;
}

// "running (claimed); 3 manual_required (failed)": alike ones are counted, and beyond a few kinds all others
// are.
std::string OpenRuns(const std::vector<Json>& runs) {
  constexpr size_t kKindsShown = 3;
  std::vector<std::pair<std::string, size_t>> kinds;
  for (const Json& run : runs) {
    const std::string kind = StrCat(run.Get("state").AsString(), " (", run.Get("reason").AsString(), ")");
    auto same =
        std::find_if(kinds.begin(), kinds.end(), [&kind](const auto& known) { return known.first == kind; });
    if (same == kinds.end()) {
      kinds.emplace_back(kind, 1);
    } else {
      ++same->second;
    }
  }
  std::string text;
  size_t others = 0;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (i >= kKindsShown) {
      others += kinds[i].second;
      continue;
    }
    text += StrCat(text.empty() ? "" : "; ", kinds[i].second > 1 ? StrCat(kinds[i].second, " ") : "",
                   kinds[i].first);
  }
  return others == 0 ? text : StrCat(text, "; ", others, " more");
}

}  // namespace

int ShowVerb(const Args& args) {
  if (!args.At(0).empty()) return ShowRule(args);
  if (args.Has("--effective")) return UsageFault(args, "--effective is of one rule: show TASK --effective");
  DaemonAnswer answer = Get(args, "/api/v1/tasks");
  int code = kExitFine;
  if (!Good(args, answer, &code)) return code;
  if (args.json()) {
    std::printf("%s\n", answer.body.DumpPretty().c_str());
    return kExitFine;
  }
  std::vector<std::vector<std::string>> rows = {{"TASK", "LAST RESULT", "FOR", "OPEN", "NEXT DUE"}};
  for (const Json& task : answer.body.Get("tasks").AsArray()) {
    const std::string open = OpenRuns(task.Get("open").AsArray());
    std::string last = task.Get("last_result").AsString();
    if (!last.empty()) last += StrCat(" (", task.Get("last_reason").AsString(), ")");
    std::string next = task.Get("removed").AsBool()    ? "rule removed"
                       : !task.Get("enabled").AsBool() ? "not enabled"
                                                       : task.Get("next_due_local").AsString();
    if (task.Get("paused").AsBool()) next = next.empty() ? "paused" : StrCat("paused; ", next);
    rows.push_back({task.Get("task_id").AsString(), last.empty() ? "-" : last,
                    task.Get("last_date").AsString(), open.empty() ? "-" : open, next});
  }
  std::printf("%s", Table(rows).c_str());
  return kExitFine;
}

}  // namespace duecourse
