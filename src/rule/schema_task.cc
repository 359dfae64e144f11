#include "rule/schema_parts.h"

namespace duecourse {

const char* const kSchemaTaskKeys = R"json(
"task_id": {"type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$",
  "description": "The task's name: letters, digits, . _ -"},
"why": {"type": "string", "description": "What it is for; `why TASK` quotes it"},
"owner": {"type": "string", "description": "A team of duecourse.yaml, told of what goes wrong"},
"labels": {"$ref": "#/definitions/texts", "description": "For choosing tasks together"},
"enabled": {"type": "boolean", "default": true},
"vars": {"$ref": "#/definitions/texts", "description": "Names of your own for templates: {name}"},
"use": {"description": "A template of rules; not supported yet"},
"for_each": {
  "description": "One occurrence for each value: {channel: [app, web]} or [{user: u1, zone: Asia/Tokyo}]",
  "anyOf": [
    {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/texts"}},
    {"type": "object", "minProperties": 1, "additionalProperties": {
      "anyOf": [{"$ref": "#/definitions/plain"}, {"type": "array",
        "items": {"$ref": "#/definitions/plain"}}]}}]},
"trigger": {"$ref": "#/definitions/trigger"},
"schedule": {"$ref": "#/definitions/trigger", "description": "The same as trigger"},
"guardrails": {"$ref": "#/definitions/trigger", "description": "The same as trigger"},
"retry": {"description": "What follows a failure; standard: 5 s, then 1, 2 and 4 min",
  "anyOf": [{"const": "standard"}, {"$ref": "#/definitions/retryBlock"}]},
"catchup": {"$ref": "#/definitions/catchup", "description": "The same as retry.catchup"},
"breaker": {"$ref": "#/definitions/breaker", "description": "The same as retry.breaker"},
"max_total_attempts": {"$ref": "#/definitions/attempts",
  "description": "The same as retry.max_total_attempts"},
"on_lost": {"enum": ["rerun", "hold"], "default": "rerun",
  "description": "An attempt whose outcome is unknown: again at once, or a person"},
"lookup": {"description": "Not supported yet"},
"idempotency": {"$ref": "#/definitions/idempotency"},
"dedupe_key": {"type": "string", "description": "The same as idempotency.business_key"},
"execution": {"$ref": "#/definitions/execution"},
"on_success": {"type": "object", "additionalProperties": false, "properties": {
  "set": {"description": "Flags to set for the run's business date",
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}}},
"alerts": {"$ref": "#/definitions/alerts"}
)json";

const char* const kSchemaIdempotencyKeys = R"json(
"business_key": {"type": "string", "minLength": 1, "examples": ["{task}:{business_date}"],
  "description": "Names the result: one success for each in the whole store. Default {task}:{scheduled_at}"},
"supersede": {"enum": ["allowed", "never"], "default": "allowed",
  "description": "Whether a person may run a finished one again, under a new key"},
"keep": {"$ref": "#/definitions/duration", "default": "400d",
  "description": "How long a finished key is remembered"}
)json";

const char* const kSchemaRetryKeys = R"json(
"immediate": {"type": "object", "additionalProperties": false,
  "description": "Retries soon after the failure",
  "properties": {
    "max_attempts": {"type": "integer", "minimum": 0,
      "description": "Retries, the first attempt not counted"},
    "interval": {"$ref": "#/definitions/duration", "default": "5s"},
    "why": {"type": "string"}}},
"backoff": {"type": "object", "additionalProperties": false,
  "description": "Retries after rising delays: intervals, or initial, factor and max",
  "properties": {
    "max_attempts": {"type": "integer", "minimum": 0,
      "description": "Retries; the length of intervals where it is not written"},
    "intervals": {"type": "array", "items": {"$ref": "#/definitions/duration"}},
    "initial": {"$ref": "#/definitions/duration"},
    "factor": {"type": "number", "minimum": 1, "default": 2},
    "max": {"$ref": "#/definitions/duration"},
    "jitter": {"$ref": "#/definitions/duration", "default": "1s",
      "description": "0 to so much is added to each delay"},
    "why": {"type": "string"}}},
"then": {"enum": ["catchup", "manual"], "default": "catchup", "description": "What follows the last retry"},
"catchup": {"$ref": "#/definitions/catchup"},
"max_total_attempts": {"$ref": "#/definitions/attempts"},
"breaker": {"$ref": "#/definitions/breaker"},
"why": {"type": "string"},
"max_attempts": {"type": "integer", "minimum": 0,
  "description": "Short form with base: retries after 1, base, base*base... seconds"},
"base": {"type": "number", "minimum": 1},
"jitter": {"$ref": "#/definitions/duration", "description": "The same as backoff.jitter"}
)json";

}  // namespace duecourse
