// A rule or the settings as a tree of what prints, and that tree as YAML. The
// same tree is compared field by field and hashed. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rule/ruleset.h"

namespace duecourse {

struct PrintNode {
  // Out of line, for the node is not complete where its members are named.
  PrintNode();
  PrintNode(const PrintNode&);
  PrintNode(PrintNode&&) noexcept;
  PrintNode& operator=(const PrintNode&);
  PrintNode& operator=(PrintNode&&) noexcept;
  ~PrintNode();
  enum class Kind { kScalar, kBlock, kNote, kList, kMap };
  Kind kind = Kind::kMap;
  std::string text;  // kScalar: YAML on one line; kBlock: text of several lines; kNote: what no key can say
  bool is_default = false;
  std::vector<PrintNode> items;                            // kList
  std::vector<std::pair<std::string, PrintNode>> members;  // kMap

  bool empty() const;
};

// A text as a YAML scalar: plain where nothing could read it otherwise, else in double quotes. Safe inside []
// and {}.
std::string YamlScalar(std::string_view text);
std::string QuoteYaml(std::string_view text);
bool IsPlainYaml(
    std::string_view text);  // may stand without quotes; what a reader takes it for is another matter
std::string FlowList(const std::vector<std::string>& yaml_items);  // "[a, b]"
std::string JsonFlow(const Json& json);
PrintNode ScalarNode(std::string yaml, bool is_default = false);
PrintNode TextNode(std::string_view text);  // a block where it has several lines

// With `effective`, every default is in the tree, marked.
PrintNode RuleTree(const RuleBody& rule, bool effective);
PrintNode ConfigTree(const ServerConfig& config);

// Words for the end of a line; empty for none.
using Annotate = std::function<std::string(const std::string& path, const PrintNode& node)>;
std::string WriteYaml(const PrintNode& tree, const Annotate& annotate = {});
// Every leaf with its path; a list of plain values is one leaf.
struct Leaf {
  std::string path;
  std::string text;
  bool is_default = false;
};
std::vector<Leaf> Leaves(const PrintNode& tree);
// Puts YAML text at a path; leaves a value that stands there alone.
void InsertAt(PrintNode& tree, std::string_view path, const std::string& yaml);
// The map under a key, made where it is not there.
PrintNode& MapAt(PrintNode& map, const std::string& key);

// SHA-256 of what the body means.
std::string HashRule(const RuleBody& rule);

// PrintRule with every default, each line with where it comes from: "# rules/a.yaml:7" or "# default".
std::string PrintEffective(const Task& task, const RuleSet& set);

}  // namespace duecourse
