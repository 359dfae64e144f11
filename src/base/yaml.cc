#include "base/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <optional>
#include <streambuf>
#include <unordered_map>

#include "base/text.h"
#include "base/yaml_guard.h"

namespace duecourse {
namespace {

// Thrown through the library to end a reading; the fault is already noted.
struct StopReading {};

// The library wants a stream; this one reads the text where it stands.
class TextBuffer : public std::streambuf {
 public:
  explicit TextBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // a stream buffer's type; a reader never writes
    setg(begin, begin, begin + text.size());
  }
};

// The library counts from 0 and marks "nowhere" by -1.
size_t LineOf(const YAML::Mark& mark) { return static_cast<size_t>(std::max(mark.line, 0)); }
size_t ColumnOf(const YAML::Mark& mark) { return static_cast<size_t>(std::max(mark.column, 0)); }

// Takes the library's events and builds our tree, one frame for each container that is open.
class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, const std::vector<std::string>& list_keys, YamlSink& sink,
          YamlFaults& faults)
      : lines_(text), list_keys_(list_keys), sink_(sink), faults_(faults) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    document_place_ = Place(mark);
    // After something it cannot place, the library goes on as if a document began there, for ever.
    std::string_view line = lines_.Line(LineOf(mark));
    if (documents_ > 0 && !line.starts_with("---")) {
      Stop(document_place_,
           "text follows the end of the document; another document begins with a line \"---\"");
    }
    if (++documents_ > kYamlMaxDocuments)
      Stop(document_place_, StrCat("more than ", kYamlMaxDocuments, " documents"));
    root_ = YamlNode();
    anchors_.clear();
    aliases_ = 0;
    standing_ = 0;
  }
  void OnDocumentEnd() override { sink_.Document(std::move(root_)); }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node = NewNode(YamlNode::Kind::kNull, mark);
    // The mark of a value that is not there is that of whatever comes next.
    if (!stack_.empty() && stack_.back().key && node.place.line != stack_.back().key->place.line) {
      node.place = stack_.back().key->place;
    }
    Finish(std::move(node), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = NewNode(YamlNode::Kind::kScalar, mark);
    node.quoted = tag == "!";
    std::string_view line = lines_.Line(LineOf(mark));
    bool bare_tag = node.quoted && line.substr(std::min(line.size(), ColumnOf(mark))).starts_with('!');
    if (bare_tag || (!tag.empty() && tag != "?" && tag != "!")) RefuseTag(node.place, tag);
    if (value.size() > kYamlMaxScalarBytes) {
      Stop(node.place,
           StrCat("this value has ", value.size(), " bytes; at most ", kYamlMaxScalarBytes, " are allowed"));
    }
    if (node.quoted) {
      CheckEscapes(node.place, value);
      last_quoted_ = lines_.From(LineOf(mark), ColumnOf(mark));
      last_quoted_place_ = node.place;
    }
    node.scalar = value;
    Finish(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlPlace place = Place(mark);
    auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Stop(place, "this alias stands inside the value it names, which has no end");
    if (++aliases_ > kYamlMaxAliases)
      Stop(place, StrCat("more than ", kYamlMaxAliases, " aliases in one document"));
    Spend(place, YamlCost(found->second));
    if (static_cast<int>(stack_.size()) + YamlHeight(found->second) > kYamlMaxDepth + 1) StopTooDeep(place);
    CountStanding(place, YamlCount(found->second));
    YamlNode copy = found->second;
    copy.place = place;
    Finish(std::move(copy), YAML::NullAnchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

  // Only the last quoted value can be one that runs to the end of the text, since it would swallow all
  // others.
  void CheckLastQuote() {
    if (YamlQuoteIsOpen(last_quoted_)) faults_.Add(last_quoted_place_, std::string(kYamlOpenQuote));
  }
  void SyntaxFault(const YAML::Mark& mark, const std::string& raw) {
    auto line = LineOf(mark);
    std::string_view line_before = line > 0 ? lines_.Line(line - 1) : std::string_view();
    faults_.Add(Place(mark), YamlSyntaxMessage(raw, lines_.Line(line), line_before));
  }

 private:
  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    std::optional<YamlNode> key;                      // of the member whose value comes next
    bool streamed = false;                            // a list whose entries go to the sink
    std::unordered_map<std::string, YamlPlace> seen;  // the keys, once there are many or they are not kept
  };
  YamlPlace Place(const YAML::Mark& mark) { return lines_.Place(LineOf(mark), ColumnOf(mark)); }

  static constexpr size_t kFewMembers = 16;

  [[noreturn]] void Stop(YamlPlace place, std::string message) {
    faults_.Add(place, std::move(message));
    throw StopReading{};
  }
  [[noreturn]] void StopTooDeep(YamlPlace place) {
    Stop(place, StrCat("nested deeper than ", kYamlMaxDepth, " levels"));
  }
  void RefuseTag(YamlPlace place, const std::string& tag) {
    faults_.Add(place, StrCat("tags (", ShowBytes(tag.substr(0, 60), false),
                              ") are not allowed; write the plain value"));
  }
  void CheckEscapes(YamlPlace place, std::string_view value) {
    while (!value.empty()) {
      Utf8Character next = NextUtf8(value);
      if (!next.valid || IsYamlForbidden(next.code)) {
        faults_.Add(place, StrCat("this text holds the control character ", CodePoint(next.code),
                                  ", which is not allowed"));
        return;
      }
      value.remove_prefix(next.length);
    }
  }
  void Spend(YamlPlace place, size_t bytes) {
    alias_bytes_ += bytes;
    if (alias_bytes_ > kYamlMaxAliasBytes) {
      Stop(place, StrCat("anchors and aliases stand for more than ", kYamlMaxAliasBytes,
                         " bytes; write less of the text by alias"));
    }
  }
  void CountStanding(YamlPlace place, size_t nodes) {
    standing_ += nodes;
    nodes_ += nodes;
    if (nodes_ > kYamlMaxNodes)
      Stop(place, StrCat("more than ", kYamlMaxNodes, " values in one file; split it"));
    if (standing_ > kYamlMaxStandingNodes) {
      Stop(place, StrCat("more than ", kYamlMaxStandingNodes, " values in one piece; split the file"));
    }
  }
  YamlNode NewNode(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode node;
    node.kind = kind;
    node.place = mark.line < 0 ? document_place_ : Place(mark);
    CountStanding(node.place, 1);
    return node;
  }
  bool IsListKey(const YamlNode& key) const {
    return std::find(list_keys_.begin(), list_keys_.end(), key.scalar) != list_keys_.end();
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    Frame frame;
    frame.node = NewNode(kind, mark);
    frame.anchor = anchor;
    if (!tag.empty() && tag != "?") RefuseTag(frame.node.place, tag);
    if (stack_.size() >= static_cast<size_t>(kYamlMaxDepth)) StopTooDeep(frame.node.place);
    if (stack_.size() == 1 && stack_.back().key && IsListKey(*stack_.back().key)) {
      frame.streamed = true;
      if (anchor != YAML::NullAnchor)
        Stop(frame.node.place, "an anchor may not stand on a whole list of entries");
    }
    stack_.push_back(std::move(frame));
  }
  void Close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    Finish(std::move(frame.node), frame.anchor);
  }

  // A complete node goes into the container it stands in.
  void Finish(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      Spend(node.place, YamlCost(node));
      anchors_[anchor] = node;
    }
    if (stack_.empty()) {
      root_ = std::move(node);
    } else if (stack_.back().node.kind == YamlNode::Kind::kSequence) {
      FinishItem(std::move(node));
    } else if (!stack_.back().key) {
      TakeKey(std::move(node));
    } else {
      FinishMember(std::move(node));
    }
  }
  void FinishItem(YamlNode node) {
    if (stack_.back().streamed) {
      Emit(YamlNode(), std::move(node));
    } else {
      stack_.back().node.items.push_back(std::move(node));
    }
  }
  void TakeKey(YamlNode key) {
    if (key.kind != YamlNode::Kind::kScalar) {
      bool missing = key.kind == YamlNode::Kind::kNull;
      faults_.Add(key.place,
                  missing ? "a key is missing, or null" : "a key must be plain text, not a list or a map");
      key.items.clear();
      key.members.clear();
      key.kind = YamlNode::Kind::kScalar;
    } else if (!key.quoted && key.scalar == "<<") {
      faults_.Add(key.place, "merge keys (<<) are not allowed; write the members out");
    }
    stack_.back().key = std::move(key);
  }
  void FinishMember(YamlNode node) {
    Frame& frame = stack_.back();
    YamlNode key = std::move(*frame.key);
    frame.key.reset();
    std::optional<YamlPlace> former = Remember(frame, key);
    if (former) {
      faults_.Add(key.place,
                  StrCat("the key \"", ShowBytes(key.scalar.substr(0, 100), false), "\" is already at line ",
                         former->line, ", column ", former->column, "; keep one of them"));
    }
    if (frame.streamed) {
      Emit(std::move(key), std::move(node));
    } else if (!former) {
      if (stack_.size() == 1 && IsListKey(key)) EmitAll(key, node);
      frame.node.members.emplace_back(std::move(key), std::move(node));
    }
  }
  // Where the key stood before in this map, if it did.
  std::optional<YamlPlace> Remember(Frame& frame, const YamlNode& key) {
    const auto& members = frame.node.members;
    if (!frame.streamed && members.size() < kFewMembers) {
      for (const auto& member : members) {
        if (member.first.scalar == key.scalar) return member.first.place;
      }
      return std::nullopt;
    }
    if (frame.seen.empty()) {
      for (const auto& member : members) frame.seen.emplace(member.first.scalar, member.first.place);
    }
    auto [at, added] = frame.seen.emplace(key.scalar, key.place);
    if (added) return std::nullopt;
    return at->second;
  }
  void Emit(YamlNode key, YamlNode node) {
    size_t dropped = YamlCount(node) + (key.kind == YamlNode::Kind::kNull ? 0 : 1);
    standing_ -= std::min(standing_, dropped);
    sink_.Item(stack_.front().key ? stack_.front().key->scalar : std::string(), std::move(key),
               std::move(node));
  }
  // The list came as an alias, already complete.
  void EmitAll(const YamlNode& list_key, YamlNode& list) {
    for (YamlNode& item : list.items) sink_.Item(list_key.scalar, YamlNode(), std::move(item));
    for (auto& member : list.members)
      sink_.Item(list_key.scalar, std::move(member.first), std::move(member.second));
    list.items.clear();
    list.members.clear();
  }

  YamlLines lines_;
  const std::vector<std::string>& list_keys_;
  YamlSink& sink_;
  YamlFaults& faults_;
  std::vector<Frame> stack_;
  YamlNode root_;
  YamlPlace document_place_;
  std::string_view last_quoted_;
  YamlPlace last_quoted_place_;
  std::unordered_map<YAML::anchor_t, YamlNode>
      anchors_;      // complete ones only, so an alias inside itself is not found
  int aliases_ = 0;  // in this document
  size_t alias_bytes_ = 0;
  size_t nodes_ = 0;
  size_t standing_ = 0;  // nodes of this document that are still in memory
  int documents_ = 0;
};

class Collector : public YamlSink {
 public:
  explicit Collector(std::vector<YamlNode>& documents) : documents_(documents) {}
  void Document(YamlNode node) override { documents_.push_back(std::move(node)); }
  void Item(const std::string&, YamlNode, YamlNode) override {}

 private:
  std::vector<YamlNode>& documents_;
};

}  // namespace

YamlNode::YamlNode() = default;
YamlNode::YamlNode(const YamlNode&) = default;
YamlNode::YamlNode(YamlNode&&) noexcept = default;
YamlNode& YamlNode::operator=(const YamlNode&) = default;
YamlNode& YamlNode::operator=(YamlNode&&) noexcept = default;
YamlNode::~YamlNode() = default;

const YamlNode* YamlNode::Find(std::string_view key) const {
  for (const auto& member : members) {
    if (member.first.scalar == key) return &member.second;
  }
  return nullptr;
}

std::vector<YamlFault> StreamYaml(std::string_view text, const std::vector<std::string>& list_keys,
                                  YamlSink& sink) {
  YamlFaults faults;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  CheckYamlBytes(text, faults);
  if (!faults.empty()) return faults.Take();
  Builder builder(text, list_keys, sink, faults);
  try {
    TextBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    builder.CheckLastQuote();
  } catch (const StopReading&) {
    // The fault is noted.
  } catch (const YAML::Exception& e) {
    builder.SyntaxFault(e.mark, e.msg);
  }
  return faults.Take();
}

YamlText ParseYaml(std::string_view text) {
  YamlText out;
  Collector collector(out.documents);
  out.faults = StreamYaml(text, {}, collector);
  return out;
}

}  // namespace duecourse
