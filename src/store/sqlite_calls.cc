#include "store/sqlite_calls.h"

#include "store/sql_rows.h"

namespace duecourse {
namespace {

constexpr const char* kFindHead = R"sql(
SELECT seq, task, value, due, state, reason, fence, attempts, counted, window_ends, superseded_by,
       met, first_start, owner, lease_until
FROM run
WHERE id = ?
)sql";

constexpr const char* kInsertDecision = R"sql(
INSERT INTO decision (run, task, value, key, business_date, at, last_at, count, decision, reason, detail,
                      from_state, to_state, attempt, error_code, fence, rule_version, owner, recheck_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
)sql";

constexpr const char* kFold = R"sql(
UPDATE decision
SET last_at = max(last_at, ?2),
    count = iif(count > 9223372036854775807 - ?3, 9223372036854775807, count + ?3)
WHERE id = ?1
)sql";

constexpr const char* kWriteAlert = R"sql(
INSERT INTO alert (id, episode, event, level, task, run_id, owner, title, body, state, created_at,
                   next_try_at, tries, channel, last_error)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET episode = excluded.episode,
    event = excluded.event,
    level = excluded.level,
    task = excluded.task,
    run_id = excluded.run_id,
    owner = excluded.owner,
    title = excluded.title,
    body = excluded.body,
    state = excluded.state,
    created_at = excluded.created_at,
    next_try_at = excluded.next_try_at,
    tries = excluded.tries,
    channel = excluded.channel,
    last_error = excluded.last_error
)sql";

constexpr const char* kInsertAudit = R"sql(
INSERT INTO audit (at, by, action, task, run_id, reason, detail)
VALUES (?, ?, ?, ?, ?, ?, ?)
)sql";

constexpr const char* kDeleteFlag = R"sql(
DELETE FROM flag
WHERE name = ?
  AND date IS ?
)sql";

constexpr const char* kInsertFlag = R"sql(
INSERT INTO flag (name, date, value, by, at, expires)
VALUES (?, ?, ?, ?, ?, ?)
)sql";

constexpr const char* kWriteBreaker = R"sql(
INSERT INTO breaker (task, value, version, open, until, trial_run, failed_attempts, failed_ladders, opened_at,
                     episode)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (task, value) DO UPDATE
SET version = excluded.version,
    open = excluded.open,
    until = excluded.until,
    trial_run = excluded.trial_run,
    failed_attempts = excluded.failed_attempts,
    failed_ladders = excluded.failed_ladders,
    opened_at = excluded.opened_at,
    episode = excluded.episode
)sql";

constexpr const char* kWriteControl = R"sql(
INSERT INTO control (scope, paused, by, reason, at, version)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (scope) DO UPDATE
SET paused = excluded.paused,
    by = excluded.by,
    reason = excluded.reason,
    at = excluded.at,
    version = excluded.version
)sql";

constexpr const char* kWriteMet = R"sql(
UPDATE run
SET met = ?
WHERE id = ?
)sql";

constexpr const char* kShowAnswer = R"sql(
UPDATE run
SET reason = ?,
    detail = ?
WHERE id = ?
  AND state = 'scheduled'
)sql";

constexpr const char* kInsertNote = R"sql(
INSERT INTO note (task, value, reason, state, first_due, last_due, count, run_id, detail, at, identity)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
)sql";

}  // namespace

void SqliteCalls::Begin(const StoreOwner& owner, int64_t owner_seq) {
  owner_ = owner;
  owner_seq_ = owner_seq;
  Forget();
}

void SqliteCalls::BeginCommit(StoreTime now, std::string closed) {
  now_ = now;
  closed_ = std::move(closed);
}

void SqliteCalls::Forget() {
  newest_control_.reset();
  active_rules_.reset();
  planning_ = nullptr;
  planning_started_ = false;
}

StoreReply SqliteCalls::Do(const StoreCall& call) {
  return std::visit([this](const auto& one) { return StoreReply(Call(one)); }, call);
}

std::optional<SqliteCalls::Head> SqliteCalls::FindHead(const std::string& id) {
  Head head;
  auto take_head = [&](Take& take) {
    Run& run = head.run;
    head.seq = take.Number();
    run.id = id;
    run.task = take.Text();
    run.value = take.Text();
    run.due = take.At();
    run.state = take.Name(RunStateFromName, RunState::kManualRequired);
    run.reason = take.Name(ReasonFromName, Reason::kInternalInvariant);
    run.fence = take.Number();
    run.attempts = take.Int();
    run.counted = take.Int();
    run.window_ends = take.At();
    run.superseded_by = take.Text();
    run.met = take.Text();
    run.first_start = take.MaybeAt();
    // Only whether it is ours matters, so another's name is not looked up.
    if (take.MaybeNumber() == owner_seq_) run.incarnation = owner_.incarnation;
    run.lease_until = take.Span();
  };
  if (!session_.One(
          kFindHead, [&](Put& put) { put << id; }, take_head))
    return std::nullopt;
  return head;
}

int64_t SqliteCalls::WriteDecision(const DecisionRow& row, const Head* head) {
  std::optional<Head> named;
  if (!row.run_id.empty() && (head == nullptr || head->run.id != row.run_id)) {
    named = FindHead(row.run_id);
    head = named ? &*named : nullptr;
  }
  Instant at = OrNow(row.at, now_);
  session_.Exec(kInsertDecision, [&](Put& put) {
    if (head != nullptr) {
      put << head->seq << head->run.task << std::nullopt << std::nullopt << std::nullopt;
    } else {
      put << std::nullopt << row.task << row.value << row.key << row.business_date;
    }
    put << at << std::max(at, row.last_at) << row.count << row.decision << ReasonName(row.reason)
        << row.detail << row.from_state << row.to_state << row.attempt << row.error_code << row.fence
        << row.rule_version << owner_seq_;
    if (row.recheck_at == kNever) {
      put << std::nullopt;
    } else {
      put << row.recheck_at;
    }
  });
  return session_.last_insert_id();
}

int64_t SqliteCalls::WriteDecisions(const std::vector<DecisionRow>& rows, const Head& head) {
  int64_t last = 0;
  for (const DecisionRow& row : rows) last = WriteDecision(row, &head);
  return last;
}

void SqliteCalls::WriteAlerts(const std::vector<AlertRow>& rows) {
  for (AlertRow row : rows) {
    row.created_at = OrNow(row.created_at, now_);
    session_.Exec(kWriteAlert, [&](Put& put) { PutAlert(put, row); });
  }
}

void SqliteCalls::WriteAudit(const AuditRow& row) {
  session_.Exec(kInsertAudit, [&](Put& put) {
    put << OrNow(row.at, now_) << row.by << row.action << row.task << row.run_id << row.reason << row.detail;
  });
}

void SqliteCalls::WriteFlags(const std::vector<Flag>& flags) {
  for (Flag flag : flags) {
    flag.at = OrNow(flag.at, now_);
    session_.Exec(kDeleteFlag, [&](Put& put) { put << flag.name << flag.date; });
    session_.Exec(kInsertFlag, [&](Put& put) { PutFlag(put, flag); });
  }
}

void SqliteCalls::WriteBreaker(const Breaker& breaker) {
  session_.Exec(kWriteBreaker, [&](Put& put) { PutBreaker(put, breaker); });
}

bool SqliteCalls::WriteNote(const Note& note, const std::string& identity) {
  Note row = note;
  row.at = OrNow(note.at, now_);
  session_.Exec(kInsertNote, [&](Put& put) {
    PutNote(put, row);
    put << identity;
  });
  return session_.changes() == 1;
}

NoReply SqliteCalls::Call(const FlagCall& call) {
  if (call.remove) {
    session_.Exec(kDeleteFlag, [&](Put& put) { put << call.flag.name << call.flag.date; });
  } else {
    WriteFlags({call.flag});
  }
  WriteAudit(call.audit);
  return {};
}

NoReply SqliteCalls::Call(const ControlCall& call) {
  Control control = call.control;
  control.at = OrNow(control.at, now_);
  session_.Exec(kWriteControl, [&](Put& put) { PutControl(put, control); });
  newest_control_.reset();
  WriteAudit(call.audit);
  return {};
}

NoReply SqliteCalls::Call(const FoldCall& call) {
  session_.Exec(kFold, [&](Put& put) { put << call.decision_id << call.last_at << call.add; });
  return {};
}

DecisionReply SqliteCalls::Call(const NoteDecisionCall& call) {
  if (!call.met.empty()) session_.Exec(kWriteMet, [&](Put& put) { put << call.met << call.row.run_id; });
  if (call.shown) {
    session_.Exec(kShowAnswer,
                  [&](Put& put) { put << ReasonName(call.row.reason) << *call.shown << call.row.run_id; });
  }
  return {WriteDecision(call.row, nullptr)};
}

NoReply SqliteCalls::Call(const AlertsCall& call) {
  WriteAlerts(call.rows);
  return {};
}

NoReply SqliteCalls::Call(const AuditCall& call) {
  WriteAudit(call.row);
  return {};
}

NoReply SqliteCalls::Call(const BreakerCall& call) {
  WriteBreaker(call.breaker);
  return {};
}

}  // namespace duecourse
