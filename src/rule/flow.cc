// Trees written on one line, and read as JSON.
#include <algorithm>

#include "base/text.h"
#include "rule/parse.h"
#include "rule/print.h"

namespace duecourse {
namespace {

Json ScalarJson(const YamlNode& node) {
  if (node.quoted) return Json(node.scalar);
  if (node.scalar == "true") return Json(true);
  if (node.scalar == "false") return Json(false);
  // Numbers as JSON writes them; anything else is text.
  Result<Json> number = Json::Parse(node.scalar);
  if (number.ok() && number->is_number()) return *std::move(number);
  return Json(node.scalar);
}

}  // namespace

Json ToJson(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return Json();
    case YamlNode::Kind::kScalar:
      return ScalarJson(node);
    case YamlNode::Kind::kSequence: {
      Json list = Json::MakeArray();
      for (const YamlNode& item : node.items) list.Add(ToJson(item));
      return list;
    }
    case YamlNode::Kind::kMap: {
      Json map = Json::MakeObject();
      for (const auto& member : node.members) map.Set(member.first.scalar, ToJson(member.second));
      return map;
    }
  }
  return Json();
}

std::string FlowYaml(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "null";
    case YamlNode::Kind::kScalar:
      return node.quoted || !IsPlainYaml(node.scalar) ? QuoteYaml(node.scalar) : node.scalar;
    case YamlNode::Kind::kSequence: {
      std::vector<std::string> items;
      for (const YamlNode& item : node.items) items.push_back(FlowYaml(item));
      return StrCat("[", Join(items, ", "), "]");
    }
    case YamlNode::Kind::kMap: {
      std::vector<std::string> members;
      for (const auto& member : node.members) {
        members.push_back(StrCat(YamlScalar(member.first.scalar), ": ", FlowYaml(member.second)));
      }
      return StrCat("{", Join(members, ", "), "}");
    }
  }
  return "";
}

}  // namespace duecourse
