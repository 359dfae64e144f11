// The disk fails, and the power fails: every write and sync of the database in turn (GUARANTEES, faults 1,
// 19, 20). The test program's own pwrite64 and fdatasync stand before the C library's for SQLite too, so that
// a write can be made to fail, or be remembered as not yet synced and then lost or torn.
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

#include "base/random.h"
#include "store/contract_parts.h"

namespace duecourse {
namespace {

struct Operation {
  bool sync = false;
  int fd = -1;
  std::string_view data;
  int64_t offset = 0;
};

// Whoever looks at the operations of this process, while `active`.
struct IoWatch {
  std::atomic<bool> active{false};
  std::function<int(const Operation&)> before;  // an errno makes it fail
  std::function<void(const Operation&)> after;
};
IoWatch& Watch() {
  static IoWatch watch;
  return watch;
}

int64_t Watched(const Operation& operation, const std::function<int64_t()>& real) {
  IoWatch& watch = Watch();
  if (!watch.active) return real();
  if (int error = watch.before ? watch.before(operation) : 0; error != 0) {
    errno = error;
    return -1;
  }
  int64_t result = real();
  if (result >= 0 && watch.after) watch.after(operation);
  return result;
}

}  // namespace
}  // namespace duecourse

extern "C" ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  duecourse::Operation operation{false, fd, {static_cast<const char*>(data), size}, offset};
  return duecourse::Watched(operation, [&] { return syscall(SYS_pwrite64, fd, data, size, offset); });
}

extern "C" int fdatasync(int fd) {
  duecourse::Operation operation{true, fd, {}, 0};
  return static_cast<int>(duecourse::Watched(operation, [&] { return syscall(SYS_fdatasync, fd); }));
}

namespace duecourse {
namespace {

namespace fs = std::filesystem;

// "store.db" or "store.db-wal" where the descriptor is one of the database's files, else empty.
std::string DatabaseFile(int fd) {
  char path[4096];
  ssize_t got = readlink(StrCat("/proc/self/fd/", fd).c_str(), path, sizeof path);
  std::string name = fs::path(std::string(path, static_cast<size_t>(std::max<ssize_t>(got, 0)))).filename();
  return name == "store.db" || name == "store.db-wal" ? name : "";
}

ClaimCall ClaimOf(const std::string& id, const Clock& clock) {
  ClaimCall claim = MakeClaim(MakeRun(id, "t", clock.Wall()), "nonce-" + id);
  claim.task_limit = 0;
  return claim;
}

StoreCall ClaimedPlan(const std::string& id, const Clock& clock) {
  PlanCall call;
  call.task = "t";
  call.runs = {{MakeRun(id, "t", clock.Wall()), ClaimOf(id, clock), {}, {}}};
  return call;
}

bool IsClaimed(Store& store, const std::string& id) {
  StoreFault fault;
  std::vector<StoreReply> replies = store.Commit({FindNonceCall{id, "nonce-" + id}}, fault);
  EXPECT_EQ(fault.kind, StoreFault::Kind::kNone) << fault.message;
  return !replies.empty() && std::get<ClaimReply>(replies[0]).granted;
}

class SqliteIo : public testing::Test {
 protected:
  void TearDown() override {
    Watch().active = false;
    Watch().before = nullptr;
    Watch().after = nullptr;
  }
};

// ---- each operation fails once

struct FailOnce {
  int countdown;
  int error;
  bool failed = false;
};

// Plans and claims a run as a daemon does that meets a fault: opens again where it must, reads back what it
// does not know, repeats the rest, and asks again where the store took the run but no claim.
void ClaimUntilKnown(Store& store, const std::string& id, const Clock& clock, const FailOnce& fail) {
  for (int tries = 0; tries < 4; ++tries) {
    StoreFault fault;
    const std::vector<StoreCall> batch = {ClaimedPlan(id, clock), ClaimOf(id, clock)};
    std::vector<StoreReply> replies = store.Commit(batch, fault);
    if (fault.kind != StoreFault::Kind::kNone) {
      ASSERT_TRUE(fail.failed) << fault.message;
      ASSERT_EQ(fault.kind, fail.error == ENOSPC ? StoreFault::Kind::kFull : StoreFault::Kind::kIo)
          << fault.message;
    }
    if (fault.reopen) {
      StoreFault again;
      store.Commit(batch, again);
      ASSERT_NE(again.kind, StoreFault::Kind::kNone) << "a dead handle took a commit";
      Result<OpenReply> opened = store.Open(RequestOf("i1"));
      ASSERT_TRUE(opened.ok()) << opened.error().message();
    }
    const bool there = IsClaimed(store, id);
    if (there) {
      ASSERT_TRUE(fault.kind == StoreFault::Kind::kNone || fault.outcome_unknown)
          << "it said: nothing was written";
      return;
    }
    if (fault.kind == StoreFault::Kind::kNone) {
      // The disk was full, and the ballast made room for the run only.
      ASSERT_EQ(std::get<ClaimReply>(replies.at(1)).refusal, Reason::kStoreUnavailable);
      ASSERT_EQ(store.Heartbeat(clock.Wall()).kind, StoreFault::Kind::kNone);
    }
  }
  FAIL() << "it never came to an end";
}

TEST_F(SqliteIo, AFailedWriteOrSyncLosesNothingThatWasAcknowledgedAndClaimsNothingTwice) {
  constexpr int kCommits = 4;
  for (int error : {EIO, ENOSPC}) {
    bool failed = true;
    int operations = 0;
    for (int k = 1; failed && !HasFatalFailure(); ++k) {
      SCOPED_TRACE(StrCat(error == EIO ? "EIO" : "ENOSPC", " at operation ", k));
      StillClock clock;
      ScratchFolder scratch;
      std::unique_ptr<Store> store = NewSqliteStore(scratch.path() + "/data", clock);
      ASSERT_TRUE(store->Open(RequestOf("i1", true)).ok());
      FailOnce fail{k, error};
      Watch().before = [&](const Operation& operation) {
        bool counts = !DatabaseFile(operation.fd).empty() && (error == EIO || !operation.sync);
        if (!counts || --fail.countdown != 0) return 0;
        fail.failed = true;
        return error;
      };
      Watch().active = true;
      for (int i = 0; i < kCommits; ++i) {
        ClaimUntilKnown(*store, StrCat("r", i), clock, fail);
      }
      Watch().active = false;
      Result<Snapshot> snapshot = store->Load();
      ASSERT_TRUE(snapshot.ok());
      EXPECT_EQ(snapshot->open_runs.size(), static_cast<size_t>(kCommits));
      for (const RunRow& run : snapshot->open_runs) EXPECT_EQ(run.fence, 1);
      failed = fail.failed;
      operations = k - 1;
    }
    EXPECT_GT(operations, kCommits) << "the test program's own calls were not used";
  }
}

// ---- the power fails

// What is on the disk for certain, and what was written since the last sync and may be there in part.
struct DiskFile {
  std::string durable;
  std::vector<std::pair<int64_t, std::string>> pending;
};

void Put(std::string& content, int64_t offset, std::string_view data) {
  size_t end = static_cast<size_t>(offset) + data.size();
  if (content.size() < end) content.resize(end, '\0');
  content.replace(static_cast<size_t>(offset), data.size(), data);
}

class PowerCut {
 public:
  PowerCut(const std::string& folder, const std::string& cuts, uint64_t seed)
      : folder_(folder), cuts_(cuts), random_(seed) {
    for (const char* name : {"store.db", "store.db-wal"}) {
      std::ifstream in(folder + "/" + name, std::ios::binary);
      files_[name].durable = std::string(std::istreambuf_iterator<char>(in), {});
    }
  }
  void After(const Operation& operation) {
    std::string name = DatabaseFile(operation.fd);
    if (name.empty()) return;
    DiskFile& file = files_[name];
    if (operation.sync) {
      for (const auto& [offset, data] : file.pending) Put(file.durable, offset, data);
      file.pending.clear();
    } else {
      file.pending.emplace_back(operation.offset, std::string(operation.data));
    }
  }
  // The folder as it may be found after a cut at this moment.
  std::string Cut() {
    std::string folder = StrCat(cuts_, "/cut-", ++made_);
    fs::create_directories(folder);
    for (const auto& [name, file] : files_) {
      std::string content = file.durable;
      for (const auto& [offset, data] : file.pending) {
        int64_t kept = random_.Between(0, 3);  // none, all, or a torn part
        if (kept == 0) continue;
        size_t sectors = data.size() / 512;
        size_t torn = kept > 1 || sectors == 0
                          ? data.size()
                          : 512 * static_cast<size_t>(random_.Between(0, static_cast<int64_t>(sectors)));
        Put(content, offset, std::string_view(data).substr(0, torn));
      }
      std::ofstream(folder + "/" + name, std::ios::binary) << content;
    }
    return folder;
  }

 private:
  std::string folder_;
  std::string cuts_;
  Random random_;
  std::map<std::string, DiskFile> files_;
  int made_ = 0;
};

TEST_F(SqliteIo, NoAcknowledgedClaimIsLostWhenThePowerFails) {
  const int percent = std::getenv("DUECOURSE_LONG") != nullptr ? 60 : 3;  // of all operations that are cut at
  StillClock clock;
  ScratchFolder scratch;
  std::unique_ptr<Store> store = NewSqliteStore(scratch.path() + "/data", clock);
  ASSERT_TRUE(store->Open(RequestOf("i1", true)).ok());
  store->Close();
  store = NewSqliteStore(scratch.path() + "/data", clock);
  PowerCut power(scratch.path() + "/data", scratch.path(), 11);
  Random random(5);
  std::vector<std::string> acknowledged;
  std::vector<std::pair<std::string, size_t>> cuts;  // folder, acknowledged before it
  Watch().after = [&](const Operation& operation) {
    power.After(operation);
    if (random.Between(1, 100) <= percent) cuts.emplace_back(power.Cut(), acknowledged.size());
  };
  Watch().active = true;
  ASSERT_TRUE(store->Open(RequestOf("i2")).ok());
  for (int i = 0; i < 60; ++i) {
    std::vector<StoreCall> batch;
    for (int j = 0; j < 10; ++j) batch.push_back(ClaimedPlan(StrCat("r", i, "-", j), clock));
    StoreFault fault;
    store->Commit(batch, fault);
    ASSERT_EQ(fault.kind, StoreFault::Kind::kNone) << fault.message;
    for (int j = 0; j < 10; ++j) acknowledged.push_back(StrCat("r", i, "-", j));
    // Checkpoints too are on the way of the power cut.
    if (i % 20 == 19) {
      ASSERT_EQ(store->Heartbeat(clock.wall).kind, StoreFault::Kind::kNone);
    }
  }
  Watch().active = false;
  store.reset();
  ASSERT_GT(cuts.size(), 5u);
  int number = 0;
  for (const auto& [folder, count] : cuts) {
    SCOPED_TRACE(StrCat(folder, " with ", count, " acknowledged"));
    std::unique_ptr<Store> found = NewSqliteStore(folder, clock);
    Result<OpenReply> opened = found->Open(RequestOf(StrCat("after-", ++number)));
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    for (size_t i = 0; i < count; ++i) ASSERT_TRUE(IsClaimed(*found, acknowledged[i])) << acknowledged[i];
    found.reset();
    fs::remove_all(folder);
  }
}

}  // namespace
}  // namespace duecourse
