// Rows of the SQLite store as values and back: one list of columns, one writer and one reader for each, in
// the same order. Internal to this room.
#pragma once

#include <string_view>

#include "store/rows.h"
#include "store/schema.h"
#include "store/sql_session.h"

namespace duecourse {

// Columns as text, so that SQL constants are joined from them at compile time.
#define DC_RUN_COLUMNS                                                                                      \
  "run.id, run.task, run.value, run.identity, run.due, run.business_date, run.key, run.state, run.reason, " \
  "run.detail, run.fence, run.attempts, run.counted, run.uncounted, run.failures, run.told, "               \
  "run.ladder_immediate, "                                                                                  \
  "run.ladder_backoff, run.ladder_catchup, run.next_at, run.next_lost_rerun, run.window_opens, "            \
  "run.window_ends, run.before_manual, run.before_claim, run.origin, run.extra, run.owed, run.supersedes, " \
  "run.superseded_by, run.cancel, run.met, run.rule_version, run.created_at, run.state_since, "             \
  "run.first_start, "                                                                                       \
  "node.incarnation, node.boot_id, run.lease_until\n"
#define DC_RUN_FROM \
  "FROM run\n"      \
  "LEFT JOIN node ON node.seq = run.owner\n"
// Open runs and those in manual_required, by the index that holds no others, whatever the planner thinks of
// it.
#define DC_OPEN_RUN_FROM           \
  "FROM run INDEXED BY run_open\n" \
  "LEFT JOIN node ON node.seq = run.owner\n"
#define DC_WHERE_OPEN "WHERE " DC_OPEN_STATES "\n"
#define DC_ATTEMPT_COLUMNS                                                                                 \
  "run.id, attempt.number, attempt.fence, attempt.kind, attempt.nonce, attempt.rule_version, node.node, "  \
  "node.incarnation, node.boot_id, attempt.claimed_at, attempt.ended_at, attempt.outcome, attempt.class, " \
  "attempt.code, attempt.summary, attempt.detail, attempt.by\n"
// A row that names a run has its value, key and business date from there.
#define DC_DECISION_COLUMNS                                                                             \
  "decision.id, run.id, decision.task, coalesce(decision.value, run.value), "                           \
  "coalesce(decision.key, run.key), coalesce(decision.business_date, run.business_date), decision.at, " \
  "decision.last_at, decision.count, decision.decision, decision.reason, decision.detail, "             \
  "decision.from_state, decision.to_state, decision.attempt, decision.error_code, decision.fence, "     \
  "decision.rule_version, node.node, node.zone_data, decision.recheck_at\n"
#define DC_DECISION_FROM                      \
  "FROM decision\n"                           \
  "LEFT JOIN run ON run.seq = decision.run\n" \
  "LEFT JOIN node ON node.seq = decision.owner\n"
#define DC_NOTE_COLUMNS "id, task, value, reason, state, first_due, last_due, count, run_id, detail, at\n"
#define DC_ALERT_COLUMNS                                                                                 \
  "id, episode, event, level, task, run_id, owner, title, body, state, created_at, next_try_at, tries, " \
  "channel, last_error\n"
#define DC_AUDIT_COLUMNS "id, at, by, action, task, run_id, reason, detail\n"
#define DC_FLAG_COLUMNS "name, date, value, by, at, expires\n"
#define DC_CONTROL_COLUMNS "scope, paused, by, reason, at, version\n"
#define DC_BREAKER_COLUMNS \
  "task, value, version, open, until, trial_run, failed_attempts, failed_ladders, opened_at, episode\n"
#define DC_CURSOR_COLUMNS "task, value, in_force_since, planned_through, last_start, schedule, active\n"
#define DC_VERSION_COLUMNS "version, hash, at, by, tasks, changes\n"

const char* LevelName(AlertLevel level);  // as it is stored
Run TakeRun(Take& take);
Attempt TakeAttempt(Take& take);
DecisionRow TakeDecision(Take& take);
Note TakeNote(Take& take);
AlertRow TakeAlert(Take& take);
AuditRow TakeAudit(Take& take);
Flag TakeFlag(Take& take);
Control TakeControl(Take& take);
Breaker TakeBreaker(Take& take);
TaskCursor TakeCursor(Take& take);
RuleVersion TakeVersion(Take& take);

// A run's columns from id to first_start, in the table's order; owner and lease follow.
void PutRun(Put& put, const Run& run);
// Columns as named above, but for ids that the database gives.
void PutNote(Put& put, const Note& note);
void PutAlert(Put& put, const AlertRow& row);
void PutAudit(Put& put, const AuditRow& row);
void PutFlag(Put& put, const Flag& flag);
void PutControl(Put& put, const Control& control);
void PutBreaker(Put& put, const Breaker& breaker);
void PutCursor(Put& put, const TaskCursor& cursor);

}  // namespace duecourse
