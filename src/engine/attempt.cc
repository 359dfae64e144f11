// What an executor is told of an attempt.
#include "engine/attempt.h"

#include "base/file.h"
#include "base/text.h"

namespace duecourse {

static std::string RenderStart(const ExecutionRule& execution, const TemplateScope& scope,
                               StartRequest& start) {
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

static std::vector<std::pair<std::string, std::string>> ContextOf(const AttemptFacts& facts) {
  const RuleBody& rule = facts.task->rule();
  const Run& run = *facts.run;
  const Zone& zone = ScheduleOf(rule, facts.value).zone;
  std::vector<std::pair<std::string, std::string>> out = {
      {"DUECOURSE_TASK", run.task},
      {"DUECOURSE_RUN_ID", run.id},
      {"DUECOURSE_ATTEMPT", std::to_string(run.attempts)},
      {"DUECOURSE_ATTEMPTS_MAX", std::to_string(rule.retry.max_total_attempts)},
      {"DUECOURSE_SCHEDULED_AT", FormatUtc(run.due)},
      {"DUECOURSE_SCHEDULED_LOCAL", FormatLocal(run.due, zone)},
      {"DUECOURSE_TIMEZONE", zone.name()},
      {"DUECOURSE_BUSINESS_DATE", FormatDay(run.business_date)},
      {"DUECOURSE_KEY", run.key.value_or("")},
      {"DUECOURSE_FENCE", std::to_string(run.fence)},
      {"DUECOURSE_TRIGGER", TriggerKindName(facts.kind)},
      {"DUECOURSE_DEADLINE", FormatUtc(facts.now + rule.execution.timeout)},
  };
  if (!run.value.empty()) out.emplace_back("DUECOURSE_VALUE", run.value);
  return out;
}

StartRequest RenderAttempt(const AttemptFacts& facts, std::string* problem) {
  const Task& task = *facts.task;
  const ExecutionRule& execution = task.rule().execution;
  StartRequest start;
  start.ref = {facts.run->id, facts.run->fence, facts.run->attempts};
  start.task = task.id;
  start.key = facts.run->key.value_or("");
  start.rule = task.body;
  start.timeout = execution.timeout;
  start.context = ContextOf(facts);
  if (task.file < facts.rules->files.size()) {
    start.folder = AbsolutePath(facts.rules->files[task.file].folder);
    if (!execution.cwd.empty()) start.cwd = JoinPath(start.folder, execution.cwd);
  }
  *problem = RenderStart(execution, ScopeOf(task, facts.value, *facts.occurrence), start);
  return start;
}

}  // namespace duecourse
