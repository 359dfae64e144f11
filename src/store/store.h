// The store's contract. SQLite is built in; an in-memory twin serves the
// simulator; PostgreSQL fits behind the same lines. One suite, contract.h and
// contract_*_test.cc, holds them all to it.
//
// A batch is one commit: either every accepted item of it is durable when
// Commit returns, or none is. Each item has its own outcome, and one's refusal
// never rolls back its neighbours. What must never be violated (one success a
// key, one owner, rising fences, the cap, limits, windows) is checked inside the
// transaction, at store time. After an error of Commit the outcome is unknown
// where `outcome_unknown` says so: read back by nonce, never retry and see.
//
// Threads: a Store belongs to one thread (the store thread). Readers are made by
// NewReader and belong each to the thread that uses them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/calls.h"

namespace duecourse {

struct StoreFault {
  enum class Kind { kNone, kBusy, kFull, kReadOnly, kCorrupt, kVanished, kIo, kSchemaTooNew, kOwned, kOther };
  Kind kind = Kind::kNone;
  bool outcome_unknown = false;  // the commit may have happened
  bool reopen =
      false;  // this handle is done for: Open again, then Load; until then every call fails like this
  std::string message;       // for the person on call, with what to do
  bool claims_only = false;  // a warning: nothing is claimed, all else is still taken
};

struct OpenRequest {
  std::string node;
  std::string incarnation;
  std::string boot_id;
  std::string zone_data;  // version of the zone data, for decision rows
  bool init = false;      // `serve --init`: a new store is wanted where none is, or one is gone; one that is
                          // there is opened and never replaced
  bool allow_unsafe_durability = false;
};
struct OpenReply {
  std::string store_id;
  bool created = false;
  std::string predecessor;  // incarnation that had it open and is proven dead, or empty
  int64_t version = 0;      // active rule version, 0: none
  std::string rules_hash;
};

// An occurrence that has its run already though its task's cursor has not reached it: started by hand.
struct RunAhead {
  std::string task;
  std::string value;
  Instant due;
};

struct Snapshot {
  std::vector<TaskCursor> cursors;
  std::vector<Run> open_runs;       // open states and manual_required
  std::vector<Attempt> unfinished;  // of running ones
  std::vector<Attempt> failed;      // failed, timed out or lost, of the newest ten of each; newest first
  std::vector<Breaker> breakers;
  std::vector<Control> controls;
  std::vector<Flag> flags;
  std::vector<AlertRow> pending_alerts;
  std::vector<std::pair<std::string, Instant>> pool_last_start;
  std::vector<RunAhead> ahead;  // of active cursors, by task, value and due instant
  Instant last_alive;           // newest instant at which a daemon is known to have been at work
};

struct RunFilter {
  std::string task;  // empty: all
  std::string run_id;
  std::string key;
  std::optional<std::string> value;
  std::optional<CivilDay> business_date;
  std::vector<RunState> states;  // empty: all
  Instant from = kLongAgo;       // due
  Instant until = kNever;
  int limit = 100;
  bool newest_first = true;
};
struct DecisionFilter {
  std::string task;
  std::string run_id;
  Instant from = kLongAgo;  // at
  Instant until = kNever;
  int64_t after_id = 0;
  int limit = 500;
  bool newest_first = false;
};

// Orders: runs of one task by due instant, all others as they were written; decisions of one task by their
// first instant, all others by id; alerts, audit rows and versions newest first; notes by first due instant;
// attempts by number. A limit is at least 0 and at most kReadMax. A reader never waits for the writer and
// never stops it.
inline constexpr int kReadMax = 10'000;
class StoreReader {
 public:
  virtual ~StoreReader() = default;
  virtual Result<std::vector<Run>> Runs(const RunFilter& filter) = 0;
  virtual Result<std::vector<Attempt>> Attempts(const std::string& run_id) = 0;
  virtual Result<std::vector<DecisionRow>> Decisions(const DecisionFilter& filter) = 0;
  virtual Result<std::vector<Note>> Notes(const std::string& task, Instant from, Instant until,
                                          int limit) = 0;  // overlapping
  virtual Result<std::vector<AlertRow>> Alerts(const std::string& task, Instant from, int limit) = 0;
  virtual Result<std::vector<AuditRow>> Audit(const std::string& task, const std::string& run_id,
                                              int limit) = 0;
  virtual Result<std::vector<RuleVersion>> RuleVersions(int limit) = 0;
  virtual Result<std::vector<std::pair<std::string, std::string>>> RuleTexts(
      int64_t version) = 0;  // file name, text
  virtual Result<std::vector<Flag>> Flags() = 0;
  virtual Result<std::vector<Run>> LastResults(
      const std::vector<std::string>& tasks) = 0;  // newest final or manual run of each
};

class Store {
 public:
  virtual ~Store() = default;
  // Takes ownership of the store, or says who has it. Leases of a predecessor proven dead end at once; those
  // of the same incarnation, which opens again after a fault, go on. What is damaged, foreign or newer is
  // refused and left as it is. A Store that was open once opens that very store again, and makes nothing,
  // whatever `init` says.
  virtual Result<OpenReply> Open(const OpenRequest& request) = 0;
  virtual Result<Snapshot> Load() = 0;
  // One transaction. On a fault (`fault` is set) no reply is to be trusted.
  virtual std::vector<StoreReply> Commit(const std::vector<StoreCall>& batch, StoreFault& fault) = 0;
  // Notes that the daemon is alive, without a row of history; at most once a second is enough. It is also the
  // probe of a store that was in trouble, and the time for upkeep. kFull may be a warning: the disk is nearly
  // full, claims are refused (store_unavailable), and all else is still stored.
  virtual StoreFault Heartbeat(Instant now) = 0;
  // Gives back the memory that only makes it quicker; called when much was done and little is being done.
  virtual void Relax() {}
  virtual Result<std::unique_ptr<StoreReader>> NewReader() = 0;
  // A consistent copy, readable by its owner only, at a path that must not exist. Blocks as long as copying
  // takes.
  virtual Status Backup(const std::string& path) = 0;
  // What kind of fault the last failed Open, Load or Backup met.
  virtual StoreFault last_fault() const = 0;
  // Ends ownership in order. The store cannot be used afterwards.
  virtual void Close() = 0;
};

// In the file's folder: store.db, its owner lock and the store-id file. The clock serves store time and must
// outlive it.
std::unique_ptr<Store> NewSqliteStore(const std::string& folder, const Clock& clock);
// A reader of the store in that folder, for any thread; needs no Store object and never blocks on the writer.
// `damage` is called, on the reader's thread, where it meets a file that SQLite calls malformed: the writer may
// go on for long without touching those pages.
using DamageSeen = std::function<void(const std::string& message)>;
Result<std::unique_ptr<StoreReader>> NewSqliteReader(const std::string& folder, DamageSeen damage = {});
// Content lives in `disk`, so that it survives the Store object as a file would; one open owner at a time.
class MemoryDisk;
std::shared_ptr<MemoryDisk> NewMemoryDisk();
std::unique_ptr<Store> NewMemoryStore(std::shared_ptr<MemoryDisk> disk, const Clock& clock);

}  // namespace duecourse
