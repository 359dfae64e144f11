// Endings of attempts: classified, asked of recover/, stored with all that follows from them.
#include <algorithm>

#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

void EngineState::OnEnded(const AttemptRef& ref, Ending ending) {
  OpenRun* open = FindRun(ref.run_id);
  if (open == nullptr || open->run.fence != ref.fence || !open->executing) {
    Say(LogLevel::kWarning, "late_ending",
        Json::MakeObject().Set("run", ref.run_id).Set("fence", ref.fence).Set("summary", ending.summary));
    return;
  }
  if (open->flight != OpenRun::Flight::kNone) {
    open->ended = std::move(ending);
    return;
  }
  FinishAttempt(*open, std::move(ending));
}

// What a former daemon's attempt came to.
void EngineState::OnInspected(const Inspection& inspection) {
  OpenRun* open = FindRun(inspection.ref.run_id);
  if (open == nullptr || open->run.fence != inspection.ref.fence) return;
  bool was_alive = open->alive;
  open->alive = inspection.found == Inspection::Found::kAlive;
  if (open->run.state != RunState::kRunning) {
    open->inspecting = false;
    if (was_alive && !open->alive) open->stuck_at = kNever;
    if (!open->alive) Emit(AttemptForget{inspection.ref});
    if (open->alive && !was_alive && IsOpen(open->run.state)) open->stuck_at = now + kAliveStuckAfter;
    if (open->alive) ArmRun(*open, now + kInspectAgain);
    Wake(open->run.id);
    return;
  }
  if (!open->inspecting || open->flight != OpenRun::Flight::kNone) return;
  open->inspecting = false;
  if (open->alive) open->stuck_at = now + kAliveStuckAfter;
  Ending ending;
  ending.kind =
      inspection.found == Inspection::Found::kNotStarted ? Ending::Kind::kNotStarted : Ending::Kind::kUnknown;
  ending.summary = inspection.found == Inspection::Found::kNotStarted
                       ? "the daemon died before it was started"
                       : StrCat("the daemon died while it ran (last known at work ",
                                FormatLocal(found_alive, ZoneOf(*open)), ")");
  if (!inspection.text.empty()) ending.summary += StrCat("; ", inspection.text);
  FinishAttempt(*open, std::move(ending));
}

// Our own kill explains an ending, unless the work was done all the same.
Classified EngineState::ClassifyEnding(const OpenRun& open, const Ending& ending) const {
  static const ExecutionRule kPlain;
  Classified what = Classify(open.task == nullptr ? kPlain : open.task->rule().execution, ending);
  if (what.outcome == Outcome::kSuccess) return what;
  // An order to cancel outlives the daemon that was given it; while its processes live it is not carried out.
  if (!open.run.cancel.empty() && !open.alive) {
    what.outcome = Outcome::kCancelled;
    what.failure_class = FailureClass::kNone;
    what.summary = open.run.cancel;
    return what;
  }
  // What ended it before it began did not end it: nothing was done, and nothing of it counts.
  if (!open.killed || what.outcome == Outcome::kNotStarted) return what;
  switch (*open.killed) {
    case KillWhy::kCancelled:
      what.outcome = Outcome::kCancelled;
      what.failure_class = FailureClass::kNone;
      break;
    case KillWhy::kLeaseLost:
    case KillWhy::kShutdown:
      what.outcome = Outcome::kLost;
      what.failure_class = FailureClass::kTransient;
      break;
    case KillWhy::kTimeout:
    case KillWhy::kWindowEnd:
      what.outcome = Outcome::kTimedOut;
      what.failure_class = FailureClass::kTransient;
      break;
  }
  what.summary = open.ending_cause.empty() ? what.summary : open.ending_cause;
  return what;
}

BreakerChange EngineState::CountBreaker(OpenRun& open, const Classified& what, bool used_up) {
  Lane& lane = lanes[open.lane];
  bool failed = what.outcome == Outcome::kFailed || what.outcome == Outcome::kTimedOut;
  bool automatic = open.claim_kind != TriggerKind::kManual;
  if (lane.breaker == nullptr) {
    if (!failed || !automatic) return {};
    lane.breaker = std::make_unique<Breaker>();
    lane.breaker->task = open.run.task;
    lane.breaker->value = open.run.value;
  }
  BreakerChange change;
  if (!automatic || (!failed && what.outcome != Outcome::kSuccess)) {
    change = AfterNeutral(*lane.breaker, open.run.id);
  } else if (failed) {
    change = AfterFailure(*lane.breaker, open.task->rule().retry, open.run.id, used_up, now);
  } else {
    change = AfterSuccess(*lane.breaker, open.run.id);
  }
  if (change.opened)
    change.after.episode = StrCat("breaker/", open.run.task, open.run.value.empty() ? "" : "/",
                                  open.run.value, "/", change.after.version);
  return change;
}

void EngineState::FinishAttempt(OpenRun& open, Ending ending) {
  bool stored_owner_dead = open.run.incarnation != options.incarnation;
  open.executing = false;
  open.finishing = ending;
  open.renew_at = kNever;
  Classified what = ClassifyEnding(open, ending);
  BreakerChange change;
  bool used_up = open.task != nullptr && LadderUsedUp(open.run, open.task->rule().retry, what.failure_class);
  if (open.lane != kNoLane && open.task != nullptr) {
    change = CountBreaker(open, what, used_up);
  } else {
    ReleaseTrial(open);
  }
  Recovery next = AskRecover(open, ending, what, change);

  FinishCall call;
  call.fence = open.run.fence;
  call.lost = stored_owner_dead;  // our own, ended by ourselves, is a result like any other
  call.end = EndOf(open, what, ending);
  Run before = open.run;
  if (IsFailure(what.outcome)) {
    open.failures.insert(open.failures.begin(), call.end);
    if (open.failures.size() > kFailuresTold) open.failures.resize(kFailuresTold);
  }
  Run after = AfterRecovery(open, next, what);
  open.run = after;
  open.last_text = after.detail;
  DecisionRow row = DecisionOf(open, "state", next.reason);
  row.attempt = before.attempts;
  row.fence = before.fence;
  row.error_code = what.code;
  row.from_state = RunStateName(before.state);
  row.to_state = RunStateName(next.next);
  LogDecision(row);
  call.decisions.push_back(std::move(row));
  TellEnding(open, what, change, call.alerts);
  if (open.task != nullptr && next.next == RunState::kSuccess) SuccessFlags(open, call.flags);
  if (!change.after.task.empty()) {
    call.breaker = change.after;
    *lanes[open.lane].breaker = change.after;
  }
  after.told = open.run.told;
  after.failures = open.run.failures;
  open.run = std::move(before);
  call.after = after;
  Pending pending;
  pending.kind = Pending::Kind::kFinish;
  pending.runs.push_back(open.run.id);
  pending.after.push_back(std::move(after));
  pending.alerts = call.alerts;
  pending.flags = call.flags;
  open.flight = OpenRun::Flight::kFinish;
  Call(std::move(call), std::move(pending));
}

Recovery EngineState::AskRecover(const OpenRun& open, const Ending& ending, const Classified& what,
                                 const BreakerChange& change) {
  if (open.task == nullptr) {
    // Its rule is gone; nobody owes another attempt.
    Recovery gone;
    gone.next = what.outcome == Outcome::kSuccess ? RunState::kSuccess : RunState::kSkipped;
    gone.reason = what.outcome == Outcome::kSuccess     ? Reason::kSucceeded
                  : what.outcome == Outcome::kCancelled ? Reason::kCancelled
                                                        : Reason::kRuleRemoved;
    gone.ladder = open.run.ladder;
    gone.counted = open.run.counted;
    gone.uncounted = open.run.uncounted;
    return gone;
  }
  const RuleBody& rule = open.task->rule();
  RecoverFacts facts;
  facts.now = now;
  facts.outcome = what.outcome;
  facts.failure_class = what.failure_class;
  facts.retry_after = what.retry_after;
  bool http = ending.kind == Ending::Kind::kHttp || ending.kind == Ending::Kind::kNetwork ||
              (ending.kind == Ending::Kind::kTimeout && rule.execution.kind == ExecutionRule::Kind::kHttp);
  facts.request_unanswered = http && ending.kind != Ending::Kind::kHttp && ending.request_sent;
  facts.timed_out_manual = rule.execution.on_timeout == ExecutionRule::OnTimeout::kManual;
  facts.manual_attempt = !FollowsLadder(open.claim_kind, open.run.extra, open.run.attempts);
  facts.draining_stop = open.killed && *open.killed == KillWhy::kShutdown;
  facts.run = &open.run;
  facts.retry = &rule.retry;
  facts.on_lost = rule.on_lost;
  facts.check_interval = rule.trigger.check_interval;
  facts.opens = std::max(open.occurrence.starts, open.run.window_opens);
  facts.ends = open.run.window_ends;
  if (rule.retry.max_delay && !open.run.extra) facts.max_delay_end = open.occurrence.start_limit;
  facts.zone = &ScheduleOf(rule, open.value).zone;
  static const Breaker kClosed;
  facts.breaker = change.after.task.empty() ? &kClosed : &change.after;
  facts.breaker_manual = (change.opened || change.reopened) && rule.retry.breaker_manual;
  if (rule.retry.jitter.count > 0) facts.jitter = {random.Between(0, rule.retry.jitter.count)};
  return Recover(facts);
}

Attempt EngineState::EndOf(const OpenRun& open, const Classified& what, const Ending& ending) const {
  Attempt end;
  end.run_id = open.run.id;
  end.number = open.run.attempts;
  end.fence = open.run.fence;
  end.kind = open.claim_kind;
  end.claimed_at = open.claimed_at;
  end.ended_at = now;
  end.outcome = what.outcome;
  end.failure_class = what.failure_class;
  end.code = what.code;
  end.summary = what.summary;
  end.detail = ending.detail.is_null() ? "" : ending.detail.Dump();
  return end;
}

std::string AttemptText(const Attempt& attempt) {
  // Its summary says so itself.
  if (attempt.outcome == Outcome::kNotStarted && attempt.summary.starts_with("not started: "))
    return StrCat("attempt ", attempt.number, " ", attempt.summary);
  return StrCat("attempt ", attempt.number, " ", OutcomeName(attempt.outcome),
                attempt.summary.empty() ? "" : ": ", attempt.summary);
}

Run EngineState::AfterRecovery(OpenRun& open, const Recovery& next, const Classified& what) {
  Run after = open.run;
  std::string detail = what.summary;
  if (what.outcome != Outcome::kSuccess) {
    Attempt attempt;
    attempt.number = open.run.attempts;
    attempt.outcome = what.outcome;
    attempt.summary = what.summary;
    detail = AttemptText(attempt);
  }
  if (what.outcome == Outcome::kSuccess && !open.run.cancel.empty())
    detail += StrCat(detail.empty() ? "" : "; ", "it was done before this took hold: ", open.run.cancel);
  if (IsFailure(what.outcome)) ++after.failures;
  if (next.because != nullptr) detail += StrCat("; ", next.because);
  if (what.outcome == Outcome::kSuccess) after.failures = 0;
  SetState(after, next.next, next.reason, detail);
  after.next_at = next.next_at;
  after.ladder = next.ladder;
  after.counted = next.counted;
  after.uncounted = next.uncounted;
  after.next_lost_rerun = next.lost_rerun;
  after.incarnation.clear();
  return after;
}

void EngineState::OnFinished(OpenRun& open, Pending& pending, bool accepted) {
  open.flight = OpenRun::Flight::kNone;
  open.finishing.reset();
  // What lives on is remembered until it is gone, by the next daemon too.
  if (!open.alive) Emit(AttemptForget{{open.run.id, open.run.fence, open.run.attempts}});
  if (!accepted) {
    // The breaker counted this ending in memory; the claims to come must find the same in the store.
    if (open.lane != kNoLane && lanes[open.lane].breaker != nullptr)
      Call(BreakerCall{*lanes[open.lane].breaker}, Pending());
    Reread(open, "finish");
    return;
  }
  open.refusals = 0;
  open.run = pending.after.front();
  open.killed.reset();
  open.ending_cause.clear();
  for (const Flag& flag : pending.flags) SetFlag(flag, false);
  std::string id = open.run.id;
  size_t lane = open.lane;
  if (!IsFinal(open.run.state)) {
    if (open.rules != rules) Bind(open);  // from its next decision on it is judged by the active rule
    SetStuckLimit(open);
    if (open.alive) ArmRun(open, now + kInspectAgain);
  }
  Unreserve(open);
  if (IsFinal(open.run.state)) {
    Close(id);
  } else {
    WakeWaitersOfTask(open.run.task);
    Wake(id);
  }
  if (lane != kNoLane) WakeLane(lane);
}

void EngineState::SuccessFlags(const OpenRun& open, std::vector<Flag>& out) const {
  TemplateScope scope = ScopeOf(*open.task, open.value, open.occurrence);
  for (const Template& text : open.task->rule().on_success_flags) {
    Result<std::string> name = Render(text, scope);
    if (!name.ok()) continue;  // lint refuses names that cannot be rendered
    Flag flag;
    flag.name = *name;
    bool names_date = text.Uses("business_date") || text.Uses("date") || text.Uses("target_date");
    if (!names_date) flag.date = open.run.business_date;
    if (names_date) flag.expires = now + rules->config.retention;  // it goes as those of a day do
    flag.value = "true";
    flag.by = StrCat("task ", open.run.task);
    flag.at = now;
    out.push_back(std::move(flag));
  }
}

}  // namespace duecourse
