// An attempt as the executors get it: everything rendered, nothing left to look up. Pure.
#pragma once

#include <string>

#include "exec/exec.h"
#include "rule/occurrence.h"

namespace duecourse {

struct AttemptFacts {
  const RuleSet* rules = nullptr;
  const Task* task = nullptr;
  size_t value = 0;
  const Occurrence* occurrence = nullptr;
  const Run* run = nullptr;  // its fence and attempts are those of this attempt
  TriggerKind kind = TriggerKind::kSchedule;
  Instant now;
};
// `problem` is empty, or says which name cannot be rendered; the request is not to be started then.
StartRequest RenderAttempt(const AttemptFacts& facts, std::string* problem);

}  // namespace duecourse
