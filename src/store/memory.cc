#include "store/memory.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "store/memory_store.h"

namespace duecourse {

MemoryStore::MemoryStore(std::shared_ptr<MemoryDisk> disk, const Clock& clock)
    : disk_(std::move(disk)), clock_(clock) {}

// A store that goes without Close is a daemon that was killed: its lock is free, its leases are as they were.
MemoryStore::~MemoryStore() {
  if (open_) disk_->open = false;
}

Result<OpenReply> MemoryStore::Open(const OpenRequest& request) {
  if (disk_->open && !open_) {
    last_fault_ = {StoreFault::Kind::kOwned, false, false,
                   StrCat("another daemon has this store open: incarnation ", disk_->owner.incarnation)};
    return Error(last_fault_.message);
  }
  if (disk_->store_id.empty() && !request.init) {
    last_fault_ = {StoreFault::Kind::kVanished, false, false, "holds no store; init makes one"};
    return Error(last_fault_.message);
  }
  last_fault_ = {};
  OpenReply reply;
  reply.created = disk_->store_id.empty();
  if (reply.created) {
    disk_->store_id = "memory";
    disk_->last_alive = clock_.Wall();
  } else if (disk_->owner.incarnation != request.incarnation && !disk_->closed_in_order) {
    reply.predecessor = disk_->owner.incarnation;
  }
  disk_->owner = {request.node, request.incarnation, request.boot_id, request.zone_data};
  disk_->open = true;
  disk_->closed_in_order = false;
  open_ = true;
  for (auto& [id, stored] : disk_->runs) {
    if (stored.run.state == RunState::kRunning && stored.run.incarnation != request.incarnation) {
      stored.run.lease_until = Millis{};
    }
  }
  reply.store_id = disk_->store_id;
  reply.version = ActiveRules();
  if (!disk_->versions.empty()) reply.rules_hash = disk_->versions.back().hash;
  return reply;
}

Result<Snapshot> MemoryStore::Load() {
  CHECK(open_);
  Snapshot snapshot;
  for (const auto& [lane, cursor] : disk_->cursors) snapshot.cursors.push_back(cursor);
  for (const auto& [seq, id] : disk_->run_order) {
    const MemoryRun& stored = disk_->runs.at(id);
    if (IsFinal(stored.run.state)) continue;
    snapshot.open_runs.push_back(stored.run);
    if (stored.run.state == RunState::kRunning) snapshot.unfinished.push_back(stored.attempts.back());
    for (auto it = stored.attempts.rbegin(); it != stored.attempts.rend(); ++it) {
      if (IsFailure(it->outcome) && it->number > stored.run.attempts - 10) snapshot.failed.push_back(*it);
    }
  }
  for (const auto& [lane, breaker] : disk_->breakers) snapshot.breakers.push_back(breaker);
  for (const auto& [scope, control] : disk_->controls) snapshot.controls.push_back(control);
  for (const auto& [name, flag] : disk_->flags) snapshot.flags.push_back(flag);
  for (const std::string& id : disk_->alert_order) {
    const AlertRow& row = disk_->alerts.at(id);
    if (row.state == AlertRow::State::kPending) snapshot.pending_alerts.push_back(row);
  }
  for (const auto& [pool, at] : disk_->pool_last_start) snapshot.pool_last_start.emplace_back(pool, at);
  for (const auto& [id, stored] : disk_->runs) {
    const Run& run = stored.run;
    auto cursor = disk_->cursors.find({run.task, run.value});
    const bool ahead = cursor != disk_->cursors.end() && cursor->second.active && !run.extra &&
                       run.due > cursor->second.planned_through;
    if (ahead) snapshot.ahead.push_back({run.task, run.value, run.due});
  }
  std::sort(snapshot.ahead.begin(), snapshot.ahead.end(), [](const RunAhead& a, const RunAhead& b) {
    return std::tie(a.task, a.value, a.due) < std::tie(b.task, b.value, b.due);
  });
  snapshot.last_alive = disk_->last_alive;
  return snapshot;
}

std::vector<StoreReply> MemoryStore::Commit(const std::vector<StoreCall>& batch, StoreFault& fault) {
  CHECK(open_);
  fault = {};
  size_t index = disk_->commits++;
  if (disk_->on_commit) fault = disk_->on_commit(index, false);
  if (fault.kind != StoreFault::Kind::kNone) return {};
  now_ = {clock_.Wall(), clock_.Boot()};
  if (!OnlyReads(batch) && AliveIsOld(disk_->last_alive, now_.wall)) disk_->last_alive = now_.wall;
  std::vector<StoreReply> replies;
  replies.reserve(batch.size());
  for (const StoreCall& call : batch) {
    replies.push_back(std::visit([this](const auto& one) { return StoreReply(Do(one)); }, call));
  }
  if (disk_->on_commit) fault = disk_->on_commit(index, true);
  if (fault.kind == StoreFault::Kind::kNone) return replies;
  fault.outcome_unknown = true;
  return {};
}

StoreFault MemoryStore::Heartbeat(Instant now) {
  CHECK(open_);
  disk_->last_alive = now;
  return {};
}

Result<std::unique_ptr<StoreReader>> MemoryStore::NewReader() { return NewMemoryReader(disk_); }

Status MemoryStore::Backup(const std::string& path) {
  return Error(StrCat(path, ": a store in memory has no backup"));
}

void MemoryStore::Close() {
  if (!open_) return;
  disk_->last_alive = clock_.Wall();
  open_ = false;
  disk_->open = false;
  disk_->closed_in_order = true;
}

std::shared_ptr<MemoryDisk> NewMemoryDisk() { return std::make_shared<MemoryDisk>(); }

std::unique_ptr<Store> NewMemoryStore(std::shared_ptr<MemoryDisk> disk, const Clock& clock) {
  return std::make_unique<MemoryStore>(std::move(disk), clock);
}

}  // namespace duecourse
