#include <algorithm>
#include <array>

#include "alert/channel.h"
#include "alert/shown.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/text.h"
#include "net/retry_after.h"

namespace duecourse {
namespace {

constexpr size_t kAnswerMax = 64u << 10;

// 0 and the 2xx that some services repeat in their bodies are fine.
bool SaysFault(const Json& code) {
  int64_t value = 0;
  if (code.is_number()) {
    value = code.AsInteger(static_cast<int64_t>(code.AsDouble()));
  } else if (code.is_string()) {
    std::optional<int64_t> number = ParseInteger(code.AsString());
    if (!number.has_value()) return false;
    value = *number;
  }
  return value != 0 && (value < 200 || value > 299);
}

bool SaysError(const Json& error) {
  if (error.is_bool()) return error.AsBool();
  if (error.is_string()) return !error.AsString().empty();
  return error.is_object() && !error.AsObject().empty();
}

// Text and secrets of the channel's headers as they go out.
Result<std::vector<HttpHeader>> Headers(const ChannelConfig& channel, const std::string& folder) {
  std::vector<HttpHeader> headers = {{"Content-Type", "application/json"}};
  for (const auto& [name, value] : channel.headers) {
    // A channel belongs to no occurrence, so a variable in its text is an error here.
    Result<std::string> text = value.secret.has_value()
                                   ? ReadSecret(value.secret->env, value.secret->file, folder)
                                   : Render(value.text, TemplateScope());
    if (!text.ok()) return text.error().Wrap(StrCat("header ", ShowBytes(name, false)));
    HttpHeader header{name, *text};
    if (!IsHeaderSafe(header)) {
      return Error(
          StrCat("header ", ShowBytes(name, false), ": the name or value has characters no header may have"));
    }
    auto same = std::find_if(headers.begin(), headers.end(), [&header](const HttpHeader& one) {
      return AsciiLower(one.name) == AsciiLower(header.name);
    });
    if (same != headers.end()) headers.erase(same);
    headers.push_back(std::move(header));
  }
  return headers;
}

// Where the address itself is the secret, so are the tokens in it: an answer or an error may show them alone.
Result<std::string> Address(const ChannelConfig& channel, const std::string& folder) {
  constexpr size_t kTokenInPath = 16;
  if (!channel.url_secret.has_value()) return channel.url;
  Result<std::string> url = ReadSecret(channel.url_secret->env, channel.url_secret->file, folder);
  if (!url.ok()) return url.error().Wrap("url");
  const size_t query = std::min(url->find('?'), url->size());
  for (std::string_view part : Split(std::string_view(*url).substr(0, query), '/')) {
    if (part.size() >= kTokenInPath && part != HostOfUrl(*url)) RegisterSecret(std::string(part));
  }
  for (std::string_view part : Split(std::string_view(*url).substr(query), '&')) {
    RegisterSecret(std::string(part.substr(std::min(part.find('=') + 1, part.size()))));
  }
  return url;
}

}  // namespace

std::string RefusalIn(const std::string& body) {
  Result<Json> answer = Json::Parse(body);
  if (!answer.ok() || !answer->is_object()) return "";
  const auto show = [&](const char* name) {
    std::string text = StrCat(name, " ", answer->Get(name).Dump());
    for (const char* words : {"errmsg", "msg", "message", "StatusMessage", "error_description"}) {
      if (answer->Get(words).is_string()) return StrCat(text, ": ", answer->Get(words).AsString());
    }
    return text;
  };
  for (const char* name : {"errcode", "code", "StatusCode"}) {
    if (SaysFault(answer->Get(name))) return show(name);
  }
  for (const char* name : {"ok", "success"}) {
    if (answer->Get(name).is_bool() && !answer->Get(name).AsBool()) {
      return SaysError(answer->Get("error")) ? show("error") : show(name);
    }
  }
  return SaysError(answer->Get("error")) ? show("error") : "";
}

Delivery SendByWebhook(const ChannelConfig& channel, const AlertMessage& message, const ChannelTools& tools) {
  Delivery delivery;
  Result<std::vector<HttpHeader>> headers = Headers(channel, tools.folder);
  if (!headers.ok()) {
    delivery.error = Shown(headers.error().message(), kShownLine);
    return delivery;
  }
  Result<std::string> url = Address(channel, tools.folder);
  if (!url.ok()) {
    delivery.error = Shown(url.error().message(), kShownLine);
    return delivery;
  }
  HttpClientCall call;
  call.method = "POST";
  call.url = *url;
  call.headers = std::move(*headers);
  call.body = message.json;
  call.timeout = channel.timeout;
  call.connect_timeout = channel.timeout;
  call.max_response_bytes = kAnswerMax;
  const HttpResult result = tools.call(std::move(call));
  const bool answered = result.status >= 200 && result.status <= 299;
  // A body beyond the limit cannot be judged, but the status has come, and it decides: to send again what was
  // taken would wake people twice. (Services that refuse in a body do so in a few words.)
  if (result.error != HttpError::kNone && !(answered && result.error == HttpError::kTooLarge)) {
    delivery.error = Shown(StrCat(HttpErrorName(result.error), ": ", result.message), kShownLine);
    return delivery;
  }
  const std::string refusal = answered ? RefusalIn(result.body) : "";
  delivery.taken = answered && refusal.empty();
  if (delivery.taken) return delivery;
  if (answered) {
    delivery.error = Shown(StrCat("status ", result.status, ", but the answer says ", refusal), kShownLine);
  } else {
    delivery.error = Shown(StrCat("status ", result.status, ": ", Trim(result.body)), kShownTitle);
  }
  if (std::optional<Millis> wait = RetryAfterOf(result.headers, tools.now); wait.has_value()) {
    delivery.retry_after = std::min(*wait, kRetryAfterMax);
  }
  return delivery;
}

}  // namespace duecourse
