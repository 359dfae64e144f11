#include "rule/schema_parts.h"

namespace duecourse {

const char* const kSchemaConfigKeys = R"json(
"rules": {"type": "string", "default": "rules", "description": "Folder or file of the rules"},
"data": {"type": "string", "default": "data", "description": "Folder of the store and outputs"},
"node_id": {"type": "string",
  "description": "A label for this node; the host's name where it is not written"},
"owners": {"type": "object", "description": "Teams and their channels by level, in order of trying",
  "additionalProperties": {"type": "object", "additionalProperties": false, "properties": {
    "P1": {"$ref": "#/definitions/names", "description": "Act now"},
    "P2": {"$ref": "#/definitions/names", "description": "Look today"},
    "P3": {"$ref": "#/definitions/names", "description": "For the record"}}}},
"channels": {"type": "object", "description": "How people are told",
  "additionalProperties": {"type": "object", "additionalProperties": false, "properties": {
    "command": {"$ref": "#/definitions/argv", "description": "The alert comes as JSON on standard input"},
    "webhook": {"description": "POST of the alert as JSON",
      "anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": false, "required": ["url"],
        "properties": {
        "url": {"$ref": "#/definitions/textOrSecret"},
        "headers": {"type": "object", "additionalProperties": {"$ref": "#/definitions/textOrSecret"}}}}]},
    "timeout": {"$ref": "#/definitions/duration", "default": "10s"},
    "slack": {"description": "Not supported yet"}, "dingtalk": {"description": "Not supported yet"},
    "wecom": {"description": "Not supported yet"}, "feishu": {"description": "Not supported yet"},
    "email": {"description": "Not supported yet"}}}},
"calendars": {"type": "object", "description": "Working days: lists, or an .ics file",
  "additionalProperties": {"type": "object", "additionalProperties": false, "properties": {
    "weekend": {"$ref": "#/definitions/days", "description": "Weekdays off (sat, sun)"},
    "holidays": {"$ref": "#/definitions/dates"},
    "workdays": {"$ref": "#/definitions/dates",
      "description": "Working although they are a weekend or holiday"},
    "covers": {"description": "Years it knows; those of its days where it is not written",
      "anyOf": [{"$ref": "#/definitions/year"}, {"type": "array", "items": {"$ref": "#/definitions/year"}}]},
    "ics": {"type": "string", "description": "An iCalendar file of all-day events"}}}},
"pools": {"type": "object", "description": "Limits shared by tasks",
  "additionalProperties": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "object",
    "additionalProperties": false,
    "properties": {
      "max_concurrency": {"type": "integer", "minimum": 1, "description": "Runs at once of all its tasks"},
      "rate": {"description": "Not supported yet"}, "min_interval": {"description": "Not supported yet"},
      "weight": {"description": "Not supported yet"}}}]}},
"flags": {"type": "object", "description": "Flags that someone outside sets, and who",
  "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": false,
    "properties": {"set_by": {"type": "string", "description": "Who sets it: a sentence"}}}]}},
"maintenance": {"description": "Times without automatic starts",
  "type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {
    "name": {"type": "string"}, "why": {"type": "string"},
    "from": {"$ref": "#/definitions/instant"}, "until": {"$ref": "#/definitions/instant"},
    "cron": {"type": "string", "description": "When it begins, in place of from"},
    "timezone": {"type": "string"}, "length": {"$ref": "#/definitions/duration"},
    "tasks": {"$ref": "#/definitions/names", "description": "All where it is not written"}}}},
"file_roots": {"$ref": "#/definitions/names",
  "description": "Folders that file preconditions may read; all where it is not written"},
"http_allow": {"$ref": "#/definitions/names", "description": "Private hosts or networks that may be called"},
"drain_timeout": {"$ref": "#/definitions/duration", "default": "60s",
  "description": "For running attempts at stop"},
"retention": {"$ref": "#/definitions/duration", "default": "90d",
  "description": "Of history; never of a live key"},
"allow_unsafe_durability": {"type": "boolean", "default": false},
"command_slots": {"type": "integer", "minimum": 1, "default": 256,
  "description": "Commands at once on this machine"},
"http_slots": {"type": "integer", "minimum": 1, "default": 512,
  "description": "HTTP calls at once on this machine"},
"templates": {"description": "Not supported yet"},
"connections": {"description": "Not supported yet"}
)json";

}  // namespace duecourse
