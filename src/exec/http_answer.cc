#include "exec/http_answer.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "exec/environment.h"
#include "exec/finish.h"
#include "exec/launch.h"
#include "exec/report.h"
#include "net/retry_after.h"

namespace duecourse {
namespace {

constexpr size_t kTailBytes = 4096;
constexpr size_t kSnippetBytes = 200;

// "DUECOURSE_RUN_ID" -> "X-Duecourse-Run-Id".
std::string HeaderOf(std::string_view context_name) {
  std::string header = "X-Duecourse";
  const std::string member = ContextMember(context_name);  // outlives the words, which are views of it
  for (std::string_view word : Split(member, '_')) {
    if (word.empty()) continue;
    header += '-';
    header += word.front() >= 'a' && word.front() <= 'z' ? static_cast<char>(word.front() - 'a' + 'A')
                                                         : word.front();
    header += word.substr(1);
  }
  return header;
}

bool HasBody(const std::string& method) { return method != "GET" && method != "HEAD"; }

void AddUnlessWritten(HttpClientCall& call, const std::string& name, const std::string& value) {
  if (FindHeader(call.headers, name) == nullptr) call.headers.push_back({name, value});
}

bool SameValue(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) return a.AsDouble() == b.AsDouble();
  return a == b;
}

bool StatusExpected(const HttpExpect& expect, int status) {
  if (status == 202) return false;  // accepted is not done
  if (expect.status.empty()) return status >= 200 && status <= 299;
  return std::find(expect.status.begin(), expect.status.end(), status) != expect.status.end();
}

std::string FirstLine(std::string_view body) {
  std::string_view text = Trim(body);
  text = text.substr(0, text.find('\n'));
  std::string line = ShowBytes(Trim(text.substr(0, kSnippetBytes)), false);
  return text.size() > kSnippetBytes ? line + "…" : line;
}

void DescribeAnswer(const AnswerFacts& facts, Ending& ending) {
  const HttpResult& result = facts.result;
  const HttpExpect& expect = facts.request.rule->execution.http.expect;
  ending.kind = Ending::Kind::kHttp;
  ending.code = result.status;
  const bool cut = result.body_bytes > result.body.size();
  if (cut) {
    AddNote(ending, StrCat("the answer has ", result.body_bytes, " bytes, of which the first ",
                           result.body.size(), " were kept and looked at"));
  }
  std::string fault = ExpectFault(expect, result.status, result.body);
  if (cut && !expect.json.empty() && StatusExpected(expect, result.status)) {
    fault = StrCat("its body is too large to be read as JSON: ", result.body_bytes, " bytes, at most ",
                   result.body.size(), " are");
  }
  ending.http_expect_met = fault.empty();
  std::optional<Millis> retry_after = RetryAfterOf(result.headers, facts.now);
  if (retry_after.has_value()) ending.retry_after = std::min(*retry_after, kRetryAfterMax);
  if (result.status == 202) return;
  if (StatusExpected(expect, result.status)) {
    if (!fault.empty()) ending.summary = StrCat("http ", result.status, ": ", fault);
    return;
  }
  const std::string line = FirstLine(result.body);
  if (!line.empty()) ending.summary = StrCat("http ", result.status, ": ", line);
}

void DescribeFailure(const AnswerFacts& facts, Ending& ending) {
  const HttpResult& result = facts.result;
  const std::string host = HostOfUrl(facts.request.url);
  ending.request_sent = result.sent;
  ending.code = 0;
  if (result.error == HttpError::kTimeout && result.sent) {
    ending.kind = Ending::Kind::kTimeout;
    ending.summary = StrCat(host,
                            result.answering ? " began to answer and had not finished within "
                                             : " was asked and did not answer within ",
                            FormatMillis(facts.request.timeout));
    return;
  }
  ending.kind = Ending::Kind::kNetwork;
  if (!result.sent) {
    ending.summary = StrCat(host, " could not be reached, nothing was sent: ", result.message);
  } else if (result.status > 0) {
    ending.summary = StrCat(host, " began to answer with http ", result.status,
                            ", but that is no whole answer: ", result.message);
  } else {
    ending.summary = StrCat(host, " was asked and gave no answer: ", result.message);
  }
}

void ReadReport(const HttpResult& result, Ending& ending) {
  Result<Json> body = Json::Parse(result.body);
  if (!body.ok() || !body->Has("duecourse")) return;
  constexpr std::string_view kWhere = "\"duecourse\" in the answer";
  const std::string text = body->Get("duecourse").Dump();
  ApplyReportText(text, kWhere, ending);
}

}  // namespace

Json ContextJson(const StartRequest& request) {
  Json json = Json::MakeObject();
  for (const auto& entry : request.context) json.Set(ContextMember(entry.first), entry.second);
  return json;
}

std::string TraceParent(const AttemptRef& ref, const std::string& store_id) {
  const std::string trace = Sha256Hex(StrCat("trace\n", store_id, "\n", ref.run_id));
  const std::string span = Sha256Hex(StrCat("span\n", store_id, "\n", ref.run_id, "\n", ref.fence));
  return StrCat("00-", trace.substr(0, 32), "-", span.substr(0, 16), "-01");
}

Result<HttpClientCall> BuildCall(const StartRequest& request, const std::string& store_id) {
  HttpClientCall call;
  call.method = request.method;
  call.url = request.url;
  call.body = request.body;
  for (const auto& header : request.headers) call.headers.push_back({header.first, header.second});
  for (const auto& header : request.secret_headers) {
    Result<std::string> value = RequestSecret(request, header.second);
    if (!value.ok()) return value.error().Wrap(StrCat("header ", header.first));
    call.headers.push_back({header.first, std::move(value).value()});
  }
  if (request.secret_body.has_value()) {
    Result<std::string> value = RequestSecret(request, *request.secret_body);
    if (!value.ok()) return value.error().Wrap("body");
    call.body = std::move(value).value();
  }
  if (call.body.empty() && !request.secret_body.has_value() && HasBody(call.method)) {
    call.body = ContextJson(request).Dump();
  }
  if (!call.body.empty()) {
    // Said by us, or the library would call it a form.
    const bool json = Json::Parse(call.body).ok();
    AddUnlessWritten(call, "Content-Type", json ? "application/json" : "text/plain; charset=utf-8");
  }
  AddUnlessWritten(call, "Idempotency-Key", request.key);
  AddUnlessWritten(call, "traceparent", TraceParent(request.ref, store_id));
  // Ours are never another's: a rule that writes them itself is overruled.
  std::erase_if(call.headers,
                [](const HttpHeader& h) { return AsciiLower(h.name).starts_with("x-duecourse-"); });
  call.headers.push_back({"X-Duecourse-Fence", std::to_string(request.ref.fence)});
  call.headers.push_back({"X-Duecourse-Run-Id", request.ref.run_id});
  for (const auto& entry : request.context) AddUnlessWritten(call, HeaderOf(entry.first), entry.second);
  call.timeout = request.timeout;
  const std::string fault = HttpClientCallFault(call);
  if (!fault.empty()) return Error(fault);
  return call;
}

std::string ExpectFault(const HttpExpect& expect, int status, const std::string& body) {
  if (!StatusExpected(expect, status)) return StrCat("the status ", status, " is not one that is expected");
  if (expect.json.empty()) return "";
  Result<Json> json = Json::Parse(body);
  if (!json.ok()) return StrCat("its body is not JSON: ", json.error().message());
  for (const auto& wanted : expect.json) {
    const Json* found = json->Pointer(wanted.first);
    if (found == nullptr)
      return StrCat("its body has no ", wanted.first, ", which was expected to be ", wanted.second.Dump());
    if (SameValue(*found, wanted.second)) continue;
    std::string value = found->Dump();
    if (value.size() > kSnippetBytes) value = FirstLine(value);
    return StrCat(wanted.first, " is ", value, ", expected is ", wanted.second.Dump());
  }
  return "";
}

Ending EndingOfAnswer(const AnswerFacts& facts) {
  const HttpResult& result = facts.result;
  if (result.error == HttpError::kForbidden) {
    return ConfigurationEnding("address_denied", StrCat(HostOfUrl(facts.request.url), ": ", result.message));
  }
  if (result.error == HttpError::kBadCall) return ConfigurationEnding("request_unusable", result.message);
  Ending ending;
  ending.request_sent = result.sent;
  ending.detail = Json::MakeObject();
  ending.detail.Set("host", HostOfUrl(facts.request.url))
      .Set("sent", result.sent)
      .Set("duration_ms", result.elapsed.count);
  if (facts.kill.has_value() && result.error == HttpError::kCancelled) {
    ending.kind = *facts.kill == KillWhy::kTimeout ? Ending::Kind::kTimeout : Ending::Kind::kKilled;
    ending.summary = StrCat("the request was dropped: ", KillWhyText(*facts.kill));
    ending.detail.Set("kill", Json::MakeObject().Set("why", KillWhyName(*facts.kill)));
    return ending;
  }
  // A status that came before the answer broke proves nothing.
  if (result.error != HttpError::kNone || result.status <= 0) {
    ending.detail.Set("error", HttpErrorName(result.error));
    DescribeFailure(facts, ending);
    ending.summary = Redact(std::move(ending.summary));
    return ending;
  }
  DescribeAnswer(facts, ending);
  ReadReport(result, ending);
  const size_t tail = std::min(result.body.size(), kTailBytes);
  ending.output_tail = result.body.substr(result.body.size() - tail);
  ending.summary = Redact(std::move(ending.summary));
  return ending;
}

}  // namespace duecourse
