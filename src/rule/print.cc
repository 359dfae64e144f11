#include "rule/print.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace duecourse {
namespace {

constexpr size_t kNoteColumn = 44;

bool IsPlainCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '/' || c == '-' || c == '+';
}

// Words and numbers that a reader of YAML, old or new, may take for something else.
bool ReadsAsOther(std::string_view text) {
  static constexpr std::array<const char*, 11> kWords = {"true", "false", "null", "yes", "no", "on",
                                                         "off",  "y",     "n",    "~",   ""};
  std::string lower = AsciiLower(text);
  if (std::any_of(kWords.begin(), kWords.end(), [&](const char* word) { return lower == word; })) return true;
  bool number = text.front() >= '0' && text.front() <= '9';
  return number && lower.find_first_not_of("0123456789.+-_exabcdf") == std::string::npos;
}

bool FitsBlock(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.ends_with("\n\n") ||
      text.find('\r') != std::string_view::npos)
    return false;
  if (text.front() == '\n' || text.front() == ' ') return false;
  if (text.front() == '\t' || text.find("\n\t") != std::string_view::npos) return false;
  return true;
}

class Writer {
 public:
  explicit Writer(const Annotate& annotate) : annotate_(annotate) {}

  void Map(const PrintNode& map, size_t indent, const std::string& path, bool first_inline) {
    bool inline_now = first_inline;
    for (const auto& [key, node] : map.members) {
      std::string inner = Inner(path, key);
      std::string start = inline_now ? "" : std::string(indent, ' ');
      inline_now = false;
      if (node.kind == PrintNode::Kind::kNote) {
        out_ += StrCat(std::string(indent, ' '), "# ", node.text, "\n");
        continue;
      }
      Value(node, indent, StrCat(start, YamlScalar(key), ":"), inner);
    }
  }
  std::string Take() { return std::move(out_); }

 private:
  // Paths are for the notes alone.
  std::string Inner(const std::string& path, const std::string& key) const {
    if (!annotate_) return "";
    return path.empty() ? key : StrCat(path, ".", key);
  }
  void Value(const PrintNode& node, size_t indent, std::string line, const std::string& path) {
    switch (node.kind) {
      case PrintNode::Kind::kNote:
        return;
      case PrintNode::Kind::kScalar:
        return Line(StrCat(line, " ", node.text), path, node);
      case PrintNode::Kind::kBlock:
        return Block(node, indent, line, path);
      case PrintNode::Kind::kMap:
        if (node.members.empty()) return Line(line + " {}", path, node);
        out_ += line + "\n";
        return Map(node, indent + 2, path, false);
      case PrintNode::Kind::kList:
        if (node.items.empty()) return Line(line + " []", path, node);
        out_ += line + "\n";
        for (size_t i = 0; i < node.items.size(); ++i)
          Item(node.items[i], indent + 2, annotate_ ? StrCat(path, "[", i, "]") : path);
    }
  }
  void Item(const PrintNode& item, size_t indent, const std::string& path) {
    std::string dash = std::string(indent, ' ') + "-";
    if (item.kind == PrintNode::Kind::kMap && !item.members.empty()) {
      out_ += dash + " ";
      return Map(item, indent + 2, path, true);
    }
    Value(item, indent, dash, path);
  }
  void Block(const PrintNode& node, size_t indent, const std::string& line, const std::string& path) {
    Line(StrCat(line, node.text.ends_with('\n') ? " |" : " |-"), path, node);
    std::string_view rest = node.text;
    if (rest.ends_with('\n')) rest.remove_suffix(1);
    for (std::string_view row : Split(rest, '\n')) {
      if (!row.empty()) out_ += std::string(indent + 2, ' ');
      out_ += StrCat(row, "\n");
    }
  }
  void Line(std::string line, const std::string& path, const PrintNode& node) {
    if (!annotate_) {
      out_ += line;
      out_ += '\n';
      return;
    }
    std::string note = annotate_(path, node);
    size_t begin = out_.rfind('\n');
    size_t width = line.size() + (begin == std::string::npos ? out_.size() : out_.size() - begin - 1);
    if (!note.empty()) line += std::string(width < kNoteColumn ? kNoteColumn - width : 1, ' ') + " # " + note;
    out_ += line + "\n";
  }

  const Annotate& annotate_;
  std::string out_;
};

void CollectLeaves(const PrintNode& node, const std::string& path, std::vector<Leaf>* out) {
  switch (node.kind) {
    case PrintNode::Kind::kNote:
      return;
    case PrintNode::Kind::kScalar:
    case PrintNode::Kind::kBlock:
      out->push_back({path, node.text, node.is_default});
      return;
    case PrintNode::Kind::kList:
      for (size_t i = 0; i < node.items.size(); ++i)
        CollectLeaves(node.items[i], StrCat(path, "[", i, "]"), out);
      return;
    case PrintNode::Kind::kMap:
      for (const auto& [key, value] : node.members)
        CollectLeaves(value, path.empty() ? key : StrCat(path, ".", key), out);
  }
}

// "preconditions[1]" as its name and index.
std::pair<std::string, std::optional<size_t>> ParsePart(std::string_view part) {
  size_t bracket = part.find('[');
  if (bracket == std::string_view::npos) return {std::string(part), std::nullopt};
  std::optional<int64_t> index = ParseInteger(part.substr(bracket + 1, part.size() - bracket - 2));
  return {std::string(part.substr(0, bracket)),
          index ? std::optional<size_t>(static_cast<size_t>(*index)) : std::nullopt};
}

}  // namespace

PrintNode::PrintNode() = default;
PrintNode::PrintNode(const PrintNode&) = default;
PrintNode::PrintNode(PrintNode&&) noexcept = default;
PrintNode& PrintNode::operator=(const PrintNode&) = default;
PrintNode& PrintNode::operator=(PrintNode&&) noexcept = default;
PrintNode::~PrintNode() = default;

bool PrintNode::empty() const { return items.empty() && members.empty() && text.empty(); }

std::string QuoteYaml(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += c;
    }
  }
  return out + "\"";
}

bool IsPlainYaml(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsPlainCharacter) && text != "-" &&
         text != "." && !text.starts_with("---") && !text.starts_with("...");
}

std::string YamlScalar(std::string_view text) {
  bool plain = IsPlainYaml(text) && !ReadsAsOther(text) && text.front() != '-' && text.front() != '.' &&
               text.front() != '+';
  return plain ? std::string(text) : QuoteYaml(text);
}

std::string FlowList(const std::vector<std::string>& yaml_items) {
  return StrCat("[", Join(yaml_items, ", "), "]");
}

std::string JsonFlow(const Json& json) {
  std::vector<std::string> parts;
  if (json.is_object()) {
    for (const Json::Member& member : json.AsObject())
      parts.push_back(StrCat(QuoteYaml(member.first), ": ", JsonFlow(member.second)));
    return StrCat("{", Join(parts, ", "), "}");
  }
  if (json.is_array()) {
    for (const Json& item : json.AsArray()) parts.push_back(JsonFlow(item));
    return FlowList(parts);
  }
  return json.is_string() ? QuoteYaml(json.AsString()) : json.Dump();
}

PrintNode ScalarNode(std::string yaml, bool is_default) {
  PrintNode node;
  node.kind = PrintNode::Kind::kScalar;
  node.text = std::move(yaml);
  node.is_default = is_default;
  return node;
}

PrintNode TextNode(std::string_view text) {
  if (!FitsBlock(text)) return ScalarNode(YamlScalar(text));
  PrintNode node;
  node.kind = PrintNode::Kind::kBlock;
  node.text = std::string(text);
  return node;
}

PrintNode& MapAt(PrintNode& map, const std::string& key) {
  for (auto& member : map.members) {
    if (member.first == key) return member.second;
  }
  map.members.emplace_back(key, PrintNode());
  return map.members.back().second;
}

void InsertAt(PrintNode& tree, std::string_view path, const std::string& yaml) {
  PrintNode* node = &tree;
  std::vector<std::string_view> parts = Split(path, '.');
  for (size_t i = 0; i < parts.size(); ++i) {
    auto [name, index] = ParsePart(parts[i]);
    bool last = i + 1 == parts.size();
    PrintNode& next = MapAt(*node, name);
    if (index) {
      if (next.kind != PrintNode::Kind::kList) {
        next = PrintNode();
        next.kind = PrintNode::Kind::kList;
      }
      size_t at = std::min(*index, next.items.size());
      if (last || at == next.items.size()) {
        next.items.insert(next.items.begin() + static_cast<std::ptrdiff_t>(at),
                          last ? ScalarNode(yaml) : PrintNode());
        if (last) return;
      }
      node = &next.items[at];
    } else {
      if (last) {
        if (next.empty()) next = ScalarNode(yaml);
        return;
      }
      node = &next;
    }
  }
}

std::string WriteYaml(const PrintNode& tree, const Annotate& annotate) {
  Writer writer(annotate);
  writer.Map(tree, 0, "", false);
  return writer.Take();
}

std::vector<Leaf> Leaves(const PrintNode& tree) {
  std::vector<Leaf> leaves;
  CollectLeaves(tree, "", &leaves);
  return leaves;
}

}  // namespace duecourse
