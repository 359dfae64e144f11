// duecourse alert: what was told, and whether it reaches somebody.
#include <cstdio>

#include "base/text.h"
#include "cli/client.h"
#include "cli/find.h"
#include "cli/report.h"
#include "cli/verbs.h"

namespace duecourse {

// Of one that no channel has taken yet: what the last try said, and when the next is.
static std::string StandOf(const Json& alert) {
  const std::string error = alert.Get("last_error").AsString();
  const int64_t tries = alert.Get("tries").AsInteger();
  return StrCat(tries == 0 ? "not tried yet" : StrCat(tries, tries == 1 ? " try" : " tries"),
                error.empty() ? "" : StrCat(", last: ", ShowBytes(error, false)), "; next try at ",
                alert.Get("next_try_at").AsString());
}

int AlertVerb(const Args& args) {
  if (args.At(0) == "test") {
    if (args.At(1).empty()) return UsageFault(args, "alert test OWNER [--level P1]");
    if (SayIfIdle(args, "alert test", {"--limit"})) return kExitUsage;
    std::string level = args.Get("--level", "P2");
    if (level != "P1" && level != "P2" && level != "P3") return UsageFault(args, "--level is P1, P2 or P3");
    return Finish(args, Post(args, "/api/v1/alerts/test",
                             WhoAndWhy(args).Set("owner", args.At(1)).Set("level", level)));
  }
  if (args.At(0) != "list") return UsageFault(args, "alert list [TASK] or alert test OWNER");
  if (SayIfIdle(args, "alert list", {"--level", "--by"})) return kExitUsage;
  DaemonAnswer answer = Get(args, "/api/v1/alerts", {{"task", args.At(1)}, {"limit", args.Get("--limit")}});
  int code = kExitFine;
  if (!Good(args, answer, &code)) return code;
  if (answer.body.Get("alerts").AsArray().empty() && SayIfUnknownTask(args, args.At(1))) return kExitProblem;
  if (args.json()) {
    std::printf("%s\n", answer.body.DumpPretty().c_str());
    return kExitFine;
  }
  std::vector<std::vector<std::string>> rows = {{"AT", "LEVEL", "STATE", "CHANNEL", "TITLE", "DETAIL"}};
  for (const Json& alert : answer.body.Get("alerts").AsArray()) {
    rows.push_back({alert.Get("at").AsString(), alert.Get("level").AsString(), alert.Get("state").AsString(),
                    alert.Get("channel").AsString(), ShowBytes(alert.Get("title").AsString(), false),
                    alert.Get("state").AsString() == "pending" ? StandOf(alert) : ""});
  }
  std::printf("%s", Table(rows).c_str());
  NoteMore(args, answer, rows.size() - 1);
  return kExitFine;
}

}  // namespace duecourse
