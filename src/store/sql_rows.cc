#include "store/sql_rows.h"

#include <iterator>

namespace duecourse {
namespace {

constexpr FailureClass kClasses[] = {FailureClass::kNone, FailureClass::kTransient, FailureClass::kBusiness,
                                     FailureClass::kUnknown, FailureClass::kNotReady};

std::optional<FailureClass> ClassFromName(std::string_view name) {
  for (FailureClass value : kClasses) {
    if (name == FailureClassName(value)) return value;
  }
  return std::nullopt;
}

constexpr const char* kLevels[] = {"none", "P3", "P2", "P1"};

std::optional<AlertLevel> LevelFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kLevels); ++i) {
    if (name == kLevels[i]) return static_cast<AlertLevel>(i);
  }
  return std::nullopt;
}

}  // namespace

const char* LevelName(AlertLevel level) { return kLevels[static_cast<size_t>(level)]; }

namespace {

constexpr const char* kAlertStates[] = {"shown", "pending", "sent"};

std::optional<AlertRow::State> AlertStateFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kAlertStates); ++i) {
    if (name == kAlertStates[i]) return static_cast<AlertRow::State>(i);
  }
  return std::nullopt;
}

}  // namespace

Run TakeRun(Take& take) {
  Run run;
  run.id = take.RunId();
  run.task = take.Text();
  run.value = take.Text();
  run.identity = take.Text();
  run.due = take.At();
  run.business_date = take.Day();
  run.key = take.MaybeText();
  run.state = take.Name(RunStateFromName, RunState::kManualRequired);
  run.reason = take.NameOr(ReasonFromName, Reason::kInternalInvariant, &run.strange_reason);
  run.detail = take.Text();
  run.fence = take.Fence();
  run.attempts = take.Int();
  run.counted = take.Int();
  run.uncounted = take.Int();
  run.failures = take.Int();
  run.told = take.Name(LevelFromName, AlertLevel::kNone);
  run.ladder.immediate = take.Int();
  run.ladder.backoff = take.Int();
  run.ladder.catchup = take.Int();
  run.next_at = take.MaybeAt();
  run.next_lost_rerun = take.Bool();
  run.window_opens = take.At();
  run.window_ends = take.At();
  run.before_manual = take.Name(RunStateFromName, RunState::kManualRequired);
  run.before_claim = take.Name(RunStateFromName, RunState::kManualRequired);
  run.origin = take.Name(TriggerKindFromName, TriggerKind::kSchedule);
  run.extra = take.Bool();
  run.owed = take.Bool();
  run.supersedes = take.Text();
  run.superseded_by = take.Text();
  run.cancel = take.Text();
  run.met = take.Text();
  run.rule_version = take.Number();
  run.created_at = take.At();
  run.state_since = take.At();
  run.first_start = take.MaybeAt();
  run.incarnation = take.Text();
  run.boot_id = take.Text();
  run.lease_until = take.Span();
  return run;
}

void PutRun(Put& put, const Run& run) {
  put << run.id << run.task << run.value << run.identity << run.due << run.business_date << run.key
      << RunStateName(run.state) << ReasonName(run.reason) << run.detail << run.fence << run.attempts
      << run.counted << run.uncounted << run.failures << LevelName(run.told) << run.ladder.immediate
      << run.ladder.backoff << run.ladder.catchup << run.next_at << run.next_lost_rerun << run.window_opens
      << run.window_ends << RunStateName(run.before_manual) << RunStateName(run.before_claim)
      << TriggerKindName(run.origin) << run.extra << run.owed << run.supersedes << run.superseded_by
      << run.cancel << run.met << run.rule_version << run.created_at << run.state_since << run.first_start;
}

Attempt TakeAttempt(Take& take) {
  Attempt attempt;
  attempt.run_id = take.RunId();
  attempt.number = take.Int();
  attempt.fence = take.Fence();
  attempt.kind = take.Name(TriggerKindFromName, TriggerKind::kSchedule);
  attempt.nonce = take.Text();
  attempt.rule_version = take.Number();
  attempt.node = take.Text();
  attempt.incarnation = take.Text();
  attempt.boot_id = take.Text();
  attempt.claimed_at = take.At();
  attempt.ended_at = take.MaybeAt();
  attempt.outcome = take.Name(OutcomeFromName, Outcome::kNone);
  attempt.failure_class = take.Name(ClassFromName, FailureClass::kNone);
  attempt.code = take.Text();
  attempt.summary = take.Text();
  attempt.detail = take.Text();
  attempt.by = take.Text();
  return attempt;
}

DecisionRow TakeDecision(Take& take) {
  DecisionRow row;
  row.id = take.Number();
  row.run_id = take.Text();
  row.task = take.Text();
  row.value = take.Text();
  row.key = take.Text();
  row.business_date = take.Day();
  row.at = take.At();
  row.last_at = take.At();
  row.count = take.Number();
  row.decision = take.Text();
  row.reason = take.NameOr(ReasonFromName, Reason::kInternalInvariant, &row.strange_reason);
  row.detail = take.Text();
  row.from_state = take.Text();
  row.to_state = take.Text();
  row.attempt = take.Int();
  row.error_code = take.Text();
  row.fence = take.Number();
  row.rule_version = take.Number();
  row.node = take.Text();
  row.zone_data = take.Text();
  row.recheck_at = take.MaybeAt().value_or(kNever);
  return row;
}

Note TakeNote(Take& take) {
  Note note;
  note.id = take.Number();
  note.task = take.Text();
  note.value = take.Text();
  note.reason = take.NameOr(ReasonFromName, Reason::kInternalInvariant, &note.strange_reason);
  note.state = take.Name(RunStateFromName, RunState::kMissed);
  note.first_due = take.At();
  note.last_due = take.At();
  note.count = take.Number();
  note.run_id = take.Text();
  note.detail = take.Text();
  note.at = take.At();
  return note;
}

void PutNote(Put& put, const Note& note) {
  put << note.task << note.value << ReasonName(note.reason) << RunStateName(note.state) << note.first_due
      << note.last_due << note.count << note.run_id << note.detail << note.at;
}

AlertRow TakeAlert(Take& take) {
  AlertRow row;
  row.id = take.Text();
  row.episode = take.Text();
  row.event = take.Text();
  row.level = take.Name(LevelFromName, AlertLevel::kP1);
  row.task = take.Text();
  row.run_id = take.Text();
  row.owner = take.Text();
  row.title = take.Text();
  row.body = take.Text();
  row.state = take.Name(AlertStateFromName, AlertRow::State::kPending);
  row.created_at = take.At();
  row.next_try_at = take.At();
  row.tries = take.Int();
  row.channel = take.Text();
  row.last_error = take.Text();
  return row;
}

void PutAlert(Put& put, const AlertRow& row) {
  put << row.id << row.episode << row.event << LevelName(row.level) << row.task << row.run_id << row.owner
      << row.title << row.body << kAlertStates[static_cast<size_t>(row.state)] << row.created_at
      << row.next_try_at << row.tries << row.channel << row.last_error;
}

AuditRow TakeAudit(Take& take) {
  AuditRow row;
  row.id = take.Number();
  row.at = take.At();
  row.by = take.Text();
  row.action = take.Text();
  row.task = take.Text();
  row.run_id = take.Text();
  row.reason = take.Text();
  row.detail = take.Text();
  return row;
}

void PutAudit(Put& put, const AuditRow& row) {
  put << row.at << row.by << row.action << row.task << row.run_id << row.reason << row.detail;
}

Flag TakeFlag(Take& take) {
  Flag flag;
  flag.name = take.Text();
  flag.date = take.MaybeDay();
  flag.value = take.Text();
  flag.by = take.Text();
  flag.at = take.At();
  flag.expires = take.MaybeAt();
  return flag;
}

void PutFlag(Put& put, const Flag& flag) {
  put << flag.name << flag.date << flag.value << flag.by << flag.at << flag.expires;
}

Control TakeControl(Take& take) {
  Control control;
  control.scope = take.Text();
  control.paused = take.Bool();
  control.by = take.Text();
  control.reason = take.Text();
  control.at = take.At();
  control.version = take.Number();
  return control;
}

void PutControl(Put& put, const Control& control) {
  put << control.scope << control.paused << control.by << control.reason << control.at << control.version;
}

Breaker TakeBreaker(Take& take) {
  Breaker breaker;
  breaker.task = take.Text();
  breaker.value = take.Text();
  breaker.version = take.Number();
  breaker.open = take.Bool();
  breaker.until = take.MaybeAt();
  breaker.trial_run = take.Text();
  breaker.failed_attempts = take.Int();
  breaker.failed_ladders = take.Int();
  breaker.opened_at = take.At();
  breaker.episode = take.Text();
  return breaker;
}

void PutBreaker(Put& put, const Breaker& breaker) {
  put << breaker.task << breaker.value << breaker.version << breaker.open << breaker.until
      << breaker.trial_run << breaker.failed_attempts << breaker.failed_ladders << breaker.opened_at
      << breaker.episode;
}

TaskCursor TakeCursor(Take& take) {
  TaskCursor cursor;
  cursor.task = take.Text();
  cursor.value = take.Text();
  cursor.in_force_since = take.At();
  cursor.planned_through = take.At();
  cursor.last_start = take.MaybeAt();
  cursor.schedule = take.Text();
  cursor.active = take.Bool();
  return cursor;
}

void PutCursor(Put& put, const TaskCursor& cursor) {
  put << cursor.task << cursor.value << cursor.in_force_since << cursor.planned_through << cursor.last_start
      << cursor.schedule << cursor.active;
}

RuleVersion TakeVersion(Take& take) {
  RuleVersion version;
  version.version = take.Number();
  version.hash = take.Text();
  version.at = take.At();
  version.by = take.Text();
  version.tasks = take.Number();
  version.changes = take.Text();
  return version;
}

}  // namespace duecourse
