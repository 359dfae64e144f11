#include "rule/parse.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text.h"
#include "rule/defaults.h"
#include "rule/keys.h"
#include "rule/tree.h"

namespace duecourse {
namespace {

constexpr TreeTable kRuleTable = {RuleKeysAt, RulePlaceOf};

// Texts by free names: vars and labels.
Fields ReadFields(const Field& field, Reader& reader) {
  Fields fields;
  for (const auto& [name, value] : reader.Members(field)) {
    std::string text;
    if (reader.Text(value, &text)) fields.emplace_back(name, text);
  }
  return fields;
}

// The order in which names were written has no meaning, so it makes no difference.
Fields Sorted(Fields fields) {
  std::sort(fields.begin(), fields.end());
  return fields;
}

void RefuseVariableNames(const Field& field, Reader& reader) {
  for (const auto& [name, value] : reader.Members(field)) {
    bool clean = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (!clean) {
      reader.Fault(value, {"bad_name", "the name of a variable holds letters, digits and _ only", ""});
    } else if (IsTemplateName(name)) {
      reader.Fault(value, {"bad_name", StrCat("{", name, "} is filled in for every run already"),
                           "choose another name"});
    }
  }
}

void FillDefaults(const MapView& root, RuleBody* body) {
  auto written = [&](const char* block, const char* key) {
    Field at = root.Get(block);
    return at && at.node->Find(key) != nullptr;
  };
  if (!written("trigger", "on_window_end")) body->trigger.on_window_end = DefaultOnWindowEnd(*body);
  if (!written("trigger", "missed")) body->trigger.missed = DefaultMissed(*body);
  if (!written("retry", "max_total_attempts"))
    body->retry.max_total_attempts = DefaultMaxTotalAttempts(*body);
}

}  // namespace

std::string TaskIdFault(std::string_view id) {
  static const std::set<std::string, std::less<>> reserved = {"con", "prn", "aux", "nul", ".", ".."};
  if (id.empty()) return "a task id is empty";
  if (id.size() > kTaskIdMax)
    return StrCat("a task id has at most ", kTaskIdMax, " bytes, this one has ", id.size());
  for (char c : id) {
    bool clean = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                 c == '_' || c == '-';
    if (!clean)
      return StrCat("a task id holds letters, digits, '.', '_' and '-' only, got ", ShowBytes(id, false));
  }
  std::string stem = AsciiLower(id.substr(0, id.find('.', 1)));
  bool port = stem.size() == 4 && (stem.starts_with("com") || stem.starts_with("lpt")) && stem[3] >= '0' &&
              stem[3] <= '9';
  if (port || reserved.count(stem) > 0 || id == ".")
    return StrCat("\"", id, "\" means something else as the name of a file");
  if (id.front() == '.' || id.front() == '-') return "a task id begins with a letter, a digit or _";
  return "";
}

void NormalizeRule(YamlNode& rule, Reader& reader) {
  CheckTree(rule, kRuleTable, reader);
  ApplyAliases(rule, reader);
}

RuleBody ParseRule(YamlNode& rule, Reader& reader) {
  RuleBody body;
  NormalizeRule(rule, reader);
  MapView root(reader, {&rule, ""});
  RuleParts parts(reader, body);
  reader.Text(root.Get("why"), &body.why);
  reader.Name(root.Get("owner"), &body.owner);
  body.labels = Sorted(ReadFields(root.Get("labels"), reader));
  reader.Boolean(root.Get("enabled"), &body.enabled);
  body.vars = Sorted(ReadFields(root.Get("vars"), reader));
  RefuseVariableNames(root.Get("vars"), reader);
  if (Field use = root.Get("use")) {
    parts.KeepUnsupported(use, "templates of rules (use)");
    reader.ExpectMissing();
  }
  parts.ParseForEach(root.Get("for_each"));
  MapView trigger(reader, root.Get("trigger"));
  parts.ParseTrigger(trigger);
  if (!root.Has("trigger")) {
    reader.Missing(rule.place, "trigger", "nothing says when this rule is due", "write cron and timezone");
  }
  reader.Choose(root.Get("on_lost"), kOnLostNames, &body.on_lost);
  if (Field lookup = root.Get("lookup")) parts.KeepUnsupported(lookup, "lookup");
  parts.ParseRetry(MapView(reader, root.Get("retry")));
  parts.ParseIdempotency(MapView(reader, root.Get("idempotency")));
  parts.ParseExecution(MapView(reader, root.Get("execution")));
  // Another scheduler that asks only whether it may run does the work itself.
  if (body.execution.kind == ExecutionRule::Kind::kNone && !trigger.Has("external")) {
    YamlPlace place = root.Has("execution") ? root.Get("execution").node->place : rule.place;
    reader.Missing(place, "execution", "nothing says what this rule does",
                   "write command, shell, http or noop under execution");
  }
  MapView on_success(reader, root.Get("on_success"));
  for (const Field& item : reader.Items(on_success.Get("set"))) {
    Template name;
    if (reader.TemplateText(item, &name, 200)) body.on_success_flags.push_back(std::move(name));
  }
  parts.ParseAlerts(MapView(reader, root.Get("alerts")));
  FillDefaults(root, &body);
  return body;
}

void RuleParts::KeepUnsupported(const Field& field, const std::string& what) {
  UnsupportedKey key;
  key.path = field.path;
  key.what = what;
  key.line = field.node->place.line;
  key.column = field.node->place.column;
  key.text = FlowYaml(*field.node);
  body_.unsupported.push_back(std::move(key));
}

void RuleParts::ReadWhy(const MapView& block, const char* path) {
  std::string why;
  if (reader_.Text(block.Get("why"), &why)) body_.whys.emplace_back(path, std::move(why));
}

void RuleParts::ParseIdempotency(const MapView& idempotency) {
  static const Template default_key = *Template::Parse(kDefaultKey);
  body_.business_key = default_key;
  Field key = idempotency.Get("business_key");
  constexpr size_t kKeyTemplateMax = 512;
  if (reader_.TemplateText(key, &body_.business_key, kKeyTemplateMax)) {
    body_.key_written = true;
    for (const Template::Piece& piece : body_.business_key.pieces()) {
      if (piece.literal.find('#') == std::string::npos) continue;
      reader_.Fault(key, {"key_reserved", "'#' is kept for reruns (…#r2) and may not stand in a key",
                          "write another character"});
      break;
    }
  }
  reader_.Choose(idempotency.Get("supersede"), kSupersedeNames, &body_.supersede);
  reader_.Duration(idempotency.Get("keep"), Days(1), Days(3650), &body_.keep);
}

void RuleParts::AddValue(Fields fields) {
  ForEachValue value;
  std::vector<std::string> parts;
  for (const auto& [name, text] : fields) parts.push_back(StrCat(name, "=", text));
  value.id = Join(parts, ",");
  value.fields = std::move(fields);
  body_.for_each.push_back(std::move(value));
}

void RuleParts::ParseForEach(const Field& for_each) {
  if (!for_each) return;
  size_t faults = reader_.faults();
  if (for_each.node->kind == YamlNode::Kind::kSequence) {
    for (const Field& item : reader_.Items(for_each)) {
      Fields fields = ReadFields(item, reader_);
      RefuseVariableNames(item, reader_);
      if (!fields.empty()) AddValue(std::move(fields));
    }
  } else {
    // {channel: [app, web], region: [eu, us]}: each with each, the last name turning fastest.
    std::vector<Fields> rows(1);
    RefuseVariableNames(for_each, reader_);
    for (const auto& [name, list] : reader_.Members(for_each)) {
      std::vector<Fields> next;
      std::vector<Field> items = reader_.Items(list);
      if (rows.size() * items.size() > kEntriesMax) {
        reader_.Fault(for_each,
                      {"too_many", StrCat("for_each stands for more than ", kEntriesMax, " values"), ""});
        return;
      }
      for (const Fields& row : rows) {
        for (const Field& item : items) {
          std::string text;
          if (!reader_.Text(item, &text, 200)) continue;
          next.push_back(row);
          next.back().emplace_back(name, text);
        }
      }
      rows = std::move(next);
    }
    for (Fields& row : rows) {
      if (!row.empty()) AddValue(std::move(row));
    }
  }
  std::set<std::string> seen;
  for (const ForEachValue& value : body_.for_each) {
    if (seen.insert(value.id).second) continue;
    reader_.Fault(for_each,
                  {"duplicate_value", StrCat("the value ", value.id, " is there twice"), "keep one of them"});
    break;
  }
  if (body_.for_each.empty() && reader_.faults() == faults) {
    reader_.Fault(for_each, {"empty_value", "for_each names no value, so nothing would ever run",
                             "write {name: [value, …]}"});
  }
}

void RuleParts::ParseAlerts(const MapView& alerts) {
  reader_.Choose(alerts.Get("policy"), kAlertPolicyNames, &body_.alerts.policy);
  for (const auto& [name, value] : reader_.Members(alerts.Get("levels"))) {
    AlertLevel level = AlertLevel::kNone;
    if (!reader_.Choose(value, kAlertLevelNames, &level)) continue;
    for (const auto& event : kAlertEventNames) {
      if (name == event.name) body_.alerts.levels.emplace_back(event.value, level);
    }
  }
  for (const auto& [state, value] : reader_.Members(alerts.Get("stuck"))) {
    Millis limit;
    if (reader_.Duration(value, Seconds(1), Days(365), &limit)) body_.alerts.stuck.emplace_back(state, limit);
  }
  std::sort(body_.alerts.levels.begin(), body_.alerts.levels.end());
  std::sort(body_.alerts.stuck.begin(), body_.alerts.stuck.end());
}

}  // namespace duecourse
