#include "rule/occurrence.h"

#include <algorithm>

#include "base/text.h"
#include "rule/clock_change.h"

namespace duecourse {
namespace {

const char* const kWeekdayNames[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                     "Thursday", "Friday", "Saturday"};

std::string NamedDay(CivilDay day) {
  return StrCat(FormatDay(day), " (", kWeekdayNames[WeekdayOf(day)], ")");
}

// The first instant that `until` no longer allows.
std::optional<Instant> DueLimit(const RuleBody& rule, size_t value) {
  if (!rule.trigger.until) return std::nullopt;
  return InstantOf({*rule.trigger.until + 1, 0}, ScheduleOf(rule, value).zone);
}

bool HeldAgainstWorkdays(const TriggerRule& trigger) {
  return trigger.workdays_only || !trigger.calendar.empty();
}

// Saturday and Sunday where no calendar is named; nothing where the named one is not in the settings.
const Calendar* CalendarOf(const TriggerRule& trigger, const ServerConfig& config) {
  static const Calendar weekends_only;
  return trigger.calendar.empty() ? &weekends_only : config.FindCalendar(trigger.calendar);
}

std::string NoDataDetail(const TriggerRule& trigger, const Calendar* calendar, CivilDay day) {
  if (calendar == nullptr) return StrCat("calendar ", trigger.calendar, " is not in the settings");
  int year = ToYmd(day).year;
  // The search for a working day may have left a covered year on either side.
  if (calendar->Covers(day)) year += ToYmd(day).month == 12 ? 1 : -1;
  return StrCat("calendar ", trigger.calendar, " has no data for ", year);
}

std::string ClosedDetail(const Calendar& calendar, CivilDay day) {
  const std::string in_calendar = calendar.name.empty() ? "" : StrCat(" in calendar ", calendar.name);
  if (calendar.holidays.count(day) != 0) return StrCat(NamedDay(day), " is a holiday", in_calendar);
  return StrCat(NamedDay(day), " is no working day", in_calendar);
}

void SetUnknown(Occurrence* occurrence, std::string detail) {
  occurrence->day = Occurrence::Day::kUnknown;
  occurrence->day_detail = std::move(detail);
}

void SetBusinessDate(const TriggerRule& trigger, const Calendar* calendar, Occurrence* occurrence) {
  const CivilDay day = occurrence->window.day;
  std::optional<CivilDay> date = day;
  switch (trigger.business_date.kind) {
    case BusinessDateRule::Kind::kSameDay:
      break;
    case BusinessDateRule::Kind::kPreviousDay:
      date = day - 1;
      break;
    case BusinessDateRule::Kind::kOffset:
      date = day + trigger.business_date.offset_days;
      break;
    case BusinessDateRule::Kind::kPreviousWorkday:
      date = calendar == nullptr ? std::nullopt : calendar->PreviousWorkday(day);
      break;
    case BusinessDateRule::Kind::kNextWorkday:
      date = calendar == nullptr ? std::nullopt : calendar->NextWorkday(day);
      break;
  }
  occurrence->business_date = date.value_or(day);
  occurrence->business_date_known = date.has_value();
  if (!date) SetUnknown(occurrence, NoDataDetail(trigger, calendar, day));
}

void MoveToNextWorkday(const RuleBody& rule, const Schedule& schedule, const Calendar& calendar,
                       Occurrence* occurrence) {
  const CivilDay from = occurrence->window.day;
  const std::optional<CivilDay> to = calendar.NextWorkday(from);
  if (!to) return SetUnknown(occurrence, NoDataDetail(rule.trigger, &calendar, from));
  CivilTime local = schedule.zone.ToLocal(occurrence->due).civil;
  local.day = local.day + (to->days - from.days);
  occurrence->moved = true;
  occurrence->day = Occurrence::Day::kOpen;
  occurrence->day_detail = StrCat(occurrence->day_detail, "; moved to ", NamedDay(*to));
  occurrence->starts = InstantOf(local, schedule.zone);
  occurrence->window = WindowFor(rule.trigger.window, occurrence->starts, schedule.zone,
                                 DefaultWindowLength(schedule, occurrence->due));
}

void JudgeDay(const RuleBody& rule, const Schedule& schedule, const Calendar* calendar,
              Occurrence* occurrence) {
  const TriggerRule& trigger = rule.trigger;
  const CivilDay day = occurrence->window.day;
  const int weekday = WeekdayOf(day);
  if ((trigger.days >> weekday & 1) == 0) {
    occurrence->day = Occurrence::Day::kExcluded;
    occurrence->day_detail = StrCat(kWeekdayNames[weekday], " is not in days");
    return;
  }
  if (!HeldAgainstWorkdays(trigger) || occurrence->day == Occurrence::Day::kUnknown) return;
  const std::optional<bool> workday = calendar == nullptr ? std::nullopt : calendar->IsWorkday(day);
  if (!workday) return SetUnknown(occurrence, NoDataDetail(trigger, calendar, day));
  if (*workday) {
    if (calendar->workdays.count(day) != 0) {
      occurrence->day_detail =
          StrCat(NamedDay(day), " is a made-up working day in calendar ", calendar->name);
    }
    return;
  }
  occurrence->day = Occurrence::Day::kExcluded;
  occurrence->day_detail = ClosedDetail(*calendar, day);
  if (trigger.on_excluded == OnExcluded::kNextWorkday)
    MoveToNextWorkday(rule, schedule, *calendar, occurrence);
}

void NoteGap(const Schedule& schedule, Occurrence* occurrence) {
  if (const auto* cron = std::get_if<CronSchedule>(&schedule.kind); cron != nullptr && cron->cron.wildcard())
    return;
  const std::optional<ClockChange> change = ClockChangeAt(schedule.zone, occurrence->due);
  if (!change || !change->gap) return;
  const std::optional<CivilTime> named = FirstNamed(schedule, change->from, change->to);
  if (!named) return;
  occurrence->in_gap = true;
  occurrence->gap_detail =
      StrCat(FormatTimeOfDay(named->second), " does not exist on ", FormatDay(named->day));
}

Status CheckKey(const std::string& key) {
  if (key.empty()) return Error("the key is empty");
  if (key.size() > kKeyMaxBytes) {
    return Error(StrCat("the key has ", key.size(), " bytes, at most ", kKeyMaxBytes, " are allowed"));
  }
  if (key.find('#') != std::string::npos) {
    return Error(
        StrCat("the key \"", ShowBytes(key, false), "\" contains '#', which is reserved for reruns (#r2)"));
  }
  if (const std::string shown = ShowBytes(key, false); shown != key) {
    return Error(StrCat("the key \"", shown, "\" contains characters that do not print"));
  }
  return Status();
}

bool NeedsBusinessDate(const Template& key) {
  static const char* const kOtherNames[] = {"task", "window", "scheduled_at", "event_id", "path"};
  return std::any_of(key.pieces().begin(), key.pieces().end(), [](const Template::Piece& piece) {
    return IsTemplateName(piece.name) &&
           std::find(std::begin(kOtherNames), std::end(kOtherNames), piece.name) == std::end(kOtherNames);
  });
}

}  // namespace

Millis DefaultWindowLength(const Schedule& schedule, Instant due) {
  const std::optional<Instant> next = schedule.Next(due);
  return next ? std::min(*next - due, Hours(24)) : Hours(24);
}

Occurrence OccurrenceAt(const Task& task, size_t value, Instant due, const ServerConfig& config) {
  const RuleBody& rule = task.rule();
  const Schedule& schedule = ScheduleOf(rule, value);
  const WindowSpec& spec = rule.trigger.window;
  const Calendar* calendar = CalendarOf(rule.trigger, config);
  const bool has_end = spec.end.has_value() || spec.length.has_value();
  Occurrence occurrence;
  occurrence.due = due;
  occurrence.starts = due;
  occurrence.window =
      WindowFor(spec, due, schedule.zone, has_end ? Millis{} : DefaultWindowLength(schedule, due));
  SetBusinessDate(rule.trigger, calendar, &occurrence);
  JudgeDay(rule, schedule, calendar, &occurrence);
  NoteGap(schedule, &occurrence);
  occurrence.start_limit = occurrence.window.ends;
  if (rule.retry.max_delay) {
    occurrence.start_limit = std::min(occurrence.window.ends, occurrence.starts + *rule.retry.max_delay);
  }
  return occurrence;
}

TemplateScope ScopeOf(const Task& task, size_t value, const Occurrence& occurrence) {
  const RuleBody& rule = task.rule();
  const Zone& zone = ScheduleOf(rule, value).zone;
  TemplateScope scope;
  scope.task = task.id;
  scope.business_date = occurrence.business_date;
  scope.scheduled_at = occurrence.due;
  scope.due_local = zone.ToLocal(occurrence.due).civil;
  const CivilLookup lookup = zone.Lookup(scope.due_local);
  scope.second_pass = lookup.kind == CivilLookup::Kind::kOverlap && occurrence.due >= lookup.second;
  scope.vars = &rule.vars;
  if (!rule.for_each.empty()) scope.value = &rule.for_each[value].fields;
  return scope;
}

Result<std::string> RenderKey(const Task& task, size_t value, const Occurrence& occurrence) {
  const Template& key = task.rule().business_key;
  Status status;
  Result<std::string> rendered(std::string{});
  if (!occurrence.business_date_known && NeedsBusinessDate(key)) {
    status = Error(StrCat("the business date is not known: ", occurrence.day_detail));
  } else {
    rendered = Render(key, ScopeOf(task, value, occurrence));
    status = rendered.ok() ? CheckKey(*rendered) : rendered.status();
  }
  if (status.ok()) return rendered;
  return status.error().Wrap(StrCat("business_key \"", ShowBytes(key.text(), false), "\""));
}

std::optional<Instant> NextDue(const RuleBody& rule, size_t value, Instant after) {
  const std::optional<Instant> next = ScheduleOf(rule, value).Next(after);
  const std::optional<Instant> limit = DueLimit(rule, value);
  return next && limit && *next >= *limit ? std::nullopt : next;
}

std::optional<Instant> PreviousDue(const RuleBody& rule, size_t value, Instant before) {
  const std::optional<Instant> limit = DueLimit(rule, value);
  return ScheduleOf(rule, value).Previous(limit ? std::min(before, *limit) : before);
}

int64_t CountDue(const RuleBody& rule, size_t value, Instant after, Instant through) {
  const std::optional<Instant> limit = DueLimit(rule, value);
  if (limit) through = std::min(through, *limit - Millis{1});
  return through <= after ? 0 : ScheduleOf(rule, value).Count(after, through);
}

bool DroppedAfterMove(const Task& task, size_t value, const Occurrence& occurrence,
                      const ServerConfig& config) {
  if (!occurrence.moved) return false;
  const RuleBody& rule = task.rule();
  const Zone& zone = ScheduleOf(rule, value).zone;
  const CivilDay target = occurrence.window.day;
  // All occurrences of one day share one verdict, so one of each day is looked at; a stretch off is some days
  // long.
  std::optional<Instant> next = NextDue(rule, value, occurrence.due);
  while (next) {
    const Occurrence later = OccurrenceAt(task, value, *next, config);
    if (later.day == Occurrence::Day::kOpen && later.window.day == target) return true;
    if (later.window.day > target) return false;
    // With an opening time the day is the window's, else the due time's own.
    const Instant day_ends = rule.trigger.window.start
                                 ? std::max(later.window.ends, *next + Millis{1})
                                 : InstantOf({zone.ToLocal(*next).civil.day + 1, 0}, zone);
    next = NextDue(rule, value, day_ends - Millis{1});
  }
  return false;
}

}  // namespace duecourse
