#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "rule/clock_change.h"
#include "rule/lint_parts.h"

namespace duecourse {
namespace {

constexpr auto kWarning = Finding::Severity::kWarning;

// A cron expression that is due once on each of its days has one occurrence for each business date.
bool OnceADay(const Schedule& schedule) {
  const auto* cron = std::get_if<CronSchedule>(&schedule.kind);
  return cron != nullptr && cron->cron.times_a_day() == 1 && cron->dst.overlap != DstRule::Overlap::kBoth;
}

// Seconds are the finest part that a key can name.
bool DueOnWholeSeconds(const Schedule& schedule) {
  const auto* every = std::get_if<EverySchedule>(&schedule.kind);
  return every == nullptr || (every->every.count % 1000 == 0 && every->anchor.ms % 1000 == 0);
}
bool DueOnWholeMinutes(const Schedule& schedule) {
  if (const auto* cron = std::get_if<CronSchedule>(&schedule.kind)) return !cron->cron.has_seconds();
  const auto* every = std::get_if<EverySchedule>(&schedule.kind);
  return every != nullptr && every->every.count % 60'000 == 0 && every->anchor.ms % 60'000 == 0;
}

// No two due instants of different days are given one business date.
bool DatesDiffer(const BusinessDateRule& rule) {
  switch (rule.kind) {
    case BusinessDateRule::Kind::kSameDay:
    case BusinessDateRule::Kind::kPreviousDay:
    case BusinessDateRule::Kind::kOffset:
      return true;
    case BusinessDateRule::Kind::kPreviousWorkday:
    case BusinessDateRule::Kind::kNextWorkday:
      return false;
  }
  return false;
}

// Unique for every occurrence, by its fields alone.
bool Proved(const RuleBody& rule, const KeyFields& fields) {
  const Schedule& schedule = ScheduleOf(rule, 0);
  if (fields.event || fields.instant) return true;  // {scheduled_at} shows milliseconds where there are any.
  if (!fields.WholeDate()) return false;
  if (fields.utc) {
    const bool only_utc = !rule.business_key.Uses("business_date") && !rule.business_key.Uses("date") &&
                          !rule.business_key.Uses("target_date");
    return only_utc && fields.hour && fields.minute &&
           (DueOnWholeMinutes(schedule) || (fields.second && DueOnWholeSeconds(schedule)));
  }
  if (!DatesDiffer(rule.trigger.business_date)) return false;
  return OnceADay(schedule) || (fields.window && DueOnWholeSeconds(schedule));
}

struct Tried {
  Instant due;
  CivilDay day;       // local day of the due instant
  bool fresh = true;  // its key was not there before
};

struct Trial {
  std::vector<Tried> tried;  // those that may run, in order
  bool repeated = false;
  Instant first;  // the first two occurrences with one key
  Instant second;
  std::string key;
};

Trial Try(const Task& task, const LintContext& context) {
  Trial trial;
  const RuleBody& rule = task.rule();
  const Zone& zone = ScheduleOf(rule, 0).zone;
  const Instant end = context.options.now + kLintHorizon;
  std::unordered_map<std::string, Instant> seen;
  // From the day's beginning, so that the first day is a whole one.
  Instant after = InstantOf({zone.ToLocal(context.options.now).civil.day, 0}, zone) - Millis{1};
  for (int i = 0; i < kLintTried; ++i) {
    const std::optional<Instant> due = NextDue(rule, 0, after);
    if (!due || *due > end) break;
    after = *due;
    const Occurrence occurrence = OccurrenceAt(task, 0, *due, context.set.config);
    if (occurrence.day != Occurrence::Day::kOpen) continue;
    if (occurrence.moved && DroppedAfterMove(task, 0, occurrence, context.set.config)) continue;
    const Result<std::string> key = RenderKey(task, 0, occurrence);
    if (!key.ok()) break;  // LintTemplates says why.
    const auto [at, fresh] = seen.emplace(*key, *due);
    trial.tried.push_back({*due, zone.ToLocal(*due).civil.day, fresh});
    if (fresh || trial.repeated) continue;
    trial.repeated = true;
    trial.first = at->second;
    trial.second = *due;
    trial.key = *key;
  }
  return trial;
}

struct Unit {
  const char* name;
  int64_t (*group)(CivilDay day);
};

// "24 occurrences, 1 run a day", of the first whole unit in which some find their key done; empty where in
// some whole unit none runs, for then a longer unit says it better.
std::string RatioOf(const Trial& trial, const Unit& unit) {
  const std::vector<Tried>& tried = trial.tried;
  // Trials begin with a day, which may lie within a week or month; the last unit may go on after them.
  const int64_t first = unit.group(tried.front().day - 1);
  const int64_t last = unit.group(tried.back().day);
  std::string ratio;
  for (size_t i = 0; i < tried.size();) {
    const int64_t group = unit.group(tried[i].day);
    int due = 0;
    int runs = 0;
    for (; i < tried.size() && unit.group(tried[i].day) == group; ++i) {
      ++due;
      if (tried[i].fresh) ++runs;
    }
    if (group == first || group == last) continue;
    if (runs == 0) return "";
    if (runs < due && ratio.empty()) ratio = StrCat(due, " occurrences, ", runs, " run ", unit.name);
  }
  return ratio;
}

std::string Ratio(const Trial& trial) {
  static const Unit units[] = {
      {"a day", [](CivilDay day) -> int64_t { return day.days; }},
      {"a week", [](CivilDay day) -> int64_t { return IsoWeekOf(day).year * 100 + IsoWeekOf(day).week; }},
      {"a month", [](CivilDay day) -> int64_t { return ToYmd(day).year * 100 + ToYmd(day).month; }},
  };
  for (const Unit& unit : units) {
    if (std::string ratio = RatioOf(trial, unit); !ratio.empty()) return ratio;
  }
  const auto runs =
      std::count_if(trial.tried.begin(), trial.tried.end(), [](const Tried& one) { return one.fresh; });
  const int64_t days = trial.tried.back().day.days - trial.tried.front().day.days + 1;
  return StrCat(trial.tried.size(), " occurrences, ", runs, " run in ", days, days == 1 ? " day" : " days");
}

// Rules that differ in names and commands only have the same answer.
std::string Signature(const RuleBody& rule) {
  const Schedule& schedule = ScheduleOf(rule, 0);
  std::string text = schedule.zone.name();
  if (const auto* cron = std::get_if<CronSchedule>(&schedule.kind)) {
    text += StrCat("|", cron->cron.expression(), "|", static_cast<int>(cron->dst.gap),
                   static_cast<int>(cron->dst.overlap));
  } else if (const auto* every = std::get_if<EverySchedule>(&schedule.kind)) {
    text += StrCat("|every ", every->every.count, " ", every->anchor.ms);
  } else if (const auto* listed = std::get_if<AtSchedule>(&schedule.kind)) {
    for (CivilTime at : listed->at) text += StrCat("|", at.day.days, " ", at.second);
  }
  const TriggerRule& trigger = rule.trigger;
  text += StrCat("|", static_cast<int>(trigger.business_date.kind), " ", trigger.business_date.offset_days,
                 "|", trigger.window.start.value_or(-1), " ", trigger.window.end.value_or(-1), " ",
                 trigger.window.length.value_or(Millis{-1}).count, "|", static_cast<int>(trigger.days),
                 trigger.workdays_only ? "w" : "", trigger.calendar, static_cast<int>(trigger.on_excluded),
                 "|", trigger.until ? trigger.until->days : 0, "|");
  for (const Template::Piece& piece : rule.business_key.pieces()) {
    if (IsTemplateName(piece.name) && piece.name != "task")
      text += StrCat("{", piece.name, ":", piece.format, "}");
  }
  return text;
}

std::string Coarse(const Task& task, const LintContext& context) {
  const Trial trial = Try(task, context);
  if (!trial.repeated) return "";
  return StrCat(Ratio(trial), ": ", FormatUtc(trial.second), " has the key of ", FormatUtc(trial.first));
}

}  // namespace

void LintUniqueKeys(LintContext* context) {
  for (const LintGroup& group : context->groups) {
    const RuleBody& rule = group.rule();
    const KeyFields fields = FieldsOf(rule.business_key, rule);
    if (!HasSchedule(rule) || !fields.AnyDate() || Proved(rule, fields)) continue;
    const auto [at, is_new] = context->tried_keys.emplace(Signature(rule), "");
    if (is_new) at->second = Coarse(group.first(), *context);
    if (at->second.empty()) continue;
    context->Add(
        kWarning, group,
        {"key_coarse", "idempotency.business_key",
         StrCat("the key \"", ShowBytes(rule.business_key.text(), false),
                "\" is coarser than the schedule: ", at->second, ", so it is already done"),
         "add {window} or {scheduled_at}; or leave it, where one run for all of them is what is meant"});
  }
}

}  // namespace duecourse
