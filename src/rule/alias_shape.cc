#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"
#include "rule/alias.h"
#include "rule/secret.h"

namespace duecourse {
namespace {

YamlNode MakeList(YamlPlace place, const std::vector<std::string>& texts) {
  YamlNode node;
  node.kind = YamlNode::Kind::kSequence;
  node.place = place;
  for (const std::string& text : texts) node.items.push_back(MakeScalar(place, text));
  return node;
}

// What a condition's kind is called, and the key that its short form gives: {file: "a.csv"} is {type: file,
// path: "a.csv"}.
struct ConditionName {
  const char* written;
  const char* type;
  const char* principal;
};
constexpr std::array<ConditionName, 7> kConditionNames = {{{"flag", "flag", "name"},
                                                           {"file", "file", "path"},
                                                           {"data_file_ready", "file", "path"},
                                                           {"http", "http", "url"},
                                                           {"task", "task", "task"},
                                                           {"sql", "sql", "query"},
                                                           {"command", "command", "command"}}};

const ConditionName* FindCondition(std::string_view name) {
  for (const ConditionName& condition : kConditionNames) {
    if (name == condition.written) return &condition;
  }
  return nullptr;
}

// Both spellings of one precondition become {type: …, key: value…}.
class ConditionShape {
 public:
  ConditionShape(Reader& reader, std::string path) : reader_(reader), path_(std::move(path)) {}

  void Apply(YamlNode& item) {
    if (item.kind != YamlNode::Kind::kMap) return;  // told when it is read
    TreeMover tree(item, reader_);
    if (YamlNode* type = tree.Find("type"); type != nullptr) {
      const ConditionName* known = FindCondition(type->scalar);
      if (known == nullptr) return;
      type->scalar = known->type;
      if (std::string_view(known->written) != known->principal) Unfold(tree, *known);
      return;
    }
    std::vector<const ConditionName*> named;
    for (const ConditionName& condition : kConditionNames) {
      if (tree.Find(condition.written) != nullptr) named.push_back(&condition);
    }
    if (named.empty()) return;
    if (named.size() > 1) {
      reader_.Fault(
          item.place, path_,
          {"conflict",
           StrCat("one entry names two conditions, ", named[0]->written, " and ", named[1]->written),
           "write an entry for each"});
      item = MakeScalar(item.place, std::string(kHiddenValue));
      return;
    }
    YamlPlace place = tree.Find(named[0]->written)->place;
    Unfold(tree, *named[0]);
    AddMember(item, place, "type", MakeScalar(place, named[0]->type));
  }

 private:
  void Unfold(TreeMover& tree, const ConditionName& condition) {
    YamlNode key;
    YamlNode value;
    if (!tree.Take(condition.written, &key, &value)) return;
    if (value.kind != YamlNode::Kind::kMap) {
      tree.Put(condition.principal, key, std::move(value), StrCat(path_, ".", condition.written));
      return;
    }
    for (auto& member : value.members) {
      tree.Put(member.first.scalar, member.first, std::move(member.second),
               StrCat(path_, ".", condition.written, ".", member.first.scalar));
    }
  }

  Reader& reader_;
  std::string path_;
};

// A flag's name, or a map that names a flag or a task.
YamlNode DependencyOf(YamlNode item) {
  if (item.kind == YamlNode::Kind::kScalar) {
    YamlNode map = MakeMap(item.place);
    AddMember(map, item.place, "type", MakeScalar(item.place, "flag"));
    AddMember(map, item.place, "name", std::move(item));
    return map;
  }
  if (item.kind != YamlNode::Kind::kMap || item.Find("type") != nullptr || item.Find("flag") != nullptr)
    return item;
  YamlPlace place = item.place;
  AddMember(item, place, "type", MakeScalar(place, item.Find("task") != nullptr ? "task" : "flag"));
  return item;
}

void AsList(YamlNode& node) {
  if (node.kind == YamlNode::Kind::kSequence) return;
  YamlNode list;
  list.kind = YamlNode::Kind::kSequence;
  list.place = node.place;
  list.items.push_back(std::move(node));
  node = std::move(list);
}

}  // namespace

void ShapeRetryWord(YamlNode& rule, Reader& reader) {
  for (auto& member : rule.members) {
    if (member.first.scalar != "retry" || member.second.kind != YamlNode::Kind::kScalar) continue;
    YamlNode word = std::move(member.second);
    member.second = MakeMap(word.place);
    if (word.scalar != "standard") {
      reader.Fault(word.place, "retry",
                   {"bad_choice", StrCat("expected standard or a map, got ", ShowValue(word, "retry")),
                    "write standard, or immediate, backoff and catchup under it"});
      continue;
    }
    YamlNode immediate = MakeMap(word.place);
    AddMember(immediate, word.place, "max_attempts", MakeScalar(word.place, "1"));
    AddMember(immediate, word.place, "interval", MakeScalar(word.place, "5s"));
    YamlNode backoff = MakeMap(word.place);
    AddMember(backoff, word.place, "intervals", MakeList(word.place, {"1m", "2m", "4m"}));
    AddMember(member.second, word.place, "immediate", std::move(immediate));
    AddMember(member.second, word.place, "backoff", std::move(backoff));
  }
}

void ShapeRetry(TreeMover& tree) {
  // Article A's form: so many retries after 1, base, base², … seconds, with 0 to 500 ms of jitter.
  const YamlNode* base = tree.Find("retry.base");
  const YamlNode* count = tree.Find("retry.max_attempts");
  if (base != nullptr || count != nullptr) {
    YamlPlace place = base != nullptr ? base->place : count->place;
    YamlNode key = MakeScalar(place, "base");
    tree.Put("retry.backoff.initial", key, MakeScalar(place, "1s"), "retry.base");
    if (base == nullptr) tree.Put("retry.backoff.factor", key, MakeScalar(place, "2"), "retry.base");
    bool jitter_written =
        tree.Find("retry.jitter") != nullptr || tree.Find("retry.backoff.jitter") != nullptr;
    if (!jitter_written) tree.Put("retry.backoff.jitter", key, MakeScalar(place, "500ms"), "retry.base");
  }
  YamlNode key;
  YamlNode value;
  if (!tree.Take("retry.catchup.max_delay_min", &key, &value)) return;
  if (value.kind != YamlNode::Kind::kScalar || !ParseInteger(value.scalar)) {
    Field field{&value, "retry.catchup.max_delay_min"};
    tree.reader().Fault(
        field, {"bad_number", StrCat("expected whole minutes, got ", ShowValue(value, "max_delay_min")),
                "write a number like 180, or max_delay: 3h"});
    return;
  }
  value.scalar += "m";
  tree.Put("retry.catchup.max_delay", key, std::move(value), "retry.catchup.max_delay_min");
}

void ShapeWindows(TreeMover& tree) {
  YamlNode* window = tree.Find("trigger.window");
  if (window == nullptr) return;
  YamlNode key;
  YamlNode value;
  if (window->kind == YamlNode::Kind::kScalar) {
    tree.Take("trigger.window", &key, &value);
    std::vector<std::string_view> ends = Split(value.scalar, '-');
    if (ends.size() == 2 && value.scalar.find(':') != std::string::npos) {
      std::string start(Trim(ends[0]));
      std::string end(Trim(ends[1]));
      tree.Put("trigger.window_start", key, MakeScalar(value.place, start), "trigger.execution_window");
      tree.Put("trigger.window_end", key, MakeScalar(value.place, end), "trigger.execution_window");
    } else if (ParseMillis(value.scalar).ok()) {
      tree.Put("trigger.window_end", key, MakeScalar(value.place, "+" + value.scalar),
               "trigger.execution_window");
    } else {
      tree.reader().Fault(
          value.place, "trigger.execution_window",
          {"bad_value", StrCat("expected a window, got ", ShowValue(value, "execution_window")),
           "write one like \"09:00-12:00\" or 4h"});
    }
    return;
  }
  tree.Move("trigger.window.start", "trigger.window_start");
  tree.Move("trigger.window.end", "trigger.window_end");
  tree.Move("trigger.window.days", "trigger.days");
  tree.Move("trigger.window.calendar", "trigger.calendar");
  if (!tree.Take("trigger.window.length", &key, &value)) return;
  if (value.kind == YamlNode::Kind::kScalar) value.scalar = "+" + value.scalar;
  tree.Put("trigger.window_end", key, std::move(value), "trigger.window.length");
}

void ShapePreconditions(TreeMover& tree) {
  YamlNode key;
  YamlNode dependencies;
  if (tree.Take("trigger.depends_on", &key, &dependencies)) {
    AsList(dependencies);
    for (YamlNode& item : dependencies.items) item = DependencyOf(std::move(item));
    YamlNode* conditions = tree.Find("trigger.preconditions");
    if (conditions == nullptr) {
      tree.Put("trigger.preconditions", key, std::move(dependencies), "trigger.depends_on");
    } else {
      AsList(*conditions);
      conditions->items.insert(conditions->items.begin(), std::make_move_iterator(dependencies.items.begin()),
                               std::make_move_iterator(dependencies.items.end()));
    }
  }
  YamlNode* conditions = tree.Find("trigger.preconditions");
  if (conditions == nullptr) return;
  AsList(*conditions);
  for (size_t i = 0; i < conditions->items.size(); ++i) {
    ConditionShape(tree.reader(), JoinIndex("trigger.preconditions", i)).Apply(conditions->items[i]);
  }
}

}  // namespace duecourse
