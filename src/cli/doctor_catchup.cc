// duecourse doctor catchup TASK DATE: what catch-up did for that day. The walk is: is it switched on, was
// there a run, did its ladder end, what did each look say, what was executed, and when is the next.
#include <cstdio>

#include "base/clock.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/find.h"
#include "cli/verbs.h"

namespace duecourse {
namespace {

void Line(const char* name, const std::string& text) { std::printf("  %-9s %s\n", name, text.c_str()); }

// What the rule file says now; a run is judged by the rules that the daemon has, which `reload` brings.
std::string RuleText(const RetryRule& retry) {
  if (!retry.catchup)
    return "catch-up is off: write retry.catchup: {enabled: true}; it starts only after a failure";
  std::string out = StrCat("executes every ", FormatMillis(retry.catchup_interval), ", ",
                           retry.catchup_max_times ? StrCat("at most ", *retry.catchup_max_times, " times")
                                                   : std::string("as often as fits"),
                           ", until ",
                           retry.max_delay ? StrCat(FormatMillis(*retry.max_delay), " after the due instant")
                                           : std::string("the window ends"),
                           "; at most ", retry.max_total_attempts, " attempts of all kinds");
  for (const AvoidHours& hours : retry.avoid)
    out += StrCat("; not from ", FormatTimeOfDay(hours.start), " to ", FormatTimeOfDay(hours.end));
  if (retry.only_if_data_ready) out += "; the data is looked at again each time";
  return out;
}

// The decisions from the moment at which the ladder was used up.
struct Looks {
  std::string began;  // empty: catch-up never began
  std::vector<Json> rows;
};
Looks LooksOf(const Json& decisions) {
  Looks looks;
  for (const Json& row : decisions.Get("decisions").AsArray()) {
    bool begins = row.Get("to").AsString() == "catchup_waiting";
    if (begins && looks.began.empty()) looks.began = row.Get("time").AsString();
    if (!looks.began.empty() && row.Get("decision").AsString() != "state") looks.rows.push_back(row);
  }
  return looks;
}

// What else than the run's own row says what comes next: whether the rule catches up at all, and the pause
// that holds the task ("task/daily, by ann: repairs"), if one does.
struct Surroundings {
  bool catchup = true;
  std::string held_by;
};

std::string NextOf(const Json& run, const Surroundings& around) {
  const std::string state = run.Get("state").AsString();
  const std::string until = StrCat(" (the window ends ", run.Get("window_ends_local").AsString(), ")");
  if (!around.held_by.empty() && (state == "catchup_waiting" || state == "retrying" || state == "scheduled"))
    return StrCat("nothing while the pause of ", around.held_by, " holds it",
                  run.Has("next_at_local")
                      ? StrCat("; once resumed again at ", run.Get("next_at_local").AsString(),
                               ", or at once where that is past")
                      : "",
                  until);
  if (state == "catchup_waiting")
    return StrCat("looks again at ", run.Get("next_at_local").AsString(), until);
  if (state == "retrying")
    return StrCat("the ladder goes on at ", run.Get("next_at_local").AsString(),
                  around.catchup ? "; catch-up begins after it" : "; no catch-up comes after it: it is off",
                  until);
  if (state == "scheduled") return StrCat("it has not been started, so there is nothing to catch up", until);
  if (state == "running")
    return StrCat("an attempt runs", around.catchup ? "; if it fails, catch-up may go on" : "", until);
  if (state == "manual_required") return "none: a person has it; see duecourse manual list";
  return StrCat("none: it is ", state);
}

void Tell(const Json& run, const Looks& looks, const std::string& next) {
  std::printf("run %s, due %s, %s (%s)%s%s\n", run.Get("run_id").AsString().c_str(),
              run.Get("due_local").AsString().c_str(), run.Get("state").AsString().c_str(),
              run.Get("reason").AsString().c_str(), run.Get("detail").AsString().empty() ? "" : ": ",
              ShowBytes(run.Get("detail").AsString(), false).c_str());
  int64_t executed = 0;
  for (const Json& attempt : run.Get("attempt_list").AsArray())
    executed += attempt.Get("trigger").AsString() == "catchup" ? 1 : 0;
  Line("attempts", StrCat(run.Get("attempts").AsInteger(), " in all, ", run.Get("counted").AsInteger(),
                          " counted, ", executed, " by catch-up"));
  Line("began", looks.began.empty() ? "never: the run never waited for catch-up" : looks.began);
  Line("next", next);
  if (looks.rows.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"LOOKED", "ANSWER", "REASON", "TIMES", "DETAIL"}};
  for (const Json& row : looks.rows) {
    rows.push_back({row.Get("time").AsString(), row.Get("decision").AsString(), row.Get("reason").AsString(),
                    std::to_string(row.Get("count").AsInteger()),
                    ShowBytes(row.Get("detail").Get("text").AsString(), false)});
  }
  std::printf("%s", Table(rows).c_str());
}

}  // namespace

int DoctorCatchup(const Args& args, const std::string& task, const std::string& date) {
  DaemonAnswer runs = Get(args, "/api/v1/runs", {{"task", task}, {"date", date}});
  int code = kExitFine;
  if (!Good(args, runs, &code)) return code;
  Loaded loaded = LoadRules(FindPlaces(args).load);
  const Task* known = loaded.readable == nullptr ? nullptr : loaded.readable->Find(task);
  const std::string rule =
      known == nullptr ? StrCat("no rule ", task, " in the files") : RuleText(known->rule().retry);
  const Surroundings around{known == nullptr || known->rule().retry.catchup, HeldBy(args, task)};
  Json list = Json::MakeArray();
  if (!args.json()) Line("rule", rule);
  for (const Json& row : runs.body.Get("runs").AsArray()) {
    const std::string id = row.Get("run_id").AsString();
    DaemonAnswer run = Get(args, StrCat("/api/v1/runs/", id));
    if (!Good(args, run, &code)) return code;
    DaemonAnswer decisions = Get(args, "/api/v1/decisions", {{"run", id}, {"limit", "1000"}});
    if (!Good(args, decisions, &code)) return code;
    Looks looks = LooksOf(decisions.body);
    const std::string next = NextOf(run.body, around);
    if (!args.json()) Tell(run.body, looks, next);
    Json told = Json::MakeArray();
    for (const Json& look : looks.rows) told.Add(look);
    list.Add(Json::MakeObject()
                 .Set("run", run.body)
                 .Set("began", looks.began.empty() ? Json() : Json(looks.began))
                 .Set("next", next)
                 .Set("looks", std::move(told)));
  }
  if (args.json()) {
    std::printf("%s\n",
                Json::MakeObject().Set("rule", rule).Set("runs", std::move(list)).DumpPretty().c_str());
  } else if (list.AsArray().empty()) {
    std::printf("  no run of %s is for %s, so there was nothing to catch up: duecourse doctor missed %s %s\n",
                task.c_str(), date.c_str(), task.c_str(), date.c_str());
  }
  return kExitFine;
}

}  // namespace duecourse
