// What the engine remembers, as plain structs. Internal to this room.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "decide/decide.h"
#include "engine/engine.h"
#include "engine/lane.h"

namespace duecourse {

using Rules = std::shared_ptr<const RuleSet>;
// A row that the store refuses to change is read again at once this often in a row, then every kInspectAgain.
inline constexpr int kRefusalsInARow = 3;
// A store that refuses this long is told of, from memory (GUARANTEES, scenario 83).
inline constexpr Millis kStoreAlertAfter = Seconds(30);
inline constexpr const char* kStoreAlert = "store";
// Dead timers are swept out where there are more of them than this, and than a few for each run.
inline constexpr size_t kTimersSpare = 256;
// Processes of a former attempt that survive KILL this long are a person's.
inline constexpr Millis kAliveStuckAfter = Minutes(10);
// How often what would not die is looked at again.
inline constexpr Millis kInspectAgain = Seconds(30);
// The newest failures of a run, for those who are told of it.
inline constexpr size_t kFailuresTold = 3;
// Occurrences looked at for the one whose window contains now.
inline constexpr int kOccurrencesTried = 1000;
// `trigger --extra` tries keys #m1 to #m100.
inline constexpr int kExtraKeysTried = 100;

// What a precondition last answered for a run.
struct Observed {
  PreconditionFact fact;
  std::string code;
  std::string text;
  std::string help;     // the command with which a person can make it true, where there is one
  uint64_t ticket = 0;  // of the look under way, 0: none
  std::string mark;     // in Run::met once it was met for good; empty where it must be met each time
};

// A run that is not final, and what is under way for it.
struct OpenRun {
  Run run;
  size_t lane = kNoLane;
  Rules rules;                 // of the attempt under way, else the active set; keeps `task` alive
  const Task* task = nullptr;  // null: its rule is gone
  Rules gone_rules;            // the last that had it, for whom to tell; null where this daemon never saw it
  const Task* gone_task = nullptr;
  size_t value = 0;
  Occurrence occurrence;
  std::vector<Observed> observed;
  enum class Flight { kNone, kPlan, kClaim, kFinish, kMove, kRead };
  Flight flight = Flight::kNone;
  std::string nonce;             // of the claim in flight
  Instant not_before;            // the store refused a claim: no wake asks for another sooner
  bool unwritten = false;        // a person asks about it: it gets its row with the claim, or none at all
  std::vector<Decision> passed;  // what the person who forces its claim passes over
  Decision last;                 // newest answer
  std::string last_text;
  bool told_once = false;  // an answer of this wait is in the store, or on its way
  Reason told_reason = Reason::kNotDue;
  std::string told_text;
  int64_t decision_id = 0;     // its row, 0: not known yet
  uint64_t answer_ticket = 0;  // of the newest answer's row
  int64_t folded = 0;          // repeats not yet in the store
  Instant folded_at;
  uint64_t timer = 0;  // generation: older timers of this run are dead
  Instant timer_at = kNever;
  bool dirty = false;              // to be asked in this step
  bool reserved = false;           // counted in its lane's and pools' running
  std::vector<std::string> pools;  // in which it is counted
  std::vector<std::string> waits_for_pools;  // among whose waiting it stands
  bool executing = false;          // the executor has it
  bool due_in_pause = false;       // it came due while paused, so `resume` owes it nothing
  bool inspecting = false;         // a former daemon's attempt is being looked at
  bool alive = false;              // ... and would not die
  TriggerKind claim_kind = TriggerKind::kSchedule;
  Instant claimed_at;
  Instant start_limit = kNever;  // of the claim: what still waits for a slot then does not begin
  std::optional<Ending> ended;  // an ending that waits for the flight before it
  std::optional<Ending>
      finishing;             // the ending on its way into the store; needed again if it never got there
  std::string ending_cause;  // cancelled by whom and why, shutdown…
  std::optional<KillWhy> killed;
  std::optional<Request> asked;           // a person's trigger or rerun that waits for this run's claim
  int refusals = 0;                       // in a row, by a store whose row is not what is known here
  std::set<std::string> waits_for_flags;  // where it stands in the tables of those who wait
  std::set<std::string> waits_for_tasks;
  Force force;
  std::vector<Attempt> failures;  // newest first, at most kFailuresTold, for alerts
  Instant stuck_at = kNever;
  bool stuck_told = false;
  Instant renew_at = kNever;
};

struct PoolState {
  std::set<std::string> holders;  // runs with a lease, or a claim in flight
  std::set<std::string> waiting;
  int running() const { return static_cast<int>(holders.size()); }
};

struct Timer {
  Instant at;
  enum class Kind : uint8_t { kRun, kAlert, kFold } kind = Kind::kRun;
  uint64_t generation = 0;
  std::string id;  // run or alert
  friend bool operator>(const Timer& a, const Timer& b) { return a.at > b.at; }
};
// A lane's timer carries its next due instant. Apart from the others, for there may be a hundred thousand.
struct LaneTimer {
  Instant at;
  uint32_t lane = 0;
  uint32_t generation = 0;
  friend bool operator>(const LaneTimer& a, const LaneTimer& b) { return a.at > b.at; }
};

// What a store call's reply continues.
struct Pending {
  enum class Kind {
    kNone,
    kPlan,
    kClaim,
    kMove,
    kFinish,
    kDecision,
    kFindRuns,
    kRenew,
    kFlag,
    kControl,
    kActivate,
    kFlush,
    kRead
  };
  Kind kind = Kind::kNone;
  std::vector<std::string> runs;        // kPlan: in the call's order; else one
  std::vector<std::string> superseded;  // kPlan
  std::string lane_task;  // kPlan of a lane: whose, so that it is found in a set that changed meanwhile
  std::string lane_value;
  uint64_t ticket = 0;           // kFindRuns: of the look; kDecision: of the answer
  size_t index = 0;              // kFindRuns: precondition; kFlag: 1 where it was removed
  std::vector<AlertRow> alerts;  // sent once the call is durable
  std::optional<Request> request;
  std::vector<Run> after;  // kMove, kFinish and superseded: the rows as asked
  std::vector<Flag> flags;
  std::optional<Control> control;
  size_t changes = 0;  // kActivate
};

// A change of a run's state without an attempt, and who asked for it.
struct Change {
  RunState state = RunState::kSkipped;
  Reason reason = Reason::kCancelled;
  std::string detail;
  std::optional<AuditRow> audit = std::nullopt;
  std::optional<Request> request = std::nullopt;
};

// Repeats of an answer whose row is still on its way: added when it is there.
struct LateCount {
  int64_t add = 0;
  Instant last_at;
};

// Preconditions that are met for good, as Run::met has them: what is there already, and what came.
std::string MetOf(const OpenRun& open);
// Why it starts: all is true, or the first answer that a person passes over.
inline Reason StartReason(const OpenRun& open) {
  return open.passed.empty() ? Reason::kAllConditionsMet : open.passed.front().reason;
}
// When the next maintenance of this task begins, later than `now`; kNever where none does.
Instant NextMaintenance(const ServerConfig& config, const Task& task, Instant now);
// People are told a run's instants in this zone; UTC where its rule is gone.
inline Zone ZoneOf(const OpenRun& open) {
  return open.task == nullptr ? Zone::Utc() : ScheduleOf(open.task->rule(), open.value).zone;
}
// "attempt 2 failed: exit 75".
std::string AttemptText(const Attempt& attempt);
// What a change to this state is to people, where it is anything.
std::optional<AlertRule::Event> AlertEventOf(RunState state);
}  // namespace duecourse
