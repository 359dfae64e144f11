#include "db/sqlite.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"

namespace duecourse {
namespace {

class SqliteTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeFolders(folder_, 0700).ok()); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string In(const std::string& name) const { return JoinPath(folder_, name); }
  Database Opened(const DbOptions& options) const {
    Database db;
    DbStatus status = Database::Open(In("db"), options, db);
    EXPECT_TRUE(status.ok()) << status.message;
    return db;
  }
  static DbOptions Creating() {
    DbOptions options;
    options.create = true;
    options.busy_timeout = Millis{20};
    return options;
  }
  static int64_t Number(Database& db, const std::string& sql) {
    Statement read;
    EXPECT_TRUE(Statement::Prepare(db, sql, read).ok());
    bool row = false;
    EXPECT_TRUE(read.Step(row).ok());
    return row ? read.Integer(0) : -1;
  }
  static std::string Word(Database& db, const std::string& sql) {
    Statement read;
    EXPECT_TRUE(Statement::Prepare(db, sql, read).ok());
    bool row = false;
    EXPECT_TRUE(read.Step(row).ok());
    return std::string(read.Text(0));
  }
  static void Fill(Database& db, int rows) {
    ASSERT_TRUE(db.Execute("CREATE TABLE t(id INTEGER PRIMARY KEY, word TEXT UNIQUE)").ok());
    Statement insert;
    ASSERT_TRUE(Statement::Prepare(db, "INSERT INTO t(word) VALUES (?1)", insert).ok());
    ASSERT_TRUE(db.Begin().ok());
    for (int i = 0; i < rows; ++i) ASSERT_TRUE(insert.Bind(1, StrCat("word number ", i)).Run().ok());
    ASSERT_TRUE(db.Commit().ok());
  }

  const std::string folder_ = testing::TempDir() + "/sqlite_test_" + SecureToken(6);
};

TEST_F(SqliteTest, OpeningSetsWhatDurabilityNeeds) {
  Database db = Opened(Creating());
  EXPECT_EQ(Word(db, "PRAGMA journal_mode"), "wal");
  EXPECT_EQ(Number(db, "PRAGMA synchronous"), 2);  // FULL
  EXPECT_EQ(Number(db, "PRAGMA foreign_keys"), 1);
  EXPECT_FALSE(db.Execute("SELECT \"a mistyped column is no text\"").ok());
}

TEST_F(SqliteTest, EveryKindOfValueComesBackAndAStatementIsUsedAgain) {
  Database db = Opened(Creating());
  ASSERT_TRUE(db.Execute("CREATE TABLE t(a, b, c, d)").ok());
  Statement insert;
  ASSERT_TRUE(Statement::Prepare(db, "INSERT INTO t VALUES (?1, ?2, ?3, ?4)", insert).ok());
  const std::string odd("nul\0 inside", 11);
  ASSERT_TRUE(insert.Bind(1, INT64_MIN).Bind(2, odd).Bind(3, 0.5).BindNull(4).Run().ok());
  insert.Clear();
  ASSERT_TRUE(insert.BindMaybe(1, std::optional<int64_t>())
                  .Bind(2, "")
                  .BindMaybe(3, std::optional<std::string>("x"))
                  .Run()
                  .ok());
  EXPECT_EQ(db.changes(), 1);
  EXPECT_EQ(db.last_insert_id(), 2);
  Statement read;
  ASSERT_TRUE(Statement::Prepare(db, "SELECT a, b, c, d FROM t ORDER BY rowid", read).ok());
  bool row = false;
  ASSERT_TRUE(read.Step(row).ok() && row);
  EXPECT_EQ(read.column_count(), 4);
  EXPECT_EQ(read.Integer(0), INT64_MIN);
  EXPECT_EQ(read.Text(1), odd);
  EXPECT_EQ(read.Real(2), 0.5);
  EXPECT_TRUE(read.IsNull(3));
  EXPECT_EQ(read.MaybeText(3), std::nullopt);
  ASSERT_TRUE(read.Step(row).ok() && row);
  EXPECT_EQ(read.MaybeInteger(0), std::nullopt);
  EXPECT_EQ(read.MaybeText(1), "");  // empty is not NULL
  EXPECT_EQ(read.Text(2), "x");
  ASSERT_TRUE(read.Step(row).ok());
  EXPECT_FALSE(row);
  ASSERT_TRUE(read.Step(row).ok());
  EXPECT_TRUE(row);  // from the start again
}

TEST_F(SqliteTest, ATransactionThatIsNotCommittedIsGone) {
  Database db = Opened(Creating());
  ASSERT_TRUE(db.Execute("CREATE TABLE t(a)").ok());
  {
    Transaction lost(db);
    ASSERT_TRUE(lost.Begin().ok());
    ASSERT_TRUE(db.Execute("INSERT INTO t VALUES (1)").ok());
    EXPECT_TRUE(db.in_transaction());
  }
  EXPECT_FALSE(db.in_transaction());
  {
    Transaction kept(db);
    ASSERT_TRUE(kept.Begin().ok());
    ASSERT_TRUE(db.Execute("INSERT INTO t VALUES (2)").ok());
    ASSERT_TRUE(kept.Commit().ok());
  }
  EXPECT_EQ(Number(db, "SELECT sum(a) FROM t"), 2);
}

TEST_F(SqliteTest, AnotherWriterMakesBeginBusyAndReadersGoOn) {
  Database first = Opened(Creating());
  Fill(first, 3);
  Database second = Opened(Creating());
  ASSERT_TRUE(first.Begin().ok());
  DbStatus status = second.Begin();
  EXPECT_EQ(status.code, DbCode::kBusy);
  EXPECT_NE(status.message.find("db: cannot begin a transaction"), std::string::npos) << status.message;
  EXPECT_EQ(Number(second, "SELECT count(*) FROM t"), 3);
  first.Rollback();
  EXPECT_TRUE(second.Begin().ok());
}

TEST_F(SqliteTest, ARefusedRowIsAConstraintAndTheStatementGoesOnWorking) {
  Database db = Opened(Creating());
  Fill(db, 1);
  Statement insert;
  ASSERT_TRUE(Statement::Prepare(db, "INSERT INTO t(word) VALUES (?1)", insert).ok());
  DbStatus status = insert.Bind(1, "word number 0").Run();
  EXPECT_EQ(status.code, DbCode::kConstraint);
  EXPECT_EQ(status.extended, 2067);  // SQLITE_CONSTRAINT_UNIQUE
  EXPECT_NE(status.message.find("t.word"), std::string::npos) << status.message;
  EXPECT_FALSE(status.AsStatus().ok());
  EXPECT_TRUE(insert.Bind(1, "another").Run().ok());
}

TEST_F(SqliteTest, AFullDatabaseSaysSoAndKeepsWhatWasCommitted) {
  DbOptions options = Creating();
  options.max_pages = 20;
  Database db = Opened(options);
  Fill(db, 10);
  Statement insert;
  ASSERT_TRUE(Statement::Prepare(db, "INSERT INTO t(word) VALUES (?1)", insert).ok());
  EXPECT_EQ(insert.Bind(1, std::string(200'000, 'x')).Run().code, DbCode::kFull);
  EXPECT_EQ(Number(db, "SELECT count(*) FROM t"), 10);
  EXPECT_TRUE(insert.Bind(1, "small").Run().ok());
}

TEST_F(SqliteTest, AReadOnlyConnectionReadsAndRefusesToWrite) {
  {
    Database db = Opened(Creating());
    Fill(db, 2);
  }
  DbOptions options;
  options.read_only = true;
  Database db = Opened(options);
  EXPECT_EQ(Number(db, "SELECT count(*) FROM t"), 2);
  EXPECT_EQ(db.Execute("DELETE FROM t").code, DbCode::kReadOnly);
}

TEST_F(SqliteTest, WhatCannotBeOpenedSaysWhichKindOfTroubleItIs) {
  Database db;
  EXPECT_EQ(Database::Open(In("none"), DbOptions{}, db).code, DbCode::kCannotOpen);
  EXPECT_FALSE(FileExists(In("none")));
  EXPECT_EQ(Database::Open(In("no/folder/db"), Creating(), db).code, DbCode::kCannotOpen);
  ASSERT_TRUE(WriteFileAtomic(In("text"), std::string(4096, 'x'), false).ok());
  DbStatus status = Database::Open(In("text"), Creating(), db);
  EXPECT_EQ(status.code, DbCode::kNotADb);
  EXPECT_NE(status.message.find(In("text")), std::string::npos);
  EXPECT_FALSE(db.is_open());
}

TEST_F(SqliteTest, ADamagedFileIsFound) {
  {
    Database db = Opened(Creating());
    Fill(db, 5000);
    ASSERT_TRUE(db.QuickCheck().ok());
  }
  {
    std::fstream file(In("db"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 3);
    file << std::string(4096 * 20, '\x5A');
  }
  Database db;
  DbStatus status = Database::Open(In("db"), DbOptions{}, db);
  if (status.ok()) status = db.QuickCheck();
  EXPECT_EQ(status.code, DbCode::kCorrupt) << status.message;
}

TEST_F(SqliteTest, ACheckpointEmptiesTheLogUnlessAReaderHoldsIt) {
  DbOptions options = Creating();
  options.wal_checkpoint_pages = 0;
  Database db = Opened(options);
  Fill(db, 5000);
  Database other = Opened(options);
  Statement reader;
  ASSERT_TRUE(Statement::Prepare(other, "SELECT id FROM t", reader).ok());
  bool row = false;
  ASSERT_TRUE(reader.Step(row).ok());
  ASSERT_TRUE(db.Execute("INSERT INTO t(word) VALUES ('later')").ok());
  Checkpointed done;
  EXPECT_EQ(db.Checkpoint(true, &done).code, DbCode::kBusy);
  EXPECT_FALSE(done.complete);
  reader.Reset();
  ASSERT_TRUE(db.Checkpoint(true, &done).ok());
  EXPECT_TRUE(done.complete);
  EXPECT_EQ(std::filesystem::file_size(In("db-wal")), 0u);
}

TEST_F(SqliteTest, ABackupIsWholeAndOverwritesNothing) {
  Database db = Opened(Creating());
  Fill(db, 2000);
  ASSERT_TRUE(db.BackupTo(In("copy")).ok());
  DbOptions options;
  options.read_only = true;
  Database copy;
  ASSERT_TRUE(Database::Open(In("copy"), options, copy).ok());
  EXPECT_EQ(Number(copy, "SELECT count(*) FROM t"), 2000);
  EXPECT_TRUE(copy.QuickCheck().ok());
  DbStatus status = db.BackupTo(In("copy"));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message.find("is there already"), std::string::npos);
  EXPECT_FALSE(db.BackupTo(In("no/folder")).ok());
}

TEST_F(SqliteTest, OurOwnMistakesStopTheProgram) {
  Database db = Opened(Creating());
  Statement statement;
  EXPECT_EQ(Statement::Prepare(db, "SELEC 1", statement).code, DbCode::kOther);
  ASSERT_TRUE(Statement::Prepare(db, "SELECT ?1", statement).ok());
  EXPECT_DEATH(statement.Bind(2, 1), "CHECK failed");
  EXPECT_DEATH(db.Close(), "CHECK failed");  // a statement still borrows it
}

}  // namespace
}  // namespace duecourse
