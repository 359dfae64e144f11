#include "rule/alias.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "rule/keys.h"

namespace duecourse {
namespace {

struct Alias {
  const char* from;
  const char* to;
};

// Applied in this order. What follows the blocks are keys inside them, at their canonical place by then.
constexpr std::array<Alias, 12> kAliases = {{
    {"schedule", "trigger"},
    {"guardrails", "trigger"},
    {"catchup", "retry.catchup"},
    {"breaker", "retry.breaker"},
    {"max_total_attempts", "retry.max_total_attempts"},
    {"dedupe_key", "idempotency.business_key"},
    {"trigger.lock_ttl", "trigger.lease.ttl"},
    {"retry.catchup.missed", "trigger.missed"},
    {"retry.max_attempts", "retry.backoff.max_attempts"},
    {"retry.base", "retry.backoff.factor"},
    {"retry.jitter", "retry.backoff.jitter"},
    {"trigger.execution_window", "trigger.window"},
}};
// Blocks whose keys may stand without them: `cron` for `trigger.cron`, `command` for `execution.command`.
constexpr std::array<const char*, 3> kShortBlocks = {"trigger", "execution", "idempotency"};

using ShortForms = std::map<std::string, std::string, std::less<>>;
const ShortForms& ShortTable() {
  static const ShortForms table = [] {
    ShortForms forms;
    for (const char* block : kShortBlocks) {
      for (const std::string& key : *RuleKeysAt(block)) forms.emplace(key, StrCat(block, ".", key));
    }
    for (const Alias& alias : kAliases) {
      if (std::string_view(alias.from).find('.') == std::string_view::npos) forms[alias.from] = alias.to;
    }
    return forms;
  }();
  return table;
}

YamlNode* FindMember(YamlNode& map, std::string_view key) {
  for (auto& member : map.members) {
    if (member.first.scalar == key) return &member.second;
  }
  return nullptr;
}

}  // namespace

YamlNode MakeScalar(YamlPlace place, std::string text) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.place = place;
  node.scalar = std::move(text);
  return node;
}

YamlNode MakeMap(YamlPlace place) {
  YamlNode node;
  node.kind = YamlNode::Kind::kMap;
  node.place = place;
  return node;
}

void AddMember(YamlNode& map, YamlPlace place, std::string key, YamlNode value) {
  map.members.emplace_back(MakeScalar(place, std::move(key)), std::move(value));
}

YamlNode* TreeMover::Find(std::string_view path) {
  YamlNode* node = &root_;
  for (std::string_view part : Split(path, '.')) {
    if (node->kind != YamlNode::Kind::kMap) return nullptr;
    node = FindMember(*node, part);
    if (node == nullptr) return nullptr;
  }
  return node;
}

bool TreeMover::Take(std::string_view path, YamlNode* key, YamlNode* value) {
  size_t dot = path.rfind('.');
  YamlNode* parent = dot == std::string_view::npos ? &root_ : Find(path.substr(0, dot));
  std::string_view name = dot == std::string_view::npos ? path : path.substr(dot + 1);
  if (parent == nullptr) return false;
  for (size_t i = 0; i < parent->members.size(); ++i) {
    if (parent->members[i].first.scalar != name) continue;
    *key = std::move(parent->members[i].first);
    *value = std::move(parent->members[i].second);
    parent->members.erase(parent->members.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

void TreeMover::Put(const std::string& to, const YamlNode& key, YamlNode value, const std::string& from) {
  YamlNode* node = &root_;
  std::vector<std::string_view> parts = Split(to, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (node->kind != YamlNode::Kind::kMap) {
      reader_.Fault(
          node->place, to.substr(0, to.rfind('.')),
          {"wrong_type", StrCat("expected a map, got ", KindName(*node)), "write keys with values under it"});
      *node = MakeMap(node->place);
    }
    YamlNode* next = FindMember(*node, parts[i]);
    bool last = i + 1 == parts.size();
    if (next == nullptr) {
      AddMember(*node, key.place, std::string(parts[i]), last ? std::move(value) : MakeMap(key.place));
      if (last) return;
      next = &node->members.back().second;
    }
    node = next;
  }
  if (node->kind == YamlNode::Kind::kMap && value.kind == YamlNode::Kind::kMap) {
    for (auto& member : value.members) {
      Put(StrCat(to, ".", member.first.scalar), member.first, std::move(member.second),
          StrCat(from, ".", member.first.scalar));
    }
    return;
  }
  reader_.Fault(key.place, from,
                {"duplicate_key", StrCat(from, " says the same as ", to, " at line ", node->place.line),
                 "keep one of them"});
}

void TreeMover::Move(const std::string& from, const std::string& to) {
  YamlNode key;
  YamlNode value;
  if (Take(from, &key, &value)) Put(to, key, std::move(value), from);
}

std::string RulePlaceOf(std::string_view key) {
  const ShortForms& table = ShortTable();
  auto at = table.find(key);
  return at == table.end() ? std::string(key) : at->second;
}

void ApplyAliases(YamlNode& rule, Reader& reader) {
  ShapeRetryWord(rule, reader);
  TreeMover tree(rule, reader);
  std::vector<std::string> outer;
  for (const auto& member : rule.members) outer.push_back(member.first.scalar);
  for (const std::string& key : outer) {
    std::string to = RulePlaceOf(key);
    if (to != key) tree.Move(key, to);
  }
  ShapeRetry(tree);
  for (const Alias& alias : kAliases) {
    if (std::string_view(alias.from).find('.') != std::string_view::npos) tree.Move(alias.from, alias.to);
  }
  ShapeWindows(tree);
  ShapePreconditions(tree);
}

}  // namespace duecourse
