// The many ways of writing a rule, brought to the one form that is read, printed
// and compared: short forms without their block, both articles' names, both
// spellings of a precondition. One table (alias.cc) names them all. Values are
// moved with their places, so faults and origins still point into the file.
#pragma once

#include <string>
#include <string_view>

#include "rule/reader.h"

namespace duecourse {

// Where the value of an outermost key belongs: "cron" -> "trigger.cron", "schedule" -> "trigger", "why" ->
// "why".
std::string RulePlaceOf(std::string_view key);
// Rewrites the map of one rule in place. A thing that is said twice in two spellings is a fault that names
// both.
void ApplyAliases(YamlNode& rule, Reader& reader);

// Plain steps on a tree, shared with alias_shape.cc.
class TreeMover {
 public:
  TreeMover(YamlNode& root, Reader& reader) : root_(root), reader_(reader) {}
  YamlNode* Find(std::string_view path);
  // Takes the member out; false where there is none.
  bool Take(std::string_view path, YamlNode* key, YamlNode* value);
  // Puts it in at another path, making the maps on the way; maps that meet are joined.
  void Put(const std::string& to, const YamlNode& key, YamlNode value, const std::string& from);
  void Move(const std::string& from, const std::string& to);
  Reader& reader() { return reader_; }

 private:
  YamlNode& root_;
  Reader& reader_;
};
YamlNode MakeScalar(YamlPlace place, std::string text);
YamlNode MakeMap(YamlPlace place);
void AddMember(YamlNode& map, YamlPlace place, std::string key, YamlNode value);

// The shapes that are more than another name.
void ShapeRetryWord(YamlNode& rule, Reader& reader);  // retry: standard
void ShapeRetry(TreeMover& tree);                     // retry: {max_attempts: 4, base: 2}, max_delay_min
void ShapeWindows(TreeMover& tree);                   // window, execution_window
void ShapePreconditions(TreeMover& tree);             // {file: {...}}, data_file_ready, depends_on

}  // namespace duecourse
