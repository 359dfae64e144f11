// Blocks of keys, and what is said where something else stands in their place.
#include "base/text.h"
#include "rule/reader.h"
#include "rule/secret.h"

namespace duecourse {

// "true", "3": no text, and no secret either.
static bool IsSwitchOrNumber(const std::string& scalar) {
  constexpr size_t kDigitsMax = 9;
  return scalar == "true" || scalar == "false" || (scalar.size() <= kDigitsMax && ParseInteger(scalar));
}

// What would be right where somebody wrote a switch or a number for a block.
static std::string MapExample(std::string_view path) {
  const std::string_view key = path.substr(path.rfind('.') + 1);
  constexpr std::pair<std::string_view, const char*> kExamples[] = {
      {"catchup", "{enabled: true}"},
      {"immediate", "{max_attempts: 1}"},
      {"backoff", "{intervals: [1m, 2m, 4m]}"},
      {"breaker", "{failures: 5, cooldown: 30m}"}};
  for (const auto& [known, example] : kExamples) {
    if (key == known) return StrCat("write ", known, ": ", example);
  }
  return "write keys with values under it";
}

bool Reader::IsMap(const Field& field) {
  if (!field || field.node->kind == YamlNode::Kind::kMap) return true;
  if (field.node->kind == YamlNode::Kind::kScalar && field.node->scalar == kHiddenValue) return false;
  const bool plain = field.node->kind == YamlNode::Kind::kScalar && IsSwitchOrNumber(field.node->scalar);
  Fault(field,
        {"wrong_type",
         StrCat("expected a map, got ", plain ? field.node->scalar : std::string(KindName(*field.node))),
         MapExample(field.path)});
  return false;
}

MapView::MapView(Reader& reader, Field field) : field_(std::move(field)) {
  if (field_ && reader.IsMap(field_) && field_.node->kind == YamlNode::Kind::kMap) map_ = field_.node;
}

Field MapView::Get(std::string_view key) const {
  if (map_ == nullptr) return {};
  const YamlNode* node = map_->Find(key);
  if (node == nullptr) return {};
  return {node, JoinKey(field_.path, key)};
}

}  // namespace duecourse
