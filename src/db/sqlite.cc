#include "db/sqlite.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/check.h"
#include "base/file.h"
#include "base/text.h"

namespace duecourse {
namespace {

DbCode CodeOf(int result) {
  switch (result & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return DbCode::kOk;
    case SQLITE_BUSY:
      return DbCode::kBusy;
    case SQLITE_LOCKED:
      return DbCode::kLocked;
    case SQLITE_FULL:
      return DbCode::kFull;
    case SQLITE_READONLY:
      return DbCode::kReadOnly;
    case SQLITE_IOERR:
      return DbCode::kIoError;
    case SQLITE_CORRUPT:
      return DbCode::kCorrupt;
    case SQLITE_NOTADB:
      return DbCode::kNotADb;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return DbCode::kCannotOpen;
    case SQLITE_CONSTRAINT:
      return DbCode::kConstraint;
    case SQLITE_INTERRUPT:
      return DbCode::kInterrupt;
    case SQLITE_TOOBIG:
      return DbCode::kTooBig;
    case SQLITE_NOMEM:
      return DbCode::kNoMemory;
    default:
      return DbCode::kOther;
  }
}

// From a handle, whatever the state of its owner.
DbStatus FailOf(sqlite3* handle, int result, std::string_view what, std::string_view path) {
  DbStatus status;
  status.code = CodeOf(result);
  status.extended = result;
  if (status.ok()) return status;
  const char* words = handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(result);
  status.message =
      StrCat(path, ": ", what, ": ", words, " (", DbCodeName(status.code), ", SQLite code ", result, ")");
  return status;
}

std::string_view PathOf(sqlite3* handle) {
  const char* path = sqlite3_db_filename(handle, "main");
  return path != nullptr && *path != '\0' ? path : ":memory:";
}

void CloseHandle(sqlite3* handle) {
  // A statement that outlives its database is our mistake; close_v2 would hide it until the statement ends.
  if (handle != nullptr) CHECK(sqlite3_close(handle) == SQLITE_OK);
}

}  // namespace

const char* DbCodeName(DbCode code) {
  switch (code) {
    case DbCode::kOk:
      return "ok";
    case DbCode::kBusy:
      return "busy";
    case DbCode::kLocked:
      return "locked";
    case DbCode::kFull:
      return "full";
    case DbCode::kReadOnly:
      return "read_only";
    case DbCode::kIoError:
      return "io_error";
    case DbCode::kCorrupt:
      return "corrupt";
    case DbCode::kNotADb:
      return "not_a_database";
    case DbCode::kCannotOpen:
      return "cannot_open";
    case DbCode::kConstraint:
      return "constraint";
    case DbCode::kInterrupt:
      return "interrupted";
    case DbCode::kTooBig:
      return "too_big";
    case DbCode::kNoMemory:
      return "no_memory";
    case DbCode::kOther:
      return "other";
  }
  return "other";
}

Status DbStatus::AsStatus() const {
  if (ok()) return {};
  return Error(message);
}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

Database& Database::operator=(Database&& other) noexcept {
  if (this != &other) {
    Close();
    handle_ = std::exchange(other.handle_, nullptr);
    path_ = std::move(other.path_);
  }
  return *this;
}

Database::~Database() { Close(); }

void Database::Close() { CloseHandle(std::exchange(handle_, nullptr)); }

DbStatus Database::Fail(int result, std::string_view what) const {
  return FailOf(handle_, result, what, path_);
}

DbStatus Database::Open(const std::string& path, const DbOptions& options, Database& out) {
  out.Close();
  Database db;
  db.path_ = path;
  // Counting what it allocates, which nobody asks for, would take a lock at every allocation of every thread.
  // Where some library had set SQLite up before us it goes on counting.
  [[maybe_unused]] static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE;
  flags |= options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (options.create && !options.read_only) flags |= SQLITE_OPEN_CREATE;
  int result = sqlite3_open_v2(path.c_str(), &db.handle_, flags, nullptr);
  if (result != SQLITE_OK) return db.Fail(result, "cannot open the database");
  sqlite3_busy_timeout(db.handle_,
                       static_cast<int>(std::clamp<int64_t>(options.busy_timeout.count, 0, INT32_MAX)));
  sqlite3_db_config(db.handle_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(db.handle_, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  sqlite3_db_config(db.handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  std::string pragmas =
      StrCat("PRAGMA cache_size=-", options.cache_kib,
             "; PRAGMA foreign_keys=ON; PRAGMA synchronous=", options.full_sync ? "FULL" : "NORMAL", ";");
  if (options.wal && !options.read_only) pragmas += "PRAGMA journal_mode=WAL;";
  pragmas += StrCat("PRAGMA wal_autocheckpoint=", options.wal_checkpoint_pages, ";");
  if (options.max_pages > 0) pragmas += StrCat("PRAGMA max_page_count=", options.max_pages, ";");
  // Opening alone touches nothing; this reads the first page and so finds a file that is no database.
  pragmas += "SELECT count(*) FROM sqlite_master;";
  DbStatus status = db.Execute(pragmas);
  if (!status.ok()) return status;
  out = std::move(db);
  return {};
}

DbStatus Database::Execute(const std::string& sql) {
  return Fail(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr), "cannot execute");
}

DbStatus Database::Begin() {
  return Fail(sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr),
              "cannot begin a transaction");
}

DbStatus Database::Commit() {
  return Fail(sqlite3_exec(handle_, "COMMIT", nullptr, nullptr, nullptr), "cannot commit");
}

void Database::Rollback() {
  if (in_transaction()) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
}

bool Database::in_transaction() const { return handle_ != nullptr && sqlite3_get_autocommit(handle_) == 0; }
int64_t Database::changes() const { return sqlite3_changes64(handle_); }
int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(handle_); }

DbStatus Database::Checkpoint(bool truncate, Checkpointed* done) {
  int log = 0;
  int moved = 0;
  int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  int result = sqlite3_wal_checkpoint_v2(handle_, nullptr, mode, &log, &moved);
  if (done != nullptr) *done = {std::max(log, 0), std::max(moved, 0), result == SQLITE_OK && log == moved};
  return Fail(result, "cannot checkpoint");
}

DbStatus Database::BackupTo(const std::string& to_path) {
  if (FileExists(to_path))
    return {DbCode::kCannotOpen, 0, StrCat(to_path, ": is there already; a backup overwrites nothing")};
  DbOptions options;
  options.create = true;
  options.wal = false;
  Database target;
  DbStatus status = Open(to_path, options, target);
  if (!status.ok()) return status;
  sqlite3_backup* backup = sqlite3_backup_init(target.handle_, "main", handle_, "main");
  if (backup == nullptr) {
    status = target.Fail(sqlite3_extended_errcode(target.handle_), "cannot begin the backup");
  } else {
    // All pages in one step: with a write-ahead log a reader stops no writer, and in several steps each write
    // of another connection would make the copy begin again.
    int result = sqlite3_backup_step(backup, -1);
    int finished = sqlite3_backup_finish(backup);
    status = target.Fail(result == SQLITE_DONE ? finished : result, "cannot copy into the backup");
  }
  target.Close();
  if (!status.ok()) std::remove(to_path.c_str());  // half a copy must not be taken for one
  return status;
}

DbStatus Database::QuickCheck() {
  Statement check;
  if (DbStatus status = Statement::Prepare(*this, "PRAGMA quick_check(1)", check); !status.ok())
    return status;
  bool row = false;
  if (DbStatus status = check.Step(row); !status.ok()) return status;
  if (row && check.Text(0) != "ok") {
    return {DbCode::kCorrupt, SQLITE_CORRUPT, StrCat(path_, ": the database is damaged: ", check.Text(0))};
  }
  return {};
}

void Database::Interrupt() { sqlite3_interrupt(handle_); }

Statement::Statement(Statement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  if (this != &other) {
    sqlite3_finalize(handle_);
    handle_ = std::exchange(other.handle_, nullptr);
  }
  return *this;
}

Statement::~Statement() { sqlite3_finalize(handle_); }

DbStatus Statement::Fail(int result) const {
  sqlite3* db = sqlite3_db_handle(handle_);
  std::string_view sql = sqlite3_sql(handle_);
  std::string what = StrCat("cannot run \"", ShowBytes(Trim(sql).substr(0, 80), false), "\"");
  return FailOf(db, result, what, PathOf(db));
}

DbStatus Statement::Prepare(Database& db, const std::string& sql, Statement& out) {
  Statement statement;
  int result = sqlite3_prepare_v3(db.handle(), sql.c_str(), static_cast<int>(sql.size()),
                                  SQLITE_PREPARE_PERSISTENT, &statement.handle_, nullptr);
  if (result != SQLITE_OK) {
    std::string what = StrCat("cannot prepare \"", ShowBytes(Trim(sql).substr(0, 80), false), "\"");
    return FailOf(db.handle(), result, what, db.path());
  }
  CHECK(statement.handle_ != nullptr);  // an empty statement
  out = std::move(statement);
  return {};
}

Statement& Statement::Bind(int index, int64_t value) {
  CHECK(sqlite3_bind_int64(handle_, index, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::Bind(int index, std::string_view value) {
  // A view may have no address at all; SQLite would store NULL for it.
  const char* data = value.data() != nullptr ? value.data() : "";
  CHECK(sqlite3_bind_text64(handle_, index, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8) == SQLITE_OK);
  return *this;
}

Statement& Statement::Bind(int index, double value) {
  CHECK(sqlite3_bind_double(handle_, index, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::BindNull(int index) {
  CHECK(sqlite3_bind_null(handle_, index) == SQLITE_OK);
  return *this;
}

Statement& Statement::BindMaybe(int index, const std::optional<int64_t>& value) {
  return value ? Bind(index, *value) : BindNull(index);
}

Statement& Statement::BindMaybe(int index, const std::optional<std::string>& value) {
  return value ? Bind(index, *value) : BindNull(index);
}

DbStatus Statement::Step(bool& row) {
  int result = sqlite3_step(handle_);
  row = result == SQLITE_ROW;
  if (row) return {};
  DbStatus status = result == SQLITE_DONE ? DbStatus{} : Fail(result);
  sqlite3_reset(handle_);
  return status;
}

DbStatus Statement::Run() {
  bool row = true;
  while (row) {
    if (DbStatus status = Step(row); !status.ok()) return status;
  }
  return {};
}

void Statement::Reset() { sqlite3_reset(handle_); }

void Statement::Clear() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
}

int Statement::column_count() const { return sqlite3_column_count(handle_); }
bool Statement::IsNull(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }
int64_t Statement::Integer(int column) const { return sqlite3_column_int64(handle_, column); }
double Statement::Real(int column) const { return sqlite3_column_double(handle_, column); }

std::string_view Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(handle_, column))};
}

std::optional<int64_t> Statement::MaybeInteger(int column) const {
  if (IsNull(column)) return std::nullopt;
  return Integer(column);
}

std::optional<std::string> Statement::MaybeText(int column) const {
  if (IsNull(column)) return std::nullopt;
  return std::string(Text(column));
}

std::string SqliteVersion() { return sqlite3_libversion(); }

}  // namespace duecourse
