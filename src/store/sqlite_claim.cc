// Claims, leases, and what ends an attempt or moves a run. claim.h says the protocol; here is how it is
// looked up and written.
#include <limits>

#include "store/sql_rows.h"
#include "store/sqlite_calls.h"

namespace duecourse {
namespace {

constexpr const char* kNewestControl = R"sql(
SELECT coalesce(max(version), 0)
FROM control
)sql";

constexpr const char* kActiveRules = R"sql(
SELECT coalesce(max(version), 0)
FROM rule_version
)sql";

constexpr const char* kBreakerSeen = R"sql(
SELECT version, until
FROM breaker
WHERE task = ?
  AND value = ?
)sql";

constexpr const char* kLastStart = R"sql(
SELECT last_start
FROM task
WHERE task = ?
  AND value = ?
)sql";

constexpr const char* kTaskLeases = R"sql(
SELECT id, lease_until
FROM run
WHERE task = ?
  AND value = ?
  AND )sql" DC_OPEN_STATES R"sql(
  AND state = 'running'
  AND lease_until > ?
)sql";

// Slots of attempts that ended are left where they are until the pool is asked again.
constexpr const char* kSweepSlots = R"sql(
DELETE FROM slot
WHERE pool = ?
  AND NOT EXISTS (SELECT 1
                  FROM run
                  WHERE run.seq = slot.run
                    AND run.fence = slot.fence
                    AND run.state = 'running')
)sql";

constexpr const char* kPoolLeases = R"sql(
SELECT run.id, run.lease_until
FROM slot
JOIN run ON run.seq = slot.run AND run.fence = slot.fence
WHERE slot.pool = ?
  AND run.state = 'running'
  AND run.lease_until > ?
)sql";

constexpr const char* kWriteSlot = R"sql(
INSERT INTO slot (pool, run, fence)
VALUES (?, ?, ?)
ON CONFLICT (pool, run) DO UPDATE
SET fence = excluded.fence
)sql";

constexpr const char* kWritePoolStart = R"sql(
INSERT INTO pool (name, last_start)
VALUES (?, ?)
ON CONFLICT (name) DO UPDATE
SET last_start = excluded.last_start
)sql";

constexpr const char* kWriteStart = R"sql(
UPDATE task
SET last_start = ?
WHERE task = ?
  AND value = ?
)sql";

constexpr const char* kClaimRun = R"sql(
UPDATE run
SET state = 'running',
    reason = 'all_conditions_met',
    detail = '',
    fence = ?,
    attempts = ?,
    counted = ?,
    next_at = iif(?, next_at, NULL),
    met = ?,
    before_claim = ?,
    before_manual = coalesce(?, before_manual),
    state_since = ?,
    first_start = ?,
    owner = ?,
    lease_until = ?
WHERE seq = ?
  AND state = ?
  AND fence = ?
)sql";

constexpr const char* kInsertAttempt = R"sql(
INSERT INTO attempt (run, number, fence, kind, nonce, rule_version, owner, claimed_at, outcome, class, code,
                     summary, detail, by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'none', 'none', '', '', '', ?)
)sql";

constexpr const char* kFindNonce = R"sql(
SELECT attempt.fence, attempt.number, attempt.claimed_at
FROM run
JOIN attempt ON attempt.run = run.seq
WHERE run.id = ?
  AND attempt.nonce = ?
ORDER BY attempt.number DESC
LIMIT 1
)sql";

constexpr const char* kRenew = R"sql(
UPDATE run
SET lease_until = ?
WHERE id = ?
  AND state = 'running'
  AND fence = ?
)sql";

// Where the run goes on running (a change of its row alone), owner and lease stay.
constexpr const char* kUpdateRun = R"sql(
UPDATE run
SET state = ?4,
    reason = ?5,
    detail = ?6,
    counted = ?7,
    uncounted = ?8,
    failures = ?9,
    told = ?10,
    ladder_immediate = ?11,
    ladder_backoff = ?12,
    ladder_catchup = ?13,
    next_at = ?14,
    next_lost_rerun = ?15,
    window_opens = ?16,
    window_ends = ?17,
    before_manual = ?18,
    before_claim = ?19,
    owed = ?20,
    superseded_by = ?21,
    state_since = ?22,
    cancel = ?23,
    met = ?24,
    owner = iif(?4 = 'running', owner, NULL),
    lease_until = iif(?4 = 'running', lease_until, 0)
WHERE seq = ?1
  AND state = ?2
  AND fence = ?3
)sql";

constexpr const char* kEndAttempt = R"sql(
UPDATE attempt
SET ended_at = ?,
    outcome = ?,
    class = ?,
    code = ?,
    summary = ?,
    detail = ?
WHERE run = ?
  AND number = ?
  AND fence = ?
)sql";

LiveLeases TakeLeases(SqlSession& session, const char* sql, const std::vector<std::string>& names,
                      Millis now) {
  LiveLeases leases;
  auto bind = [&](Put& put) {
    for (const std::string& name : names) put << name;
    put << now;
  };
  session.Each(sql, bind, [&](Take& take) {
    std::string id = take.Text();
    Millis end = take.Span();
    bool first =
        leases.count == 0 || end < leases.first_end || (end == leases.first_end && id < leases.holder);
    ++leases.count;
    if (first) {
      leases.holder = std::move(id);
      leases.first_end = end;
    }
    return true;
  });
  return leases;
}

}  // namespace

int64_t SqliteCalls::NewestControl() {
  if (!newest_control_) {
    newest_control_ = 0;
    session_.One(
        kNewestControl, [](Put&) {}, [&](Take& take) { newest_control_ = take.Number(); });
  }
  return *newest_control_;
}

int64_t SqliteCalls::ActiveRules() {
  if (!active_rules_) {
    active_rules_ = 0;
    session_.One(
        kActiveRules, [](Put&) {}, [&](Take& take) { active_rules_ = take.Number(); });
  }
  return *active_rules_;
}

BreakerSeen SqliteCalls::BreakerOf(const std::string& task, const std::string& value) {
  BreakerSeen seen;
  auto take_breaker = [&](Take& take) {
    seen.version = take.Number();
    seen.until = take.MaybeAt();
  };
  session_.One(
      kBreakerSeen, [&](Put& put) { put << task << value; }, take_breaker);
  return seen;
}

std::optional<Instant> SqliteCalls::LastStart(const std::string& task, const std::string& value) {
  if (planning_ != nullptr && planning_started_ && planning_->task == task && planning_->value == value)
    return now_.wall;
  std::optional<Instant> last;
  session_.One(
      kLastStart, [&](Put& put) { put << task << value; }, [&](Take& take) { last = take.MaybeAt(); });
  return last;
}

LiveLeases SqliteCalls::TaskLeases(const std::string& task, const std::string& value) {
  return TakeLeases(session_, kTaskLeases, {task, value}, now_.boot);
}

LiveLeases SqliteCalls::PoolLeases(const std::string& pool) {
  session_.Exec(kSweepSlots, [&](Put& put) { put << pool; });
  return TakeLeases(session_, kPoolLeases, {pool}, now_.boot);
}

void SqliteCalls::WriteStart(const std::string& task, const std::string& value) {
  if (planning_ != nullptr && planning_->task == task && planning_->value == value) {
    planning_started_ = true;
    return;
  }
  session_.Exec(kWriteStart, [&](Put& put) { put << now_.wall << task << value; });
}

void SqliteCalls::WriteAttempt(const ClaimCall& call, const Head& granted) {
  const Run& run = granted.run;
  session_.Exec(kInsertAttempt, [&](Put& put) {
    put << granted.seq << run.attempts << run.fence << TriggerKindName(call.kind) << call.nonce
        << call.rule_version << owner_seq_ << now_.wall << call.by;
  });
  for (const auto& [pool, limit] : call.pools) {
    const std::string& name = pool;
    session_.Exec(kWriteSlot, [&](Put& put) { put << name << granted.seq << run.fence; });
    session_.Exec(kWritePoolStart, [&](Put& put) { put << name << now_.wall; });
  }
  if (run.attempts == 1) WriteStart(run.task, run.value);
  WriteDecision(DecisionOf(call, run), &granted);
  if (call.audit) WriteAudit(*call.audit);
}

ClaimReply SqliteCalls::Call(const ClaimCall& call) {
  std::optional<Head> head = FindHead(call.run_id);
  ClaimReply reply = CheckClaim(call, head ? &head->run : nullptr, owner_, now_, *this);
  if (!reply.granted) return reply;
  const RunState before = head->run.state;
  const int64_t fence_before = head->run.fence;
  Run& run = head->run;
  Grant(call, owner_, now_, run);
  session_.Exec(kClaimRun, [&](Put& put) {
    put << run.fence << run.attempts << run.counted << (call.kind == TriggerKind::kManual) << run.met
        << RunStateName(before);
    if (call.kind == TriggerKind::kManual) {
      put << RunStateName(before);
    } else {
      put << std::nullopt;
    }
    put << now_.wall << run.first_start << owner_seq_ << run.lease_until << head->seq << RunStateName(before)
        << fence_before;
  });
  if (session_.failed()) return reply;
  CHECK(session_.changes() == 1);  // one writer: what was read a moment ago still stands
  WriteAttempt(call, *head);
  return Granted(run, now_);
}

ClaimReply SqliteCalls::Call(const FindNonceCall& call) {
  ClaimReply reply;
  auto take_claim = [&](Take& take) {
    reply.granted = true;
    reply.fence = take.Number();
    reply.attempt = take.Int();
    reply.at = take.At();
  };
  session_.One(
      kFindNonce, [&](Put& put) { put << call.run_id << call.nonce; }, take_claim);
  return reply;
}

RenewReply SqliteCalls::Call(const RenewCall& call) {
  session_.Exec(kRenew, [&](Put& put) { put << now_.boot + call.ttl << call.run_id << call.fence; });
  return {!session_.failed() && session_.changes() == 1};
}

void SqliteCalls::UpdateRun(const Head& head, const Run& after) {
  session_.Exec(kUpdateRun, [&](Put& put) {
    put << head.seq << RunStateName(head.run.state) << head.run.fence;
    put << RunStateName(after.state) << ReasonName(after.reason) << after.detail << after.counted
        << after.uncounted << after.failures << LevelName(after.told) << after.ladder.immediate
        << after.ladder.backoff << after.ladder.catchup << after.next_at << after.next_lost_rerun
        << after.window_opens << after.window_ends << RunStateName(after.before_manual)
        << RunStateName(after.before_claim) << after.owed << after.superseded_by << after.state_since
        << after.cancel << after.met;
  });
  if (!session_.failed()) CHECK(session_.changes() == 1);
}

FinishReply SqliteCalls::Call(const FinishCall& call) {
  FinishReply reply;
  std::optional<Head> head = FindHead(call.after.id);
  if (session_.failed()) return reply;
  if (!head || !FinishAccepted(call, head->run, owner_, now_)) {
    if (!call.lost) {
      reply.decision_id =
          WriteDecision(LateRow(call, head ? &head->run : nullptr, now_), head ? &*head : nullptr);
    }
    return reply;
  }
  UpdateRun(*head, call.after);
  session_.Exec(kEndAttempt, [&](Put& put) {
    put << OrNow(call.end.ended_at.value_or(kLongAgo), now_) << OutcomeName(call.end.outcome)
        << FailureClassName(call.end.failure_class) << call.end.code << call.end.summary << call.end.detail
        << head->seq << head->run.attempts << head->run.fence;
  });
  reply.accepted = true;
  reply.decision_id = WriteDecisions(call.decisions, *head);
  WriteAlerts(call.alerts);
  if (call.breaker) WriteBreaker(*call.breaker);
  WriteFlags(call.flags);
  return reply;
}

MoveReply SqliteCalls::Call(const MoveCall& call) {
  MoveReply reply;
  std::optional<Head> head = FindHead(call.after.id);
  if (!head) return reply;
  reply.moved = MoveAccepted(call, head->run);
  if (reply.moved) {
    UpdateRun(*head, call.after);
    reply.decision_id = WriteDecisions(call.decisions, *head);
    WriteAlerts(call.alerts);
    if (call.breaker) WriteBreaker(*call.breaker);
    if (call.audit) WriteAudit(*call.audit);
    WriteFlags(call.flags);
  }
  const Run& stands = reply.moved ? call.after : head->run;
  reply.state = stands.state;
  reply.superseded_by = stands.superseded_by;
  reply.fence = head->run.fence;
  return reply;
}

}  // namespace duecourse
