#include "run/lifecycle.h"

namespace duecourse {

const std::vector<Edge>& Edges() {
  static const std::vector<Edge> edges = {
      {RunState::kScheduled, RunState::kRunning},
      {RunState::kScheduled, RunState::kSkipped},
      {RunState::kScheduled, RunState::kMissed},
      {RunState::kScheduled, RunState::kManualRequired},
      // Back to where it came from: not ready, not started, or a person's attempt that failed.
      {RunState::kRunning, RunState::kScheduled},
      {RunState::kRunning, RunState::kRetrying},
      {RunState::kRunning, RunState::kCatchupWaiting},
      {RunState::kRunning, RunState::kSuccess},
      {RunState::kRunning, RunState::kManualRequired},
      {RunState::kRunning, RunState::kSkipped},  // cancelled
      {RunState::kRetrying, RunState::kRunning},
      {RunState::kRetrying, RunState::kCatchupWaiting},
      {RunState::kRetrying, RunState::kSkipped},
      {RunState::kRetrying, RunState::kManualRequired},
      {RunState::kCatchupWaiting, RunState::kRunning},
      {RunState::kCatchupWaiting, RunState::kCatchupWaiting},
      {RunState::kCatchupWaiting, RunState::kSkipped},
      {RunState::kCatchupWaiting, RunState::kManualRequired},
      // A person's: an attempt, done by hand, not needed.
      {RunState::kManualRequired, RunState::kRunning},
      {RunState::kManualRequired, RunState::kSuccess},
      {RunState::kManualRequired, RunState::kSkipped},
  };
  return edges;
}

bool EdgeExists(RunState from, RunState to) {
  for (const Edge& edge : Edges()) {
    if (edge.from == from && edge.to == to) return true;
  }
  return false;
}

bool NeedsPerson(RunState from) { return from == RunState::kManualRequired; }

}  // namespace duecourse
