#include "engine/core.h"

#include <algorithm>
#include <utility>

#include "base/wall_guard.h"

namespace duecourse {

EngineCore::EngineCore(EngineOptions engine_options, Rules rule_set, uint64_t seed)
    : options(std::move(engine_options)), rules(std::move(rule_set)), random(seed) {
  for (const PoolConfig& pool : rules->config.pools) pools[pool.name];
}

void EngineCore::Arm(Timer timer) {
  if (timer.at >= kNever) return;
  timers.push(std::move(timer));
  // A run that is asked twice a minute until a far end leaves a dead timer each time.
  if (timers.size() > kTimersSpare + 4 * (runs.size() + alerts.size())) DropDeadTimers();
}

void EngineCore::DropDeadTimers() {
  decltype(timers) live;
  for (; !timers.empty(); timers.pop()) {
    const Timer& timer = timers.top();
    const OpenRun* open = timer.kind == Timer::Kind::kRun ? FindRun(timer.id) : nullptr;
    bool dead = timer.kind == Timer::Kind::kRun ? open == nullptr || open->timer != timer.generation
                                                : timer.kind == Timer::Kind::kAlert &&
                                                      timer.id != kStoreAlert && !alerts.contains(timer.id);
    if (!dead) live.push(timer);
  }
  timers = std::move(live);
}

// As the store prunes them: a flag of a day, or one that has run out, for as long as history is kept.
void EngineCore::DropOldFlags() {
  Instant before = now - rules->config.retention;
  std::erase_if(flags, [before](const auto& entry) {
    const Flag& flag = entry.second;
    return flag.at < before && (flag.date || (flag.expires && *flag.expires < before));
  });
}

size_t EngineCore::held() const {
  size_t waiters = 0;
  for (const auto& [task, waiting] : task_waiters) waiters += 1 + waiting.size();
  for (const auto& [flag, waiting] : flag_waiters) waiters += 1 + waiting.size();
  for (const auto& [name, pool] : pools) waiters += pool.holders.size() + pool.waiting.size();
  return waiters + flights.size() + runs.size() + pools.size() + flags.size() + controls.size() +
         alerts.size() + ahead.size() + dirty.size() + timers.size() + lane_timers.size() + probes.size() +
         late_counts.size() + idle_breakers.size() + waiting_lanes.size();
}

void EngineCore::DropTimersOfRows() {
  decltype(timers) kept;
  for (; !timers.empty(); timers.pop()) {
    const Timer& timer = timers.top();
    const bool of_a_row =
        timer.kind == Timer::Kind::kRun || (timer.kind == Timer::Kind::kAlert && timer.id != kStoreAlert);
    if (!of_a_row) kept.push(timer);
  }
  timers = std::move(kept);
}

void EngineCore::ArmFold() { Arm({now + Minutes(1), Timer::Kind::kFold, 0, ""}); }

// A time to try again that lies beyond any pause was given by a clock that stood ahead.
void EngineCore::ArmAlert(const AlertRow& alert) {
  const bool ahead = alert.next_try_at > now + kWallSkew + AlertRetryDelay(alert.tries);
  Arm({ahead ? now : std::max(alert.next_try_at, now), Timer::Kind::kAlert, 0, alert.id});
}

void EngineCore::ArmRun(OpenRun& open, Instant at) {
  at = std::min(at, open.stuck_at);
  if (open.run.state == RunState::kRunning) at = std::min(at, open.renew_at);
  if (at >= kNever) {
    ++open.timer;  // whatever is in the queue for it is dead
    open.timer_at = kNever;
    return;
  }
  if (open.timer_at == at) return;
  open.timer_at = at;
  ++open.timer;
  Arm({at, Timer::Kind::kRun, open.timer, open.run.id});
}

void EngineCore::ReleaseTrial(const OpenRun& open) {
  Breaker* breaker = open.lane == kNoLane ? nullptr : lanes[open.lane].breaker.get();
  auto idle = idle_breakers.find({open.run.task, open.run.value});
  if (open.lane == kNoLane && idle != idle_breakers.end()) breaker = &idle->second;
  if (breaker == nullptr || breaker->trial_run != open.run.id) return;
  *breaker = AfterNeutral(*breaker, open.run.id).after;
  Call(BreakerCall{*breaker}, Pending());
}

Instant EngineCore::NextTimer() const {
  if (!dirty.empty() && !activating) return now;  // what Begin or Resync left to be asked
  Instant run = timers.empty() ? kNever : timers.top().at;
  return lane_timers.empty() ? run : std::min(run, lane_timers.top().at);
}

void EngineCore::Call(StoreCall call, Pending pending) {
  calls.push_back(std::move(call));
  call_pendings.push_back(std::move(pending));
}

void EngineCore::FlushCalls() {
  if (calls.empty()) return;
  uint64_t ticket = next_ticket++;
  flights.emplace(ticket, std::move(call_pendings));
  Emit(StoreBatch{ticket, std::move(calls)});
  calls.clear();
  call_pendings.clear();
}

void EngineCore::FlushMany() {
  if (calls.size() < kBatchCallsMax) return;
  FlushCalls();
  if (options.early) options.early(std::exchange(*effects, {}));
}

void EngineCore::Say(LogLevel level, const char* event, Json fields) {
  Emit(LogLine{level, event, std::move(fields)});
}

OpenRun* EngineCore::FindRun(const std::string& id) {
  auto it = runs.find(id);
  return it == runs.end() ? nullptr : it->second.get();
}

// Tasks of a set are sorted by id, and the lanes of one task stand together in the order of its values.
Lane* EngineCore::FindLane(const std::string& task, const std::string& value, size_t* index) {
  const Task* known = rules->Find(task);
  size_t number = 0;
  if (known == nullptr || !FindValue(known->rule(), value, &number)) return nullptr;
  uint32_t first = first_lane[static_cast<size_t>(known - rules->tasks.data())];
  if (first == kNoFirstLane) return nullptr;
  if (index != nullptr) *index = first + number;
  return &lanes[first + number];
}

void EngineCore::AddLane(uint32_t task, uint32_t value, Lane lane) {
  lane.task = task;
  lane.value = value;
  if (value == 0) first_lane[task] = static_cast<uint32_t>(lanes.size());
  lanes.push_back(std::move(lane));
}

// Into the list of its lane, oldest due first.
void EngineCore::JoinLane(OpenRun& open) {
  open.lane = kNoLane;
  Lane* lane = FindLane(open.run.task, open.run.value, &open.lane);
  if (lane == nullptr) return;
  auto no_later = [&](const std::string& id) {
    const OpenRun* other = FindRun(id);
    return other == nullptr || other->run.due <= open.run.due;
  };
  // From the end: nearly always it is the newest, and there may be a thousand.
  lane->open.insert(std::find_if(lane->open.rbegin(), lane->open.rend(), no_later).base(), open.run.id);
}

void EngineCore::WaitForFlag(OpenRun& open, const std::string& name) {
  if (open.waits_for_flags.insert(name).second) flag_waiters[name].insert(open.run.id);
}

void EngineCore::WaitForTask(OpenRun& open, const std::string& task) {
  if (open.waits_for_tasks.insert(task).second) task_waiters[task].insert(open.run.id);
}

// Names may carry dates, so what nobody waits for any more leaves the tables.
void EngineCore::StopWaiting(OpenRun& open) {
  auto leave = [&](std::map<std::string, std::set<std::string>>& table, std::set<std::string>& names) {
    for (const std::string& name : names) {
      auto it = table.find(name);
      if (it == table.end()) continue;
      it->second.erase(open.run.id);
      if (it->second.empty()) table.erase(it);
    }
    names.clear();
  };
  leave(flag_waiters, open.waits_for_flags);
  leave(task_waiters, open.waits_for_tasks);
}

void EngineCore::FoldOne(OpenRun& open) {
  if (open.folded == 0) return;
  if (open.decision_id != 0) {
    Call(FoldCall{open.decision_id, open.folded_at, open.folded}, Pending());
  } else {
    LateCount& late = late_counts[open.answer_ticket];
    late.add += open.folded;
    late.last_at = open.folded_at;
  }
  open.folded = 0;
}

void EngineCore::OnAnswerStored(OpenRun* open, uint64_t ticket, int64_t decision_id) {
  if (open != nullptr && open->answer_ticket == ticket) open->decision_id = decision_id;
  auto late = late_counts.find(ticket);
  if (late == late_counts.end()) return;
  Call(FoldCall{decision_id, late->second.last_at, late->second.add}, Pending());
  late_counts.erase(late);
}

std::string EngineCore::NewId(char prefix) {
  static const char* const kHex = "0123456789abcdef";
  std::string id(1, prefix);
  for (int word = 0; word < 2; ++word) {
    uint64_t bits = random.Next();
    for (int i = 0; i < 10; ++i) id.push_back(kHex[(bits >> (4 * i)) & 15]);
  }
  return id;
}

}  // namespace duecourse
