// Taking a store into use. Order matters: the owner lock first, so that nobody else writes; then the files
// are looked at and checked without writing to them; only then the database is opened for writing.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/random.h"
#include "base/text.h"
#include "store/schema.h"
#include "store/sqlite_fault.h"
#include "store/sqlite_store.h"

namespace duecourse {
namespace {

constexpr int kCacheKib = 4096;
constexpr int kStoreIdBytes = 12;

constexpr const char* kUserVersion = R"sql(
PRAGMA user_version
)sql";

constexpr const char* kJournalMode = R"sql(
PRAGMA journal_mode
)sql";

constexpr const char* kSynchronous = R"sql(
PRAGMA synchronous
)sql";

constexpr const char* kInsertMeta = R"sql(
INSERT INTO meta (one, store_id, created_at, last_alive)
VALUES (1, ?, ?, ?)
)sql";

constexpr const char* kReadMeta = R"sql(
SELECT store_id, created_at, last_alive
FROM meta
)sql";

// The newest that opened it and did not close it.
constexpr const char* kPredecessor = R"sql(
SELECT incarnation, closed_at
FROM node
ORDER BY seq DESC
LIMIT 1
)sql";

constexpr const char* kWriteNode = R"sql(
INSERT INTO node (incarnation, node, boot_id, zone_data, opened_at)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (incarnation) DO UPDATE
SET opened_at = excluded.opened_at,
    closed_at = NULL
)sql";

constexpr const char* kFindNode = R"sql(
SELECT seq
FROM node
WHERE incarnation = ?
)sql";

constexpr const char* kCloseNode = R"sql(
UPDATE node
SET closed_at = ?2
WHERE incarnation = ?1
)sql";

constexpr const char* kSetAlive = R"sql(
UPDATE meta
SET last_alive = ?
)sql";

constexpr const char* kEndLeases = R"sql(
UPDATE run
SET lease_until = 0
WHERE )sql" DC_OPEN_STATES R"sql(
  AND state = 'running'
  AND owner IS NOT ?
)sql";

constexpr const char* kNewestVersion = R"sql(
SELECT version, hash
FROM rule_version
ORDER BY version DESC
LIMIT 1
)sql";

std::string OneText(SqlSession& session, const char* sql) {
  std::string text;
  session.One(
      sql, [](Put&) {}, [&](Take& take) { text = take.Text(); });
  return text;
}

DbOptions WriterOptions() {
  DbOptions options;
  options.busy_timeout = kWriterWait;
  options.cache_kib = kCacheKib;
  options.wal_checkpoint_pages = 0;  // KeepHouse does it, when nobody waits for a reply
  return options;
}

}  // namespace

Result<int64_t> SchemaOf(SqlSession& session) {
  int64_t version = -1;
  session.One(
      kUserVersion, [](Put&) {}, [&](Take& take) { version = take.Number(); });
  if (session.failed()) return Error(session.failure().message);
  return version;
}

DbStatus Migrate(SqlSession& session) {
  Result<int64_t> schema = SchemaOf(session);
  if (!schema.ok()) return session.failure();
  for (const Migration& migration : Migrations()) {
    if (migration.number <= *schema) continue;
    Transaction transaction(session.db());
    if (DbStatus status = transaction.Begin(); !status.ok()) return status;
    std::string sql = StrCat(migration.sql, "PRAGMA user_version = ", migration.number, ";\n");
    if (DbStatus status = session.db().Execute(sql); !status.ok()) return status;
    if (DbStatus status = transaction.Commit(); !status.ok()) return status;
  }
  return {};
}

// Made beside and renamed when it is whole, so that a kill in the middle leaves no half store behind.
StoreFault SqliteStore::Create() {
  const std::string path = folder_.DatabasePath() + ".new";
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((path + suffix).c_str());
  Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return MakeFault(errno == EROFS ? StoreFault::Kind::kReadOnly : StoreFault::Kind::kIo,
                     StrCat(path, ": cannot make it: ", ErrnoText(errno)));
  }
  fd.Reset();
  SqlSession making;
  if (DbStatus status = Database::Open(path, WriterOptions(), making.db()); !status.ok())
    return Refused(status);
  std::string mark = StrCat("PRAGMA application_id = ", kApplicationId);
  DbStatus status = making.db().Execute(mark);
  if (status.ok()) status = Migrate(making);
  if (!status.ok()) return Refused(status);
  Instant now = clock_.Wall();
  store_id_ = "s" + SecureToken(kStoreIdBytes);
  making.Exec(kInsertMeta, [&](Put& put) { put << store_id_ << now << now; });
  if (making.failed()) return Refused(making.failure());
  if (status = making.db().Checkpoint(true); !status.ok()) return Refused(status);
  making.Close();
  if (rename(path.c_str(), folder_.DatabasePath().c_str()) != 0) {
    return MakeFault(StoreFault::Kind::kIo, StrCat(path, ": cannot rename it: ", ErrnoText(errno)));
  }
  // Writing the id syncs the folder, and with it the new name of the database.
  if (Status wrote = folder_.WriteId(store_id_, now); !wrote.ok()) {
    return MakeFault(StoreFault::Kind::kIo, wrote.error().message());
  }
  return Examine();
}

// Reads only. A database that fails here has not been touched.
StoreFault SqliteStore::Examine() {
  DbOptions options;
  options.read_only = true;
  options.busy_timeout = kWriterWait;
  SqlSession looking;
  DbStatus status = Database::Open(folder_.DatabasePath(), options, looking.db());
  if (status.ok()) status = looking.db().QuickCheck();
  if (!status.ok()) {
    StoreFault fault = Refused(status);
    if (fault.kind == StoreFault::Kind::kCorrupt) {
      fault.message = StrCat(status.message, ". ", RecoverySteps(folder_.DatabasePath()));
    }
    return fault;
  }
  Result<int64_t> schema = SchemaOf(looking);
  if (!schema.ok()) return Refused(looking.failure());
  if (*schema > NewestSchema()) {
    return MakeFault(
        StoreFault::Kind::kSchemaTooNew,
        StrCat(folder_.DatabasePath(), ": has schema ", *schema, ", this duecourse knows schemas up to ",
               NewestSchema(),
               ". A newer version has used it: install that again, or restore the backup that was "
               "made before the upgrade. The store was left as it is"));
  }
  if (*schema < 1) {
    return MakeFault(StoreFault::Kind::kCorrupt, StrCat(folder_.DatabasePath(), ": has no tables. ",
                                                        RecoverySteps(folder_.DatabasePath())));
  }
  store_id_ = OneText(looking, kReadMeta);
  if (looking.failed()) return Refused(looking.failure());
  if (!store_id_.empty()) return {};
  return MakeFault(StoreFault::Kind::kCorrupt, StrCat(folder_.DatabasePath(), ": names no store id. ",
                                                      RecoverySteps(folder_.DatabasePath())));
}

// The store-id file and the database must name one store; where there is no file it is written again.
StoreFault SqliteStore::CheckId() {
  Result<std::string> on_file = folder_.ReadId();
  if (!on_file.ok()) return MakeFault(StoreFault::Kind::kVanished, on_file.error().message());
  if (on_file->empty()) {
    Status wrote = folder_.WriteId(store_id_, clock_.Wall());
    return wrote.ok() ? StoreFault() : MakeFault(StoreFault::Kind::kIo, wrote.error().message());
  }
  if (*on_file == store_id_) return {};
  return MakeFault(StoreFault::Kind::kVanished, StrCat(folder_.DatabasePath(), ": is store ", store_id_,
                                                       ", but the file store-id beside it says ", *on_file,
                                                       ": another store's database was put here. Put the "
                                                       "right one back; if it is meant to be here, remove "
                                                       "the file store-id"));
}

StoreFault SqliteStore::CheckDurability(const OpenRequest& request) {
  if (request.allow_unsafe_durability) return {};
  std::string mode = OneText(session_, kJournalMode);
  std::string sync = OneText(session_, kSynchronous);
  if (session_.failed()) return Refused(session_.failure());
  constexpr const char* kFull = "2";
  if (mode == "wal" && sync == kFull) return {};
  return MakeFault(
      StoreFault::Kind::kOther,
      StrCat(folder_.DatabasePath(), ": journal_mode is ", mode, " and synchronous is ", sync,
             ", wanted are wal and 2 (FULL): a commit would not survive a power cut, and a task could "
             "run twice. The file system cannot do it; use a local disk, or set "
             "allow_unsafe_durability: true"));
}

StoreFault SqliteStore::OpenDatabase(const OpenRequest& request) {
  DbStatus status = Database::Open(folder_.DatabasePath(), WriterOptions(), session_.db());
  if (!status.ok()) return Refused(status);
  folder_.Remember();
  if (status = Migrate(session_); !status.ok()) return Refused(status);
  return CheckDurability(request);
}

StoreFault SqliteStore::TakeFolder(const OpenRequest& request, bool& created) {
  StoreOwner owner{request.node, request.incarnation, request.boot_id, request.zone_data};
  const bool again = !owned_id_.empty();
  const bool make = request.init && !again;
  // Before anything is made or locked there: an empty mount point is left as it is.
  StoreFault fault = again ? folder_.CheckStill(owned_id_) : make ? StoreFault() : folder_.CheckEverMade();
  if (fault.kind != StoreFault::Kind::kNone) return fault;
  fault = folder_.Prepare(make, request.allow_unsafe_durability);
  if (fault.kind != StoreFault::Kind::kNone) return fault;
  fault = folder_.Lock(owner, clock_.Wall());
  if (fault.kind != StoreFault::Kind::kNone) return fault;
  bool found = false;
  fault = folder_.Inspect(make, clock_.Wall(), found);
  if (fault.kind != StoreFault::Kind::kNone) return fault;
  if (!found && !make) return folder_.CheckStill(owned_id_);  // it went away this very moment
  created = !found;
  fault = found ? Examine() : Create();
  if (fault.kind != StoreFault::Kind::kNone) return fault;
  if (again && store_id_ != owned_id_) {
    return MakeFault(StoreFault::Kind::kVanished,
                     StrCat(folder_.DatabasePath(), ": is store ", store_id_, ", but the daemon works with store ",
                            owned_id_, ". Nothing starts; put the right one back"));
  }
  return CheckId();
}

StoreFault SqliteStore::TakeOver(const OpenRequest& request, OpenReply& reply) {
  Transaction transaction(session_.db());
  if (DbStatus status = transaction.Begin(); !status.ok()) return Refused(status);
  auto take_predecessor = [&](Take& take) {
    std::string incarnation = take.Text();
    if (!take.MaybeNumber() && incarnation != request.incarnation) reply.predecessor = std::move(incarnation);
  };
  session_.One(
      kPredecessor, [](Put&) {}, take_predecessor);
  session_.Exec(kWriteNode, [&](Put& put) {
    put << request.incarnation << request.node << request.boot_id << request.zone_data << clock_.Wall();
  });
  int64_t node = 0;
  session_.One(
      kFindNode, [&](Put& put) { put << request.incarnation; }, [&](Take& take) { node = take.Number(); });
  session_.Exec(kEndLeases, [&](Put& put) { put << node; });
  session_.One(
      kNewestVersion, [](Put&) {},
      [&](Take& take) {
        reply.version = take.Number();
        reply.rules_hash = take.Text();
      });
  session_.One(
      kReadMeta, [](Put&) {},
      [&](Take& take) {
        take.Text();
        take.Number();
        last_alive_ = take.At();
      });
  if (session_.failed()) return Refused(session_.failure());
  if (DbStatus status = transaction.Commit(); !status.ok()) return Refused(status, true);
  incarnation_ = request.incarnation;
  reply.store_id = store_id_;
  calls_.Begin({request.node, request.incarnation, request.boot_id, request.zone_data}, node);
  return {};
}

Result<OpenReply> SqliteStore::Open(const OpenRequest& request) {
  const bool held = folder_.locked();
  session_.Close();
  open_ = false;
  dead_ = {};
  OpenReply reply;
  StoreFault fault = TakeFolder(request, reply.created);
  if (fault.kind == StoreFault::Kind::kNone) fault = OpenDatabase(request);
  if (fault.kind == StoreFault::Kind::kNone) fault = TakeOver(request, reply);
  last_fault_ = fault;
  if (fault.kind != StoreFault::Kind::kNone) {
    session_.Close();
    // A daemon that has lost its store stays its owner: its attempts may still run.
    if (!held) folder_.Unlock();
    dead_ = fault;
    dead_.reopen = true;
    return Error(fault.message);
  }
  folder_.LayBallast();
  open_ = true;
  owned_id_ = store_id_;
  return reply;
}

void SqliteStore::Close() {
  if (open_ && dead_.kind == StoreFault::Kind::kNone) {
    session_.ClearFailure();
    // Best effort: what is not noted here costs the next start a closer look, and nothing else.
    Instant now = clock_.Wall();
    session_.Exec(kSetAlive, [&](Put& put) { put << now; });
    session_.Exec(kCloseNode, [&](Put& put) { put << incarnation_ << now; });
    DbStatus moved = session_.db().Checkpoint(true);
    if (!moved.ok()) last_fault_ = Refused(moved);
  }
  session_.Close();
  open_ = false;
  folder_.Unlock();
}

SqliteStore::~SqliteStore() { session_.Close(); }

}  // namespace duecourse
