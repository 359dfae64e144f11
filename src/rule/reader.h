// Reads typed values out of a positioned tree and gathers everything that is
// wrong with them, each with its place, what is wrong and what would be right.
// Nothing stops at the first fault. A value that was refused leaves its target
// untouched. Texts are shown shortened and made safe; secrets never.
// One thread, one file at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/yaml.h"
#include "rule/choices.h"
#include "rule/finding.h"

namespace duecourse {

inline constexpr size_t kTextMax = 2000;          // bytes of a sentence, a name, a template
inline constexpr size_t kScriptMax = 256u << 10;  // bytes of a shell text or an HTTP body
inline constexpr size_t kEntriesMax = 10'000;     // entries of a list or map inside one rule

// A value and the path it stands at; node is null where it is not written.
struct Field {
  const YamlNode* node = nullptr;
  std::string path;
  explicit operator bool() const { return node != nullptr; }
};

struct FaultText {
  const char* id;
  std::string message;
  std::string fix;
};

class Reader {
 public:
  Reader(std::string file, FindingList& findings) : file_(std::move(file)), findings_(findings) {}

  const std::string& file() const { return file_; }
  void set_task(std::string id) { task_ = std::move(id); }
  size_t faults() const { return faults_; }  // found by this reader so far

  void Fault(YamlPlace place, const std::string& path, FaultText text);
  void Fault(const Field& field, FaultText text) { Fault(field.node->place, field.path, std::move(text)); }
  // Something required is not there. Kept back where a key nearby is unknown: it may be the one that was
  // meant.
  void Missing(YamlPlace place, const std::string& path, std::string what, std::string fix);
  void ExpectMissing() { unsure_ = true; }
  bool full() const { return findings_.full(); }
  void BeginRule() { unsure_ = false; }
  // Worth saying, but nothing is refused for it.
  void Warn(const Field& field, FaultText text);

  // Each answers true where the field is written and right, and has set *out.
  bool Text(const Field& field, std::string* out, size_t bytes_max = kTextMax);
  bool Name(const Field& field, std::string* out);  // letters, digits and . _ - and no more than 128 of them
  bool Boolean(const Field& field, bool* out);
  bool Integer(const Field& field, int64_t low, int64_t high, int64_t* out);
  bool Integer(const Field& field, int64_t low, int64_t high, int* out);
  bool Bytes(const Field& field, int64_t low, int64_t high, int64_t* out);  // 4096, 64KiB, 10MB
  bool Duration(const Field& field, Millis low, Millis high, Millis* out);
  bool TimeOfDay(const Field& field, int32_t* out);
  bool Day(const Field& field, CivilDay* out);
  bool Utc(const Field& field, Instant* out);
  bool TemplateText(const Field& field, Template* out, size_t bytes_max = kTextMax);
  template <typename E, size_t N>
  bool Choose(const Field& field, const std::array<Choice<E>, N>& table, E* out) {
    std::vector<std::string> names;
    for (const Choice<E>& choice : table) names.emplace_back(choice.name);
    std::optional<size_t> index = ChooseIndex(field, names);
    if (index) *out = table[*index].value;
    return index.has_value();
  }
  // The entries of a list; a lone scalar or map counts as a list of one.
  std::vector<Field> Items(const Field& field);
  // The members of a map with free names; the key is the Field's last part.
  std::vector<std::pair<std::string, Field>> Members(const Field& field);
  // False, with a fault, where the field is written but no map.
  bool IsMap(const Field& field);
  // The scalar of a field, or nothing with a fault.
  const std::string* Scalar(const Field& field, const char* wanted);

 private:
  Finding MakeFinding(YamlPlace place, const std::string& path, FaultText text) const;
  std::optional<size_t> ChooseIndex(const Field& field, const std::vector<std::string>& names);

  std::string file_;
  FindingList& findings_;
  std::string task_;
  size_t faults_ = 0;
  bool unsure_ = false;
};

// The fields of one map. Every Get of a map that is not written answers an absent field.
class MapView {
 public:
  MapView(Reader& reader, Field field);
  Field Get(std::string_view key) const;
  bool Has(std::string_view key) const { return map_ != nullptr && map_->Find(key) != nullptr; }
  explicit operator bool() const { return map_ != nullptr; }
  const Field& field() const { return field_; }

 private:
  Field field_;
  const YamlNode* map_ = nullptr;
};

// The value as a person sees it in a message: shortened, made safe.
std::string ShowValue(const YamlNode& node, std::string_view path);
std::string_view KindName(const YamlNode& node);  // "a list", "a map", "text", "nothing"
std::string JoinKey(std::string_view path, std::string_view key);
std::string JoinIndex(std::string_view path, size_t index);

}  // namespace duecourse
