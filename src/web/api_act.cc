// What people ask for over HTTP, as requests for the engine.
#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "web/api.h"

namespace duecourse {
namespace {

Result<std::optional<CivilDay>> DayOf(const Json& body, const char* name) {
  if (!body.Has(name)) return std::optional<CivilDay>();
  Result<CivilDay> day = ParseDay(body.Get(name).AsString());
  if (!day.ok()) return day.error();
  return std::optional<CivilDay>(*day);
}

Result<Request> Trigger(const Json& body, Request request) {
  TriggerRequest trigger;
  trigger.task = body.Get("task").AsString();
  trigger.value = body.Get("value").AsString();
  if (trigger.task.empty()) return Error("say which task");
  Result<std::optional<CivilDay>> date = DayOf(body, "date");
  if (!date.ok()) return date.error();
  trigger.date = *date;
  if (body.Has("at")) {
    Result<Instant> at = ParseUtc(body.Get("at").AsString());
    if (!at.ok()) return at.error();
    trigger.at = *at;
  }
  trigger.extra = body.Get("extra").AsBool();
  if (trigger.at && trigger.date)
    return Error("\"date\" and \"at\" each choose the occurrence: give one of them");
  if (trigger.at && trigger.extra)
    return Error(
        "\"extra\" starts a run beside the schedule now, \"at\" chooses an occurrence of the "
        "schedule: leave one of them out");
  trigger.force = body.Get("force").AsBool();
  request.body = trigger;
  return request;
}

Result<Request> FlagAct(const Json& body, Request request) {
  FlagRequest flag;
  flag.name = body.Get("name").AsString();
  if (flag.name.empty() || flag.name.size() > 256) return Error("a flag's name has 1 to 256 bytes");
  if (ShowBytes(flag.name, false) != flag.name) return Error("a flag's name may not hold control characters");
  if (!body.Get("remove").AsBool() && flag.name.find_first_of("{}") != std::string::npos)
    return Error("a flag's name has no braces: write it as it is for its day, such as etl.done_2026-06-01");
  Result<std::optional<CivilDay>> date = DayOf(body, "date");
  if (!date.ok()) return date.error();
  flag.date = *date;
  flag.value = body.Has("value") ? body.Get("value").AsString() : "true";
  flag.remove = body.Get("remove").AsBool();
  for (const char* name : {"value", "ttl"}) {
    if (flag.remove && body.Has(name))
      return Error(StrCat("\"", name, "\" means nothing with \"remove\": leave it out"));
  }
  if (body.Has("ttl")) {
    Result<Millis> ttl = ParseMillis(body.Get("ttl").AsString());
    if (!ttl.ok()) return ttl.error();
    flag.ttl = *ttl;
  }
  request.body = flag;
  return request;
}

Result<Request> PauseAct(const Json& body, bool resume, Request request) {
  PauseRequest pause;
  pause.scope = body.Get("scope").AsString();
  pause.resume = resume;
  pause.catch_up = body.Get("catch_up").AsBool();
  bool known = pause.scope == "all" || pause.scope.starts_with("task/") || pause.scope.starts_with("label/");
  if (!known) return Error("scope is task/ID, label/NAME=VALUE or all");
  request.body = pause;
  return request;
}

}  // namespace

bool IsActPath(const std::string& path) {
  constexpr const char* kPaths[] = {"/api/v1/trigger",        "/api/v1/flags",        "/api/v1/pause",
                                    "/api/v1/resume",         "/api/v1/cancel",       "/api/v1/manual/claim",
                                    "/api/v1/manual/resolve", "/api/v1/manual/rerun", "/api/v1/manual/skip"};
  return std::find(std::begin(kPaths), std::end(kPaths), path) != std::end(kPaths);
}

Result<ApiAct> ActOf(const ApiQuery& query) {
  const Json& body = query.body;
  ApiAct act;
  act.request.by = body.Get("by").AsString();
  act.request.reason = body.Get("reason").AsString();
  if (act.request.by.empty()) return Error("say who asks: \"by\"");
  Result<Request> request = Error(StrCat("no such path: ", query.path));
  std::string run_id = body.Get("run_id").AsString();
  if (query.path == "/api/v1/trigger") {
    request = Trigger(body, act.request);
  } else if (query.path == "/api/v1/flags") {
    request = FlagAct(body, act.request);
  } else if (query.path == "/api/v1/pause" || query.path == "/api/v1/resume") {
    request = PauseAct(body, query.path == "/api/v1/resume", act.request);
  } else if (query.path == "/api/v1/cancel") {
    if (run_id.empty()) return Error("say which run: \"run_id\"");
    act.request.body = CancelRequest{run_id};
    act.about_run = run_id;
    return act;
  } else if (query.path.starts_with("/api/v1/manual/")) {
    static const std::pair<const char*, ManualRequest::Verb> kVerbs[] = {
        {"claim", ManualRequest::Verb::kClaim},
        {"resolve", ManualRequest::Verb::kResolve},
        {"rerun", ManualRequest::Verb::kRerun},
        {"skip", ManualRequest::Verb::kSkip}};
    if (run_id.empty()) return Error("say which run: \"run_id\"");
    for (const auto& [name, verb] : kVerbs) {
      if (query.path != StrCat("/api/v1/manual/", name)) continue;
      ManualRequest manual{verb, run_id, body.Get("supersede").AsBool(), std::nullopt,
                           body.Get("force").AsBool()};
      if (verb != ManualRequest::Verb::kRerun && (manual.supersede || manual.force))
        return Error("supersede and force are of rerun only");
      act.about_run = run_id;
      act.request.body = manual;
      return act;
    }
  }
  if (!request.ok()) return request.error();
  act.request = std::move(request).value();
  return act;
}

std::optional<Request> ActOnRun(const ApiQuery& query, StoreReader* reader, HttpResponse* refusal) {
  Result<ApiAct> act = ActOf(query);
  if (!act.ok()) {
    *refusal = Problem(400, act.error().message());
    return std::nullopt;
  }
  auto* manual = std::get_if<ManualRequest>(&act->request.body);
  RunFilter filter;
  filter.run_id = act->about_run;
  filter.limit = 1;
  Result<std::vector<Run>> runs = Error("the store does not answer");
  if (reader != nullptr) runs = reader->Runs(filter);
  if (!runs.ok()) {
    if (manual == nullptr || !manual->supersede) return std::move(act->request);
    *refusal = Problem(503, runs.error().message());
    return std::nullopt;
  }
  if (runs->empty()) {
    *refusal = Problem(404, StrCat("there is no run ", act->about_run));
    return std::nullopt;
  }
  if (manual != nullptr) {
    manual->stored = runs->front();
  } else {
    std::get<CancelRequest>(act->request.body).stored = runs->front();
  }
  return std::move(act->request);
}

}  // namespace duecourse
