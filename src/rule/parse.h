// One rule, from its tree to the model. What is wrong goes to the reader, all of
// it; the body is whole only where nothing was. Pure.
#pragma once

#include <string>
#include <vector>

#include "rule/alias.h"
#include "rule/reader.h"

namespace duecourse {

// Brings the tree of one rule to its canonical form and reads it. The tree is left in that form (for origins,
// and for task_id, which the body does not hold).
RuleBody ParseRule(YamlNode& rule, Reader& reader);
// The first half alone: what is unknown, missing or secret is told, aliases are resolved.
void NormalizeRule(YamlNode& rule, Reader& reader);

inline constexpr size_t kTaskIdMax = 128;
// What is wrong with a task id; empty where nothing is.
std::string TaskIdFault(std::string_view id);

// The parts, one file each. They add to the body and never look at what another part set, except where a
// parameter says so.
class RuleParts {
 public:
  RuleParts(Reader& reader, RuleBody& body) : reader_(reader), body_(body) {}

  void ParseTrigger(const MapView& trigger);
  void ParsePreconditions(const Field& list);
  void ParseRetry(const MapView& retry);
  void ParseIdempotency(const MapView& idempotency);
  void ParseExecution(const MapView& execution);
  void ParseForEach(const Field& for_each);
  void ParseAlerts(const MapView& alerts);

  // Text or {env: NAME} or {file: PATH}.
  bool ReadValue(const Field& field, size_t bytes_max, TextOrSecret* out);
  void ReadHttp(const MapView& http, HttpCall* out);
  bool ReadUrl(const Field& field, Template* out);
  void ReadHeaders(const Field& field, std::vector<std::pair<std::string, TextOrSecret>>* out);
  // [program, argument…], or a line of plain words.
  std::vector<Template> ReadCommand(const Field& field);
  // Keeps the value as it was written; `what` ends the sentence "not supported yet: …".
  void KeepUnsupported(const Field& field, const std::string& what);
  void ReadWhy(const MapView& block, const char* path);

 private:
  void ParseSchedule(const MapView& trigger);
  bool ParseZone(const MapView& trigger, Zone* zone);
  void SetSchedule(const MapView& trigger, Schedule schedule);
  void ParseAt(const Field& field, AtSchedule* out);
  void ParseWindow(const MapView& trigger);
  void ParseBusinessDate(const Field& field);
  void ParseDays(const MapView& trigger);
  void ParseLimits(const MapView& trigger);
  void ParsePrecondition(const Field& item);
  bool ParseCondition(const MapView& map, Precondition* out);
  bool ParseFile(const MapView& map, FileCondition* out);
  bool RefuseStrangers(const MapView& map, const std::vector<std::string>& known, const char* type);
  void ParseBackoff(const MapView& backoff);
  void ParseCatchup(const MapView& catchup);
  void ParseKind(const MapView& execution);
  void ParseEnvironment(const Field& env);
  void ParseErrors(const Field& errors);
  bool ParseErrorRule(const MapView& map, ErrorRule* out);
  void ReadBody(const Field& field, HttpCall* out);
  void ReadExpect(const MapView& expect, HttpExpect* out);
  void AddValue(Fields fields);

  Reader& reader_;
  RuleBody& body_;
};

// "[a, b]", "{k: v}": the value on one line, so that reading it gives the same again.
std::string FlowYaml(const YamlNode& node);
Json ToJson(const YamlNode& node);

}  // namespace duecourse
