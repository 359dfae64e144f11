// What people ask for. Each act has a name and, where it overrides something, a reason; both are in the audit
// log.
#include <algorithm>

#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

void EngineState::OnRequest(Request request) {
  const bool reads = std::get_if<ExplainRequest>(&request.body) != nullptr ||
                     std::get_if<TasksRequest>(&request.body) != nullptr;
  // What runs is what the stop waits for: whoever does not want to wait for it may end it.
  const bool ends = std::get_if<CancelRequest>(&request.body) != nullptr;
  if (draining && !reads && !ends) {
    Refuse(request, Reason::kDraining, "the daemon is stopping", "");
    return;
  }
  if (auto* trigger = std::get_if<TriggerRequest>(&request.body)) {
    OnTrigger(request, *trigger);
  } else if (auto* cancel = std::get_if<CancelRequest>(&request.body)) {
    OnCancel(request, *cancel);
  } else if (auto* flag = std::get_if<FlagRequest>(&request.body)) {
    OnFlag(request, *flag);
  } else if (auto* pause = std::get_if<PauseRequest>(&request.body)) {
    OnPause(request, *pause);
  } else if (auto* manual = std::get_if<ManualRequest>(&request.body)) {
    OnManual(request, *manual);
  } else if (auto* explain = std::get_if<ExplainRequest>(&request.body)) {
    Explain(request, explain->task);
  } else if (std::get_if<TasksRequest>(&request.body) != nullptr) {
    ListTasks(request);
  } else {
    Flush(request);
  }
}

// ---- answers
void EngineCore::Reply(const Request& request, Answer::Kind kind, const std::string& message, Json body) {
  if (request.id == 0) return;
  Emit(Answer{request.id, kind, message, std::move(body)});
}

void EngineCore::Refuse(const Request& request, Reason reason, const std::string& text,
                        const std::string& run_id) {
  Json body = Json::MakeObject();
  body.Set("reason", ReasonName(reason)).Set("detail", text);
  if (!run_id.empty()) body.Set("run_id", run_id);
  Reply(request, Answer::Kind::kRefused, StrCat(ReasonName(reason), text.empty() ? "" : ": ", text),
        std::move(body));
}

void EngineCore::RefuseAsked(OpenRun& open, Reason reason, const std::string& text) {
  const char* hint = open.force.readiness || !CanBeForced(reason)
                         ? ""
                         : "; to start it all the same, add: --force --reason \"why\"";
  if (open.unwritten) {
    Refuse(*open.asked, reason, StrCat(text, hint), "");
  } else {
    Refuse(*open.asked, reason, StrCat(text, " (run ", open.run.id, ")", hint), open.run.id);
  }
  open.asked.reset();
  open.force = Force();
}

void EngineCore::AnswerFine(const Pending& pending, const std::string& run_id) {
  if (!pending.request) return;
  Json body = Json::MakeObject().Set("done", true);
  if (!run_id.empty()) body.Set("run_id", run_id);
  Reply(*pending.request, Answer::Kind::kFine, "done", std::move(body));
}

AuditRow EngineCore::AuditOf(const Request& request, const char* action, const std::string& task,
                             const std::string& run_id) const {
  AuditRow row;
  row.at = now;
  row.by = request.by;
  row.action = action;
  row.task = task;
  row.run_id = run_id;
  row.reason = request.reason;
  return row;
}

// ---- trigger
void EngineState::OnTrigger(const Request& request, const TriggerRequest& trigger) {
  size_t index = kNoLane;
  Lane* lane = FindLane(trigger.task, trigger.value, &index);
  if (lane == nullptr) {
    const bool unknown = rules->Find(trigger.task) == nullptr;
    Reply(request, unknown ? Answer::Kind::kUnknown : Answer::Kind::kUsage,
          NoLaneText(trigger.task, trigger.value), Json::MakeObject());
    return;
  }
  if (trigger.force && request.reason.empty()) {
    Reply(request, Answer::Kind::kUsage, "--force needs --reason \"why\"", Json::MakeObject());
    return;
  }
  if (trigger.extra) {
    PlanByHand(request, index, now, trigger);
    return;
  }
  std::string problem;
  std::optional<Instant> due = ChooseOccurrence(*lane, trigger, &problem);
  if (!due) {
    Reply(request, Answer::Kind::kUsage, problem, Json::MakeObject());
    return;
  }
  for (const std::string& id : lane->open) {
    OpenRun* open = FindRun(id);
    if (open == nullptr || open->run.extra || open->run.due != *due) continue;
    if (open->unwritten) {
      Refuse(request, Reason::kLockOccupied, StrCat("it is being asked for by ", open->asked->by), "");
      return;
    }
    TriggerOpen(request, *open, trigger.force);
    return;
  }
  if (*due > now && !trigger.force) {
    Refuse(request, Reason::kNotDue,
           StrCat("it is due at ", FormatLocal(*due, ScheduleOf(TaskOf(*lane).rule(), lane->value).zone),
                  "; to start it before that, add: --force --reason \"why\""),
           "");
    return;
  }
  PlanByHand(request, index, *due, trigger);
}

std::string EngineState::NoLaneText(const std::string& task, const std::string& value) const {
  const Task* known = rules->Find(task);
  if (known == nullptr) {
    std::vector<std::string> names;
    for (const Task& other : rules->tasks) names.push_back(other.id);
    std::optional<std::string> nearest = Nearest(task, names);
    return StrCat("there is no task ", task, nearest ? StrCat("; did you mean ", *nearest, "?") : "");
  }
  if (!known->rule().enabled) return StrCat("task ", task, " is not enabled");
  std::vector<std::string> values;
  for (size_t v = 0; v < ValueCount(known->rule()); ++v) values.push_back(ValueId(known->rule(), v));
  if (value.empty()) return StrCat("task ", task, " fans out; name one with --value: ", Join(values, ", "));
  return StrCat("task ", task, " has no value ", value, "; it has ",
                values.front().empty() ? "none" : Join(values, ", "));
}

// The occurrence whose window contains now, else today's next; a date or an instant chooses another.
std::optional<Instant> EngineState::ChooseOccurrence(const Lane& lane, const TriggerRequest& trigger,
                                                     std::string* problem) const {
  const Task& task = TaskOf(lane);
  const Zone& zone = ScheduleOf(task.rule(), lane.value).zone;
  if (trigger.at) {
    std::optional<Instant> due = NextDue(task.rule(), lane.value, *trigger.at - Millis{1});
    if (due && *due == *trigger.at) {
      // What was over before the rule was in force is nobody's: a row of it would count as missed.
      Instant ends = OccurrenceAt(task, lane.value, *due, rules->config).window.ends;
      if (ends > lane.in_force_since) return due;
      *problem =
          StrCat("the window of ", FormatLocal(*due, zone), " was over before the rule was in force (since ",
                 FormatLocal(lane.in_force_since, zone), "); run it beside its schedule with --extra");
      return std::nullopt;
    }
    *problem = StrCat("nothing is due at ", FormatUtc(*trigger.at),
                      due ? StrCat("; the next is ", FormatLocal(*due, zone)) : "");
    return std::nullopt;
  }
  if (trigger.date) return ChooseByDate(lane, *trigger.date, problem);
  std::optional<Instant> before = PreviousDue(task.rule(), lane.value, now + Millis{1});
  for (int i = 0; i < kOccurrencesTried && before; ++i) {
    Occurrence occurrence = OccurrenceAt(task, lane.value, *before, rules->config);
    if (occurrence.window.Contains(now)) return before;
    if (occurrence.window.ends <= now) break;
    before = PreviousDue(task.rule(), lane.value, *before);
  }
  std::optional<Instant> next = NextDue(task.rule(), lane.value, now);
  if (next && zone.ToLocal(*next).civil.day == zone.ToLocal(now).civil.day) return next;
  *problem = StrCat("no occurrence of ", task.id, " has its window open now and none is due later today",
                    next ? StrCat(" (next: ", FormatLocal(*next, zone), ")") : "",
                    "; choose one with --date or --at, or run it beside its schedule with --extra");
  return std::nullopt;
}

namespace {

// The occurrences of one business date, however many there are.
struct DatedOccurrences {
  int64_t count = 0;
  Instant first;
  Instant last;
};

// One local day, (after, through], and the business date that is looked for.
struct DayToSearch {
  CivilDay date;
  Instant after;
  Instant through;
};

// A day's business dates rise with the due time and are at most two (a window may open the day before), so
// its first and its last occurrence say which they are. Only a day of two dates is walked through.
void AddOfDay(const Task& task, size_t value, const ServerConfig& config, const DayToSearch& day,
              DatedOccurrences& fits) {
  auto fit = [&](Instant due) { return OccurrenceAt(task, value, due, config).business_date == day.date; };
  const std::optional<Instant> first = NextDue(task.rule(), value, day.after);
  if (!first || *first > day.through) return;
  const Instant last = PreviousDue(task.rule(), value, day.through + Millis{1}).value_or(*first);
  const bool first_fits = fit(*first);
  const bool last_fits = fit(last);
  if (first_fits && last_fits) {
    if (fits.count == 0) fits.first = *first;
    fits.last = last;
    fits.count += CountDue(task.rule(), value, day.after, day.through);
    return;
  }
  if (!first_fits && !last_fits) return;
  for (std::optional<Instant> due = first; due && *due <= day.through;
       due = NextDue(task.rule(), value, *due)) {
    if (!fit(*due)) continue;
    if (fits.count++ == 0) fits.first = *due;
    fits.last = *due;
  }
}

}  // namespace

std::optional<Instant> EngineState::ChooseByDate(const Lane& lane, CivilDay date,
                                                 std::string* problem) const {
  const Task& task = TaskOf(lane);
  const Zone& zone = ScheduleOf(task.rule(), lane.value).zone;
  // A business date lies at most this far from the day of the due time, holidays included.
  constexpr int kReachDays = 31;
  DatedOccurrences fits;
  for (int day = -kReachDays; day < kReachDays; ++day) {
    const Instant from = zone.Lookup({date + day, 0}).first;
    const Instant until = zone.Lookup({date + day + 1, 0}).first;
    AddOfDay(task, lane.value, rules->config, {date, from - Millis{1}, until - Millis{1}}, fits);
  }
  if (fits.count == 1) return fits.first;
  if (fits.count == 0) {
    *problem = StrCat("no occurrence of ", task.id, " has business date ", FormatDay(date));
  } else {
    *problem =
        StrCat(fits.count, " occurrences of ", task.id, " have business date ", FormatDay(date), ", from ",
               FormatUtc(fits.first), " to ", FormatUtc(fits.last), "; choose one with --at");
  }
  return std::nullopt;
}

Force ForceOf(bool forced) {
  Force force;
  force.manual = true;
  force.time = forced;
  force.pause = forced;
  force.readiness = forced;
  force.maintenance = forced;
  return force;
}

void EngineState::TriggerOpen(const Request& request, OpenRun& open, bool forced) {
  if (open.run.state == RunState::kManualRequired) {
    Refuse(request, Reason::kAwaitingPerson,
           StrCat("run ", open.run.id, " waits for a person; use: ", StartAgainText(open.run)), open.run.id);
    return;
  }
  if (open.run.state == RunState::kRunning || open.flight != OpenRun::Flight::kNone || open.asked) {
    Refuse(request, Reason::kLockOccupied,
           StrCat("run ", open.run.id, " is running (attempt ", open.run.attempts, ")"), open.run.id);
    return;
  }
  open.asked = request;
  open.force = ForceOf(forced);
  AskWithProbes(open);
}

// A person waits for the answer: what is not known yet is looked at first, then the answer is given.
void EngineState::AskWithProbes(OpenRun& open) {
  if (!open.force.readiness) {
    for (Observed& seen : open.observed) {
      if (seen.fact.answer != PreconditionFact::Answer::kYes)
        seen.fact.answer = PreconditionFact::Answer::kUnknown;
    }
  }
  Wake(open.run.id);
}

// Beside the schedule it has the window that an occurrence due now would have, where now is in it; else none,
// and nothing but the attempt that was asked for.
static Window ExtraWindow(const Task& task, size_t value, Instant now) {
  const Schedule& schedule = ScheduleOf(task.rule(), value);
  Window window =
      WindowFor(task.rule().trigger.window, now, schedule.zone, DefaultWindowLength(schedule, now));
  if (!window.Contains(now)) window.ends = now;
  window.opens = now;
  return window;
}

// Beside the schedule it is for the day on which it is asked for, as an occurrence due then would be; not for
// tomorrow, although only tomorrow's window is still to open.
static Occurrence ExtraOccurrence(const Task& task, size_t value, Instant now, const ServerConfig& config) {
  const Zone& zone = ScheduleOf(task.rule(), value).zone;
  const CivilDay today = zone.ToLocal(now).civil.day;
  Occurrence occurrence = OccurrenceAt(task, value, now, config);
  const std::optional<int32_t>& start = task.rule().trigger.window.start;
  if (!start || occurrence.window.day <= today) return occurrence;
  const Occurrence of_today = OccurrenceAt(task, value, zone.Lookup({today, *start}).first, config);
  occurrence.business_date = of_today.business_date;
  occurrence.business_date_known = of_today.business_date_known;
  return occurrence;
}

// What a person asks for and no row says: an occurrence before its time or after it was counted, one beside
// the schedule.
void EngineState::PlanByHand(const Request& request, size_t index, Instant due,
                             const TriggerRequest& trigger) {
  Lane& lane = lanes[index];
  const Task& task = TaskOf(lane);
  Run run;
  run.id = NewId('r');
  run.task = task.id;
  run.value = ValueId(task.rule(), lane.value);
  run.due = due;
  run.extra = trigger.extra;
  run.origin = trigger.extra ? TriggerKind::kManual : TriggerKind::kSchedule;
  run.identity = trigger.extra ? StrCat("manual/", run.id) : StrCat("cron/", FormatUtc(due));
  Occurrence occurrence = trigger.extra ? ExtraOccurrence(task, lane.value, due, rules->config)
                                        : OccurrenceAt(task, lane.value, due, rules->config);
  if (trigger.extra && trigger.date) {  // its key is of that date, too
    occurrence.business_date = *trigger.date;
    occurrence.business_date_known = true;
  }
  run.business_date = occurrence.business_date;
  if (trigger.extra) {
    const Window window = ExtraWindow(task, lane.value, now);
    run.window_opens = window.opens;
    run.window_ends = window.ends;
  }
  Result<std::string> key = RenderKey(task, lane.value, occurrence);
  if (!key.ok()) {
    Refuse(request, Reason::kKeyError, key.error().message(), "");
    return;
  }
  run.key = trigger.extra ? StrCat(*key, "#m1") : *key;
  Force force = ForceOf(trigger.force);
  force.time = force.time || trigger.extra;
  force.beside = trigger.extra;
  AskByHand(request, std::move(run), force);
}

// It may lie in a range of what was missed, or of excluded days, and is then taken from there.
Uncount EngineState::UncountOf(OpenRun& open, const Request& request) {
  Uncount uncount;
  bool excluded = open.occurrence.day == Occurrence::Day::kExcluded;
  uncount.reason = excluded ? Reason::kCalendarExcluded : Reason::kSchedulerDown;
  std::string who = StrCat("run by hand by ", request.by, request.reason.empty() ? "" : ": ", request.reason);
  uncount.detail = StrCat(FormatUtc(open.run.due), " was later ", who);
  std::string answer = std::move(open.last_text);
  open.last_text = StrCat("it was counted as ", ReasonName(uncount.reason), "; now ", who);
  uncount.row = DecisionOf(open, "note", uncount.reason);
  open.last_text = std::move(answer);
  return uncount;
}

// A question only, so far: it is known here and nowhere else until its claim and its row are stored together.
// Refused, it leaves no run that starts later.
void EngineState::AskByHand(const Request& request, Run run, const Force& force) {
  run.rule_version = rule_version;
  run.created_at = now;
  run.state_since = now;
  OpenRun& open = AddRun(run);
  open.unwritten = true;
  open.asked = request;
  open.force = force;
  Wake(run.id);
}

void EngineState::PlanAsked(OpenRun& open) {
  const Run& run = open.run;
  open.flight = OpenRun::Flight::kPlan;
  open.run.rule_version = rule_version;
  PlanCall call;
  call.task = run.task;
  call.value = run.value;
  PlannedRun planned;
  planned.only_with_claim = true;
  bool was_counted = !run.extra && open.lane != kNoLane && run.due <= lanes[open.lane].planned_through;
  if (was_counted) planned.uncount = UncountOf(open, *open.asked);
  planned.claim = MakeClaim(open);
  planned.run = run;
  call.runs.push_back(std::move(planned));
  Pending pending;
  pending.kind = Pending::Kind::kPlan;
  pending.runs.push_back(run.id);
  Call(std::move(call), std::move(pending));
}

}  // namespace duecourse
