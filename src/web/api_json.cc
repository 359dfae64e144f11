// Rows as JSON. Instants are UTC, with the rule's local time beside those that people read.
#include "base/text.h"
#include "engine/memory.h"
#include "web/api.h"

namespace duecourse {

static const Zone& ZoneOf(const std::string& task, const std::string& value, const RuleSet& rules) {
  static const Zone utc = Zone::Utc();
  const Task* known = rules.Find(task);
  if (known == nullptr) return utc;
  size_t index = 0;
  FindValue(known->rule(), value, &index);
  return ScheduleOf(known->rule(), index).zone;
}

Json RunToJson(const Run& run, const RuleSet& rules) {
  const Zone& zone = ZoneOf(run.task, run.value, rules);
  Json out = Json::MakeObject();
  out.Set("run_id", run.id).Set("task_id", run.task);
  if (!run.value.empty()) out.Set("value", run.value);
  out.Set("key", run.key ? Json(*run.key) : Json()).Set("business_date", FormatDay(run.business_date));
  out.Set("due", FormatUtc(run.due)).Set("due_local", FormatLocal(run.due, zone));
  out.Set("state", RunStateName(run.state)).Set("reason", ShownReason(run)).Set("detail", run.detail);
  out.Set("state_since", FormatUtc(run.state_since))
      .Set("attempts", run.attempts)
      .Set("counted", run.counted);
  out.Set("fence", run.fence)
      .Set("window_opens", FormatUtc(run.window_opens))
      .Set("window_ends", FormatUtc(run.window_ends))
      .Set("window_ends_local", FormatLocal(run.window_ends, zone));
  if (run.next_at)
    out.Set("next_at", FormatUtc(*run.next_at)).Set("next_at_local", FormatLocal(*run.next_at, zone));
  out.Set("trigger", TriggerKindName(run.origin));
  if (!run.supersedes.empty()) out.Set("supersedes", run.supersedes);
  if (!run.superseded_by.empty()) out.Set("superseded_by", run.superseded_by);
  out.Set("rule_version", run.rule_version).Set("created_at", FormatUtc(run.created_at));
  return out;
}

bool NeverStarted(const Attempt& attempt) {
  const Result<Json> detail = Json::Parse(attempt.detail);
  const bool said = detail.ok() && detail->Has("started") && !detail->Get("started").AsBool();
  return said || attempt.outcome == Outcome::kNotStarted;
}

Json AttemptToJson(const Attempt& attempt, const Run& run, const RuleSet& rules) {
  Json out = Json::MakeObject();
  out.Set("run_id", attempt.run_id).Set("attempt", attempt.number).Set("fence", attempt.fence);
  out.Set("trigger", TriggerKindName(attempt.kind)).Set("started_at", FormatUtc(attempt.claimed_at));
  out.Set("started_at_local", FormatLocal(attempt.claimed_at, ZoneOf(run.task, run.value, rules)));
  if (attempt.ended_at) {
    out.Set("ended_at", FormatUtc(*attempt.ended_at))
        .Set("took_ms", (*attempt.ended_at - attempt.claimed_at).count);
  }
  out.Set("outcome", OutcomeName(attempt.outcome));
  if (attempt.failure_class != FailureClass::kNone) out.Set("class", FailureClassName(attempt.failure_class));
  out.Set("code", attempt.code).Set("summary", attempt.summary).Set("node", attempt.node);
  if (!attempt.by.empty()) out.Set("by", attempt.by);
  Result<Json> detail = Json::Parse(attempt.detail);
  if (detail.ok()) out.Set("detail", *detail);
  out.Set("rule_version", attempt.rule_version);
  return out;
}

Json DecisionToJson(const DecisionRow& row, const RuleSet& rules) {
  const Zone& zone = ZoneOf(row.task, row.value, rules);
  Json out = Json::MakeObject();
  out.Set("id", row.id)
      .Set("time", FormatLocal(row.at, zone))
      .Set("at", FormatUtc(row.at))
      .Set("last_at", FormatUtc(row.last_at));
  out.Set("count", row.count).Set("task_id", row.task).Set("run_id", row.run_id).Set("business_key", row.key);
  if (!row.value.empty()) out.Set("value", row.value);
  out.Set("target_date", FormatDay(row.business_date))
      .Set("decision", row.decision)
      .Set("reason", ShownReason(row));
  Result<Json> detail = Json::Parse(row.detail);
  out.Set("detail",
          detail.ok() && detail->is_object() ? *detail : Json::MakeObject().Set("text", row.detail));
  if (!row.to_state.empty()) out.Set("from", row.from_state).Set("to", row.to_state);
  out.Set("attempt", row.attempt);
  if (!row.error_code.empty()) out.Set("error_code", row.error_code);
  if (row.recheck_at < kNever) out.Set("asked_again_at", FormatUtc(row.recheck_at));
  out.Set("node_id", row.node)
      .Set("fence", row.fence)
      .Set("rule_version", row.rule_version)
      .Set("zone_data", row.zone_data);
  return out;
}

Json NoteToJson(const Note& note) {
  Json out = Json::MakeObject();
  out.Set("task_id", note.task);
  if (!note.value.empty()) out.Set("value", note.value);
  out.Set("state", RunStateName(note.state))
      .Set("reason", ShownReason(note))
      .Set("first_due", FormatUtc(note.first_due));
  out.Set("last_due", FormatUtc(note.last_due))
      .Set("count", note.count)
      .Set("detail", note.detail)
      .Set("at", FormatUtc(note.at));
  if (!note.run_id.empty()) out.Set("run_id", note.run_id);
  return out;
}

Json AlertToJson(const AlertRow& row) {
  static const char* const kStates[] = {"shown", "pending", "sent"};
  Json out = Json::MakeObject();
  out.Set("alert_id", row.id)
      .Set("level", AlertLevelName(row.level))
      .Set("event", row.event)
      .Set("task_id", row.task);
  out.Set("run_id", row.run_id).Set("owner", row.owner).Set("title", row.title).Set("episode", row.episode);
  out.Set("state", kStates[static_cast<int>(row.state)])
      .Set("at", FormatUtc(row.created_at))
      .Set("tries", row.tries);
  if (!row.channel.empty()) out.Set("channel", row.channel);
  if (!row.last_error.empty()) out.Set("last_error", row.last_error);
  if (row.state == AlertRow::State::kPending) out.Set("next_try_at", FormatUtc(row.next_try_at));
  return out;
}

}  // namespace duecourse
