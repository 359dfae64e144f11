// The edges of a run's life; none but these occur (invariant 16). Pure.
#pragma once

#include <vector>

#include "run/run.h"

namespace duecourse {

struct Edge {
  RunState from;
  RunState to;
};
bool EdgeExists(RunState from, RunState to);
const std::vector<Edge>& Edges();
// manual_required is left only by a named person; final states never change.
bool NeedsPerson(RunState from);

}  // namespace duecourse
