#include "engine/core.h"

#include <algorithm>

namespace duecourse {

EngineCore::EngineCore(EngineOptions engine_options, Rules rule_set, uint64_t seed)
    : options(std::move(engine_options)), rules(std::move(rule_set)), random(seed) {
  for (const PoolConfig& pool : rules->config.pools) pools[pool.name];
}

void EngineCore::Arm(Timer timer) {
  if (timer.at < kNever) timers.push(std::move(timer));
}

void EngineCore::ArmRun(OpenRun& open, Instant at) {
  at = std::min({at, open.stuck_at, open.renew_at});
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

void EngineCore::ReleaseTrial(size_t lane, const std::string& run_id) {
  if (lane == kNoLane || lanes[lane].breaker == nullptr || lanes[lane].breaker->trial_run != run_id) return;
  BreakerChange change = AfterNeutral(*lanes[lane].breaker, run_id);
  *lanes[lane].breaker = change.after;
  Call(BreakerCall{change.after}, Pending());
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
  auto later = [&](const std::string& id) {
    const OpenRun* other = FindRun(id);
    return other != nullptr && other->run.due > open.run.due;
  };
  lane->open.insert(std::find_if(lane->open.begin(), lane->open.end(), later), open.run.id);
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
