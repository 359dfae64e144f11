// From what the store knew to the engine's memory: at start, and after a commit whose outcome nobody knows.
#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "base/wall_guard.h"
#include "engine/state.h"
#include "rule/print_parts.h"

namespace duecourse {

static std::string DstText(const DstRule& dst) {
  return StrCat(static_cast<int>(dst.gap), static_cast<int>(dst.overlap));
}

std::string ScheduleFingerprint(const Schedule& schedule) {
  std::string text = schedule.zone.name();
  if (const auto* cron = std::get_if<CronSchedule>(&schedule.kind)) {
    text += StrCat(" cron ", cron->cron.expression(), " ", DstText(cron->dst));
  } else if (const auto* every = std::get_if<EverySchedule>(&schedule.kind)) {
    text += StrCat(" every ", every->every.count, " ", every->anchor.ms);
  } else {
    for (CivilTime at : std::get<AtSchedule>(schedule.kind).at)
      text += StrCat(" at ", at.day.days, "+", at.second);
  }
  return Sha256Hex(text).substr(0, 16);
}

void EngineState::Begin(const OpenReply& opened, const Snapshot& snapshot,
                        std::vector<std::pair<std::string, std::string>> texts) {
  rule_version = opened.version;
  Adopt(snapshot);
  bool same = opened.rules_hash == rules->hash && opened.version > 0;
  BuildLanes(snapshot.cursors, !same, std::move(texts));
  AdoptRuns(snapshot);
  ArmFold();
  FlushCalls();  // what is open is asked in the first step, after what came due meanwhile
  last_alive = std::min(std::max(last_alive, snapshot.last_alive), now);
  found_alive = snapshot.last_alive;
  NoteDowntime(snapshot.last_alive);
  if (snapshot.last_alive > now + kWallSkew) SendNotice(NoticeOfLeap({now - snapshot.last_alive, true}, now));
}

void EngineState::Resync(const Snapshot& snapshot, const std::optional<OpenReply>& reopened,
                         RuleTexts texts) {
  AnswerUnknown();
  std::map<std::string, std::unique_ptr<OpenRun>> before = std::move(runs);
  runs.clear();
  flights.clear();
  calls.clear();
  call_pendings.clear();
  probes.clear();
  late_counts.clear();
  dirty.clear();
  task_waiters.clear();
  flag_waiters.clear();
  flags.clear();
  controls.clear();
  for (auto& [name, pool] : pools) pool = PoolState();
  DropTimersOfRows();
  // An older copy may have been put in its place: its versions are the ones that claims are held against.
  control_version = 0;
  bool activate = activating;
  if (reopened) {
    rule_version = reopened->version;
    activate = activate || reopened->rules_hash != rules->hash;
  }
  Adopt(snapshot);
  waiting_lanes.clear();
  BuildLanes(snapshot.cursors, activate, activating ? std::move(activating_texts) : std::move(texts));
  former = std::move(before);
  AdoptRuns(snapshot);
  EndOrphans();
  former.clear();
  FlushCalls();
}

// Attempts of ours that the store knows nothing of, or knows the end of. Those that are over are forgotten as
// after any ending; those that still run have no claim any more, and what they would report is nobody's.
void EngineCore::EndOrphans() {
  for (const auto& [id, old] : former) {
    if (!old->executing && !old->finishing) continue;
    const OpenRun* now_open = FindRun(id);
    const bool goes_on = now_open != nullptr && now_open->run.state == RunState::kRunning &&
                         now_open->run.fence == old->run.fence;
    if (goes_on) continue;
    if (old->ended || old->finishing) {
      if (!old->alive) Emit(AttemptForget{{id, old->run.fence, old->run.attempts}});
      continue;
    }
    Say(LogLevel::kError, "attempt_orphaned",
        Json::MakeObject().Set("run", id).Set("fence", old->run.fence).Set("attempt", old->run.attempts));
    Emit(AttemptKill{{id, old->run.fence, old->run.attempts}, KillWhy::kLeaseLost});
  }
}

// People whose answers were on their way: nobody knows whether what they asked for was stored.
void EngineState::AnswerUnknown() {
  const char* text =
      "the store failed while this was being stored, so nobody knows whether it was; look at the run or list "
      "before you ask again";
  auto answer = [&](const std::vector<Pending>& pendings) {
    for (const Pending& pending : pendings) {
      if (pending.request) Reply(*pending.request, Answer::Kind::kProblem, text, Json::MakeObject());
    }
  };
  for (const auto& [ticket, pendings] : flights) answer(pendings);
  answer(call_pendings);
  for (const auto& [id, open] : runs) {
    if (open->asked) Reply(*open->asked, Answer::Kind::kProblem, text, Json::MakeObject());
  }
}

void EngineState::Adopt(const Snapshot& snapshot) {
  if (last_alive == kLongAgo) last_alive = snapshot.last_alive;
  for (const Control& control : snapshot.controls) {
    controls[control.scope] = control;
    control_version = std::max(control_version, control.version);
  }
  for (const Flag& flag : snapshot.flags) flags[FlagKey(flag)] = flag;
  for (const AlertRow& alert : snapshot.pending_alerts) {
    alerts[alert.id] = alert;
    ArmAlert(alert);
  }
  ahead.clear();
  for (const RunAhead& one : snapshot.ahead) ahead[{one.task, one.value}].insert(one.due);
  pool_last_start.clear();
  for (const auto& [pool, at] : snapshot.pool_last_start) pool_last_start[pool] = at;
}

bool TurnBack(Lane& lane, Instant now) {
  const bool ahead = lane.planned_through > now + kWallSkew || lane.in_force_since > now + kWallSkew;
  if (ahead) {
    lane.planned_through = std::min(lane.planned_through, now);
    lane.in_force_since = std::min(lane.in_force_since, now);
  }
  if (lane.last_start > now + kWallSkew) lane.last_start = now;
  return ahead;
}

void TurnBack(Breaker& breaker, Millis cooldown, Instant now) {
  if (breaker.open && breaker.until) breaker.until = std::min(*breaker.until, now + cooldown);
}

// One lane for each enabled (task, value). A new lane, or one whose schedule changed, owes nothing from
// before now.
void EngineState::BuildLanes(const std::vector<TaskCursor>& cursors, bool activate,
                             std::vector<std::pair<std::string, std::string>> texts) {
  std::unordered_map<std::string, const TaskCursor*> known;
  known.reserve(cursors.size());
  for (const TaskCursor& cursor : cursors) {
    if (cursor.active) known.emplace(StrCat(cursor.task, "\x1f", cursor.value), &cursor);
  }
  lanes.clear();
  lane_timers = {};  // all of a former set
  first_lane.assign(rules->tasks.size(), kNoFirstLane);
  lanes.reserve(rules->tasks.size());
  ++lane_generation;
  ActivateCall call;
  for (uint32_t t = 0; t < rules->tasks.size(); ++t) {
    const RuleBody& rule = rules->tasks[t].rule();
    if (!rule.enabled) continue;
    for (uint32_t v = 0; v < ValueCount(rule); ++v) {
      auto it = known.find(StrCat(rules->tasks[t].id, "\x1f", ValueId(rule, v)));
      std::string print = ScheduleFingerprint(ScheduleOf(rule, v));
      Lane lane;
      if (it != known.end() && it->second->schedule == print) {
        lane.in_force_since = it->second->in_force_since;
        lane.planned_through = it->second->planned_through;
        if (it->second->last_start) lane.last_start = *it->second->last_start;
        known.erase(it);
        if (TurnBack(lane, now))
          call.cursors.push_back(CursorOf(rules->tasks[t].id, ValueId(rule, v), lane, print));
      } else {
        lane.in_force_since = now;
        lane.planned_through = now;
        if (it != known.end()) {
          if (it->second->last_start) lane.last_start = *it->second->last_start;
          known.erase(it);
        }
        call.cursors.push_back(CursorOf(rules->tasks[t].id, ValueId(rule, v), lane, print));
      }
      AddLane(t, v, std::move(lane));
    }
  }
  for (const auto& [key, cursor] : known) {
    TaskCursor gone = *cursor;
    gone.active = false;
    call.cursors.push_back(std::move(gone));
  }
  std::sort(call.cursors.begin(), call.cursors.end(), [](const TaskCursor& a, const TaskCursor& b) {
    return std::tie(a.task, a.value) < std::tie(b.task, b.value);
  });
  if (activate || !call.cursors.empty()) Activate(std::move(call), std::move(texts), "start");
  for (size_t i = 0; i < lanes.size(); ++i) ArmLane(i);
}

TaskCursor EngineState::CursorOf(const std::string& task, const std::string& value, const Lane& lane,
                                 const std::string& print) const {
  TaskCursor cursor;
  cursor.task = task;
  cursor.value = value;
  cursor.in_force_since = lane.in_force_since;
  cursor.planned_through = lane.planned_through;
  if (lane.last_start > kLongAgo) cursor.last_start = lane.last_start;
  cursor.schedule = print;
  return cursor;
}

void EngineState::Activate(ActivateCall call, std::vector<std::pair<std::string, std::string>> texts,
                           const std::string& by) {
  call.version.hash = rules->hash;
  call.version.at = now;
  call.version.by = by;
  call.version.tasks = static_cast<int64_t>(rules->tasks.size());
  activating = true;
  activating_texts = std::move(texts);
  call.texts = activating_texts;
  Pending pending;
  pending.kind = Pending::Kind::kActivate;
  Call(std::move(call), std::move(pending));
}

// What happened before this daemon is told by it too: the newest failures of each run.
static std::unordered_map<std::string, std::vector<Attempt>> FailuresOf(const Snapshot& snapshot) {
  std::unordered_map<std::string, std::vector<Attempt>> failures;
  for (const Attempt& attempt : snapshot.failed) {
    std::vector<Attempt>& told = failures[attempt.run_id];
    if (told.size() < kFailuresTold) told.push_back(attempt);
  }
  return failures;
}

void EngineState::AdoptRuns(const Snapshot& snapshot) {
  idle_breakers.clear();
  for (const Breaker& breaker : snapshot.breakers) {
    Lane* lane = FindLane(breaker.task, breaker.value);
    if (lane == nullptr) {
      idle_breakers[{breaker.task, breaker.value}] = breaker;
      idle_breakers[{breaker.task, breaker.value}].trial_run.clear();
      continue;
    }
    lane->breaker = std::make_unique<Breaker>(breaker);
    TurnBack(*lane->breaker, TaskOf(*lane).rule().retry.breaker_cooldown, now);
    // A trial that was noted and never claimed is nobody's.
    bool under_way = std::any_of(snapshot.open_runs.begin(), snapshot.open_runs.end(), [&](const Run& run) {
      return run.id == breaker.trial_run && run.state == RunState::kRunning;
    });
    if (!under_way) lane->breaker->trial_run.clear();
  }
  std::unordered_map<std::string, std::vector<Attempt>> failures = FailuresOf(snapshot);
  for (const Run& run : snapshot.open_runs) {
    OpenRun& open = AddRun(run);
    open.failures = std::move(failures[run.id]);
    if (open.task == nullptr && run.state != RunState::kRunning && run.state != RunState::kManualRequired) {
      MoveRun(open, {RunState::kSkipped, Reason::kRuleRemoved,
                     StrCat(GoneText(run), " (changed while the daemon was stopped)")});
      continue;
    }
    if (run.state != RunState::kRunning) {
      // Processes of a lost attempt may have outlived the look at them.
      open.inspecting = run.reason == Reason::kAttemptLost || run.reason == Reason::kStuck;
      if (open.inspecting) Emit(AttemptInspect{{run.id, run.fence, run.attempts}, true});
      Wake(run.id);
      continue;
    }
    for (const Attempt& attempt : snapshot.unfinished) {
      if (attempt.run_id != run.id || attempt.fence != run.fence) continue;
      open.claim_kind = attempt.kind;
      open.claimed_at = attempt.claimed_at;
    }
    AdoptRunning(open);
  }
}

// One of ours goes on. One that this daemon does not run, a former one's or a claim of ours whose reply was
// lost, is looked at first; only its own key waits for that.
void EngineState::AdoptRunning(OpenRun& open) {
  Reserve(open);
  auto old = former.find(open.run.id);
  bool ours = old != former.end() && old->second->run.fence == open.run.fence &&
              (old->second->executing || old->second->finishing);
  if (!ours) {
    open.inspecting = true;
    Emit(AttemptInspect{{open.run.id, open.run.fence, open.run.attempts},
                        open.run.boot_id == options.boot_id});
    return;
  }
  open.executing = true;
  open.rules = old->second->rules;
  open.task = old->second->task;
  open.occurrence = old->second->occurrence;
  open.run.window_opens = old->second->run.window_opens;  // of the rule it was claimed with, too
  open.run.window_ends = old->second->run.window_ends;
  open.claim_kind = old->second->claim_kind;
  open.start_limit = old->second->start_limit;
  if (!old->second->finishing) open.failures = old->second->failures;
  open.killed = old->second->killed;
  open.ending_cause = old->second->ending_cause;
  open.renew_at = now;
  ArmRun(open, now);
  std::optional<Ending>& ended = old->second->finishing ? old->second->finishing : old->second->ended;
  if (ended) {
    FinishAttempt(open, std::move(*ended));
  } else {
    ObeyCancel(open);
  }
}

// The run in memory, bound to the active rule.
OpenRun& EngineState::AddRun(const Run& run) {
  auto open = std::make_unique<OpenRun>();
  open->run = run;
  JoinLane(*open);
  OpenRun& ref = *open;
  runs[run.id] = std::move(open);
  Bind(ref);
  return ref;
}

// What names a condition in Run::met, whatever its place in the rule: what it asks, not how long one waits
// for its answer.
static std::string MarkOf(Precondition condition) {
  condition.why.clear();
  condition.timeout = {};
  condition.max_age = {};
  return Sha256Hex(WriteYaml(PreconditionTree(condition, true))).substr(0, 12);
}

static void RecallMet(const Run& run, const Precondition& condition, Observed& seen) {
  seen.mark = MarkOf(condition);
  if (run.met.find(seen.mark) == std::string::npos) return;
  seen.fact.once_met_stays = true;
  seen.fact.answer = PreconditionFact::Answer::kYes;
  seen.fact.at = run.state_since;
  seen.code = "met";
  seen.text = "was met before in this run and is not read again";
}

// Open runs keep due instant and key, and are judged by the new window, retry and preconditions from here on.
void EngineState::Bind(OpenRun& open) {
  const Task* task = nullptr;
  size_t value = 0;
  if (open.lane != kNoLane) {
    task = &TaskOf(lanes[open.lane]);
    value = lanes[open.lane].value;
  } else {
    task = rules->Find(open.run.task);  // a disabled rule still judges its open runs
    if (task != nullptr && !FindValue(task->rule(), open.run.value, &value)) task = nullptr;
  }
  if (task == nullptr && open.task != nullptr) {
    open.gone_rules = open.rules;
    open.gone_task = open.task;
  }
  open.rules = rules;
  open.task = task;
  open.value = value;
  open.observed.clear();
  StopWaiting(open);
  if (task == nullptr) return;
  open.occurrence = OccurrenceAt(*task, value, open.run.due, rules->config);
  open.occurrence.business_date = open.run.business_date;
  if (open.run.extra) {
    open.occurrence.window = {open.run.window_opens, open.run.window_ends, open.run.business_date, true};
    open.occurrence.day = Occurrence::Day::kOpen;
  } else {
    open.run.window_opens = open.occurrence.window.opens;
    open.run.window_ends = open.occurrence.window.ends;
  }
  open.observed.assign(task->rule().trigger.preconditions.size(), Observed());
  for (size_t i = 0; i < open.observed.size(); ++i) {
    const Precondition& condition = task->rule().trigger.preconditions[i];
    open.observed[i].fact.max_age = condition.max_age;
    open.observed[i].fact.invalid_calls_person = condition.on_invalid_manual;
    if (!task->rule().retry.only_if_data_ready) RecallMet(open.run, condition, open.observed[i]);
  }
  if (IsOpen(open.run.state)) SetStuckLimit(open);
}

bool FindValue(const RuleBody& rule, const std::string& id, size_t* index) {
  for (size_t v = 0; v < ValueCount(rule); ++v) {
    if (ValueId(rule, v) == id) {
      *index = v;
      return true;
    }
  }
  return false;
}

}  // namespace duecourse
