#include "store/claim.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "run/lifecycle.h"

namespace duecourse {
namespace {

ClaimReply Refuse(Reason reason, Instant recheck_at, std::string detail, std::string holder = {}) {
  ClaimReply reply;
  reply.refusal = reason;
  reply.recheck_at = recheck_at;
  reply.detail = std::move(detail);
  reply.holder = std::move(holder);
  return reply;
}

ClaimReply MovedOn(ClaimReply reply) {
  reply.moved_on = true;
  return reply;
}

// When a lease that ends at an instant of the boot clock ends by the wall clock, as the two stand now.
Instant WallOf(Millis lease_end, StoreTime now) { return now.wall + (lease_end - now.boot); }

std::optional<ClaimReply> CheckDone(const ClaimCall& call, const Run& run, StoreTime now) {
  std::string detail = StrCat("it is ", RunStateName(run.state));
  if (run.state == RunState::kSuccess) return Refuse(Reason::kAlreadyDone, kNever, detail, run.id);
  if (IsFinal(run.state)) {
    return Refuse(run.reason, kNever, detail, run.superseded_by.empty() ? run.id : run.superseded_by);
  }
  if (run.state == RunState::kManualRequired && call.kind != TriggerKind::kManual) {
    return Refuse(Reason::kAwaitingPerson, kNever, "it waits for a person", run.id);
  }
  if (run.state == RunState::kRunning) {
    return Refuse(Reason::kLockOccupied, std::max(now.wall, WallOf(run.lease_until, now)),
                  StrCat("attempt ", run.attempts, " is running"), run.id);
  }
  if (run.state != call.expected_state || run.fence != call.expected_fence) {
    return Refuse(Reason::kLockOccupied, now.wall,
                  StrCat("it is ", RunStateName(run.state), " with fence ", run.fence, ", decided on ",
                         RunStateName(call.expected_state), " with fence ", call.expected_fence),
                  run.id);
  }
  return std::nullopt;
}

std::optional<ClaimReply> CheckTime(const ClaimCall& call, const Run& run, StoreTime now, ClaimView& view) {
  if (call.control_version >= 0) {
    int64_t newest = view.NewestControl();
    if (newest != call.control_version) {
      return Refuse(Reason::kPaused, now.wall, "a pause or resume came between decision and claim");
    }
  }
  if (call.rule_version != 0) {
    int64_t active = view.ActiveRules();
    if (active != call.rule_version) {
      return Refuse(
          Reason::kNotDue, now.wall,
          StrCat("decided under rules version ", call.rule_version, ", but ", active, " is active"));
    }
  }
  if (now.wall < call.not_before) {
    std::string detail = StrCat("not before ", FormatUtc(call.not_before));
    return Refuse(now.wall < run.due ? Reason::kNotDue : Reason::kOutOfWindow, call.not_before, detail);
  }
  if (now.wall >= call.not_after) {
    std::string detail = StrCat("not from ", FormatUtc(call.not_after), " on");
    return Refuse(now.wall >= run.window_ends ? Reason::kExceededWindow : Reason::kOutOfWindow, now.wall,
                  detail);
  }
  return std::nullopt;
}

std::optional<ClaimReply> CheckReady(const ClaimCall& call, const Run& run, StoreTime now, ClaimView& view) {
  if (call.counts && run.counted >= call.attempts_max) {
    return Refuse(Reason::kAttemptsExhausted, kNever,
                  StrCat(run.counted, " of ", call.attempts_max, " attempts are used"));
  }
  if (call.breaker_version >= 0) {
    BreakerSeen breaker = view.BreakerOf(run.task, run.value);
    if (breaker.version != call.breaker_version) {
      return Refuse(Reason::kBreakerOpen, std::max(now.wall, breaker.until.value_or(now.wall)),
                    "the breaker changed between decision and claim");
    }
  }
  return std::nullopt;
}

std::optional<ClaimReply> CheckLimits(const ClaimCall& call, const Run& run, StoreTime now, ClaimView& view) {
  if (call.task_limit > 0) {
    LiveLeases leases = view.TaskLeases(run.task, run.value);
    if (leases.count >= call.task_limit) {
      return Refuse(Reason::kMaxConcurrency, WallOf(leases.first_end, now),
                    StrCat(leases.count, " of ", call.task_limit, " running"), leases.holder);
    }
  }
  if (call.min_interval > Millis{} && run.attempts == 0) {
    std::optional<Instant> last = view.LastStart(run.task, run.value);
    if (last && now.wall < *last + call.min_interval) {
      return Refuse(Reason::kMinInterval, *last + call.min_interval,
                    StrCat("the last first start was at ", FormatUtc(*last)));
    }
  }
  for (const auto& [pool, limit] : call.pools) {
    LiveLeases leases = view.PoolLeases(pool);
    if (leases.count >= limit) {
      return Refuse(Reason::kPoolFull, leases.count > 0 ? WallOf(leases.first_end, now) : now.wall,
                    StrCat("pool ", pool, ": ", leases.count, " of ", limit, " in use"), leases.holder);
    }
  }
  return std::nullopt;
}

std::optional<ClaimReply> CheckOpen(StoreTime now, ClaimView& view) {
  std::string closed = view.ClosedBecause();
  if (closed.empty()) return std::nullopt;
  return Refuse(Reason::kStoreUnavailable, now.wall + kClosedRecheck, std::move(closed));
}

bool NamesAnother(const std::string& given, const std::string& owner) {
  return !given.empty() && given != owner;
}

}  // namespace

ClaimReply CheckClaim(const ClaimCall& call, const Run* run, const StoreOwner& owner, StoreTime now,
                      ClaimView& view) {
  if (run == nullptr) {
    return MovedOn(Refuse(Reason::kInternalInvariant, kNever, StrCat("there is no run ", call.run_id)));
  }
  if (NamesAnother(call.incarnation, owner.incarnation) || NamesAnother(call.boot_id, owner.boot_id)) {
    return Refuse(Reason::kInternalInvariant, kNever,
                  StrCat("claimed for incarnation ", call.incarnation, ", but ", owner.incarnation,
                         " has the store open"));
  }
  if (run->fence == std::numeric_limits<int64_t>::max() || run->attempts == std::numeric_limits<int>::max()) {
    return Refuse(Reason::kInternalInvariant, kNever, "its fence or number of attempts cannot rise any more");
  }
  if (std::optional<ClaimReply> no = CheckDone(call, *run, now)) return MovedOn(*no);
  if (std::optional<ClaimReply> no = CheckTime(call, *run, now, view)) return *no;
  if (std::optional<ClaimReply> no = CheckReady(call, *run, now, view)) return *no;
  if (std::optional<ClaimReply> no = CheckLimits(call, *run, now, view)) return *no;
  if (std::optional<ClaimReply> no = CheckOpen(now, view)) return *no;
  ClaimReply reply;
  reply.granted = true;
  return reply;
}

void Grant(const ClaimCall& call, const StoreOwner& owner, StoreTime now, Run& run) {
  CHECK(!IsFinal(run.state));
  CHECK(run.state != RunState::kRunning);
  run.before_claim = run.state;
  if (call.kind == TriggerKind::kManual) run.before_manual = run.state;
  run.state = RunState::kRunning;
  run.reason = Reason::kAllConditionsMet;
  run.detail.clear();
  ++run.fence;
  ++run.attempts;
  if (call.counts) ++run.counted;
  if (call.kind != TriggerKind::kManual) run.next_at.reset();
  if (!call.met.empty()) run.met = call.met;
  run.state_since = now.wall;
  if (!run.first_start) run.first_start = now.wall;
  run.incarnation = owner.incarnation;
  run.boot_id = owner.boot_id;
  run.lease_until = now.boot + call.ttl;
}

Attempt AttemptOf(const ClaimCall& call, const Run& granted, const StoreOwner& owner, StoreTime now) {
  Attempt attempt;
  attempt.run_id = granted.id;
  attempt.number = granted.attempts;
  attempt.fence = granted.fence;
  attempt.kind = call.kind;
  attempt.nonce = call.nonce;
  attempt.rule_version = call.rule_version;
  attempt.node = owner.node;
  attempt.incarnation = owner.incarnation;
  attempt.boot_id = owner.boot_id;
  attempt.claimed_at = now.wall;
  attempt.by = call.by;
  return attempt;
}

DecisionRow DecisionOf(const ClaimCall& call, const Run& granted) {
  DecisionRow row = call.decision;
  row.run_id = granted.id;
  row.attempt = granted.attempts;
  row.fence = granted.fence;
  if (row.rule_version == 0) row.rule_version = call.rule_version;
  return row;
}

ClaimReply Granted(const Run& run, StoreTime now) {
  ClaimReply reply;
  reply.granted = true;
  reply.fence = run.fence;
  reply.attempt = run.attempts;
  reply.at = now.wall;
  return reply;
}

Run AsPlanned(const Run& run, StoreTime now) {
  CHECK(run.state != RunState::kRunning);
  Run planned = run;
  planned.fence = 0;
  planned.attempts = 0;
  planned.first_start.reset();
  planned.incarnation.clear();
  planned.boot_id.clear();
  planned.lease_until = Millis{};
  planned.created_at = OrNow(run.created_at, now);
  planned.state_since = OrNow(run.state_since, now);
  return planned;
}

bool FinishAccepted(const FinishCall& call, const Run& run, const StoreOwner& owner, StoreTime now) {
  if (run.state != RunState::kRunning || run.fence != call.fence) return false;
  if (!EdgeExists(RunState::kRunning, call.after.state)) return false;
  if (!call.lost) return true;
  return run.incarnation != owner.incarnation || run.lease_until <= now.boot;
}

DecisionRow LateRow(const FinishCall& call, const Run* run, StoreTime now) {
  DecisionRow row;
  row.run_id = call.after.id;
  row.task = call.after.task;
  row.value = call.after.value;
  row.key = call.after.key.value_or("");
  row.business_date = call.after.business_date;
  row.at = now.wall;
  row.last_at = now.wall;
  row.decision = "late";
  row.reason = Reason::kAttemptLost;
  row.attempt = call.end.number;
  row.error_code = call.end.code;
  row.fence = call.fence;
  row.rule_version = call.end.rule_version;
  Json detail = Json::MakeObject();
  std::string outcome = OutcomeName(call.end.outcome);
  if (run == nullptr) {
    detail.Set("text", StrCat("a result (", outcome, ") came for a run that is not in the store"));
  } else {
    detail.Set("text",
               StrCat("a result (", outcome, ") with fence ", call.fence, " came too late: the run is ",
                      RunStateName(run->state), " with fence ", run->fence));
    detail.Set("newest_fence", run->fence);
  }
  detail.Set("outcome", outcome);
  row.detail = detail.Dump();
  return row;
}

bool MoveAccepted(const MoveCall& call, const Run& run) {
  if (run.state != call.expected_state || run.fence != call.expected_fence) return false;
  if (!run.superseded_by.empty() && call.after.superseded_by != run.superseded_by) return false;
  if (call.after.state == run.state) return true;
  // Running is entered by a claim and left by a finish only.
  if (run.state == RunState::kRunning || call.after.state == RunState::kRunning) return false;
  if (!EdgeExists(run.state, call.after.state)) return false;
  return !NeedsPerson(run.state) || (call.audit && !call.audit->by.empty());
}

void TakeOver(const Run& after, Run& run) {
  run.state = after.state;
  run.reason = after.reason;
  run.detail = after.detail;
  run.counted = after.counted;
  run.uncounted = after.uncounted;
  run.failures = after.failures;
  run.told = after.told;
  run.ladder = after.ladder;
  run.next_at = after.next_at;
  run.next_lost_rerun = after.next_lost_rerun;
  run.window_opens = after.window_opens;
  run.window_ends = after.window_ends;
  run.before_manual = after.before_manual;
  run.before_claim = after.before_claim;
  run.owed = after.owed;
  run.superseded_by = after.superseded_by;
  run.cancel = after.cancel;
  run.met = after.met;
  run.state_since = after.state_since;
  if (run.state == RunState::kRunning) return;
  run.incarnation.clear();
  run.boot_id.clear();
  run.lease_until = Millis{};
}

Note KeyKnownNote(const Run& planned, const std::string& holder, const std::string& holder_task,
                  StoreTime now) {
  Note note;
  note.task = planned.task;
  note.value = planned.value;
  note.reason = Reason::kAlreadyDone;
  note.state = RunState::kSkipped;
  note.first_due = planned.due;
  note.last_due = planned.due;
  note.run_id = holder;
  note.detail = StrCat("key ", planned.key.value_or(""), " is run ", holder);
  if (holder_task != planned.task) note.detail += StrCat(" of task ", holder_task, ": two tasks share it");
  note.at = now.wall;
  return note;
}

void Complete(DecisionRow& row, const Run* run, StoreTime now) {
  if (run != nullptr) {
    row.run_id = run->id;
    row.task = run->task;
    row.value = run->value;
    row.key = run->key.value_or("");
    row.business_date = run->business_date;
  }
  row.at = OrNow(row.at, now);
  if (row.last_at < row.at) row.last_at = row.at;
}

bool KeyIsKept(const PruneCall& call, const Run& run, StoreTime now) {
  if (!run.key) return false;
  for (const auto& [task, from] : call.keys_from) {
    if (task == run.task) return run.due >= from;
  }
  return run.due >= now.wall - kKeysKept;
}

bool OnlyReads(const std::vector<StoreCall>& batch) {
  return std::all_of(batch.begin(), batch.end(), [](const StoreCall& call) {
    return std::holds_alternative<FindRunsCall>(call) || std::holds_alternative<FindNonceCall>(call);
  });
}

int ClampLimit(int limit) { return std::clamp(limit, 0, kReadMax); }

}  // namespace duecourse
