// Who waits for whom. Finds the tasks that wait for themselves, by any number
// of steps, in time linear in the edges and without recursion. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace duecourse {

// waits_for[n] are the nodes that n waits for. Each answer is one cycle: nodes in the order of waiting, the
// last of which waits for the first. One cycle (a shortest one through its lowest node) for each set of nodes
// that are tangled.
std::vector<std::vector<size_t>> FindWaitCycles(const std::vector<std::vector<size_t>>& waits_for);

}  // namespace duecourse
