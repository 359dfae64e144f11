// The store's calls: meaningful and atomic. Each is a value; a batch of them is
// one commit (store.h). Field by field this is the whole contract between the
// engine and any store.
// An `at` (created_at, ended_at) that is not given, kLongAgo, is store time.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/claim_call.h"

namespace duecourse {

// How many calls whoever makes or gathers batches puts into one commit, about. Of ten thousand runs that are
// due at once the first start while the others are still stored; more commits than these few cost little
// beside a thousand starts (./dev bench W1, W5).
inline constexpr size_t kBatchCallsMax = 500;

// An occurrence that lies in a counted range and gets a run of its own after all, by a person's word: the
// range counts one less and says so, in the same transaction, so that it is in one place only.
struct Uncount {
  Reason reason = Reason::kSchedulerDown;  // of the range; of several over its due instant the newest
  std::string detail;                      // added to the range's clause: who runs it, and why
  DecisionRow row;                         // written where there was such a range
};
// A run to write, with its first claim in the same transaction where the decision was already yes.
struct PlannedRun {
  Run run;
  std::optional<ClaimCall> claim;
  std::vector<DecisionRow> decisions;  // written with the row (a first "wait", a key_error…)
  std::vector<AlertRow> alerts;
  std::optional<Uncount> uncount = std::nullopt;
  // A person's: where the claim is refused nothing at all is written.
  bool only_with_claim = false;
};
// A change of a run's state without an attempt: window end, skip, missed, manual, cancel, supersede, a
// person's word; or of the row alone, in the same state. Refused: what is no edge of the life of a run, into
// or out of running, out of manual_required without an audit row that names a person, a second superseded_by.
struct MoveCall {
  Run after;  // the whole row; id names it. What planning and claims wrote stays as it is
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
  std::string superseded_by;  // as it stands, where it was not moved
  int64_t decision_id = 0;    // row of the last of its decisions, for folding; 0: none
};
// Occurrences that came due: rows, ranges and notes together with the cursor, and what the newest of them
// supersedes.
struct PlanCall {
  std::string task;
  std::string value;
  std::optional<Instant> planned_through;  // nothing: the cursor stays (a person's trigger)
  std::vector<PlannedRun> runs;
  std::vector<Note> notes;
  std::vector<DecisionRow> note_decisions;
  std::vector<MoveCall> supersede;  // done before the runs are written
  std::vector<AlertRow> alerts;
};
struct PlannedReply {
  enum class Kind { kCreated, kIdentityKnown, kKeyKnown, kRefused };  // kRefused: of only_with_claim
  Kind kind = Kind::kCreated;
  std::string holder;  // run that has the identity or the key
  RunState holder_state = RunState::kScheduled;
  Reason holder_reason = Reason::kNotDue;
  ClaimReply claim;         // where one was asked and the row was created
  int64_t decision_id = 0;  // row of the last of its decisions, for folding; 0: none
};
struct PlanReply {
  // kKeyKnown wrote a note `already_done` in place of the run, but for only_with_claim.
  std::vector<PlannedReply> runs;
  std::vector<MoveReply> supersede;
};

// Result of an attempt with all that follows from it. Accepted with the newest fence, even after the lease's
// end, until the attempt was marked lost; else one decision row, `late`, is written and nothing changes. A
// `lost` that is refused leaves no row: it is nobody's result.
struct FinishCall {
  Run after;  // state, next_at, ladder, counts after
  int64_t fence = 0;
  Attempt end;        // outcome, class, code, summary, detail, ended_at
  bool lost = false;  // MarkLost: only after the lease's end, or where the owner is proven dead
  std::vector<DecisionRow> decisions;
  std::vector<AlertRow> alerts;
  std::optional<Breaker> breaker;
  std::vector<Flag> flags;
};
struct FinishReply {
  bool accepted = false;
  int64_t decision_id = 0;  // row of the last of its decisions, for folding; 0: none
};

struct FlagCall {
  Flag flag;
  bool remove = false;
  AuditRow audit;
};
struct ControlCall {
  Control control;
  AuditRow audit;
};
// The same answer again.
struct FoldCall {
  int64_t decision_id = 0;
  Instant last_at;
  int64_t add = 0;  // count += add
};
// A decision row alone: a new answer of a waiting run.
struct NoteDecisionCall {
  DecisionRow row;
  std::string met = {};  // what its run's `met` is from now on; empty: as it is
  // Its run, while it is `scheduled`, has the row's reason and this detail from now on; nothing: as it is.
  std::optional<std::string> shown = std::nullopt;
};
// New rows, and rows as they are after a delivery.
struct AlertsCall {
  std::vector<AlertRow> rows;
};
struct BreakerCall {
  Breaker breaker;
};
// What a person did that changes nothing else here.
struct AuditCall {
  AuditRow row;
};

// The latest run of each value of a task that fits, for preconditions on another task; or one run as it
// stands.
struct FindRunsCall {
  std::string task;
  std::optional<std::string> value;
  std::optional<CivilDay> business_date;
  std::optional<std::string> key;
  Instant due_at_or_before = kNever;
  std::string run_id = {};  // given: this run alone, whatever else is asked
};
struct FindRunsReply {
  std::vector<Run> runs;
};

struct ActivateCall {
  RuleVersion version;                                     // version 0: given by the store
  std::vector<std::pair<std::string, std::string>> texts;  // file name, text
  std::vector<TaskCursor> cursors;  // added or changed; inactive ones are removed tasks
};
struct ActivateReply {
  int64_t version = 0;  // the active one; the same as before where the hash is the same
};

// History older than `before`: attempts and decisions of runs that ended before it, then the rows of those
// runs, notes, settled alerts, audit rows, old flags. Never an open run or manual_required, never the
// newest run of a (task, value), never the newest row of a table (ids are not given twice), never the row of
// a run whose key is still kept: due at or after its task's instant in `keys_from`, for a task that is not
// named there kKeysKept before now.
inline constexpr Millis kKeysKept = Days(400);
struct PruneCall {
  Instant before;
  int limit = 1000;  // rows, about: a run goes with all that belongs to it
  std::vector<std::pair<std::string, Instant>> keys_from;  // task, now - idempotency.keep
};
struct PruneReply {
  int64_t rows = 0;
};

using StoreCall = std::variant<ActivateCall, PlanCall, ClaimCall, FindNonceCall, RenewCall, FinishCall,
                               MoveCall, FlagCall, ControlCall, FoldCall, NoteDecisionCall, AlertsCall,
                               BreakerCall, FindRunsCall, PruneCall, AuditCall>;
struct NoReply {};
struct DecisionReply {
  int64_t id = 0;
};
using StoreReply = std::variant<NoReply, ActivateReply, PlanReply, ClaimReply, RenewReply, FinishReply,
                                MoveReply, DecisionReply, FindRunsReply, PruneReply>;

}  // namespace duecourse
