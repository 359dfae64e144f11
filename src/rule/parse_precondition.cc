#include <algorithm>
#include <utility>

#include "base/text.h"
#include "rule/defaults.h"
#include "rule/parse.h"
#include "rule/secret.h"

namespace duecourse {
namespace {

const std::vector<std::string>& CommonKeys() {
  static const std::vector<std::string> keys = {"type", "why", "timeout", "max_age", "on_invalid"};
  return keys;
}

bool IsRemote(std::string_view path) { return path.find("://") != std::string_view::npos; }

}  // namespace

void RuleParts::ParsePreconditions(const Field& list) {
  for (const Field& item : reader_.Items(list)) ParsePrecondition(item);
}

void RuleParts::ParsePrecondition(const Field& item) {
  if (item.node->kind != YamlNode::Kind::kMap) {
    if (item.node->scalar == kHiddenValue) return;  // refused already
    reader_.Fault(item, {"wrong_type", StrCat("expected a condition, got ", KindName(*item.node)),
                         "write {file: {path: …}}, or {flag: NAME}"});
    return;
  }
  MapView map(reader_, item);
  Field type = map.Get("type");
  if (!type) {
    reader_.Missing(item.node->place, item.path, "nothing says what kind of condition this is",
                    "write {file: {path: …}}, {flag: NAME}, {http: {url: …}}, {task: ID} or {command: […]}");
    return;
  }
  if (type.node->scalar == "sql") {
    KeepUnsupported(item, "sql preconditions");
    return;
  }
  Precondition condition;
  if (!reader_.Choose(type, kPreconditionNames, &condition.type)) return;
  reader_.Text(map.Get("why"), &condition.why);
  reader_.Duration(map.Get("timeout"), Millis{100}, Hours(1), &condition.timeout);
  reader_.Duration(map.Get("max_age"), Millis{0}, Days(7), &condition.max_age);
  reader_.Choose(map.Get("on_invalid"), kOnInvalidNames, &condition.on_invalid_manual);
  if (ParseCondition(map, &condition)) body_.trigger.preconditions.push_back(std::move(condition));
}

// Keys that belong to another kind of condition would never be looked at.
bool RuleParts::RefuseStrangers(const MapView& map, const std::vector<std::string>& known, const char* type) {
  bool clean = true;
  for (const auto& member : map.field().node->members) {
    const std::string& key = member.first.scalar;
    auto has = [&](const std::vector<std::string>& keys) {
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    if (has(known) || has(CommonKeys())) continue;
    clean = false;
    reader_.Fault(member.first.place, JoinKey(map.field().path, key),
                  {"unknown_key", StrCat(key, " does not belong to a ", type, " condition"),
                   StrCat("known here: ", Join(known, ", "))});
  }
  return clean;
}

bool RuleParts::ParseCondition(const MapView& map, Precondition* out) {
  const YamlPlace place = map.field().node->place;
  const std::string& path = map.field().path;
  size_t faults = reader_.faults();
  auto need = [&](const char* key) {
    if (!map.Has(key)) reader_.Missing(place, path, StrCat(key, " is missing"), StrCat("write ", key, ": …"));
  };
  switch (out->type) {
    case Precondition::Type::kFlag: {
      RefuseStrangers(map, {"name", "value", "dated"}, "flag");
      need("name");
      reader_.TemplateText(map.Get("name"), &out->flag.name, 200);
      Template value;
      if (reader_.TemplateText(map.Get("value"), &value)) out->flag.value = std::move(value);
      out->flag.dated = !RendersDate(out->flag.name);
      reader_.Boolean(map.Get("dated"), &out->flag.dated);
      break;
    }
    case Precondition::Type::kFile:
      need("path");
      ParseFile(map, &out->file);
      break;
    case Precondition::Type::kHttp:
      RefuseStrangers(map, {"method", "url", "headers", "body", "expect"}, "http");
      need("url");
      ReadHttp(map, &out->http);
      break;
    case Precondition::Type::kTask: {
      RefuseStrangers(map, {"task", "business_date", "key", "state"}, "task");
      need("task");
      reader_.TemplateText(map.Get("task"), &out->task.task, 200);
      reader_.Choose(map.Get("business_date"), kTaskDateNames, &out->task.business_date);
      Template key;
      if (reader_.TemplateText(map.Get("key"), &key)) out->task.key = std::move(key);
      reader_.Choose(map.Get("state"), kTaskStateNames, &out->task.ended);
      break;
    }
    case Precondition::Type::kCommand:
      RefuseStrangers(map, {"command"}, "command");
      need("command");
      out->command.argv = ReadCommand(map.Get("command"));
      break;
  }
  return reader_.faults() == faults;
}

bool RuleParts::ParseFile(const MapView& map, FileCondition* out) {
  RefuseStrangers(map,
                  {"path", "must_exist", "min_rows", "min_bytes", "first_line", "checksum", "signature",
                   "modified_after", "stable_for"},
                  "file");
  Field path = map.Get("path");
  if (reader_.TemplateText(path, &out->path) && IsRemote(out->path.text())) {
    KeepUnsupported(path, StrCat(out->path.text().substr(0, out->path.text().find("://") + 3), " paths"));
  }
  reader_.Boolean(map.Get("must_exist"), &out->must_exist);
  int64_t number = 0;
  if (reader_.Integer(map.Get("min_rows"), 0, int64_t{1} << 40, &number)) out->min_rows = number;
  if (reader_.Bytes(map.Get("min_bytes"), 0, int64_t{1} << 50, &number)) out->min_bytes = number;
  Template text;
  if (reader_.TemplateText(map.Get("first_line"), &text)) out->first_line = text;
  if (reader_.TemplateText(map.Get("checksum"), &text)) out->checksum = text;
  if (Field signature = map.Get("signature")) KeepUnsupported(signature, "signatures of files");
  reader_.Choose(map.Get("modified_after"), kModifiedAfterNames, &out->modified_after);
  return reader_.Duration(map.Get("stable_for"), Millis{0}, Days(1), &out->stable_for);
}

}  // namespace duecourse
