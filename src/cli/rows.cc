// duecourse decisions, runs: rows of the store as tables.
#include <cstdio>

#include "base/text.h"
#include "cli/client.h"
#include "cli/find.h"
#include "cli/verbs.h"

namespace duecourse {

int DecisionsVerb(const Args& args) {
  const std::optional<std::string> run = FindRunId(args, args.Get("--run"));
  if (!run) return kExitProblem;
  DaemonAnswer answer = Get(args, "/api/v1/decisions",
                            {{"task", args.At(0)},
                             {"from", args.Get("--from")},
                             {"to", args.Get("--to")},
                             {"run", *run},
                             {"limit", args.Get("--limit")}});
  int code = kExitFine;
  if (!Good(args, answer, &code)) return code;
  if (answer.body.Get("decisions").AsArray().empty() &&
      (SayIfUnknownTask(args, args.At(0)) || SayIfUnknownRun(args, *run)))
    return kExitProblem;
  if (args.json()) {
    std::printf("%s\n", answer.body.DumpPretty().c_str());
    return kExitFine;
  }
  std::vector<std::vector<std::string>> rows = {
      {"TIME", "TASK", "DATE", "RUN", "ANSWER", "REASON", "TIMES", "DETAIL"}};
  for (const Json& row : answer.body.Get("decisions").AsArray()) {
    std::string what = row.Get("decision").AsString();
    if (row.Has("to"))
      what = StrCat(row.Get("from").AsString(), row.Get("from").AsString().empty() ? "" : " -> ",
                    row.Get("to").AsString());
    rows.push_back({row.Get("time").AsString(), TaskAndValue(row), row.Get("target_date").AsString(),
                    row.Get("run_id").AsString(), what, row.Get("reason").AsString(),
                    std::to_string(row.Get("count").AsInteger()),
                    ShowBytes(row.Get("detail").Get("text").AsString(), false)});
  }
  std::printf("%s", Table(rows).c_str());
  NoteMore(args, answer, rows.size() - 1);
  return kExitFine;
}

int RunsVerb(const Args& args) {
  DaemonAnswer answer = Get(args, "/api/v1/runs",
                            {{"task", args.At(0)},
                             {"state", args.Get("--state")},
                             {"date", args.Get("--date")},
                             {"key", args.Get("--key")},
                             {"from", args.Get("--from")},
                             {"to", args.Get("--to")},
                             {"limit", args.Get("--limit")}});
  int code = kExitFine;
  if (!Good(args, answer, &code)) return code;
  if (answer.body.Get("runs").AsArray().empty() && SayIfUnknownTask(args, args.At(0))) return kExitProblem;
  if (args.json()) {
    std::printf("%s\n", answer.body.DumpPretty().c_str());
    return kExitFine;
  }
  std::vector<std::vector<std::string>> rows = {
      {"RUN", "TASK", "DUE", "STATE", "REASON", "ATTEMPTS", "KEY", "DETAIL"}};
  for (const Json& row : answer.body.Get("runs").AsArray()) {
    rows.push_back({row.Get("run_id").AsString(), TaskAndValue(row), row.Get("due_local").AsString(),
                    row.Get("state").AsString(), row.Get("reason").AsString(),
                    std::to_string(row.Get("attempts").AsInteger()),
                    ShowBytes(row.Get("key").AsString(), false),
                    ShowBytes(row.Get("detail").AsString(), false)});
  }
  std::printf("%s", Table(rows).c_str());
  NoteMore(args, answer, rows.size() - 1);
  return kExitFine;
}

}  // namespace duecourse
