// What the engine shows of its memory.
#include <algorithm>

#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

Json EngineState::RunJson(const OpenRun& open) const {
  Json out = Json::MakeObject();
  const Run& run = open.run;
  out.Set("run_id", run.id)
      .Set("value", run.value)
      .Set("key", run.key.value_or(""))
      .Set("due", FormatUtc(run.due));
  out.Set("business_date", FormatDay(run.business_date)).Set("state", RunStateName(run.state));
  out.Set("attempts", run.attempts)
      .Set("counted", run.counted)
      .Set("window_opens", FormatUtc(run.window_opens));
  out.Set("window_ends", FormatUtc(run.window_ends));
  if (run.next_at) out.Set("next_at", FormatUtc(*run.next_at));
  if (!store_available && open.flight != OpenRun::Flight::kNone && run.state == RunState::kScheduled) {
    out.Set("reason", ReasonName(Reason::kStoreUnavailable)).Set("detail", "the store does not answer");
  } else if (open.told_once && run.state != RunState::kRunning && run.state != RunState::kManualRequired) {
    out.Set("reason", ReasonName(open.told_reason)).Set("detail", open.told_text);
    if (open.timer_at < kNever) out.Set("asked_again_at", FormatUtc(open.timer_at));
  } else {
    out.Set("reason", ReasonName(run.reason)).Set("detail", run.detail);
  }
  Json conditions = DetailOf(open).Get("preconditions");
  if (!conditions.is_null()) out.Set("preconditions", std::move(conditions));
  return out;
}

Json EngineState::LaneJson(const Lane& lane) const {
  Json out = Json::MakeObject();
  const Task& task = TaskOf(lane);
  out.Set("value", ValueId(task.rule(), lane.value));
  if (lane.next_due < kNever) {
    out.Set("next_due", FormatUtc(lane.next_due));
    out.Set("next_due_local", FormatLocal(lane.next_due, ScheduleOf(task.rule(), lane.value).zone));
  }
  out.Set("planned_through", FormatUtc(lane.planned_through))
      .Set("in_force_since", FormatUtc(lane.in_force_since));
  if (lane.breaker != nullptr && lane.breaker->open) {
    out.Set("breaker_open_until", FormatUtc(lane.breaker->until.value_or(now)));
  }
  Json open_runs = Json::MakeArray();
  for (const std::string& id : lane.open) {
    auto it = runs.find(id);
    if (it != runs.end() && !it->second->unwritten) open_runs.Add(RunJson(*it->second));
  }
  out.Set("open", std::move(open_runs));
  return out;
}

void EngineState::Explain(const Request& request, const std::string& task_id) {
  const Task* task = rules->Find(task_id);
  if (task == nullptr) {
    Reply(request, Answer::Kind::kUnknown, NoLaneText(task_id, ""), Json::MakeObject());
    return;
  }
  Json body = Json::MakeObject();
  if (!store_available) body.Set("store_away_since", FormatUtc(store_away_since));
  body.Set("task_id", task_id).Set("now", FormatUtc(now)).Set("rule_version", rule_version);
  body.Set("timezone", ScheduleOf(task->rule(), 0).zone.name()).Set("enabled", task->rule().enabled);
  if (const Control* control = PauseOf(*task)) {
    body.Set("paused_by", control->by)
        .Set("paused_reason", control->reason)
        .Set("paused_scope", control->scope);
  }
  Json values = Json::MakeArray();
  for (size_t v = 0; v < ValueCount(task->rule()); ++v) {
    const Lane* lane = FindLane(task_id, ValueId(task->rule(), v));
    if (lane != nullptr) values.Add(LaneJson(*lane));
  }
  body.Set("values", std::move(values));
  FoldAll();
  Reply(request, Answer::Kind::kFine, "", std::move(body));
}

void EngineState::ListTasks(const Request& request) {
  Json list = Json::MakeArray();
  for (const Task& task : rules->tasks) {
    Json item = Json::MakeObject();
    item.Set("task_id", task.id)
        .Set("enabled", task.rule().enabled)
        .Set("timezone", ScheduleOf(task.rule(), 0).zone.name());
    Instant next = kNever;
    Json open_runs = Json::MakeArray();
    for (size_t v = 0; v < ValueCount(task.rule()); ++v) {
      const Lane* lane = FindLane(task.id, ValueId(task.rule(), v));
      if (lane == nullptr) continue;
      next = std::min(next, lane->next_due);
      for (const std::string& id : lane->open) {
        auto it = runs.find(id);
        if (it != runs.end() && !it->second->unwritten) open_runs.Add(RunJson(*it->second));
      }
    }
    if (next < kNever)
      item.Set("next_due", FormatUtc(next))
          .Set("next_due_local", FormatLocal(next, ScheduleOf(task.rule(), 0).zone));
    item.Set("paused", PauseOf(task) != nullptr).Set("open", std::move(open_runs));
    list.Add(std::move(item));
  }
  // Tasks whose rule was removed, while a run of theirs runs or waits for a person.
  std::map<std::string, Json> gone;
  for (const auto& [id, open] : runs) {
    if (rules->Find(open->run.task) != nullptr || open->unwritten) continue;
    gone.try_emplace(open->run.task, Json::MakeArray()).first->second.Add(RunJson(*open));
  }
  for (auto& [task, open_runs] : gone) {
    Json item = Json::MakeObject();
    item.Set("task_id", task).Set("enabled", false).Set("removed", true).Set("paused", false);
    list.Add(std::move(item.Set("open", std::move(open_runs))));
  }
  Reply(request, Answer::Kind::kFine, "",
        Json::MakeObject().Set("tasks", std::move(list)).Set("now", FormatUtc(now)));
}

void EngineState::Flush(const Request& request) {
  size_t before = calls.size();
  FoldAll();
  if (calls.size() == before) {
    Reply(request, Answer::Kind::kFine, "", Json::MakeObject());
    return;
  }
  call_pendings.back().kind = Pending::Kind::kFlush;
  call_pendings.back().request = request;
}

}  // namespace duecourse
