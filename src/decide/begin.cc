#include "decide/begin.h"

namespace duecourse {

std::optional<Reason> MayNotBegin(const BeginFacts& facts) {
  if (facts.draining) return Reason::kDraining;
  if (facts.gone) return Reason::kRuleRemoved;
  if (facts.by_hand) return std::nullopt;
  if (facts.now >= facts.ends) return Reason::kExceededWindow;
  if (facts.now >= facts.start_limit) return Reason::kExceededMaxDelay;
  if (facts.paused) return Reason::kPaused;
  if (facts.now < facts.maintenance_until) return Reason::kMaintenanceWindow;
  return std::nullopt;
}

}  // namespace duecourse
