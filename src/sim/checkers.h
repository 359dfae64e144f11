// The invariants, held against three witnesses: the store's tables, the ledger
// of starts, the alerts as sent (docs/guarantees.md names them by number). Each
// finding is a sentence; none means all hold.
#pragma once

#include <string>
#include <vector>

#include "sim/world.h"

namespace duecourse {

struct CheckInput {
  const RuleSet* rules = nullptr;
  const std::vector<SimStart>* starts = nullptr;
  const std::vector<SimAlert>* alerts = nullptr;
  std::vector<Run> runs;
  std::vector<Attempt> attempts;
  std::vector<DecisionRow> decisions;
  std::vector<Note> notes;
  Instant from;  // rules were in force from then on, unchanged
  Instant until;
  bool rules_changed = false;  // the planner's check (14) is left out
};
Result<CheckInput> Gather(World& world, std::shared_ptr<const RuleSet> rules, Instant from, Instant until);
std::vector<std::string> CheckInvariants(const CheckInput& input);

}  // namespace duecourse
