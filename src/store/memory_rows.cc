// The in-memory twin's calls about everything but runs, the writing of rows that go with other calls, and
// pruning.
#include <algorithm>

#include "store/memory_store.h"

namespace duecourse {

int64_t MemoryStore::WriteDecision(DecisionRow row, const Run* run) {
  if (run == nullptr || (!row.run_id.empty() && row.run_id != run->id)) {
    const MemoryRun* named = FindRun(row.run_id);
    run = named == nullptr ? nullptr : &named->run;
  }
  Complete(row, run, now_);
  if (run == nullptr) row.run_id.clear();
  row.id = disk_->next_decision++;
  row.node = disk_->owner.node;
  row.zone_data = disk_->owner.zone_data;
  if (run != nullptr) disk_->runs.at(run->id).decisions.insert(row.id);
  int64_t id = row.id;
  disk_->decisions.emplace(id, std::move(row));
  return id;
}

int64_t MemoryStore::WriteDecisions(const std::vector<DecisionRow>& rows, const Run& run) {
  int64_t last = 0;
  for (const DecisionRow& row : rows) last = WriteDecision(row, &run);
  return last;
}

namespace {
auto NoteKey(const MemoryNote& row) {
  const Note& note = row.note;
  return std::make_tuple(note.task, note.value, note.first_due, note.last_due, note.reason, row.identity);
}
}  // namespace

bool MemoryStore::WriteNote(Note note, const std::string& identity) {
  note.at = OrNow(note.at, now_);
  note.id = disk_->next_note;
  MemoryNote row{std::move(note), identity};
  if (!disk_->note_keys.insert(NoteKey(row)).second) return false;
  disk_->notes.emplace(disk_->next_note++, std::move(row));
  return true;
}

void MemoryStore::TakeFromRange(const Uncount& uncount, const Run& run) {
  for (auto place = disk_->notes.rbegin(); place != disk_->notes.rend(); ++place) {
    Note& note = place->second.note;
    if (note.task != run.task || note.value != run.value || note.reason != uncount.reason) continue;
    if (!place->second.identity.empty() || note.count < 1) continue;
    if (run.due < note.first_due || note.last_due < run.due) continue;
    --note.count;
    if (note.detail.size() < kRangeDetailMax) note.detail += "; " + uncount.detail;
    WriteDecision(uncount.row, &run);
    return;
  }
}

void MemoryStore::WriteAlerts(const std::vector<AlertRow>& rows) {
  for (AlertRow row : rows) {
    row.created_at = OrNow(row.created_at, now_);
    auto [place, fresh] = disk_->alerts.insert_or_assign(row.id, row);
    if (fresh) disk_->alert_order.push_back(row.id);
  }
}

void MemoryStore::WriteAudit(AuditRow row) {
  row.id = disk_->next_audit++;
  row.at = OrNow(row.at, now_);
  disk_->audit.emplace(row.id, std::move(row));
}

void MemoryStore::WriteFlags(const std::vector<Flag>& flags) {
  for (Flag flag : flags) {
    flag.at = OrNow(flag.at, now_);
    disk_->flags[{flag.name, flag.date}] = flag;
  }
}

NoReply MemoryStore::Do(const FlagCall& call) {
  if (call.remove) {
    disk_->flags.erase({call.flag.name, call.flag.date});
  } else {
    WriteFlags({call.flag});
  }
  WriteAudit(call.audit);
  return {};
}

NoReply MemoryStore::Do(const ControlCall& call) {
  Control control = call.control;
  control.at = OrNow(control.at, now_);
  disk_->controls[control.scope] = control;
  WriteAudit(call.audit);
  return {};
}

NoReply MemoryStore::Do(const FoldCall& call) {
  auto found = disk_->decisions.find(call.decision_id);
  if (found == disk_->decisions.end()) return {};
  found->second.last_at = std::max(found->second.last_at, call.last_at);
  found->second.count = SaturatingAdd(found->second.count, call.add);
  return {};
}

DecisionReply MemoryStore::Do(const NoteDecisionCall& call) {
  MemoryRun* stored = call.met.empty() ? nullptr : FindRun(call.row.run_id);
  if (stored != nullptr) stored->run.met = call.met;
  MemoryRun* waiting = call.shown ? FindRun(call.row.run_id) : nullptr;
  if (waiting != nullptr && waiting->run.state == RunState::kScheduled) {
    waiting->run.reason = call.row.reason;
    waiting->run.detail = *call.shown;
  }
  return {WriteDecision(call.row, nullptr)};
}

NoReply MemoryStore::Do(const AlertsCall& call) {
  WriteAlerts(call.rows);
  return {};
}

NoReply MemoryStore::Do(const AuditCall& call) {
  WriteAudit(call.row);
  return {};
}

NoReply MemoryStore::Do(const BreakerCall& call) {
  disk_->breakers[{call.breaker.task, call.breaker.value}] = call.breaker;
  return {};
}

FindRunsReply MemoryStore::Do(const FindRunsCall& call) {
  FindRunsReply reply;
  if (!call.run_id.empty()) {
    if (const MemoryRun* stored = FindRun(call.run_id)) reply.runs.push_back(stored->run);
    return reply;
  }
  auto order = disk_->due_order.find(call.task);
  if (order == disk_->due_order.end()) return reply;
  std::set<std::string> seen;
  for (auto place = order->second.rbegin(); place != order->second.rend(); ++place) {
    if (place->first > call.due_at_or_before) continue;
    const Run& run = disk_->runs.at(disk_->run_order.at(place->second)).run;
    if (call.value && run.value != *call.value) continue;
    if (call.business_date && run.business_date != *call.business_date) continue;
    if (call.key && run.key != call.key) continue;
    if (seen.insert(run.value).second) reply.runs.push_back(run);
    if (call.value) break;
  }
  return reply;
}

int64_t MemoryStore::PruneRun(const std::string& id, bool with_row) {
  MemoryRun& stored = disk_->runs.at(id);
  int64_t rows = static_cast<int64_t>(stored.decisions.size() + stored.attempts.size());
  for (int64_t decision : stored.decisions) disk_->decisions.erase(decision);
  stored.decisions.clear();
  stored.attempts.clear();
  if (!with_row) return rows;
  const Run& run = stored.run;
  if (run.key) disk_->keys.erase(*run.key);
  disk_->identities.erase(std::make_tuple(run.task, run.value, run.identity));
  disk_->due_order[run.task].erase({run.due, stored.seq});
  disk_->run_order.erase(stored.seq);
  disk_->runs.erase(id);
  return rows + 1;
}

namespace {

bool IsNewest(const MemoryDisk& disk, const MemoryRun& stored) {
  for (const auto& [due, seq] : disk.due_order.at(stored.run.task)) {
    if (std::make_pair(due, seq) <= std::make_pair(stored.run.due, stored.seq)) continue;
    if (disk.runs.at(disk.run_order.at(seq)).run.value == stored.run.value) return false;
  }
  return true;
}

// Erases up to `room` entries that fit, in order, but never the last, and says how many.
template <typename Map, typename Fits>
int64_t EraseSome(Map& map, int64_t room, Fits fits) {
  int64_t erased = 0;
  for (auto place = map.begin(); place != map.end() && std::next(place) != map.end() && erased < room;) {
    bool fit = fits(place->second);
    erased += fit ? 1 : 0;
    place = fit ? map.erase(place) : std::next(place);
  }
  return erased;
}

}  // namespace

int64_t MemoryStore::PruneRuns(const PruneCall& call) {
  std::string newest_decision_run;
  if (!disk_->decisions.empty()) newest_decision_run = disk_->decisions.rbegin()->second.run_id;
  int64_t rows = 0;
  std::vector<int64_t> order;
  for (const auto& [seq, id] : disk_->run_order) order.push_back(seq);
  for (int64_t seq : order) {
    if (rows >= call.limit) break;
    const MemoryRun& stored = disk_->runs.at(disk_->run_order.at(seq));
    if (!IsFinal(stored.run.state) || stored.run.state_since >= call.before) continue;
    if (seq == order.back() || stored.run.id == newest_decision_run) continue;
    bool keep = KeyIsKept(call, stored.run, now_) || IsNewest(*disk_, stored);
    std::string id = stored.run.id;
    rows += PruneRun(id, !keep);
  }
  return rows;
}

int64_t MemoryStore::PruneAlerts(const PruneCall& call, int64_t room) {
  int64_t rows = 0;
  std::vector<std::string> left;
  for (const std::string& id : disk_->alert_order) {
    const AlertRow& row = disk_->alerts.at(id);
    bool newest = id == disk_->alert_order.back();
    if (newest || row.state == AlertRow::State::kPending || row.created_at >= call.before || rows >= room) {
      left.push_back(id);
    } else {
      disk_->alerts.erase(id);
      ++rows;
    }
  }
  disk_->alert_order = std::move(left);
  return rows;
}

PruneReply MemoryStore::Do(const PruneCall& call) {
  PruneReply reply;
  reply.rows = PruneRuns(call);
  auto room = [&] { return std::max<int64_t>(call.limit - reply.rows, 0); };
  reply.rows += EraseSome(disk_->decisions, room(), [&](const DecisionRow& row) {
    return row.run_id.empty() && row.last_at < call.before;
  });
  reply.rows += EraseSome(disk_->notes, room(), [&](const MemoryNote& row) {
    return row.note.at < call.before && disk_->note_keys.erase(NoteKey(row)) > 0;
  });
  reply.rows += PruneAlerts(call, room());
  reply.rows += EraseSome(disk_->audit, room(), [&](const AuditRow& row) { return row.at < call.before; });
  for (auto place = disk_->flags.begin(); place != disk_->flags.end() && room() > 0;) {
    const Flag& flag = place->second;
    bool goes = flag.at < call.before && (flag.date || (flag.expires && *flag.expires < call.before));
    reply.rows += goes ? 1 : 0;
    place = goes ? disk_->flags.erase(place) : std::next(place);
  }
  return reply;
}

}  // namespace duecourse
