// duecourse doctor: what could be wrong, from the outside in: zone data, rules, the data folder, the daemon,
// its store.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/access.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "rule/place.h"
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
    if (!json_) Print(good ? "ok" : "BAD", what, text);
  }
  // Told, and no reason to fail.
  void Warn(const std::string& what, const std::string& text) {
    list_.Add(Json::MakeObject().Set("check", what).Set("good", true).Set("warning", true).Set("text", text));
    if (!json_) Print("warn", what, text);
  }
  int End() {
    if (json_)
      std::printf(
          "%s\n",
          Json::MakeObject().Set("good", all_good_).Set("checks", std::move(list_)).DumpPretty().c_str());
    return all_good_ ? kExitFine : kExitProblem;
  }

 private:
  // Further lines of a text stand under the first.
  static void Print(const char* mark, const std::string& what, const std::string& text) {
    std::string shown;
    for (const char c : ShowBytes(text, true)) {
      shown += c;
      if (c == '\n') shown.append(20, ' ');
    }
    std::printf("%-4s %-14s %s\n", mark, what.c_str(), shown.c_str());
  }

  bool json_;
  bool all_good_ = true;
  Json list_ = Json::MakeArray();
};

// Whom P1 and P2 alerts reach: without a channel they are rows that nobody reads.
void Channels(const ServerConfig& config, Examination& exam) {
  bool all = true;
  for (AlertLevel level : {AlertLevel::kP1, AlertLevel::kP2}) {
    if (!ChannelsForAll(config, level).empty()) continue;
    all = false;
    exam.Warn("owners",
              StrCat("no owner has a channel for ", AlertLevelName(level),
                     ": alerts of that level reach nobody; name one under owners and channels in the "
                     "settings"));
  }
  if (all)
    exam.Say(true, "owners", "P1 and P2 have channels; whether they take something: duecourse alert test");
}

void DataFolder(const std::string& path, Examination& exam) {
  struct stat info {};
  if (const std::string denied = WhyDenied(path, R_OK | W_OK | X_OK); !denied.empty()) {
    exam.Say(false, "data folder", StrCat(path, ": permission denied: ", denied, "; ask as that user"));
  } else if (::stat(path.c_str(), &info) != 0) {
    exam.Say(false, "data folder", StrCat(path, ": ", ErrnoText(errno), "; it is made by serve --init"));
  } else {
    const bool closed = (info.st_mode & 077) == 0;
    exam.Say(closed, "data folder", StrCat(path, closed ? "" : " can be read by others; chmod 700 it"));
  }
}

void Outside(const Args& args, Examination& exam) {
  Status zones = CheckZoneData();
  exam.Say(zones.ok(), "zone data", zones.ok() ? ZoneDataVersion() : zones.error().message());
  Places places = FindPlaces(args);
  Loaded loaded = LoadRules(places.load);
  std::vector<Finding> errors = CheckForServe(loaded, SystemClock().Wall());
  if (loaded.set != nullptr && errors.empty() && loaded.set->tasks.empty()) {
    exam.Warn("rules", StrCat("0 tasks in ", RulesPlace(places.load, loaded.set->config),
                              ": nothing would ever run; see duecourse check"));
  } else if (loaded.set != nullptr && errors.empty()) {
    const size_t tasks = loaded.set->tasks.size();
    exam.Say(true, "rules", StrCat(tasks, tasks == 1 ? " task" : " tasks"));
  } else {
    exam.Say(false, "rules",
             StrCat(errors.size(), errors.size() == 1 ? " error" : " errors", "; see duecourse check"));
  }
  if (loaded.set != nullptr) Channels(loaded.set->config, exam);
  DataFolder(places.data, exam);
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
  if (health.body.Get("warnings").AsArray().empty())
    exam.Say(true, "clock", "it stands at no earlier hour than a daemon was at work here");
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
    error = alert.Get("last_error").AsString();
  }
  exam.Say(stuck == 0, "alerts",
           stuck == 0 ? StrCat("none waits for a channel",
                               alerts.body.Get("more").AsBool() ? StrCat(" among the newest ", kMost) : "")
                      : StrCat(stuck, stuck == 1 ? " alert" : " alerts", " that no channel takes: ", error));
}

}  // namespace

int DoctorVerb(const Args& args) {
  std::string what = args.At(0);
  if (what == "repeated") {
    if (args.At(1).empty()) return UsageFault(args, "doctor repeated KEY");
    return DoctorRepeated(args, args.At(1));
  }
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
