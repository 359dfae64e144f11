// The defaults that depend on the rest of a rule. Reading fills them in, printing
// leaves out what equals them. (The plain ones stand in rule.h.) Pure.
#pragma once

#include "rule/rule.h"

namespace duecourse {

inline constexpr int kDefaultAttemptsMax = 10;  // a written max_total_attempts may exceed it

// manual for rules that wait, retry or catch up; else missed.
OnWindowEnd DefaultOnWindowEnd(const RuleBody& rule);
// latest where a window's end is written; else skip.
MissedPolicy DefaultMissed(const RuleBody& rule);
// 1 + immediate + backoff + max_times, + 1 with on_lost: rerun; never above kDefaultAttemptsMax. Without
// max_times as many catch-ups as the default holds.
int DefaultMaxTotalAttempts(const RuleBody& rule);
// 1000 ms where there is a backoff to spread.
Millis DefaultJitter(const RetryRule& retry);
Millis DefaultHeartbeat(Millis ttl);
inline constexpr const char* kDefaultKey = "{task}:{scheduled_at}";
// Whether the name of a flag says its date itself; such a flag is undated.
bool RendersDate(const Template& name);
inline constexpr const char* kDefaultProbeMethod = "GET";
inline constexpr const char* kDefaultAgentMethod = "POST";

}  // namespace duecourse
