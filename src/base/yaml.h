// YAML read into a positioned tree of our own. The library's events are capped
// as they arrive, so hostile input costs little: bytes, depth, nodes, scalar
// size and documents have named limits. Refused with a place: invalid UTF-8,
// byte-order marks other than UTF-8's, control characters, tags, merge keys,
// duplicate keys (both places are named), aliases to an ancestor, and more than
// kYamlMaxAliases aliases. Aliases are copied out, so nobody walks a shared node.
// All faults that can be found in one reading are reported together.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace duecourse {

inline constexpr size_t kYamlMaxBytes = 16u << 20;
inline constexpr size_t kYamlMaxScalarBytes = 1u << 20;
inline constexpr int kYamlMaxDepth = 32;
inline constexpr size_t kYamlMaxNodes = 4'000'000;        // in one text
inline constexpr size_t kYamlMaxStandingNodes = 500'000;  // of one document, less the entries already streamed away
inline constexpr int kYamlMaxAliases = 100;               // in one document
inline constexpr size_t kYamlMaxAliasBytes = 4u << 20;    // what anchors and aliases stand for, in one text
inline constexpr int kYamlMaxDocuments = 200'000;         // in one text
inline constexpr size_t kYamlMaxFaults = 100;             // reported for one text

struct YamlPlace {
  int line = 0;  // from 1; 0 = no place
  int column = 0;
};

struct YamlNode {
  // Out of line, for the node is not complete where its members are named.
  YamlNode();
  YamlNode(const YamlNode&);
  YamlNode(YamlNode&&) noexcept;
  YamlNode& operator=(const YamlNode&);
  YamlNode& operator=(YamlNode&&) noexcept;
  ~YamlNode();
  enum class Kind { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  bool quoted = false;   // a scalar written in quotes or as a block: text whatever it looks like
  std::string scalar;    // as written (unquoted), for kScalar
  YamlPlace place;
  std::vector<YamlNode> items;                              // kSequence
  std::vector<std::pair<YamlNode, YamlNode>> members;       // kMap, in order; keys are scalars
  // The member's value, or nullptr.
  const YamlNode* Find(std::string_view key) const;
};

struct YamlFault {
  YamlPlace place;
  std::string message;
};

struct YamlText {
  std::vector<YamlNode> documents;
  std::vector<YamlFault> faults;  // the documents are usable only where this is empty
};

YamlText ParseYaml(std::string_view text);

// Streaming form for large files: `Document` is called for each top-level document, and, where the document is a map
// holding one of list_keys with a sequence or map, `Item` is called for each entry as soon as it is complete, and the
// entry is then dropped from the tree (the list stands empty in the document), so that 100,000 entries never stand in
// memory at once. Entries are handed over before later faults are known: use them only where no fault is returned.
struct YamlSink {
  virtual ~YamlSink() = default;
  virtual void Document(YamlNode node) = 0;
  // `key` is the map key for a map of rules (empty key node for a sequence).
  virtual void Item(const std::string& list_key, YamlNode key, YamlNode node) = 0;
};
std::vector<YamlFault> StreamYaml(std::string_view text, const std::vector<std::string>& list_keys, YamlSink& sink);

}  // namespace duecourse
