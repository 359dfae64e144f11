// The Retry-After header: how long the other side asks us to stay away.
#pragma once

#include <optional>
#include <vector>

#include "base/instant.h"
#include "net/http_message.h"

namespace duecourse {

// Seconds or an HTTP date (RFC 9110, 10.2.3), counted from `now`; a date that has passed is no wait. Nothing
// where there is no such header or it cannot be read. It may be absurdly long: the caller caps it.
std::optional<Millis> RetryAfterOf(const std::vector<HttpHeader>& headers, Instant now);

}  // namespace duecourse
