#include "engine/core.h"

#include <algorithm>

namespace duecourse {

EngineCore::EngineCore(EngineOptions engine_options, Rules rule_set, uint64_t seed)
    : options(std::move(engine_options)), rules(std::move(rule_set)), random(seed) {
  for (const PoolConfig& pool : rules->config.pools) pools[pool.name];
}

static std::string LaneKey(const std::string& task, const std::string& value) {
  return task + '\x1f' + value;
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
  Arm({at, Timer::Kind::kRun, 0, open.timer, open.run.id});
}

Instant EngineCore::NextTimer() const { return timers.empty() ? kNever : timers.top().at; }

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

Lane* EngineCore::FindLane(const std::string& task, const std::string& value, size_t* index) {
  auto it = lane_index.find(LaneKey(task, value));
  if (it == lane_index.end()) return nullptr;
  if (index != nullptr) *index = it->second;
  return &lanes[it->second];
}

void EngineCore::AddLane(uint32_t task, uint32_t value, Lane lane) {
  lane.task = task;
  lane.value = value;
  const Task& rule = rules->tasks[task];
  lane_index.emplace(LaneKey(rule.id, ValueId(rule.rule(), value)), lanes.size());
  lanes.push_back(std::move(lane));
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
