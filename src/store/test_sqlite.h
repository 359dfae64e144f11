// For tests of the SQLite store: one in a folder of its own, its bytes, and what a claim of it needs.
#pragma once

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "store/contract_parts.h"

namespace duecourse {

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

}  // namespace duecourse
