// The store's calls: meaningful and atomic. Each is a value; a batch of them is
// one commit (store.h). Field by field this is the whole contract between the
// engine and any store.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/rows.h"

namespace duecourse {

// The newest claim owns the key until its lease ends. Everything that must never be violated is checked here again, at
// store time: state and fence (so: key not done, not running), cap, limits, window, versions. On success: fence + 1, the
// attempt row, state running, the lease, `counted` + 1 where it counts, and the decision row, in one transaction.
struct ClaimCall {
  std::string run_id;
  RunState expected_state = RunState::kScheduled;
  int64_t expected_fence = 0;
  std::string nonce;                 // random, per call; FindNonce reads back what became of an unknown reply
  TriggerKind kind = TriggerKind::kSchedule;
  bool counts = true;                // toward the cap; false for attempts by hand
  Millis ttl;
  Instant not_before = kLongAgo;     // window and maintenance, as the decision saw them
  Instant not_after = kNever;        // exclusive
  int attempts_max = 1;              // asked only where `counts`
  int task_limit = 1;                // live leases of (task, value), this one included; 0: not asked
  Millis min_interval;               // since last_start of (task, value); asked only of a run's first attempt; 0: not asked
  std::vector<std::pair<std::string, int>> pools;  // name, limit
  int64_t breaker_version = -1;      // -1: not asked; a breaker that has no row is version 0
  int64_t control_version = -1;      // newest version of all controls that the decision saw; -1: not asked
  int64_t rule_version = 0;
  bool key_must_be_free = true;      // extra check that no other run of this key is running or success
  std::string by;                    // person, for attempts by hand
  std::string incarnation;
  std::string boot_id;
  DecisionRow decision;              // its attempt and fence are filled in by the store
};
struct ClaimReply {
  bool granted = false;
  int64_t fence = 0;
  int attempt = 0;
  Instant at;                        // store time of the claim
  Reason refusal = Reason::kLockOccupied;
  std::string holder;                // run that is in the way, where there is one
  Instant recheck_at = kNever;
};

// A run to write, with its first claim in the same transaction where the decision was already yes.
struct PlannedRun {
  Run run;
  std::optional<ClaimCall> claim;
  std::vector<DecisionRow> decisions;     // written with the row (a first "wait", a key_error…)
  std::vector<AlertRow> alerts;
};
// A change of a run's state without an attempt: window end, skip, missed, manual, cancel, supersede, a person's word.
struct MoveCall {
  Run after;                              // the whole row; id names it
  RunState expected_state = RunState::kScheduled;
  int64_t expected_fence = 0;
  std::vector<DecisionRow> decisions;
  std::vector<AlertRow> alerts;
  std::optional<Breaker> breaker;
  std::optional<AuditRow> audit;
  std::vector<Flag> flags;
};
struct MoveReply {
  bool moved = false;
  RunState state = RunState::kScheduled;  // as it stands, where it was not moved
  int64_t fence = 0;
};
// Occurrences that came due: rows, ranges and notes together with the cursor, and what the newest of them supersedes.
struct PlanCall {
  std::string task;
  std::string value;
  std::optional<Instant> planned_through; // nothing: the cursor stays (a person's trigger)
  std::vector<PlannedRun> runs;
  std::vector<Note> notes;
  std::vector<DecisionRow> note_decisions;
  std::vector<MoveCall> supersede;        // done before the runs are written
  std::vector<AlertRow> alerts;
  std::optional<AuditRow> audit;
};
struct PlannedReply {
  enum class Kind { kCreated, kIdentityKnown, kKeyKnown };
  Kind kind = Kind::kCreated;
  std::string holder;                     // run that has the identity or the key
  RunState holder_state = RunState::kScheduled;
  ClaimReply claim;                       // where one was asked and the row was created
};
struct PlanReply {
  std::vector<PlannedReply> runs;         // kKeyKnown wrote a note `already_done` in place of the run
  std::vector<MoveReply> supersede;
};

struct FindNonceCall { std::string run_id; std::string nonce; };   // -> ClaimReply: granted if that claim was committed

struct RenewCall { std::string run_id; int64_t fence = 0; Millis ttl; };
struct RenewReply { bool held = false; };                          // false: lost; stop the attempt

// Result of an attempt with all that follows from it. Accepted with the newest fence, even after the lease's end, until
// the attempt was marked lost; else one `late` decision row is written and nothing changes.
struct FinishCall {
  Run after;                              // state, next_at, ladder, counts after
  int64_t fence = 0;
  Attempt end;                            // outcome, class, code, summary, detail, ended_at
  bool lost = false;                      // MarkLost: only after the lease's end, or where the owner is proven dead
  std::vector<DecisionRow> decisions;
  std::vector<AlertRow> alerts;
  std::optional<Breaker> breaker;
  std::vector<Flag> flags;
  std::optional<AuditRow> audit;
};
struct FinishReply { bool accepted = false; };

struct FlagCall { Flag flag; bool remove = false; AuditRow audit; };
struct ControlCall { Control control; AuditRow audit; };
struct FoldCall { int64_t decision_id = 0; Instant last_at; int64_t add = 0; };  // count += add
struct NoteDecisionCall { DecisionRow row; };                                     // a decision row alone (a new answer of a waiting run)
struct AlertsCall {                                                               // new rows, and rows as they are after a delivery
  std::vector<AlertRow> rows;
};
struct BreakerCall { Breaker breaker; };

// The latest run of each value of a task that fits; for preconditions on another task.
struct FindRunsCall {
  std::string task;
  std::optional<std::string> value;
  std::optional<CivilDay> business_date;
  std::optional<std::string> key;
  Instant due_at_or_before = kNever;
};
struct FindRunsReply { std::vector<Run> runs; };

struct ActivateCall {
  RuleVersion version;                                        // version 0: given by the store
  std::vector<std::pair<std::string, std::string>> texts;     // file name, text
  std::vector<TaskCursor> cursors;                            // added or changed; inactive ones are removed tasks
  std::vector<MoveCall> moves;                                // open runs of removed tasks
};
struct ActivateReply { int64_t version = 0; };

// History older than `before`, never an open run, never the newest runs' keys younger than their `keep`.
struct PruneCall { Instant before; int limit = 1000; };
struct PruneReply { int64_t rows = 0; };

using StoreCall = std::variant<ActivateCall, PlanCall, ClaimCall, FindNonceCall, RenewCall, FinishCall, MoveCall, FlagCall,
                               ControlCall, FoldCall, NoteDecisionCall, AlertsCall, BreakerCall, FindRunsCall, PruneCall>;
struct NoReply {};
struct DecisionReply { int64_t id = 0; };
using StoreReply = std::variant<NoReply, ActivateReply, PlanReply, ClaimReply, RenewReply, FinishReply, MoveReply,
                                DecisionReply, FindRunsReply, PruneReply>;

}  // namespace duecourse
