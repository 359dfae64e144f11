#include "rule/tree.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "rule/keys.h"
#include "rule/secret.h"

namespace duecourse {
namespace {

constexpr size_t kKeysListed = 14;

struct Spot {
  std::string table_path;  // "trigger.preconditions[]"
  std::string path;        // "preconditions[2]", as the file has it
};

class TreeCheck {
 public:
  TreeCheck(const TreeTable& table, Reader& reader) : table_(table), reader_(reader) {}

  void Visit(YamlNode& node, const Spot& spot) {
    switch (node.kind) {
      case YamlNode::Kind::kNull:
        return;
      case YamlNode::Kind::kScalar:
        if (HoldsSecret(node.scalar)) RefuseSecret(node, spot.path);
        return;
      case YamlNode::Kind::kSequence:
        return VisitItems(node, spot);
      case YamlNode::Kind::kMap:
        return VisitMembers(node, spot);
    }
  }

 private:
  // JSON has a null of its own.
  static bool MayHoldNull(const Spot& spot) {
    return spot.table_path.find("expect.json") != std::string::npos ||
           spot.table_path.starts_with("execution.http.body");
  }

  void RefuseSecret(YamlNode& node, const std::string& path) {
    reader_.Fault(node.place, path,
                  {"inline_secret", "a secret is written here; rules are kept in git and shown to everybody",
                   "write {env: NAME} or {file: PATH} in its place"});
    node.kind = YamlNode::Kind::kScalar;
    node.scalar = std::string(kHiddenValue);
    node.items.clear();
    node.members.clear();
  }
  void RefuseNull(YamlPlace place, const std::string& path) {
    reader_.Fault(place, path,
                  {"null_value", "nothing is written here", "write a value, or leave the key out"});
  }

  void VisitItems(YamlNode& node, const Spot& spot) {
    if (!MayHoldNull(spot)) {
      auto is_null = [&](const YamlNode& item) {
        if (item.kind != YamlNode::Kind::kNull) return false;
        RefuseNull(item.place, spot.path);
        return true;
      };
      node.items.erase(std::remove_if(node.items.begin(), node.items.end(), is_null), node.items.end());
    }
    for (size_t i = 0; i < node.items.size(); ++i) {
      YamlNode& item = node.items[i];
      Spot inner{spot.table_path + "[]", JoinIndex(spot.path, i)};
      bool announced = i > 0 && node.items[i - 1].kind == YamlNode::Kind::kScalar &&
                       IntroducesSecret(node.items[i - 1].scalar);
      if (announced && IsLiteral(item) && !item.scalar.starts_with('-')) {
        RefuseSecret(item, inner.path);
      } else {
        Visit(item, inner);
      }
    }
  }

  void VisitMembers(YamlNode& node, const Spot& spot) {
    const std::vector<std::string>* known = table_.keys_at(spot.table_path);
    if (known != nullptr) CorrectKeys(node, spot, *known);
    bool may_hold_null = MayHoldNull(spot);
    auto refused = [&](std::pair<YamlNode, YamlNode>& member) {
      if (member.second.kind != YamlNode::Kind::kNull || may_hold_null) return false;
      RefuseNull(member.second.place, JoinKey(spot.path, member.first.scalar));
      return true;
    };
    node.members.erase(std::remove_if(node.members.begin(), node.members.end(), refused), node.members.end());
    for (auto& member : node.members) {
      Spot inner = InnerSpot(spot, member.first.scalar, known == nullptr);
      if (NamesSecret(member.first.scalar) && IsLiteral(member.second)) {
        RefuseSecret(member.second, inner.path);
      } else {
        Visit(member.second, inner);
      }
    }
  }

  Spot InnerSpot(const Spot& spot, const std::string& key, bool free_names) const {
    std::string path = JoinKey(spot.path, key);
    if (spot.table_path.empty()) return {table_.place_of(key), std::move(path)};
    if (free_names) return {spot.table_path + "{}", std::move(path)};
    return {StrCat(spot.table_path, ".", key), std::move(path)};
  }

  // A value that stands for itself: no template variable, no word that says there is none.
  static bool IsLiteral(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kScalar) return false;
    return node.scalar.find('{') == std::string::npos && !node.scalar.empty() && node.scalar != "true" &&
           node.scalar != "false" && !node.scalar.starts_with('$');
  }

  void CorrectKeys(YamlNode& map, const Spot& spot, const std::vector<std::string>& known) {
    auto is_known = [&](const std::string& key) {
      return std::find(known.begin(), known.end(), key) != known.end();
    };
    std::vector<std::pair<YamlNode, YamlNode>> kept;
    kept.reserve(map.members.size());
    for (size_t i = 0; i < map.members.size(); ++i) {
      auto& member = map.members[i];
      if (is_known(member.first.scalar)) {
        kept.push_back(std::move(member));
        continue;
      }
      std::string meant = ReportUnknown(member.first, spot, known);
      bool taken = !meant.empty() && HasKey(kept, map.members, i, meant);
      if (meant.empty() || taken || member.second.kind == YamlNode::Kind::kMap) reader_.ExpectMissing();
      if (meant.empty() || taken) continue;
      member.first.scalar = meant;
      kept.push_back(std::move(member));
    }
    map.members = std::move(kept);
  }

  using Members = std::vector<std::pair<YamlNode, YamlNode>>;
  static bool HasKey(const Members& kept, const Members& rest, size_t from, const std::string& key) {
    auto is_it = [&](const std::pair<YamlNode, YamlNode>& member) { return member.first.scalar == key; };
    return std::any_of(kept.begin(), kept.end(), is_it) ||
           std::any_of(rest.begin() + static_cast<std::ptrdiff_t>(from) + 1, rest.end(), is_it);
  }

  // The known key that the word stands for, or empty.
  std::string ReportUnknown(const YamlNode& key, const Spot& spot, const std::vector<std::string>& known) {
    std::string meant;
    std::string fix;
    if (!reader_.full()) {
      std::string familiar = FamiliarKey(key.scalar);
      std::string last =
          familiar.substr(familiar.rfind('.') == std::string::npos ? 0 : familiar.rfind('.') + 1);
      if (std::find(known.begin(), known.end(), last) != known.end()) {
        meant = last;
        fix = StrCat("write ", familiar);
      } else if (std::optional<std::string> nearest = Nearest(key.scalar, known)) {
        meant = *nearest;
        fix = StrCat("did you mean ", meant, "?");
      } else {
        fix = known.size() <= kKeysListed ? StrCat("known here: ", Join(known, ", "))
                                          : "the keys are listed in docs/reference/rule.md";
      }
    }
    reader_.Fault(
        key.place, JoinKey(spot.path, key.scalar),
        {"unknown_key", StrCat("unknown key \"", ShowBytes(key.scalar.substr(0, 60), false), "\""), fix});
    return meant;
  }

  const TreeTable& table_;
  Reader& reader_;
};

}  // namespace

void CheckTree(YamlNode& root, const TreeTable& table, Reader& reader) {
  TreeCheck(table, reader).Visit(root, {"", ""});
}

}  // namespace duecourse
