#include "rule/origin.h"

#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "rule/parse.h"
#include "rule/print.h"
#include "rule/split.h"

namespace duecourse {
namespace {

void Collect(const YamlNode& node, const std::string& path, std::map<std::string, YamlPlace>* out) {
  for (const auto& [key, value] : node.members) {
    std::string inner = path.empty() ? key.scalar : StrCat(path, ".", key.scalar);
    out->emplace(inner, key.place);
    Collect(value, inner, out);
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    std::string inner = JoinIndex(path, i);
    out->emplace(inner, node.items[i].place);
    Collect(node.items[i], inner, out);
  }
}

std::string Parent(const std::string& path) {
  size_t cut = path.find_last_of(".[");
  return cut == std::string::npos ? "" : path.substr(0, cut);
}

}  // namespace

Origins Origins::Of(std::string_view text, const std::string& task_id) {
  Origins origins;
  FindingList unused;
  Reader reader("", unused);
  SplitRules(text, reader, [&](RuleSource source) {
    if (NameOfRule(source).id != task_id || !origins.places_.empty()) return;
    NormalizeRule(source.rule, reader);
    Collect(source.rule, "", &origins.places_);
    if (source.name.kind == YamlNode::Kind::kScalar) origins.places_.emplace("task_id", source.name.place);
  });
  return origins;
}

YamlPlace Origins::Find(const std::string& path) const {
  auto at = places_.find(path);
  return at == places_.end() ? YamlPlace{} : at->second;
}

YamlPlace Origins::FindAround(const std::string& path) const {
  for (std::string around = path; !around.empty(); around = Parent(around)) {
    YamlPlace place = Find(around);
    if (place.line > 0) return place;
  }
  return {};
}

std::string PrintEffective(const Task& task, const RuleSet& set) {
  PrintNode tree;
  tree.members.emplace_back("task_id", ScalarNode(YamlScalar(task.id)));
  PrintNode body = RuleTree(task.rule(), true);
  for (auto& member : body.members) tree.members.push_back(std::move(member));
  if (task.file >= set.files.size()) return WriteYaml(tree);
  const RuleFile& file = set.files[task.file];
  Result<std::string> text = ReadFile(file.path, kYamlMaxBytes);
  bool as_loaded = text.ok() && Sha256Hex(*text) == file.hash;
  if (!as_loaded)
    return StrCat("# ", file.path, " has changed since it was loaded, so lines are not named\n",
                  WriteYaml(tree));
  Origins origins = Origins::Of(*text, task.id);
  return WriteYaml(tree, [&](const std::string& path, const PrintNode& node) -> std::string {
    YamlPlace place = node.is_default ? origins.Find(path) : origins.FindAround(path);
    if (place.line > 0) return StrCat(file.path, ":", place.line);
    return "default";
  });
}

}  // namespace duecourse
