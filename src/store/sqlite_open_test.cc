// What a SQLite store does with a folder: takes it, refuses it and leaves it as it is, notices when it is
// gone. Scenario 84 and the faults of the store file.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"
#include "db/sqlite.h"
#include "store/contract_parts.h"

namespace duecourse {
namespace {

namespace fs = std::filesystem;

class SqliteOpen : public testing::Test {
 protected:
  std::string Folder() const { return scratch_.path() + "/data"; }
  std::string Path(const std::string& name) const { return Folder() + "/" + name; }
  Result<OpenReply> Open(bool init = false) {
    store_.reset();
    store_ = NewSqliteStore(Folder(), clock_);
    OpenRequest request = RequestOf(StrCat("i", ++opened_));
    request.init = init;
    return store_->Open(request);
  }
  StoreFault::Kind LastFault() const { return store_->last_fault().kind; }
  // A store with one run that is done, closed in order.
  void MakeStore() {
    ASSERT_TRUE(Open(/*init=*/true).ok());
    Plan("r-done", "done-key", RunState::kSuccess);
    store_->Close();
    store_.reset();
  }
  PlanReply Plan(const std::string& id, const std::string& key, RunState state) {
    RunRow run = MakeRun(id, "t", clock_.wall);
    run.key = key;
    run.state = state;
    PlanCall call;
    call.task = "t";
    call.runs = {{run, std::nullopt, {}, {}}};
    StoreFault fault;
    std::vector<StoreReply> replies = store_->Commit({call}, fault);
    EXPECT_EQ(fault.kind, StoreFault::Kind::kNone) << fault.message;
    return replies.empty() ? PlanReply() : std::get<PlanReply>(replies[0]);
  }
  static std::string Bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  static void SetBytes(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  void ExpectRefusedUntouched(const char* what, const char* word) {
    SCOPED_TRACE(what);
    const std::string before = Bytes(Path("store.db"));
    for (bool init : {false, true}) {  // --init makes a store where none is; it never replaces one
      Result<OpenReply> reply = Open(init);
      ASSERT_FALSE(reply.ok());
      const std::string& text = reply.error().message();
      EXPECT_NE(text.find(word), std::string::npos) << text;
      EXPECT_NE(text.find(Path("store.db")), std::string::npos) << text;
      EXPECT_TRUE(Bytes(Path("store.db")) == before);
    }
    EXPECT_NE(store_->last_fault().message.find("backup"), std::string::npos);
    store_.reset();
  }
  static int Mode(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return static_cast<int>(info.st_mode & 0777);
  }

  StillClock clock_;
  ScratchFolder scratch_;
  std::unique_ptr<Store> store_;
  int opened_ = 0;
};

TEST_F(SqliteOpen, ANewFolderBelongsToItsOwnerOnly) {
  Result<OpenReply> reply = Open(/*init=*/true);
  ASSERT_TRUE(reply.ok()) << reply.error().message();
  EXPECT_TRUE(reply->created);
  EXPECT_EQ(reply->version, 0);
  Plan("r1", "k", RunState::kScheduled);
  EXPECT_EQ(Mode(Folder()), 0700);
  for (const char* name : {"store.db", "store.db-wal", "store.db-shm", "store-id", "owner.lock", "ballast"}) {
    EXPECT_EQ(Mode(Path(name)), 0600) << name;
  }
  EXPECT_NE(Bytes(Path("store-id")).find(reply->store_id), std::string::npos);
}

TEST_F(SqliteOpen, ItIsTheSameStoreAfterARestartAndNotMadeAgain) {
  Result<OpenReply> first = Open(/*init=*/true);
  ASSERT_TRUE(first.ok());
  const std::string id = first->store_id;
  Result<OpenReply> second = Open(/*init=*/true);
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->created);
  EXPECT_EQ(second->store_id, id);
}

TEST_F(SqliteOpen, ASecondDaemonIsToldWhoHasTheStore) {
  ASSERT_TRUE(Open(/*init=*/true).ok());
  std::unique_ptr<Store> second = NewSqliteStore(Folder(), clock_);
  Result<OpenReply> refused = second->Open(RequestOf("i9"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(second->last_fault().kind, StoreFault::Kind::kOwned);
  for (const std::string& word : {StrCat("pid ", getpid()), std::string("node n1"), FormatUtc(clock_.wall)}) {
    EXPECT_NE(refused.error().message().find(word), std::string::npos) << refused.error().message();
  }
}

TEST_F(SqliteOpen, S84ADamagedStoreIsRefusedAndLeftAsItIs) {
  MakeStore();
  const std::string good = Bytes(Path("store.db"));
  ASSERT_GT(good.size(), 16u * 4096u);
  SetBytes(Path("store.db"), good.substr(0, good.size() / 2));
  ExpectRefusedUntouched("truncated to a half", "malformed");
  std::string zeroed = good;
  for (size_t i = 0; i < 4096; ++i) zeroed[8 * 4096 + i] = '\0';
  SetBytes(Path("store.db"), zeroed);
  ExpectRefusedUntouched("4 KiB of zeros in the middle", "");
  SetBytes(Path("store.db"), "");
  ExpectRefusedUntouched("no bytes", "0 bytes");
  SetBytes(Path("store.db"), std::string(65'536, '\0'));
  ExpectRefusedUntouched("zeros only", "no SQLite database");
  SetBytes(Path("store.db"), "{\"jobs\": []}\n");
  ExpectRefusedUntouched("a file of another application", "no SQLite database");
  // Put back it is the store it was.
  SetBytes(Path("store.db"), good);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Plan("r2", "done-key", RunState::kScheduled).runs.at(0).kind, PlannedReply::Kind::kKeyKnown);
}

// ---- while it is open
TEST_F(SqliteOpen, S84AFolderThatWasMovedAwayIsMissedAndNeverMadeAnew) {
  Result<OpenReply> first = Open(/*init=*/true);
  ASSERT_TRUE(first.ok());
  Plan("r-done", "done-key", RunState::kSuccess);
  OpenRequest again = RequestOf("i1");
  again.init = true;  // whatever is asked
  const std::string aside = scratch_.path() + "/aside";
  enum class Left { kNothing, kEmptyFolder, kAnotherStore };
  for (Left left : {Left::kNothing, Left::kEmptyFolder, Left::kAnotherStore}) {
    SCOPED_TRACE(static_cast<int>(left));
    fs::rename(Folder(), aside);
    if (left == Left::kEmptyFolder) fs::create_directory(Folder());
    if (left == Left::kAnotherStore) {
      std::unique_ptr<Store> other = NewSqliteStore(Folder(), clock_);
      OpenRequest request = RequestOf("other");
      request.init = true;
      ASSERT_TRUE(other->Open(request).ok());
      other->Close();
    }
    StoreFault fault = store_->Heartbeat(clock_.wall);
    EXPECT_EQ(fault.kind, StoreFault::Kind::kVanished) << fault.message;
    EXPECT_TRUE(fault.reopen);
    for (int i = 0; i < 2; ++i) {
      Result<OpenReply> refused = store_->Open(again);
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(LastFault(), StoreFault::Kind::kVanished);
      EXPECT_NE(refused.error().message().find("Nothing starts"), std::string::npos) << refused.error().message();
    }
    EXPECT_EQ(fs::exists(Folder()), left != Left::kNothing);
    EXPECT_TRUE(left != Left::kEmptyFolder || fs::is_empty(Folder())) << "something was made there";
    fs::remove_all(Folder());
    fs::rename(aside, Folder());
    Result<OpenReply> back = store_->Open(again);
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(back->store_id, first->store_id);
    EXPECT_EQ(Plan("r2", "done-key", RunState::kScheduled).runs.at(0).kind, PlannedReply::Kind::kKeyKnown);
  }
}

TEST_F(SqliteOpen, DamageWhileItIsOpenIsSeenAtTheNextCommitWhereTheFileBeginsOrEnds) {
  struct Row {
    const char* what;
    void (*damage)(const std::string& path);
  };
  const Row rows[] = {
      {"its first pages overwritten",
       [](const std::string& path) {
         std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
         file << std::string(8 * 4096, 'x');
       }},
      {"cut off", [](const std::string& path) { fs::resize_file(path, 4096); }},
      {"emptied", [](const std::string& path) { fs::resize_file(path, 0); }}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    fs::remove_all(Folder());
    ASSERT_TRUE(Open(/*init=*/true).ok());
    row.damage(Path("store.db"));
    StoreFault fault = store_->Heartbeat(clock_.wall);
    EXPECT_EQ(fault.kind, StoreFault::Kind::kCorrupt) << fault.message;
    EXPECT_TRUE(fault.reopen);
    EXPECT_NE(fault.message.find("Restore the newest backup"), std::string::npos) << fault.message;
    EXPECT_FALSE(store_->Open(RequestOf("again")).ok());
    EXPECT_EQ(LastFault(), StoreFault::Kind::kCorrupt);
  }
}

TEST_F(SqliteOpen, AReaderThatMeetsDamageSaysSo) {
  MakeStore();
  std::string bytes = Bytes(Path("store.db"));
  for (size_t i = 4096; i < bytes.size(); ++i) bytes[i] = 'x';  // all but the first page
  SetBytes(Path("store.db"), bytes);
  std::vector<std::string> seen;
  Result<std::unique_ptr<StoreReader>> reader =
      NewSqliteReader(Folder(), [&seen](const std::string& message) { seen.push_back(message); });
  EXPECT_FALSE(reader.ok() && (*reader)->Runs({}).ok());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_NE(seen[0].find(Path("store.db")), std::string::npos) << seen[0];
}

TEST_F(SqliteOpen, ALockWhoseFileWasRemovedIsTakenAgainOrIsTheOthers) {
  ASSERT_TRUE(Open(/*init=*/true).ok());
  fs::remove(Path("owner.lock"));
  StoreFault fault = store_->Heartbeat(clock_.wall);
  EXPECT_EQ(fault.kind, StoreFault::Kind::kVanished) << fault.message;
  EXPECT_NE(fault.message.find("owner.lock"), std::string::npos);
  ASSERT_TRUE(store_->Open(RequestOf("i1")).ok());
  EXPECT_EQ(store_->Heartbeat(clock_.wall).kind, StoreFault::Kind::kNone);

  fs::remove(Path("owner.lock"));
  std::unique_ptr<Store> second = NewSqliteStore(Folder(), clock_);
  ASSERT_TRUE(second->Open(RequestOf("i9")).ok()) << "nothing says that it has an owner";
  EXPECT_EQ(store_->Heartbeat(clock_.wall).kind, StoreFault::Kind::kVanished) << "two would claim";
  EXPECT_FALSE(store_->Open(RequestOf("i1")).ok());
  EXPECT_EQ(LastFault(), StoreFault::Kind::kOwned);
  EXPECT_EQ(second->Heartbeat(clock_.wall).kind, StoreFault::Kind::kNone);
}

// After a kill the log holds what the database does not have yet.
TEST_F(SqliteOpen, WhatAKillLeftBehindIsReadFromTheLogAndItsDamageChangesNothing) {
  ASSERT_TRUE(Open(/*init=*/true).ok());
  Plan("r1", "k1", RunState::kSuccess);
  const std::string database = Bytes(Path("store.db"));
  const std::string log = Bytes(Path("store.db-wal"));
  ASSERT_GT(log.size(), 4096u);
  auto set_back = [&](const std::string& content) {
    store_.reset();
    for (const char* suffix : {"-wal", "-shm"}) fs::remove(Path("store.db") + suffix);
    SetBytes(Path("store.db"), content);
    SetBytes(Path("store.db-wal"), log);
  };
  set_back(database.substr(0, 8 * 4096));
  ExpectRefusedUntouched("truncated, with a log", "malformed");
  EXPECT_TRUE(Bytes(Path("store.db-wal")) == log);
  set_back(database);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Plan("r2", "k1", RunState::kScheduled).runs.at(0).kind, PlannedReply::Kind::kKeyKnown);
}

TEST_F(SqliteOpen, ADatabaseOfAnotherApplicationIsRefusedAndLeftAsItIs) {
  ASSERT_TRUE(MakeFolders(Folder(), 0700).ok());
  DbOptions options;
  options.create = true;
  Database foreign;
  ASSERT_TRUE(Database::Open(Path("store.db"), options, foreign).ok());
  ASSERT_TRUE(foreign.Execute("CREATE TABLE bookmarks (url TEXT)").ok());
  foreign.Close();
  ExpectRefusedUntouched("bookmarks", "another application");
}

TEST_F(SqliteOpen, ANewerSchemaIsRefusedAndLeftAsItIs) {
  MakeStore();
  Database db;
  ASSERT_TRUE(Database::Open(Path("store.db"), DbOptions(), db).ok());
  ASSERT_TRUE(db.Execute("PRAGMA user_version = 99").ok());
  db.Close();
  ExpectRefusedUntouched("schema 99", "has schema 99");
  ASSERT_FALSE(Open().ok());
  EXPECT_EQ(LastFault(), StoreFault::Kind::kSchemaTooNew);
}

TEST_F(SqliteOpen, S84ADeletedStoreIsNotStartedEmptyWithoutInit) {
  MakeStore();
  fs::remove(Path("store.db"));
  Result<OpenReply> refused = Open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(LastFault(), StoreFault::Kind::kVanished);
  EXPECT_NE(refused.error().message().find("--init"), std::string::npos);
  EXPECT_FALSE(fs::exists(Path("store.db")));
  Result<OpenReply> fresh = Open(/*init=*/true);
  ASSERT_TRUE(fresh.ok()) << fresh.error().message();
  EXPECT_TRUE(fresh->created);
  EXPECT_EQ(Plan("r2", "done-key", RunState::kScheduled).runs.at(0).kind, PlannedReply::Kind::kCreated);
}

// A disk that is not mounted looks like this; what is done would be run again.
TEST_F(SqliteOpen, AFolderThatNeverHeldAStoreIsRefusedAndLeftAsItIsWithoutInit) {
  for (bool there : {false, true}) {
    if (there) {
      ASSERT_TRUE(MakeFolders(Folder(), 0700).ok());
    }
    Result<OpenReply> refused = Open();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(LastFault(), StoreFault::Kind::kVanished);
    EXPECT_EQ(refused.error().message().find(Folder()), 0u) << refused.error().message();
    EXPECT_NE(refused.error().message().find("duecourse serve --init"), std::string::npos);
    EXPECT_EQ(fs::exists(Folder()), there);
    EXPECT_TRUE(!there || fs::is_empty(Folder()));
  }
}

TEST_F(SqliteOpen, AStoreWhoseWholeFolderIsEmptiedWhileItRunsIsNotStartedEmpty) {
  MakeStore();
  ASSERT_TRUE(Open().ok());
  fs::rename(Folder(), scratch_.path() + "/unmounted");
  ASSERT_TRUE(MakeFolders(Folder(), 0700).ok());
  EXPECT_EQ(store_->Heartbeat(clock_.wall).kind, StoreFault::Kind::kVanished);
  EXPECT_FALSE(store_->Open(RequestOf(StrCat("i", opened_))).ok());
  EXPECT_TRUE(fs::is_empty(Folder()));
  fs::remove(Folder());
  fs::rename(scratch_.path() + "/unmounted", Folder());
  ASSERT_TRUE(store_->Open(RequestOf(StrCat("i", opened_))).ok());
  EXPECT_EQ(Plan("r2", "done-key", RunState::kScheduled).runs.at(0).kind, PlannedReply::Kind::kKeyKnown);
}

TEST_F(SqliteOpen, InitLaysALeftoverLogAside) {
  MakeStore();
  fs::remove(Path("store.db"));
  fs::remove(Path("store-id"));
  SetBytes(Path("store.db-wal"), "what was not yet in the database");
  EXPECT_FALSE(Open().ok());  // a log without its database: something was here
  ASSERT_TRUE(Open(/*init=*/true).ok());
  EXPECT_EQ(Bytes(StrCat(Path("store.db-wal.old-"), clock_.wall.ms)), "what was not yet in the database");
}

TEST_F(SqliteOpen, AnotherStoresDatabaseInItsPlaceIsNoticed) {
  MakeStore();
  fs::rename(Folder(), scratch_.path() + "/other");
  MakeStore();
  fs::copy_file(scratch_.path() + "/other/store.db", Path("store.db"), fs::copy_options::overwrite_existing);
  Result<OpenReply> refused = Open();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("another store's database"), std::string::npos);
  fs::remove(Path("store-id"));  // it is meant
  EXPECT_TRUE(Open().ok());
  EXPECT_TRUE(fs::exists(Path("store-id")));
}

TEST_F(SqliteOpen, AKillWhileANewStoreIsMadeLeavesNothingInTheWay) {
  ASSERT_TRUE(MakeFolders(Folder(), 0700).ok());
  SetBytes(Path("store.db.new"), "half a store");
  SetBytes(Path("store.db.new-wal"), "half a log");
  ASSERT_TRUE(Open(/*init=*/true).ok());
  EXPECT_FALSE(fs::exists(Path("store.db.new")));
}

TEST_F(SqliteOpen, ARowThatSomebodyChangedIsASentenceAndNoCrash) {
  struct Row {
    const char* sql;
    const char* word;
  };
  const std::vector<Row> rows = {{"UPDATE run SET reason = 'because'", "because"},
                                 {"UPDATE run SET attempts = 9000000000", "9000000000"},
                                 {"UPDATE run SET id = 'r1' || char(10) || 'x'", "run id r1\\nx"},
                                 {"UPDATE run SET id = '../../../etc/x'", "row \"../../../etc/x\""},
                                 {"UPDATE run SET id = ''", "run id "},
                                 {"UPDATE run SET fence = -5", "fence -5"},
                                 {"UPDATE run SET business_date = 9223372036854775807", "day"}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.sql);
    ASSERT_TRUE(Open(/*init=*/true).ok());
    Plan(StrCat("r", opened_), StrCat("k", opened_), RunState::kScheduled);
    Database db;
    ASSERT_TRUE(Database::Open(Path("store.db"), DbOptions(), db).ok());
    ASSERT_TRUE(db.Execute(row.sql).ok());
    db.Close();
    ASSERT_TRUE(Open().ok());
    Result<Snapshot> snapshot = store_->Load();
    ASSERT_FALSE(snapshot.ok());
    EXPECT_NE(snapshot.error().message().find(row.word), std::string::npos) << snapshot.error().message();
    EXPECT_NE(snapshot.error().message().find(Path("store.db")), std::string::npos);
    EXPECT_EQ(LastFault(), StoreFault::Kind::kCorrupt);
    store_.reset();
    fs::remove_all(Folder());
  }
}

TEST_F(SqliteOpen, AStateThatNobodyKnowsCannotBeWrittenAndAFenceThatCannotRiseHoldsItsRunOnly) {
  ASSERT_TRUE(Open(/*init=*/true).ok());
  Plan("r1", "k1", RunState::kRetrying);
  Database db;
  ASSERT_TRUE(Database::Open(Path("store.db"), DbOptions(), db).ok());
  EXPECT_EQ(db.Execute("UPDATE run SET state = 'sleeping'").code, DbCode::kConstraint);
  ASSERT_TRUE(db.Execute("UPDATE run SET fence = 9223372036854775807").ok());
  db.Close();
  RunRow run = MakeRun("r1", "t", clock_.wall);
  run.state = RunState::kRetrying;
  run.fence = INT64_MAX;
  StoreFault fault;
  std::vector<StoreReply> replies = store_->Commit({MakeClaim(run, "n")}, fault);
  EXPECT_EQ(std::get<ClaimReply>(replies.at(0)).refusal, Reason::kInternalInvariant);
}

TEST_F(SqliteOpen, ABackupIsAStoreThatOpensAndOverwritesNothing) {
  ASSERT_TRUE(Open(/*init=*/true).ok());
  Plan("r1", "k1", RunState::kSuccess);
  const std::string copy = scratch_.path() + "/copy.db";
  ASSERT_TRUE(store_->Backup(copy).ok());
  EXPECT_EQ(Mode(copy), 0600);
  EXPECT_FALSE(store_->Backup(copy).ok());
  EXPECT_FALSE(store_->Backup(scratch_.path() + "/nowhere/copy.db").ok());
  Plan("r2", "k2", RunState::kSuccess);  // the store goes on
  store_->Close();
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(Path("store.db") + suffix);
  fs::copy_file(copy, Path("store.db"));
  ASSERT_TRUE(Open().ok());  // the store-id file knows it
  EXPECT_EQ(Plan("r3", "k1", RunState::kScheduled).runs.at(0).kind, PlannedReply::Kind::kKeyKnown);
  EXPECT_EQ(Plan("r4", "k2", RunState::kScheduled).runs.at(0).kind, PlannedReply::Kind::kCreated);
}

// ---- small and read-only file systems, where this process may mount one

class SqliteMount : public SqliteOpen {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MakeFolders(Folder(), 0700).ok());
    mounted_ = mount("tmpfs", Folder().c_str(), "tmpfs", 0, "size=72m,mode=0700") == 0;
    if (!mounted_) GTEST_SKIP() << "no right to mount a small file system here";
  }
  void TearDown() override {
    store_.reset();
    if (mounted_) umount2(Folder().c_str(), MNT_DETACH);
  }
  // Leaves about so many bytes free.
  void Fill(int64_t leave) {
    struct statvfs info {};
    ASSERT_EQ(statvfs(Folder().c_str(), &info), 0);
    int64_t free = static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
    int fd = open(Path("filler").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(posix_fallocate(fd, lseek(fd, 0, SEEK_END), free - leave), 0);
    close(fd);
  }
  ClaimReply Claim(const std::string& id) {
    ClaimCall claim = MakeClaim(MakeRun(id, "t", clock_.wall), "n-" + id);
    claim.task_limit = 0;
    StoreFault fault;
    std::vector<StoreReply> replies = store_->Commit({claim}, fault);
    EXPECT_EQ(fault.kind, StoreFault::Kind::kNone) << fault.message;
    return replies.empty() ? ClaimReply() : std::get<ClaimReply>(replies[0]);
  }

 private:
  bool mounted_ = false;
};

TEST_F(SqliteMount, ANearlyFullDiskStartsNothingButTakesWhatHappened) {
  ASSERT_TRUE(Open(/*init=*/true).ok());
  Plan("r1", "k1", RunState::kScheduled);
  Fill(6 << 20);
  ClaimReply refused = Claim("r1");
  EXPECT_EQ(refused.refusal, Reason::kStoreUnavailable);
  EXPECT_NE(refused.detail.find("MiB are free"), std::string::npos) << refused.detail;
  EXPECT_EQ(refused.recheck_at, clock_.wall + Seconds(5));
  EXPECT_EQ(store_->Heartbeat(clock_.wall).kind, StoreFault::Kind::kFull);
  EXPECT_EQ(Plan("r2", "k2", RunState::kScheduled).runs.at(0).kind, PlannedReply::Kind::kCreated);
  fs::remove(Path("filler"));
  EXPECT_EQ(store_->Heartbeat(clock_.wall).kind, StoreFault::Kind::kNone);
  EXPECT_TRUE(Claim("r1").granted);
}

TEST_F(SqliteMount, AFullDiskGivesUpTheBallastForWhatHappenedAndThenSaysSo) {
  ASSERT_TRUE(Open(/*init=*/true).ok());
  EXPECT_TRUE(fs::exists(Path("ballast")));
  Plan("r1", "k1", RunState::kScheduled);
  ASSERT_TRUE(Claim("r1").granted);
  Fill(0);
  Plan("r2", "k2", RunState::kSkipped);  // room was made for it
  EXPECT_FALSE(fs::exists(Path("ballast")));
  EXPECT_EQ(Claim("r1").refusal, Reason::kLockOccupied);
  Plan("r3", "k3", RunState::kScheduled);
  EXPECT_EQ(Claim("r3").refusal, Reason::kStoreUnavailable);
  Fill(0);
  StoreFault fault;
  for (int i = 0; i < 100 && fault.kind == StoreFault::Kind::kNone; ++i) {
    NoteDecisionCall note;
    note.row.task = std::string(4'096, 'x');
    store_->Commit({note}, fault);
  }
  EXPECT_EQ(fault.kind, StoreFault::Kind::kFull);
  EXPECT_FALSE(fault.outcome_unknown);
  EXPECT_FALSE(fault.reopen);
  EXPECT_TRUE(store_->Load().ok());  // reads go on
  fs::remove(Path("filler"));
  EXPECT_EQ(store_->Heartbeat(clock_.wall).kind, StoreFault::Kind::kNone);
  EXPECT_TRUE(Claim("r3").granted);
}

TEST_F(SqliteMount, S84AReadOnlyFileSystemIsRefusedWithWhatToDo) {
  MakeStore();
  const std::string before = Bytes(Path("store.db"));
  ASSERT_EQ(mount(nullptr, Folder().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  Result<OpenReply> refused = Open();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(LastFault(), StoreFault::Kind::kReadOnly);
  EXPECT_NE(refused.error().message().find("Read-only file system"), std::string::npos)
      << refused.error().message();
  EXPECT_TRUE(Bytes(Path("store.db")) == before);
  ASSERT_EQ(mount(nullptr, Folder().c_str(), nullptr, MS_REMOUNT, nullptr), 0);
  EXPECT_TRUE(Open().ok());
}

}  // namespace
}  // namespace duecourse
