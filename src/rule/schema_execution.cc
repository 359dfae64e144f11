#include "rule/schema_parts.h"

namespace duecourse {

const char* const kSchemaExecutionKeys = R"json(
"command": {"$ref": "#/definitions/argv", "description": "A program and its arguments, without a shell"},
"shell": {"type": "string", "minLength": 1,
  "description": "A text for /bin/sh -c; no templates, values come by environment (DUECOURSE_*)"},
"http": {"$ref": "#/definitions/httpCall",
  "description": "A request to an agent; success is what expect says"},
"noop": {"description": "For tests: ends at once, or after a time, as it says",
  "anyOf": [{"type": "null"}, {"type": "object", "additionalProperties": false, "properties": {
    "after": {"$ref": "#/definitions/duration"},
    "exit": {"type": "integer", "minimum": 0, "maximum": 255}}}]},
"env": {"type": "object", "additionalProperties": {"$ref": "#/definitions/textOrSecret"},
  "description": "Environment; secrets by reference: {env: NAME} or {file: PATH}"},
"cwd": {"type": "string", "description": "Working directory, relative to the rule file"},
"umask": {"description": "File mode mask of the work, octal in quotes", "default": "022",
  "anyOf": [{"type": "string", "pattern": "^[0-7]{1,4}$"}, {"type": "integer", "minimum": 0,
    "maximum": 777}]},
"user": {"type": "string", "description": "Run as this user"},
"timeout": {"$ref": "#/definitions/duration", "default": "30m", "description": "Ends one attempt"},
"expected": {"$ref": "#/definitions/duration",
  "description": "The usual duration; a longer attempt is shown, not stopped"},
"kill_grace": {"$ref": "#/definitions/duration", "default": "10s", "description": "Between TERM and KILL"},
"on_timeout": {"enum": ["fail_and_notify", "manual"], "default": "fail_and_notify"},
"background_children": {"enum": ["kill", "keep"], "default": "kill",
  "description": "What the work left running"},
"output": {"type": "object", "additionalProperties": false, "properties": {
  "max": {"$ref": "#/definitions/bytes", "default": "64KiB",
    "description": "Kept of each stream, head and tail"},
  "keep": {"$ref": "#/definitions/duration", "default": "30d"}}},
"errors": {"description": "Which endings are what; before the built-in classes",
  "type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["as"],
    "properties": {
    "exit": {"$ref": "#/definitions/ranges"}, "status": {"$ref": "#/definitions/ranges"},
    "signal": {"$ref": "#/definitions/ranges"},
    "output": {"type": "string", "description": "Plain text in the tail of either stream"},
    "as": {"enum": ["transient", "business", "unknown", "not_ready"]}}}},
"kill_at_window_end": {"type": "boolean", "default": false},
"on_store_loss": {"enum": ["finish", "stop"], "default": "finish",
  "description": "A running attempt when the store is lost"},
"budget": {"type": "object", "description": "Not supported yet"}
)json";

}  // namespace duecourse
