#include "rule/ruleset.h"

#include <algorithm>

namespace duecourse {

const Calendar* ServerConfig::FindCalendar(const std::string& name) const {
  for (const auto& [known, calendar] : calendars) {
    if (known == name) return &calendar;
  }
  return nullptr;
}

const PoolConfig* ServerConfig::FindPool(const std::string& name) const {
  auto at =
      std::find_if(pools.begin(), pools.end(), [&](const PoolConfig& pool) { return pool.name == name; });
  return at == pools.end() ? nullptr : &*at;
}

const Task* RuleSet::Find(const std::string& id) const {
  auto at = std::lower_bound(tasks.begin(), tasks.end(), id,
                             [](const Task& task, const std::string& wanted) { return task.id < wanted; });
  return at != tasks.end() && at->id == id ? &*at : nullptr;
}

bool SameSchedule(const RuleBody& a, const RuleBody& b) {
  if (a.trigger.zone_by_value != b.trigger.zone_by_value) return false;
  if (!a.trigger.zone_by_value) return a.trigger.schedule == b.trigger.schedule;
  // Each value has its own zone. Values that only one of them has are added or removed, not changed.
  return a.trigger.schedule.kind == b.trigger.schedule.kind &&
         std::all_of(a.for_each.begin(), a.for_each.end(), [&](const ForEachValue& value) {
           auto same = std::find_if(b.for_each.begin(), b.for_each.end(),
                                    [&](const ForEachValue& other) { return other.id == value.id; });
           return same == b.for_each.end() || same->schedule == value.schedule;
         });
}

}  // namespace duecourse
