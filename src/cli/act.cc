// duecourse trigger, cancel, flag, pause, resume, manual, reload: what people ask of the daemon.
#include <cstdio>

#include "base/text.h"
#include "cli/client.h"
#include "cli/find.h"
#include "cli/report.h"
#include "cli/verbs.h"

namespace duecourse {
namespace {

void SetIf(const Args& args, const char* option, const char* name, Json& body) {
  if (args.Has(option)) body.Set(name, args.Get(option));
}

// What was done, where the daemon only says that it is done.
int FinishAs(const Args& args, DaemonAnswer answer, const std::string& done) {
  if (answer.status == 200 && answer.body.Get("done").AsBool()) answer.message = done;
  return Finish(args, answer);
}

int Paused(const Args& args, bool resume) {
  Json body = WhoAndWhy(args);
  int said = (args.At(0).empty() ? 0 : 1) + (args.Has("--label") ? 1 : 0) + (args.Has("--all") ? 1 : 0);
  if (said != 1) return UsageFault(args, "say one of: TASK, --label NAME=VALUE, --all");
  body.Set("scope", args.Has("--all")     ? "all"
                    : args.Has("--label") ? StrCat("label/", args.Get("--label"))
                                          : StrCat("task/", args.At(0)));
  if (resume) body.Set("catch_up", args.Has("--catch-up"));
  const std::string what = args.Has("--all")     ? "every task"
                           : args.Has("--label") ? StrCat("what has the label ", args.Get("--label"))
                                                 : args.At(0);
  DaemonAnswer answer = Post(args, resume ? "/api/v1/resume" : "/api/v1/pause", body);
  if (resume && answer.status == 200 && !args.At(0).empty()) {
    if (const std::string held = HeldBy(args, args.At(0)); !held.empty()) {
      answer.body.Set("still_held_by", StrCat("the pause of ", held));
      return FinishAs(args, std::move(answer),
                      StrCat("the pause of ", what, " alone is over, but it is still held by the pause of ",
                             held, "; resume that"));
    }
  }
  return FinishAs(args, std::move(answer),
                  StrCat(what, resume ? " is resumed" : " is paused: nothing of it starts by itself"));
}

int ListFlags(const Args& args) {
  DaemonAnswer answer = Get(args, "/api/v1/flags");
  int code = kExitFine;
  if (args.json() || !Good(args, answer, &code)) return code != kExitFine ? code : Finish(args, answer);
  std::vector<std::vector<std::string>> rows = {{"FLAG", "DATE", "VALUE", "BY", "AT", "EXPIRES"}};
  for (const Json& flag : answer.body.Get("flags").AsArray()) {
    rows.push_back({flag.Get("name").AsString(), flag.Get("date").AsString(), flag.Get("value").AsString(),
                    flag.Get("by").AsString(), flag.Get("at").AsString(), flag.Get("expires").AsString()});
  }
  std::printf("%s", Table(rows).c_str());
  return kExitFine;
}

// A name that spells a date (daily_etl.finished_2025-05-31, …_20250531) is undated.
bool NamesADate(const std::string& name) {
  for (size_t i = 0; i + 8 <= name.size(); ++i) {
    if (i + 10 <= name.size() && ParseDay(std::string_view(name).substr(i, 10)).ok()) return true;
    std::string digits = name.substr(i, 8);
    if (ParseDay(StrCat(digits.substr(0, 4), "-", digits.substr(4, 2), "-", digits.substr(6, 2))).ok())
      return true;
  }
  return false;
}

// A rule writes flag names with {date} in them; a flag has the name that comes of it.
std::string BracesFault(const Args& args, const std::string& name) {
  if (name.find_first_of("{}") == std::string::npos) return "";
  std::string rendered = name;
  for (const std::string variable : {"{date}", "{business_date}", "{target_date}"}) {
    for (size_t at = rendered.find(variable); at != std::string::npos; at = rendered.find(variable))
      rendered.replace(at, variable.size(), args.Get("--date", "YYYY-MM-DD"));
  }
  return StrCat("the name of a flag has no braces: ", name,
                " is what a rule writes. Write the name as it is for ", "its day, ",
                rendered.find_first_of("{}") == std::string::npos
                    ? StrCat("without --date: duecourse flag set ", rendered)
                    : std::string("as duecourse why TASK shows it"));
}

int ManualList(const Args& args) {
  DaemonAnswer answer =
      Get(args, "/api/v1/runs", {{"state", "manual_required"}, {"limit", args.Get("--limit")}});
  int code = kExitFine;
  if (args.json() || !Good(args, answer, &code)) return code != kExitFine ? code : Finish(args, answer);
  std::vector<std::vector<std::string>> rows = {
      {"RUN", "TASK", "DUE", "KEY", "SINCE", "REASON", "ATTEMPTS", "DETAIL"}};
  for (const Json& run : answer.body.Get("runs").AsArray()) {
    rows.push_back({run.Get("run_id").AsString(), TaskAndValue(run), run.Get("due_local").AsString(),
                    run.Get("key").AsString(), run.Get("state_since").AsString(),
                    run.Get("reason").AsString(), std::to_string(run.Get("attempts").AsInteger()),
                    ShowBytes(run.Get("detail").AsString(), false)});
  }
  std::printf("%s", Table(rows).c_str());
  NoteMore(args, answer, rows.size() - 1);
  return kExitFine;
}

}  // namespace

int TriggerVerb(const Args& args) {
  if (args.Has("--at") && args.Has("--date"))
    return UsageFault(args,
                      "--date and --at each choose the occurrence: give one of them, --at where a date "
                      "has several");
  if (args.Has("--at") && args.Has("--extra"))
    return UsageFault(args,
                      "--extra starts a run beside the schedule now, --at chooses an occurrence of the "
                      "schedule: leave one of them out");
  Json body = WhoAndWhy(args);
  body.Set("task", args.At(0)).Set("extra", args.Has("--extra")).Set("force", args.Has("--force"));
  SetIf(args, "--value", "value", body);
  SetIf(args, "--date", "date", body);
  SetIf(args, "--at", "at", body);
  return FinishAs(args, Post(args, "/api/v1/trigger", body), StrCat(args.At(0), " is started"));
}

int CancelVerb(const Args& args) {
  const std::optional<std::string> id = FindRunId(args, args.At(0));
  if (!id) return kExitProblem;
  return FinishAs(args, Post(args, "/api/v1/cancel", WhoAndWhy(args).Set("run_id", *id)),
                  StrCat("run ", *id, " is cancelled"));
}

int FlagVerb(const Args& args) {
  std::string what = args.At(0);
  if (what == "list") {
    if (!args.At(1).empty()) return UsageFault(args, "flag list shows all flags: it takes no name");
    const bool idle =
        SayIfIdle(args, "flag list", {"--date", "--undated", "--value", "--ttl", "--by", "--reason"});
    return idle ? kExitUsage : ListFlags(args);
  }
  if (what != "set" && what != "unset")
    return UsageFault(args, "flag set NAME, flag unset NAME or flag list");
  if (what == "unset" && SayIfIdle(args, "flag unset", {"--value", "--ttl"})) return kExitUsage;
  std::string name = args.At(1);
  if (name.empty()) return UsageFault(args, "say which flag");
  if (const std::string fault = what == "set" ? BracesFault(args, name) : ""; !fault.empty())
    return UsageFault(args, fault);
  bool undated = args.Has("--undated") || NamesADate(name);
  if (!undated && !args.Has("--date"))
    return UsageFault(args, StrCat("flag ", what, " ", name,
                                   " needs --date YYYY-MM-DD, or --undated for a flag without a date"));
  if (args.Has("--undated") && args.Has("--date")) return UsageFault(args, "--date or --undated, not both");
  Json body = WhoAndWhy(args).Set("name", name).Set("remove", what == "unset");
  SetIf(args, "--value", "value", body);
  SetIf(args, "--date", "date", body);
  SetIf(args, "--ttl", "ttl", body);
  DaemonAnswer answer = Post(args, "/api/v1/flags", body);
  // Told, and done all the same: a rule that asks for it may come later.
  if (const std::string note = answer.body.Get("note").AsString(); answer.status == 200 && !note.empty())
    Tell(args, note);
  return FinishAs(args, std::move(answer),
                  StrCat("flag ", name, args.Has("--date") ? StrCat(" for ", args.Get("--date")) : "",
                         what == "unset" ? " is not set any more" : " is set"));
}

int PauseVerb(const Args& args) { return Paused(args, false); }
int ResumeVerb(const Args& args) { return Paused(args, true); }

int ManualVerb(const Args& args) {
  std::string what = args.At(0);
  if (what == "list") {
    if (!args.At(1).empty()) return UsageFault(args, "manual list shows all that wait: it takes no run");
    const bool idle = SayIfIdle(args, "manual list", {"--supersede", "--force", "--by", "--reason"});
    return idle ? kExitUsage : ManualList(args);
  }
  if (args.Has("--limit")) return UsageFault(args, "--limit is of manual list only");
  if (what != "claim" && what != "resolve" && what != "rerun" && what != "skip")
    return UsageFault(args, "manual list, claim, resolve, rerun or skip");
  if (args.At(1).empty()) return UsageFault(args, "say which run");
  if (!args.Has("--reason")) return UsageFault(args, "say why: --reason \"…\"");
  if (what != "rerun" && (args.Has("--supersede") || args.Has("--force")))
    return UsageFault(args, "--supersede and --force are of manual rerun only");
  const std::optional<std::string> id = FindRunId(args, args.At(1));
  if (!id) return kExitProblem;
  Json body = WhoAndWhy(args).Set("run_id", *id).Set("supersede", args.Has("--supersede"));
  if (args.Has("--force")) body.Set("force", true);
  const std::string done = what == "claim"     ? StrCat(" is claimed by ", body.Get("by").AsString())
                           : what == "resolve" ? " is resolved: it counts as success"
                           : what == "skip"    ? " is skipped: it is over without a result"
                                               : " is started again";
  return FinishAs(args, Post(args, StrCat("/api/v1/manual/", what), body), StrCat("run ", *id, done));
}

int ReloadVerb(const Args& args) {
  Json body = WhoAndWhy(args).Set("dry_run", args.Has("--dry-run")).Set("confirm", args.Has("--confirm"));
  DaemonAnswer answer = Post(args, "/api/v1/reload", body);
  int code = Finish(args, answer);
  if (args.json() || code == kExitProblem) return code;
  for (const Json& change : answer.body.Get("changes").AsArray()) {
    std::printf(
        "  %s %s %s%s\n", change.Get("kind").AsString().c_str(), change.Get("task_id").AsString().c_str(),
        change.Get("field").AsString().c_str(),
        change.Has("field")
            ? StrCat(": ", change.Get("before").AsString(), " -> ", change.Get("after").AsString()).c_str()
            : "");
  }
  return code;
}

}  // namespace duecourse
