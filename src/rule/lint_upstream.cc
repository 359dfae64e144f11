#include "base/text.h"
#include "rule/lint_parts.h"

namespace duecourse {
namespace {

constexpr auto kWarning = Finding::Severity::kWarning;
constexpr int kDownstreamTried = 60;  // occurrences of the task that waits
constexpr int kUpstreamTried = 100;   // looked back at for each of them

const char* const kWeekdayNames[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                     "Thursday", "Friday", "Saturday"};

enum class Answer { kFound, kNotThatDay, kUnsure };

// Whether the upstream has an occurrence for that date, due at or before mine.
Answer RunsFor(const Task& upstream, size_t value, CivilDay date, Instant mine, const ServerConfig& config) {
  std::optional<Instant> due = PreviousDue(upstream.rule(), value, mine + Millis{1});
  for (int i = 0; i < kUpstreamTried && due; ++i, due = PreviousDue(upstream.rule(), value, *due)) {
    const Occurrence occurrence = OccurrenceAt(upstream, value, *due, config);
    if (!occurrence.business_date_known || occurrence.day == Occurrence::Day::kUnknown)
      return Answer::kUnsure;
    if (occurrence.business_date == date && occurrence.day == Occurrence::Day::kOpen) return Answer::kFound;
    if (occurrence.business_date < date - 31) return Answer::kNotThatDay;
  }
  return due ? Answer::kUnsure : Answer::kNotThatDay;
}

// The first occurrence of the task for which its upstream cannot have run, in words; empty where there is
// none.
std::string FirstWithout(const Task& task, const Task& upstream, const TaskCondition& condition,
                         const LintContext& context) {
  const ServerConfig& config = context.set.config;
  std::optional<Instant> due = NextDue(task.rule(), 0, context.options.now);
  for (int i = 0; i < kDownstreamTried && due; ++i, due = NextDue(task.rule(), 0, *due)) {
    const Occurrence mine = OccurrenceAt(task, 0, *due, config);
    if (mine.day != Occurrence::Day::kOpen || !mine.business_date_known) continue;
    const CivilDay date = condition.business_date == TaskCondition::Date::kPreviousDay
                              ? mine.business_date - 1
                              : mine.business_date;
    if (RunsFor(upstream, 0, date, *due, config) != Answer::kNotThatDay) continue;
    return StrCat("due ", FormatLocal(*due, ScheduleOf(task.rule(), 0).zone),
                  ", it asks for the business date ", FormatDay(date), " (", kWeekdayNames[WeekdayOf(date)],
                  "), and no occurrence of ", upstream.id, " due by then has it");
  }
  return "";
}

}  // namespace

void LintUpstreamDays(LintContext* context) {
  for (const LintGroup& group : context->groups) {
    const Task& task = group.first();
    const RuleBody& rule = group.rule();
    if (!rule.Waits() || !HasSchedule(rule)) continue;
    for (size_t i = 0; i < rule.trigger.preconditions.size(); ++i) {
      const Precondition& condition = rule.trigger.preconditions[i];
      // With a key written it is that key, whichever day it is of.
      if (condition.type != Precondition::Type::kTask || condition.task.key) continue;
      const std::string name = KeyPattern(condition.task.task, task, 0);
      const Task* upstream = name == "self" ? &task : context->set.Find(name);
      if (upstream == nullptr || upstream == &task || !HasSchedule(upstream->rule())) continue;
      const std::string without = FirstWithout(task, *upstream, condition.task, *context);
      if (without.empty()) continue;
      context->Add(
          kWarning, group,
          {"upstream_not_that_day", StrCat("trigger.preconditions[", i, "]"),
           StrCat("waits in vain for ", upstream->id, ": ", without),
           "let both run on the same days with the upstream first, or ask for business_date: previous_day"});
    }
  }
}

}  // namespace duecourse
