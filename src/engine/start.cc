// Starts, heartbeats and kills of attempts.
#include <algorithm>

#include "decide/begin.h"
#include "engine/attempt.h"
#include "engine/state.h"

namespace duecourse {

// When the rule ends an attempt that runs. What a person started after the window's end was meant to run all
// the same.
static Instant KillInstant(const OpenRun& open) {
  const bool kills = open.executing && open.task != nullptr &&
                     open.task->rule().execution.kill_at_window_end && open.claimed_at < open.run.window_ends;
  return kills ? open.run.window_ends : kNever;
}

// From then on what has not begun may not begin: its time is over, or a maintenance begins.
static Instant NextLook(const OpenRun& open, const ServerConfig& config, Instant now) {
  Instant next = open.task == nullptr ? kNever : NextMaintenance(config, *open.task, now);
  for (const Instant end : {open.run.window_ends, open.start_limit}) {
    if (end > now) next = std::min(next, end);
  }
  return next;
}

void EngineState::StartAttempt(OpenRun& open) {
  open.killed.reset();
  open.ending_cause.clear();
  std::string problem;
  StartRequest start = RenderAttempt(
      {open.rules.get(), open.task, open.value, &open.occurrence, &open.run, open.claim_kind, now}, &problem);
  open.executing = true;
  SetStuckLimit(open);
  open.renew_at = now + open.task->rule().trigger.lease_heartbeat;
  ArmRun(open, NextLook(open, rules->config, now));
  LogStart(open);
  if (problem.empty()) {
    Emit(AttemptStart{std::move(start)});
    AskBegin(open);  // what changed while the claim was stored; where a slot is free it has begun
    return;
  }
  Ending ending;
  ending.kind = Ending::Kind::kExit;
  ending.code = 78;  // EX_CONFIG: the rule cannot be carried out as it is written
  ending.summary = problem;
  OnEnded(start.ref, std::move(ending));
}

// Each attempt's line carries the rule's zone, the planned instant in both, and the next due.
void EngineState::LogStart(const OpenRun& open) {
  if (options.log_least > LogLevel::kInfo) return;
  const Zone& zone = ScheduleOf(open.task->rule(), open.value).zone;
  Json line = Json::MakeObject();
  line.Set("task_id", open.run.task).Set("run", open.run.id).Set("business_key", open.run.key.value_or(""));
  line.Set("attempt", open.run.attempts)
      .Set("fence", open.run.fence)
      .Set("trigger", TriggerKindName(open.claim_kind));
  line.Set("target_date", FormatDay(open.run.business_date)).Set("decision", "run");
  line.Set("reason", ReasonName(StartReason(open)))
      .Set("detail", Json::MakeObject().Set("text", open.run.detail));
  line.Set("node_id", options.node).Set("rule_version", rule_version);
  line.Set("zone", zone.name()).Set("host_zone", options.host_zone);
  line.Set("planned", FormatUtc(open.run.due)).Set("planned_local", FormatLocal(open.run.due, zone));
  line.Set("lag_ms", (open.claimed_at - open.occurrence.starts).count);
  if (open.lane != kNoLane && lanes[open.lane].next_due < kNever)
    line.Set("next_due", FormatUtc(lanes[open.lane].next_due));
  Say(LogLevel::kInfo, "attempt_claimed", std::move(line));
}

void EngineState::KillAttempt(OpenRun& open, KillWhy why, const std::string& cause) {
  if (!open.executing || open.killed) return;
  open.killed = why;
  open.ending_cause = cause;
  Emit(AttemptKill{{open.run.id, open.run.fence, open.run.attempts}, why});
}

static const char* WithdrawnText(Reason reason) {
  if (reason == Reason::kDraining) return "the daemon stopped";
  if (reason == Reason::kPaused) return "its task was paused";
  if (reason == Reason::kRuleRemoved) return "its rule was removed";
  if (reason == Reason::kExceededMaxDelay) return "max_delay ended";
  return reason == Reason::kMaintenanceWindow ? "a maintenance began" : "its window ended";
}

void EngineCore::AskBegin(const OpenRun& open) {
  if (!open.executing) return;
  BeginFacts facts;
  facts.now = now;
  facts.ends = open.run.window_ends;
  facts.start_limit = open.start_limit;
  facts.gone = open.lane == kNoLane;
  facts.draining = draining;
  facts.by_hand = open.claim_kind == TriggerKind::kManual;
  int index = -1;
  if (open.task != nullptr) {
    facts.paused = PauseOf(*open.task) != nullptr;
    facts.maintenance_until = MaintenanceUntil(*open.task, &index);
  }
  if (std::optional<Reason> no = MayNotBegin(facts))
    Emit(AttemptWithdraw{{open.run.id, open.run.fence, open.run.attempts}, WithdrawnText(*no)});
}

// A running attempt's timer: its heartbeat, and the end of its window.
void EngineState::OnRunningTimer(OpenRun& open) {
  if (open.stuck_at <= now) TellStuck(open);
  bool nobodys = !open.executing && !open.inspecting && open.flight == OpenRun::Flight::kNone;
  if (nobodys) {
    AdoptRunning(open);
    return;
  }
  if (open.renew_at <= now && open.task != nullptr) {
    if (store_available && open.executing && open.flight == OpenRun::Flight::kNone) {
      Pending pending;
      pending.kind = Pending::Kind::kRenew;
      pending.runs.push_back(open.run.id);
      Call(RenewCall{open.run.id, open.run.fence, open.task->rule().trigger.lease_ttl}, std::move(pending));
    }
    open.renew_at = open.executing ? now + open.task->rule().trigger.lease_heartbeat : kNever;
  }
  AskBegin(open);
  if (KillInstant(open) <= now)
    KillAttempt(open, KillWhy::kWindowEnd, "its window ended and the rule says kill_at_window_end");
  ArmRun(open, NextLook(open, rules->config, now));
}

}  // namespace duecourse
