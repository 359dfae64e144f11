#include <algorithm>

#include "base/text.h"
#include "rule/choices.h"
#include "rule/defaults.h"
#include "rule/print.h"
#include "rule/print_parts.h"

namespace duecourse {
namespace {

PrintNode FieldsTree(const Fields& fields) {
  PrintNode map;
  for (const auto& [name, text] : fields) map.members.emplace_back(name, TextNode(text));
  return map;
}

PrintNode ForEachTree(const std::vector<ForEachValue>& values) {
  bool one_name = std::all_of(values.begin(), values.end(), [&](const ForEachValue& value) {
    return value.fields.size() == 1 && value.fields[0].first == values[0].fields[0].first;
  });
  PrintNode tree;
  if (one_name) {
    std::vector<std::string> texts;
    for (const ForEachValue& value : values) texts.push_back(YamlScalar(value.fields[0].second));
    tree.members.emplace_back(values[0].fields[0].first, ScalarNode(FlowList(texts)));
    return tree;
  }
  tree.kind = PrintNode::Kind::kList;
  for (const ForEachValue& value : values) {
    std::vector<std::string> parts;
    for (const auto& [name, text] : value.fields)
      parts.push_back(StrCat(YamlScalar(name), ": ", YamlScalar(text)));
    tree.items.push_back(ScalarNode(StrCat("{", Join(parts, ", "), "}")));
  }
  return tree;
}

PrintNode AlertTree(const AlertRule& alerts, bool effective) {
  TreePrinter tree(effective);
  tree.Put("policy", NameOf(kAlertPolicyNames, alerts.policy), alerts.policy == AlertRule::Policy::kGraded);
  for (const auto& [event, level] : alerts.levels) {
    MapAt(MapAt(tree.map(), "levels"), NameOf(kAlertEventNames, event)) =
        ScalarNode(NameOf(kAlertLevelNames, level));
  }
  for (const auto& [state, limit] : alerts.stuck) {
    MapAt(MapAt(tree.map(), "stuck"), state) = ScalarNode(FormatMillis(limit));
  }
  return tree.Take();
}

PrintNode BackoffTree(const RetryRule& retry, bool effective) {
  TreePrinter tree(effective);
  std::vector<std::string> intervals;
  for (Millis delay : retry.backoff) intervals.push_back(FormatMillis(delay));
  if (!retry.backoff.empty()) tree.Put("intervals", FlowList(intervals), false);
  tree.Put("jitter", FormatMillis(retry.jitter), retry.jitter == DefaultJitter(retry));
  return tree.Take();
}

PrintNode CatchupTree(const RetryRule& retry, bool effective) {
  const RetryRule plain;
  TreePrinter tree(effective);
  bool says_how = retry.catchup_interval != plain.catchup_interval || retry.catchup_max_times ||
                  retry.max_delay || !retry.only_if_data_ready || !retry.avoid.empty();
  tree.Put("enabled", retry.catchup ? "true" : "false", !retry.catchup && !says_how);
  tree.Put("check_interval", FormatMillis(retry.catchup_interval),
           retry.catchup_interval == plain.catchup_interval);
  if (retry.catchup_max_times) tree.Put("max_times", StrCat(*retry.catchup_max_times), false);
  if (!retry.catchup_max_times && retry.catchup) tree.Note("max_times: as many as fit");
  if (retry.max_delay) tree.Put("max_delay", FormatMillis(*retry.max_delay), false);
  tree.Put("only_if_data_ready", retry.only_if_data_ready ? "true" : "false", retry.only_if_data_ready);
  std::vector<std::string> avoid;
  for (const AvoidHours& hours : retry.avoid) {
    avoid.push_back(QuoteYaml(StrCat(FormatTimeOfDay(hours.start), "-", FormatTimeOfDay(hours.end))));
  }
  if (!avoid.empty()) tree.Put("avoid", FlowList(avoid), false);
  return tree.Take();
}

PrintNode RetryTree(const RuleBody& rule, bool effective) {
  const RetryRule& retry = rule.retry;
  const RetryRule plain;
  TreePrinter tree(effective);
  TreePrinter immediate(effective);
  immediate.Put("max_attempts", StrCat(retry.immediate_max), retry.immediate_max == 0);
  immediate.Put("interval", FormatMillis(retry.immediate_interval),
                retry.immediate_interval == plain.immediate_interval);
  // An interval without a count would be read as one retry.
  if (!immediate.map().empty())
    MapAt(immediate.map(), "max_attempts") =
        ScalarNode(StrCat(retry.immediate_max), retry.immediate_max == 0);
  tree.Put("immediate", immediate.Take());
  tree.Put("backoff", BackoffTree(retry, effective));
  tree.Put("then", NameOf(kThenNames, retry.then_manual), !retry.then_manual);
  tree.Put("catchup", CatchupTree(retry, effective));
  tree.Put("max_total_attempts", StrCat(retry.max_total_attempts),
           retry.max_total_attempts == DefaultMaxTotalAttempts(rule));
  TreePrinter breaker(effective);
  if (retry.breaker_failures > 0) breaker.Put("failures", StrCat(retry.breaker_failures), false);
  if (retry.breaker_failures == 0) breaker.Note("failures: three consecutive runs that used up their ladder");
  breaker.Put("cooldown", FormatMillis(retry.breaker_cooldown),
              retry.breaker_cooldown == plain.breaker_cooldown);
  breaker.Put("then", NameOf(kBreakerThenNames, retry.breaker_manual), !retry.breaker_manual);
  tree.Put("breaker", breaker.Take());
  // A block that only says what is said anyway is still there.
  if (retry.written && tree.map().empty())
    tree.Put("max_total_attempts", StrCat(retry.max_total_attempts), false);
  return tree.Take();
}

void PutWhys(const RuleBody& rule, PrintNode* tree) {
  for (const auto& [path, why] : rule.whys) {
    InsertAt(*tree, path == "window" ? "trigger.window.why" : StrCat(path, ".why"), YamlScalar(why));
  }
}

}  // namespace

void TreePrinter::Put(const std::string& key, std::string yaml, bool is_default) {
  if (is_default && !effective_) return;
  map_.members.emplace_back(key, ScalarNode(std::move(yaml), is_default));
}

void TreePrinter::Put(const std::string& key, PrintNode node) {
  if (node.empty()) return;
  map_.members.emplace_back(key, std::move(node));
}

void TreePrinter::Note(std::string text) {
  if (!effective_) return;
  PrintNode note;
  note.kind = PrintNode::Kind::kNote;
  note.text = std::move(text);
  map_.members.emplace_back("", std::move(note));
}

PrintNode RuleTree(const RuleBody& rule, bool effective) {
  TreePrinter tree(effective);
  if (!rule.why.empty()) tree.Put("why", TextNode(rule.why));
  if (!rule.owner.empty()) tree.Put("owner", YamlScalar(rule.owner), false);
  tree.Put("labels", FieldsTree(rule.labels));
  tree.Put("enabled", rule.enabled ? "true" : "false", rule.enabled);
  tree.Put("vars", FieldsTree(rule.vars));
  if (!rule.for_each.empty()) tree.Put("for_each", ForEachTree(rule.for_each));
  tree.Put("trigger", TriggerTree(rule, effective));
  tree.Put("retry", RetryTree(rule, effective));
  tree.Put("on_lost", NameOf(kOnLostNames, rule.on_lost), rule.on_lost == OnLost::kRerun);
  TreePrinter idempotency(effective);
  idempotency.Put("business_key", YamlScalar(rule.business_key.text()), !rule.key_written);
  idempotency.Put("supersede", NameOf(kSupersedeNames, rule.supersede),
                  rule.supersede == Supersede::kAllowed);
  idempotency.Put("keep", FormatMillis(rule.keep), rule.keep == Days(400));
  tree.Put("idempotency", idempotency.Take());
  tree.Put("execution", ExecutionTree(rule.execution, effective));
  if (!rule.on_success_flags.empty()) {
    std::vector<std::string> flags;
    for (const Template& flag : rule.on_success_flags) flags.push_back(YamlScalar(flag.text()));
    MapAt(MapAt(tree.map(), "on_success"), "set") = ScalarNode(FlowList(flags));
  }
  tree.Put("alerts", AlertTree(rule.alerts, effective));
  PrintNode whole = tree.Take();
  PutWhys(rule, &whole);
  for (const UnsupportedKey& key : rule.unsupported) InsertAt(whole, key.path, key.text);
  return whole;
}

std::string HashRule(const RuleBody& rule) {
  // That a default was written out is no part of what it means.
  RuleBody plain = rule;
  plain.key_written = rule.business_key.text() != kDefaultKey;
  plain.retry.written = false;
  plain.trigger.dst_gap_written = false;
  return Sha256Hex(WriteYaml(RuleTree(plain, false)));
}

std::string PrintRule(const Task& task, bool effective) {
  PrintNode tree;
  tree.members.emplace_back("task_id", ScalarNode(YamlScalar(task.id)));
  PrintNode body = RuleTree(task.rule(), effective);
  std::move(body.members.begin(), body.members.end(), std::back_inserter(tree.members));
  return WriteYaml(tree);
}

}  // namespace duecourse
