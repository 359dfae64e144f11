#include <algorithm>

#include "base/text.h"
#include "rule/clock_change.h"
#include "rule/lint_parts.h"

namespace duecourse {
namespace {

constexpr auto kWarning = Finding::Severity::kWarning;
constexpr auto kHint = Finding::Severity::kHint;
constexpr int kChangesMax = 10;  // clock changes looked at within the horizon

std::string Both(Instant instant, const Zone& zone) {
  return StrCat(FormatLocal(instant, zone), " (", FormatUtc(instant), ")");
}

bool Excluded(const Task& task, size_t value, Instant due, const ServerConfig& config) {
  return OccurrenceAt(task, value, due, config).day == Occurrence::Day::kExcluded;
}

// What one clock change does to one value of a rule, or nothing.
struct Effect {
  const char* id;
  Finding::Severity severity;
  std::string text;
};

// What is written on purpose (dst: gap) is shown with its date and warned of no more.
std::optional<Effect> GapEffect(const TriggerRule& trigger, const CronSchedule* cron,
                                const ClockChange& change, CivilTime named, const Zone& zone) {
  const std::string missing =
      StrCat(FormatTimeOfDay(named.second), " does not exist on ", FormatDay(named.day), " in ", zone.name());
  if (cron != nullptr && cron->cron.wildcard()) {
    if (!cron->cron.wildcard_minute_in_named_hour()) return std::nullopt;  // It keeps its pace.
    return Effect{"dst_named_hour", kWarning,
                  StrCat(missing, ": \"", cron->cron.expression(),
                         "\" is not due in that hour, which is not made up for")};
  }
  const Finding::Severity severity = trigger.dst_gap_written ? kHint : kWarning;
  if (cron != nullptr && cron->dst.gap == DstRule::Gap::kSkip) {
    return Effect{"dst_gap", severity, StrCat(missing, ": not due that day (dst: gap: skip)")};
  }
  return Effect{"dst_gap", severity,
                StrCat(missing, ": due at the first instant after it, ", Both(change.at, zone))};
}

std::optional<Effect> OverlapEffect(const CronSchedule* cron, CivilTime named, const Zone& zone) {
  if (cron != nullptr && cron->cron.wildcard()) {
    if (!cron->cron.wildcard_minute_in_named_hour()) return std::nullopt;
  }
  const CivilLookup lookup = zone.Lookup(named);
  const std::string twice = StrCat(FormatTimeOfDay(named.second), " comes twice on ", FormatDay(named.day),
                                   " in ", zone.name(), ": due ");
  const bool both =
      cron != nullptr && (cron->cron.wildcard() || cron->dst.overlap == DstRule::Overlap::kBoth);
  if (both) {
    return Effect{
        "dst_overlap", kHint,
        StrCat(twice, "in both passes, ", Both(lookup.first, zone), " and ", Both(lookup.second, zone))};
  }
  const bool second = cron != nullptr && cron->dst.overlap == DstRule::Overlap::kSecond;
  return Effect{"dst_overlap", kHint,
                StrCat(twice, "once, in the ", second ? "second" : "first", " pass, ",
                       Both(second ? lookup.second : lookup.first, zone))};
}

void LintValue(LintContext* context, const LintGroup& group, size_t value) {
  const Task& task = group.first();
  const Schedule& schedule = ScheduleOf(task.rule(), value);
  if (std::holds_alternative<EverySchedule>(schedule.kind)) return;
  const auto* cron = std::get_if<CronSchedule>(&schedule.kind);
  const Zone& zone = schedule.zone;
  const Instant end = context->options.now + kLintHorizon;
  bool gap_told = false;
  bool overlap_told = false;
  std::optional<Instant> at = zone.NextTransition(context->options.now);
  for (int i = 0; i < kChangesMax && at && *at <= end; ++i, at = zone.NextTransition(*at)) {
    const std::optional<ClockChange> change = ClockChangeAt(zone, *at);
    if (!change || (change->gap ? gap_told : overlap_told)) continue;
    const std::optional<CivilTime> named = FirstNamed(schedule, change->from, change->to);
    if (!named ||
        Excluded(task, value, change->gap ? change->at : zone.Lookup(*named).first, context->set.config))
      continue;
    const std::optional<Effect> effect = change->gap
                                             ? GapEffect(task.rule().trigger, cron, *change, *named, zone)
                                             : OverlapEffect(cron, *named, zone);
    if (!effect) continue;
    (change->gap ? gap_told : overlap_told) = true;
    context->Add(
        effect->severity, group,
        {effect->id, "trigger.cron", effect->text,
         change->gap
             ? "choose a time outside the gap where that is not meant; dst: {gap: skip} leaves that day out, "
               "{gap: after} says that it is"
             : "choose a time outside the overlap, or dst: {overlap: second} or both, where that is not "
               "meant"});
  }
}

}  // namespace

void LintClockChanges(LintContext* context) {
  for (const LintGroup& group : context->groups) {
    const RuleBody& rule = group.rule();
    if (!HasSchedule(rule)) continue;
    std::vector<std::string> zones;  // values may share one
    for (size_t value = 0; value < ValueCount(rule); ++value) {
      const std::string& name = ScheduleOf(rule, value).zone.name();
      if (std::find(zones.begin(), zones.end(), name) != zones.end()) continue;
      zones.push_back(name);
      LintValue(context, group, value);
      if (!rule.trigger.zone_by_value) break;
    }
  }
}

}  // namespace duecourse
