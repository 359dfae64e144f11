#include "store/sqlite_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "store/sql_rows.h"
#include "store/sqlite_fault.h"

namespace duecourse {
namespace {

// Statements after which a heartbeat moves the log into the database, and after which a commit does so
// itself.
constexpr int64_t kQuietCheckpoint = 2'000;
constexpr int64_t kForcedCheckpoint = 100'000;
// Heartbeats after which it is done whatever was written.
constexpr int kBeatsPerCheckpoint = 300;
// A log that grew beyond this is cut off again.
constexpr int kLogPagesMax = 16'384;

constexpr const char* kSetAlive = R"sql(
UPDATE meta
SET last_alive = ?
)sql";

constexpr const char* kReadAlive = R"sql(
SELECT last_alive
FROM meta
)sql";

constexpr const char* kCursors = "SELECT " DC_CURSOR_COLUMNS
                                 "FROM task\n"
                                 "ORDER BY task, value\n";

constexpr const char* kOpenRuns =
    "SELECT " DC_RUN_COLUMNS DC_OPEN_RUN_FROM DC_WHERE_OPEN "ORDER BY run.seq\n";

constexpr const char* kUnfinished =
    "SELECT " DC_ATTEMPT_COLUMNS
    "FROM run INDEXED BY run_open\n"
    "JOIN attempt ON attempt.run = run.seq AND attempt.number = run.attempts\n"
    "LEFT JOIN node ON node.seq = attempt.owner\n" DC_WHERE_OPEN
    "  AND run.state = 'running'\n"
    "ORDER BY run.seq\n";

constexpr const char* kFailed =
    "SELECT " DC_ATTEMPT_COLUMNS
    "FROM run INDEXED BY run_open\n"
    "JOIN attempt ON attempt.run = run.seq AND attempt.number > run.attempts - 10\n"
    "LEFT JOIN node ON node.seq = attempt.owner\n" DC_WHERE_OPEN
    "  AND attempt.outcome IN ('failed', 'timed_out', 'lost')\n"
    "ORDER BY run.seq, attempt.number DESC\n";

constexpr const char* kBreakers = "SELECT " DC_BREAKER_COLUMNS
                                  "FROM breaker\n"
                                  "ORDER BY task, value\n";

constexpr const char* kControls = "SELECT " DC_CONTROL_COLUMNS
                                  "FROM control\n"
                                  "ORDER BY scope\n";

constexpr const char* kFlags = "SELECT " DC_FLAG_COLUMNS
                               "FROM flag\n"
                               "ORDER BY name, date\n";

constexpr const char* kPendingAlerts = "SELECT " DC_ALERT_COLUMNS
                                       "FROM alert\n"
                                       "WHERE state = 'pending'\n"
                                       "ORDER BY seq\n";

// The index on (task, due) leads from each cursor to the few rows beyond it.
constexpr const char* kAhead = R"sql(
SELECT run.task, run.value, run.due
FROM task
CROSS JOIN run INDEXED BY run_by_due
WHERE task.active
  AND run.task = task.task
  AND run.due > task.planned_through
  AND run.value = task.value
  AND NOT run.extra
ORDER BY run.task, run.value, run.due
)sql";

constexpr const char* kPools = R"sql(
SELECT name, last_start
FROM pool
ORDER BY name
)sql";

template <typename T>
void ReadAll(SqlSession& session, const char* sql, T (*take_row)(Take&), std::vector<T>& rows) {
  session.Each(
      sql, [](Put&) {},
      [&](Take& take) {
        rows.push_back(take_row(take));
        return true;
      });
}

}  // namespace

SqliteStore::SqliteStore(const std::string& folder, const Clock& clock)
    : folder_(folder), clock_(clock), calls_(session_) {}

StoreFault SqliteStore::Refused(const DbStatus& status, bool committing) {
  StoreFault fault = FaultOf(status, committing, folder_.MountedReadOnly());
  if (fault.reopen) dead_ = fault;
  if (fault.kind == StoreFault::Kind::kFull) disk_was_full_ = true;
  return fault;
}

StoreFault SqliteStore::Usable() {
  if (dead_.kind == StoreFault::Kind::kNone) {
    CHECK(open_);
    return folder_.CheckThere();
  }
  StoreFault fault = dead_;
  fault.outcome_unknown = false;  // that was the commit that met it; of this one nothing was done
  return fault;
}

std::string SqliteStore::ClosedBecause() const {
  if (disk_was_full_) return "the disk was full a moment ago; attempts start again after a look at it";
  int64_t free = folder_.FreeBytes();
  if (free < 0 || free >= kLowWaterBytes) return {};
  constexpr int64_t kMiB = 1 << 20;
  return StrCat("only ", free / kMiB, " MiB are free for ", folder_.DatabasePath(),
                "; attempts start again with ", kLowWaterBytes / kMiB, " MiB");
}

void SqliteStore::NoteAlive(Instant now) {
  session_.Exec(kSetAlive, [&](Put& put) { put << now; });
  last_alive_ = now;
}

std::vector<StoreReply> SqliteStore::Transact(const std::vector<StoreCall>& batch, StoreFault& fault) {
  session_.ClearFailure();
  calls_.Forget();
  Transaction transaction(session_.db());
  const bool writes = !OnlyReads(batch);
  if (writes) {
    if (DbStatus status = transaction.Begin(); !status.ok()) {
      fault = Refused(status);
      return {};
    }
  }
  const StoreTime now{clock_.Wall(), clock_.Boot()};
  calls_.BeginCommit(now, ClosedBecause());
  std::vector<StoreReply> replies;
  replies.reserve(batch.size());
  for (const StoreCall& call : batch) {
    replies.push_back(calls_.Do(call));
    if (session_.failed()) break;
  }
  if (writes && AliveIsOld(last_alive_, now.wall)) NoteAlive(now.wall);
  if (session_.failed()) {
    fault = Refused(session_.failure());
    return {};
  }
  if (!writes) return replies;
  if (DbStatus status = transaction.Commit(); !status.ok()) {
    fault = Refused(status, true);
    return {};
  }
  // Where the file went away meanwhile the commit went into a file without a name.
  fault = folder_.CheckThere();
  if (fault.kind == StoreFault::Kind::kNone) return replies;
  fault.outcome_unknown = true;
  dead_ = fault;
  return {};
}

std::vector<StoreReply> SqliteStore::Commit(const std::vector<StoreCall>& batch, StoreFault& fault) {
  fault = Usable();
  if (fault.kind != StoreFault::Kind::kNone) {
    dead_ = fault.reopen ? fault : dead_;
    return {};
  }
  if (session_.writes() >= kForcedCheckpoint) {
    fault = KeepHouse();
    if (fault.kind != StoreFault::Kind::kNone) return {};
  }
  std::vector<StoreReply> replies = Transact(batch, fault);
  if (fault.kind != StoreFault::Kind::kFull || !folder_.DropBallast()) return replies;
  // The ballast makes room for what has happened already; below the low water mark nothing new starts.
  return Transact(batch, fault);
}

void SqliteStore::Relax() {
  // What fails here fails again, and is told, at the next commit.
  if (open_) static_cast<void>(session_.db().Execute("PRAGMA shrink_memory"));
}

StoreFault SqliteStore::Heartbeat(Instant now) {
  StoreFault fault = Usable();
  if (fault.kind != StoreFault::Kind::kNone) {
    dead_ = fault.reopen ? fault : dead_;
    return fault;
  }
  session_.ClearFailure();
  {
    Transaction transaction(session_.db());
    if (DbStatus status = transaction.Begin(); !status.ok()) return Refused(status);
    NoteAlive(now);
    if (session_.failed()) return Refused(session_.failure());
    if (DbStatus status = transaction.Commit(); !status.ok()) return Refused(status, true);
  }
  ++beats_;
  if (session_.writes() >= kQuietCheckpoint || beats_ >= kBeatsPerCheckpoint) {
    fault = KeepHouse();
    if (fault.kind != StoreFault::Kind::kNone) return fault;
  }
  const bool was_full = std::exchange(disk_was_full_, false);
  std::string closed = ClosedBecause();
  if (!closed.empty()) {
    fault = MakeFault(StoreFault::Kind::kFull, closed);
    fault.claims_only = true;
    return fault;
  }
  if (was_full) folder_.LayBallast();
  return {};
}

StoreFault SqliteStore::KeepHouse() {
  session_.TakeWrites();
  beats_ = 0;
  Checkpointed done;
  DbStatus status = session_.db().Checkpoint(false, &done);
  if (status.ok() && done.complete && done.log_pages > kLogPagesMax) status = session_.db().Checkpoint(true);
  // Readers and strangers may hold it up; then it is done another time.
  if (status.ok() || status.code == DbCode::kBusy || status.code == DbCode::kLocked) return {};
  return Refused(status);
}

Result<Snapshot> SqliteStore::Load() {
  last_fault_ = Usable();
  if (last_fault_.kind != StoreFault::Kind::kNone) return Error(last_fault_.message);
  session_.ClearFailure();
  Snapshot snapshot;
  ReadAll(session_, kCursors, TakeCursor, snapshot.cursors);
  ReadAll(session_, kOpenRuns, TakeRun, snapshot.open_runs);
  ReadAll(session_, kUnfinished, TakeAttempt, snapshot.unfinished);
  ReadAll(session_, kFailed, TakeAttempt, snapshot.failed);
  ReadAll(session_, kBreakers, TakeBreaker, snapshot.breakers);
  ReadAll(session_, kControls, TakeControl, snapshot.controls);
  ReadAll(session_, kFlags, TakeFlag, snapshot.flags);
  ReadAll(session_, kPendingAlerts, TakeAlert, snapshot.pending_alerts);
  session_.Each(
      kPools, [](Put&) {},
      [&](Take& take) {
        std::string pool = take.Text();
        snapshot.pool_last_start.emplace_back(std::move(pool), take.At());
        return true;
      });
  session_.Each(
      kAhead, [](Put&) {},
      [&](Take& take) {
        RunAhead ahead;
        ahead.task = take.Text();
        ahead.value = take.Text();
        ahead.due = take.At();
        snapshot.ahead.push_back(std::move(ahead));
        return true;
      });
  session_.One(
      kReadAlive, [](Put&) {}, [&](Take& take) { snapshot.last_alive = take.At(); });
  if (!session_.failed()) return snapshot;
  last_fault_ = Refused(session_.failure());
  if (session_.failure().code == DbCode::kCorrupt) {
    last_fault_.message = StrCat(session_.failure().message, ". ", RecoverySteps(folder_.DatabasePath()));
  }
  return Error(last_fault_.message);
}

static Result<std::unique_ptr<StoreReader>> ReaderOf(const std::string& path, const DamageSeen& damage) {
  DbOptions options;
  options.read_only = true;
  options.busy_timeout = kReaderWait;
  options.cache_kib = 2048;
  options.wal_checkpoint_pages = 0;
  Database database;
  DbStatus status = Database::Open(path, options, database);
  if (!status.ok()) {
    if (damage && IsDamage(status)) damage(status.message);
    return Error(status.message);
  }
  return NewSqliteReader(std::move(database), damage);
}

Result<std::unique_ptr<StoreReader>> SqliteStore::NewReader() {
  return ReaderOf(folder_.DatabasePath(), {});
}

Status SqliteStore::Backup(const std::string& path) {
  last_fault_ = Usable();
  if (last_fault_.kind != StoreFault::Kind::kNone) return Error(last_fault_.message);
  if (FileExists(path)) return Error(StrCat(path, ": is there already; a backup overwrites nothing"));
  const std::string part = path + ".part";
  unlink(part.c_str());
  DbStatus status = session_.db().BackupTo(part);
  if (!status.ok()) {
    last_fault_ = FaultOf(status, false, false);  // of the place it was written to, so our handle is well
    return Error(status.message);
  }
  Fd copy(open(part.c_str(), O_RDWR | O_CLOEXEC));
  bool kept = copy.valid() && fchmod(copy.get(), 0600) == 0 && fsync(copy.get()) == 0 &&
              rename(part.c_str(), path.c_str()) == 0;
  if (kept) return {};
  Error error(StrCat(path, ": cannot keep the backup: ", ErrnoText(errno)));
  unlink(part.c_str());
  last_fault_ = MakeFault(StoreFault::Kind::kIo, error.message());
  return error;
}

std::unique_ptr<Store> NewSqliteStore(const std::string& folder, const Clock& clock) {
  return std::make_unique<SqliteStore>(folder, clock);
}

Result<std::unique_ptr<StoreReader>> NewSqliteReader(const std::string& folder, DamageSeen damage) {
  return ReaderOf(StoreFolder(folder).DatabasePath(), damage);
}

}  // namespace duecourse
