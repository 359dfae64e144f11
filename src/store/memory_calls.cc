// The in-memory twin's calls about runs: plan, claim, renew, finish, move, activate.
#include <algorithm>

#include "store/memory_store.h"

namespace duecourse {

MemoryRun* MemoryStore::FindRun(const std::string& id) {
  auto found = disk_->runs.find(id);
  return found == disk_->runs.end() ? nullptr : &found->second;
}

void MemoryStore::SetState(MemoryRun& stored) {
  auto lane = std::make_pair(stored.run.task, stored.run.value);
  if (!IsFinal(stored.run.state)) {
    disk_->open_runs[lane].insert(stored.run.id);
    return;
  }
  auto found = disk_->open_runs.find(lane);
  if (found == disk_->open_runs.end()) return;
  found->second.erase(stored.run.id);
  if (found->second.empty()) disk_->open_runs.erase(found);
}

int64_t MemoryStore::ActiveRules() { return disk_->versions.empty() ? 0 : disk_->versions.back().version; }

int64_t MemoryStore::NewestControl() {
  int64_t newest = 0;
  for (const auto& [scope, control] : disk_->controls) newest = std::max(newest, control.version);
  return newest;
}

BreakerSeen MemoryStore::BreakerOf(const std::string& task, const std::string& value) {
  auto found = disk_->breakers.find({task, value});
  if (found == disk_->breakers.end()) return {};
  return {found->second.version, found->second.until};
}

std::optional<Instant> MemoryStore::LastStart(const std::string& task, const std::string& value) {
  auto found = disk_->cursors.find({task, value});
  return found == disk_->cursors.end() ? std::nullopt : found->second.last_start;
}

namespace {

void CountLease(const Run& run, StoreTime now, LiveLeases& leases) {
  if (run.state != RunState::kRunning || run.lease_until <= now.boot) return;
  bool first = leases.count == 0 || run.lease_until < leases.first_end ||
               (run.lease_until == leases.first_end && run.id < leases.holder);
  ++leases.count;
  if (!first) return;
  leases.holder = run.id;
  leases.first_end = run.lease_until;
}

}  // namespace

LiveLeases MemoryStore::TaskLeases(const std::string& task, const std::string& value) {
  LiveLeases leases;
  auto found = disk_->open_runs.find({task, value});
  if (found == disk_->open_runs.end()) return leases;
  for (const std::string& id : found->second) CountLease(disk_->runs.at(id).run, now_, leases);
  return leases;
}

LiveLeases MemoryStore::PoolLeases(const std::string& pool) {
  LiveLeases leases;
  for (const auto& [run_id, fence] : disk_->slots[pool]) {
    const MemoryRun* stored = FindRun(run_id);
    if (stored != nullptr && stored->run.fence == fence) CountLease(stored->run, now_, leases);
  }
  return leases;
}

ClaimReply MemoryStore::ClaimRun(const ClaimCall& call, MemoryRun& stored) {
  Run& run = stored.run;
  ClaimReply reply = CheckClaim(call, &run, disk_->owner, now_, *this);
  if (!reply.granted) return reply;
  auto cursor = disk_->cursors.find({run.task, run.value});
  if (run.attempts == 0 && cursor != disk_->cursors.end()) cursor->second.last_start = now_.wall;
  Grant(call, disk_->owner, now_, run);
  SetState(stored);
  stored.attempts.push_back(AttemptOf(call, run, disk_->owner, now_));
  for (const auto& [pool, limit] : call.pools) {
    disk_->slots[pool][run.id] = run.fence;
    disk_->pool_last_start[pool] = now_.wall;
  }
  WriteDecision(DecisionOf(call, run), &run);
  if (call.audit) WriteAudit(*call.audit);
  return Granted(run, now_);
}

ClaimReply MemoryStore::Do(const ClaimCall& call) {
  MemoryRun* stored = FindRun(call.run_id);
  if (stored == nullptr) return CheckClaim(call, nullptr, disk_->owner, now_, *this);
  return ClaimRun(call, *stored);
}

ClaimReply MemoryStore::Do(const FindNonceCall& call) {
  ClaimReply reply;
  const MemoryRun* stored = FindRun(call.run_id);
  if (stored == nullptr) return reply;
  for (const Attempt& attempt : stored->attempts) {
    if (attempt.nonce != call.nonce) continue;
    reply.granted = true;
    reply.fence = attempt.fence;
    reply.attempt = attempt.number;
    reply.at = attempt.claimed_at;
  }
  return reply;
}

RenewReply MemoryStore::Do(const RenewCall& call) {
  MemoryRun* stored = FindRun(call.run_id);
  if (stored == nullptr || stored->run.state != RunState::kRunning || stored->run.fence != call.fence) {
    return {};
  }
  stored->run.lease_until = now_.boot + call.ttl;
  return {true};
}

FinishReply MemoryStore::Do(const FinishCall& call) {
  FinishReply reply;
  MemoryRun* stored = FindRun(call.after.id);
  if (stored == nullptr || !FinishAccepted(call, stored->run, disk_->owner, now_)) {
    const Run* run = stored == nullptr ? nullptr : &stored->run;
    if (!call.lost) reply.decision_id = WriteDecision(LateRow(call, run, now_), run);
    return reply;
  }
  TakeOver(call.after, stored->run);
  SetState(*stored);
  Attempt& attempt = stored->attempts.back();
  attempt.outcome = call.end.outcome;
  attempt.failure_class = call.end.failure_class;
  attempt.code = call.end.code;
  attempt.summary = call.end.summary;
  attempt.detail = call.end.detail;
  attempt.ended_at = OrNow(call.end.ended_at.value_or(kLongAgo), now_);
  reply.accepted = true;
  reply.decision_id = WriteDecisions(call.decisions, stored->run);
  WriteAlerts(call.alerts);
  if (call.breaker) Do(BreakerCall{*call.breaker});
  WriteFlags(call.flags);
  return reply;
}

MoveReply MemoryStore::Do(const MoveCall& call) {
  MoveReply reply;
  MemoryRun* stored = FindRun(call.after.id);
  if (stored == nullptr) return reply;
  reply.moved = MoveAccepted(call, stored->run);
  if (reply.moved) {
    TakeOver(call.after, stored->run);
    SetState(*stored);
    reply.decision_id = WriteDecisions(call.decisions, stored->run);
    WriteAlerts(call.alerts);
    if (call.breaker) Do(BreakerCall{*call.breaker});
    if (call.audit) WriteAudit(*call.audit);
    WriteFlags(call.flags);
  }
  reply.state = stored->run.state;
  reply.fence = stored->run.fence;
  reply.superseded_by = stored->run.superseded_by;
  return reply;
}

PlannedReply MemoryStore::PlanOne(const PlannedRun& planned) {
  PlannedReply reply;
  const Run& run = planned.run;
  auto identity = std::make_tuple(run.task, run.value, run.identity);
  if (auto known = disk_->identities.find(identity); known != disk_->identities.end()) {
    reply.kind = PlannedReply::Kind::kIdentityKnown;
    reply.holder = known->second;
  } else if (run.key && disk_->keys.contains(*run.key)) {
    reply.kind = PlannedReply::Kind::kKeyKnown;
    reply.holder = disk_->keys.at(*run.key);
    const std::string& task = disk_->runs.at(reply.holder).run.task;
    if (!planned.only_with_claim) WriteNote(KeyKnownNote(run, reply.holder, task, now_), run.identity);
  }
  if (reply.kind != PlannedReply::Kind::kCreated) {
    reply.holder_state = disk_->runs.at(reply.holder).run.state;
    reply.holder_reason = disk_->runs.at(reply.holder).run.reason;
    return reply;
  }
  if (planned.only_with_claim) {
    Run tried = AsPlanned(run, now_);
    if (planned.claim) reply.claim = CheckClaim(*planned.claim, &tried, disk_->owner, now_, *this);
    if (!reply.claim.granted) {
      reply.kind = PlannedReply::Kind::kRefused;
      return reply;
    }
  }
  auto [place, fresh] = disk_->runs.try_emplace(run.id);
  CHECK(fresh);  // ids are random and long; two alike are our mistake
  MemoryRun& stored = place->second;
  stored.seq = disk_->next_run++;
  stored.run = AsPlanned(run, now_);
  disk_->run_order[stored.seq] = run.id;
  disk_->identities[identity] = run.id;
  if (run.key) disk_->keys[*run.key] = run.id;
  disk_->due_order[run.task].emplace(run.due, stored.seq);
  SetState(stored);
  reply.decision_id = WriteDecisions(planned.decisions, stored.run);
  WriteAlerts(planned.alerts);
  if (planned.uncount) TakeFromRange(*planned.uncount, stored.run);
  if (planned.claim) reply.claim = ClaimRun(*planned.claim, stored);
  return reply;
}

PlanReply MemoryStore::Do(const PlanCall& call) {
  PlanReply reply;
  for (const MoveCall& move : call.supersede) reply.supersede.push_back(Do(move));
  for (const PlannedRun& planned : call.runs) reply.runs.push_back(PlanOne(planned));
  bool news = call.notes.empty();
  for (const Note& note : call.notes) news |= WriteNote(note, "");
  if (news) {
    for (const DecisionRow& row : call.note_decisions) WriteDecision(row, nullptr);
  }
  WriteAlerts(call.alerts);
  auto cursor = disk_->cursors.find({call.task, call.value});
  if (call.planned_through && cursor != disk_->cursors.end()) {
    cursor->second.planned_through = std::max(cursor->second.planned_through, *call.planned_through);
  }
  return reply;
}

ActivateReply MemoryStore::Do(const ActivateCall& call) {
  ActivateReply reply;
  if (disk_->versions.empty() || disk_->versions.back().hash != call.version.hash) {
    RuleVersion version = call.version;
    version.version = ActiveRules() + 1;
    version.at = OrNow(version.at, now_);
    disk_->texts[version.version] = call.texts;
    disk_->versions.push_back(std::move(version));
  }
  reply.version = ActiveRules();
  for (const TaskCursor& cursor : call.cursors) {
    auto [place, fresh] = disk_->cursors.try_emplace({cursor.task, cursor.value}, cursor);
    if (fresh) continue;
    std::optional<Instant> last_start = place->second.last_start;
    place->second = cursor;
    if (!cursor.last_start) place->second.last_start = last_start;
  }
  return reply;
}

}  // namespace duecourse
