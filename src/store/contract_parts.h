// What the tests of stores are made of: a clock that stands still, a disk that outlives its stores, rows.
// Test code.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/test_folder.h"
#include "base/text.h"
#include "store/memory.h"
#include "store/store.h"

namespace duecourse {

// Stands still but for Pass.
class StillClock : public Clock {
 public:
  Instant Wall() const override { return wall; }
  Millis Monotonic() const override { return boot; }
  Millis Boot() const override { return boot; }
  void Pass(Millis span) {
    wall = wall + span;
    boot = boot + span;
  }
  Instant wall{1'764'547'200'000};  // 2025-12-01T00:00:00Z
  Millis boot = Hours(1);
};

// A folder that goes with its owner; in memory where that can be, since no test needs a slow disk.
class ScratchFolder : public TestFolder {
 public:
  ScratchFolder()
      : TestFolder(access("/dev/shm", W_OK) == 0 ? std::filesystem::path("/dev/shm")
                                                 : std::filesystem::temp_directory_path()) {}
};

// What survives a Store object: opened again it is the same store.
class Disk {
 public:
  explicit Disk(const std::string& kind) : kind_(kind) {}
  std::unique_ptr<Store> NewStore(const Clock& clock) {
    return kind_ == "memory" ? NewMemoryStore(memory_, clock)
                             : NewSqliteStore(scratch_.path() + "/data", clock);
  }
  std::string folder() const { return scratch_.path() + "/data"; }

 private:
  std::string kind_;
  ScratchFolder scratch_;
  std::shared_ptr<MemoryDisk> memory_ = NewMemoryDisk();  // shared with the stores on it
};

// In a fixture `Run` is a method of gtest's.
using RunRow = Run;

inline OpenRequest RequestOf(const std::string& incarnation, bool init = false) {
  OpenRequest request;
  request.node = "n1";
  request.incarnation = incarnation;
  request.boot_id = "boot1";
  request.zone_data = "2025b";
  request.init = init;
  return request;
}

inline Run MakeRun(const std::string& id, const std::string& task, Instant due) {
  Run run;
  run.id = id;
  run.task = task;
  run.identity = "cron/" + FormatUtc(due) + "/" + id;
  run.due = due;
  run.business_date = CivilDay{20'000};
  run.key = task + ":" + id;
  run.window_opens = due;
  run.window_ends = due + Hours(3);
  run.rule_version = 1;
  return run;
}

inline DecisionRow MakeDecision(const std::string& decision, Reason reason) {
  DecisionRow row;
  row.decision = decision;
  row.reason = reason;
  row.detail = R"({"text":"because"})";
  return row;
}

inline ClaimCall MakeClaim(const Run& run, const std::string& nonce) {
  ClaimCall claim;
  claim.run_id = run.id;
  claim.expected_state = run.state;
  claim.expected_fence = run.fence;
  claim.nonce = nonce;
  claim.ttl = Seconds(60);
  claim.attempts_max = 10;
  claim.decision = MakeDecision("run", Reason::kAllConditionsMet);
  return claim;
}

inline AuditRow MakeAudit(const std::string& action) {
  AuditRow row;
  row.by = "ann";
  row.action = action;
  row.reason = "asked";
  return row;
}

}  // namespace duecourse
