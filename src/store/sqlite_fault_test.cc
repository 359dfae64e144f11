// A SQLite store in trouble while it runs: locked, full, gone, read by others (scenario 83), killed.
#include "store/sqlite_fault.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <thread>

#include "base/random.h"
#include "db/sqlite.h"
#include "store/contract_parts.h"
#include "store/sqlite_store.h"

namespace duecourse {
namespace {

namespace fs = std::filesystem;

PlanCall PlanOf(const RunRow& run, bool claimed) {
  PlanCall call;
  call.task = run.task;
  call.runs = {
      {run, claimed ? std::optional<ClaimCall>(MakeClaim(run, "n-" + run.id)) : std::nullopt, {}, {}}};
  if (claimed) call.runs[0].claim->task_limit = 0;
  return call;
}

class SqliteFault : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(store_->Open(RequestOf("i1", true)).ok()); }
  std::string DatabasePath() const { return scratch_.path() + "/data/store.db"; }
  StoreFault Plan(const std::string& id) {
    StoreFault fault;
    store_->Commit({PlanOf(MakeRun(id, "t", clock_.wall), false)}, fault);
    return fault;
  }
  size_t OpenRuns() {
    Result<Snapshot> snapshot = store_->Load();
    EXPECT_TRUE(snapshot.ok());
    return snapshot->open_runs.size();
  }

  StillClock clock_;
  ScratchFolder scratch_;
  std::unique_ptr<Store> store_ = NewSqliteStore(scratch_.path() + "/data", clock_);
};

TEST_F(SqliteFault, S83AStrangersLockIsBusyDelaysAndLosesNothing) {
  Result<std::unique_ptr<StoreReader>> reader = store_->NewReader();
  ASSERT_TRUE(reader.ok());
  Database stranger;
  ASSERT_TRUE(Database::Open(DatabasePath(), DbOptions(), stranger).ok());
  ASSERT_TRUE(stranger.Execute("BEGIN EXCLUSIVE").ok());
  for (int i = 0; i < 3; ++i) {
    StoreFault fault = Plan("r1");
    EXPECT_EQ(fault.kind, StoreFault::Kind::kBusy);
    EXPECT_FALSE(fault.outcome_unknown);
    EXPECT_FALSE(fault.reopen);
    EXPECT_NE(fault.message.find("another program holds the store's write lock"), std::string::npos);
  }
  EXPECT_EQ(store_->Heartbeat(clock_.wall).kind, StoreFault::Kind::kBusy);
  // Reads, and questions of the engine, go on.
  EXPECT_TRUE((*reader)->Runs(RunFilter()).ok());
  StoreFault fault;
  EXPECT_EQ(store_->Commit({FindRunsCall{}, FindNonceCall{}}, fault).size(), 2u);
  ASSERT_TRUE(stranger.Execute("COMMIT").ok());
  EXPECT_EQ(store_->Heartbeat(clock_.wall).kind, StoreFault::Kind::kNone);
  EXPECT_EQ(Plan("r1").kind, StoreFault::Kind::kNone);
  EXPECT_EQ(OpenRuns(), 1u);
}

TEST_F(SqliteFault, S83ReadersAndABackupGoOnBesideTheWriter) {
  const std::string database = DatabasePath();
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0};
  std::atomic<int> failures{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    Result<std::unique_ptr<StoreReader>> made = store_->NewReader();
    ASSERT_TRUE(made.ok());
    readers.emplace_back([&, reader = std::shared_ptr<StoreReader>(std::move(*made))] {
      while (!stop || reads < 200) {
        failures += reader->Runs(RunFilter()).ok() ? 0 : 1;
        ++reads;
      }
    });
  }
  std::thread backup([&] {
    Database source;
    failures += Database::Open(database, DbOptions(), source).ok() ? 0 : 1;
    failures += source.BackupTo(scratch_.path() + "/copy.db").ok() ? 0 : 1;
  });
  int busy = 0;
  for (int i = 0; i < 50; ++i) busy += Plan(StrCat("r", i)).kind == StoreFault::Kind::kNone ? 0 : 1;
  stop = true;
  backup.join();
  for (std::thread& thread : readers) thread.join();
  EXPECT_EQ(busy, 0);
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(OpenRuns(), 50u);
}

TEST_F(SqliteFault, AStoreThatVanishesIsNoticedAtTheNextCallAndComesBackByOpen) {
  ASSERT_EQ(Plan("r1").kind, StoreFault::Kind::kNone);
  store_->Close();
  store_ = NewSqliteStore(scratch_.path() + "/data", clock_);
  ASSERT_TRUE(store_->Open(RequestOf("i2")).ok());
  const std::string aside = scratch_.path() + "/aside.db";
  fs::rename(DatabasePath(), aside);
  StoreFault fault = Plan("r2");
  EXPECT_EQ(fault.kind, StoreFault::Kind::kVanished);
  EXPECT_TRUE(fault.reopen);
  EXPECT_FALSE(fault.outcome_unknown);
  EXPECT_EQ(store_->Heartbeat(clock_.wall).kind, StoreFault::Kind::kVanished);
  EXPECT_FALSE(store_->Load().ok());
  ASSERT_FALSE(store_->Open(RequestOf("i2")).ok());
  EXPECT_EQ(store_->last_fault().kind, StoreFault::Kind::kVanished);
  EXPECT_FALSE(fs::exists(DatabasePath()));
  // Nobody else may take what is still ours.
  std::unique_ptr<Store> second = NewSqliteStore(scratch_.path() + "/data", clock_);
  EXPECT_FALSE(second->Open(RequestOf("i3")).ok());
  EXPECT_EQ(second->last_fault().kind, StoreFault::Kind::kOwned);
  fs::rename(aside, DatabasePath());
  ASSERT_TRUE(store_->Open(RequestOf("i2")).ok());
  EXPECT_EQ(Plan("r2").kind, StoreFault::Kind::kNone);
  EXPECT_EQ(OpenRuns(), 2u);
}

TEST_F(SqliteFault, AReplacedFileIsNotTakenForTheOneInUse) {
  ASSERT_EQ(Plan("r1").kind, StoreFault::Kind::kNone);
  const std::string copy = scratch_.path() + "/copy.db";
  ASSERT_TRUE(store_->Backup(copy).ok());
  fs::rename(copy, DatabasePath());
  EXPECT_EQ(Plan("r2").kind, StoreFault::Kind::kVanished);
}

TEST(SqliteFaults, EachAnswerOfSqliteHasItsKindAndItsConsequence) {
  struct Row {
    DbCode code;
    int extended;
    bool committing;
    bool mounted_read_only;
    StoreFault::Kind kind;
    bool outcome_unknown;
    bool reopen;
  };
  using Kind = StoreFault::Kind;
  const std::vector<Row> rows = {
      {DbCode::kBusy, 5, false, false, Kind::kBusy, false, false},
      {DbCode::kLocked, 6, false, false, Kind::kBusy, false, false},
      {DbCode::kFull, 13, false, false, Kind::kFull, false, false},
      {DbCode::kFull, 13, true, false, Kind::kFull, false, false},
      {DbCode::kReadOnly, 8, false, true, Kind::kReadOnly, false, false},
      {DbCode::kReadOnly, 1032, false, false, Kind::kVanished, false, true},
      {DbCode::kIoError, 778, false, false, Kind::kIo, false, true},
      {DbCode::kIoError, 778, false, true, Kind::kReadOnly, false, false},
      {DbCode::kIoError, 1034, true, false, Kind::kIo, true, true},  // fsync failed: it may be there or not
      {DbCode::kCorrupt, 11, false, false, Kind::kCorrupt, false, true},
      {DbCode::kNotADb, 26, false, false, Kind::kCorrupt, false, true},
      {DbCode::kConstraint, 19, false, false, Kind::kOther, false, false},
  };
  for (const Row& row : rows) {
    StoreFault fault =
        FaultOf({row.code, row.extended, "store.db: it failed"}, row.committing, row.mounted_read_only);
    SCOPED_TRACE(DbCodeName(row.code));
    EXPECT_EQ(fault.kind, row.kind);
    EXPECT_EQ(fault.outcome_unknown, row.outcome_unknown);
    EXPECT_EQ(fault.reopen, row.reopen);
    EXPECT_EQ(fault.message.find("store.db: it failed"), 0u);
  }
}

// ---- kill -9

constexpr int kWrites = 500;

// What a daemon does until it is killed: one claim after the other, each told to the parent once it is
// acknowledged.
[[noreturn]] void WriteUntilKilled(const std::string& folder, const std::string& prefix, int tell) {
  StillClock clock;
  std::unique_ptr<Store> store = NewSqliteStore(folder, clock);
  if (!store->Open(RequestOf(prefix, true)).ok()) _exit(2);
  for (int i = 0; i < kWrites; ++i) {
    RunRow run = MakeRun(StrCat(prefix, "-", i), "t", clock.wall);
    StoreFault fault;
    std::vector<StoreReply> replies = store->Commit({PlanOf(run, true)}, fault);
    if (fault.kind != StoreFault::Kind::kNone) _exit(3);
    if (!std::get<PlanReply>(replies.at(0)).runs.at(0).claim.granted) _exit(4);
    std::string line = run.id + "\n";
    if (write(tell, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(5);
  }
  _exit(0);
}

// Kills the child after it has acknowledged so many claims; all that it acknowledged.
std::set<std::string> KillAfter(const std::string& folder, const std::string& prefix, int acknowledged) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) WriteUntilKilled(folder, prefix, ends[1]);
  close(ends[1]);
  std::string text;
  char buffer[256];
  bool killed = false;
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
    if (killed || std::count(text.begin(), text.end(), '\n') < acknowledged) continue;
    kill(child, SIGKILL);
    killed = true;
  }
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) << status;
  std::set<std::string> told;
  for (std::string_view line : Split(text, '\n')) {
    if (!line.empty()) told.insert(std::string(line));
  }
  return told;
}

TEST(SqliteKill, S84NoAcknowledgedClaimIsLostAndTheStoreIsReadable) {
  const int rounds = std::getenv("DUECOURSE_LONG") != nullptr ? 1'000 : 24;
  ScratchFolder scratch;
  const std::string folder = scratch.path() + "/data";
  Random random(7);
  std::set<std::string> told;
  for (int round = 0; round < rounds; ++round) {
    const int acknowledged = static_cast<int>(random.Between(0, rounds > 100 ? 60 : kWrites / 10));
    told.merge(KillAfter(folder, StrCat("k", round), acknowledged));
    StillClock clock;
    std::unique_ptr<Store> store = NewSqliteStore(folder, clock);
    Result<OpenReply> reply = store->Open(RequestOf(StrCat("check", round)));
    ASSERT_TRUE(reply.ok()) << reply.error().message();
    Result<Snapshot> snapshot = store->Load();
    ASSERT_TRUE(snapshot.ok());
    std::set<std::string> found;
    for (const RunRow& run : snapshot->open_runs) {
      EXPECT_EQ(run.state, RunState::kRunning);  // plan and claim are one transaction
      EXPECT_EQ(run.lease_until, Millis{});      // its owner is proven dead
      found.insert(run.id);
    }
    for (const std::string& id : told) EXPECT_TRUE(found.count(id)) << id << " was acknowledged and is gone";
    EXPECT_EQ(snapshot->unfinished.size(), found.size());
  }
  EXPECT_GT(told.size(), 100u);
}

}  // namespace
}  // namespace duecourse
