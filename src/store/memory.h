// The in-memory twin: the simulator's model of a store. Same answers as SQLite (the contract suite and the
// differential test hold the two together), nothing but maps, no clock but the one given. What it holds lives
// in MemoryDisk, which survives the Store objects as a file would; its members are open to checkers, which
// read them, and to tests.
//
// Threads: none; a disk, its stores and its readers belong to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/claim.h"

namespace duecourse {

struct MemoryRun {
  int64_t seq = 0;  // order of writing
  Run run;
  std::vector<Attempt> attempts;  // by number
  std::set<int64_t> decisions;
};
struct MemoryNote {
  Note note;
  std::string identity;  // of the occurrence whose key is known, else empty
};

class MemoryDisk {
 public:
  using TaskValue = std::pair<std::string, std::string>;

  // Asked before and after each commit, with the number of the commit (from 0, over all stores of this disk).
  // A fault before: nothing is written. A fault after: all is written, and its caller does not know.
  std::function<StoreFault(size_t batch_index, bool after_commit)> on_commit;
  size_t commits = 0;

  std::string store_id;  // empty: nobody ever opened it
  bool open = false;     // by whom: owner
  StoreOwner owner;      // the newest to open it
  bool closed_in_order = true;
  Instant last_alive;

  std::map<TaskValue, TaskCursor> cursors;
  std::map<std::string, MemoryRun> runs;  // by id
  std::map<int64_t, std::string> run_order;
  std::map<std::tuple<std::string, std::string, std::string>, std::string>
      identities;  // task, value, identity
  std::map<std::string, std::string> keys;
  std::map<TaskValue, std::set<std::string>> open_runs;                    // open and manual_required
  std::map<std::string, std::set<std::pair<Instant, int64_t>>> due_order;  // of a task: due, seq
  std::map<int64_t, DecisionRow> decisions;
  std::map<int64_t, MemoryNote> notes;
  std::set<std::tuple<std::string, std::string, Instant, Instant, Reason, std::string>> note_keys;
  std::map<TaskValue, Breaker> breakers;
  std::map<std::pair<std::string, std::optional<CivilDay>>, Flag> flags;
  std::map<std::string, Control> controls;
  std::map<std::string, AlertRow> alerts;
  std::vector<std::string> alert_order;
  std::map<int64_t, AuditRow> audit;
  std::vector<RuleVersion> versions;
  std::map<int64_t, std::vector<std::pair<std::string, std::string>>> texts;  // by version
  std::map<std::string, std::map<std::string, int64_t>> slots;                // pool -> run -> fence
  std::map<std::string, Instant> pool_last_start;
  int64_t next_run = 1;
  int64_t next_decision = 1;
  int64_t next_note = 1;
  int64_t next_audit = 1;
};

}  // namespace duecourse
