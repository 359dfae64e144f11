// Alerts: what is told to whom, and how. The policy is a pure function from an
// event of a run or breaker to rows, written in the transaction that caused
// them; the router finds an owner's channels; a sender tries them in order. One
// message an episode and level, never one an attempt.
//
// An episode is one run, or one cause (an open breaker, an outage). A message
// leaves when the episode's level rises and, where the episode is the run's own,
// at its third failure in a row (policy graded), when it becomes manual_required
// and when it ends missed. The ending that makes a run manual_required is that
// event only, not a failure beside it; a person's failed attempt that puts a run
// back into manual_required is no event at all.
#pragma once

#include <functional>
#include <memory>
#include <optional>
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
  // Of the three failure events any will do: the run's count of failures in a row decides which it is.
  AlertRule::Event event = AlertRule::Event::kFailure;
  const Task* task = nullptr;
  const Run* run = nullptr;                             // after the change; null for an episode without one
  const std::vector<Attempt>* last_failures = nullptr;  // newest first, at most three are told
  std::string episode;                                  // run id, or the cause's name
  AlertLevel told = AlertLevel::kNone;                  // highest level this episode has been told at
  bool part_of_breaker = false;  // belongs to an open breaker's episode: no alert of its own
  std::string what;              // "attempt 3 failed: exit 75", "missed: the daemon was down from … to …"
  std::string next;              // "again at 02:07:05", "nothing until a person acts"
  Instant at;
};
// A message to write (AlertRow without id and channel), or nothing. `level` kP3 is shown, not sent.
struct AlertDraft {
  AlertLevel level =
      AlertLevel::kNone;  // kNone: no row; else what the episode has now been told at, if higher
  std::string event;      // stable name
  std::string title;      // one line: level, task, date, what
  std::string body;       // JSON; made for MessageOf
  bool send = false;
};
// The level of an event under the rule's policy and its own levels. `failures`: in a row, for the three
// failure events.
AlertLevel LevelOf(const AlertRule& rule, AlertRule::Event event, int failures);
AlertDraft DraftAlert(const AlertFacts& facts);
// The note that ends an episode that was told at P2 or above, at that level; nothing (kNone) otherwise. The
// event is "recovered", also where a person ended it: `what` says how ("succeeded on attempt 5", "resolved by
// ann: …").
AlertDraft DraftRecovery(const AlertFacts& facts);
// "attempt 3 (catchup) at 2025-06-01T02:03:05+08:00: exit 75: connection refused"; one line, safe to show.
std::string FailureLine(const Attempt& attempt, const Zone& zone);

// Something that is no task's: the store does not answer, a reload was refused, `alert test`.
struct NoticeFacts {
  AlertLevel level = AlertLevel::kP1;
  std::string event;  // "store_unavailable", "rules_refused", "test"
  std::string what;
  std::string next;
  std::vector<std::string> todo;  // one step a line
  Instant at;
};
AlertDraft DraftNotice(const NoticeFacts& facts);

// ---- router (pure)
// A task without an owner of its own, or with one that duecourse.yaml does not know, belongs to the owner of
// this name.
inline constexpr const char* kDefaultOwner = "default";
// Channels of an owner for a level, in order of trying: those of that level, else of the nearest higher, else
// of the nearest lower one. Empty: nobody is configured.
std::vector<ChannelConfig> ChannelsFor(const ServerConfig& config, const std::string& owner,
                                       AlertLevel level);
// For notices, which concern everybody: one list of channels for each owner, equal lists once; all channels
// as one list where there are no owners. Each list is a message of its own.
std::vector<std::vector<ChannelConfig>> ChannelsForAll(const ServerConfig& config, AlertLevel level);
const char* AlertLevelName(AlertLevel level);  // "P1"; "none"

// ---- sending
struct AlertMessage {
  std::string id;
  std::string json;   // the whole alert: id, level, event, task, run, key, title, text, body
  std::string level;  // "P1" is never held up by others
  std::string title;
  std::string text;  // plain text for people, several lines; safe to show anywhere
};
// A stored or fresh draft as channels get it: safe to show, secrets redacted. `body` is a draft's.
AlertMessage MessageOf(const std::string& id, AlertLevel level, const std::string& title,
                       const std::string& body);

struct SendResult {
  std::string id;
  bool taken = false;
  std::string channel;                // that took it
  std::string error;                  // where nobody took it: what each channel said, in order
  std::optional<Millis> retry_after;  // all asked for a pause: the shortest; not before that
};
class AlertSender {
 public:
  virtual ~AlertSender() = default;
  // Tries the channels in order until one takes it; never blocks; the result comes through the sink on any
  // thread, once for each Send. Results of what still waits when the sender is destroyed do not come: those
  // alerts are sent by the next daemon.
  virtual void Send(AlertMessage message, std::vector<ChannelConfig> channels) = 0;
};
// `folder`: of duecourse.yaml; commands run there, secret files are relative to it. `store_id`: of the daemon
// that sends, empty where it is none; commands get it as DUECOURSE_STORE_ID.
std::unique_ptr<AlertSender> NewAlertSender(const Clock& clock, std::string folder, std::string store_id,
                                            std::function<void(SendResult)> sink);
// The pause before try number `tries` + 1 of an alert no channel took: 5 s doubling up to 10 minutes.
Millis AlertRetryDelay(int tries);

}  // namespace duecourse
