// What a SQLite store does with a folder as it opens: takes it, or refuses it and leaves it as it is.
// Scenario 84 and the faults of the store file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "db/sqlite.h"
#include "store/test_sqlite.h"

namespace duecourse {
namespace {

namespace fs = std::filesystem;

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

// As the first schema had it. Every reader of open runs names the index, so none could read without the new
// one.
TEST_F(SqliteOpen, AStoreOfTheFirstSchemaIsBroughtForward) {
  ASSERT_TRUE(Open(/*init=*/true).ok());
  Plan("r-open", "open-key", RunState::kManualRequired);
  store_->Close();
  Database db;
  ASSERT_TRUE(Database::Open(Path("store.db"), DbOptions(), db).ok());
  ASSERT_TRUE(db.Execute("DROP INDEX run_open;\n"
                         "CREATE INDEX run_open ON run (task, value) WHERE state IN ('scheduled', 'running', "
                         "'retrying', 'catchup_waiting', 'manual_required');\n"
                         "PRAGMA user_version = 1;\n")
                  .ok());
  db.Close();
  Result<OpenReply> opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  Result<Snapshot> snapshot = store_->Load();
  ASSERT_TRUE(snapshot.ok()) << snapshot.error().message();
  ASSERT_EQ(snapshot->open_runs.size(), 1u);
  EXPECT_EQ(snapshot->open_runs[0].id, "r-open");
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

TEST_F(SqliteOpen, InitLaysALeftoverLogAside) {
  MakeStore();
  fs::remove(Path("store.db"));
  fs::remove(Path("store-id"));
  SetBytes(Path("store.db-wal"), "what was not yet in the database");
  EXPECT_FALSE(Open().ok());  // a log without its database: something was here
  ASSERT_TRUE(Open(/*init=*/true).ok());
  EXPECT_EQ(Bytes(StrCat(Path("store.db-wal.old-"), clock_.wall.ms)), "what was not yet in the database");
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

}  // namespace
}  // namespace duecourse
