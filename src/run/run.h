// A run: everything that happens to one business key. Attempts are its
// executions, numbered and fenced by their claims. Plain data; the edges between
// states are in lifecycle.h. Instants are store time unless they say otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/json.h"
#include "rule/rule.h"
#include "run/reason.h"
#include "time/civil.h"

namespace duecourse {

enum class RunState {
  kScheduled,
  kRunning,
  kRetrying,
  kCatchupWaiting,
  kSuccess,
  kManualRequired,
  kSkipped,
  kMissed
};
inline constexpr int kRunStateCount = 8;
const char* RunStateName(RunState state);
std::optional<RunState> RunStateFromName(std::string_view name);
// success, skipped, missed. manual_required is no final state: a named person ends it.
bool IsFinal(RunState state);
// scheduled, running, retrying, catchup_waiting.
bool IsOpen(RunState state);

enum class Outcome { kNone, kSuccess, kFailed, kTimedOut, kLost, kNotReady, kNotStarted, kCancelled };
// failed, timed_out, lost: what counts as a failure in a row.
constexpr bool IsFailure(Outcome outcome) {
  return outcome == Outcome::kFailed || outcome == Outcome::kTimedOut || outcome == Outcome::kLost;
}
const char* OutcomeName(Outcome outcome);
std::optional<Outcome> OutcomeFromName(std::string_view name);

// Why an attempt was started; given to handlers as DUECOURSE_TRIGGER.
enum class TriggerKind { kSchedule, kEvent, kManual, kRetry, kCatchup };
// Whether an attempt counts to the cap and is followed by the ladder: all but a person's. The first of a run
// beside the schedule is that run's own, although a person asked for it.
constexpr bool FollowsLadder(TriggerKind kind, bool extra, int number) {
  return kind != TriggerKind::kManual || (extra && number == 1);
}
const char* TriggerKindName(TriggerKind kind);
std::optional<TriggerKind> TriggerKindFromName(std::string_view name);

// How far a run has climbed: retries used of each kind. Executions lost or by hand use no rung.
struct Ladder {
  int immediate = 0;
  int backoff = 0;
  int catchup = 0;
  friend bool operator==(const Ladder&, const Ladder&) = default;
};

struct Run {
  std::string id;  // "r" + 20 hex; chosen by whoever plans it
  std::string task;
  std::string value;  // for_each id, or empty
  std::string
      identity;  // unique: "cron/<due utc>", "event/<id>", "manual/<n>", "rerun/<run>"; with task and value
  Instant due;
  CivilDay business_date;
  std::optional<std::string> key;  // unique in the store; nothing only for a key_error
  RunState state = RunState::kScheduled;
  Reason reason = Reason::kNotDue;  // of the last change of state
  std::string strange_reason;  // to show: what is stored in its place, where this program does not know it
  std::string detail;               // a clause for people: which file, which pool and holder, which upstream
  int64_t fence = 0;                // of the newest claim; 0: never claimed
  int attempts = 0;                 // claims so far
  int counted = 0;                  // automatic attempts that count toward max_total_attempts
  int uncounted = 0;                // not_ready + not_started
  int failures = 0;                 // consecutive failed attempts, for alert levels
  AlertLevel told = AlertLevel::kNone;  // highest level that a message of this run's episode has had
  Ladder ladder;
  // Of retrying and catchup_waiting, and of a not-ready wait; a person's attempt keeps it, to put it back.
  std::optional<Instant> next_at;
  bool next_lost_rerun = false;  // the next attempt follows a lost one: it uses no rung
  Instant window_opens;
  Instant window_ends;
  RunState before_manual = RunState::kManualRequired;  // where a failed manual attempt returns
  RunState before_claim = RunState::kScheduled;        // where a not-ready attempt returns
  TriggerKind origin = TriggerKind::kSchedule;
  bool extra = false;         // `trigger --extra` and reruns: no occurrence behind it
  bool owed = false;          // planned after downtime; `missed: latest` may supersede it
  std::string supersedes;     // run id it replaces, or empty
  std::string superseded_by;  // run id, or empty
  // Who ordered its end and why, while it ran; obeyed by whoever finishes the attempt. Empty: nobody did.
  std::string cancel;
  // Marks of the preconditions that were met and need not be met again (only_if_data_ready: false).
  std::string met;
  int64_t rule_version = 0;  // at planning; each attempt carries its own
  Instant created_at;
  Instant state_since;
  std::optional<Instant> first_start;  // of its first attempt, for min_interval
  // While running:
  std::string incarnation;  // of the daemon that holds the lease
  std::string boot_id;
  Millis lease_until;  // boot clock (SQLite)
  friend bool operator==(const Run&, const Run&) = default;
};

struct Attempt {
  std::string run_id;
  int number = 0;
  int64_t fence = 0;
  TriggerKind kind = TriggerKind::kSchedule;
  std::string nonce;  // of the claim call
  int64_t rule_version = 0;
  std::string node;
  std::string incarnation;
  std::string boot_id;
  Instant claimed_at;
  std::optional<Instant> ended_at;
  Outcome outcome = Outcome::kNone;
  FailureClass failure_class = FailureClass::kNone;
  std::string code;     // "exit 75", "http 503", "killed 9"
  std::string summary;  // one line for people
  std::string detail;   // JSON: what the handler reported, sizes, hashes, dropped bytes, kept processes
  std::string by;       // person, for manual ones
};

// How an attempt ended, before anybody has classified it.
struct Ending {
  enum class Kind { kExit, kSignal, kHttp, kTimeout, kNetwork, kNotStarted, kKilled, kUnknown };
  Kind kind = Kind::kExit;
  int code = 0;  // exit code, signal or status
  bool http_expect_met = false;
  bool request_sent = true;  // kNetwork, kTimeout of HTTP: false where nothing had left
  std::optional<Millis> retry_after;
  std::optional<FailureClass> said;  // the handler's own word
  bool said_success = false;
  std::string said_code;
  std::string summary;      // "exit 127: command not found: mytool"
  std::string output_tail;  // the last bytes of both streams, for `errors` rules by text
  Json detail;              // sizes, hashes, dropped bytes, data, cost, kept processes
};

struct Classified {
  Outcome outcome = Outcome::kNone;
  FailureClass failure_class = FailureClass::kNone;
  std::string code;  // the handler's own code, or "exit 75", "http 503", "killed 9", "timeout", "network"…
  std::string summary;  // one line for people, never empty
  std::optional<Millis>
      retry_after;  // only of a failed answer with status 429 or 503; use this one, not the ending's
};
// The default table of classes (docs/concepts.md, "Classes"), extended by the rule's `errors` and overridden
// by the handler's own word. Pure. What was not the handler's own doing keeps its outcome whatever a rule or
// handler says: a time-out, a request without an answer, a start that never came about. kKilled (we ended it)
// is kLost, as nobody knows how far it came; whoever cancelled it says kCancelled instead. A 202 is never a
// success here.
Classified Classify(const ExecutionRule& rule, const Ending& ending);

}  // namespace duecourse
