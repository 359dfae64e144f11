// Decision rows: what was observed, and what was answered.
#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

static const char* AnswerName(PreconditionFact::Answer answer) {
  switch (answer) {
    case PreconditionFact::Answer::kUnknown:
      return "unknown";
    case PreconditionFact::Answer::kYes:
      return "yes";
    case PreconditionFact::Answer::kNo:
      return "no";
    case PreconditionFact::Answer::kInvalid:
      return "invalid";
    case PreconditionFact::Answer::kCheckFailed:
      return "check_failed";
  }
  return "unknown";
}

DecisionRow EngineState::DecisionOf(const OpenRun& open, const char* decision, Reason reason) const {
  DecisionRow row;
  row.run_id = open.run.id;
  row.task = open.run.task;
  row.value = open.run.value;
  row.key = open.run.key.value_or("");
  row.business_date = open.run.business_date;
  row.at = now;
  row.last_at = now;
  row.decision = decision;
  row.reason = reason;
  row.detail = DetailOf(open).Dump();
  row.attempt = open.run.attempts;
  row.fence = open.run.fence;
  row.rule_version = rule_version;
  return row;
}

// What was observed: the text, and every precondition with its answer and age.
Json EngineState::DetailOf(const OpenRun& open) const {
  Json detail = Json::MakeObject();
  if (!open.last_text.empty()) detail.Set("text", open.last_text);
  Json list = Json::MakeArray();
  for (size_t i = 0; i < open.observed.size() && open.task != nullptr; ++i) {
    const Observed& seen = open.observed[i];
    if (seen.fact.answer == PreconditionFact::Answer::kUnknown && seen.text.empty()) continue;
    const Precondition& condition = open.task->rule().trigger.preconditions[i];
    Json item = Json::MakeObject();
    item.Set("type", PreconditionTypeName(condition.type));
    item.Set("answer", AnswerName(seen.fact.answer)).Set("code", seen.code).Set("text", seen.text);
    item.Set("age_ms", (now - seen.fact.at).count);
    if (!seen.help.empty()) item.Set("help", seen.help);
    if (!condition.why.empty()) item.Set("why", condition.why);
    list.Add(std::move(item));
  }
  if (!list.AsArray().empty()) detail.Set("preconditions", std::move(list));
  return detail;
}

DecisionRow EngineState::StateRow(const OpenRun& open, RunState from, RunState to) {
  DecisionRow row = DecisionOf(open, "state", open.run.reason);
  row.detail = Json::MakeObject().Set("text", open.run.detail).Dump();
  row.from_state = RunStateName(from);
  row.to_state = RunStateName(to);
  LogDecision(row);
  return row;
}

DecisionRow EngineState::NoteRow(const Note& note, const Task& task) {
  DecisionRow row;
  row.task = task.id;
  row.value = note.value;
  row.at = now;
  row.last_at = now;
  row.decision = "note";
  row.reason = note.reason;
  row.to_state = RunStateName(note.state);
  row.rule_version = rule_version;
  row.detail = Json::MakeObject()
                   .Set("text", note.detail)
                   .Set("first_due", FormatUtc(note.first_due))
                   .Set("last_due", FormatUtc(note.last_due))
                   .Set("count", note.count)
                   .Dump();
  LogDecision(row);
  return row;
}

// As it is stored it is text; whoever reads the log gets the object.
static Json DetailJson(const std::string& detail) {
  Result<Json> parsed = Json::Parse(detail);
  return parsed.ok() && parsed->is_object() ? *parsed : Json::MakeObject().Set("text", detail);
}

void EngineState::LogDecision(const DecisionRow& row) {
  if (options.log_least > LogLevel::kInfo) return;
  Json line = Json::MakeObject();
  line.Set("task_id", row.task).Set("business_key", row.key).Set("target_date", FormatDay(row.business_date));
  line.Set("decision", row.decision)
      .Set("reason", ReasonName(row.reason))
      .Set("detail", DetailJson(row.detail));
  line.Set("attempt", row.attempt)
      .Set("node_id", options.node)
      .Set("fence", row.fence)
      .Set("rule_version", row.rule_version);
  if (!row.error_code.empty()) line.Set("error_code", row.error_code);
  if (!row.to_state.empty()) line.Set("from", row.from_state).Set("to", row.to_state);
  Say(LogLevel::kInfo, row.decision == "state" ? "state_changed" : "decision", std::move(line));
}

}  // namespace duecourse
