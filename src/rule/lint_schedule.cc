#include <algorithm>

#include "base/text.h"
#include "rule/clock_change.h"
#include "rule/lint_parts.h"

namespace duecourse {
namespace {

constexpr auto kError = Finding::Severity::kError;
constexpr auto kWarning = Finding::Severity::kWarning;
constexpr auto kHint = Finding::Severity::kHint;
constexpr int kDatesShown = 12;
constexpr int kWindowsTried = 50;

// The next local days on which something is due.
std::vector<std::string> NextDates(const RuleBody& rule, Instant now, int count) {
  const Zone& zone = ScheduleOf(rule, 0).zone;
  std::vector<std::string> dates;
  std::optional<Instant> due = NextDue(rule, 0, now);
  while (due && static_cast<int>(dates.size()) < count) {
    const CivilDay day = zone.ToLocal(*due).civil.day;
    dates.push_back(FormatDay(day));
    due = NextDue(rule, 0, InstantOf({day + 1, 0}, zone) - Millis{1});
  }
  return dates;
}

void LintDayFields(LintContext* context, const LintGroup& group) {
  const auto* schedule = std::get_if<CronSchedule>(&ScheduleOf(group.rule(), 0).kind);
  if (schedule == nullptr) return;
  const Cron& cron = schedule->cron;
  const Instant now = context->options.now;
  if (cron.day_or_weekday_star_step()) {
    context->Add(kWarning, group,
                 {"day_star_step", "trigger.cron",
                  StrCat("\"", cron.expression(),
                         "\" has */n in one day field and restricts the other: here either suffices, cronie "
                         "asks both; next ",
                         Join(NextDates(group.rule(), now, 5), ", ")),
                  "write + before the weekday field where both are meant"});
  } else if (cron.day_restricted() && cron.weekday_restricted() &&
             cron.expression().find('+') == std::string::npos) {
    context->Add(
        kWarning, group,
        {"day_or_weekday", "trigger.cron",
         StrCat("\"", cron.expression(), "\" names days of the month and weekdays: either suffices; next ",
                Join(NextDates(group.rule(), now, 5), ", ")),
         "write + before the weekday field where both are meant"});
  }
  if (cron.names_day_29_to_31()) {
    context->Add(
        kWarning, group,
        {"short_months", "trigger.cron",
         StrCat("\"", cron.expression(), "\" names a day that not every month has; the next 12 dates are ",
                Join(NextDates(group.rule(), now, kDatesShown), ", ")),
         "L is the last day of every month: \"0 9 L * *\""});
  }
}

void LintPast(LintContext* context, const LintGroup& group) {
  const RuleBody& rule = group.rule();
  const Schedule& schedule = ScheduleOf(rule, 0);
  const Instant now = context->options.now;
  const bool comes = NextDue(rule, 0, now).has_value();
  if (const auto* listed = std::get_if<AtSchedule>(&schedule.kind)) {
    const Instant first = InstantOf(listed->at.front(), schedule.zone);
    if (first > now) return;
    context->Add(
        comes ? kWarning : kError, group,
        {comes ? "at_partly_past" : "at_past", "trigger.at",
         StrCat("at: ", FormatLocal(first, schedule.zone), " is in the past",
                comes ? "; later ones follow" : ""),
         comes ? "take what is past out" : "name an instant to come, or take the task out once it has run"});
    return;
  }
  if (comes) return;
  context->Add(kWarning, group,
               {"never_due", rule.trigger.until ? "trigger.until" : "trigger.cron",
                rule.trigger.until
                    ? StrCat("nothing is due any more: until ", FormatDay(*rule.trigger.until), " is over")
                    : "nothing is due any more",
                "name a later day, or take the task out"});
}

// An end at or before the start is the next day's, which is meant for a night and seldom for most of a day.
void LintLongWindow(LintContext* context, const LintGroup& group) {
  const WindowSpec& window = group.rule().trigger.window;
  constexpr int32_t kDay = 24 * 3600;
  constexpr int32_t kNight = 12 * 3600;
  if (!window.start || !window.end || *window.end > *window.start) return;
  const int32_t seconds = kDay + *window.end - *window.start;
  if (seconds <= kNight) return;
  context->Add(
      kHint, group,
      {"window_long", "trigger.window_end",
       StrCat("the window from ", FormatTimeOfDay(*window.start), " to ", FormatTimeOfDay(*window.end),
              " ends on the next day: it is open for ", FormatMillis(Seconds(seconds))),
       "write a later window_end where the same day is meant"});
}

// Windows and days, over the next occurrences.
void LintWindows(LintContext* context, const LintGroup& group) {
  const Task& task = group.first();
  const RuleBody& rule = task.rule();
  const Zone& zone = ScheduleOf(rule, 0).zone;
  bool outside_told = false;
  int open = 0;
  int tried = 0;
  std::string excluded;
  std::optional<Instant> due = NextDue(rule, 0, context->options.now);
  for (; due && tried < kWindowsTried; ++tried, due = NextDue(rule, 0, *due)) {
    const Occurrence occurrence = OccurrenceAt(task, 0, *due, context->set.config);
    if (occurrence.day != Occurrence::Day::kExcluded) ++open;
    if (excluded.empty()) excluded = occurrence.day_detail;
    if (occurrence.window.contains_due || outside_told) continue;
    outside_told = true;
    context->Add(
        kWarning, group,
        {"due_outside_window", "trigger.window_start",
         StrCat("due ", FormatLocal(*due, zone), ", outside its window: it waits until the next one opens, ",
                FormatLocal(occurrence.window.opens, zone), ", and its business date is ",
                FormatDay(occurrence.business_date)),
         "let the window contain the due time"});
  }
  if (tried > 0 && open == 0) {
    context->Add(kWarning, group,
                 {"always_excluded", "trigger.days",
                  StrCat("none of the next ", tried, " occurrences may run: ", excluded),
                  "let the days of the schedule, `days` and the calendar meet"});
  }
}

}  // namespace

void LintSchedules(LintContext* context) {
  for (const LintGroup& group : context->groups) {
    if (!HasSchedule(group.rule())) continue;
    LintDayFields(context, group);
    LintPast(context, group);
    LintWindows(context, group);
    LintLongWindow(context, group);
  }
}

void LintCalendars(LintContext* context) {
  constexpr int kWarnDays = 60;  // before the first day without data
  std::vector<std::string> told;
  for (const LintGroup& group : context->groups) {
    const RuleBody& rule = group.rule();
    const std::string& name = rule.trigger.calendar;
    const Calendar* calendar = name.empty() ? nullptr : context->set.config.FindCalendar(name);
    if (calendar == nullptr || std::find(told.begin(), told.end(), name) != told.end()) continue;
    const CivilDay today = ScheduleOf(rule, 0).zone.ToLocal(context->options.now).civil.day;
    for (int days = 0; days <= kWarnDays; ++days) {
      const CivilDay day = today + days;
      if (calendar->Covers(day)) continue;
      told.push_back(name);
      const std::string when =
          days == 0 ? "today" : StrCat(FormatDay(day), ", in ", days, days == 1 ? " day" : " days");
      context->Add(
          kWarning, group,
          {"calendar_ends", "trigger.calendar",
           StrCat("calendar ", name, " has no ", ToYmd(day).year, ": from ", when,
                  ", its tasks do not start and call a person"),
           StrCat("add the holidays and made-up working days of ", ToYmd(day).year, " to calendar ", name)});
      break;
    }
  }
}

}  // namespace duecourse
