// duecourse audit: who did what by hand, and why.
#include <cstdio>

#include "base/text.h"
#include "cli/client.h"
#include "cli/find.h"
#include "cli/report.h"
#include "cli/verbs.h"

namespace duecourse {
namespace {

struct Span {
  std::optional<Instant> from;
  std::optional<Instant> to;  // exclusive
};

bool SpanOf(const Args& args, Span* span) {
  for (const auto& [option, side] : {std::pair{"--from", &span->from}, std::pair{"--to", &span->to}}) {
    if (!args.Has(option)) continue;
    Result<Instant> instant = InstantOrDay(args.Get(option));
    if (!instant.ok()) {
      UsageFault(args, StrCat(option, ": ", instant.error().message()));
      return false;
    }
    *side = *instant;
  }
  return true;
}

bool Within(const Json& row, const Span& span) {
  const Result<Instant> at = ParseUtc(row.Get("at").AsString());
  if (!at.ok()) return true;  // Rather one row too many than an act that is hidden.
  return (!span.from || *at >= *span.from) && (!span.to || *at < *span.to);
}

}  // namespace

int AuditVerb(const Args& args) {
  Span span;
  if (!SpanOf(args, &span)) return kExitUsage;
  const std::optional<std::string> run = FindRunId(args, args.Get("--run"));
  if (!run) return kExitProblem;
  DaemonAnswer answer = Get(args, "/api/v1/audit",
                            {{"task", args.At(0)}, {"run", *run}, {"limit", args.Get("--limit", "1000")}});
  int code = kExitFine;
  if (!Good(args, answer, &code)) return code;
  Json kept = Json::MakeArray();
  std::vector<std::vector<std::string>> rows = {{"AT", "BY", "ACT", "TASK", "RUN", "REASON", "DETAIL"}};
  for (const Json& row : answer.body.Get("audit").AsArray()) {
    if (!Within(row, span)) continue;
    rows.push_back({row.Get("at").AsString(), row.Get("by").AsString(), row.Get("action").AsString(),
                    row.Get("task_id").AsString(), row.Get("run_id").AsString(), row.Get("reason").AsString(),
                    row.Get("detail").AsString()});
    kept.Add(row);
  }
  if (rows.size() == 1 && (SayIfUnknownTask(args, args.At(0)) || SayIfUnknownRun(args, *run)))
    return kExitProblem;
  if (args.json()) {
    Json body = Json::MakeObject().Set("audit", std::move(kept));
    if (answer.body.Get("more").AsBool()) body.Set("more", true);
    std::printf("%s\n", body.DumpPretty().c_str());
  } else {
    std::printf("%s", Table(rows).c_str());
    if (answer.body.Get("more").AsBool())
      Tell(args, "older acts were not looked at: --limit N (at most 1000), or a task or run");
  }
  return kExitFine;
}

}  // namespace duecourse
