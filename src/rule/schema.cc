#include "base/text.h"
#include "rule/lint.h"
#include "rule/schema_parts.h"

namespace duecourse {
namespace {

constexpr const char* kHead = R"({
"$schema": "http://json-schema.org/draft-07/schema#",
)";

std::string Block(const char* name, const char* description, const char* keys) {
  return StrCat("\"", name, "\": {\"type\": \"object\", \"description\": \"", description,
                "\", \"additionalProperties\": false, \"properties\": {", keys, "}}");
}

// The keys of a rule. Those of trigger, execution and idempotency may stand without their block.
std::string RuleDefinition() {
  return StrCat(R"("rule": {"type": "object", "additionalProperties": false, "properties": {)",
                kSchemaTaskKeys, ",", kSchemaTriggerKeys, ",", kSchemaExecutionKeys, ",",
                kSchemaIdempotencyKeys, "}}");
}

std::string Definitions() {
  const std::string trigger = Block(
      "trigger", "When it is due and may start: cron, window, preconditions, limits", kSchemaTriggerKeys);
  const std::string execution =
      Block("execution", "How the work is done and how its ending is read", kSchemaExecutionKeys);
  const std::string idempotency =
      Block("idempotency", "Which result a run stands for; one success for each key", kSchemaIdempotencyKeys);
  const std::string retry = Block("retryBlock", "What follows a failure", kSchemaRetryKeys);
  return StrCat(trigger, ",", execution, ",", idempotency, ",", retry, ",", RuleDefinition(), ",",
                kSchemaCommonDefinitions, ",", kSchemaRuleDefinitions);
}

std::string MakeRuleSchema() {
  // A document is one rule, or a list or map of rules under `tasks:`, or a map of name to rule.
  constexpr const char* kShapes = R"(
"if": {"type": "object", "anyOf": [{"required": ["task_id"]}, {"required": ["trigger"]}, {"required": ["schedule"]},
                 {"required": ["cron"]}, {"required": ["every"]}, {"required": ["at"]}]},
"then": {"$ref": "#/definitions/rule"},
"else": {
  "if": {"type": "object", "anyOf": [{"required": ["tasks"]}, {"required": ["TASK_RULES"]}]},
  "then": {"additionalProperties": false, "properties": {
    "tasks": {"$ref": "#/definitions/ruleList"},
    "TASK_RULES": {"$ref": "#/definitions/ruleList"}}},
  "else": {"additionalProperties": {"$ref": "#/definitions/rule"}}},
)";
  return StrCat(kHead, R"("title": "Duecourse rules",
"description": "When a task is due, whether it may run, and what follows when it did not",
"type": ["object", "null"],)",
                kShapes, "\"definitions\": {", Definitions(), "}}\n");
}

std::string MakeConfigSchema() {
  return StrCat(kHead, R"("title": "duecourse.yaml",
"description": "The settings of a Duecourse server",
"type": ["object", "null"],
"additionalProperties": false,
"properties": {)",
                kSchemaConfigKeys, "},\n\"definitions\": {", kSchemaCommonDefinitions, "}}\n");
}

// One member a line, so that the printed text can be read and compared.
std::string Pretty(const std::string& text) {
  const Result<Json> json = Json::Parse(text);
  CHECK(json.ok());  // The pieces are ours.
  return json->DumpPretty() + "\n";
}

}  // namespace

const std::string& RuleSchema() {
  static const std::string text = Pretty(MakeRuleSchema());
  return text;
}

const std::string& ConfigSchema() {
  static const std::string text = Pretty(MakeConfigSchema());
  return text;
}

}  // namespace duecourse
