#include <algorithm>
#include <variant>

#include "base/text.h"
#include "rule/choices.h"
#include "rule/defaults.h"
#include "rule/print.h"
#include "rule/print_parts.h"

namespace duecourse {
namespace {

const TriggerRule& PlainTrigger() {
  static const TriggerRule plain;
  return plain;
}

std::string Time(int32_t second) { return QuoteYaml(FormatTimeOfDay(second)); }

void PutSchedule(const RuleBody& rule, TreePrinter* tree) {
  const Schedule& schedule = rule.trigger.schedule;
  if (const auto* cron = std::get_if<CronSchedule>(&schedule.kind)) {
    tree->Put("cron", QuoteYaml(cron->cron.expression()), false);
  } else if (const auto* every = std::get_if<EverySchedule>(&schedule.kind)) {
    if (every->every.count > 0) {
      tree->Put("every", FormatMillis(every->every), false);
      tree->Put("anchor", QuoteYaml(FormatUtc(every->anchor)), every->anchor == Instant{});
    }
  } else if (const auto* at = std::get_if<AtSchedule>(&schedule.kind)) {
    std::vector<std::string> times;
    for (const CivilTime& time : at->at)
      times.push_back(QuoteYaml(StrCat(FormatDay(time.day), " ", FormatTimeOfDay(time.second))));
    tree->Put("at", FlowList(times), false);
  }
  tree->Put("timezone", YamlScalar(rule.trigger.zone_by_value ? "{zone}" : schedule.zone.name()), false);
}

void PutDst(const RuleBody& rule, bool effective, TreePrinter* tree) {
  const auto* cron = std::get_if<CronSchedule>(&rule.trigger.schedule.kind);
  if (cron == nullptr) return;
  TreePrinter dst(effective);
  dst.Put("gap", NameOf(kGapNames, cron->dst.gap),
          cron->dst.gap == DstRule::Gap::kAfter && !rule.trigger.dst_gap_written);
  dst.Put("overlap", NameOf(kOverlapNames, cron->dst.overlap), cron->dst.overlap == DstRule::Overlap::kFirst);
  tree->Put("dst", dst.Take());
}

void PutBusinessDate(const BusinessDateRule& date, TreePrinter* tree) {
  if (date.kind == BusinessDateRule::Kind::kOffset) {
    MapAt(MapAt(tree->map(), "business_date"), "offset") = ScalarNode(StrCat(date.offset_days, "d"));
  } else {
    tree->Put("business_date", NameOf(kBusinessDateNames, date.kind),
              date.kind == BusinessDateRule::Kind::kSameDay);
  }
}

void PutWindow(const RuleBody& rule, TreePrinter* tree) {
  const TriggerRule& trigger = rule.trigger;
  if (trigger.window.start) tree->Put("window_start", Time(*trigger.window.start), false);
  if (!trigger.window.start) tree->Note("window_start: the due time");
  if (trigger.window.end) tree->Put("window_end", Time(*trigger.window.end), false);
  if (trigger.window.length)
    tree->Put("window_end", QuoteYaml("+" + FormatMillis(*trigger.window.length)), false);
  if (!trigger.window_end_written)
    tree->Note("window_end: the next due time, at most 24h after the due time");
  tree->Put("days", trigger.days == PlainTrigger().days ? "mon-sun" : DaysYaml(trigger.days),
            trigger.days == PlainTrigger().days);
  if (trigger.until) tree->Put("until", FormatDay(*trigger.until), false);
  tree->Put("on_window_end", NameOf(kOnWindowEndNames, trigger.on_window_end),
            trigger.on_window_end == DefaultOnWindowEnd(rule));
  tree->Put("missed", NameOf(kMissedNames, trigger.missed), trigger.missed == DefaultMissed(rule));
  if (!trigger.calendar.empty()) tree->Put("calendar", YamlScalar(trigger.calendar), false);
  if (trigger.workdays_only) tree->Put("allow_weekend", "false", false);
  if (!trigger.workdays_only && trigger.calendar.empty()) tree->Put("allow_weekend", "true", true);
  tree->Put("on_excluded", NameOf(kOnExcludedNames, trigger.on_excluded),
            trigger.on_excluded == OnExcluded::kSkip);
}

void PutLimits(const TriggerRule& trigger, bool effective, TreePrinter* tree) {
  const TriggerRule& plain = PlainTrigger();
  tree->Put("check_interval", FormatMillis(trigger.check_interval),
            trigger.check_interval == plain.check_interval);
  tree->Put("min_interval", FormatMillis(trigger.min_interval), trigger.min_interval == plain.min_interval);
  tree->Put("max_concurrency", StrCat(trigger.max_concurrency),
            trigger.max_concurrency == plain.max_concurrency);
  tree->Put("in_order", trigger.in_order ? "true" : "false", !trigger.in_order);
  std::vector<std::string> pools;
  for (const std::string& pool : trigger.pools) pools.push_back(YamlScalar(pool));
  if (!pools.empty()) tree->Put("pools", FlowList(pools), false);
  TreePrinter lease(effective);
  lease.Put("ttl", FormatMillis(trigger.lease_ttl), trigger.lease_ttl == plain.lease_ttl);
  lease.Put("heartbeat", FormatMillis(trigger.lease_heartbeat),
            trigger.lease_heartbeat == DefaultHeartbeat(trigger.lease_ttl));
  tree->Put("lease", lease.Take());
}

void PutFile(const FileCondition& file, TreePrinter* tree) {
  tree->Put("path", YamlScalar(file.path.text()), false);
  tree->Put("must_exist", file.must_exist ? "true" : "false", file.must_exist);
  if (file.min_rows) tree->Put("min_rows", StrCat(*file.min_rows), false);
  if (file.min_bytes) tree->Put("min_bytes", StrCat(*file.min_bytes), false);
  if (file.first_line) tree->Put("first_line", YamlScalar(file.first_line->text()), false);
  if (file.checksum) tree->Put("checksum", YamlScalar(file.checksum->text()), false);
  if (file.modified_after != FileCondition::ModifiedAfter::kNone) {
    tree->Put("modified_after", NameOf(kModifiedAfterNames, file.modified_after), false);
  }
  tree->Put("stable_for", FormatMillis(file.stable_for), file.stable_for == Millis{});
}

void PutTask(const TaskCondition& task, TreePrinter* tree) {
  tree->Put("task", YamlScalar(task.task.text()), false);
  tree->Put("business_date", NameOf(kTaskDateNames, task.business_date),
            task.business_date == TaskCondition::Date::kSame);
  if (task.key) tree->Put("key", YamlScalar(task.key->text()), false);
  tree->Put("state", NameOf(kTaskStateNames, task.ended), !task.ended);
}

}  // namespace

std::string DaysYaml(uint8_t days) {
  constexpr unsigned kMonToFri = 0b0111110;
  if (days == kMonToFri) return "mon-fri";
  std::vector<std::string> names;
  for (int day : {1, 2, 3, 4, 5, 6, 0}) {
    if ((static_cast<unsigned>(days) >> day & 1u) != 0) names.push_back(NameOf(kWeekdayNames, day));
  }
  return FlowList(names);
}

PrintNode PreconditionTree(const Precondition& condition, bool effective) {
  const Precondition plain;
  TreePrinter tree(effective);
  tree.Put("type", PreconditionTypeName(condition.type), false);
  switch (condition.type) {
    case Precondition::Type::kFlag: {
      tree.Put("name", YamlScalar(condition.flag.name.text()), false);
      if (condition.flag.value) tree.Put("value", YamlScalar(condition.flag.value->text()), false);
      tree.Put("dated", condition.flag.dated ? "true" : "false",
               condition.flag.dated == !RendersDate(condition.flag.name));
      break;
    }
    case Precondition::Type::kFile:
      PutFile(condition.file, &tree);
      break;
    case Precondition::Type::kHttp:
      PutHttp(condition.http, kDefaultProbeMethod, &tree);
      break;
    case Precondition::Type::kTask:
      PutTask(condition.task, &tree);
      break;
    case Precondition::Type::kCommand: {
      std::vector<std::string> argv;
      for (const Template& part : condition.command.argv) argv.push_back(YamlScalar(part.text()));
      tree.Put("command", FlowList(argv), false);
      break;
    }
  }
  if (!condition.why.empty()) tree.Put("why", TextNode(condition.why));
  tree.Put("timeout", FormatMillis(condition.timeout), condition.timeout == plain.timeout);
  tree.Put("max_age", FormatMillis(condition.max_age), condition.max_age == plain.max_age);
  tree.Put("on_invalid", NameOf(kOnInvalidNames, condition.on_invalid_manual), !condition.on_invalid_manual);
  return tree.Take();
}

PrintNode TriggerTree(const RuleBody& rule, bool effective) {
  TreePrinter tree(effective);
  PutSchedule(rule, &tree);
  PutDst(rule, effective, &tree);
  PutBusinessDate(rule.trigger.business_date, &tree);
  PutWindow(rule, &tree);
  PrintNode conditions;
  conditions.kind = PrintNode::Kind::kList;
  for (const Precondition& condition : rule.trigger.preconditions)
    conditions.items.push_back(PreconditionTree(condition, effective));
  tree.Put("preconditions", std::move(conditions));
  PutLimits(rule.trigger, effective, &tree);
  return tree.Take();
}

}  // namespace duecourse
