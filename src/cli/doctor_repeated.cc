// duecourse doctor repeated KEY: why did this happen twice? Every run of the key, those beside it too (KEY#r2
// is a rerun, KEY#m1 one that a person added), every attempt with what started it, and who asked for what.
#include <cstdio>

#include "base/text.h"
#include "cli/client.h"
#include "cli/report.h"
#include "cli/verbs.h"

namespace duecourse {
namespace {

constexpr const char* kMost = "1000";  // what the daemon shows of one list

// The runs of the key and of those made from it, oldest first: bodies of /api/v1/runs/ID. False where the
// daemon does not answer; it is told, and `code` is how the verb ends.
bool RunsOf(const Args& args, const std::string& key, std::vector<Json>* out, int* code) {
  DaemonAnswer named = Get(args, "/api/v1/runs", {{"key", key}});
  if (!Good(args, named, code)) return false;
  if (named.body.Get("runs").AsArray().empty()) {
    *code = Fail(args, kExitProblem, StrCat("no run has the key ", key));
    return false;
  }
  const Json& first = named.body.Get("runs").AsArray().front();
  DaemonAnswer day = Get(args, "/api/v1/runs",
                         {{"task", first.Get("task_id").AsString()},
                          {"date", first.Get("business_date").AsString()},
                          {"limit", kMost}});
  if (!Good(args, day, code)) return false;
  std::vector<std::string> ids;
  const std::string beside = key + "#";
  for (const Json& run : day.body.Get("runs").AsArray()) {
    const std::string& other = run.Get("key").AsString();
    if (other != key && other.starts_with(beside)) ids.push_back(run.Get("run_id").AsString());
  }
  for (const Json& run : named.body.Get("runs").AsArray()) ids.push_back(run.Get("run_id").AsString());
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    DaemonAnswer run = Get(args, StrCat("/api/v1/runs/", *id));
    if (!Good(args, run, code)) return false;
    out->push_back(std::move(run.body));
  }
  return true;
}

// What people did to these runs, oldest first within each; empty where nobody did.
std::vector<Json> ActsOn(const Args& args, const std::vector<Json>& runs) {
  std::vector<Json> acts;
  for (const Json& run : runs) {
    const DaemonAnswer audit =
        Get(args, "/api/v1/audit", {{"run", run.Get("run_id").AsString()}, {"limit", kMost}});
    const Json::Array& rows = audit.body.Get("audit").AsArray();
    acts.insert(acts.end(), rows.rbegin(), rows.rend());
  }
  return acts;
}

void PrintRun(const Json& run, int* successes) {
  const std::string state = run.Get("state").AsString();
  std::printf("run %s, key %s, %s\n", run.Get("run_id").AsString().c_str(),
              ShowBytes(run.Get("key").AsString(), false).c_str(), state.c_str());
  std::vector<std::vector<std::string>> rows = {{"ATTEMPT", "STARTED", "TRIGGER", "OUTCOME", "SUMMARY"}};
  for (const Json& attempt : run.Get("attempt_list").AsArray()) {
    const std::string outcome = attempt.Get("outcome").AsString();
    if (outcome == "success") ++*successes;
    const std::string by = attempt.Get("by").AsString();
    rows.push_back({std::to_string(attempt.Get("attempt").AsInteger()),
                    attempt.Get("started_at_local").AsString(),
                    StrCat(attempt.Get("trigger").AsString(), by.empty() ? "" : StrCat(" by ", by)),
                    attempt.Has("ended_at") || outcome != "none" ? outcome : "running",
                    ShowBytes(attempt.Get("summary").AsString(), false)});
  }
  std::printf("%s", rows.size() > 1 ? Table(rows).c_str() : "no attempt\n");
}

void PrintActs(const std::vector<Json>& acts) {
  if (acts.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"BY HAND", "BY", "ACT", "RUN", "REASON", "DETAIL"}};
  for (const Json& act : acts) {
    rows.push_back({act.Get("at").AsString(), act.Get("by").AsString(), act.Get("action").AsString(),
                    act.Get("run_id").AsString(), act.Get("reason").AsString(),
                    act.Get("detail").AsString()});
  }
  std::printf("%s", Table(rows).c_str());
}

Json ListOf(const std::vector<Json>& items) {
  Json list = Json::MakeArray();
  for (const Json& item : items) list.Add(item);
  return list;
}

}  // namespace

int DoctorRepeated(const Args& args, const std::string& key) {
  std::vector<Json> runs;
  int code = kExitFine;
  if (!RunsOf(args, key, &runs, &code)) return code;
  const std::vector<Json> acts = ActsOn(args, runs);
  if (args.json()) {
    // The key's own run, and what was made from it.
    Json body = runs.front();
    body.Set("beside", ListOf({runs.begin() + 1, runs.end()})).Set("by_hand", ListOf(acts));
    std::printf("%s\n", body.DumpPretty().c_str());
    return kExitFine;
  }
  int successes = 0;
  for (const Json& run : runs) PrintRun(run, &successes);
  PrintActs(acts);
  std::printf(
      "%d success%s recorded%s. An attempt whose outcome is lost or timed_out may have done its work: there "
      "the target must refuse\n"
      "a repeat by DUECOURSE_KEY, or an old one by DUECOURSE_FENCE.\n",
      successes, successes == 1 ? " is" : "es are",
      runs.size() == 1 ? "" : StrCat(" in ", runs.size(), " runs").c_str());
  return kExitFine;
}

}  // namespace duecourse
