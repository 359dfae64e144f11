// The ways out: one function a kind of channel, one file each. Both block until
// the channel has answered or its time is up, and are called by the sender's
// threads only. What counts as taken is the channel's rule, written in
// docs/reference/alerts.md.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "alert/alert.h"
#include "net/http_client.h"

namespace duecourse {

struct Delivery {
  bool taken = false;
  std::string error;                  // for people; empty where it was taken
  std::optional<Millis> retry_after;  // the channel asked for it, capped at kRetryAfterMax
};

// A channel may ask us to stay away this long and no longer: it may be wrong by years.
inline constexpr Millis kRetryAfterMax = Minutes(10);

// What a channel works with; borrowed for one delivery.
struct ChannelTools {
  std::string folder;  // of duecourse.yaml: commands run there, secret files start there
  std::string store_id;  // of the daemon that tells, or empty
  int cancel_fd = -1;  // readable once the daemon stops
  std::function<HttpResult(HttpClientCall)> call;  // blocks until the answer
  Instant now;
};

// Starts the channel's command; the alert as JSON on standard input and in DUECOURSE_ALERT_ID, _LEVEL,
// _EVENT, _TASK, _RUN_ID, _KEY, _TITLE and _TEXT, the daemon's store in DUECOURSE_STORE_ID. Exit 0 is taken.
Delivery SendByCommand(const ChannelConfig& channel, const AlertMessage& message, const ChannelTools& tools);
// POSTs the JSON. Taken is a 2xx answer whose body does not say otherwise; redirects are not followed.
Delivery SendByWebhook(const ChannelConfig& channel, const AlertMessage& message, const ChannelTools& tools);
// What an answer's body says against it, or empty. Robots of chat systems answer 200 with {"errcode": 310000,
// …}.
std::string RefusalIn(const std::string& body);

}  // namespace duecourse
