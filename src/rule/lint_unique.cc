#include <algorithm>
#include <unordered_map>

#include "base/text.h"
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
  Instant after = context.options.now;
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

// Of the first whole day, week or month in which some occurrences run and some find their key done.
// "24 occurrences, 1 run a day"
std::string Ratio(const Trial& trial) {
  const struct {
    const char* name;
    int64_t (*group)(CivilDay day);
  } units[] = {
      {"a day", [](CivilDay day) { return static_cast<int64_t>(day.days); }},
      {"a week",
       [](CivilDay day) { return static_cast<int64_t>(IsoWeekOf(day).year * 100 + IsoWeekOf(day).week); }},
      {"a month",
       [](CivilDay day) { return static_cast<int64_t>(ToYmd(day).year * 100 + ToYmd(day).month); }},
  };
  for (const auto& unit : units) {
    const int64_t first = unit.group(trial.tried.front().day);  // may have begun before now
    const int64_t last = unit.group(trial.tried.back().day);    // may go on after what was tried
    for (size_t i = 0; i < trial.tried.size();) {
      const int64_t group = unit.group(trial.tried[i].day);
      int due = 0;
      int runs = 0;
      for (; i < trial.tried.size() && unit.group(trial.tried[i].day) == group; ++i) {
        ++due;
        if (trial.tried[i].fresh) ++runs;
      }
      if (group != first && group != last && runs > 0 && runs < due) {
        return StrCat(due, " occurrences, ", runs, " run ", unit.name);
      }
    }
  }
  const auto runs =
      std::count_if(trial.tried.begin(), trial.tried.end(), [](const Tried& tried) { return tried.fresh; });
  const int64_t days = trial.tried.back().day.days - trial.tried.front().day.days + 1;
  return StrCat(trial.tried.size(), " occurrences, ", runs, " run in ", days, " days");
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
