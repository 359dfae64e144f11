// SQLite behind a thin owner: databases and prepared statements that close themselves, errors as a kind that
// callers can act on. No SQL lives here but the pragmas of opening; the store room holds the rest.
//
// One Database is used by one thread at a time (it is opened without the library's own mutexes); several
// Databases on one file are how threads and processes work side by side. A Statement borrows its Database and
// must go first. Waits for another's lock take at most busy_timeout; then the answer is kBusy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace duecourse {

enum class DbCode {
  kOk,
  kBusy,        // another connection holds the lock; may pass by itself
  kLocked,      // a conflict inside this process (shared cache, or a table in use by a statement of our own)
  kFull,        // the disk, or a set page limit
  kReadOnly,    // the file, its folder or the connection
  kIoError,     // the disk or file system failed
  kCorrupt,     // the file's content is damaged
  kNotADb,      // the file is no SQLite database
  kCannotOpen,  // missing, no permission, or the folder is gone
  kConstraint,  // a UNIQUE, CHECK, NOT NULL or foreign key refused the row
  kInterrupt,   // Database::Interrupt
  kTooBig,
  kNoMemory,
  kOther,  // a mistake in the SQL or its use, mostly
};
const char* DbCodeName(DbCode code);

// The answer of a call. Not a Status, because callers decide by the kind (wait, refuse all claims, go on).
struct [[nodiscard]] DbStatus {
  DbCode code = DbCode::kOk;
  int extended = 0;     // SQLite's extended code, for the log
  std::string message;  // what failed, on which file
  bool ok() const { return code == DbCode::kOk; }
  Status AsStatus() const;
};

struct DbOptions {
  bool create = false;  // else a missing file is kCannotOpen
  bool read_only = false;
  bool full_sync = true;  // synchronous=FULL: a committed transaction survives a power cut; false is NORMAL
  bool wal = true;        // journal_mode=WAL; not changed where read_only
  Millis busy_timeout = Seconds(5);
  int cache_kib = 8192;
  int64_t max_pages = 0;            // 0: no limit; a test's way to a full disk
  int wal_checkpoint_pages = 1000;  // SQLite's own checkpoint after so many pages; 0: only Checkpoint()
};

// What a checkpoint of the write-ahead log did.
struct Checkpointed {
  int log_pages = 0;    // in the log
  int moved_pages = 0;  // of those, now in the database
  bool complete = false;
};

class Database {
 public:
  Database() = default;
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  // On failure `out` is closed. The file's first page is read, so a file that is no database is told here.
  static DbStatus Open(const std::string& path, const DbOptions& options, Database& out);
  bool is_open() const { return handle_ != nullptr; }
  void Close();

  // One or more statements whose rows do not matter.
  DbStatus Execute(const std::string& sql);
  DbStatus Begin();  // BEGIN IMMEDIATE: the write lock is taken here, so that kBusy cannot come in the middle
  DbStatus Commit();
  void Rollback();  // no-op where no transaction is open; a failed one is rolled back by SQLite itself on
                    // some errors
  bool in_transaction() const;
  int64_t changes() const;  // rows of the last INSERT, UPDATE or DELETE
  int64_t last_insert_id() const;

  // Moves the log's pages into the database file; truncate also empties the log, waiting for readers up to
  // busy_timeout.
  DbStatus Checkpoint(bool truncate, Checkpointed* done = nullptr);
  // A consistent copy at to_path, which must not exist; others go on writing meanwhile. Nothing is left there
  // on failure.
  DbStatus BackupTo(const std::string& to_path);
  // PRAGMA quick_check; kCorrupt with its first line where it finds fault.
  DbStatus QuickCheck();
  // Ends a call that runs on another thread with kInterrupt. The only method that any thread may call.
  void Interrupt();

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }

 private:
  DbStatus Fail(int result, std::string_view what) const;

  sqlite3* handle_ = nullptr;
  std::string path_;
};

// A prepared statement, kept and used again. Parameters are numbered from 1 (?1 ?2 …), columns from 0.
class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  static DbStatus Prepare(Database& db, const std::string& sql, Statement& out);
  bool is_prepared() const { return handle_ != nullptr; }

  // Text is copied. Binding a number the SQL does not have is our mistake: CHECK.
  Statement& Bind(int index, int64_t value);
  Statement& Bind(int index, int value) { return Bind(index, static_cast<int64_t>(value)); }
  Statement& Bind(int index, std::string_view value);
  Statement& Bind(int index, double value);
  Statement& BindNull(int index);
  Statement& BindMaybe(int index, const std::optional<int64_t>& value);  // nothing is NULL
  Statement& BindMaybe(int index, const std::optional<std::string>& value);

  // The next row: row becomes true and the columns can be read, or false at the end. After the end or an
  // error the statement is reset (its locks are gone) and may be bound and stepped again; bindings stay until
  // Clear.
  DbStatus Step(bool& row);
  // Step for statements without rows.
  DbStatus Run();
  // Ends reading early.
  void Reset();
  void Clear();  // Reset, and all parameters NULL

  int column_count() const;
  bool IsNull(int column) const;
  int64_t Integer(int column) const;  // 0 where NULL
  double Real(int column) const;
  std::string_view Text(int column) const;  // lives until the next Step, Run or Reset
  std::optional<int64_t> MaybeInteger(int column) const;
  std::optional<std::string> MaybeText(int column) const;

 private:
  DbStatus Fail(int result) const;

  sqlite3_stmt* handle_ = nullptr;
};

// A transaction that is rolled back unless Commit succeeded.
class Transaction {
 public:
  explicit Transaction(Database& db) : db_(db) {}
  ~Transaction() { db_.Rollback(); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  DbStatus Begin() { return db_.Begin(); }
  DbStatus Commit() { return db_.Commit(); }

 private:
  Database& db_;
};

// "3.40.1"
std::string SqliteVersion();

}  // namespace duecourse
