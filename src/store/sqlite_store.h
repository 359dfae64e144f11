// The SQLite store: one connection that writes, one thread. Internal to this room; store.h says what it is
// for.
//
// sqlite_open.cc takes the folder and the database into use and lets them go; sqlite_store.cc commits, loads
// and keeps house; sqlite_calls.h has the calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/sqlite_calls.h"
#include "store/store_folder.h"

namespace duecourse {

// How long a commit waits for a stranger's lock before it says kBusy: its caller has other things to do, and
// tries again.
inline constexpr Millis kWriterWait{200};
inline constexpr Millis kReaderWait = Seconds(2);

class SqliteStore : public Store {
 public:
  SqliteStore(const std::string& folder, const Clock& clock);
  ~SqliteStore() override;
  Result<OpenReply> Open(const OpenRequest& request) override;
  Result<Snapshot> Load() override;
  std::vector<StoreReply> Commit(const std::vector<StoreCall>& batch, StoreFault& fault) override;
  StoreFault Heartbeat(Instant now) override;
  void Relax() override;
  Result<std::unique_ptr<StoreReader>> NewReader() override;
  Status Backup(const std::string& path) override;
  StoreFault last_fault() const override { return last_fault_; }
  void Close() override;

 private:
  StoreFault TakeFolder(const OpenRequest& request, bool& created);
  StoreFault Create();
  StoreFault Examine();
  StoreFault OpenDatabase(const OpenRequest& request);
  StoreFault CheckId();
  StoreFault CheckDurability(const OpenRequest& request);
  StoreFault TakeOver(const OpenRequest& request, OpenReply& reply);

  StoreFault Refused(const DbStatus& status, bool committing = false);
  StoreFault Usable();
  std::vector<StoreReply> Transact(const std::vector<StoreCall>& batch, StoreFault& fault);
  void NoteAlive(Instant now);
  StoreFault KeepHouse();
  std::string ClosedBecause() const;

  StoreFolder folder_;
  const Clock& clock_;
  SqlSession session_;
  SqliteCalls calls_;
  std::string store_id_;
  std::string owned_id_;  // of the first Open that went well: no other store is ever opened in its place
  std::string incarnation_;
  bool open_ = false;
  StoreFault dead_;        // why the handle is done for, if it is
  StoreFault last_fault_;  // of Open, Load, Backup
  bool disk_was_full_ = false;
  Instant last_alive_;
  int beats_ = 0;  // since the last checkpoint
};

// Migrates the database that the session has open to the newest schema. The caller has checked that it is not
// newer than that.
DbStatus Migrate(SqlSession& session);
Result<int64_t> SchemaOf(SqlSession& session);
std::unique_ptr<StoreReader> NewSqliteReader(Database database, DamageSeen damage);

}  // namespace duecourse
