// HTTP preconditions: one request with a total deadline (name lookup included),
// a body of at most kProbeMaxBody, at most kProbeRedirectsMax redirects, and a
// word of its own for each way of failing. An answer that came and does not meet
// `expect` is a no; anything that kept us from an answer is a failed check.
#pragma once

#include "net/http_client.h"
#include "probe/look.h"

namespace duecourse {

inline constexpr int kProbeRedirectsMax = 5;

// True where reading a secret comes before the request: that may block on a file.
bool HasSecret(const HttpCall& http);
// The request to make. A request that carries a secret follows no redirect: it would take the secret along.
// Neither does one that expects a 3xx. Errors: a secret that cannot be read, a header that cannot be sent.
Result<HttpClientCall> MakeCall(const ProbeRequest& request, Millis timeout);
// Pure.
Observation JudgeAnswer(const HttpExpect& expect, const HttpResult& result, Millis timeout);

}  // namespace duecourse
