// Something outside that must be true before a run may start. Paths, URLs and
// names are templates rendered for the run that asks. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "rule/template.h"

namespace duecourse {

// A secret by reference; never inline. Resolved only where it is used.
struct SecretRef {
  std::string env;  // one of the two
  std::string file;
  friend bool operator==(const SecretRef&, const SecretRef&) = default;
};
// A template, or a secret.
struct TextOrSecret {
  Template text;
  std::optional<SecretRef> secret;
  friend bool operator==(const TextOrSecret&, const TextOrSecret&) = default;
};

struct HttpExpect {
  std::vector<int> status;                         // empty: 200 for probes, 200..299 except 202 for agents
  std::vector<std::pair<std::string, Json>> json;  // JSON pointer -> value that must stand there
  friend bool operator==(const HttpExpect&, const HttpExpect&) = default;
};
struct HttpCall {
  std::string method = "GET";
  Template url;
  std::vector<std::pair<std::string, TextOrSecret>> headers;
  std::optional<TextOrSecret> body;
  HttpExpect expect;
  friend bool operator==(const HttpCall&, const HttpCall&) = default;
};

struct FlagCondition {
  Template name;
  bool dated = true;  // asks for this run's business date; false where the name itself renders a date
  std::optional<Template> value;  // the flag's value must equal it
  friend bool operator==(const FlagCondition&, const FlagCondition&) = default;
};
struct FileCondition {
  enum class ModifiedAfter { kNone, kBusinessDate, kDue, kWindowStart };
  Template path;  // relative to the rule file
  bool must_exist = true;
  std::optional<int64_t> min_rows;
  std::optional<int64_t> min_bytes;
  std::optional<Template> first_line;  // the first line equals it, or contains it as a whole word
  std::optional<Template> checksum;    // hex SHA-256, or the path of a file that holds one
  ModifiedAfter modified_after = ModifiedAfter::kNone;
  Millis stable_for;  // 0: none
  friend bool operator==(const FileCondition&, const FileCondition&) = default;
};
struct TaskCondition {
  Template task;  // "self" is the task itself
  enum class Date { kSame, kPreviousDay };
  Date business_date = Date::kSame;
  std::optional<Template> key;
  bool ended = false;  // state: ended (any final state) in place of success
  friend bool operator==(const TaskCondition&, const TaskCondition&) = default;
};
struct CommandCondition {
  std::vector<Template> argv;
  friend bool operator==(const CommandCondition&, const CommandCondition&) = default;
};

struct Precondition {
  enum class Type { kFlag, kFile, kHttp, kTask, kCommand };
  Type type = Type::kFlag;
  FlagCondition flag;
  FileCondition file;
  HttpCall http;
  TaskCondition task;
  CommandCondition command;
  std::string why;
  Millis timeout = Seconds(10);
  Millis max_age = Seconds(60);    // a yes is reused that long
  bool on_invalid_manual = false;  // on_invalid: manual
  friend bool operator==(const Precondition&, const Precondition&) = default;
};

const char* PreconditionTypeName(Precondition::Type type);

}  // namespace duecourse
