#include <algorithm>

#include "alert/alert.h"
#include "alert/shown.h"
#include "base/text.h"
#include "rule/choices.h"

namespace duecourse {
namespace {

using Event = AlertRule::Event;

bool IsFailure(Event event) {
  return event == Event::kFailure || event == Event::kSecondFailure || event == Event::kThirdFailure;
}

// The failure event for so many failures in a row; from the third on they are the third.
Event FailureEvent(int failures) {
  if (failures <= 1) return Event::kFailure;
  return failures == 2 ? Event::kSecondFailure : Event::kThirdFailure;
}

AlertLevel DefaultLevel(AlertRule::Policy policy, Event event) {
  switch (event) {
    case Event::kFailure:
    case Event::kSkipped:
      return AlertLevel::kP3;
    case Event::kManualRequired:
      // Article A's third step is the final failure, which wakes somebody at once.
      return policy == AlertRule::Policy::kThreeStep ? AlertLevel::kP1 : AlertLevel::kP2;
    case Event::kSecondFailure:
    case Event::kThirdFailure:
    case Event::kMissed:
    case Event::kBreakerOpen:
    case Event::kStuck:
      return AlertLevel::kP2;
  }
  return AlertLevel::kP2;
}

std::optional<AlertLevel> WrittenLevel(const AlertRule& rule, Event event) {
  for (const auto& [written, level] : rule.levels) {
    if (written == event) return level;
  }
  return std::nullopt;
}

bool OwnEpisode(const AlertFacts& facts) { return facts.run != nullptr && facts.episode == facts.run->id; }

// Events that have a message of their own although the level does not rise.
bool SpeaksAnyway(const AlertFacts& facts, const AlertRule& rule, Event event) {
  if (!OwnEpisode(facts)) return false;
  if (event == Event::kManualRequired || event == Event::kMissed) return true;
  return event == Event::kThirdFailure && facts.run->failures == 3 &&
         rule.policy == AlertRule::Policy::kGraded;
}

const AlertRule& RuleOf(const AlertFacts& facts) {
  static const AlertRule standard;
  return facts.task != nullptr ? facts.task->rule().alerts : standard;
}

// Nothing is told of a failure that has made the run a person's: its manual_required says all of it.
bool Silent(const AlertFacts& facts, Event event) {
  if (facts.part_of_breaker && event != Event::kBreakerOpen) return true;
  return IsFailure(event) && facts.run != nullptr && facts.run->state == RunState::kManualRequired;
}

const char* Prefix(Event event) {
  switch (event) {
    case Event::kThirdFailure:
      return "third failure in a row: ";
    case Event::kManualRequired:
      return "needs a person: ";
    case Event::kStuck:
      return "stuck: ";
    case Event::kSkipped:
      return "skipped: ";
    case Event::kMissed:
      return "missed: ";
    case Event::kFailure:
    case Event::kSecondFailure:
    case Event::kBreakerOpen:
      return "";
  }
  return "";
}

// "failed: attempt 2 failed: exit 75" says it twice: the reason's name goes where the sentence after it says the
// same. ("attempts_exhausted: attempt 10 failed: exit 75" says two things.)
std::string WhatOf(const AlertFacts& facts) {
  for (const std::string_view name : {"failed: ", "attempt_lost: "}) {
    std::string_view what = facts.what;
    if (what.starts_with(name) && what.substr(name.size()).starts_with("attempt "))
      return std::string(what.substr(name.size()));
  }
  return facts.what;
}

// Whether the text says of itself what the prefix would: "missed 3 occurrences", "stuck: …".
bool SaysItself(const std::string& what, std::string_view prefix) {
  return what.starts_with(prefix.substr(0, prefix.find(':')));
}

// "order_sync[channel=app] 2025-06-01"
std::string Subject(const AlertFacts& facts) {
  if (facts.run == nullptr) return facts.task != nullptr ? Shown(facts.task->id, kShownWord) : "duecourse";
  std::string out = Shown(facts.run->task, kShownWord);
  if (!facts.run->value.empty()) out += StrCat("[", Shown(facts.run->value, kShownWord), "]");
  return StrCat(out, " ", FormatDay(facts.run->business_date));
}

// Steps for whoever is woken. Each command is one that works in the state the run is in.
Json Steps(const AlertFacts& facts) {
  Json steps = Json::MakeArray();
  if (facts.task == nullptr && facts.run == nullptr) return steps;
  const std::string task = ShellWord(facts.task != nullptr ? facts.task->id : facts.run->task);
  if (facts.run == nullptr) {
    steps.Add(StrCat("look: duecourse why ", task));
    return steps;
  }
  const Run& run = *facts.run;
  const std::string id = ShellWord(run.id);
  steps.Add(StrCat("look: duecourse why ", task, " ", FormatDay(run.business_date)));
  if (run.attempts > 0) steps.Add(StrCat("its output: duecourse logs ", id));
  const std::string who = " --by NAME --reason \"…\"";
  if (run.state == RunState::kManualRequired) {
    steps.Add(StrCat("take over: duecourse manual claim ", id, who));
    const char* verbs = run.key ? "rerun | resolve | skip " : "resolve | skip ";
    steps.Add(StrCat("then one of: duecourse manual ", verbs, id, who));
  } else if (IsOpen(run.state)) {
    steps.Add(StrCat("to stop it: duecourse cancel ", id, who));
  }
  return steps;
}

// The zone of the run's own value, where each has its own. A value that the rule has no more is told in UTC.
Zone ZoneOf(const AlertFacts& facts) {
  if (facts.task == nullptr) return Zone::Utc();
  const RuleBody& rule = facts.task->rule();
  if (!rule.trigger.zone_by_value || facts.run == nullptr) return rule.trigger.schedule.zone;
  for (size_t value = 0; value < ValueCount(rule); ++value) {
    if (ValueId(rule, value) == facts.run->value) return ScheduleOf(rule, value).zone;
  }
  return Zone::Utc();
}

Json FailureLines(const AlertFacts& facts) {
  constexpr size_t kLines = 3;
  Json lines = Json::MakeArray();
  if (facts.last_failures == nullptr) return lines;
  const Zone zone = ZoneOf(facts);
  for (size_t i = 0; i < std::min(kLines, facts.last_failures->size()); ++i)
    lines.Add(FailureLine((*facts.last_failures)[i], zone));
  return lines;
}

void AddRun(const AlertFacts& facts, Json& body) {
  const Run& run = *facts.run;
  body.Set("run_id", run.id);
  if (!run.value.empty()) body.Set("value", Shown(run.value, kShownLine));
  if (run.key.has_value()) body.Set("key", Shown(*run.key, kShownLine));
  body.Set("date", FormatDay(run.business_date));
  const Zone zone = ZoneOf(facts);
  body.Set("due", FormatLocal(run.due, zone)).Set("zone", zone.name());
  body.Set("state", RunStateName(run.state)).Set("reason", ReasonName(run.reason));
  body.Set("attempts", run.attempts).Set("failures_in_a_row", run.failures);
}

Json Body(const AlertFacts& facts, AlertLevel level, const std::string& event) {
  Json body = Json::MakeObject();
  body.Set("event", event).Set("level", AlertLevelName(level)).Set("at", FormatUtc(facts.at));
  body.Set("episode", Shown(facts.episode, kShownLine));
  if (facts.task != nullptr || facts.run != nullptr)
    body.Set("task", Shown(facts.task != nullptr ? facts.task->id : facts.run->task, kShownWord));
  if (facts.task != nullptr) {
    if (!facts.task->rule().owner.empty()) body.Set("owner", Shown(facts.task->rule().owner, kShownWord));
    if (!facts.task->rule().why.empty()) body.Set("why", Shown(facts.task->rule().why, kShownLine));
  }
  if (facts.run != nullptr && !facts.run->value.empty()) {
    body.Set("value", Shown(facts.run->value, kShownWord));
  }
  if (facts.run != nullptr) AddRun(facts, body);
  body.Set("what", Shown(WhatOf(facts), kShownLine));
  if (!facts.next.empty()) body.Set("next", Shown(facts.next, kShownLine));
  return body;
}

}  // namespace

const char* AlertLevelName(AlertLevel level) {
  for (const Choice<AlertLevel>& choice : kAlertLevelNames) {
    if (choice.value == level) return choice.name;
  }
  return "none";
}

AlertLevel LevelOf(const AlertRule& rule, Event event, int failures) {
  if (IsFailure(event)) event = FailureEvent(failures);
  return WrittenLevel(rule, event).value_or(DefaultLevel(rule.policy, event));
}

AlertDraft DraftAlert(const AlertFacts& facts) {
  const AlertRule& rule = RuleOf(facts);
  const int failures = facts.run != nullptr ? facts.run->failures : 1;
  const Event event = IsFailure(facts.event) ? FailureEvent(failures) : facts.event;
  AlertDraft draft;
  if (Silent(facts, event)) return draft;
  const AlertLevel level = LevelOf(rule, event, failures);
  if (level == AlertLevel::kNone) return draft;
  if (level <= facts.told && !SpeaksAnyway(facts, rule, event)) return draft;
  draft.level = level;
  draft.event = NameOf(kAlertEventNames, event);
  draft.send = level >= AlertLevel::kP2;
  const std::string what = WhatOf(facts);
  const std::string prefix = SaysItself(what, Prefix(event)) ? "" : Prefix(event);
  draft.title =
      StrCat(AlertLevelName(level), " ", Subject(facts), ": ", Shown(StrCat(prefix, what), kShownTitle));
  Json body = Body(facts, level, draft.event);
  Json lines = FailureLines(facts);
  if (!lines.AsArray().empty()) body.Set("last_failures", std::move(lines));
  body.Set("todo", Steps(facts));
  draft.body = body.Dump();
  return draft;
}

AlertDraft DraftRecovery(const AlertFacts& facts) {
  AlertDraft draft;
  if (facts.told < AlertLevel::kP2) return draft;
  draft.level = facts.told;
  draft.event = "recovered";
  draft.send = true;
  draft.title =
      StrCat(AlertLevelName(facts.told), " over: ", Subject(facts), ": ", Shown(facts.what, kShownTitle));
  draft.body = Body(facts, facts.told, draft.event).Dump();
  return draft;
}

AlertDraft DraftNotice(const NoticeFacts& facts) {
  AlertDraft draft;
  if (facts.level == AlertLevel::kNone) return draft;
  draft.level = facts.level;
  draft.event = facts.event;
  draft.send = facts.level >= AlertLevel::kP2;
  draft.title = StrCat(AlertLevelName(facts.level), " duecourse: ", Shown(facts.what, kShownTitle));
  Json body = Json::MakeObject();
  body.Set("event", facts.event).Set("level", AlertLevelName(facts.level)).Set("at", FormatUtc(facts.at));
  body.Set("what", Shown(facts.what, kShownLine));
  if (!facts.next.empty()) body.Set("next", Shown(facts.next, kShownLine));
  Json todo = Json::MakeArray();
  for (const std::string& step : facts.todo) todo.Add(Shown(step, kShownLine));
  body.Set("todo", std::move(todo));
  draft.body = body.Dump();
  return draft;
}

}  // namespace duecourse
