// Alerts: drafted by alert/ in the transaction that caused them, sent once it is durable, tried again until
// taken.
#include <algorithm>

#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

std::optional<AlertRule::Event> AlertEventOf(RunState state) {
  switch (state) {
    case RunState::kSkipped:
      return AlertRule::Event::kSkipped;
    case RunState::kMissed:
      return AlertRule::Event::kMissed;
    case RunState::kManualRequired:
      return AlertRule::Event::kManualRequired;
    case RunState::kScheduled:
    case RunState::kRunning:
    case RunState::kRetrying:
    case RunState::kCatchupWaiting:
    case RunState::kSuccess:
      return std::nullopt;
  }
  return std::nullopt;
}

AlertRow EngineState::RowOf(const AlertDraft& draft, const std::string& episode, const std::string& task,
                            const std::string& run_id, const std::string& owner) {
  AlertRow row;
  row.id = NewId('a');
  row.episode = episode;
  row.event = draft.event;
  row.level = draft.level;
  row.task = task;
  row.run_id = run_id;
  row.owner = owner;
  row.title = draft.title;
  row.body = draft.body;
  row.created_at = now;
  row.next_try_at = now;
  bool somebody = draft.send && !ChannelsFor(rules->config, owner, draft.level).empty();
  row.state = somebody ? AlertRow::State::kPending : AlertRow::State::kShown;
  return row;
}

static std::string OwnerOf(const Task* task) { return task == nullptr ? "" : task->rule().owner; }

// `open.run` is the run as it will be; `told` of it is raised.
void EngineState::AddAlert(OpenRun& open, std::optional<AlertRule::Event> event, const std::string& what,
                           std::vector<AlertRow>& rows, bool part_of_breaker) {
  if (!event) return;
  AlertFacts facts;
  facts.event = *event;
  facts.task = TaskToTell(open);
  facts.run = &open.run;
  facts.last_failures = &open.failures;
  facts.episode = open.run.id;
  facts.told = open.run.told;
  facts.part_of_breaker = part_of_breaker;
  facts.what =
      what.empty() ? ReasonSentence(open.run.reason) : StrCat(ReasonName(open.run.reason), ": ", what);
  facts.next = NextText(open);
  facts.at = now;
  AlertDraft draft = DraftAlert(facts);
  if (draft.level == AlertLevel::kNone) return;
  open.run.told = std::max(open.run.told, draft.level);
  rows.push_back(RowOf(draft, open.run.id, open.run.task, open.run.id, OwnerOf(facts.task)));
}

// Whose levels and owner hold for a run: its rule's, or the last that it had. Null: nobody knows it any more,
// so the standard levels and the default owner do.
const Task* EngineCore::TaskToTell(const OpenRun& open) const {
  if (open.task != nullptr) return open.task;
  return open.gone_task != nullptr ? open.gone_task : rules->Find(open.run.task);
}

std::string EngineState::NextText(const OpenRun& open) const {
  const Run& run = open.run;
  const Zone zone = ZoneOf(open);
  switch (run.state) {
    case RunState::kRetrying:
    case RunState::kCatchupWaiting: {
      const bool paused = open.task != nullptr && PauseOf(*open.task) != nullptr;
      return StrCat("again at ", FormatLocal(run.next_at.value_or(now), zone),
                    paused ? StrCat(", or later, once it is resumed: ", PausedText(open)) : "");
    }
    case RunState::kManualRequired:
      return "nothing until a person acts";
    case RunState::kScheduled:
    case RunState::kRunning:
      return StrCat("it goes on until ", FormatLocal(run.window_ends, zone));
    case RunState::kSuccess:
    case RunState::kSkipped:
    case RunState::kMissed:
      return "nothing more for this run";
  }
  return "";
}

// After an attempt: its failure, its breaker, or the note that all is well again. open.run is the run as it
// will be.
void EngineState::TellEnding(OpenRun& open, const Classified& what, const BreakerChange& change,
                             std::vector<AlertRow>& rows) {
  if (open.run.state == RunState::kSuccess)
    TellRecovery(open, StrCat("succeeded on attempt ", open.run.attempts), rows);
  bool trial = change.reopened || (change.after.open && !change.opened);
  std::optional<AlertRule::Event> event = AlertEventOf(open.run.state);
  if (!event && IsFailure(what.outcome)) event = AlertRule::Event::kFailure;
  bool back_to_person = open.claim_kind == TriggerKind::kManual &&
                        open.run.before_manual == RunState::kManualRequired &&
                        open.run.state == RunState::kManualRequired;
  if (!back_to_person) AddAlert(open, event, open.run.detail, rows, trial);
  if (change.opened || change.closed) TellBreaker(open, change, rows);
}

// The note that an episode which was told of is over.
void EngineState::TellRecovery(const OpenRun& open, const std::string& what, std::vector<AlertRow>& rows) {
  AlertFacts facts;
  facts.task = TaskToTell(open);
  facts.run = &open.run;
  facts.episode = open.run.id;
  facts.told = open.run.told;
  facts.what = what;
  facts.next = NextText(open);
  facts.at = now;
  AlertDraft note = DraftRecovery(facts);
  if (note.level == AlertLevel::kNone) return;
  rows.push_back(RowOf(note, open.run.id, open.run.task, open.run.id, OwnerOf(facts.task)));
}

void EngineState::TellBreaker(const OpenRun& open, const BreakerChange& change, std::vector<AlertRow>& rows) {
  AlertFacts facts;
  facts.event = AlertRule::Event::kBreakerOpen;
  facts.task = open.task;
  facts.episode = change.after.episode;
  facts.last_failures = &open.failures;
  facts.at = now;
  AlertDraft draft;
  if (change.opened) {
    facts.what = StrCat("breaker open after repeated failures: ", open.run.detail);
    facts.next = StrCat("no automatic attempt until ",
                        FormatLocal(change.after.until.value_or(now), ZoneOf(open)), ", then one trial");
    draft = DraftAlert(facts);
  } else {
    facts.told = LevelOf(open.task->rule().alerts, AlertRule::Event::kBreakerOpen, 0);
    facts.what = "breaker closed: the trial succeeded";
    // What ended behind it had no message of its own: nobody is to believe that all is well.
    const auto waiting = std::count_if(runs.begin(), runs.end(), [&open](const auto& entry) {
      const Run& run = entry.second->run;
      return run.task == open.run.task && run.state == RunState::kManualRequired && run.id != open.run.id;
    });
    if (waiting > 0) {
      facts.what += StrCat("; ", waiting, waiting == 1 ? " run waits" : " runs wait", " for a person");
      facts.next = StrCat("automation goes on; for what waits: ", options.program, " manual list");
    }
    draft = DraftRecovery(facts);
  }
  if (draft.level == AlertLevel::kNone) return;
  rows.push_back(RowOf(draft, change.after.episode, open.run.task, "", open.task->rule().owner));
}

// One message for all that was missed of a task in one stretch of downtime.
void EngineState::TellMissedRange(const Lane& lane, const Note& range, PlanCall& call, Pending& pending) {
  const Task& task = TaskOf(lane);
  AlertFacts facts;
  facts.event = AlertRule::Event::kMissed;
  facts.task = &task;
  facts.episode = StrCat("outage/", task.id, range.value.empty() ? "" : "/", range.value, "/",
                         FormatUtc(range.first_due));
  const Zone& zone = ScheduleOf(task.rule(), lane.value).zone;
  const std::string first = FormatLocal(range.first_due, zone);
  if (range.count == 1) {
    Instant ends = OccurrenceAt(task, lane.value, range.first_due, rules->config).window.ends;
    facts.what = StrCat("missed the occurrence of ", first, " (window until ", FormatLocal(ends, zone), ")");
  } else {
    facts.what = StrCat("missed ", range.count, " occurrences (", first, " to ",
                        FormatLocal(range.last_due, zone), ")");
  }
  facts.what += StrCat(": ", range.detail);
  facts.next =
      lane.next_due < kNever ? StrCat("next due after ", FormatLocal(now, zone)) : "nothing more is due";
  facts.at = now;
  AlertDraft draft = DraftAlert(facts);
  if (draft.level == AlertLevel::kNone) return;
  AlertRow row = RowOf(draft, facts.episode, task.id, "", task.rule().owner);
  call.alerts.push_back(row);
  pending.alerts.push_back(std::move(row));
}

// ---- stuck
void EngineState::SetStuckLimit(OpenRun& open) {
  if (open.alive) return;  // has a limit of its own
  open.stuck_at = kNever;
  open.stuck_told = false;
  if (open.task == nullptr) return;
  for (const auto& [state, limit] : open.task->rule().alerts.stuck) {
    if (state == RunStateName(open.run.state)) open.stuck_at = open.run.state_since + limit;
  }
  const std::optional<Millis>& expected = open.task->rule().execution.expected;
  if (open.run.state == RunState::kRunning && expected && open.stuck_at >= kNever)
    open.stuck_at = open.claimed_at + *expected;
}

// A state held too long. Former processes that would not die end with a person.
void EngineState::TellStuck(OpenRun& open) {
  open.stuck_at = kNever;
  if (open.alive && open.flight != OpenRun::Flight::kNone) {
    open.stuck_at = now + kInspectAgain;  // a change of it is being stored
    return;
  }
  if (open.stuck_told || open.task == nullptr) return;
  open.stuck_told = true;
  std::string what = StrCat("it has been ", RunStateName(open.run.state), " since ",
                            FormatLocal(open.run.state_since, ZoneOf(open)));
  if (open.alive) {
    MoveRun(open, {RunState::kManualRequired, Reason::kStuck,
                   "processes of the former attempt are still there and cannot be ended"});
    return;
  }
  AlertsCall call;
  AddAlert(open, AlertRule::Event::kStuck, what, call.rows);
  if (call.rows.empty()) return;
  Pending pending;
  pending.alerts = call.rows;
  Call(std::move(call), std::move(pending));
}

// ---- delivery
void EngineState::KeepAlert(const AlertRow& row) {
  Say(LogLevel::kInfo, "alert",
      Json::MakeObject()
          .Set("alert", row.id)
          .Set("alert_level", AlertLevelName(row.level))
          .Set("title", row.title));
  if (row.state != AlertRow::State::kPending) return;
  alerts[row.id] = row;
  SendAlertAgain(row.id);
}

void EngineState::SendAlertAgain(const std::string& id) {
  if (id == kStoreAlert) {
    TellStoreTrouble();
    return;
  }
  auto it = alerts.find(id);
  if (it == alerts.end()) return;
  const AlertRow& row = it->second;
  std::vector<ChannelConfig> channels = ChannelsFor(rules->config, row.owner, row.level);
  if (channels.empty()) return;  // nobody is configured any more: it stays in the list of alerts
  Emit(AlertSend{MessageOf(row.id, row.level, row.title, row.body), std::move(channels)});
}

void EngineState::OnAlert(const SendResult& result) {
  auto it = alerts.find(result.id);
  if (it == alerts.end()) return;  // sent from memory, or taken already
  AlertRow& row = it->second;
  ++row.tries;
  row.channel = result.channel;
  row.last_error = result.error;
  if (result.taken) {
    row.state = AlertRow::State::kSent;
  } else {
    Millis pause = std::max(AlertRetryDelay(row.tries), result.retry_after.value_or(Millis{0}));
    row.next_try_at = now + pause;
    Arm({row.next_try_at, Timer::Kind::kAlert, 0, row.id});
  }
  Say(result.taken ? LogLevel::kInfo : LogLevel::kWarning, result.taken ? "alert_sent" : "alert_not_sent",
      Json::MakeObject().Set("alert", row.id).Set("channel", result.channel).Set("error", result.error));
  Call(AlertsCall{{row}}, Pending());
  if (result.taken) alerts.erase(it);
}

}  // namespace duecourse
