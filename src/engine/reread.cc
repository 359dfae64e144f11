// The store refused a change because its row is not what is known here. The run is read again and goes on
// from what the store says; it is never forgotten, and never changed on what is only believed.
#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

void EngineState::Reread(OpenRun& open, const char* refused) {
  ++open.refusals;
  Say(LogLevel::kWarning, "row_moved_on",
      Json::MakeObject()
          .Set("run", open.run.id)
          .Set("refused", refused)
          .Set("believed", RunStateName(open.run.state))
          .Set("fence", open.run.fence)
          .Set("in_a_row", open.refusals));
  FindRunsCall call;
  call.run_id = open.run.id;
  Pending pending;
  pending.kind = Pending::Kind::kRead;
  pending.runs.push_back(open.run.id);
  open.flight = OpenRun::Flight::kRead;
  Call(std::move(call), std::move(pending));
}

void EngineState::OnReread(OpenRun& open, const std::vector<Run>& found) {
  open.flight = OpenRun::Flight::kNone;
  bool ours = !found.empty() && open.executing && found.front().state == RunState::kRunning &&
              found.front().fence == open.run.fence;
  if (ours) {
    open.run = found.front();
    ObeyCancel(open);
    TakeEnded(open);
    return;
  }
  KillAttempt(open, KillWhy::kLeaseLost, "the store says that this attempt is over");
  open.executing = false;
  open.inspecting = false;
  open.renew_at = kNever;
  open.ended.reset();
  open.told_once = false;
  Unreserve(open);
  if (found.empty()) {
    Say(LogLevel::kError, "run_vanished", Json::MakeObject().Set("run", open.run.id));
    Close(open.run.id);
    return;
  }
  open.run = found.front();
  if (IsFinal(open.run.state)) {
    Close(open.run.id);
    return;
  }
  Bind(open);
  WakeWaitersOfTask(open.run.task);
  if (open.refusals > kRefusalsInARow) {
    ArmRun(open, now + kInspectAgain);
  } else if (open.run.state == RunState::kRunning) {
    AdoptRunning(open);  // nobody here runs it, so it is looked at
  } else {
    ArmRun(open, kNever);
    Wake(open.run.id);
  }
}

}  // namespace duecourse
