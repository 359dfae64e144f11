// Cancelling, and the manual queue: take over, resolve, rerun, skip.
#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

// How a run that waits for a person is started again. One without a key is not: a start needs a name for its
// result.
std::string EngineCore::StartAgainText(const Run& run) const {
  if (run.key) return StrCat(options.program, " manual rerun ", run.id, " --reason \"why\"");
  return StrCat(
      "it has no key, so it cannot be started; mend what its key is made of, then ", options.program,
      " trigger ", run.task, run.value.empty() ? "" : StrCat(" --value ", run.value), " --extra --date ",
      FormatDay(run.business_date), ", and end this one with manual resolve or manual skip ", run.id);
}

// Of a run that has it, or is over: the right reason, and what may be done instead.
void EngineCore::RefuseKnown(const Request& request, const PlannedReply& known, const std::string& what) {
  std::string text = StrCat("run ", known.holder, " ", what, " (", RunStateName(known.holder_state), ")");
  Reason reason = Reason::kLockOccupied;
  if (known.holder_state == RunState::kManualRequired) {
    reason = Reason::kAwaitingPerson;
    const OpenRun* holder = FindRun(known.holder);
    text += StrCat("; it waits for a person", holder == nullptr ? "" : ": ",
                   holder == nullptr ? "" : StartAgainText(holder->run));
  } else if (IsFinal(known.holder_state)) {
    reason = known.holder_state == RunState::kSuccess ? Reason::kAlreadyDone : known.holder_reason;
    text += StrCat("; to run it again, under a new key: ", options.program, " manual rerun ", known.holder,
                   " --supersede --reason \"why\"");
  }
  Refuse(request, reason, text, known.holder);
}

static PlannedReply KnownAs(const Run& run) {
  PlannedReply known;
  known.holder = run.id;
  known.holder_state = run.state;
  known.holder_reason = run.reason;
  return known;
}

void EngineCore::OverOrUnknown(const Request& request, const std::string& run_id,
                               const std::optional<Run>& stored) {
  if (stored && IsFinal(stored->state)) {
    RefuseKnown(request, KnownAs(*stored), "is over");
  } else if (stored) {
    Refuse(request, Reason::kLockOccupied, "it was changed a moment ago; ask again", run_id);
  } else if (!store_available) {
    Refuse(request, Reason::kStoreUnavailable,
           "the store does not answer, so it is not known whether it is over", run_id);
  } else {
    Reply(request, Answer::Kind::kUnknown, StrCat("there is no run ", run_id), Json::MakeObject());
  }
}

void EngineState::OnCancel(const Request& request, const CancelRequest& cancel) {
  const std::string& run_id = cancel.run_id;
  OpenRun* open = FindRun(run_id);
  if (open == nullptr) {
    OverOrUnknown(request, run_id, cancel.stored);
    return;
  }
  std::string detail =
      StrCat("cancelled by ", request.by, request.reason.empty() ? "" : ": ", request.reason);
  if (open->run.state == RunState::kManualRequired) {
    Refuse(
        request, Reason::kAwaitingPerson,
        StrCat("it waits for a person; use: ", options.program, " manual skip ", run_id, " --reason \"why\""),
        run_id);
  } else if (!open->run.cancel.empty()) {
    Reply(request, Answer::Kind::kFine, StrCat("run ", run_id, " is being ended: ", open->run.cancel),
          Json::MakeObject().Set("run_id", run_id));
  } else if (open->executing && open->flight == OpenRun::Flight::kNone) {
    OrderCancel(request, *open, detail);
  } else if (open->flight != OpenRun::Flight::kNone || open->inspecting) {
    Refuse(request, Reason::kLockOccupied, "a change of this run is being stored; ask again", run_id);
  } else {
    MoveRun(*open, {RunState::kSkipped, Reason::kCancelled, detail,
                    AuditOf(request, "cancel", open->run.task, run_id), request});
  }
}

// What a person writes on a run whose state stays; answered when it is stored.
void EngineCore::NoteByHand(const Request& request, OpenRun& open, Run after, const char* action,
                            std::vector<DecisionRow> rows) {
  MoveCall move;
  move.after = std::move(after);
  move.expected_state = open.run.state;
  move.expected_fence = open.run.fence;
  move.audit = AuditOf(request, action, open.run.task, open.run.id);
  move.decisions = std::move(rows);
  Pending pending;
  pending.kind = Pending::Kind::kMove;
  pending.runs.push_back(open.run.id);
  pending.after.push_back(move.after);
  pending.request = request;
  open.flight = OpenRun::Flight::kMove;
  Call(std::move(move), std::move(pending));
}

// The order is in the store before it is answered, so a daemon that dies meanwhile leaves it to the next.
void EngineState::OrderCancel(const Request& request, OpenRun& open, const std::string& words) {
  Run after = open.run;
  after.cancel = words;
  NoteByHand(request, open, std::move(after), "cancel", {});
  // What must stop now does not wait for a store that does not answer; the answer does.
  if (!store_available) KillAttempt(open, KillWhy::kCancelled, words);
}

void EngineState::ObeyCancel(OpenRun& open) {
  if (!open.run.cancel.empty()) KillAttempt(open, KillWhy::kCancelled, open.run.cancel);
}

// A name and a reason are demanded anyway, so time and pause are not asked; what it needs is.
static Force ForceOfRerun(bool forced) {
  Force force = ForceOf(forced);
  force.time = true;
  force.pause = true;
  return force;
}

// What an open run is at, as a reason: what it waits for, or that it runs. `answer`: its newest.
static Reason NowOf(const Run& run, Reason answer) {
  switch (run.state) {
    case RunState::kRunning:
      return Reason::kLockOccupied;
    case RunState::kRetrying:
      return Reason::kWaitingRetry;
    case RunState::kCatchupWaiting:
      return Reason::kWaitingCatchup;
    case RunState::kManualRequired:
      return Reason::kAwaitingPerson;
    case RunState::kScheduled:
    case RunState::kSuccess:
    case RunState::kSkipped:
    case RunState::kMissed:
      break;
  }
  return answer;
}

// Only what is over is superseded; what is not over has a verb of its own.
void EngineCore::RefuseOpen(const Request& request, const Run& run) {
  std::string text = StrCat("run ", run.id, " is ", RunStateName(run.state),
                            ", not over; only a finished run is superseded");
  if (run.state == RunState::kManualRequired) text += StrCat("; use: ", StartAgainText(run));
  Refuse(request, NowOf(run, run.reason), text, run.id);
}

void EngineState::OnManual(const Request& request, const ManualRequest& manual) {
  if (request.by.empty() || request.reason.empty()) {
    Reply(request, Answer::Kind::kUsage, "who and why: --by NAME --reason \"…\"", Json::MakeObject());
    return;
  }
  if (manual.verb == ManualRequest::Verb::kRerun && manual.supersede) {
    SupersedeByHand(request, manual);
    return;
  }
  OpenRun* open = FindRun(manual.run_id);
  if (open == nullptr) {
    OverOrUnknown(request, manual.run_id, manual.stored);
    return;
  }
  if (open->asked) {
    Refuse(request, Reason::kLockOccupied, StrCat(open->asked->by, " is asking for it; ask again"),
           manual.run_id);
    return;
  }
  if (open->flight != OpenRun::Flight::kNone && open->run.state == RunState::kManualRequired) {
    Refuse(request, Reason::kLockOccupied, "a change of this run is being stored; ask again", manual.run_id);
    return;
  }
  if (open->run.state != RunState::kManualRequired) {
    Refuse(request, NowOf(open->run, open->told_once ? open->told_reason : open->run.reason),
           StrCat("run ", manual.run_id, " is ", RunStateName(open->run.state),
                  ", it does not wait for a person"),
           manual.run_id);
    return;
  }
  std::string word = StrCat("by ", request.by, ": ", request.reason);
  switch (manual.verb) {
    case ManualRequest::Verb::kClaim:
      ClaimByHand(request, *open);
      break;
    case ManualRequest::Verb::kResolve:
      MoveRun(*open, {RunState::kSuccess, Reason::kResolved, StrCat("resolved ", word),
                      AuditOf(request, "manual_resolve", open->run.task, manual.run_id), request});
      break;
    case ManualRequest::Verb::kSkip:
      MoveRun(*open, {RunState::kSkipped, Reason::kCancelled, StrCat("skipped ", word),
                      AuditOf(request, "manual_skip", open->run.task, manual.run_id), request});
      break;
    case ManualRequest::Verb::kRerun:
      if (!open->run.key) {
        const bool no_day = open->run.reason == Reason::kCalendarUnknown;
        Refuse(request, no_day ? Reason::kCalendarUnknown : Reason::kKeyError, StartAgainText(open->run),
               manual.run_id);
        break;
      }
      open->asked = request;
      open->force = ForceOfRerun(manual.force);
      AskWithProbes(*open);
      break;
  }
}

static constexpr const char* kClaimMark = "claimed by ";

// Where the claim begins in the detail of a run that has one: after its cause, or at once.
static size_t ClaimPlace(const std::string& detail) {
  const size_t mark = detail.rfind(StrCat("; ", kClaimMark));
  if (mark != std::string::npos) return mark;
  return detail.rfind(kClaimMark, 0) == 0 ? 0 : std::string::npos;
}

// "ana at 2026-03-02T09:00:00+00:00: calling", or empty.
static std::string ClaimOf(const Run& run) {
  const size_t place = ClaimPlace(run.detail);
  if (place == std::string::npos) return "";
  return run.detail.substr(run.detail.find(kClaimMark, place) + std::string_view(kClaimMark).size());
}

// Taking it over changes no state; it says who has it, beside why a person was called. One who takes it from
// another is told from whom.
void EngineState::ClaimByHand(const Request& request, OpenRun& open) {
  const Zone zone = open.task == nullptr ? Zone::Utc() : ScheduleOf(open.task->rule(), open.value).zone;
  const std::string claim =
      StrCat(kClaimMark, request.by, " at ", FormatLocal(now, zone), ": ", request.reason);
  Run after = open.run;
  const std::string cause = after.detail.substr(0, ClaimPlace(after.detail));
  after.detail = cause.empty() ? claim : StrCat(cause, "; ", claim);
  const std::string former = ClaimOf(open.run);
  DecisionRow row = DecisionOf(open, "note", Reason::kAwaitingPerson);
  const std::string text = former.empty() ? claim : StrCat(claim, " (before that by ", former, ")");
  row.detail = Json::MakeObject().Set("text", text).Dump();
  LogDecision(row);
  NoteByHand(request, open, std::move(after), "manual_claim", {std::move(row)});
}

// Whether it was a claim of what another had.
bool EngineCore::AnswerClaim(const Pending& pending, const Run& before) {
  const auto* manual = pending.request ? std::get_if<ManualRequest>(&pending.request->body) : nullptr;
  const std::string former = ClaimOf(before);
  if (manual == nullptr || manual->verb != ManualRequest::Verb::kClaim || former.empty()) return false;
  if (former.rfind(StrCat(pending.request->by, " at "), 0) == 0) return false;
  Reply(*pending.request, Answer::Kind::kFine,
        StrCat("run ", before.id, " is claimed by ", pending.request->by, "; it was claimed by ", former),
        Json::MakeObject().Set("run_id", before.id).Set("was_claimed_by", former));
  return true;
}

// "key#r2", from "key"; "key#r3" from that.
static std::string NextRerunKey(const std::string& key) {
  size_t mark = key.rfind("#r");
  if (mark != std::string::npos) {
    std::optional<int64_t> n = ParseInteger(std::string_view(key).substr(mark + 2));
    if (n) return StrCat(key.substr(0, mark), "#r", *n + 1);
  }
  return key + "#r2";
}

// A finished run is never touched: the rerun is a new run with a new key and a fresh cap. Its identity names
// the run it replaces, so a second one is refused with the id of the first.
void EngineState::SupersedeByHand(const Request& request, const ManualRequest& manual) {
  const OpenRun* open = FindRun(manual.run_id);
  if (open != nullptr && !IsFinal(open->run.state)) {
    RefuseOpen(request, open->run);
    return;
  }
  if (!manual.stored || !IsFinal(manual.stored->state)) {
    OverOrUnknown(request, manual.run_id, manual.stored);
    return;
  }
  if (!manual.stored->key) {
    Refuse(request, manual.stored->reason,
           StrCat("run ", manual.run_id, " has no key, so there is no result that could be made again"),
           manual.run_id);
    return;
  }
  const Run& old = *manual.stored;
  size_t index = kNoLane;
  Lane* lane = FindLane(old.task, old.value, &index);
  if (lane == nullptr) {
    Reply(request, Answer::Kind::kUnknown, NoLaneText(old.task, old.value), Json::MakeObject());
    return;
  }
  if (TaskOf(*lane).rule().supersede == Supersede::kNever) {
    Refuse(request, Reason::kAlreadyDone, "the rule says supersede: never", old.id);
    return;
  }
  std::string identity = StrCat("rerun/", old.id);
  for (const std::string& id : lane->open) {
    const OpenRun* other = FindRun(id);
    if (other->run.identity != identity) continue;
    if (other->unwritten) {
      Refuse(request, Reason::kLockOccupied, StrCat("it is being asked for by ", other->asked->by), old.id);
    } else {
      RefuseKnown(request, KnownAs(other->run), "supersedes it already");
    }
    return;
  }
  Run run;
  run.id = NewId('r');
  run.task = old.task;
  run.value = old.value;
  run.identity = identity;
  run.due = old.due;
  run.business_date = old.business_date;
  run.extra = true;
  run.origin = TriggerKind::kManual;
  run.supersedes = old.id;
  run.key = NextRerunKey(*old.key);
  // Automatic retries keep to the window of what it repeats: where that is over there are none.
  run.window_opens = old.window_opens;
  run.window_ends = old.window_ends;
  AskByHand(request, std::move(run), ForceOfRerun(manual.force));
}

}  // namespace duecourse
