// Starts, heartbeats and kills of attempts.
#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

void EngineState::StartAttempt(OpenRun& open) {
  const Task& task = *open.task;
  const ExecutionRule& execution = task.rule().execution;
  open.killed.reset();
  open.ending_cause.clear();
  TemplateScope scope = ScopeOf(task, open.value, open.occurrence);
  StartRequest start;
  start.ref = {open.run.id, open.run.fence, open.run.attempts};
  start.task = task.id;
  start.key = open.run.key.value_or("");
  start.rule = task.body;
  start.timeout = execution.timeout;
  start.context = ContextOf(open);
  if (task.file < open.rules->files.size() && !execution.cwd.empty()) {
    start.cwd = JoinPath(AbsolutePath(open.rules->files[task.file].folder), execution.cwd);
  }
  std::string problem = RenderStart(execution, scope, start);
  open.executing = true;
  SetStuckLimit(open);
  open.renew_at = now + task.rule().trigger.lease_heartbeat;
  ArmRun(open, kNever);
  LogStart(open);
  if (problem.empty()) {
    Emit(AttemptStart{std::move(start)});
    return;
  }
  Ending ending;
  ending.kind = Ending::Kind::kExit;
  ending.code = 78;  // EX_CONFIG: the rule cannot be carried out as it is written
  ending.summary = problem;
  OnEnded(start.ref, std::move(ending));
}

std::string EngineState::RenderStart(const ExecutionRule& execution, const TemplateScope& scope, StartRequest& start) {
  std::string problem;
  auto render = [&](const Template& text) {
    Result<std::string> out = Render(text, scope);
    if (out.ok()) return *out;
    if (problem.empty()) problem = out.error().message();
    return std::string();
  };
  for (const Template& part : execution.command) start.argv.push_back(render(part));
  if (execution.kind == ExecutionRule::Kind::kShell) start.argv = {"/bin/sh", "-c", execution.shell};
  for (const auto& [name, value] : execution.env) {
    if (value.secret) {
      start.secret_env.emplace_back(name, *value.secret);
    } else {
      start.env.emplace_back(name, render(value.text));
    }
  }
  if (execution.kind != ExecutionRule::Kind::kHttp) return problem;
  start.method = execution.http.method;
  start.url = render(execution.http.url);
  for (const auto& [name, value] : execution.http.headers) {
    if (value.secret) {
      start.secret_headers.emplace_back(name, *value.secret);
    } else {
      start.headers.emplace_back(name, render(value.text));
    }
  }
  if (execution.http.body) {
    if (execution.http.body->secret) {
      start.secret_body = execution.http.body->secret;
    } else {
      start.body = render(execution.http.body->text);
    }
  }
  return problem;
}

std::vector<std::pair<std::string, std::string>> EngineState::ContextOf(const OpenRun& open) const {
  const RuleBody& rule = open.task->rule();
  const Zone& zone = ScheduleOf(rule, open.value).zone;
  std::vector<std::pair<std::string, std::string>> out = {
      {"DUECOURSE_TASK", open.run.task},
      {"DUECOURSE_RUN_ID", open.run.id},
      {"DUECOURSE_ATTEMPT", std::to_string(open.run.attempts)},
      {"DUECOURSE_ATTEMPTS_MAX", std::to_string(rule.retry.max_total_attempts)},
      {"DUECOURSE_SCHEDULED_AT", FormatUtc(open.run.due)},
      {"DUECOURSE_SCHEDULED_LOCAL", FormatLocal(open.run.due, zone)},
      {"DUECOURSE_TIMEZONE", zone.name()},
      {"DUECOURSE_BUSINESS_DATE", FormatDay(open.run.business_date)},
      {"DUECOURSE_KEY", open.run.key.value_or("")},
      {"DUECOURSE_FENCE", std::to_string(open.run.fence)},
      {"DUECOURSE_TRIGGER", TriggerKindName(open.claim_kind)},
      {"DUECOURSE_DEADLINE", FormatUtc(now + rule.execution.timeout)},
  };
  if (!open.run.value.empty()) out.emplace_back("DUECOURSE_VALUE", open.run.value);
  return out;
}

// Each attempt's line carries the rule's zone, the planned instant in both, and the next due.
void EngineState::LogStart(const OpenRun& open) {
  const Zone& zone = ScheduleOf(open.task->rule(), open.value).zone;
  Json line = Json::MakeObject();
  line.Set("task_id", open.run.task).Set("run", open.run.id).Set("business_key", open.run.key.value_or(""));
  line.Set("attempt", open.run.attempts).Set("fence", open.run.fence).Set("trigger", TriggerKindName(open.claim_kind));
  line.Set("zone", zone.name()).Set("host_zone", options.host_zone);
  line.Set("planned", FormatUtc(open.run.due)).Set("planned_local", FormatLocal(open.run.due, zone));
  line.Set("lag_ms", (open.claimed_at - open.occurrence.starts).count);
  if (open.lane != kNoLane && lanes[open.lane].next_due < kNever) line.Set("next_due", FormatUtc(lanes[open.lane].next_due));
  Say(LogLevel::kInfo, "attempt_claimed", std::move(line));
}

void EngineState::KillAttempt(OpenRun& open, KillWhy why, const std::string& cause) {
  if (!open.executing || open.killed) return;
  open.killed = why;
  open.ending_cause = cause;
  Emit(AttemptKill{{open.run.id, open.run.fence, open.run.attempts}, why});
}

// A running attempt's timer: its heartbeat, the end of its window where the rule kills at it.
void EngineState::OnRunningTimer(OpenRun& open) {
  if (open.stuck_at <= now) TellStuck(open);
  if (open.renew_at <= now && open.task != nullptr) {
    if (store_available && open.executing && open.flight == OpenRun::Flight::kNone) {
      Pending pending;
      pending.kind = Pending::Kind::kRenew;
      pending.runs.push_back(open.run.id);
      Call(RenewCall{open.run.id, open.run.fence, open.task->rule().trigger.lease_ttl}, std::move(pending));
    }
    open.renew_at = open.executing ? now + open.task->rule().trigger.lease_heartbeat : kNever;
  }
  Instant next = kNever;
  if (open.executing && open.task != nullptr && open.task->rule().execution.kill_at_window_end) {
    if (open.run.window_ends <= now) {
      KillAttempt(open, KillWhy::kWindowEnd, "its window ended and the rule says kill_at_window_end");
    } else {
      next = open.run.window_ends;
    }
  }
  ArmRun(open, next);
}

}  // namespace duecourse
