#include "probe/http.h"

#include <algorithm>

#include "base/secret.h"
#include "base/text.h"

namespace duecourse {
namespace {

using Answer = PreconditionFact::Answer;

Observation Failed(const char* code, std::string text) {
  return {Answer::kCheckFailed, code, Shown(text, 2 * kQuoteMax)};
}

Observation OfError(const HttpResult& result, Millis timeout) {
  const std::string after = FormatMillis(timeout);
  switch (result.error) {
    case HttpError::kTimeout:
      if (result.answering) {
        return Failed("too_slow",
                      StrCat("too slow: the answer had begun but was not complete after ", after));
      }
      return Failed("timed_out", StrCat("check timed out after ", after, ": no answer came"));
    case HttpError::kResolve:
      return Failed("dns", StrCat("DNS: the host's name was not found within ", after, ": ", result.message));
    case HttpError::kConnect:
      return Failed("connect", StrCat("no connection: ", result.message));
    case HttpError::kTls:
      return Failed("tls", StrCat("TLS: ", result.message));
    case HttpError::kRedirectLoop:
      return Failed("redirect_loop", StrCat("redirect loop: more than ", kProbeRedirectsMax, " redirects"));
    case HttpError::kTooLarge:
      return Failed("too_big", StrCat("too big: ", result.message));
    case HttpError::kForbidden:
      return Failed("forbidden", StrCat("not allowed: ", result.message));
    case HttpError::kBadCall:
      return Failed("bad_call", StrCat("the request cannot be made: ", result.message));
    case HttpError::kNone:
    case HttpError::kBroken:
    case HttpError::kCancelled:
    case HttpError::kOther:
      break;
  }
  return Failed("broken", StrCat("no usable answer: ", result.message));
}

bool Expected(const std::vector<int>& statuses, int status) {
  if (statuses.empty()) return status == 200;
  return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
}

std::string StatusList(const std::vector<int>& statuses) {
  if (statuses.empty()) return "200";
  std::vector<std::string> parts;
  for (int status : statuses) parts.push_back(StrCat(status));
  return Join(parts, " or ");
}

// 1 and 1.0 are the same number in JSON.
bool SameValue(const Json& a, const Json& b) {
  if (a.is_integer() && b.is_integer()) return a.AsInteger() == b.AsInteger();
  if (a.is_number() && b.is_number()) return a.AsDouble() == b.AsDouble();
  return a == b;
}

// A secret body or header makes the request one that must not be carried elsewhere.
bool MayRedirect(const HttpCall& http) {
  const auto redirect = [](int status) { return status >= 300 && status <= 399; };
  const std::vector<int>& expected = http.expect.status;
  return !HasSecret(http) && (http.method == "GET" || http.method == "HEAD") &&
         std::none_of(expected.begin(), expected.end(), redirect);
}

Result<std::string> SecretValue(const SecretRef& secret, const std::string& folder) {
  return ReadSecret(secret.env, secret.file, folder);
}

}  // namespace

bool HasSecret(const HttpCall& http) {
  return (http.body.has_value() && http.body->secret.has_value()) ||
         std::any_of(http.headers.begin(), http.headers.end(),
                     [](const auto& header) { return header.second.secret.has_value(); });
}

Result<HttpClientCall> MakeCall(const ProbeRequest& request, Millis timeout) {
  const HttpCall& http = request.condition->http;
  HttpClientCall call;
  call.method = http.method;
  call.url = request.url;
  call.body = request.body;
  call.timeout = timeout;
  call.connect_timeout = timeout;
  call.max_response_bytes = kProbeMaxBody;
  call.max_redirects = MayRedirect(http) ? kProbeRedirectsMax : 0;
  for (const auto& [name, value] : request.headers) call.headers.push_back({name, value});
  for (const auto& [name, value] : http.headers) {
    if (!value.secret.has_value()) continue;
    Result<std::string> secret = SecretValue(*value.secret, request.folder);
    if (!secret.ok()) return secret.error().Wrap(StrCat("header ", Quote(name)));
    call.headers.push_back({name, *secret});
  }
  if (http.body.has_value() && http.body->secret.has_value()) {
    Result<std::string> secret = SecretValue(*http.body->secret, request.folder);
    if (!secret.ok()) return secret.error().Wrap("body");
    call.body = *secret;
  }
  return call;
}

Observation JudgeAnswer(const HttpExpect& expect, const HttpResult& result, Millis timeout) {
  if (result.error != HttpError::kNone) return OfError(result, timeout);
  if (!Expected(expect.status, result.status)) {
    return {Answer::kNo, "status", StrCat("status ", result.status, ", wanted ", StatusList(expect.status))};
  }
  if (expect.json.empty()) return {Answer::kYes, "met", StrCat("status ", result.status)};
  Result<Json> body = Json::Parse(result.body);
  if (!body.ok()) {
    return Failed("not_json",
                  StrCat("status ", result.status, ", but the body is no JSON: ", body.error().message()));
  }
  std::vector<std::string> wrong;
  for (const auto& [pointer, wanted] : expect.json) {
    const Json* value = body->Pointer(pointer);
    if (value != nullptr && SameValue(*value, wanted)) continue;
    wrong.push_back(StrCat("condition false: ", Quote(pointer), " is ",
                           value == nullptr ? "not there" : Quote(value->Dump()), ", wanted ",
                           Quote(wanted.Dump())));
  }
  if (!wrong.empty()) return {Answer::kNo, "condition_false", Join(wrong, "; ")};
  return {Answer::kYes, "met", StrCat("status ", result.status, ", as expected")};
}

}  // namespace duecourse
