// Alerts: what is told to whom, and how. The policy is a pure function from an
// event of a run or breaker to rows, written in the transaction that caused
// them; the router finds an owner's channels; a sender tries them in order. One
// message an episode and level, never one an attempt.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "rule/ruleset.h"
#include "run/breaker.h"
#include "run/run.h"

namespace duecourse {

// ---- policy (pure)
struct AlertFacts {
  AlertRule::Event event = AlertRule::Event::kFailure;
  const Task* task = nullptr;
  const Run* run = nullptr;                  // after the change; null for an episode without one
  const std::vector<Attempt>* last_failures = nullptr;  // newest first, at most three
  std::string episode;                       // run id, or the cause's name
  AlertLevel told = AlertLevel::kNone;       // highest level this episode has been told at
  bool part_of_breaker = false;              // belongs to an open breaker's episode: no alert of its own
  std::string what;                          // "attempt 3 failed: exit 75", "missed: the daemon was down from … to …"
  std::string next;                          // what happens next: "again at 02:07:05", "nothing until a person acts"
  Instant at;
};
// A message to write (AlertRow without id and channel), or nothing. `level` kP3 is shown, not sent.
struct AlertDraft {
  AlertLevel level = AlertLevel::kNone;      // kNone: no row
  std::string event;                         // stable name
  std::string title;                         // one line: level, task, date, what
  std::string body;                          // JSON
  bool send = false;
};
AlertLevel LevelOf(const AlertRule& rule, AlertRule::Event event, int failures);
AlertDraft DraftAlert(const AlertFacts& facts);
// The note that ends an episode that was told at P2 or above; nothing (kNone) otherwise.
AlertDraft DraftRecovery(const AlertFacts& facts);

// ---- router (pure)
// Channels of an owner for a level, in order of trying: those of that level, else of the nearest higher, else of the
// nearest lower one. Empty: nobody is configured.
std::vector<ChannelConfig> ChannelsFor(const ServerConfig& config, const std::string& owner, AlertLevel level);
const char* AlertLevelName(AlertLevel level);  // "P1"

// ---- sending
struct AlertMessage {
  std::string id;
  std::string json;       // the whole alert: id, level, event, task, run, key, title, text, body
  std::string level;
  std::string title;
  std::string text;       // plain text for people, several lines; safe to show anywhere
};
struct SendResult {
  std::string id;
  bool taken = false;
  std::string channel;    // that took it
  std::string error;      // of the last one that did not
};
class AlertSender {
 public:
  virtual ~AlertSender() = default;
  // Tries the channels in order until one takes it; never blocks; the result comes through the sink on any thread.
  virtual void Send(AlertMessage message, std::vector<ChannelConfig> channels) = 0;
};
std::unique_ptr<AlertSender> NewAlertSender(const Clock& clock, std::string folder, std::function<void(SendResult)> sink);
// The pause before try number `tries` + 1 of an alert no channel took: 5 s doubling up to 10 minutes.
Millis AlertRetryDelay(int tries);

}  // namespace duecourse
