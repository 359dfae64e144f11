#include <algorithm>
#include <functional>

#include "base/text.h"
#include "rule/lint_parts.h"

namespace duecourse {
namespace {

constexpr auto kError = Finding::Severity::kError;

struct PlacedTemplate {
  std::string path;
  const Template* text;
  bool checksum = false;  // {path} is known
};
using Placed = std::vector<PlacedTemplate>;

void AddTextOrSecret(const std::string& path, const TextOrSecret& value, Placed* out) {
  if (!value.secret) out->push_back({path, &value.text});
}

void AddHttp(const std::string& path, const HttpCall& call, Placed* out) {
  out->push_back({path + ".url", &call.url});
  for (const auto& header : call.headers)
    AddTextOrSecret(StrCat(path, ".headers.", header.first), header.second, out);
  if (call.body) AddTextOrSecret(path + ".body", *call.body, out);
}

void AddPrecondition(const std::string& path, const Precondition& condition, Placed* out) {
  switch (condition.type) {
    case Precondition::Type::kFlag:
      out->push_back({path + ".name", &condition.flag.name});
      if (condition.flag.value) out->push_back({path + ".value", &*condition.flag.value});
      break;
    case Precondition::Type::kFile:
      out->push_back({path + ".path", &condition.file.path});
      if (condition.file.first_line) out->push_back({path + ".first_line", &*condition.file.first_line});
      if (condition.file.checksum) out->push_back({path + ".checksum", &*condition.file.checksum, true});
      break;
    case Precondition::Type::kHttp:
      AddHttp(path, condition.http, out);
      break;
    case Precondition::Type::kTask:
      out->push_back({path + ".task", &condition.task.task});
      if (condition.task.key) out->push_back({path + ".key", &*condition.task.key});
      break;
    case Precondition::Type::kCommand:
      for (const Template& argument : condition.command.argv) out->push_back({path + ".command", &argument});
      break;
  }
}

Placed TemplatesOf(const RuleBody& rule) {
  Placed out;
  out.push_back({"idempotency.business_key", &rule.business_key});
  for (size_t i = 0; i < rule.trigger.preconditions.size(); ++i) {
    AddPrecondition(StrCat("trigger.preconditions[", i, "]"), rule.trigger.preconditions[i], &out);
  }
  for (size_t i = 0; i < rule.execution.command.size(); ++i) {
    out.push_back({StrCat("execution.command[", i, "]"), &rule.execution.command[i]});
  }
  if (rule.execution.kind == ExecutionRule::Kind::kHttp) AddHttp("execution.http", rule.execution.http, &out);
  for (const auto& variable : rule.execution.env) {
    AddTextOrSecret(StrCat("execution.env.", variable.first), variable.second, &out);
  }
  for (const Template& flag : rule.on_success_flags) out.push_back({"on_success.set", &flag});
  return out;
}

bool IsFieldName(const Fields& fields, const std::string& name) {
  return std::any_of(fields.begin(), fields.end(),
                     [&name](const auto& field) { return field.first == name; });
}

// Events are of a later version; a rule that asks for them is told so, not that its names are unknown.
bool AsksForEvents(const RuleBody& rule) {
  return std::any_of(rule.unsupported.begin(), rule.unsupported.end(),
                     [](const UnsupportedKey& key) { return key.path.find("event") != std::string::npos; });
}

bool IsEventName(const std::string& name) { return name == "event_id" || name.compare(0, 6, "event.") == 0; }

void LintTemplate(LintContext* context, const LintGroup& group, const PlacedTemplate& placed) {
  const RuleBody& rule = group.rule();
  const bool is_key = placed.text == &rule.business_key;
  TemplateScope scope;
  scope.task = group.first().id;
  scope.vars = &rule.vars;
  if (placed.checksum) scope.path = "file";
  for (const Template::Piece& piece : placed.text->pieces()) {
    if (piece.name.empty() || (IsEventName(piece.name) && AsksForEvents(rule))) continue;
    const bool of_value = !rule.for_each.empty() && IsFieldName(rule.for_each[0].fields, piece.name);
    // What a key may not contain although it could be known is said by LintKeys.
    if (is_key && NamesOneAttempt(piece.name) && !of_value && !IsFieldName(rule.vars, piece.name)) continue;
    for (size_t value = 0; value < (of_value ? ValueCount(rule) : 1); ++value) {
      scope.value = rule.for_each.empty() ? nullptr : &rule.for_each[value].fields;
      const Result<std::string> rendered = RenderPiece(piece, scope);
      if (rendered.ok()) continue;
      const std::string of = of_value ? StrCat(" for ", ValueId(rule, value)) : "";
      context->Add(kError, group,
                   {"unknown_variable", placed.path,
                    StrCat("\"", ShowBytes(placed.text->text(), false), "\" cannot be rendered", of, ": ",
                           rendered.error().message()),
                    "name a template name, a var or a for_each name that has a value"});
      break;
    }
  }
}

}  // namespace

void LintTemplates(LintContext* context) {
  for (const LintGroup& group : context->groups) {
    const RuleBody& rule = group.rule();
    for (const PlacedTemplate& placed : TemplatesOf(rule)) LintTemplate(context, group, placed);
  }
}

}  // namespace duecourse
