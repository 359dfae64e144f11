// The words that a rule writes for the enumerations of the model, one table
// each, the first the default. Reading and printing use the same table.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "rule/rule.h"

namespace duecourse {

template <typename E>
struct Choice {
  const char* name;
  E value;
};

inline constexpr std::array<Choice<DstRule::Gap>, 2> kGapNames = {
    {{"after", DstRule::Gap::kAfter}, {"skip", DstRule::Gap::kSkip}}};
inline constexpr std::array<Choice<DstRule::Overlap>, 3> kOverlapNames = {
    {{"first", DstRule::Overlap::kFirst},
     {"second", DstRule::Overlap::kSecond},
     {"both", DstRule::Overlap::kBoth}}};
inline constexpr std::array<Choice<OnWindowEnd>, 2> kOnWindowEndNames = {
    {{"manual", OnWindowEnd::kManual}, {"missed", OnWindowEnd::kMissed}}};
inline constexpr std::array<Choice<MissedPolicy>, 3> kMissedNames = {
    {{"latest", MissedPolicy::kLatest}, {"all", MissedPolicy::kAll}, {"skip", MissedPolicy::kSkip}}};
inline constexpr std::array<Choice<OnExcluded>, 2> kOnExcludedNames = {
    {{"skip", OnExcluded::kSkip}, {"next_workday", OnExcluded::kNextWorkday}}};
inline constexpr std::array<Choice<OnLost>, 2> kOnLostNames = {
    {{"rerun", OnLost::kRerun}, {"hold", OnLost::kHold}}};
inline constexpr std::array<Choice<Supersede>, 2> kSupersedeNames = {
    {{"allowed", Supersede::kAllowed}, {"never", Supersede::kNever}}};
inline constexpr std::array<Choice<ExecutionRule::OnTimeout>, 2> kOnTimeoutNames = {
    {{"fail_and_notify", ExecutionRule::OnTimeout::kFailAndNotify},
     {"manual", ExecutionRule::OnTimeout::kManual}}};
inline constexpr std::array<Choice<bool>, 2> kBackgroundNames = {{{"kill", false}, {"keep", true}}};
inline constexpr std::array<Choice<bool>, 2> kStoreLossNames = {{{"finish", false}, {"stop", true}}};
inline constexpr std::array<Choice<bool>, 2> kThenNames = {{{"catchup", false}, {"manual", true}}};
inline constexpr std::array<Choice<bool>, 2> kBreakerThenNames = {{{"trial", false}, {"manual", true}}};
inline constexpr std::array<Choice<bool>, 2> kOnInvalidNames = {{{"wait", false}, {"manual", true}}};
inline constexpr std::array<Choice<bool>, 2> kTaskStateNames = {{{"success", false}, {"ended", true}}};
inline constexpr std::array<Choice<TaskCondition::Date>, 2> kTaskDateNames = {
    {{"same_day", TaskCondition::Date::kSame}, {"previous_day", TaskCondition::Date::kPreviousDay}}};
inline constexpr std::array<Choice<FileCondition::ModifiedAfter>, 3> kModifiedAfterNames = {
    {{"business_date", FileCondition::ModifiedAfter::kBusinessDate},
     {"due", FileCondition::ModifiedAfter::kDue},
     {"window_start", FileCondition::ModifiedAfter::kWindowStart}}};
inline constexpr std::array<Choice<BusinessDateRule::Kind>, 4> kBusinessDateNames = {
    {{"same_day", BusinessDateRule::Kind::kSameDay},
     {"previous_day", BusinessDateRule::Kind::kPreviousDay},
     {"previous_workday", BusinessDateRule::Kind::kPreviousWorkday},
     {"next_workday", BusinessDateRule::Kind::kNextWorkday}}};
inline constexpr std::array<Choice<FailureClass>, 4> kFailureClassNames = {
    {{"transient", FailureClass::kTransient},
     {"business", FailureClass::kBusiness},
     {"unknown", FailureClass::kUnknown},
     {"not_ready", FailureClass::kNotReady}}};
inline constexpr std::array<Choice<ErrorRule::Kind>, 4> kErrorKindNames = {
    {{"exit", ErrorRule::Kind::kExit},
     {"status", ErrorRule::Kind::kStatus},
     {"signal", ErrorRule::Kind::kSignal},
     {"output", ErrorRule::Kind::kOutput}}};
inline constexpr std::array<Choice<AlertRule::Policy>, 2> kAlertPolicyNames = {
    {{"graded", AlertRule::Policy::kGraded}, {"three_step", AlertRule::Policy::kThreeStep}}};
inline constexpr std::array<Choice<AlertRule::Event>, 8> kAlertEventNames = {
    {{"failure", AlertRule::Event::kFailure},
     {"second_failure", AlertRule::Event::kSecondFailure},
     {"third_failure", AlertRule::Event::kThirdFailure},
     {"skipped", AlertRule::Event::kSkipped},
     {"missed", AlertRule::Event::kMissed},
     {"manual_required", AlertRule::Event::kManualRequired},
     {"breaker_open", AlertRule::Event::kBreakerOpen},
     {"stuck", AlertRule::Event::kStuck}}};
inline constexpr std::array<Choice<AlertLevel>, 4> kAlertLevelNames = {
    {{"none", AlertLevel::kNone}, {"P3", AlertLevel::kP3}, {"P2", AlertLevel::kP2}, {"P1", AlertLevel::kP1}}};
inline constexpr std::array<Choice<Precondition::Type>, 5> kPreconditionNames = {
    {{"flag", Precondition::Type::kFlag},
     {"file", Precondition::Type::kFile},
     {"http", Precondition::Type::kHttp},
     {"task", Precondition::Type::kTask},
     {"command", Precondition::Type::kCommand}}};
// States in which a run may stay too long (`alerts.stuck`).
inline constexpr std::array<Choice<int>, 5> kStuckStateNames = {
    {{"scheduled", 0}, {"running", 1}, {"retrying", 2}, {"catchup_waiting", 3}, {"manual_required", 4}}};
// Bit n of TriggerRule::days.
inline constexpr std::array<Choice<int>, 7> kWeekdayNames = {
    {{"sun", 0}, {"mon", 1}, {"tue", 2}, {"wed", 3}, {"thu", 4}, {"fri", 5}, {"sat", 6}}};

// The word for a value; empty where the table has none.
template <typename E, size_t N>
std::string NameOf(const std::array<Choice<E>, N>& table, E value) {
  for (const Choice<E>& choice : table) {
    if (choice.value == value) return choice.name;
  }
  return "";
}

}  // namespace duecourse
