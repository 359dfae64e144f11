#include "web/api.h"

#include <algorithm>

#include "base/text.h"
#include "rule/choose_value.h"
#include "rule/flag_names.h"

namespace duecourse {
namespace {

constexpr size_t kJobsMax = 1'000;  // more reads than that wait in their connections
constexpr int kWorkers = 2;

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out.push_back(' ');
    } else if (text[i] != '%') {
      out.push_back(text[i]);
    } else {
      int high = i + 2 < text.size() ? HexValue(text[i + 1]) : -1;
      int low = i + 2 < text.size() ? HexValue(text[i + 2]) : -1;
      if (high < 0 || low < 0) return Error("a % in the address is not followed by two hex digits");
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  if (out.find('\0') != std::string::npos) return Error("the address holds a NUL");
  if (!IsValidUtf8(out)) return Error("the address is not UTF-8");
  return out;
}

}  // namespace

std::string ApiQuery::Get(const std::string& name, const std::string& fallback) const {
  for (const auto& [key, value] : params) {
    if (key == name) return value;
  }
  return fallback;
}

Result<ApiQuery> ParseApiQuery(const HttpRequest& request) {
  ApiQuery query;
  std::string_view target = request.target;
  if (target.empty() || target[0] != '/') return Error("the address must begin with /");
  size_t mark = target.find('?');
  Result<std::string> path = Decode(target.substr(0, mark), false);
  if (!path.ok()) return path.error();
  query.path = *path;
  if (query.path.find("//") != std::string::npos || (query.path + "/").find("/../") != std::string::npos) {
    return Error("the address may not hold .. or //");
  }
  if (mark != std::string_view::npos) {
    for (std::string_view part : Split(target.substr(mark + 1), '&')) {
      if (part.empty()) continue;
      size_t equals = part.find('=');
      Result<std::string> name = Decode(part.substr(0, equals), true);
      Result<std::string> value =
          Decode(equals == std::string_view::npos ? "" : part.substr(equals + 1), true);
      if (!name.ok()) return name.error();
      if (!value.ok()) return value.error();
      for (const auto& [known, unused] : query.params) {
        if (known == *name) return Error(StrCat("parameter ", *name, " is given twice"));
      }
      query.params.emplace_back(*name, *value);
    }
  }
  if (request.method == "POST" && !Trim(request.body).empty()) {
    Result<Json> body = Json::Parse(request.body);
    if (!body.ok()) return body.error().Wrap("the body is not JSON");
    if (!body->is_object()) return Error("the body must be a JSON object");
    query.body = *body;
  }
  return query;
}

Api::Api(Backend& backend) : backend_(backend), jobs_(kJobsMax) {
  for (int i = 0; i < kWorkers; ++i) workers_.emplace_back([this] { Work(); });
}

Api::~Api() {
  // Whoever still waits is not read for: the clients of a queue may be gone long since.
  stopping_.store(true);
  jobs_.Close();
  for (std::thread& worker : workers_) worker.join();
}

HttpResponse JsonResponse(int status, const Json& body) {
  HttpResponse response;
  response.status = status;
  response.body = body.Dump() + "\n";
  return response;
}

HttpResponse Problem(int status, const std::string& message) {
  return JsonResponse(status, Json::MakeObject().Set("message", message));
}

HttpResponse OfAnswer(const Answer& answer) {
  int status = 200;
  switch (answer.kind) {
    case Answer::Kind::kFine:
      status = 200;
      break;
    case Answer::Kind::kProblem:
      status = answer.body.Get("reason").AsString() == "store_unavailable" ? 503 : 500;
      break;
    case Answer::Kind::kUsage:
      status = 400;
      break;
    case Answer::Kind::kRefused:
      status = 409;
      break;
    case Answer::Kind::kUnknown:
      status = 404;
      break;
  }
  Json body = answer.body.is_null() ? Json::MakeObject() : answer.body;
  if (!answer.message.empty()) body.Set("message", answer.message);
  return JsonResponse(status, body);
}

static HttpResponse HealthResponse(const Health& health) {
  Json body = Json::MakeObject();
  body.Set("healthy", health.healthy).Set("draining", health.draining).Set("step_age_ms", health.step_age_ms);
  body.Set("store_refusing_ms", health.store_refusing_ms);
  if (!health.store_problem.empty()) body.Set("store_problem", health.store_problem);
  if (!health.warnings.empty()) {
    Json list = Json::MakeArray();
    for (const std::string& warning : health.warnings) list.Add(warning);
    body.Set("warnings", std::move(list));
  }
  if (health.draining) {
    Json list = Json::MakeArray();
    for (const std::string& run : health.waits_for) list.Add(run);
    body.Set("waits_for", std::move(list));
    if (health.stops_by < kNever) body.Set("stops_by", FormatUtc(health.stops_by));
  }
  if (!health.problem.empty()) body.Set("message", health.problem);
  return JsonResponse(health.healthy ? 200 : 503, body);
}

void Api::Handle(HttpRequest request, HttpReply reply) {
  if (request.method != "GET" && request.method != "POST") {
    reply(Problem(405, "only GET and POST are known here"));
    return;
  }
  Result<ApiQuery> query = ParseApiQuery(request);
  if (!query.ok()) {
    reply(Problem(400, query.error().message()));
    return;
  }
  // Health is served on the server's own thread: it must answer when nothing else does.
  if (query->path == "/healthz") {
    reply(HealthResponse(backend_.health()));
    return;
  }
  // Over TCP everybody on the machine can ask, and any page that a browser here shows can make it ask.
  if (!request.local && (request.method == "POST" || query->path != "/metrics")) {
    reply(Problem(403,
                  "only /healthz and /metrics are served over TCP; ask over the socket in the data folder"));
    return;
  }
  if (request.method == "POST") {
    Act(*query, std::move(reply));
    return;
  }
  if (query->path == "/metrics") {
    HttpResponse response;
    response.content_type = "text/plain; version=0.0.4";
    response.body = MetricsText(backend_);
    reply(std::move(response));
    return;
  }
  if (!jobs_.Push({std::move(query).value(), reply})) reply(Problem(503, "the daemon is stopping"));
}

void Api::Work() {
  std::unique_ptr<StoreReader> reader;
  while (std::optional<Job> job = jobs_.Take()) {
    if (stopping_.load()) {
      job->reply(Problem(503, "the daemon is stopping"));
      continue;
    }
    if (reader == nullptr) {
      Result<std::unique_ptr<StoreReader>> made = backend_.NewReader();
      if (!made.ok() && job->act) {
        AskAboutRun(*job, nullptr);
        continue;
      }
      if (!made.ok()) {
        const std::string why = backend_.health().store_problem;
        job->reply(Problem(503, why.empty() ? made.error().message() : why));
        continue;
      }
      reader = std::move(made).value();
    }
    if (job->act) {
      AskAboutRun(*job, reader.get());
      if (!backend_.health().store_problem.empty()) reader.reset();
      continue;
    }
    HttpResponse response = ReadPath(job->query, backend_, *reader);
    // A store that was swapped or repaired is opened anew; one that is away may be another when it is back.
    if (response.status >= 500 || !backend_.health().store_problem.empty()) reader.reset();
    job->reply(std::move(response));
  }
}

void Api::AskAboutRun(const Job& job, StoreReader* reader) {
  HttpResponse refusal;
  std::optional<Request> request = ActOnRun(job.query, reader, &refusal);
  if (!request) {
    job.reply(std::move(refusal));
    return;
  }
  backend_.Ask(std::move(*request), [reply = job.reply](Answer answer) { reply(OfAnswer(answer)); });
}

Answer AskAndWait(Backend& backend, Request request) {
  auto answers = std::make_shared<Queue<Answer>>(1);
  backend.Ask(std::move(request), [answers](Answer answer) { answers->Push(std::move(answer)); });
  constexpr int64_t kPatienceMs = 5'000;
  std::vector<Answer> got = answers->TakeAll(kPatienceMs);
  if (got.empty()) return Answer{0, Answer::Kind::kProblem, "the engine does not answer", Json::MakeObject()};
  return got.front();
}

void Api::Act(const ApiQuery& query, HttpReply reply) {
  auto answered = [reply](Answer answer) { reply(OfAnswer(answer)); };
  if (std::string fault = BodyFault(query); !fault.empty()) {
    reply(Problem(400, fault));
    return;
  }
  if (query.path == "/api/v1/reload") {
    ReloadOrder order{query.body.Get("by").AsString(), query.body.Get("reason").AsString(),
                      query.body.Get("confirm").AsBool(), query.body.Get("dry_run").AsBool()};
    backend_.Reload(order, answered);
    return;
  }
  if (query.path == "/api/v1/alerts/test") {
    std::string level = query.body.Get("level").AsString();
    if (!level.empty() && level != "P1" && level != "P2" && level != "P3") {
      reply(Problem(400, "level is P1, P2 or P3"));
      return;
    }
    AlertLevel which = level == "P1" ? AlertLevel::kP1 : level == "P3" ? AlertLevel::kP3 : AlertLevel::kP2;
    backend_.TestAlert({query.body.Get("by").AsString(), query.body.Get("reason").AsString(),
                        query.body.Get("owner").AsString(), which},
                       answered);
    return;
  }
  if (!IsActPath(query.path)) {
    reply(Problem(404, StrCat("no such path: ", query.path)));
    return;
  }
  Result<ApiAct> act = ActOf(query);
  if (!act.ok()) {
    reply(Problem(400, act.error().message()));
    return;
  }
  if (const auto* flag = std::get_if<FlagRequest>(&act->request.body); flag != nullptr && !flag->remove) {
    const std::string note = UnknownFlagNote(*backend_.rules(), flag->name, flag->date.has_value());
    backend_.Ask(std::move(act->request), [reply, note](Answer answer) {
      if (!note.empty() && answer.kind == Answer::Kind::kFine) answer.body.Set("note", note);
      reply(OfAnswer(answer));
    });
    return;
  }
  if (auto* trigger = std::get_if<TriggerRequest>(&act->request.body);
      trigger != nullptr && !trigger->value.empty()) {
    // A part of a value that fits one alone means it; what fits none or several the engine refuses.
    const std::shared_ptr<const RuleSet> rules = backend_.rules();
    std::string problem;
    const Task* task = rules->Find(trigger->task);
    if (const auto value =
            task != nullptr ? ChooseValue(task->rule(), trigger->value, &problem) : std::nullopt)
      trigger->value = ValueId(task->rule(), *value);
  }
  if (act->about_run.empty()) {
    backend_.Ask(std::move(act->request), answered);
    return;
  }
  // A run that is over is in the store only: a worker reads it first.
  if (!jobs_.Push({query, reply, true})) reply(Problem(503, "the daemon is stopping"));
}

}  // namespace duecourse
