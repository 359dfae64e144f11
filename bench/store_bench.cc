// What the store costs beside SQLite itself: 10,000 runs planned with their claims and then finished, through
// Store::Commit in batches of 500, against a bare loop of the same statements in batches of 500 on the same
// tables; and how many durable syncs a second the folder's disk takes.
//
//   store_bench [FOLDER] [RUNS]     a scratch folder is made in FOLDER (default: the temporary folder)
//
// Prints one figure a line: name, value, unit.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "db/sqlite.h"
#include "store/schema.h"
#include "store/store.h"

namespace duecourse {
namespace {

constexpr int kBatch = 500;
constexpr Instant kDue{1'764'547'200'000};
constexpr const char* kDetail = R"({"text":"inside its window, nothing in the way","window":"00:00-03:00"})";
constexpr const char* kEndDetail = R"({"text":"exit 0 after 12 ms","bytes":0})";

struct Item {
  std::string id;
  std::string task;
  std::string key;
  std::string identity;
  std::string nonce;
};

std::vector<Item> MakeItems(int count) {
  std::vector<Item> items;
  uint64_t hash = 0x9E3779B97F4A7C15U;
  for (int i = 0; i < count; ++i) {
    hash = hash * 6364136223846793005U + 1442695040888963407U;
    char hex[32];
    std::snprintf(hex, sizeof hex, "%016llx%04x", static_cast<unsigned long long>(hash), i & 0xFFFF);
    std::string task = StrCat("task-", i);
    items.push_back({StrCat("r", hex), task, StrCat(task, ":", FormatUtc(kDue)),
                     StrCat("cron/", FormatUtc(kDue)), StrCat(hex, "00000000")});
  }
  return items;
}

double SecondsOf(const std::function<void()>& work) {
  int64_t start = MonotonicMicros();
  work();
  return static_cast<double>(MonotonicMicros() - start) / 1e6;
}

void Must(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "store_bench: %s\n", what.c_str());
  std::exit(1);
}

double SyncsPerSecond(const std::string& folder) {
  const std::string path = folder + "/sync";
  Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  Must(fd.valid(), "cannot write in " + folder);
  const std::string page(4096, 'x');
  constexpr int kSyncs = 200;
  double seconds = SecondsOf([&] {
    for (int i = 0; i < kSyncs; ++i) {
      Must(pwrite(fd.get(), page.data(), page.size(), i * 4096L) == 4096 && fdatasync(fd.get()) == 0,
           "cannot sync");
    }
  });
  return kSyncs / seconds;
}

// ---- through the store

Run RunOf(const Item& item) {
  Run run;
  run.id = item.id;
  run.task = item.task;
  run.identity = item.identity;
  run.due = kDue;
  run.business_date = CivilDay{20'423};
  run.key = item.key;
  run.window_opens = kDue;
  run.window_ends = kDue + Hours(3);
  run.rule_version = 1;
  run.created_at = kDue;
  run.state_since = kDue;
  return run;
}

DecisionRow DecisionOf(const char* decision, Reason reason, const char* detail) {
  DecisionRow row;
  row.decision = decision;
  row.reason = reason;
  row.detail = detail;
  row.at = kDue;
  row.rule_version = 1;
  return row;
}

StoreCall PlanOf(const Item& item) {
  PlanCall plan;
  plan.task = item.task;
  plan.planned_through = kDue;
  ClaimCall claim;
  claim.run_id = item.id;
  claim.nonce = item.nonce;
  claim.ttl = Seconds(60);
  claim.breaker_version = 0;
  claim.control_version = 0;
  claim.rule_version = 1;
  claim.decision = DecisionOf("run", Reason::kAllConditionsMet, kDetail);
  plan.runs.push_back({RunOf(item), std::move(claim), {}, {}});
  return plan;
}

StoreCall FinishOf(const Item& item) {
  FinishCall finish;
  finish.after = RunOf(item);
  finish.after.state = RunState::kSuccess;
  finish.after.reason = Reason::kSucceeded;
  finish.after.counted = 1;
  finish.fence = 1;
  finish.end.outcome = Outcome::kSuccess;
  finish.end.code = "exit 0";
  finish.end.ended_at = kDue;
  finish.decisions.push_back(DecisionOf("state", Reason::kSucceeded, kEndDetail));
  return finish;
}

void CommitInBatches(Store& store, const std::vector<StoreCall>& calls) {
  for (size_t from = 0; from < calls.size(); from += kBatch) {
    size_t to = std::min(calls.size(), from + kBatch);
    std::vector<StoreCall> batch(calls.begin() + static_cast<long>(from),
                                 calls.begin() + static_cast<long>(to));
    StoreFault fault;
    store.Commit(batch, fault);
    Must(fault.kind == StoreFault::Kind::kNone, fault.message);
  }
}

struct Figures {
  double plan = 0;
  double finish = 0;
};

TaskCursor CursorOf(const std::string& task) {
  TaskCursor cursor;
  cursor.task = task;
  return cursor;
}

Figures ThroughStore(const std::string& folder, const std::vector<Item>& items) {
  SystemClock clock;
  std::unique_ptr<Store> store = NewSqliteStore(folder, clock);
  OpenRequest request;
  request.node = "bench";
  request.incarnation = "bench-1";
  request.boot_id = BootId();
  request.zone_data = "2025b";
  request.init = true;
  Must(store->Open(request).ok(), "cannot open the store");
  ActivateCall activate;
  activate.version.hash = "h";
  for (const Item& item : items) activate.cursors.push_back(CursorOf(item.task));
  StoreFault fault;
  store->Commit({activate}, fault);
  Must(fault.kind == StoreFault::Kind::kNone, fault.message);
  std::vector<StoreCall> plans;
  std::vector<StoreCall> finishes;
  for (const Item& item : items) {
    plans.push_back(PlanOf(item));
    finishes.push_back(FinishOf(item));
  }
  Figures figures;
  figures.plan = SecondsOf([&] { CommitInBatches(*store, plans); });
  figures.finish = SecondsOf([&] { CommitInBatches(*store, finishes); });
  RunFilter done;
  done.states = {RunState::kSuccess};
  done.limit = kReadMax;
  Result<std::unique_ptr<StoreReader>> reader = store->NewReader();
  Must(reader.ok(), "cannot read");
  Result<std::vector<Run>> rows = (*reader)->Runs(done);
  Must(rows.ok() && rows->size() == std::min<size_t>(items.size(), kReadMax), "not all runs are done");
  store->Close();
  return figures;
}

// ---- the same statements, bare

class Bare {
 public:
  explicit Bare(const std::string& path) {
    DbOptions options;
    options.create = true;
    options.cache_kib = 4096;
    options.wal_checkpoint_pages = 0;
    Check(Database::Open(path, options, db_));
    for (const Migration& migration : Migrations()) Check(db_.Execute(migration.sql));
    Check(
        db_.Execute("INSERT INTO node (incarnation, node, boot_id, zone_data, opened_at)\n"
                    "VALUES ('bench-1', 'bench', 'boot', '2025b', 0)"));
    Prepare(leases_,
            "SELECT id, lease_until FROM run WHERE task = ? AND value = ?\n"
            "AND state IN ('scheduled', 'running', 'retrying', 'catchup_waiting', 'manual_required')\n"
            "AND state = 'running' AND lease_until > ?");
    Prepare(breaker_, "SELECT version, until FROM breaker WHERE task = ? AND value = ?");
    Prepare(
        insert_run_,
        "INSERT INTO run (id, task, value, identity, due, business_date, key, state, reason, detail, fence,\n"
        "attempts, counted, uncounted, failures, told, ladder_immediate, ladder_backoff, ladder_catchup, "
        "next_at,\n"
        "next_lost_rerun, window_opens, window_ends, before_manual, before_claim, origin, extra, owed, "
        "supersedes,\n"
        "superseded_by, rule_version, created_at, state_since, first_start, owner, lease_until)\n"
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
        "?, ?,\n"
        "?, ?, ?, ?) ON CONFLICT DO NOTHING");
    Prepare(insert_attempt_,
            "INSERT INTO attempt (run, number, fence, kind, nonce, rule_version, owner, claimed_at, outcome, "
            "class,\n"
            "code, summary, detail, by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'none', 'none', '', '', '', ?)");
    Prepare(insert_decision_,
            "INSERT INTO decision (run, task, value, key, business_date, at, last_at, count, decision, "
            "reason, detail,\n"
            "from_state, to_state, attempt, error_code, fence, rule_version, owner, recheck_at)\n"
            "VALUES (?, ?, NULL, NULL, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)");
    Prepare(cursor_,
            "UPDATE task SET planned_through = max(planned_through, ifnull(?, planned_through)),\n"
            "last_start = ifnull(?, last_start) WHERE task = ? AND value = ?");
    Prepare(
        head_,
        "SELECT seq, task, value, due, state, reason, fence, attempts, counted, window_ends, superseded_by,\n"
        "first_start, owner, lease_until FROM run WHERE id = ?");
    Prepare(
        update_run_,
        "UPDATE run SET state = ?4, reason = ?5, detail = ?6, counted = ?7, uncounted = ?8, failures = ?9, "
        "told = ?10,\n"
        "ladder_immediate = ?11, ladder_backoff = ?12, ladder_catchup = ?13, next_at = NULL,\n"
        "next_lost_rerun = ?14, window_opens = ?15, window_ends = ?16, before_manual = ?17, before_claim = "
        "?18,\n"
        "owed = ?19, superseded_by = ?20, state_since = ?21, owner = iif(?4 = 'running', owner, NULL),\n"
        "lease_until = iif(?4 = 'running', lease_until, 0) WHERE seq = ?1 AND state = ?2 AND fence = ?3");
    Prepare(end_attempt_,
            "UPDATE attempt SET ended_at = ?, outcome = ?, class = ?, code = ?, summary = ?, detail = ?\n"
            "WHERE run = ? AND number = ? AND fence = ?");
  }

  void AddTasks(const std::vector<Item>& items) {
    Statement insert;
    Prepare(insert,
            "INSERT INTO task (task, value, in_force_since, planned_through, schedule, active)\n"
            "VALUES (?, '', 0, 0, '', 1)");
    Check(db_.Begin());
    for (const Item& item : items) Check(insert.Bind(1, item.task).Run());
    Check(db_.Commit());
  }

  void InBatches(const std::vector<Item>& items, void (Bare::*one)(const Item&)) {
    for (size_t from = 0; from < items.size(); from += kBatch) {
      Check(db_.Begin());
      for (size_t i = from; i < std::min(items.size(), from + kBatch); ++i) (this->*one)(items[i]);
      Check(db_.Commit());
    }
  }

  void Plan(const Item& item) {
    Check(leases_.Bind(1, item.task).Bind(2, "").Bind(3, kDue.ms).Run());
    Check(breaker_.Bind(1, item.task).Bind(2, "").Run());
    int at = 0;
    auto text = [&](std::string_view value) { insert_run_.Bind(++at, value); };
    auto number = [&](int64_t value) { insert_run_.Bind(++at, value); };
    for (const std::string* value : {&item.id, &item.task}) text(*value);
    text("");
    text(item.identity);
    number(kDue.ms);
    number(20'423);
    for (std::string_view value : {std::string_view(item.key), std::string_view("running"),
                                   std::string_view("all_conditions_met"), std::string_view("")}) {
      text(value);
    }
    for (int64_t value : {1, 1, 1, 0, 0}) number(value);
    text("none");
    for (int i = 0; i < 3; ++i) number(0);
    insert_run_.BindNull(++at);
    number(0);
    number(kDue.ms);
    number(kDue.ms + 10'800'000);
    for (const char* value : {"manual_required", "scheduled", "schedule"}) text(value);
    number(0);
    number(0);
    text("");
    text("");
    for (int64_t value : {int64_t{1}, kDue.ms, kDue.ms, kDue.ms, int64_t{1}, kDue.ms}) number(value);
    Check(insert_run_.Run());
    int64_t seq = db_.last_insert_id();
    insert_attempt_.Bind(1, seq).Bind(2, 1).Bind(3, 1).Bind(4, "schedule").Bind(5, item.nonce).Bind(6, 1);
    Check(insert_attempt_.Bind(7, 1).Bind(8, kDue.ms).Bind(9, "").Run());
    Decide(seq, item, "run", "all_conditions_met", kDetail);
    Check(cursor_.Bind(1, kDue.ms).Bind(2, kDue.ms).Bind(3, item.task).Bind(4, "").Run());
  }

  void Finish(const Item& item) {
    bool row = false;
    Check(head_.Bind(1, item.id).Step(row));
    Must(row, "a run is missing");
    int64_t seq = head_.Integer(0);
    head_.Reset();
    update_run_.Bind(1, seq)
        .Bind(2, "running")
        .Bind(3, 1)
        .Bind(4, "success")
        .Bind(5, "succeeded")
        .Bind(6, "");
    for (int i = 7; i <= 14; ++i) update_run_.Bind(i, i == 7 ? 1 : 0);
    update_run_.Bind(10, "none").Bind(15, kDue.ms).Bind(16, kDue.ms + 10'800'000).Bind(17, "manual_required");
    Check(update_run_.Bind(18, "scheduled").Bind(19, 0).Bind(20, "").Bind(21, kDue.ms).Run());
    end_attempt_.Bind(1, kDue.ms)
        .Bind(2, "success")
        .Bind(3, "none")
        .Bind(4, "exit 0")
        .Bind(5, "")
        .Bind(6, "");
    Check(end_attempt_.Bind(7, seq).Bind(8, 1).Bind(9, 1).Run());
    Decide(seq, item, "state", "succeeded", kEndDetail);
  }

 private:
  static void Check(const DbStatus& status) { Must(status.ok(), status.message); }
  void Prepare(Statement& statement, const char* sql) { Check(Statement::Prepare(db_, sql, statement)); }
  void Decide(int64_t seq, const Item& item, const char* decision, const char* reason, const char* detail) {
    insert_decision_.Bind(1, seq)
        .Bind(2, item.task)
        .Bind(3, kDue.ms)
        .Bind(4, kDue.ms)
        .Bind(5, 1)
        .Bind(6, decision);
    insert_decision_.Bind(7, reason).Bind(8, detail).Bind(9, "").Bind(10, "").Bind(11, 1).Bind(12, "").Bind(
        13, 1);
    Check(insert_decision_.Bind(14, 1).Bind(15, 1).Run());
  }

  Database db_;
  Statement leases_, breaker_, insert_run_, insert_attempt_, insert_decision_, cursor_, head_, update_run_,
      end_attempt_;
};

Figures BareLoop(const std::string& folder, const std::vector<Item>& items) {
  Bare bare(folder + "/bare.db");
  bare.AddTasks(items);
  Figures figures;
  figures.plan = SecondsOf([&] { bare.InBatches(items, &Bare::Plan); });
  figures.finish = SecondsOf([&] { bare.InBatches(items, &Bare::Finish); });
  return figures;
}

void Print(const char* name, double value, const char* unit) {
  std::printf("%-34s %12.3f %s\n", name, value, unit);
}

int Main(int argc, char** argv) {
  std::string base = argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string();
  int count = argc > 2 ? std::atoi(argv[2]) : 10'000;
  Must(count > 0, "RUNS is a number from 1 on");
  std::string folder = base + "/duecourse-store-bench-XXXXXX";
  Must(mkdtemp(folder.data()) != nullptr, "cannot make a folder in " + base);
  const std::vector<Item> items = MakeItems(count);
  Print("fdatasync", SyncsPerSecond(folder), "a second");
  Figures bare = BareLoop(folder, items);
  Figures store = ThroughStore(folder + "/store", items);
  Print("bare plan and claim", bare.plan, "s");
  Print("bare finish", bare.finish, "s");
  Print("store plan and claim", store.plan, "s");
  Print("store finish", store.finish, "s");
  Print("store runs", count / (store.plan + store.finish), "a second");
  Print("bare runs", count / (bare.plan + bare.finish), "a second");
  Print("store to bare", (bare.plan + bare.finish) / (store.plan + store.finish), "of the bare loop's rate");
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace duecourse

int main(int argc, char** argv) { return duecourse::Main(argc, argv); }
