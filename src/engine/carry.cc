// Replies of the store, and what follows from them: starts, sent alerts, woken runs.
#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

void EngineState::OnStore(StoreReplied reply) {
  auto it = flights.find(reply.ticket);
  if (it == flights.end()) return;  // laid aside by Resync
  std::vector<Pending> pendings = std::move(it->second);
  flights.erase(it);
  CHECK(pendings.size() == reply.replies.size());
  for (size_t i = 0; i < pendings.size(); ++i) OnReply(pendings[i], reply.replies[i]);
}

void EngineState::OnReply(Pending& pending, StoreReply& reply) {
  bool took = true;
  OpenRun* open = pending.runs.empty() ? nullptr : FindRun(pending.runs.front());
  switch (pending.kind) {
    case Pending::Kind::kPlan:
      OnPlanned(pending, std::get<PlanReply>(reply));
      break;
    case Pending::Kind::kClaim:
      if (open != nullptr) OnClaimed(*open, std::get<ClaimReply>(reply));
      break;
    case Pending::Kind::kMove:
      took = std::get<MoveReply>(reply).moved;
      if (open != nullptr) OnMoved(*open, pending, std::get<MoveReply>(reply));
      break;
    case Pending::Kind::kFinish:
      took = std::get<FinishReply>(reply).accepted;
      if (open != nullptr) OnFinished(*open, pending, took);
      break;
    case Pending::Kind::kDecision:
      OnAnswerStored(open, pending.ticket, std::get<DecisionReply>(reply).id);
      break;
    case Pending::Kind::kFindRuns:
      if (open != nullptr) OnUpstream(*open, pending, std::get<FindRunsReply>(reply).runs);
      break;
    case Pending::Kind::kRead:
      if (open != nullptr) OnReread(*open, std::get<FindRunsReply>(reply).runs);
      break;
    case Pending::Kind::kRenew:
      if (open != nullptr && !std::get<RenewReply>(reply).held && open->executing)
        KillAttempt(*open, KillWhy::kLeaseLost, "its lease was lost");
      break;
    case Pending::Kind::kActivate:
      OnActivated(pending, std::get<ActivateReply>(reply));
      break;
    case Pending::Kind::kFlag:
      for (const Flag& flag : pending.flags) SetFlag(flag, pending.index == 1);
      AnswerFine(pending, "");
      break;
    case Pending::Kind::kControl:
      OnControlled(pending);
      break;
    case Pending::Kind::kFlush:
      AnswerFine(pending, "");
      break;
    case Pending::Kind::kNone:
      break;
  }
  if (took) {
    for (const AlertRow& alert : pending.alerts) KeepAlert(alert);
  }
}

void EngineState::OnPlanned(Pending& pending, const PlanReply& reply) {
  for (size_t i = 0; i < pending.superseded.size(); ++i) {
    OpenRun* open = FindRun(pending.superseded[i]);
    if (open == nullptr) continue;
    open->flight = OpenRun::Flight::kNone;
    if (reply.supersede[i].moved) {
      open->run = pending.after[i];
      Close(open->run.id);
    } else {
      std::erase_if(pending.alerts, [&](const AlertRow& alert) { return alert.run_id == open->run.id; });
      Reread(*open, "supersede");
    }
  }
  for (size_t i = 0; i < pending.runs.size(); ++i) {
    OpenRun* open = FindRun(pending.runs[i]);
    if (open == nullptr) continue;
    open->flight = OpenRun::Flight::kNone;
    OnPlannedRun(*open, reply.runs[i], pending);
  }
  size_t index = kNoLane;
  Lane* lane = pending.lane_task.empty() ? nullptr : FindLane(pending.lane_task, pending.lane_value, &index);
  if (lane != nullptr) {
    lane->planning = false;
    if (waiting_lanes.erase(index) > 0) PlanLane(index);
  }
}

void EngineState::OnPlannedRun(OpenRun& open, const PlannedReply& reply, Pending& pending) {
  if (reply.kind == PlannedReply::Kind::kRefused) {
    OnRefused(open, reply.claim);
    return;
  }
  if (reply.kind != PlannedReply::Kind::kCreated) {
    std::erase_if(pending.alerts, [&](const AlertRow& alert) { return alert.run_id == open.run.id; });
    OnKnown(open, reply);
    return;
  }
  if (IsFinal(open.run.state)) {
    Close(open.run.id);
  } else if (open.run.state == RunState::kManualRequired) {
    WakeWaitersOfTask(open.run.task);
  } else if (open.reserved) {
    if (open.unwritten && !open.run.extra && open.lane != kNoLane &&
        open.run.due > lanes[open.lane].planned_through)
      ahead[{open.run.task, open.run.value}].insert(open.run.due);
    open.unwritten = false;
    OnClaimed(open, reply.claim);
  } else {
    Wake(open.run.id);
  }
}

// Another run has this occurrence or this key: what was planned is not written.
void EngineState::OnKnown(OpenRun& open, const PlannedReply& reply) {
  bool by_key = reply.kind == PlannedReply::Kind::kKeyKnown;
  ReleaseTrial(open);
  Unreserve(open);
  if (open.asked && open.run.extra && by_key && open.run.supersedes.empty() && NextExtraKey(open)) return;
  if (open.asked) {
    Request request = *open.asked;
    bool forced = open.force.readiness;
    bool again = !open.run.supersedes.empty();
    open.asked.reset();
    open.run.state = RunState::kScheduled;
    Close(open.run.id);
    OpenRun* holder = by_key || again ? nullptr : FindRun(reply.holder);
    if (holder != nullptr && !holder->unwritten) {
      TriggerOpen(request, *holder, forced);  // its row came meanwhile
    } else {
      RefuseKnown(request, reply,
                  again    ? "supersedes it already"
                  : by_key ? "has this key"
                           : "has this occurrence");
    }
    return;
  }
  if (!by_key) {
    open.last_text = StrCat("done by hand before it was due: run ", reply.holder, " has this occurrence (",
                            RunStateName(reply.holder_state), ")");
    DecisionRow row = DecisionOf(open, "note", Reason::kAlreadyDone);
    row.run_id = reply.holder;
    LogDecision(row);
    Call(NoteDecisionCall{std::move(row)}, Pending());
  }
  open.run.state = RunState::kScheduled;
  Close(open.run.id);
}

// Extra runs of one key are told apart: #m1, #m2…
bool EngineState::NextExtraKey(OpenRun& open) {
  size_t mark = open.run.key->rfind("#m");
  std::optional<int64_t> number = ParseInteger(std::string_view(*open.run.key).substr(mark + 2));
  if (!number || *number >= kExtraKeysTried) return false;
  Run run = open.run;
  Request request = *open.asked;
  Force force = open.force;
  open.asked.reset();
  open.run.state = RunState::kScheduled;
  Close(open.run.id);
  run.id = NewId('r');
  run.identity = StrCat("manual/", run.id);
  run.key = StrCat(run.key->substr(0, mark), "#m", *number + 1);
  AskByHand(request, std::move(run), force);
  return true;
}

void EngineState::OnClaimed(OpenRun& open, const ClaimReply& reply) {
  open.flight = OpenRun::Flight::kNone;
  if (!reply.granted) {
    OnRefused(open, reply);
    return;
  }
  open.refusals = 0;
  open.run.before_claim = open.run.state;
  if (open.force.manual) open.run.before_manual = open.run.state;
  open.claim_kind = KindOfNext(open);
  // A person's attempt that fails puts the run back, with the instant it had.
  std::optional<Instant> before_next = open.run.next_at;
  SetState(open.run, RunState::kRunning, Reason::kAllConditionsMet, open.last_text);
  if (open.claim_kind == TriggerKind::kManual) open.run.next_at = before_next;
  open.run.fence = reply.fence;
  open.run.attempts = reply.attempt;
  open.run.incarnation = options.incarnation;
  open.run.boot_id = options.boot_id;
  if (FollowsLadder(open.claim_kind, open.run.extra, reply.attempt)) ++open.run.counted;
  if (!open.run.first_start) {
    open.run.first_start = reply.at;
    if (open.lane != kNoLane) lanes[open.lane].last_start = reply.at;
  }
  open.claimed_at = reply.at;
  open.told_once = false;
  open.decision_id = 0;
  open.answer_ticket = 0;
  open.folded = 0;
  ++attempts_started;
  if (open.asked) {
    Answer answer{open.asked->id, Answer::Kind::kFine,
                  StrCat("run ", open.run.id, " started, attempt ", open.run.attempts), Json::MakeObject()};
    answer.body.Set("run_id", open.run.id)
        .Set("attempt", open.run.attempts)
        .Set("key", open.run.key.value_or(""));
    Emit(std::move(answer));
    open.asked.reset();
  }
  open.force = Force();
  if (!stopping) return StartAttempt(open);
  // Granted when the drain's time was over: it never started, so it does not count.
  Ending ending;
  ending.kind = Ending::Kind::kNotStarted;
  ending.summary = "not started: the daemon stops";
  open.executing = true;
  OnEnded({open.run.id, open.run.fence, open.run.attempts}, std::move(ending));
}

// The claim's own check said no: another run of the key, a limit, a version that moved on. Asked again with
// what is true now, but not at once: the slot given back below wakes the others of its lane and itself, and a
// store that goes on refusing would be asked by them in turn without end.
void EngineState::OnRefused(OpenRun& open, const ClaimReply& reply) {
  ReleaseTrial(open);
  Unreserve(open);
  if (open.unwritten) {
    RefuseAsked(
        open, reply.refusal,
        reply.holder.empty() ? reply.detail : StrCat("the claim was refused: held by run ", reply.holder));
    Close(open.run.id);
    return;
  }
  if (reply.moved_on) {
    if (open.asked) RefuseAsked(open, reply.refusal, reply.detail);
    Reread(open, "claim");
    return;
  }
  open.last_text =
      StrCat("the claim was refused", reply.holder.empty() ? "" : ": held by run ", reply.holder);
  Decision refused;
  refused.reason = reply.refusal;
  refused.recheck_at = std::min(reply.recheck_at, now + open.task->rule().trigger.check_interval);
  if (refused.recheck_at <= now) refused.recheck_at = now + Seconds(1);
  // What stands in the way may end any moment, and then somebody tells; a closed store says when it looks
  // again.
  open.not_before = reply.refusal == Reason::kStoreUnavailable ? refused.recheck_at : now + Seconds(1);
  bool stale = !open.asked && (reply.refusal == Reason::kNotDue ||
                               (reply.refusal == Reason::kPaused && PauseOf(*open.task) == nullptr));
  if (stale) {
    ArmRun(open,
           refused.recheck_at);  // rules or a pause moved on meanwhile; that says nothing about this run
  } else {
    Wait(open, refused);
  }
  if (open.rules == rules || open.flight != OpenRun::Flight::kNone) return;
  Bind(open);  // the rules changed while the claim was under way
  open.not_before = now;
  Wake(open.run.id);
}

void EngineState::OnMoved(OpenRun& open, Pending& pending, const MoveReply& reply) {
  open.flight = OpenRun::Flight::kNone;
  if (!reply.moved) {
    if (pending.request)
      Refuse(*pending.request, Reason::kLockOccupied,
             StrCat("run ", open.run.id, " is ", RunStateName(reply.state)), open.run.id);
    Reread(open, "move");
    return;
  }
  open.refusals = 0;
  const Run before = std::exchange(open.run, pending.after.front());
  for (const Flag& flag : pending.flags) SetFlag(flag, false);
  if (open.run.state == RunState::kRunning) {  // its end was ordered
    if (pending.request)
      Reply(*pending.request, Answer::Kind::kFine, StrCat("run ", open.run.id, " is being ended"),
            Json::MakeObject().Set("run_id", open.run.id));
    ObeyCancel(open);
    TakeEnded(open);
    return;
  }
  if (!AnswerClaim(pending, before)) AnswerFine(pending, open.run.id);
  if (IsFinal(open.run.state)) {
    Close(open.run.id);
    return;
  }
  WakeWaitersOfTask(open.run.task);
  SetStuckLimit(open);
  ArmRun(open, open.alive ? now + kInspectAgain : kNever);
  Wake(open.run.id);
}

// An ending that waited for what was under way.
void EngineState::TakeEnded(OpenRun& open) {
  if (!open.ended) return;
  Ending ending = std::move(*open.ended);
  open.ended.reset();
  OnEnded({open.run.id, open.run.fence, open.run.attempts}, std::move(ending));
}

// Final: forgotten here (the store keeps it); whom it held up is asked again.
void EngineState::Close(const std::string& run_id) {
  OpenRun* open = FindRun(run_id);
  if (open == nullptr) return;
  if (open->asked) RefuseAsked(*open, open->run.reason, StrCat("it is ", RunStateName(open->run.state)));
  FoldOne(*open);
  LeavePools(*open);
  StopWaiting(*open);
  std::string task = open->run.task;
  size_t lane = open->lane;
  bool written = open->run.state != RunState::kScheduled;
  if (lane != kNoLane) {
    std::vector<std::string>& list = lanes[lane].open;
    list.erase(std::remove(list.begin(), list.end(), run_id), list.end());
  }
  runs.erase(run_id);
  if (written) WakeWaitersOfTask(task);
  if (lane != kNoLane && !lanes[lane].open.empty()) WakeLane(lane);
}

}  // namespace duecourse
