// Pruning of history, a little at a time. Runs are looked at in the order of writing, from where the last
// call stopped, so that rows that stay for their keys are not looked at again and again; whoever calls it now
// and then removes in the end all that may go.
#include <algorithm>

#include "store/sqlite_calls.h"

namespace duecourse {
namespace {

// Runs looked at in one call, at most.
constexpr int kLookMax = 20'000;

constexpr const char* kPosition = R"sql(
SELECT prune_position
FROM meta
)sql";

constexpr const char* kSetPosition = R"sql(
UPDATE meta
SET prune_position = ?
)sql";

constexpr const char* kLook = R"sql(
SELECT seq, id, task, value, key, due, state, state_since
FROM run
WHERE seq > ?
ORDER BY seq
LIMIT ?
)sql";

// The run that was written last, and the run of the newest decision: numbers of rows that go could be given
// again.
constexpr const char* kNewestRows = R"sql(
SELECT (SELECT max(seq) FROM run), (SELECT run FROM decision ORDER BY id DESC LIMIT 1)
)sql";

constexpr const char* kNewer = R"sql(
SELECT seq
FROM run
WHERE task = ?1
  AND due >= ?2
  AND value = ?3
  AND (due > ?2 OR seq > ?4)
LIMIT 1
)sql";

constexpr const char* kDropDecisions = R"sql(
DELETE FROM decision
WHERE run = ?
)sql";

constexpr const char* kDropAttempts = R"sql(
DELETE FROM attempt
WHERE run = ?
)sql";

constexpr const char* kDropRun = R"sql(
DELETE FROM run
WHERE seq = ?
)sql";

constexpr const char* kDropLoose = R"sql(
DELETE FROM decision
WHERE id IN (SELECT id
             FROM decision INDEXED BY decision_loose
             WHERE run IS NULL
               AND last_at < ?
               AND id < (SELECT max(id) FROM decision)
             ORDER BY id
             LIMIT ?)
)sql";

constexpr const char* kDropNotes = R"sql(
DELETE FROM note
WHERE id IN (SELECT id
             FROM note
             WHERE at < ?
               AND id < (SELECT max(id) FROM note)
             ORDER BY id
             LIMIT ?)
)sql";

constexpr const char* kDropAlerts = R"sql(
DELETE FROM alert
WHERE seq IN (SELECT seq
              FROM alert
              WHERE created_at < ?
                AND state <> 'pending'
                AND seq < (SELECT max(seq) FROM alert)
              ORDER BY seq
              LIMIT ?)
)sql";

constexpr const char* kDropAudit = R"sql(
DELETE FROM audit
WHERE id IN (SELECT id
             FROM audit
             WHERE at < ?
               AND id < (SELECT max(id) FROM audit)
             ORDER BY id
             LIMIT ?)
)sql";

constexpr const char* kDropFlags = R"sql(
DELETE FROM flag
WHERE rowid IN (SELECT rowid
                FROM flag
                WHERE at < ?1
                  AND (date IS NOT NULL OR expires < ?1)
                ORDER BY name, date
                LIMIT ?2)
)sql";

struct Seen {
  int64_t seq = 0;
  Run run;  // what pruning asks of it
};

}  // namespace

int64_t SqliteCalls::PruneRuns(const PruneCall& call) {
  int64_t position = 0;
  session_.One(
      kPosition, [](Put&) {}, [&](Take& take) { position = take.Number(); });
  std::vector<Seen> look;
  session_.Each(
      kLook, [&](Put& put) { put << position << kLookMax; },
      [&](Take& take) {
        Seen seen;
        seen.seq = take.Number();
        seen.run.id = take.Text();
        seen.run.task = take.Text();
        seen.run.value = take.Text();
        seen.run.key = take.MaybeText();
        seen.run.due = take.At();
        seen.run.state = take.Name(RunStateFromName, RunState::kManualRequired);
        seen.run.state_since = take.At();
        look.push_back(std::move(seen));
        return true;
      });
  int64_t newest_run = 0;
  int64_t newest_decision_run = 0;
  session_.One(
      kNewestRows, [](Put&) {},
      [&](Take& take) {
        newest_run = take.Number();
        newest_decision_run = take.Number();
      });
  int64_t rows = 0;
  bool to_the_end = look.size() < static_cast<size_t>(kLookMax);
  for (const Seen& seen : look) {
    if (rows >= call.limit) {
      to_the_end = false;
      break;
    }
    position = seen.seq;
    const Run& run = seen.run;
    if (!IsFinal(run.state) || run.state_since >= call.before) continue;
    if (seen.seq == newest_run || seen.seq == newest_decision_run) continue;
    bool keep =
        KeyIsKept(call, run, now_) ||
        !session_.One(
            kNewer, [&](Put& put) { put << run.task << run.due << run.value << seen.seq; }, [](Take&) {});
    session_.Exec(kDropDecisions, [&](Put& put) { put << seen.seq; });
    rows += session_.changes();
    session_.Exec(kDropAttempts, [&](Put& put) { put << seen.seq; });
    rows += session_.changes();
    if (keep) continue;
    session_.Exec(kDropRun, [&](Put& put) { put << seen.seq; });
    ++rows;
    if (session_.failed()) return 0;
  }
  session_.Exec(kSetPosition, [&](Put& put) { put << (to_the_end ? 0 : position); });
  return rows;
}

PruneReply SqliteCalls::Call(const PruneCall& call) {
  PruneReply reply;
  reply.rows = PruneRuns(call);
  for (const char* sql : {kDropLoose, kDropNotes, kDropAlerts, kDropAudit, kDropFlags}) {
    if (session_.failed() || reply.rows >= call.limit) return reply;
    session_.Exec(sql, [&](Put& put) { put << call.before << call.limit - reply.rows; });
    reply.rows += session_.changes();
  }
  return reply;
}

}  // namespace duecourse
