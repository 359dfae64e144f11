#include "rule/split.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "rule/keys.h"

namespace duecourse {
namespace {

const std::vector<std::string>& ListKeys() {
  static const std::vector<std::string> keys = {"tasks", "TASK_RULES"};
  return keys;
}

bool IsListKey(const std::string& key) { return key == ListKeys()[0] || key == ListKeys()[1]; }

// A map of name to rule: every value is a map, and no key is one that a rule has.
bool IsMapOfRules(const YamlNode& map) {
  const std::vector<std::string>& known = *RuleKeysAt("");
  return !map.members.empty() && std::all_of(map.members.begin(), map.members.end(), [&](const auto& member) {
    return member.second.kind == YamlNode::Kind::kMap &&
           std::find(known.begin(), known.end(), member.first.scalar) == known.end();
  });
}

class Splitter : public YamlSink {
 public:
  Splitter(Reader& reader, const OnRule& on_rule) : reader_(reader), on_rule_(on_rule) {}

  void Item(const std::string&, YamlNode key, YamlNode node) override {
    Give(std::move(key), std::move(node));
  }

  void Document(YamlNode node) override {
    switch (node.kind) {
      case YamlNode::Kind::kNull:
        return;  // comments only
      case YamlNode::Kind::kScalar:
        reader_.Fault(node.place, "",
                      {"wrong_type", StrCat("expected a rule, got ", ShowValue(node, "")),
                       "write task_id, cron, timezone and command as keys"});
        return;
      case YamlNode::Kind::kSequence:
        for (YamlNode& item : node.items) Give(YamlNode(), std::move(item));
        return;
      case YamlNode::Kind::kMap:
        return MapDocument(std::move(node));
    }
  }

 private:
  void MapDocument(YamlNode node) {
    bool has_list = std::any_of(node.members.begin(), node.members.end(),
                                [](const auto& member) { return IsListKey(member.first.scalar); });
    if (has_list) return ListDocument(node);
    if (!IsMapOfRules(node)) return Give(YamlNode(), std::move(node));
    for (auto& member : node.members) Give(std::move(member.first), std::move(member.second));
  }
  // The entries have come as items already; what is left must be the list alone.
  void ListDocument(const YamlNode& node) {
    for (const auto& [key, value] : node.members) {
      if (!IsListKey(key.scalar)) {
        reader_.Fault(key.place, key.scalar,
                      {"unknown_key",
                       StrCat("\"", ShowBytes(key.scalar.substr(0, 60), false), "\" may not stand beside ",
                              "a list of tasks"),
                       "settings of the server belong into duecourse.yaml"});
      } else if (value.kind == YamlNode::Kind::kScalar) {
        reader_.Fault(value.place, key.scalar,
                      {"wrong_type", StrCat("expected a list of rules, got ", ShowValue(value, "")), ""});
      }
    }
  }
  void Give(YamlNode name, YamlNode rule) {
    if (rule.kind == YamlNode::Kind::kMap) return on_rule_({std::move(name), std::move(rule)});
    reader_.Fault(rule.place.line > 0 ? rule.place : name.place, name.scalar,
                  {"wrong_type", StrCat("expected a rule, got ", KindName(rule)), "write its keys as a map"});
  }

  Reader& reader_;
  const OnRule& on_rule_;
};

}  // namespace

void SplitRules(std::string_view text, Reader& reader, const OnRule& on_rule) {
  Splitter splitter(reader, on_rule);
  for (const YamlFault& fault : StreamYaml(text, ListKeys(), splitter)) {
    reader.Fault(fault.place, "", {"yaml_invalid", fault.message, ""});
  }
}

TaskName NameOfRule(const RuleSource& source) {
  const YamlNode* id = source.rule.Find("task_id");
  if (id != nullptr && id->kind == YamlNode::Kind::kScalar) return {id->scalar, id->place};
  if (source.name.kind == YamlNode::Kind::kScalar) return {source.name.scalar, source.name.place};
  return {"", source.rule.place};
}

}  // namespace duecourse
