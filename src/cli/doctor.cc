// duecourse doctor: what could be wrong, from the outside in: zone data, rules, the data folder, the daemon,
// its store.
#include <sys/stat.h>

#include <cstdio>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "web/daemon.h"

namespace duecourse {
namespace {

constexpr const char* kMost = "1000";  // what the daemon shows of one list

class Examination {
 public:
  explicit Examination(bool json) : json_(json) {}
  void Say(bool good, const std::string& what, const std::string& text) {
    all_good_ = all_good_ && good;
    list_.Add(Json::MakeObject().Set("check", what).Set("good", good).Set("text", text));
    if (!json_)
      std::printf("%-4s %-14s %s\n", good ? "ok" : "BAD", what.c_str(), ShowBytes(text, false).c_str());
  }
  // Told, and no reason to fail.
  void Warn(const std::string& what, const std::string& text) {
    list_.Add(Json::MakeObject().Set("check", what).Set("good", true).Set("warning", true).Set("text", text));
    if (!json_) std::printf("%-4s %-14s %s\n", "warn", what.c_str(), ShowBytes(text, false).c_str());
  }
  int End() {
    if (json_)
      std::printf(
          "%s\n",
          Json::MakeObject().Set("good", all_good_).Set("checks", std::move(list_)).DumpPretty().c_str());
    return all_good_ ? kExitFine : kExitProblem;
  }

 private:
  bool json_;
  bool all_good_ = true;
  Json list_ = Json::MakeArray();
};

// Whom P1 and P2 alerts reach: without a channel they are rows that nobody reads.
void Channels(const ServerConfig& config, Examination& exam) {
  for (AlertLevel level : {AlertLevel::kP1, AlertLevel::kP2}) {
    if (!ChannelsForAll(config, level).empty()) continue;
    exam.Warn("owners",
              StrCat("no owner has a channel for ", AlertLevelName(level),
                     ": alerts of that level reach nobody; name one under owners and channels in the "
                     "settings"));
  }
}

void Outside(const Args& args, Examination& exam) {
  Status zones = CheckZoneData();
  exam.Say(zones.ok(), "zone data", zones.ok() ? ZoneDataVersion() : zones.error().message());
  Places places = FindPlaces(args);
  Loaded loaded = LoadRules(places.load);
  std::vector<Finding> errors = CheckForServe(loaded, SystemClock().Wall());
  exam.Say(loaded.set != nullptr && errors.empty(), "rules",
           loaded.set != nullptr && errors.empty() ? StrCat(loaded.set->tasks.size(), " tasks")
                                                   : StrCat(errors.size(), " errors; see duecourse check"));
  if (loaded.set != nullptr) Channels(loaded.set->config, exam);
  struct stat info {};
  if (::stat(places.data.c_str(), &info) != 0) {
    exam.Say(false, "data folder",
             StrCat(places.data, ": ", ErrnoText(errno), "; it is made by serve --init"));
  } else {
    bool closed = (info.st_mode & 077) == 0;
    exam.Say(closed, "data folder",
             StrCat(places.data, closed ? "" : " can be read by others; chmod 700 it"));
  }
}

std::string StopText(const Json& health) {
  std::string runs;
  for (const Json& run : health.Get("waits_for").AsArray())
    runs += StrCat(runs.empty() ? "" : ", ", run.AsString());
  const std::string by = health.Get("stops_by").AsString();
  return StrCat("the daemon is stopping; ",
                runs.empty() ? "no attempt runs any more" : StrCat("it waits for the attempts of ", runs),
                by.empty() || runs.empty() ? "" : StrCat(", which are ended at ", by));
}

void Inside(const Args& args, Examination& exam) {
  DaemonAnswer health = Get(args, "/healthz");
  if (health.status == 0) {
    exam.Say(false, "daemon", health.message);
    return;
  }
  const std::string store = health.body.Get("store_problem").AsString();
  const bool steps = health.status == 200 || health.message == store;
  exam.Say(steps, "daemon", steps ? "it steps" : health.message);
  exam.Say(store.empty(), "store", store.empty() ? "it takes commits" : store);
  for (const Json& warning : health.body.Get("warnings").AsArray())
    exam.Say(false, "clock", warning.AsString());
  if (health.body.Get("draining").AsBool()) exam.Say(false, "stop", StopText(health.body));
  DaemonAnswer manual = Get(args, "/api/v1/runs", {{"state", "manual_required"}, {"limit", kMost}});
  size_t waiting = manual.body.Get("runs").AsArray().size();
  const char* beyond = manual.body.Get("more").AsBool() ? "more than " : "";
  exam.Say(waiting == 0, "manual queue",
           waiting == 0 ? "empty"
                        : StrCat(beyond, waiting, waiting == 1 ? " run waits" : " runs wait",
                                 " for a person; see duecourse manual list"));
  DaemonAnswer alerts = Get(args, "/api/v1/alerts", {{"limit", kMost}});
  size_t stuck = 0;
  std::string error;
  for (const Json& alert : alerts.body.Get("alerts").AsArray()) {
    if (alert.Get("state").AsString() != "pending" || alert.Get("tries").AsInteger() == 0) continue;
    ++stuck;
    error = alert.Get("error").AsString();
  }
  exam.Say(stuck == 0, "alerts",
           stuck == 0 ? StrCat("none waits for a channel",
                               alerts.body.Get("more").AsBool() ? StrCat(" among the newest ", kMost) : "")
                      : StrCat(stuck, stuck == 1 ? " alert" : " alerts", " that no channel takes: ", error));
}

// Every run of one key, with what started each attempt: "why did this happen twice?"
int Repeated(const Args& args) {
  std::string key = args.At(1);
  if (key.empty()) return UsageFault(args, "doctor repeated KEY");
  DaemonAnswer runs = Get(args, "/api/v1/runs", {{"key", key}});
  int code = kExitFine;
  if (!Good(args, runs, &code)) return code;
  if (runs.body.Get("runs").AsArray().empty())
    return Fail(args, kExitProblem, StrCat("no run has the key ", key));
  std::string id = runs.body.Get("runs").AsArray().front().Get("run_id").AsString();
  DaemonAnswer run = Get(args, StrCat("/api/v1/runs/", id));
  if (!Good(args, run, &code)) return code;
  if (args.json()) {
    std::printf("%s\n", run.body.DumpPretty().c_str());
    return kExitFine;
  }
  int successes = 0;
  std::vector<std::vector<std::string>> rows = {{"ATTEMPT", "STARTED", "TRIGGER", "OUTCOME", "SUMMARY"}};
  for (const Json& attempt : run.body.Get("attempt_list").AsArray()) {
    if (attempt.Get("outcome").AsString() == "success") ++successes;
    rows.push_back({std::to_string(attempt.Get("attempt").AsInteger()), attempt.Get("started_at").AsString(),
                    attempt.Get("trigger").AsString(), attempt.Get("outcome").AsString(),
                    ShowBytes(attempt.Get("summary").AsString(), false)});
  }
  std::printf("run %s, %s\n%s", id.c_str(), run.body.Get("state").AsString().c_str(), Table(rows).c_str());
  std::printf(
      "%d success%s recorded. An attempt whose outcome is lost or timed_out may have done its work: there "
      "the target must refuse\n"
      "a repeat by DUECOURSE_KEY, or an old one by DUECOURSE_FENCE.\n",
      successes, successes == 1 ? " is" : "es are");
  return kExitFine;
}

}  // namespace

int DoctorVerb(const Args& args) {
  std::string what = args.At(0);
  if (what == "repeated") return Repeated(args);
  if (what == "missed") {
    Args why = args;
    why.positional_.erase(why.positional_.begin());
    if (why.positional_.empty()) return UsageFault(args, "doctor missed TASK DATE");
    return WhyVerb(why);
  }
  if (what == "catchup") {
    if (args.At(2).empty()) return UsageFault(args, "doctor catchup TASK DATE");
    return DoctorCatchup(args, args.At(1), args.At(2));
  }
  if (!what.empty())
    return UsageFault(args,
                      "doctor, doctor repeated KEY, doctor missed TASK DATE or doctor catchup TASK DATE");
  Examination exam(args.json());
  Outside(args, exam);
  Inside(args, exam);
  return exam.End();
}

}  // namespace duecourse
