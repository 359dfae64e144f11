// Planning (rows, notes, the cursor), versions of the rules, and the look-up of other tasks' runs.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "store/sql_rows.h"
#include "store/sqlite_calls.h"

namespace duecourse {
namespace {

// A run whose identity or key is known is not written; which of the two is looked up then.
constexpr const char* kInsertRun = R"sql(
INSERT INTO run (id, task, value, identity, due, business_date, key, state, reason, detail, fence, attempts,
                 counted, uncounted, failures, told, ladder_immediate, ladder_backoff, ladder_catchup,
                 next_at, next_lost_rerun, window_opens, window_ends, before_manual, before_claim, origin,
                 extra, owed, supersedes, superseded_by, cancel, met, rule_version, created_at, state_since,
                 first_start, owner, lease_until)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
        ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
        ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
)sql";

constexpr const char* kFindIdentity = R"sql(
SELECT id, state, reason
FROM run
WHERE task = ?
  AND value = ?
  AND identity = ?
)sql";

constexpr const char* kFindKey = R"sql(
SELECT id, state, reason, task
FROM run
WHERE key = ?
)sql";

constexpr const char* kMoveCursor = R"sql(
UPDATE task
SET planned_through = max(planned_through, ifnull(?, planned_through)),
    last_start = ifnull(?, last_start)
WHERE task = ?
  AND value = ?
)sql";

constexpr const char* kNewestHash = R"sql(
SELECT hash
FROM rule_version
ORDER BY version DESC
LIMIT 1
)sql";

constexpr const char* kInsertVersion = R"sql(
INSERT INTO rule_version (version, hash, at, by, tasks, changes)
VALUES (?, ?, ?, ?, ?, ?)
)sql";

constexpr const char* kInsertText = R"sql(
INSERT INTO rule_text (hash, text)
VALUES (?, ?)
ON CONFLICT DO NOTHING
)sql";

constexpr const char* kInsertFile = R"sql(
INSERT INTO rule_file (version, name, hash)
VALUES (?, ?, ?)
)sql";

constexpr const char* kWriteCursor = R"sql(
INSERT INTO task (task, value, in_force_since, planned_through, last_start, schedule, active)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (task, value) DO UPDATE
SET in_force_since = excluded.in_force_since,
    planned_through = excluded.planned_through,
    last_start = ifnull(excluded.last_start, last_start),
    schedule = excluded.schedule,
    active = excluded.active
)sql";

// From the newest on; reading ends where the caller has what it wants.
constexpr const char* kFindRuns = "SELECT " DC_RUN_COLUMNS DC_RUN_FROM
                                  "WHERE run.task = ?1\n"
                                  "  AND run.due <= ?2\n"
                                  "  AND (?3 IS NULL OR run.business_date = ?3)\n"
                                  "  AND (?4 IS NULL OR run.value = ?4)\n"
                                  "ORDER BY run.due DESC, run.seq DESC\n";

constexpr const char* kFindKeyRun = "SELECT " DC_RUN_COLUMNS DC_RUN_FROM
                                    "WHERE run.key = ?5\n"
                                    "  AND run.task = ?1\n"
                                    "  AND run.due <= ?2\n"
                                    "  AND (?3 IS NULL OR run.business_date = ?3)\n"
                                    "  AND (?4 IS NULL OR run.value = ?4)\n";

// Lengths are in bytes, as everywhere else.
constexpr const char* kTakeFromRange = R"sql(
UPDATE note
SET count = count - 1,
    detail = iif(length(CAST(detail AS BLOB)) < ?2, detail || ?1, detail)
WHERE id = (SELECT id
            FROM note
            WHERE task = ?3
              AND value = ?4
              AND reason = ?5
              AND identity = ''
              AND count > 0
              AND first_due <= ?6
              AND last_due >= ?6
            ORDER BY id DESC
            LIMIT 1)
)sql";

constexpr const char* kFindOneRun = "SELECT " DC_RUN_COLUMNS DC_RUN_FROM "WHERE run.id = ?\n";

}  // namespace

// Who has the identity or the key; kRefused where nobody has.
PlannedReply SqliteCalls::Known(const PlannedRun& planned) {
  const Run& run = planned.run;
  PlannedReply reply;
  reply.kind = PlannedReply::Kind::kIdentityKnown;
  auto take_holder = [&](Take& take) {
    reply.holder = take.Text();
    reply.holder_state = take.Name(RunStateFromName, RunState::kManualRequired);
    reply.holder_reason = take.Name(ReasonFromName, Reason::kInternalInvariant);
  };
  if (session_.One(
          kFindIdentity, [&](Put& put) { put << run.task << run.value << run.identity; }, take_holder)) {
    return reply;
  }
  reply.kind = PlannedReply::Kind::kRefused;
  std::string task;
  auto take_both = [&](Take& take) {
    take_holder(take);
    task = take.Text();
  };
  if (!session_.One(
          kFindKey, [&](Put& put) { put << run.key; }, take_both)) {
    return reply;
  }
  reply.kind = PlannedReply::Kind::kKeyKnown;
  if (!planned.only_with_claim) WriteNote(KeyKnownNote(run, reply.holder, task, now_), run.identity);
  return reply;
}

void SqliteCalls::TakeFromRange(const Uncount& uncount, const Head& head) {
  const Run& run = head.run;
  session_.Exec(kTakeFromRange, [&](Put& put) {
    put << "; " + uncount.detail << static_cast<int64_t>(kRangeDetailMax) << run.task << run.value
        << ReasonName(uncount.reason) << run.due;
  });
  if (!session_.failed() && session_.changes() == 1) WriteDecision(uncount.row, &head);
}

PlannedReply SqliteCalls::PlanOne(const PlannedRun& planned) {
  PlannedReply reply;
  Head head;
  head.run = AsPlanned(planned.run, now_);
  Run& run = head.run;
  if (planned.claim) {
    reply.claim = CheckClaim(*planned.claim, &run, owner_, now_, *this);
    if (reply.claim.granted) {
      Grant(*planned.claim, owner_, now_, run);
      reply.claim = Granted(run, now_);
    }
  }
  if (planned.only_with_claim && !reply.claim.granted) {
    PlannedReply refused = Known(planned);
    if (refused.kind == PlannedReply::Kind::kRefused) refused.claim = reply.claim;
    return refused;
  }
  session_.Exec(kInsertRun, [&](Put& put) {
    PutRun(put, run);
    if (run.state == RunState::kRunning) {
      put << owner_seq_;
    } else {
      put << std::nullopt;
    }
    put << run.lease_until;
  });
  if (session_.failed()) return reply;
  if (session_.changes() == 0) {
    reply = Known(planned);
    // Ids are random and long; two alike are our mistake.
    CHECK(session_.failed() || reply.kind != PlannedReply::Kind::kRefused);
    return reply;
  }
  head.seq = session_.last_insert_id();
  reply.decision_id = WriteDecisions(planned.decisions, head);
  WriteAlerts(planned.alerts);
  if (planned.uncount) TakeFromRange(*planned.uncount, head);
  if (reply.claim.granted) WriteAttempt(*planned.claim, head);
  return reply;
}

PlanReply SqliteCalls::Call(const PlanCall& call) {
  PlanReply reply;
  for (const MoveCall& move : call.supersede) reply.supersede.push_back(Call(move));
  planning_ = &call;
  planning_started_ = false;
  for (const PlannedRun& planned : call.runs) reply.runs.push_back(PlanOne(planned));
  bool started = planning_started_;
  planning_ = nullptr;
  planning_started_ = false;
  bool news = call.notes.empty();
  for (const Note& note : call.notes) news |= WriteNote(note, "");
  if (news) {
    for (const DecisionRow& row : call.note_decisions) WriteDecision(row, nullptr);
  }
  WriteAlerts(call.alerts);
  if (!call.planned_through && !started) return reply;
  session_.Exec(kMoveCursor, [&](Put& put) {
    put << call.planned_through << (started ? std::optional<Instant>(now_.wall) : std::nullopt) << call.task
        << call.value;
  });
  return reply;
}

void SqliteCalls::WriteVersion(const ActivateCall& call) {
  std::string newest;
  session_.One(
      kNewestHash, [](Put&) {}, [&](Take& take) { newest = take.Text(); });
  if (ActiveRules() != 0 && newest == call.version.hash) return;
  int64_t version = ActiveRules() + 1;
  const RuleVersion& row = call.version;
  session_.Exec(kInsertVersion, [&](Put& put) {
    put << version << row.hash << OrNow(row.at, now_) << row.by << row.tasks << row.changes;
  });
  for (const auto& [name, text] : call.texts) {
    const std::string& file = name;
    const std::string& content = text;
    std::string hash = Sha256Hex(content);
    session_.Exec(kInsertText, [&](Put& put) { put << hash << content; });
    session_.Exec(kInsertFile, [&](Put& put) { put << version << file << hash; });
  }
  active_rules_ = version;
}

ActivateReply SqliteCalls::Call(const ActivateCall& call) {
  ActivateReply reply;
  WriteVersion(call);
  reply.version = ActiveRules();
  for (const TaskCursor& cursor : call.cursors) {
    session_.Exec(kWriteCursor, [&](Put& put) { PutCursor(put, cursor); });
  }
  return reply;
}

FindRunsReply SqliteCalls::Call(const FindRunsCall& call) {
  FindRunsReply reply;
  if (!call.run_id.empty()) {
    session_.One(
        kFindOneRun, [&](Put& put) { put << call.run_id; },
        [&](Take& take) { reply.runs.push_back(TakeRun(take)); });
    return reply;
  }
  std::set<std::string> seen;
  auto bind = [&](Put& put) {
    put << call.task << call.due_at_or_before << call.business_date << call.value;
    if (call.key) put << *call.key;
  };
  session_.Each(call.key ? kFindKeyRun : kFindRuns, bind, [&](Take& take) {
    Run run = TakeRun(take);
    if (seen.insert(run.value).second) reply.runs.push_back(std::move(run));
    return !call.value;
  });
  return reply;
}

}  // namespace duecourse
