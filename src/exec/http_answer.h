// What is sent to an HTTP agent, and how its answer is read. No thread, socket
// or file of its own, except that secrets are read.
#pragma once

#include <optional>
#include <string>

#include "exec/exec.h"
#include "net/http_client.h"

namespace duecourse {

// An agent may ask for patience, not for silence.
inline constexpr Millis kRetryAfterMax = Hours(24);

// The rule's method, URL, headers and body; the context as JSON where the rule writes no body and the method
// has one; the context as X-Duecourse-* headers; Idempotency-Key, traceparent and Content-Type where the rule
// does not write its own. Errors: a secret that cannot be read, or what makes the call unusable.
Result<HttpClientCall> BuildCall(const StartRequest& request, const std::string& store_id);
// One trace for all attempts of a run, one span for each: both are computed from ids, so a repeated start
// repeats them.
std::string TraceParent(const AttemptRef& ref, const std::string& store_id);
Json ContextJson(const StartRequest& request);

// Why the answer is not what `expect` asks for; empty where it is.
std::string ExpectFault(const HttpExpect& expect, int status, const std::string& body);

struct AnswerFacts {
  const StartRequest& request;
  const HttpResult& result;
  std::optional<KillWhy> kill;  // we cancelled the call
  Instant now;                  // for a Retry-After that is a date
};
// Without the sizes and hash of the body, which whoever stores it adds to the detail.
Ending EndingOfAnswer(const AnswerFacts& facts);

}  // namespace duecourse
