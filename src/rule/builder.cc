#include "rule/builder.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "rule/print.h"

namespace duecourse {
namespace {

void AppendText(const std::string& text, std::string* out) {
  *out += std::to_string(text.size());
  *out += ':';
  *out += text;
}

// Everything that reading a rule looks at, but for its id and its places: equal texts, equal bodies.
void AppendTree(const YamlNode& node, bool outermost, std::string* out) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      *out += '0';
      return;
    case YamlNode::Kind::kScalar:
      *out += node.quoted ? 'q' : 'p';
      AppendText(node.scalar, out);
      return;
    case YamlNode::Kind::kSequence:
      *out += '[';
      for (const YamlNode& item : node.items) AppendTree(item, false, out);
      *out += ']';
      return;
    case YamlNode::Kind::kMap:
      *out += '{';
      for (const auto& member : node.members) {
        if (outermost && member.first.scalar == "task_id") continue;
        AppendText(member.first.scalar, out);
        AppendTree(member.second, false, out);
      }
      *out += '}';
  }
}

Field FindField(const YamlNode& rule, std::string_view path) {
  const YamlNode* node = &rule;
  for (std::string_view part : Split(path, '.')) {
    node = node->Find(part);
    if (node == nullptr) return {};
  }
  return {node, std::string(path)};
}

template <typename List, typename NameOfEntry>
std::string NearestName(const std::string& name, const List& list, NameOfEntry name_of) {
  std::vector<std::string> known;
  for (const auto& entry : list) known.push_back(name_of(entry));
  std::optional<std::string> nearest = Nearest(name, known);
  return nearest ? StrCat("did you mean ", *nearest, "?") : std::string();
}

}  // namespace

void SetBuilder::AddFile(const std::string& path, const std::string& text) {
  files_.push_back({path, ParentFolder(path), Sha256Hex(text)});
  size_t mark = findings_.count();
  Reader reader(path, findings_);
  SplitRules(text, reader, [&](RuleSource source) {
    ++seen_;
    AddRule(std::move(source), reader);
  });
  findings_.SortFrom(mark);
}

// The id of a rule whose tree is normalized, so that a misspelt task_id counts.
std::string SetBuilder::ReadId(const RuleSource& source, Reader& reader) {
  TaskName name = NameOfRule(source);
  if (name.id.empty()) {
    const YamlNode* id = source.rule.Find("task_id");
    if (id == nullptr) {
      reader.Missing(source.rule.place, "task_id", "this rule has no task_id", "write task_id: NAME");
    } else {
      reader.Fault(id->place, "task_id",
                   {"task_id_invalid", "a task id is a text that is not empty", "write task_id: NAME"});
    }
    return "";
  }
  bool two = source.name.kind == YamlNode::Kind::kScalar && source.name.scalar != name.id;
  if (two) {
    reader.Fault(
        name.place, "task_id",
        {"conflict",
         StrCat("this rule stands under the name ", ShowValue(source.name, ""), " and has another task_id"),
         "leave task_id out, or make them equal"});
  }
  std::string fault = TaskIdFault(name.id.substr(0, kTaskIdMax + 1));
  if (name.id.size() > kTaskIdMax)
    fault = StrCat("a task id has at most ", kTaskIdMax, " bytes, this one has ", name.id.size());
  if (!fault.empty()) {
    reader.Fault(name.place, "task_id", {"task_id_invalid", fault, "write one like orders-daily"});
    return "";
  }
  return AddName(name, reader) ? name.id : "";
}

bool SetBuilder::AddName(const TaskName& name, Reader& reader) {
  auto [at, added] = names_.emplace(AsciiLower(name.id), Known{name.id, reader.file(), name.place.line});
  if (added) return true;
  const Known& known = at->second;
  std::string place =
      known.file == reader.file() ? StrCat("line ", known.line) : StrCat(known.file, ":", known.line);
  std::string message = known.id == name.id
                            ? StrCat("there is already a task ", name.id, ", at ", place)
                            : StrCat(name.id, " differs from ", known.id, ", at ", place, ", in case only");
  reader.Fault(name.place, "task_id", {"duplicate_task", message, "give one of them another id"});
  return false;
}

void SetBuilder::AddRule(RuleSource source, Reader& reader) {
  TaskName name = NameOfRule(source);
  reader.set_task(TaskIdFault(name.id.substr(0, kTaskIdMax + 1)).empty() ? name.id : "");
  reader.BeginRule();
  int line = source.name.kind == YamlNode::Kind::kScalar ? source.name.place.line : source.rule.place.line;
  std::shared_ptr<const RuleBody> body = BodyOf(source, reader);
  std::string id = ReadId(source, reader);
  reader.set_task("");
  if (id.empty() || body == nullptr) return;
  Task task;
  task.id = std::move(id);
  task.body = std::move(body);
  task.file = static_cast<uint32_t>(files_.size() - 1);
  task.line = line;
  tasks_.push_back(std::move(task));
}

std::shared_ptr<const RuleBody> SetBuilder::BodyOf(RuleSource& source, Reader& reader) {
  std::string tree;
  AppendTree(source.rule, true, &tree);
  std::string key = Sha256Hex(tree);
  auto known = by_text_.find(key);
  if (known != by_text_.end()) {
    // Relative to this file's folder it may be another one.
    CheckFolder(*known->second, source.rule, reader);
    return known->second;
  }
  size_t faults = reader.faults();
  RuleBody body = ParseRule(source.rule, reader);
  CheckReferences(body, source.rule, reader);
  CheckFolder(body, source.rule, reader);
  if (reader.faults() != faults) return nullptr;
  bool alike_elsewhere = body.unsupported.empty();  // those say where they stand
  std::shared_ptr<const RuleBody> shared = Share(std::move(body));
  if (alike_elsewhere) by_text_.emplace(std::move(key), shared);
  return shared;
}

// One body for all that mean the same, however they are written.
std::shared_ptr<const RuleBody> SetBuilder::Share(RuleBody body) {
  body.hash = HashRule(body);
  std::vector<std::shared_ptr<const RuleBody>>& alike = by_hash_[body.hash];
  if (body.unsupported.empty()) {
    for (const auto& other : alike) {
      if (*other == body) return other;
    }
  }
  // Shared between tasks and sets, and between the threads that read them.
  alike.push_back(std::make_shared<const RuleBody>(std::move(body)));
  return alike.back();
}

void SetBuilder::CheckReferences(const RuleBody& body, const YamlNode& rule, Reader& reader) {
  if (!body.trigger.calendar.empty() && config_.FindCalendar(body.trigger.calendar) == nullptr) {
    std::string nearest =
        NearestName(body.trigger.calendar, config_.calendars, [](const auto& c) { return c.first; });
    Field field = FindField(rule, "trigger.calendar");
    reader.Fault(field, {"unknown_calendar", StrCat("there is no calendar ", body.trigger.calendar),
                         nearest.empty() ? "write it under calendars in duecourse.yaml" : nearest});
  }
  for (const std::string& pool : body.trigger.pools) {
    if (config_.FindPool(pool) != nullptr) continue;
    std::string nearest = NearestName(pool, config_.pools, [](const PoolConfig& p) { return p.name; });
    Field field = FindField(rule, "trigger.pools");
    reader.Fault(field, {"unknown_pool", StrCat("there is no pool ", pool),
                         nearest.empty() ? "write it under pools in duecourse.yaml" : nearest});
  }
  auto is_owner = [&](const auto& owner) { return owner.first == body.owner; };
  if (body.owner.empty() || std::any_of(config_.owners.begin(), config_.owners.end(), is_owner)) return;
  Field field = FindField(rule, "owner");
  std::string nearest = NearestName(body.owner, config_.owners, [](const auto& o) { return o.first; });
  if (!config_.owners.empty()) {
    reader.Fault(field, {"unknown_owner", StrCat("there is no owner ", body.owner),
                         nearest.empty() ? "write it under owners in duecourse.yaml" : nearest});
    return;
  }
  // Without any owners, as when a rule is tried alone, it is a matter for `check`.
  reader.Warn(
      field, {"unknown_owner", StrCat("no settings name the owner ", body.owner, ", so nobody would be told"),
              "write it under owners in duecourse.yaml"});
}

void SetBuilder::CheckFolder(const RuleBody& body, const YamlNode& rule, Reader& reader) {
  if (!on_disk_ || body.execution.cwd.empty()) return;
  std::string folder = JoinPath(files_.back().folder, body.execution.cwd);
  auto [at, added] = folders_.emplace(folder, false);
  if (added) at->second = FolderExists(folder);
  if (at->second) return;
  Field field = FindField(rule, "execution.cwd");
  if (!field) field = FindField(rule, "cwd");
  YamlPlace place = field ? field.node->place : rule.place;
  reader.Fault(place, "execution.cwd",
               {"cwd_missing",
                StrCat("the working directory ", ShowBytes(folder, false),
                       FileExists(folder) ? " is no folder" : " does not exist"),
                "make it, or write another; it counts from the rule file's folder"});
}

std::shared_ptr<const RuleSet> SetBuilder::Take() {
  // Shared with every reader of the set, on any thread.
  auto set = std::make_shared<RuleSet>();
  set->config = config_;
  set->files = std::move(files_);
  set->tasks = std::move(tasks_);
  std::sort(set->tasks.begin(), set->tasks.end(), [](const Task& a, const Task& b) { return a.id < b.id; });
  // What a body leaves unsaid means the defaults of this program.
  std::string meaning = WriteYaml(RuleTree(RuleBody(), true)) + WriteYaml(ConfigTree(config_));
  for (const Task& task : set->tasks) {
    meaning += task.id;
    meaning += '\n';
    meaning += task.rule().hash;
    meaning += '\n';
  }
  set->hash = Sha256Hex(meaning);
  return set;
}

}  // namespace duecourse
