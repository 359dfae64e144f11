#include "rule/wait_graph.h"

#include <algorithm>
#include <limits>

namespace duecourse {
namespace {

using Edges = std::vector<std::vector<size_t>>;
constexpr size_t kUnseen = std::numeric_limits<size_t>::max();

// Tarjan's strongly connected components with a stack of our own: a chain of tasks may be longer than a
// thread's stack.
class Components {
 public:
  explicit Components(const Edges& edges)
      : edges_(edges), order_(edges.size(), kUnseen), low_(edges.size(), 0), open_(edges.size(), false) {
    for (size_t node = 0; node < edges_.size(); ++node) {
      if (order_[node] == kUnseen) Walk(node);
    }
  }
  const std::vector<std::vector<size_t>>& found() const { return found_; }

 private:
  struct Frame {
    size_t node;
    size_t next_edge;
  };

  void Enter(size_t node) {
    order_[node] = low_[node] = counter_++;
    open_[node] = true;
    pending_.push_back(node);
    frames_.push_back({node, 0});
  }

  void Walk(size_t root) {
    Enter(root);
    while (!frames_.empty()) {
      const size_t node = frames_.back().node;
      if (frames_.back().next_edge < edges_[node].size()) {
        const size_t target = edges_[node][frames_.back().next_edge++];
        if (order_[target] == kUnseen) {
          Enter(target);
        } else if (open_[target]) {
          low_[node] = std::min(low_[node], order_[target]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty()) low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
      if (low_[node] == order_[node]) Close(node);
    }
  }

  void Close(size_t root) {
    std::vector<size_t> component;
    size_t node = kUnseen;
    do {
      node = pending_.back();
      pending_.pop_back();
      open_[node] = false;
      component.push_back(node);
    } while (node != root);
    std::sort(component.begin(), component.end());
    found_.push_back(std::move(component));
  }

  const Edges& edges_;
  size_t counter_ = 0;
  std::vector<size_t> order_;
  std::vector<size_t> low_;
  std::vector<bool> open_;
  std::vector<size_t> pending_;
  std::vector<Frame> frames_;
  std::vector<std::vector<size_t>> found_;
};

// A shortest way from the component's first node back to itself; empty where there is none (a single node).
std::vector<size_t> ShortestCycle(const Edges& edges, const std::vector<size_t>& component) {
  const size_t start = component.front();
  const auto index_of = [&component](size_t node) {
    const auto at = std::lower_bound(component.begin(), component.end(), node);
    return at != component.end() && *at == node ? static_cast<size_t>(at - component.begin()) : kUnseen;
  };
  std::vector<size_t> came_from(component.size(), kUnseen);
  std::vector<size_t> queue = {start};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (size_t target : edges[queue[i]]) {
      if (target == start) {
        std::vector<size_t> cycle;
        for (size_t node = queue[i]; node != start; node = came_from[index_of(node)]) cycle.push_back(node);
        cycle.push_back(start);
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
      }
      const size_t at = index_of(target);
      if (at == kUnseen || came_from[at] != kUnseen) continue;
      came_from[at] = queue[i];
      queue.push_back(target);
    }
  }
  return {};
}

}  // namespace

std::vector<std::vector<size_t>> FindWaitCycles(const Edges& waits_for) {
  std::vector<std::vector<size_t>> cycles;
  const Components components(waits_for);
  for (const std::vector<size_t>& component : components.found()) {
    std::vector<size_t> cycle = ShortestCycle(waits_for, component);
    if (!cycle.empty()) cycles.push_back(std::move(cycle));
  }
  std::sort(cycles.begin(), cycles.end());
  return cycles;
}

}  // namespace duecourse
