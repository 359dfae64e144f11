// The bare loop. Its statements are the store's own, word for word (tests/tidy_test.cc holds them together);
// what is left out is all that the store does around them.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "db/sqlite.h"
#include "machine_limits.h"
#include "store/schema.h"

namespace duecourse {
namespace {

constexpr const char* kTaskLeases = R"sql(
SELECT id, lease_until
FROM run
WHERE task = ?
  AND value = ?
  AND )sql" DC_OPEN_STATES R"sql(
  AND state = 'running'
  AND lease_until > ?
)sql";

constexpr const char* kBreakerSeen = R"sql(
SELECT version, until
FROM breaker
WHERE task = ?
  AND value = ?
)sql";

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

constexpr const char* kInsertAttempt = R"sql(
INSERT INTO attempt (run, number, fence, kind, nonce, rule_version, owner, claimed_at, outcome, class, code,
                     summary, detail, by)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'none', 'none', '', '', '', ?)
)sql";

constexpr const char* kInsertDecision = R"sql(
INSERT INTO decision (run, task, value, key, business_date, at, last_at, count, decision, reason, detail,
                      from_state, to_state, attempt, error_code, fence, rule_version, owner, recheck_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
)sql";

constexpr const char* kMoveCursor = R"sql(
UPDATE task
SET planned_through = max(planned_through, ifnull(?, planned_through)),
    last_start = ifnull(?, last_start)
WHERE task = ?
  AND value = ?
)sql";

constexpr const char* kFindHead = R"sql(
SELECT seq, task, value, due, state, reason, fence, attempts, counted, window_ends, superseded_by,
       met, first_start, owner, lease_until
FROM run
WHERE id = ?
)sql";

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

constexpr int64_t kEnds = kBenchDue.ms + 10'800'000;

void Must(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(1);
}
void Check(const DbStatus& status) { Must(status.ok(), status.message); }

// Parameters one after the other.
class Row {
 public:
  explicit Row(Statement& statement) : statement_(statement) {}
  Row& operator<<(int64_t value) { return statement_.Bind(++at_, value), *this; }
  Row& operator<<(int value) { return *this << static_cast<int64_t>(value); }
  Row& operator<<(std::string_view value) { return statement_.Bind(++at_, value), *this; }
  Row& operator<<(const char* value) { return *this << std::string_view(value); }
  Row& operator<<(std::nullptr_t) { return statement_.BindNull(++at_), *this; }
  void Run() { Check(statement_.Run()); }

 private:
  Statement& statement_;
  int at_ = 0;
};

class Bare {
 public:
  explicit Bare(const std::string& path) {
    DbOptions options;
    options.create = true;
    options.cache_kib = 4096;
    options.wal_checkpoint_pages = 0;
    Check(Database::Open(path, options, db_));
    for (const Migration& migration : Migrations()) Check(db_.Execute(migration.sql));
    Check(
        db_.Execute("INSERT INTO node (incarnation, node, boot_id, zone_data, opened_at)\n"
                    "VALUES ('bench-1', 'bench', 'boot', '2025b', 0)"));
    Prepare(leases_, kTaskLeases);
    Prepare(breaker_, kBreakerSeen);
    Prepare(insert_run_, kInsertRun);
    Prepare(insert_attempt_, kInsertAttempt);
    Prepare(insert_decision_, kInsertDecision);
    Prepare(cursor_, kMoveCursor);
    Prepare(head_, kFindHead);
    Prepare(update_run_, kUpdateRun);
    Prepare(end_attempt_, kEndAttempt);
  }

  void AddTasks(const std::vector<BenchRun>& runs) {
    Statement insert;
    Prepare(insert,
            "INSERT INTO task (task, value, in_force_since, planned_through, schedule, active)\n"
            "VALUES (?, '', 0, 0, '', 1)");
    Check(db_.Begin());
    for (const BenchRun& run : runs) Check(insert.Bind(1, run.task).Run());
    Check(db_.Commit());
  }

  void InBatches(const std::vector<BenchRun>& runs, size_t batch, void (Bare::*one)(const BenchRun&)) {
    for (size_t from = 0; from < runs.size(); from += batch) {
      Check(db_.Begin());
      for (size_t i = from; i < std::min(runs.size(), from + batch); ++i) (this->*one)(runs[i]);
      Check(db_.Commit());
    }
  }

  void Plan(const BenchRun& run) {
    Check(leases_.Bind(1, run.task).Bind(2, "").Bind(3, kBenchDue.ms).Run());
    Check(breaker_.Bind(1, run.task).Bind(2, "").Run());
    Row row(insert_run_);
    row << run.id << run.task << "" << run.identity << kBenchDue.ms << 20'423 << run.key << "running"
        << "all_conditions_met"
        << "" << 1 << 1 << 1 << 0 << 0 << "none" << 0 << 0 << 0 << nullptr << 0 << kBenchDue.ms << kEnds
        << "manual_required"
        << "scheduled"
        << "schedule" << 0 << 0 << ""
        << ""
        << ""
        << "" << 1 << kBenchDue.ms << kBenchDue.ms << kBenchDue.ms << 1 << kBenchDue.ms;
    row.Run();
    const int64_t seq = db_.last_insert_id();
    Row attempt(insert_attempt_);
    attempt << seq << 1 << 1 << "schedule" << run.nonce << 1 << 1 << kBenchDue.ms << "";
    attempt.Run();
    Decide(seq, run, "run", "all_conditions_met", kBenchDetail);
    Check(cursor_.Bind(1, kBenchDue.ms).Bind(2, kBenchDue.ms).Bind(3, run.task).Bind(4, "").Run());
  }

  void Finish(const BenchRun& run) {
    bool found = false;
    Check(head_.Bind(1, run.id).Step(found));
    Must(found, "a run is missing");
    const int64_t seq = head_.Integer(0);
    head_.Reset();
    Row row(update_run_);
    row << seq << "running" << 1 << "success"
        << "succeeded"
        << "" << 1 << 0 << 0 << "none" << 0 << 0 << 0 << nullptr << 0 << kBenchDue.ms << kEnds
        << "manual_required"
        << "scheduled" << 0 << "" << kBenchDue.ms << ""
        << "";
    row.Run();
    Row attempt(end_attempt_);
    attempt << kBenchDue.ms << "success"
            << "none"
            << "exit 0"
            << ""
            << "" << seq << 1 << 1;
    attempt.Run();
    Decide(seq, run, "state", "succeeded", kBenchEndDetail);
  }

 private:
  void Prepare(Statement& statement, const char* sql) { Check(Statement::Prepare(db_, sql, statement)); }
  // What the run's row says is not written again beside it, as in the store.
  void Decide(int64_t seq, const BenchRun& run, const char* decision, const char* reason,
              const char* detail) {
    Row row(insert_decision_);
    row << seq << run.task << nullptr << nullptr << nullptr << kBenchDue.ms << kBenchDue.ms << 1 << decision
        << reason << detail << ""
        << "" << 1 << "" << 1 << 1 << 1 << nullptr;
    row.Run();
  }

  Database db_;
  Statement leases_, breaker_, insert_run_, insert_attempt_, insert_decision_, cursor_, head_, update_run_,
      end_attempt_;
};

double SecondsSince(int64_t micros) { return static_cast<double>(MonotonicMicros() - micros) / 1e6; }

}  // namespace

std::vector<BenchRun> MakeBenchRuns(int count) {
  std::vector<BenchRun> runs;
  uint64_t hash = 0x9E3779B97F4A7C15U;
  for (int i = 0; i < count; ++i) {
    hash = hash * 6364136223846793005U + 1442695040888963407U;
    char hex[32];
    std::snprintf(hex, sizeof hex, "%016llx%04x", static_cast<unsigned long long>(hash), i & 0xFFFF);
    std::string task = StrCat("task-", i);
    runs.push_back({StrCat("r", hex), task, StrCat(task, ":", FormatUtc(kBenchDue)),
                    StrCat("cron/", FormatUtc(kBenchDue)), StrCat(hex, "00000000")});
  }
  return runs;
}

double SyncsPerSecond(const std::string& folder) {
  const std::string path = folder + "/sync";
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  Must(fd.valid(), "cannot write in " + folder);
  const std::string page(4096, 'x');
  constexpr int kSyncs = 200;
  const int64_t from = MonotonicMicros();
  for (int i = 0; i < kSyncs; ++i) {
    Must(::pwrite(fd.get(), page.data(), page.size(), i * 4096L) == 4096 && ::fdatasync(fd.get()) == 0,
         "cannot sync");
  }
  return kSyncs / SecondsSince(from);
}

LoopSeconds BareLoop(const std::string& folder, const std::vector<BenchRun>& runs) {
  Bare bare(folder + "/bare.db");
  bare.AddTasks(runs);
  LoopSeconds seconds;
  int64_t from = MonotonicMicros();
  bare.InBatches(runs, kBenchBatch, &Bare::Plan);
  seconds.plan = SecondsSince(from);
  from = MonotonicMicros();
  bare.InBatches(runs, kBenchBatch, &Bare::Finish);
  seconds.finish = SecondsSince(from);
  return seconds;
}

double BareRunsPerSecond(int runs) {
  BenchFolder folder;
  LoopSeconds seconds = BareLoop(folder.path(), MakeBenchRuns(runs));
  return runs / (seconds.plan + seconds.finish);
}

Span OneDurableCommit(int commits) {
  constexpr int kRestMs = 10;
  BenchFolder folder;
  const std::vector<BenchRun> runs = MakeBenchRuns(commits);
  Bare bare(folder.path() + "/bare.db");
  bare.AddTasks(runs);
  std::vector<double> took;
  for (const BenchRun& run : runs) {
    ::poll(nullptr, 0, kRestMs);
    const int64_t from = MonotonicMicros();
    bare.InBatches({run}, 1, &Bare::Plan);
    took.push_back(SecondsSince(from) * 1000);
  }
  return SpanOf(std::move(took));
}

}  // namespace duecourse
