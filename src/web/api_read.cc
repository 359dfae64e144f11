// GET paths: rows of the store, and what the engine holds. On worker threads.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "exec/exec.h"
#include "web/api.h"
#include "web/version.h"

namespace duecourse {
namespace {

constexpr int kPageMax = 1'000;

// One request's parameters as values; the first that cannot be read is the answer.
class Params {
 public:
  explicit Params(const ApiQuery& query) : query_(query) {}

  std::string Text(const char* name) { return query_.Get(name); }
  std::optional<CivilDay> Day(const char* name) {
    std::string text = query_.Get(name);
    if (text.empty()) return std::nullopt;
    Result<CivilDay> day = ParseDay(text);
    if (day.ok()) return *day;
    Fail(StrCat(name, ": ", day.error().message()));
    return std::nullopt;
  }
  // An instant, or a day: its first instant in UTC.
  Instant Time(const char* name, Instant fallback) {
    std::string text = query_.Get(name);
    if (text.empty()) return fallback;
    Result<CivilDay> day = ParseDay(text);
    if (day.ok()) return Zone::Utc().Lookup({*day, 0}).first;
    Result<Instant> instant = ParseUtc(text);
    if (instant.ok()) return *instant;
    Fail(StrCat(name, ": ", instant.error().message()));
    return fallback;
  }
  int Limit(int fallback) {
    std::string text = query_.Get("limit");
    if (text.empty()) return fallback;
    std::optional<int64_t> number = ParseInteger(text);
    if (number && *number >= 1 && *number <= kPageMax) return static_cast<int>(*number);
    Fail(StrCat("limit must be a number from 1 to ", kPageMax));
    return fallback;
  }
  int64_t Number(const char* name, int64_t fallback) {
    std::string text = query_.Get(name);
    if (text.empty()) return fallback;
    std::optional<int64_t> number = ParseInteger(text);
    if (number && *number >= 0) return *number;
    Fail(StrCat(name, " must be a number"));
    return fallback;
  }
  void Fail(const std::string& text) {
    if (error_.empty()) error_ = text;
  }
  const std::string& error() const { return error_; }

 private:
  const ApiQuery& query_;
  std::string error_;
};

// With `limit` the rows were asked for with one more than that: whether there are more is told.
template <typename T, typename F>
HttpResponse ListOf(const char* name, const Result<std::vector<T>>& rows, F to_json, int limit = INT32_MAX) {
  if (!rows.ok()) return Problem(503, rows.error().message());
  const size_t shown = std::min(rows->size(), static_cast<size_t>(limit));
  Json list = Json::MakeArray();
  for (size_t i = 0; i < shown; ++i) list.Add(to_json((*rows)[i]));
  Json body = Json::MakeObject().Set(name, std::move(list));
  if (shown < rows->size()) body.Set("more", true);
  return JsonResponse(200, body);
}

HttpResponse Runs(Params& params, Backend& backend, StoreReader& reader) {
  RunFilter filter;
  filter.task = params.Text("task");
  filter.key = params.Text("key");
  filter.business_date = params.Day("date");
  filter.from = params.Time("from", kLongAgo);
  filter.until = params.Time("to", kNever);
  const int limit = params.Limit(100);
  filter.limit = limit + 1;
  std::string state = params.Text("state");
  if (!state.empty()) {
    std::optional<RunState> known = RunStateFromName(state);
    if (!known) {
      std::vector<std::string> names;
      for (int i = 0; i < kRunStateCount; ++i) names.emplace_back(RunStateName(static_cast<RunState>(i)));
      return Problem(400, StrCat("there is no state ", state, "; there are ", Join(names, ", ")));
    }
    filter.states.push_back(*known);
  }
  if (!params.error().empty()) return Problem(400, params.error());
  std::shared_ptr<const RuleSet> rules = backend.rules();
  return ListOf(
      "runs", reader.Runs(filter), [&](const Run& run) { return RunToJson(run, *rules); }, limit);
}

HttpResponse OneRun(const std::string& id, Backend& backend, StoreReader& reader) {
  RunFilter filter;
  filter.run_id = id;
  filter.limit = 1;
  Result<std::vector<Run>> runs = reader.Runs(filter);
  if (!runs.ok()) return Problem(503, runs.error().message());
  if (runs->empty()) return Problem(404, StrCat("there is no run ", id));
  Result<std::vector<Attempt>> attempts = reader.Attempts(id);
  if (!attempts.ok()) return Problem(503, attempts.error().message());
  const std::shared_ptr<const RuleSet> rules = backend.rules();
  Json body = RunToJson(runs->front(), *rules);
  Json list = Json::MakeArray();
  for (const Attempt& attempt : *attempts) {
    Json item = AttemptToJson(attempt, runs->front(), *rules);
    const std::string slot = backend.WaitsFor(RefOf(attempt));
    if (!slot.empty()) item.Set("waits_for", slot);
    list.Add(std::move(item));
  }
  body.Set("attempt_list", std::move(list));
  return JsonResponse(200, body);
}

// Output bytes as text that is safe to show; `raw=out` or `raw=err` gives the bytes themselves.
HttpResponse Output(const std::string& id, Params& params, Backend& backend, StoreReader& reader) {
  Result<std::vector<Attempt>> attempts = reader.Attempts(id);
  if (!attempts.ok()) return Problem(503, attempts.error().message());
  if (attempts->empty()) return Problem(404, StrCat("run ", id, " has no attempt, or there is no such run"));
  const int64_t asked = params.Number("attempt", attempts->back().number);
  if (!params.error().empty()) return Problem(400, params.error());
  const bool known = std::any_of(attempts->begin(), attempts->end(),
                                 [asked](const Attempt& attempt) { return attempt.number == asked; });
  if (!known) {
    return Problem(404, StrCat("run ", id, " has no attempt ", asked, "; it has ", attempts->size(),
                               ", the last is ", attempts->back().number));
  }
  const int number = static_cast<int>(asked);
  Result<CapturedOutput> output = ReadOutput(backend.data_folder(), id, number);
  if (!output.ok()) return Problem(404, output.error().message());
  std::string raw = params.Text("raw");
  if (!raw.empty() && raw != "out" && raw != "err") return Problem(400, "raw is out or err");
  if (!raw.empty()) {
    HttpResponse response;
    response.content_type = "application/octet-stream";
    response.body = raw == "err" ? output->err : output->out;
    return response;
  }
  auto stream = [](const std::string& bytes, int64_t written, int64_t dropped, const std::string& hash) {
    return Json::MakeObject()
        .Set("text", ShowBytes(bytes, true))
        .Set("bytes", written)
        .Set("dropped", dropped)
        .Set("sha256", hash);
  };
  Json body = Json::MakeObject();
  body.Set("run_id", id).Set("attempt", number).Set("kept", output->stored);
  for (const Attempt& attempt : *attempts) {
    if (attempt.number != number) continue;
    Result<Json> detail = Json::Parse(attempt.detail);
    const std::string slot = backend.WaitsFor(RefOf(attempt));
    const bool open = !attempt.ended_at && attempt.outcome == Outcome::kNone;
    body.Set("running", open && slot.empty());
    body.Set("started", slot.empty() && !NeverStarted(attempt));
    if (!slot.empty()) body.Set("waits_for", slot);
    body.Set("closed_after_exit", detail.ok() && detail->Get("closed_after_exit").AsBool());
    if (detail.ok() && detail->Has("notes")) body.Set("notes", detail->Get("notes"));
  }
  body.Set("stdout", stream(output->out, output->out_bytes, output->out_dropped, output->out_sha256));
  body.Set("stderr", stream(output->err, output->err_bytes, output->err_dropped, output->err_sha256));
  return JsonResponse(200, body);
}

HttpResponse Decisions(Params& params, Backend& backend, StoreReader& reader) {
  Request flush;
  flush.body = FlushRequest{};
  AskAndWait(backend,
             flush);  // counts held in memory; an engine that does not answer is no reason to show nothing
  DecisionFilter filter;
  filter.task = params.Text("task");
  filter.run_id = params.Text("run");
  filter.from = params.Time("from", kLongAgo);
  filter.until = params.Time("to", kNever);
  filter.after_id = params.Number("after", 0);
  const int limit = params.Limit(500);
  filter.limit = limit + 1;
  if (!params.error().empty()) return Problem(400, params.error());
  std::shared_ptr<const RuleSet> rules = backend.rules();
  return ListOf(
      "decisions", reader.Decisions(filter),
      [&](const DecisionRow& row) { return DecisionToJson(row, *rules); }, limit);
}

// The business date of a range's last occurrence.
std::string DayOf(const Note& note, const Task* task, const ServerConfig& config) {
  for (size_t value = 0; task != nullptr && value < ValueCount(task->rule()); ++value) {
    if (ValueId(task->rule(), value) == note.value)
      return FormatDay(OccurrenceAt(*task, value, note.last_due, config).business_date);
  }
  return FormatUtc(note.last_due);
}

// An entry whose next occurrence may be begun already: the newest result is of that instant or a later one.
void PassBegun(const Task& task, Instant newest, Json& entry, StoreReader& reader) {
  const Result<Instant> next = ParseUtc(entry.Get("next_due").AsString());
  if (!next.ok() || newest < *next) return;
  Instant first = kNever;
  for (size_t v = 0; v < ValueCount(task.rule()); ++v) {
    const std::optional<Instant> due = NextDue(task.rule(), v, *next - Millis{1});
    if (due) first = std::min(first, NextToCome(task, v, *due, reader));
  }
  const Zone& zone = ScheduleOf(task.rule(), 0).zone;
  entry.Set("next_due", first < kNever ? Json(FormatUtc(first)) : Json());
  entry.Set("next_due_local", first < kNever ? Json(FormatLocal(first, zone)) : Json());
}

// One line a task: last result (a missed range counts), what is open, next due.
HttpResponse Tasks(Backend& backend, StoreReader& reader) {
  Request request;
  request.body = TasksRequest{};
  Answer answer = AskAndWait(backend, request);
  if (answer.kind != Answer::Kind::kFine) return OfAnswer(answer);
  std::vector<std::string> names;
  for (const Json& task : answer.body.Get("tasks").AsArray()) names.push_back(task.Get("task_id").AsString());
  Result<std::vector<Run>> last = reader.LastResults(names);
  if (!last.ok()) return Problem(503, last.error().message());
  std::map<std::string, const Run*> results;
  for (const Run& run : *last) results[run.task] = &run;
  std::shared_ptr<const RuleSet> rules = backend.rules();
  Json list = Json::MakeArray();
  for (Json task : answer.body.Get("tasks").AsArray()) {
    std::string id = task.Get("task_id").AsString();
    auto run = results.find(id);
    Instant newest = kLongAgo;
    if (run != results.end()) {
      newest = run->second->due;
      task.Set("last_result", RunStateName(run->second->state)).Set("last_reason", ShownReason(*run->second));
      task.Set("last_date", FormatDay(run->second->business_date)).Set("last_run", run->second->id);
      if (const Task* known = rules->Find(id)) PassBegun(*known, newest, task, reader);
    }
    Result<std::vector<Note>> notes = reader.Notes(id, newest, kNever, 20);
    if (!notes.ok()) return Problem(503, notes.error().message());
    for (const Note& note : *notes) {
      if (note.last_due <= newest || note.reason == Reason::kAlreadyDone) continue;
      newest = note.last_due;
      task.Set("last_result", RunStateName(note.state)).Set("last_reason", ShownReason(note));
      task.Set("last_date", DayOf(note, rules->Find(id), rules->config)).Set("last_run", note.run_id);
    }
    list.Add(std::move(task));
  }
  return JsonResponse(200, Json::MakeObject().Set("tasks", std::move(list)));
}

HttpResponse Rules(StoreReader& reader) {
  return ListOf("versions", reader.RuleVersions(100), [](const RuleVersion& version) {
    Json out = Json::MakeObject();
    out.Set("version", version.version)
        .Set("hash", version.hash)
        .Set("at", FormatUtc(version.at))
        .Set("by", version.by);
    Result<Json> changes = Json::Parse(version.changes);
    out.Set("tasks", version.tasks).Set("changes", changes.ok() ? *changes : Json());
    return out;
  });
}

HttpResponse Flags(StoreReader& reader) {
  return ListOf("flags", reader.Flags(), [](const Flag& flag) {
    Json out = Json::MakeObject();
    out.Set("name", flag.name)
        .Set("date", flag.date ? Json(FormatDay(*flag.date)) : Json())
        .Set("value", flag.value);
    out.Set("by", flag.by).Set("at", FormatUtc(flag.at));
    if (flag.expires) out.Set("expires", FormatUtc(*flag.expires));
    return out;
  });
}

HttpResponse Audit(Params& params, StoreReader& reader) {
  int limit = params.Limit(100);
  if (!params.error().empty()) return Problem(400, params.error());
  const auto to_json = [](const AuditRow& row) {
    Json out = Json::MakeObject();
    out.Set("at", FormatUtc(row.at))
        .Set("by", row.by)
        .Set("action", row.action)
        .Set("task_id", row.task)
        .Set("run_id", row.run_id);
    out.Set("reason", row.reason).Set("detail", row.detail);
    return out;
  };
  return ListOf("audit", reader.Audit(params.Text("task"), params.Text("run"), limit + 1), to_json, limit);
}

HttpResponse Alerts(Params& params, StoreReader& reader) {
  Instant from = params.Time("from", kLongAgo);
  int limit = params.Limit(100);
  if (!params.error().empty()) return Problem(400, params.error());
  return ListOf("alerts", reader.Alerts(params.Text("task"), from, limit + 1), AlertToJson, limit);
}

}  // namespace

HttpResponse ReadPath(const ApiQuery& query, Backend& backend, StoreReader& reader) {
  Params params(query);
  if (const std::string fault = ParameterFault(query); !fault.empty()) return Problem(400, fault);
  const std::string kRun = "/api/v1/runs/";
  if (query.path == "/api/v1/tasks") return Tasks(backend, reader);
  if (query.path == "/api/v1/runs") return Runs(params, backend, reader);
  if (query.path == "/api/v1/decisions") return Decisions(params, backend, reader);
  if (query.path == "/api/v1/alerts") return Alerts(params, reader);
  if (query.path == "/api/v1/flags") return Flags(reader);
  if (query.path == "/api/v1/audit") return Audit(params, reader);
  if (query.path == "/api/v1/rules") return Rules(reader);
  if (query.path == "/api/v1/why") {
    std::optional<CivilDay> date = params.Day("date");
    if (!params.error().empty()) return Problem(400, params.error());
    if (params.Text("task").empty()) return Problem(400, "say which task: ?task=ID");
    return Why(params.Text("task"), date, backend, reader);
  }
  if (query.path == "/api/v1/version") {
    Json body = Json::MakeObject();
    body.Set("version", kVersion)
        .Set("zone_data", ZoneDataVersion())
        .Set("node", backend.node())
        .Set("now", FormatUtc(backend.now()));
    body.Set("rule_version", backend.figures().rule_version).Set("tasks", backend.figures().tasks);
    return JsonResponse(200, body);
  }
  if (query.path.starts_with(kRun)) {
    std::string rest = query.path.substr(kRun.size());
    if (rest.ends_with("/output")) return Output(rest.substr(0, rest.size() - 7), params, backend, reader);
    if (!rest.empty() && rest.find('/') == std::string::npos) return OneRun(rest, backend, reader);
  }
  return Problem(404, StrCat("no such path: ", query.path));
}

}  // namespace duecourse
