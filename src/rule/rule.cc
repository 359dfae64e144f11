#include "rule/rule.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "rule/choices.h"
#include "rule/defaults.h"

namespace duecourse {

bool RuleBody::Elaborate() const {
  return Waits() || Retries() || !for_each.empty() || trigger.business_date != BusinessDateRule{};
}

const Schedule& ScheduleOf(const RuleBody& rule, size_t value) {
  if (!rule.trigger.zone_by_value) return rule.trigger.schedule;
  CHECK(value < rule.for_each.size());
  CHECK(rule.for_each[value].schedule.has_value());
  return *rule.for_each[value].schedule;
}

size_t ValueCount(const RuleBody& rule) { return std::max<size_t>(1, rule.for_each.size()); }

const std::string& ValueId(const RuleBody& rule, size_t value) {
  static const std::string none;
  if (rule.for_each.empty()) return none;
  CHECK(value < rule.for_each.size());
  return rule.for_each[value].id;
}

const char* FailureClassName(FailureClass value) {
  switch (value) {
    case FailureClass::kNone:
      return "none";
    case FailureClass::kTransient:
      return "transient";
    case FailureClass::kBusiness:
      return "business";
    case FailureClass::kUnknown:
      return "unknown";
    case FailureClass::kNotReady:
      return "not_ready";
  }
  return "";
}

const char* PreconditionTypeName(Precondition::Type type) {
  switch (type) {
    case Precondition::Type::kFlag:
      return "flag";
    case Precondition::Type::kFile:
      return "file";
    case Precondition::Type::kHttp:
      return "http";
    case Precondition::Type::kTask:
      return "task";
    case Precondition::Type::kCommand:
      return "command";
  }
  return "";
}

OnWindowEnd DefaultOnWindowEnd(const RuleBody& rule) {
  return rule.Waits() || rule.Retries() ? OnWindowEnd::kManual : OnWindowEnd::kMissed;
}

MissedPolicy DefaultMissed(const RuleBody& rule) {
  return rule.trigger.window_end_written ? MissedPolicy::kLatest : MissedPolicy::kSkip;
}

int DefaultMaxTotalAttempts(const RuleBody& rule) {
  const RetryRule& retry = rule.retry;
  int64_t count = 1 + int64_t{retry.immediate_max} + static_cast<int64_t>(retry.backoff.size());
  if (retry.catchup) count += retry.catchup_max_times.value_or(kDefaultAttemptsMax);
  if (rule.on_lost == OnLost::kRerun) ++count;
  return static_cast<int>(std::min<int64_t>(count, kDefaultAttemptsMax));
}

Millis DefaultJitter(const RetryRule& retry) { return retry.backoff.empty() ? Millis{0} : Seconds(1); }

Millis DefaultHeartbeat(Millis ttl) { return {ttl.count / 4}; }

bool RendersDate(const Template& name) {
  static constexpr std::array<const char*, 10> kDated = {
      "business_date", "date",           "target_date", "scheduled_at", "iso_week",
      "year",          "business_month", "day",         "month",        "iso_week_number"};
  return std::any_of(kDated.begin(), kDated.end(), [&](const char* variable) { return name.Uses(variable); });
}

}  // namespace duecourse
