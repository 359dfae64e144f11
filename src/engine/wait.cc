// Answers that are not yes: kept, folded, logged; and what ends a run without a start.
#include <algorithm>

#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

// Who holds a full pool changes with every start; that is no new answer for those who wait.
static bool WaitsForALimit(Reason reason) {
  return reason == Reason::kPoolFull || reason == Reason::kMaxConcurrency || reason == Reason::kMinInterval;
}

// What is scheduled shows its newest answer; but that its last attempt may still live is not forgotten.
static bool ShowsAnswers(const Run& run) {
  return run.state == RunState::kScheduled && run.reason != Reason::kAttemptLost &&
         run.reason != Reason::kStuck;
}

// The last answer before it ended; a former daemon's, as the row has it, where this one gave none. Of what
// only waited for its next attempt it is why the one before came to nothing.
static std::optional<std::pair<Reason, std::string>> LastAnswer(const OpenRun& open) {
  const bool tried = open.run.state == RunState::kRetrying || open.run.state == RunState::kCatchupWaiting;
  const bool only_waited =
      open.told_reason == Reason::kWaitingRetry || open.told_reason == Reason::kWaitingCatchup;
  if (tried && (!open.told_once || only_waited)) return std::pair(open.run.reason, open.run.detail);
  if (open.told_once) return std::pair(open.told_reason, open.told_text);
  bool shown = open.run.state == RunState::kScheduled && open.run.reason != Reason::kNotDue;
  if (!shown) return std::nullopt;
  return std::pair(open.run.reason, open.run.detail);
}

// One stored line: the same answer again only moves last_at and count, in memory, until it changes or a
// minute is over.
void EngineState::Wait(OpenRun& open, const Decision& decision) {
  if (decision.reason == Reason::kPoolFull) WaitForPools(open, open.task->rule().trigger.pools);
  const Control* pause = decision.reason == Reason::kPaused ? PauseOf(*open.task) : nullptr;
  if (pause != nullptr && pause->at <= open.run.due) open.due_in_pause = true;
  if (open.asked) {
    RefuseAsked(open, decision.reason, open.last_text);
    if (open.unwritten) {  // there was nothing but the question, and that was answered
      Close(open.run.id);
      return;
    }
  }
  ArmRun(open, std::min(decision.recheck_at, open.run.window_ends > now ? open.run.window_ends : kNever));
  bool same = open.told_once && open.told_reason == decision.reason &&
              (open.told_text == open.last_text || WaitsForALimit(decision.reason));
  std::string met = MetOf(open);
  same = same && met == open.run.met;  // what was met for good is stored with an answer
  if (same) {
    ++open.folded;
    open.folded_at = now;
    return;
  }
  FoldOne(open);
  open.told_once = true;
  open.told_reason = decision.reason;
  open.told_text = open.last_text;
  DecisionRow row = DecisionOf(open, "wait", decision.reason);
  row.recheck_at = decision.recheck_at;
  LogDecision(row);
  open.decision_id = 0;
  open.folded = 0;
  Pending pending;
  pending.kind = Pending::Kind::kDecision;
  pending.ticket = open.answer_ticket = next_ticket++;
  pending.runs.push_back(open.run.id);
  open.run.met = met;
  NoteDecisionCall call{std::move(row), std::move(met)};
  if (ShowsAnswers(open.run)) {
    open.run.reason = decision.reason;
    open.run.detail = open.last_text;
    call.shown = open.last_text;
  }
  Call(std::move(call), std::move(pending));
}

void EngineState::FoldAll() {
  for (auto& [id, open] : runs) FoldOne(*open);
}

// The decision ended it: window or max_delay over, cap reached, a person needed.
void EngineState::End(OpenRun& open, const Decision& decision) {
  const RuleBody& rule = open.task->rule();
  EndFacts facts;
  facts.reason = decision.reason;
  facts.on_window_end = rule.trigger.on_window_end;
  facts.counted = open.run.counted;
  Ended ended = DecideEnd(facts);
  // Its cause is the last answer: which pool and holder, which file, which upstream.
  std::string detail = open.last_text;
  const bool over =
      decision.reason == Reason::kExceededWindow || decision.reason == Reason::kExceededMaxDelay;
  const Zone& zone = ScheduleOf(rule, open.value).zone;
  const Instant limit =
      decision.reason == Reason::kExceededMaxDelay ? open.occurrence.start_limit : open.run.window_ends;
  if (over && down_from < limit && limit <= down_until)
    detail += StrCat("; the scheduler was down from ", FormatLocal(down_from, zone), " to ",
                     FormatLocal(down_until, zone));
  auto last = LastAnswer(open);
  if (decision.reason != Reason::kCancelled && last && !last->second.empty())
    detail = StrCat(detail, "; last: ", ReasonName(last->first), ", ", last->second);
  if (open.asked) RefuseAsked(open, decision.reason, detail);
  MoveRun(open, {ended.state, ended.reason, detail});
}

MoveCall EngineState::MakeMove(OpenRun& open, RunState state, Reason reason, const std::string& detail) {
  MoveCall move;
  move.after = open.run;
  move.expected_state = open.run.state;
  move.expected_fence = open.run.fence;
  SetState(move.after, state, reason, detail);
  open.last_text = detail;
  DecisionRow row = DecisionOf(open, "state", reason);
  row.from_state = RunStateName(open.run.state);
  row.to_state = RunStateName(state);
  LogDecision(row);
  move.decisions.push_back(std::move(row));
  auto last = LastAnswer(open);
  Run before = open.run;
  open.run = move.after;
  bool by_breaker = last && last->first == Reason::kBreakerOpen && reason == Reason::kExceededWindow;
  bool by_person = before.state == RunState::kManualRequired;
  if (!by_breaker && !by_person) AddAlert(open, AlertEventOf(state), detail, move.alerts);
  if (before.state == RunState::kManualRequired && IsFinal(state)) TellRecovery(open, detail, move.alerts);
  move.after.told = open.run.told;
  open.run = std::move(before);
  return move;
}

// A person's `resolve` means that the work is done: what waits for its flags may go on.
void EngineState::MoveRun(OpenRun& open, Change change) {
  FoldOne(open);
  MoveCall move = MakeMove(open, change.state, change.reason, change.detail);
  move.audit = std::move(change.audit);
  if (change.state == RunState::kSuccess && open.task != nullptr) SuccessFlags(open, move.flags);
  Pending pending;
  pending.kind = Pending::Kind::kMove;
  pending.runs.push_back(open.run.id);
  pending.after.push_back(move.after);
  pending.alerts = move.alerts;
  pending.flags = move.flags;
  pending.request = std::move(change.request);
  open.flight = OpenRun::Flight::kMove;
  Call(std::move(move), std::move(pending));
}

void EngineState::SetState(Run& run, RunState state, Reason reason, const std::string& detail) const {
  run.state = state;
  run.reason = reason;
  run.detail = detail;
  run.state_since = now;
  if (state != RunState::kRetrying && state != RunState::kCatchupWaiting && state != RunState::kScheduled)
    run.next_at.reset();
  // What a person is asked about is theirs to end or to run again.
  if (state == RunState::kManualRequired) run.cancel.clear();
}

}  // namespace duecourse
