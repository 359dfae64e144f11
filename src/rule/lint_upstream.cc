#include <algorithm>

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

// Who sets a flag by succeeding, where nobody else is named for it.
class Setters {
 public:
  explicit Setters(const LintContext& context) : context_(context) {
    for (const Task& task : context.set.tasks) {
      for (const Template& flag : task.rule().on_success_flags) {
        for (size_t value = 0; value < ValueCount(task.rule()); ++value) {
          const std::string pattern = KeyPattern(flag, task, value);
          if (!OfAnotherTime(pattern)) of_[UndatedName(pattern)].push_back({&task, value});
          if (flag.constant()) break;
        }
      }
    }
    Task nobody;
    nobody.body = std::make_shared<RuleBody>();
    for (const FlagConfig& flag : context.set.config.flags) {
      of_.erase(flag.name);
      const Result<Template> name = Template::Parse(flag.name);
      if (name.ok()) of_.erase(UndatedName(KeyPattern(*name, nobody, 0)));
    }
  }

  // Like FirstWithout. A flag may be set at any time before the window ends, and by any of its setters.
  std::string FirstUnset(const Task& task, const FlagCondition& condition) const {
    const std::string pattern = KeyPattern(condition.name, task, 0);
    const auto at = of_.find(UndatedName(pattern));
    if (at == of_.end() || OfAnotherTime(pattern) || !(condition.dated || RendersDate(pattern))) return "";
    std::optional<Instant> due = NextDue(task.rule(), 0, context_.options.now);
    for (int i = 0; i < kDownstreamTried && due; ++i, due = NextDue(task.rule(), 0, *due)) {
      const Occurrence mine = OccurrenceAt(task, 0, *due, context_.set.config);
      if (mine.day != Occurrence::Day::kOpen || !mine.business_date_known) continue;
      if (!NobodySets(at->second, task, mine)) continue;
      return StrCat("due ", FormatLocal(*due, ScheduleOf(task.rule(), 0).zone),
                    ", it asks for the business date ", FormatDay(mine.business_date), " (",
                    kWeekdayNames[WeekdayOf(mine.business_date)], "), and ", at->second.front().task->id,
                    at->second.size() > 1 ? " and the others that set it have" : ", which sets it, has",
                    " no occurrence for that date due before its window ends");
    }
    return "";
  }

 private:
  struct Setter {
    const Task* task;
    size_t value;
  };
  // Named by an instant or by UTC's date: which business date that is cannot be told here.
  static bool OfAnotherTime(const std::string& pattern) {
    return pattern.empty() || pattern.find(kUtcMark) != std::string::npos ||
           pattern.find(kWholeMark) != std::string::npos;
  }
  bool NobodySets(const std::vector<Setter>& setters, const Task& task, const Occurrence& mine) const {
    return std::all_of(setters.begin(), setters.end(), [&](const Setter& setter) {
      return setter.task != &task && HasSchedule(setter.task->rule()) &&
             RunsFor(*setter.task, setter.value, mine.business_date, mine.window.ends - Millis{2},
                     context_.set.config) == Answer::kNotThatDay;
    });
  }

  const LintContext& context_;
  std::map<std::string, std::vector<Setter>> of_;  // by the flag's name without dates
};

// Why the condition is waited for in vain some day; empty where it never is.
std::string InVain(const LintContext& context, const Setters& setters, const Task& task,
                   const Precondition& condition) {
  if (condition.type == Precondition::Type::kFlag) {
    const std::string unset = setters.FirstUnset(task, condition.flag);
    return unset.empty() ? "" : StrCat("the flag ", condition.flag.name.text(), ": ", unset);
  }
  // With a key written it is that key, whichever day it is of.
  if (condition.type != Precondition::Type::kTask || condition.task.key) return "";
  const std::string name = KeyPattern(condition.task.task, task, 0);
  const Task* upstream = name == "self" ? &task : context.set.Find(name);
  if (upstream == nullptr || upstream == &task || !HasSchedule(upstream->rule())) return "";
  const std::string without = FirstWithout(task, *upstream, condition.task, context);
  return without.empty() ? "" : StrCat(upstream->id, ": ", without);
}

}  // namespace

void LintUpstreamDays(LintContext* context) {
  const Setters setters(*context);
  for (const LintGroup& group : context->groups) {
    const RuleBody& rule = group.rule();
    if (!rule.Waits() || !HasSchedule(rule)) continue;
    for (size_t i = 0; i < rule.trigger.preconditions.size(); ++i) {
      const std::string what = InVain(*context, setters, group.first(), rule.trigger.preconditions[i]);
      if (what.empty()) continue;
      context->Add(
          kWarning, group,
          {"upstream_not_that_day", StrCat("trigger.preconditions[", i, "]"),
           StrCat("waits in vain for ", what),
           "let both run on the same days with the upstream first, or ask for business_date: previous_day"});
    }
  }
}

}  // namespace duecourse
