// Decide predicts, Claim enforces: on the same facts they say the same, as far as the claim checks it. Random
// situations on the in-memory store; the seed is fixed and the round is printed with what failed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/random.h"
#include "base/text.h"
#include "decide/decide.h"
#include "store/memory.h"
#include "store/store.h"

namespace duecourse {
namespace {

constexpr uint64_t kSeed = 20260302;
constexpr int kRounds = 20'000;
const Instant kNow = *ParseUtc("2026-03-02T12:00:00Z");

class StillClock : public Clock {
 public:
  Instant Wall() const override { return kNow; }
  Millis Monotonic() const override { return Hours(1); }
  Millis Boot() const override { return Hours(1); }
};

bool OneIn(Random& random, int n) { return random.Between(1, n) == 1; }
int Number(Random& random, int low, int high) { return static_cast<int>(random.Between(low, high)); }
// Often exactly now, or a millisecond beside it, where edges are.
Instant Near(Random& random) {
  if (OneIn(random, 2)) return kNow + Millis{random.Between(-1, 1)};
  return kNow + Seconds(random.Between(-3600, 3600));
}

struct Situation {
  std::shared_ptr<MemoryDisk> disk;
  std::unique_ptr<Store> store;
  Run run;
  Facts facts;
  std::vector<PoolFact> pools;
  ClaimCall claim;
  bool stale = false;  // something changed between decision and claim
};

void Put(MemoryDisk& disk, const Run& run) {
  MemoryRun stored;
  stored.seq = disk.next_run++;
  stored.run = run;
  disk.runs[run.id] = stored;
  disk.run_order[stored.seq] = run.id;
  disk.keys[run.id] = run.id;
  if (!IsFinal(run.state)) disk.open_runs[{run.task, run.value}].insert(run.id);
}

Run DrawRun(Random& random) {
  Run run;
  run.id = "r1";
  run.task = "t";
  run.key = "r1";
  run.state =
      OneIn(random, 2) ? RunState::kScheduled : static_cast<RunState>(Number(random, 0, kRunStateCount - 1));
  run.reason = run.state == RunState::kSkipped ? Reason::kCancelled : Reason::kExceededWindow;
  run.attempts = run.state == RunState::kScheduled && OneIn(random, 2) ? 0 : Number(random, 1, 4);
  run.counted = Number(random, 0, run.attempts);
  run.fence = run.attempts;
  run.due = OneIn(random, 4) ? Near(random) : kNow - Hours(1);
  run.window_opens = OneIn(random, 4) ? Near(random) : kNow - Hours(1);
  run.window_ends = OneIn(random, 4) ? Near(random) : kNow + Hours(1);
  run.owed = OneIn(random, 4);
  if (run.state == RunState::kRunning) run.lease_until = Hours(1) + Seconds(random.Between(-5, 60));
  return run;
}

// Other runs of the task, with leases that live or are over by a millisecond; some hold a slot of the pool.
void DrawOthers(Random& random, Situation& s) {
  int in_pool = 0;
  for (int i = Number(random, 0, 3); i > 0; --i) {
    Run other;
    other.id = StrCat("other", i);
    other.task = OneIn(random, 2) ? "t" : "else";
    other.state = RunState::kRunning;
    other.fence = 1;
    other.attempts = 1;
    bool live = !OneIn(random, 3);
    other.lease_until = Hours(1) + (live ? Millis{random.Between(1, 1000)} : Millis{0});
    Put(*s.disk, other);
    if (live && other.task == "t") ++s.facts.task_running;
    if (!OneIn(random, 2)) continue;
    s.disk->slots["p"][other.id] = other.fence;
    if (live) ++in_pool;
  }
  s.facts.task_limit = Number(random, 1, 3);
  s.claim.task_limit = s.facts.task_limit;
  if (OneIn(random, 2)) return;
  int limit = Number(random, 1, 2);
  s.pools.push_back({in_pool, limit, kLongAgo});
  s.claim.pools.emplace_back("p", limit);
}

// Pauses, breaker, rules: the claim names the version that the decision saw. Now and then another one is
// there.
void DrawVersions(Random& random, Situation& s) {
  if (OneIn(random, 3)) {
    Control control;
    control.scope = "task/else";
    control.version = 4;
    s.disk->controls[control.scope] = control;
    s.claim.control_version = 4;
  } else {
    s.claim.control_version = 0;
  }
  bool automatic = s.claim.kind != TriggerKind::kManual;
  if (automatic) s.claim.breaker_version = 0;
  if (OneIn(random, 3)) {
    Breaker breaker;
    breaker.task = "t";
    breaker.version = 7;
    s.disk->breakers[{"t", ""}] = breaker;
    if (automatic) s.claim.breaker_version = 7;
  }
  if (!OneIn(random, 10)) return;
  s.stale = true;
  int which = Number(random, 0, automatic ? 2 : 1);
  if (which == 0) ++s.claim.control_version;
  if (which == 1) ++s.claim.rule_version;
  if (which == 2) ++s.claim.breaker_version;
}

void DrawForce(Random& random, Situation& s) {
  Force& force = s.facts.force;
  if (s.run.state == RunState::kManualRequired ? OneIn(random, 2) : OneIn(random, 5)) {
    force.manual = true;
    force.time = s.run.state == RunState::kManualRequired || OneIn(random, 2);
    force.pause = force.time;
    force.readiness = force.time;
    force.maintenance = force.time;
  }
}

void Open(Situation& s) {
  static const StillClock kClock;
  s.disk = NewMemoryDisk();
  s.store = NewMemoryStore(s.disk, kClock);
  OpenRequest request;
  request.node = "n";
  request.incarnation = "i";
  request.boot_id = "b";
  request.init = true;
  EXPECT_TRUE(s.store->Open(request).ok());
  ActivateCall activate;
  activate.version.hash = "h";
  TaskCursor cursor;
  cursor.task = "t";
  activate.cursors.push_back(cursor);
  StoreFault fault;
  s.store->Commit({activate}, fault);
}

// The facts and the call as the engine makes them.
Situation Draw(Random& random) {
  Situation s;
  Open(s);
  s.run = DrawRun(random);
  Facts& f = s.facts;
  DrawForce(random, s);
  f.now = kNow;
  f.state = s.run.state;
  f.state_reason = s.run.reason;
  f.due = s.run.due;
  f.opens = s.run.window_opens;
  f.ends = s.run.window_ends;
  f.owed = s.run.owed;
  if (OneIn(random, 4)) f.max_delay_end = Near(random);
  f.counted = s.run.counted;
  f.attempts_max = Number(random, 1, 4);
  f.next_is_catchup = s.run.state == RunState::kCatchupWaiting;
  f.key_running = s.run.state == RunState::kRunning;
  f.first_attempt = s.run.attempts == 0;
  ClaimCall& c = s.claim;
  c.run_id = s.run.id;
  c.expected_state = s.run.state;
  c.expected_fence = s.run.fence;
  c.nonce = "n";
  c.kind = f.force.manual ? TriggerKind::kManual : TriggerKind::kSchedule;
  c.counts = !f.force.manual;
  c.ttl = Seconds(60);
  c.attempts_max = f.attempts_max;
  c.rule_version = 1;
  if (!f.force.time) {
    c.not_before = std::max(f.opens, f.due);
    c.not_after = StartLimit(f);
  }
  DrawOthers(random, s);
  DrawVersions(random, s);
  return s;
}

void DrawInterval(Random& random, Situation& s) {
  if (OneIn(random, 2)) return;
  s.claim.min_interval = Seconds(300);
  if (OneIn(random, 3)) return;
  Instant last = OneIn(random, 2) ? kNow - Seconds(300) + Millis{random.Between(-1, 1)} : Near(random);
  s.disk->cursors[{"t", ""}].last_start = last;
  s.facts.min_interval_until = last + s.claim.min_interval;
}

ClaimReply Ask(Random& random, Situation& s) {
  DrawInterval(random, s);
  Put(*s.disk, s.run);
  StoreFault fault;
  std::vector<StoreReply> replies = s.store->Commit({s.claim}, fault);
  EXPECT_EQ(fault.kind, StoreFault::Kind::kNone);
  return std::get<ClaimReply>(replies.front());
}

// The claim knows no max_delay of its own: its not_after says it.
Reason AsTheClaimSays(Reason reason, const Situation& s) {
  if (reason == Reason::kExceededMaxDelay) return Reason::kOutOfWindow;
  if (reason == Reason::kNotDue && kNow >= s.run.due) return Reason::kOutOfWindow;
  return reason;
}

TEST(Agreement, TheClaimGrantsWhatTheDecisionAllowsAndRefusesTheRestForTheSameReason) {
  Random random(kSeed);
  std::map<std::string, int> seen;
  for (int round = 0; round < kRounds; ++round) {
    Situation s = Draw(random);
    ClaimReply reply = Ask(random, s);
    s.facts.pools = s.pools;
    Decision decision = Decide(s.facts);
    std::string about = StrCat("round ", round, ", state ", RunStateName(s.run.state), ", decision ",
                               ReasonName(decision.reason), ", claim ",
                               reply.granted ? "granted" : ReasonName(reply.refusal), " ", reply.detail);
    ++seen[ReasonName(decision.reason)];
    if (s.stale) {
      ASSERT_FALSE(reply.granted) << about;
      ++seen["stale"];
      continue;
    }
    ASSERT_EQ(decision.verdict == Verdict::kAllow, reply.granted) << about;
    if (reply.granted) {
      EXPECT_EQ(reply.fence, s.run.fence + 1) << about;
      EXPECT_EQ(reply.attempt, s.run.attempts + 1) << about;
      continue;
    }
    ASSERT_EQ(AsTheClaimSays(decision.reason, s), reply.refusal) << about;
  }
  // Each kind of answer was met often enough to mean something.
  for (const char* name : {"all_conditions_met", "already_done", "awaiting_person", "cancelled", "not_due",
                           "out_of_window", "exceeded_window", "exceeded_max_delay", "attempts_exhausted",
                           "lock_occupied", "max_concurrency", "min_interval", "pool_full", "stale"}) {
    EXPECT_GE(seen[name], 50) << name;
  }
}

TEST(Agreement, AStateOrFenceThatMovedOnIsRefused) {
  Random random(kSeed + 1);
  int tried = 0;
  for (int round = 0; round < kRounds / 10; ++round) {
    Situation s = Draw(random);
    if (s.stale || IsFinal(s.run.state) || s.run.state == RunState::kRunning) continue;
    s.facts.pools = s.pools;
    if (OneIn(random, 2)) {
      ++s.claim.expected_fence;
    } else {
      s.claim.expected_state =
          s.run.state == RunState::kRetrying ? RunState::kScheduled : RunState::kRetrying;
    }
    ClaimReply reply = Ask(random, s);
    ASSERT_FALSE(reply.granted) << "round " << round;
    ++tried;
  }
  EXPECT_GE(tried, 500);
}

}  // namespace
}  // namespace duecourse
