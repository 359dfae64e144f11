// What an open SQLite store meets: its folder moved or emptied, damage, a lock that was removed, a disk that is full or
// read-only. Scenario 84.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "db/sqlite.h"
#include "store/test_sqlite.h"

namespace duecourse {
namespace {

namespace fs = std::filesystem;

using SqliteLive = SqliteOpen;

TEST_F(SqliteLive, S84AFolderThatWasMovedAwayIsMissedAndNeverMadeAnew) {
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

TEST_F(SqliteLive, DamageWhileItIsOpenIsSeenAtTheNextCommitWhereTheFileBeginsOrEnds) {
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

TEST_F(SqliteLive, AReaderThatMeetsDamageSaysSo) {
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

TEST_F(SqliteLive, ALockWhoseFileWasRemovedIsTakenAgainOrIsTheOthers) {
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
TEST_F(SqliteLive, AStoreWhoseWholeFolderIsEmptiedWhileItRunsIsNotStartedEmpty) {
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

TEST_F(SqliteLive, AnotherStoresDatabaseInItsPlaceIsNoticed) {
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
