// Pieces of the JSON Schema texts (schema.cc joins them). A piece is the inside
// of a `properties` object, without its braces: the keys of a block may also
// stand without the block, so a piece is used in both places. Descriptions are
// what editors show on completion. Internal to this room.
#pragma once

namespace duecourse {

extern const char* const kSchemaTriggerKeys;
extern const char* const kSchemaExecutionKeys;
extern const char* const kSchemaIdempotencyKeys;
extern const char* const kSchemaRetryKeys;
extern const char* const kSchemaTaskKeys;
extern const char* const kSchemaCommonDefinitions;  // the inside of `definitions`, used by both texts
extern const char* const kSchemaRuleDefinitions;    // the same, of rules only
extern const char* const kSchemaConfigKeys;

}  // namespace duecourse
