// What the store costs beside SQLite itself: 10,000 runs planned with their claims and then finished, through
// Store::Commit in batches of 500, against a bare loop of the same statements in batches of 500 on the same
// tables; and how many durable syncs a second the folder's disk takes.
//
//   store_bench [RUNS]     in a scratch folder below DUECOURSE_BENCH_DIR (default: /tmp)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "figures.h"
#include "machine_limits.h"
#include "store/store.h"

namespace duecourse {
namespace {

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

Run RunOf(const BenchRun& item) {
  Run run;
  run.id = item.id;
  run.task = item.task;
  run.identity = item.identity;
  run.due = kBenchDue;
  run.business_date = CivilDay{20'423};
  run.key = item.key;
  run.window_opens = kBenchDue;
  run.window_ends = kBenchDue + Hours(3);
  run.rule_version = 1;
  run.created_at = kBenchDue;
  run.state_since = kBenchDue;
  return run;
}

DecisionRow DecisionOf(const char* decision, Reason reason, const char* detail) {
  DecisionRow row;
  row.decision = decision;
  row.reason = reason;
  row.detail = detail;
  row.at = kBenchDue;
  row.rule_version = 1;
  return row;
}

StoreCall PlanOf(const BenchRun& item) {
  PlanCall plan;
  plan.task = item.task;
  plan.planned_through = kBenchDue;
  ClaimCall claim;
  claim.run_id = item.id;
  claim.nonce = item.nonce;
  claim.ttl = Seconds(60);
  claim.breaker_version = 0;
  claim.control_version = 0;
  claim.rule_version = 1;
  claim.decision = DecisionOf("run", Reason::kAllConditionsMet, kBenchDetail);
  plan.runs.push_back({RunOf(item), std::move(claim), {}, {}});
  return plan;
}

StoreCall FinishOf(const BenchRun& item) {
  FinishCall finish;
  finish.after = RunOf(item);
  finish.after.state = RunState::kSuccess;
  finish.after.reason = Reason::kSucceeded;
  finish.after.counted = 1;
  finish.fence = 1;
  finish.end.outcome = Outcome::kSuccess;
  finish.end.code = "exit 0";
  finish.end.ended_at = kBenchDue;
  finish.decisions.push_back(DecisionOf("state", Reason::kSucceeded, kBenchEndDetail));
  return finish;
}

void CommitInBatches(Store& store, const std::vector<StoreCall>& calls) {
  for (size_t from = 0; from < calls.size(); from += kBenchBatch) {
    size_t to = std::min(calls.size(), from + kBenchBatch);
    std::vector<StoreCall> batch(calls.begin() + static_cast<long>(from),
                                 calls.begin() + static_cast<long>(to));
    StoreFault fault;
    store.Commit(batch, fault);
    Must(fault.kind == StoreFault::Kind::kNone, fault.message);
  }
}

TaskCursor CursorOf(const std::string& task) {
  TaskCursor cursor;
  cursor.task = task;
  return cursor;
}

LoopSeconds ThroughStore(const std::string& folder, const std::vector<BenchRun>& items) {
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
  for (const BenchRun& item : items) activate.cursors.push_back(CursorOf(item.task));
  StoreFault fault;
  store->Commit({activate}, fault);
  Must(fault.kind == StoreFault::Kind::kNone, fault.message);
  std::vector<StoreCall> plans;
  std::vector<StoreCall> finishes;
  for (const BenchRun& item : items) {
    plans.push_back(PlanOf(item));
    finishes.push_back(FinishOf(item));
  }
  LoopSeconds seconds;
  seconds.plan = SecondsOf([&] { CommitInBatches(*store, plans); });
  seconds.finish = SecondsOf([&] { CommitInBatches(*store, finishes); });
  RunFilter done;
  done.states = {RunState::kSuccess};
  done.limit = kReadMax;
  Result<std::unique_ptr<StoreReader>> reader = store->NewReader();
  Must(reader.ok(), "cannot read");
  Result<std::vector<Run>> rows = (*reader)->Runs(done);
  Must(rows.ok() && rows->size() == std::min<size_t>(items.size(), kReadMax), "not all runs are done");
  store->Close();
  return seconds;
}

int Main(int argc, char** argv) {
  int count = argc > 1 ? std::atoi(argv[1]) : 10'000;
  Must(count > 0, "RUNS is a number from 1 on");
  BenchFolder folder;
  const std::vector<BenchRun> runs = MakeBenchRuns(count);
  Report({"limit: fdatasync", StrCat(Number(SyncsPerSecond(folder.path())), " /s"), "", "", "", {}});
  const Span commit = OneDurableCommit(200);
  Report({"limit: one durable commit",
          StrCat("p50 ", Number(commit.p50, 2), " ms, p99 ", Number(commit.p99, 2), " ms"),
          "",
          "",
          "",
          {}});
  LoopSeconds bare = BareLoop(folder.path(), runs);
  const double limit = count / (bare.plan + bare.finish);
  Report({"limit: bare SQLite loop", StrCat(Number(limit), " runs/s"), "", "", "", {}});
  LoopSeconds store = ThroughStore(folder.path() + "/store", runs);
  const double rate = count / (store.plan + store.finish);
  std::printf("of which planned and claimed: bare %.3f s, store %.3f s\n", bare.plan, store.plan);
  Report({"store alone",
          StrCat(Number(rate), " runs/s"),
          StrCat("bare loop ", Number(limit), " runs/s"),
          Number(rate / limit, 2),
          "",
          {}});
  return 0;
}

}  // namespace
}  // namespace duecourse

int main(int argc, char** argv) { return duecourse::Main(argc, argv); }
