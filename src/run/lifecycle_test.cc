#include "run/lifecycle.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace duecourse {
namespace {

TEST(Lifecycle, TheEdgesAreExactlyThoseOfTheDiagram) {
  const std::set<std::string> expected = {
      "scheduled>running",       "scheduled>skipped",
      "scheduled>missed",        "scheduled>manual_required",
      "running>success",         "running>retrying",
      "running>catchup_waiting", "running>manual_required",
      "running>skipped",         "running>scheduled",
      "retrying>running",        "retrying>catchup_waiting",
      "retrying>skipped",        "retrying>manual_required",
      "catchup_waiting>running", "catchup_waiting>catchup_waiting",
      "catchup_waiting>skipped", "catchup_waiting>manual_required",
      "manual_required>running", "manual_required>success",
      "manual_required>skipped",
  };
  std::set<std::string> found;
  for (int from = 0; from < kRunStateCount; ++from) {
    for (int to = 0; to < kRunStateCount; ++to) {
      const auto a = static_cast<RunState>(from);
      const auto b = static_cast<RunState>(to);
      if (EdgeExists(a, b)) found.insert(std::string(RunStateName(a)) + ">" + RunStateName(b));
    }
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(Edges().size(), expected.size());
}

TEST(Lifecycle, TheConceptsPageListsTheSameEdges) {
  std::ifstream file(DUECOURSE_SOURCE_DIR "/docs/concepts.md");
  ASSERT_TRUE(file.is_open()) << "docs/concepts.md is missing";
  std::stringstream page;
  page << file.rdbuf();
  for (int from = 0; from < kRunStateCount; ++from) {
    const auto state = static_cast<RunState>(from);
    std::string targets;
    for (const Edge& edge : Edges()) {
      if (edge.from == state)
        targets += std::string(targets.empty() ? "`" : ", `") + RunStateName(edge.to) + "`";
    }
    if (targets.empty()) continue;
    const std::string row = std::string("| `") + RunStateName(state) + "` | " + targets + " |\n";
    EXPECT_NE(page.str().find(row), std::string::npos) << "docs/concepts.md lacks: " << row;
  }
}

TEST(Lifecycle, FinalStatesAreNeverLeftAndOnlyAPersonLeavesManualRequired) {
  for (const Edge& edge : Edges()) {
    EXPECT_FALSE(IsFinal(edge.from)) << RunStateName(edge.from);
    EXPECT_EQ(NeedsPerson(edge.from), edge.from == RunState::kManualRequired);
  }
}

TEST(Lifecycle, EveryStateCanBeReachedAndEveryOpenOneCanEndWithAPerson) {
  std::set<RunState> reached = {RunState::kScheduled};
  for (size_t round = 0; round < Edges().size(); ++round) {
    for (const Edge& edge : Edges()) {
      if (reached.count(edge.from) > 0) reached.insert(edge.to);
    }
  }
  EXPECT_EQ(reached.size(), static_cast<size_t>(kRunStateCount));
  for (RunState state :
       {RunState::kScheduled, RunState::kRunning, RunState::kRetrying, RunState::kCatchupWaiting}) {
    EXPECT_TRUE(EdgeExists(state, RunState::kManualRequired)) << RunStateName(state);
    EXPECT_TRUE(EdgeExists(state, RunState::kSkipped)) << RunStateName(state);
  }
}

}  // namespace
}  // namespace duecourse
