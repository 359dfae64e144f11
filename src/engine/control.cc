// Flags and pauses.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

void EngineState::OnFlag(const Request& request, const FlagRequest& asked) {
  Flag flag;
  flag.name = asked.name;
  flag.date = asked.date;
  flag.value = asked.value;
  flag.by = request.by;
  flag.at = now;
  if (asked.ttl) flag.expires = now + *asked.ttl;
  const std::string name = StrCat(flag.name, flag.date ? StrCat(" for ", FormatDay(*flag.date)) : "");
  if (asked.remove && flags.find(FlagKey(flag)) == flags.end()) {
    Reply(request, Answer::Kind::kUnknown, StrCat("flag ", name, " is not set"), Json::MakeObject());
    return;
  }
  FlagCall call;
  call.flag = flag;
  call.remove = asked.remove;
  call.audit = AuditOf(request, asked.remove ? "flag_remove" : "flag_set", "", "");
  call.audit.detail = asked.remove ? name : StrCat(name, " = ", flag.value);
  Pending pending;
  pending.kind = Pending::Kind::kFlag;
  pending.flags.push_back(std::move(flag));
  pending.index = asked.remove ? 1 : 0;
  pending.request = request;
  Call(std::move(call), std::move(pending));
}

void EngineState::OnPause(const Request& request, const PauseRequest& asked) {
  std::string problem;
  if (!ScopeExists(asked.scope, &problem)) {
    Reply(request, Answer::Kind::kUnknown, problem, Json::MakeObject());
    return;
  }
  auto it = controls.find(asked.scope);
  bool is_paused = it != controls.end() && it->second.paused;
  if (asked.resume && !is_paused) {
    // Twice the same is fine; a task that goes on being held by another pause is not what was asked for.
    const Task* task = asked.scope.starts_with("task/") ? rules->Find(asked.scope.substr(5)) : nullptr;
    const Control* other = task == nullptr ? nullptr : PauseOf(*task);
    if (other == nullptr) {
      Reply(request, Answer::Kind::kFine, StrCat(asked.scope, " is not paused: nothing to resume"),
            Json::MakeObject());
      return;
    }
    Refuse(request, Reason::kPaused,
           StrCat(task->id, " is held by the pause of ", other->scope, ", by ", other->by,
                  other->reason.empty() ? "" : ": ", other->reason, "; resume that"),
           "");
    return;
  }
  Control control;
  control.scope = asked.scope;
  control.paused = !asked.resume;
  control.by = request.by;
  control.reason = request.reason;
  control.at = now;
  // No two have one number, or a claim decided between them would pass.
  control_asked = std::max(control_asked, control_version) + 1;
  control.version = control_asked;
  ControlCall call;
  call.control = control;
  call.audit = AuditOf(request, asked.resume ? "resume" : "pause",
                       asked.scope.starts_with("task/") ? asked.scope.substr(5) : "", "");
  call.audit.detail = StrCat(asked.scope, asked.catch_up ? ", keeping the newest" : "");
  Pending pending;
  pending.kind = Pending::Kind::kControl;
  pending.control = std::move(control);
  pending.request = request;
  Call(std::move(call), std::move(pending));
}

bool EngineState::ScopeExists(const std::string& scope, std::string* problem) const {
  if (scope == "all") return true;
  if (scope.starts_with("task/")) {
    std::string task = scope.substr(5);
    if (rules->Find(task) != nullptr) return true;
    *problem = NoLaneText(task, "");
    return false;
  }
  for (const Task& task : rules->tasks) {
    for (const auto& [name, value] : task.rule().labels) {
      if (scope == StrCat("label/", name, "=", value)) return true;
    }
  }
  *problem = StrCat("no task has ", scope, "; say a task, --label NAME=VALUE or --all");
  return false;
}

// A pause is intent: what came due in it is not owed. Runs already attempted wait and keep their window.
void EngineState::OnControlled(const Pending& pending) {
  const Control& control = *pending.control;
  const Control former = std::exchange(controls[control.scope], control);
  control_version = std::max(control_version, control.version);
  const auto* asked = pending.request ? std::get_if<PauseRequest>(&pending.request->body) : nullptr;
  if (asked != nullptr && asked->resume) {
    for (Lane& lane : lanes) EndPaused(lane, asked->catch_up);
  }
  if (control.paused) {
    for (const auto& [id, open] : runs) AskBegin(*open);
  }
  WakeAll();
  if (asked == nullptr || asked->resume || !former.paused) {
    AnswerFine(pending, "");
    return;
  }
  // Who takes a pause over is told from whom, as it is with a claim: the former reason is nowhere else shown.
  const std::string was =
      StrCat(former.by, " at ", FormatUtc(former.at), former.reason.empty() ? "" : ": ", former.reason);
  Reply(*pending.request, Answer::Kind::kFine,
        StrCat(control.scope, " is paused by ", control.by, "; it was paused by ", was),
        Json::MakeObject().Set("was_paused_by", was));
}

void EngineState::EndPaused(Lane& lane, bool keep_newest) {
  if (lane.open.empty() || PauseOf(TaskOf(lane)) != nullptr) return;
  std::vector<std::string> waiting;
  for (const std::string& id : lane.open) {
    const OpenRun* open = FindRun(id);
    bool paused =
        open != nullptr && open->due_in_pause && open->told_once && open->told_reason == Reason::kPaused;
    if (paused && open->run.state == RunState::kScheduled && open->run.attempts == 0 &&
        open->flight == OpenRun::Flight::kNone) {
      waiting.push_back(id);
    }
  }
  if (keep_newest && !waiting.empty()) waiting.pop_back();
  for (const std::string& id : waiting)
    MoveRun(*FindRun(id), {RunState::kSkipped, Reason::kPaused, "came due while paused"});
}

}  // namespace duecourse
