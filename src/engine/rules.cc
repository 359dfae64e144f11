// A new set goes live: all or nothing. An edit fires nothing by itself and owes nothing from before; open
// runs keep their due instant and key and are judged by the new rules from their next decision on; a running
// attempt finishes under the rule it was claimed with.
#include <algorithm>

#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

static Json ChangesJson(const std::vector<RuleChange>& changes) {
  Json list = Json::MakeArray();
  for (const RuleChange& change : changes) {
    Json item = Json::MakeObject();
    const char* kind = change.kind == RuleChange::Kind::kAdded     ? "added"
                       : change.kind == RuleChange::Kind::kRemoved ? "removed"
                                                                   : "changed";
    item.Set("kind", kind).Set("task_id", change.task);
    if (!change.field.empty())
      item.Set("field", change.field).Set("before", change.before).Set("after", change.after);
    list.Add(std::move(item));
  }
  return list;
}

// "task a would be removed; 2 tasks would be added; 3 fields would change"
static std::string WouldText(const std::vector<RuleChange>& changes) {
  struct Part {
    RuleChange::Kind kind;
    const char* would;
  };
  constexpr Part kParts[] = {{RuleChange::Kind::kRemoved, " would be removed"},
                             {RuleChange::Kind::kAdded, " would be added"}};
  constexpr size_t kNamed = 5;
  std::string text;
  for (const Part& part : kParts) {
    std::vector<std::string> tasks;
    for (const RuleChange& change : changes) {
      if (change.kind == part.kind) tasks.push_back(change.task);
    }
    if (tasks.empty()) continue;
    const size_t count = tasks.size();
    const std::string more = count > kNamed ? ", …" : "";
    tasks.resize(std::min(count, kNamed));
    text += StrCat(text.empty() ? "" : "; ", count == 1 ? "task " : StrCat(count, " tasks ("),
                   Join(tasks, ", "), more, count == 1 ? "" : ")", part.would);
  }
  const auto fields = std::count_if(changes.begin(), changes.end(), [](const RuleChange& change) {
    return change.kind == RuleChange::Kind::kChanged;
  });
  if (fields > 0 || text.empty())
    text += StrCat(text.empty() ? "" : "; ", fields,
                   fields == 1 ? " field would change" : " fields would change");
  return text;
}

void EngineState::OnRules(RulesOffered offered) {
  Request request;
  request.id = offered.request_id;
  request.by = offered.by;
  Json body = Json::MakeObject();
  if (offered.rules->hash == rules->hash) {
    body.Set("version", rule_version).Set("changes", Json::MakeArray());
    Reply(request, Answer::Kind::kFine, StrCat("nothing changed; version ", rule_version, " stays active"),
          std::move(body));
    return;
  }
  std::vector<RuleChange> changes = CompareRules(*rules, *offered.rules);
  body.Set("changes", ChangesJson(changes));
  size_t before = rules->tasks.size();
  size_t after = offered.rules->tasks.size();
  bool few = after < before && (before - after) * 100 > before * static_cast<size_t>(kReloadLossPercent);
  const std::string would = WouldText(changes);
  if (!offered.confirm && before > 0 && (after == 0 || few)) {
    Reply(request, Answer::Kind::kRefused,
          StrCat(offered.dry_run ? would + "; the reload would be refused: " : "", "the new set has ", after,
                 " tasks, the active one ", before, "; if that is meant: reload --confirm"),
          std::move(body));
    return;
  }
  if (offered.dry_run) {
    Reply(request, Answer::Kind::kFine, would, std::move(body));
    return;
  }
  if (draining || !store_available) {
    Reply(request, Answer::Kind::kProblem,
          draining ? "the daemon is stopping" : "the store does not answer; the active rules stay",
          Json::MakeObject());
    return;
  }
  SwitchRules(std::move(offered), std::move(changes));
}

void EngineState::SwitchRules(RulesOffered offered, std::vector<RuleChange> changes) {
  std::vector<TaskCursor> cursors;
  std::map<std::pair<std::string, std::string>, Lane> old;
  for (Lane& lane : lanes) {
    const Task& task = TaskOf(lane);
    std::string value = ValueId(task.rule(), lane.value);
    cursors.push_back(
        CursorOf(task.id, value, lane, ScheduleFingerprint(ScheduleOf(task.rule(), lane.value))));
    old.emplace(std::pair(task.id, value), std::move(lane));
  }
  rules = offered.rules;
  for (const PoolConfig& pool : rules->config.pools) pools[pool.name];
  waiting_lanes.clear();
  size_t first_call = calls.size();
  BuildLanes(cursors, true, std::move(offered.texts));
  for (auto& [key, lane] : old) {
    Lane* now_lane = FindLane(key.first, key.second);
    if (now_lane == nullptr) {
      // The store keeps it: should the task come back, its claims are held against it.
      if (lane.breaker != nullptr) idle_breakers[key] = *lane.breaker;
      continue;
    }
    now_lane->breaker = std::move(lane.breaker);
    now_lane->planning = lane.planning;
  }
  std::erase_if(idle_breakers, [this](const auto& entry) {
    Lane* back = FindLane(entry.first.first, entry.first.second);
    if (back != nullptr) back->breaker = std::make_unique<Breaker>(entry.second);
    return back != nullptr;
  });
  for (size_t i = first_call; i < calls.size(); ++i) {
    auto* activate = std::get_if<ActivateCall>(&calls[i]);
    if (activate == nullptr) continue;
    activate->version.changes = ChangesJson(changes).Dump();
    activate->version.by = offered.by;
    Request request;
    request.id = offered.request_id;
    call_pendings[i].request = request;
    call_pendings[i].changes = changes.size();
  }
  RebindRuns();
}

// A rule may come back while runs of it are still open, so lanes are told of their runs anew.
void EngineState::RebindRuns() {
  for (Lane& lane : lanes) {
    lane.running = 0;
    lane.open.clear();
  }
  for (auto& [id, open] : runs) {
    JoinLane(*open);
    if (open->reserved) {  // running, or its claim is under way: it keeps the rule it was claimed with
      if (open->lane != kNoLane) ++lanes[open->lane].running;
      continue;
    }
    Bind(*open);
    Wake(id);
  }
}

void EngineState::OnActivated(const Pending& pending, const ActivateReply& reply) {
  rule_version = reply.version;
  activating = false;
  activating_texts.clear();
  // What waits for a slot is asked again under the new set.
  for (auto& [id, open] : runs) {
    if (open->executing) ArmRun(*open, now);
  }
  std::set<size_t> waiting = std::move(waiting_lanes);
  waiting_lanes.clear();
  for (size_t lane : waiting) {
    PlanLane(lane);
    FlushMany();
  }
  Json line = Json::MakeObject();
  line.Set("version", rule_version).Set("tasks", rules->tasks.size()).Set("hash", rules->hash);
  Instant next = kNever;  // not NextTimer(): that may be some housekeeping
  for (const Lane& lane : lanes) next = std::min(next, lane.next_due);
  if (next < kNever) line.Set("next_due", FormatUtc(next));
  Say(LogLevel::kInfo, "rules_changed", std::move(line));
  if (!pending.request) return;
  Json body = Json::MakeObject();
  body.Set("version", rule_version).Set("changes", static_cast<int64_t>(pending.changes));
  Reply(*pending.request, Answer::Kind::kFine,
        StrCat("version ", rule_version, " is active: ", rules->tasks.size(), " tasks"), std::move(body));
}

}  // namespace duecourse
