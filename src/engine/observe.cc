// What a run waits for: flags are known here, other tasks' runs are asked of the store, the rest is probed.
#include <algorithm>
#include <climits>

#include "alert/shown.h"
#include "base/file.h"
#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

std::pair<std::string, int32_t> EngineState::FlagKey(const Flag& flag) {
  return {flag.name, flag.date ? flag.date->days : INT32_MIN};
}

static std::string RenderOr(const Template& text, const TemplateScope& scope, bool* good) {
  Result<std::string> out = Render(text, scope);
  if (out.ok()) return *out;
  *good = false;
  return out.error().message();
}

// Flags are answered from memory, each time anew.
void EngineState::GatherFlags(OpenRun& open) {
  const std::vector<Precondition>& list = open.task->rule().trigger.preconditions;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].type == Precondition::Type::kFlag) AnswerFlag(open, list[i].flag, open.observed[i]);
  }
}

void EngineState::AnswerFlag(OpenRun& open, const FlagCondition& condition, Observed& seen) {
  if (seen.fact.once_met_stays) return;
  TemplateScope scope = ScopeOf(*open.task, open.value, open.occurrence);
  bool good = true;
  std::string name = RenderOr(condition.name, scope, &good);
  std::string wanted = condition.value ? RenderOr(*condition.value, scope, &good) : "";
  seen.fact.at = now;
  seen.help.clear();
  if (!good) {
    seen.fact.answer = PreconditionFact::Answer::kCheckFailed;
    seen.code = "template";
    seen.text = StrCat("flag ", name, wanted);
    return;
  }
  WaitForFlag(open, name);
  std::string dated = condition.dated ? StrCat(" for ", FormatDay(open.run.business_date)) : "";
  auto it = flags.find({name, condition.dated ? open.run.business_date.days : INT32_MIN});
  bool expired = it != flags.end() && it->second.expires && *it->second.expires <= now;
  if (it == flags.end() || expired) {
    seen.fact.answer = PreconditionFact::Answer::kNo;
    seen.code = expired ? "expired" : "missing";
    seen.text = StrCat(
        "flag ", name, dated,
        expired ? StrCat(" expired at ", FormatLocal(*it->second.expires, ZoneOf(open))) : " is not set");
  } else if (condition.value && it->second.value != wanted) {
    seen.fact.answer = PreconditionFact::Answer::kNo;
    seen.code = "stale";
    seen.text = StrCat("flag ", name, " is ", it->second.value, ", need ", wanted);
  } else {
    seen.fact.answer = PreconditionFact::Answer::kYes;
    seen.code = "met";
    seen.text = StrCat("flag ", name, dated, " was set by ", it->second.by);
    MarkMet(open, seen);
    return;
  }
  seen.help = StrCat(options.program, " flag set ", ShellQuoted(name),
                     condition.dated ? StrCat(" --date ", FormatDay(open.run.business_date)) : " --undated",
                     condition.value ? StrCat(" --value ", ShellQuoted(wanted)) : "");
}

// Starts looking at everything that is not known; the answers wake the run.
void EngineState::Observe(OpenRun& open) {
  const std::vector<Precondition>& list = open.task->rule().trigger.preconditions;
  for (size_t i = 0; i < list.size(); ++i) {
    Observed& seen = open.observed[i];
    bool fresh =
        seen.fact.once_met_stays || IsFresh(seen.fact, now, open.task->rule().trigger.check_interval);
    if (fresh || seen.ticket != 0) continue;
    if (list[i].type == Precondition::Type::kFlag) continue;
    seen.ticket = next_ticket++;
    if (list[i].type == Precondition::Type::kTask) {
      AskUpstream(open, i);
    } else {
      StartProbe(open, i);
    }
  }
}

void EngineState::AskUpstream(OpenRun& open, size_t index) {
  const TaskCondition& condition = open.task->rule().trigger.preconditions[index].task;
  TemplateScope scope = ScopeOf(*open.task, open.value, open.occurrence);
  bool good = true;
  FindRunsCall call;
  call.task = RenderOr(condition.task, scope, &good);
  if (call.task == "self") call.task = open.task->id;
  if (condition.key) call.key = RenderOr(*condition.key, scope, &good);
  if (!good) {
    open.observed[index].ticket = 0;
    Settle(open, index, PreconditionFact::Answer::kCheckFailed, "template",
           StrCat(call.task, call.key.value_or("")));
    return;
  }
  if (!condition.key) {
    bool previous = condition.business_date == TaskCondition::Date::kPreviousDay;
    call.business_date = open.run.business_date - (previous ? 1 : 0);
    call.due_at_or_before = open.run.due;
    const Task* upstream = rules->Find(call.task);
    size_t value = 0;
    if (upstream != nullptr && !open.run.value.empty() &&
        FindValue(upstream->rule(), open.run.value, &value)) {
      call.value = open.run.value;
    }
  }
  WaitForTask(open, call.task);
  Pending pending;
  pending.kind = Pending::Kind::kFindRuns;
  pending.runs.push_back(open.run.id);
  pending.index = index;
  pending.ticket = open.observed[index].ticket;
  Call(std::move(call), std::move(pending));
}

static void RenderFile(const OpenRun& open, const FileCondition& file, TemplateScope& scope,
                       ProbeRequest& request, bool* good) {
  request.path = JoinPath(request.folder, RenderOr(file.path, scope, good));
  scope.path = request.path;
  if (file.first_line) request.first_line = RenderOr(*file.first_line, scope, good);
  if (file.checksum) {
    request.checksum = RenderOr(*file.checksum, scope, good);
    bool is_path = request.checksum.find_first_of("./") != std::string::npos;
    if (is_path) request.checksum = JoinPath(request.folder, request.checksum);
  }
  switch (file.modified_after) {
    case FileCondition::ModifiedAfter::kNone:
      break;
    case FileCondition::ModifiedAfter::kBusinessDate:
      request.modified_after =
          ScheduleOf(open.task->rule(), open.value).zone.Lookup({open.run.business_date, 0}).transition;
      break;
    case FileCondition::ModifiedAfter::kDue:
      request.modified_after = open.run.due;
      break;
    case FileCondition::ModifiedAfter::kWindowStart:
      request.modified_after = open.run.window_opens;
      break;
  }
}

void EngineState::StartProbe(OpenRun& open, size_t index) {
  const Task& task = *open.task;
  const Precondition& condition = task.rule().trigger.preconditions[index];
  TemplateScope scope = ScopeOf(task, open.value, open.occurrence);
  bool good = true;
  ProbeRequest request;
  request.ticket = open.observed[index].ticket;
  request.rule = task.body;
  request.condition = &condition;
  request.timeout = condition.timeout;
  request.folder = AbsolutePath(rules->files[task.file].folder);
  std::string share = StrCat(static_cast<int>(condition.type), "\x1f", request.folder);
  if (condition.type == Precondition::Type::kFile) {
    RenderFile(open, condition.file, scope, request, &good);
    share += StrCat("\x1f", request.path, "\x1f", request.first_line, "\x1f", request.checksum, "\x1f",
                    request.modified_after ? request.modified_after->ms : 0, "\x1f",
                    condition.file.min_rows.value_or(-1), "\x1f", condition.file.min_bytes.value_or(-1),
                    "\x1f", condition.file.stable_for.count);
  } else if (condition.type == Precondition::Type::kHttp) {
    request.url = RenderOr(condition.http.url, scope, &good);
    for (const auto& [name, value] : condition.http.headers) {
      if (!value.secret) request.headers.emplace_back(name, RenderOr(value.text, scope, &good));
    }
    if (condition.http.body && !condition.http.body->secret)
      request.body = RenderOr(condition.http.body->text, scope, &good);
    share += StrCat("\x1f", condition.http.method, " ", request.url, "\x1f", request.body);
    for (const auto& [name, value] : request.headers) share += StrCat("\x1f", name, ": ", value);
    for (const auto& [pointer, value] : condition.http.expect.json)
      share += StrCat("\x1f", pointer, "=", value.Dump());
  } else {
    for (const Template& part : condition.command.argv) {
      request.argv.push_back(RenderOr(part, scope, &good));
      share += StrCat("\x1f", request.argv.back());
    }
  }
  if (!good) {
    open.observed[index].ticket = 0;
    Settle(open, index, PreconditionFact::Answer::kCheckFailed, "template",
           "a name in this precondition cannot be rendered");
    return;
  }
  request.share_key = std::move(share);
  probes[request.ticket] = {open.run.id, index};
  Emit(ProbeStart{std::move(request)});
}

void EngineState::OnProbe(const ProbeAnswer& answer) {
  auto it = probes.find(answer.ticket);
  if (it == probes.end()) return;  // its run is over, or the rule changed meanwhile
  auto [run_id, index] = it->second;
  probes.erase(it);
  OpenRun* open = FindRun(run_id);
  if (open == nullptr || index >= open->observed.size() || open->observed[index].ticket != answer.ticket)
    return;
  open->observed[index].ticket = 0;
  Settle(*open, index, answer.answer, answer.code, answer.text);
}

void EngineState::MarkMet(const OpenRun& open, Observed& seen) {
  seen.fact.once_met_stays = !open.task->rule().retry.only_if_data_ready;
}

std::string MetOf(const OpenRun& open) {
  std::string met = open.run.met;
  for (const Observed& seen : open.observed) {
    if (!seen.fact.once_met_stays || met.find(seen.mark) != std::string::npos) continue;
    met += StrCat(met.empty() ? "" : " ", seen.mark);
  }
  return met;
}

// An answer is there: when no look is under way any more the run is asked again.
void EngineState::Settle(OpenRun& open, size_t index, PreconditionFact::Answer answer,
                         const std::string& code, const std::string& text) {
  Observed& seen = open.observed[index];
  seen.fact.answer = answer;
  seen.fact.at = now;
  seen.fact.this_round = true;
  seen.code = code;
  seen.text = text;
  if (answer == PreconditionFact::Answer::kYes) MarkMet(open, seen);
  bool busy = std::any_of(open.observed.begin(), open.observed.end(),
                          [](const Observed& o) { return o.ticket != 0; });
  if (!busy) Wake(open.run.id);
}

// Of an upstream that fans out all values must be there, unless this run asks for its own only: the first
// that is not.
static std::string AbsentValue(const Task* upstream, const OpenRun& open, const std::vector<Run>& found) {
  size_t own = 0;
  if (upstream == nullptr || ValueCount(upstream->rule()) < 2) return "";
  if (!open.run.value.empty() && FindValue(upstream->rule(), open.run.value, &own)) return "";
  for (size_t v = 0; v < ValueCount(upstream->rule()); ++v) {
    const std::string& id = ValueId(upstream->rule(), v);
    if (std::none_of(found.begin(), found.end(), [&](const Run& run) { return run.value == id; })) return id;
  }
  return "";
}

// How many days of an upstream are looked through for the business date that this run asks for.
static constexpr int kUpstreamDays = 62;

// The newest occurrence due at or before `mine` for that business date, or nothing. Business dates rise with
// the due time, so a day whose first occurrence is for a later date is passed over as a whole.
static std::optional<Instant> LatestDue(const Task& upstream, size_t value, CivilDay date, Instant mine,
                                        const ServerConfig& config) {
  const RuleBody& rule = upstream.rule();
  auto date_of = [&](Instant due) { return OccurrenceAt(upstream, value, due, config).business_date; };
  const Zone& zone = ScheduleOf(rule, value).zone;
  std::optional<Instant> due = PreviousDue(rule, value, mine + Millis{1});
  for (int day = 0; day < kUpstreamDays && due; ++day) {
    const Instant begin = zone.Lookup({zone.ToLocal(*due).civil.day, 0}).first;
    const Instant first = std::min(NextDue(rule, value, begin - Millis{1}).value_or(*due), *due);
    if (date < date_of(first)) {
      due = PreviousDue(rule, value, first);
      continue;
    }
    while (due && *due >= first && date < date_of(*due)) due = PreviousDue(rule, value, *due);
    if (!due || date_of(*due) < date) return std::nullopt;
    return due;
  }
  return std::nullopt;
}

// An occurrence between the run that was found and this one that has no run, because nobody was there when it
// was due: the older success does not stand for it. Empty where there is none.
static std::string NeverRan(EngineCore& core, const OpenRun& open, const TaskCondition& condition,
                            const std::vector<Run>& found) {
  bool previous = condition.business_date == TaskCondition::Date::kPreviousDay;
  CivilDay date = open.run.business_date - (previous ? 1 : 0);
  for (const Run& run : found) {
    const Lane* lane = core.FindLane(run.task, run.value);
    if (lane == nullptr || run.extra) continue;
    std::optional<Instant> due =
        LatestDue(core.TaskOf(*lane), lane->value, date, open.run.due, core.rules->config);
    if (due && *due > run.due && *due > lane->in_force_since)
      return StrCat(run.task, " of ",
                    FormatLocal(*due, ScheduleOf(core.TaskOf(*lane).rule(), lane->value).zone),
                    " never ran; the last before it is ", run.key.value_or(run.id));
  }
  return "";
}

// What makes an upstream that ended otherwise a success. Where one key is asked for, the new run of another
// key would not be it.
static std::string HelpFor(const Run& run, const TaskCondition& condition, const Task* upstream) {
  const std::string rerun = StrCat("duecourse manual rerun ", run.id);
  if (run.state == RunState::kManualRequired && !run.key)
    return StrCat("duecourse manual resolve ", run.id, " --reason \"why\"");
  if (run.state == RunState::kManualRequired) return StrCat(rerun, " --reason \"why\"");
  const bool allowed = upstream != nullptr && upstream->rule().supersede != Supersede::kNever;
  if (!IsFinal(run.state) || condition.key || !run.key || !allowed) return "";
  return StrCat(rerun, " --supersede --reason \"why\"");
}

// The store's answer about an upstream task.
void EngineState::OnUpstream(OpenRun& open, const Pending& pending, const std::vector<Run>& found) {
  size_t index = pending.index;
  // Another set of rules may ask something else, or nothing, by now.
  bool asked_now =
      open.task != nullptr && index < open.observed.size() && open.observed[index].ticket == pending.ticket;
  if (!asked_now) return;
  open.observed[index].ticket = 0;
  open.observed[index].help.clear();
  const TaskCondition& condition = open.task->rule().trigger.preconditions[index].task;
  TemplateScope scope = ScopeOf(*open.task, open.value, open.occurrence);
  bool good = true;
  std::string task = RenderOr(condition.task, scope, &good);
  if (task == "self") task = open.task->id;
  for (const Run& run : found) {
    bool met = condition.ended ? IsFinal(run.state) || run.state == RunState::kManualRequired
                               : run.state == RunState::kSuccess;
    if (met) continue;
    std::string name = run.key ? *run.key : StrCat(task, " ", FormatDay(run.business_date));
    std::string text = StrCat(name, " is ", RunStateName(run.state));
    if (run.state == RunState::kRunning) text += StrCat(" (attempt ", run.attempts, ")");
    if (!IsOpen(run.state)) text += StrCat(" (", ReasonName(run.reason), ", run ", run.id, ")");
    if (IsFinal(run.state)) text += " and will not become so by itself";
    open.observed[index].help = HelpFor(run, condition, rules->Find(run.task));
    Settle(open, index, PreconditionFact::Answer::kNo, RunStateName(run.state), text);
    return;
  }
  const Task* upstream = rules->Find(task);
  std::string absent = condition.key ? "" : AbsentValue(upstream, open, found);
  if (!found.empty() && absent.empty()) {
    std::string never = condition.key ? "" : NeverRan(*this, open, condition, found);
    if (!never.empty()) {
      Settle(open, index, PreconditionFact::Answer::kNo, "missed", never);
      return;
    }
    Settle(open, index, PreconditionFact::Answer::kYes, "met", StrCat(task, " succeeded"));
    return;
  }
  std::string text = StrCat(task, absent.empty() ? "" : " ", absent, " has not started");
  if (upstream != nullptr) {
    std::optional<Instant> due = NextDue(upstream->rule(), 0, now);
    if (due) text += StrCat(" (due ", FormatLocal(*due, ScheduleOf(upstream->rule(), 0).zone), ")");
  } else {
    text = StrCat("there is no task ", task);
  }
  Settle(open, index, PreconditionFact::Answer::kNo, "not_started", text);
}

// A push: whoever waits for this task is asked again at once, and looks anew.
void EngineState::WakeWaitersOfTask(const std::string& task) {
  auto it = task_waiters.find(task);
  if (it == task_waiters.end()) return;
  std::set<std::string> waiting = it->second;
  for (const std::string& id : waiting) {
    OpenRun* open = FindRun(id);
    if (open == nullptr) continue;
    for (size_t i = 0; i < open->observed.size() && open->task != nullptr; ++i) {
      bool about_task = open->task->rule().trigger.preconditions[i].type == Precondition::Type::kTask;
      Observed& seen = open->observed[i];
      if (about_task && seen.fact.answer != PreconditionFact::Answer::kYes)
        seen.fact.answer = PreconditionFact::Answer::kUnknown;
    }
    Wake(id);
  }
}

void EngineState::WakeWaitersOfFlag(const std::string& name) {
  auto it = flag_waiters.find(name);
  if (it == flag_waiters.end()) return;
  for (const std::string& id : it->second) Wake(id);
}

void EngineState::SetFlag(const Flag& flag, bool remove) {
  if (remove) {
    flags.erase(FlagKey(flag));
  } else {
    flags[FlagKey(flag)] = flag;
  }
  WakeWaitersOfFlag(flag.name);
}

}  // namespace duecourse
