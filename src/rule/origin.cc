#include "rule/origin.h"

#include <set>
#include <unordered_map>
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
    origins = OfRule(source.name, source.rule);
  });
  return origins;
}

Origins Origins::OfRule(const YamlNode& name, const YamlNode& rule) {
  Origins origins;
  Collect(rule, "", &origins.places_);
  if (name.kind == YamlNode::Kind::kScalar) origins.places_.emplace("task_id", name.place);
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

namespace {

// The place of the key that a finding names. What is due is one of three keys; the lease has two homes.
YamlPlace PlaceOf(const Origins& origins, const std::string& path) {
  constexpr std::string_view kLease = "lease";
  std::vector<std::string> names = {path};
  if (path == "trigger.cron") names.insert(names.end(), {"trigger.every", "trigger.at"});
  if (path.starts_with(kLease)) names = {StrCat("trigger.", path)};
  for (const std::string& name : names) {
    if (YamlPlace place = origins.Find(name); place.line > 0) return place;
  }
  if (YamlPlace place = origins.FindAround(names.front()); place.line > 0) return place;
  return origins.Find("task_id");
}

}  // namespace

void PlaceInText(std::string_view text, const std::string& file, std::vector<Finding>* findings) {
  std::unordered_map<std::string, std::vector<Finding*>> of_task;
  for (Finding& finding : *findings) {
    bool placed = finding.column > 1;  // lint's own place is the line's beginning
    if (finding.file == file && !finding.task.empty() && !placed) of_task[finding.task].push_back(&finding);
  }
  if (of_task.empty()) return;
  FindingList unused;
  Reader reader("", unused);
  SplitRules(text, reader, [&](RuleSource source) {
    auto at = of_task.find(NameOfRule(source).id);
    if (at == of_task.end()) return;
    NormalizeRule(source.rule, reader);
    Origins origins = Origins::OfRule(source.name, source.rule);
    for (Finding* finding : at->second) {
      YamlPlace place = PlaceOf(origins, finding->path);
      if (place.line == 0) continue;
      finding->line = place.line;
      finding->column = place.column;
    }
    of_task.erase(at);  // of two rules with one name the first was kept
  });
}

void PlaceFindings(const RuleSet& set, std::vector<Finding>* findings) {
  std::set<std::string> files;
  for (const Finding& finding : *findings) files.insert(finding.file);
  for (const RuleFile& file : set.files) {
    if (files.count(file.path) == 0) continue;
    Result<std::string> text = ReadFile(file.path, kYamlMaxBytes);
    if (text.ok() && Sha256Hex(*text) == file.hash) PlaceInText(*text, file.path, findings);
  }
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
