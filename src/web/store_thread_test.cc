// The store's thread before a store that refuses, loses replies, or is damaged under it. Nothing here is
// timed: each wait is for an event that must come.
#include "web/store_thread.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <utility>
#include <variant>

#include "base/file.h"
#include "store/memory.h"
#include "store/memory_store.h"

namespace duecourse {
namespace {

class FixedClock : public Clock {
 public:
  Instant Wall() const override { return Instant{1'764'547'200'000}; }
  Millis Monotonic() const override { return Millis{1}; }  // no heartbeat is ever due
  Millis Boot() const override { return Millis{1}; }
};

// Only a thread that has stopped working is as late as that.
constexpr int64_t kNewsComeWithinMs = 20'000;

StoreFault FaultOf(StoreFault::Kind kind, bool unknown) {
  StoreFault fault;
  fault.kind = kind;
  fault.outcome_unknown = unknown;
  fault.reopen = true;
  fault.message = "told to";
  return fault;
}

// What a commit meets, in order; a fault `after` it was carried out, or before.
struct Trouble {
  StoreFault fault;
  bool after = false;
};
struct Script {
  std::deque<Trouble> commits;  // of commits from the first on; none left: all is well
  int loads_failing = 0;
  int opened = 0;  // again
  int commits_seen = 0;
};

// Only the store's thread touches it once that runs; the test looks when the thread has ended.
class ScriptedStore : public Store {
 public:
  ScriptedStore(std::shared_ptr<MemoryDisk> disk, const Clock& clock, Script& script)
      : inner_(NewMemoryStore(std::move(disk), clock)), script_(script) {}
  Result<OpenReply> Open(const OpenRequest& request) override { return inner_->Open(request); }
  Result<Snapshot> Load() override {
    if (script_.loads_failing-- > 0) return Error("cannot be read yet");
    return inner_->Load();
  }
  std::vector<StoreReply> Commit(const std::vector<StoreCall>& batch, StoreFault& fault) override {
    ++script_.commits_seen;
    if (script_.commits.empty()) return inner_->Commit(batch, fault);
    const Trouble trouble = script_.commits.front();
    script_.commits.pop_front();
    if (trouble.after) inner_->Commit(batch, fault);
    fault = trouble.fault;
    return {};
  }
  StoreFault Heartbeat(Instant now) override { return inner_->Heartbeat(now); }
  Result<std::unique_ptr<StoreReader>> NewReader() override { return inner_->NewReader(); }
  Status Backup(const std::string& path) override { return inner_->Backup(path); }
  StoreFault last_fault() const override { return inner_->last_fault(); }
  void Close() override { inner_->Close(); }

 private:
  std::unique_ptr<Store> inner_;
  Script& script_;
};

StoreBatch FlagBatch(uint64_t ticket, const std::string& name) {
  FlagCall call;
  call.flag.name = name;
  call.flag.by = "ann";
  return {ticket, {call}};
}

class StoreThreadTest : public testing::Test {
 protected:
  struct Resynced {
    Snapshot snapshot;
    uint64_t epoch = 0;
  };
  using News = std::variant<Event, Resynced>;

  void StartThread() {
    auto store = std::make_unique<ScriptedStore>(disk_, clock_, script_);
    OpenRequest request;
    request.incarnation = "i";
    request.init = true;
    ASSERT_TRUE(store->Open(request).ok());
    StoreThreadSink sink;
    sink.events = [this](std::vector<Event> events) {
      for (Event& event : events) news_.Push(std::move(event));
    };
    sink.resync = [this](Snapshot snapshot, uint64_t epoch) {
      news_.Push(Resynced{std::move(snapshot), epoch});
    };
    auto reopen = [this](Store&) -> Status {
      ++script_.opened;
      if (while_reopened_) while_reopened_();
      return {};
    };
    thread_ = std::make_unique<StoreThread>(std::move(store), reopen, clock_, log_, std::move(sink));
  }
  // The next reply or resync; of the store's trouble as such other tests speak.
  News Next() {
    while (true) {
      if (taken_.empty()) {
        for (News& news : news_.TakeAll(kNewsComeWithinMs)) taken_.push_back(std::move(news));
      }
      if (taken_.empty()) return Event(StoreTrouble());  // neither a reply nor a resync
      News news = std::move(taken_.front());
      taken_.pop_front();
      const Event* event = std::get_if<Event>(&news);
      if (event == nullptr || !std::holds_alternative<StoreTrouble>(*event)) return news;
    }
  }
  uint64_t NextReply() {
    News news = Next();
    const Event* event = std::get_if<Event>(&news);
    if (event != nullptr && std::holds_alternative<StoreReplied>(*event))
      return std::get<StoreReplied>(*event).ticket;
    ADD_FAILURE() << "no reply came, or a resync in its place";
    return 0;
  }
  Resynced NextResync() {
    News news = Next();
    if (auto* resync = std::get_if<Resynced>(&news)) return std::move(*resync);
    ADD_FAILURE() << "no resync came, or a reply in its place";
    return {};
  }
  bool HasFlag(const std::string& name) const {
    for (const auto& [key, flag] : disk_->flags) {
      if (flag.name == name) return true;
    }
    return false;
  }

  FixedClock clock_;
  Fd nowhere_{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  Log log_{clock_, nowhere_.get(), LogLevel::kError};
  std::shared_ptr<MemoryDisk> disk_ = NewMemoryDisk();
  Script script_;
  Queue<News> news_{1000};
  std::deque<News> taken_;
  std::function<void()> while_reopened_;
  std::unique_ptr<StoreThread> thread_;
};

// Tried again, what was committed unseen would be committed twice.
TEST_F(StoreThreadTest, ACommitOfUnknownOutcomeIsNeverTriedAgain) {
  for (bool committed : {false, true}) {
    SCOPED_TRACE(committed);
    disk_ = NewMemoryDisk();
    script_ = Script();
    script_.commits = {{FaultOf(StoreFault::Kind::kIo, true), committed}};
    StartThread();
    thread_->Post(FlagBatch(1, "first"), 0);
    Resynced resync = NextResync();
    EXPECT_EQ(resync.epoch, 1u);
    EXPECT_EQ(resync.snapshot.flags.size(), committed ? 1u : 0u) << "what the store really holds";
    thread_->Post(FlagBatch(2, "of_before"), 0);  // asked by an engine that did not know yet
    thread_->Post(FlagBatch(3, "of_after"), 1);
    EXPECT_EQ(NextReply(), 3u);
    thread_->Stop();
    EXPECT_EQ(script_.opened, 1);
    EXPECT_EQ(script_.commits_seen, 2);
    EXPECT_EQ(HasFlag("first"), committed);
    EXPECT_FALSE(HasFlag("of_before"));
    EXPECT_TRUE(HasFlag("of_after"));
  }
}

// Another file may be in its place, whatever is known of the last commit.
TEST_F(StoreThreadTest, AFileThatMayBeAnotherIsReadAnew) {
  script_.commits = {{FaultOf(StoreFault::Kind::kVanished, false), false}};
  StartThread();
  thread_->Post(FlagBatch(1, "first"), 0);
  EXPECT_EQ(NextResync().epoch, 1u);
  thread_->Stop();
  EXPECT_FALSE(HasFlag("first"));
}

TEST_F(StoreThreadTest, WhatSurelyWasNotWrittenIsTriedAgain) {
  script_.commits = {{FaultOf(StoreFault::Kind::kIo, false), false}};
  StartThread();
  thread_->Post(FlagBatch(1, "first"), 0);
  EXPECT_EQ(NextReply(), 1u);
  thread_->Stop();
  EXPECT_EQ(script_.commits_seen, 2);
  EXPECT_TRUE(HasFlag("first"));
}

// It is opened again, but cannot be read at once.
TEST_F(StoreThreadTest, NothingIsCommittedUntilItIsKnownWhatIsStored) {
  script_.commits = {{FaultOf(StoreFault::Kind::kIo, true), true}};
  script_.loads_failing = 2;
  StartThread();
  while_reopened_ = [this] { thread_->Post(FlagBatch(2, "second"), 0); };
  thread_->Post(FlagBatch(1, "first"), 0);
  EXPECT_EQ(NextResync().snapshot.flags.size(), 1u);
  thread_->Stop();
  EXPECT_EQ(script_.commits_seen, 1) << "not even what came later";
  EXPECT_FALSE(HasFlag("second"));
}

// The doubt of a reader is met while no commit is under way, and the look at the store fails at first.
TEST_F(StoreThreadTest, ADoubtfulStoreIsReadBeforeTheNextCommit) {
  script_.loads_failing = 1;
  StartThread();
  thread_->Doubt("page 7");
  thread_->Post(FlagBatch(1, "first"), 0);
  EXPECT_EQ(NextResync().epoch, 1u);
  thread_->Post(FlagBatch(2, "second"), 1);
  EXPECT_EQ(NextReply(), 2u);
  thread_->Stop();
  EXPECT_EQ(script_.opened, 1);
  EXPECT_FALSE(HasFlag("first")) << "the engine asks again for what it still wants";
}

}  // namespace
}  // namespace duecourse
