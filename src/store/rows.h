// The rows that a store keeps besides runs and attempts. Plain data. Instants are store time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/breaker.h"
#include "run/run.h"

namespace duecourse {

// One stored answer to "why did it run, why not, why did its state change". The same answer again only moves
// last_at and count (FoldCall). Node and zone-data version are filled in by the store from Open; task, value,
// key and business date of a row that names a run are the run's; a row written with a run names that run
// where it names none.
struct DecisionRow {
  int64_t id = 0;      // given by the store; rises
  std::string run_id;  // empty for a range
  std::string task;
  std::string value;
  std::string key;
  CivilDay business_date;
  Instant at;  // first time
  Instant last_at;
  int64_t count = 1;
  std::string decision;  // "run", "wait", "end", "state", "note"; the store itself writes "late"
  Reason reason = Reason::kNotDue;
  std::string strange_reason;  // as in Run
  std::string detail;      // JSON object: what was observed; "text" is the clause for people
  std::string from_state;  // of a change of state, else empty
  std::string to_state;
  int attempt = 0;
  std::string error_code;
  int64_t fence = 0;
  int64_t rule_version = 0;
  std::string node;
  std::string zone_data;
  Instant recheck_at = kNever;  // of a wait
};

// Occurrences without a run of their own: a counted range (scheduler_down…), or one whose key another run
// holds.
struct Note {
  int64_t id = 0;
  std::string task;
  std::string value;
  Reason reason = Reason::kSchedulerDown;
  std::string strange_reason;          // as in Run
  RunState state = RunState::kMissed;  // what these occurrences count as: missed or skipped
  Instant first_due;
  Instant last_due;
  int64_t count = 1;   // less than there are between its ends where a person ran some; of 0 it is not read
  std::string run_id;  // the run that holds the key, or the newer occurrence that superseded them
  std::string detail;  // a clause for people: "down from … to …"
  Instant at;
};

struct AlertRow {
  std::string id;       // "a" + 20 hex; stable over repeats
  std::string episode;  // run id, or cause: "breaker/<task>/<n>", "outage/<incarnation>"
  std::string event;    // failure second_failure third_failure skipped missed manual_required breaker_open
                        // stuck recovered
  AlertLevel level = AlertLevel::kP3;
  std::string task;
  std::string run_id;
  std::string owner;
  std::string title;
  std::string body;  // JSON for channels: run id, key, what happens next, last failures, how to take over
  enum class State { kShown, kPending, kSent };
  State state = State::kPending;  // kShown: a P3, or nobody is configured; never sent
  Instant created_at;
  Instant next_try_at;
  int tries = 0;
  std::string channel;  // that took it
  std::string last_error;
};

struct AuditRow {
  int64_t id = 0;
  Instant at;
  std::string by;
  std::string action;  // "manual_resolve", "pause", "flag_set"…
  std::string task;
  std::string run_id;
  std::string reason;
  std::string detail;
};

struct Flag {
  std::string name;
  std::optional<CivilDay> date;  // nothing: undated
  std::string value;
  std::string by;
  Instant at;
  std::optional<Instant> expires;
};

struct Control {      // a pause
  std::string scope;  // "task/<id>", "label/<name>=<value>", "all"
  bool paused = false;
  std::string by;
  std::string reason;
  Instant at;
  int64_t version = 0;
};

struct TaskCursor {
  std::string task;
  std::string value;
  Instant in_force_since;             // occurrences are owed only if due after it
  Instant planned_through;            // every occurrence due at or before it has a row, a range or a note
  std::optional<Instant> last_start;  // first start of its newest run, for min_interval
  bool active = true;
  std::string schedule;  // fingerprint of what is due; another one owes nothing from before
};

struct RuleVersion {
  int64_t version = 0;
  std::string hash;
  Instant at;
  std::string by;
  int64_t tasks = 0;
  std::string changes;  // JSON list of RuleChange
};

}  // namespace duecourse
