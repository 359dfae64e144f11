#include "store/sqlite_fault.h"

#include <utility>

#include "base/text.h"

namespace duecourse {
namespace {

// Extended codes that say more than their kind (sqlite.org/rescode.html).
constexpr int kReadOnlyMoved = 1032;  // SQLITE_READONLY_DBMOVED: the file was renamed or deleted

StoreFault::Kind KindOf(const DbStatus& status, bool mounted_read_only) {
  if (status.extended == kReadOnlyMoved) return StoreFault::Kind::kVanished;
  switch (status.code) {
    case DbCode::kOk:
      return StoreFault::Kind::kNone;
    case DbCode::kBusy:
    case DbCode::kLocked:
      return StoreFault::Kind::kBusy;
    case DbCode::kFull:
      return StoreFault::Kind::kFull;
    case DbCode::kReadOnly:
      return StoreFault::Kind::kReadOnly;
    case DbCode::kCorrupt:
    case DbCode::kNotADb:
      return StoreFault::Kind::kCorrupt;
    case DbCode::kIoError:
    case DbCode::kCannotOpen:
      return mounted_read_only ? StoreFault::Kind::kReadOnly : StoreFault::Kind::kIo;
    case DbCode::kConstraint:
    case DbCode::kInterrupt:
    case DbCode::kTooBig:
    case DbCode::kNoMemory:
    case DbCode::kOther:
      return StoreFault::Kind::kOther;
  }
  return StoreFault::Kind::kOther;
}

const char* Advice(StoreFault::Kind kind) {
  switch (kind) {
    case StoreFault::Kind::kBusy:
      return "another program holds the store's write lock (a shell or a copy tool; `fuser store.db` names "
             "it). "
             "Nothing starts until it lets go; nothing is lost";
    case StoreFault::Kind::kFull:
      return "the disk is full. Nothing starts, results wait in memory; free some space there";
    case StoreFault::Kind::kReadOnly:
      return "the store cannot be written (read-only file system, or no permission). Nothing starts, results "
             "wait "
             "in memory; make it writable again";
    case StoreFault::Kind::kCorrupt:
      return "the store is damaged. Nothing starts; stop the daemon, keep a copy of the folder, then restore "
             "a "
             "backup";
    case StoreFault::Kind::kIo:
      return "the disk or file system failed. Nothing starts; the store is opened again and checked before "
             "it is "
             "trusted. Look at the kernel's log (dmesg)";
    case StoreFault::Kind::kVanished:
      return "store.db was deleted, moved or replaced while it was in use. Nothing starts; put it back, or "
             "restore a backup";
    case StoreFault::Kind::kNone:
    case StoreFault::Kind::kSchemaTooNew:
    case StoreFault::Kind::kOwned:
    case StoreFault::Kind::kOther:
      break;
  }
  return "";
}

}  // namespace

StoreFault MakeFault(StoreFault::Kind kind, std::string message) {
  StoreFault fault;
  fault.kind = kind;
  fault.message = std::move(message);
  return fault;
}

StoreFault FaultOf(const DbStatus& status, bool committing, bool mounted_read_only) {
  StoreFault fault;
  fault.kind = KindOf(status, mounted_read_only);
  fault.message = status.message;
  if (const char* advice = Advice(fault.kind); *advice != '\0') fault.message += StrCat(": ", advice);
  // Busy and full are told before anything is committed. After any other failure of COMMIT the log may hold
  // the transaction, synced or not.
  fault.outcome_unknown =
      committing && fault.kind != StoreFault::Kind::kBusy && fault.kind != StoreFault::Kind::kFull;
  fault.reopen = fault.kind == StoreFault::Kind::kIo || fault.kind == StoreFault::Kind::kCorrupt ||
                 fault.kind == StoreFault::Kind::kVanished || fault.outcome_unknown;
  return fault;
}

bool IsDamage(const DbStatus& status) {
  return (status.code == DbCode::kCorrupt || status.code == DbCode::kNotADb) && status.extended != 0;
}

std::string RecoverySteps(const std::string& database) {
  return StrCat(
      "It was left as it is. 1. Keep a copy of its folder. 2. Look: sqlite3 -readonly ", database,
      " 'PRAGMA integrity_check'. 3. Restore the newest backup: cp BACKUP ", database,
      " and remove store.db-wal and store.db-shm; what was done after the backup is then unknown and may "
      "run again. 4. Without a backup move ",
      database, " away and start with `duecourse serve --init`: windows already open owe nothing");
}

}  // namespace duecourse
