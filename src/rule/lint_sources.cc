#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "rule/lint_parts.h"
#include "rule/wait_graph.h"

namespace duecourse {

static bool IsMark(char c) { return c < ' '; }

std::string UndatedName(const std::string& pattern) {
  constexpr std::string_view kSeparators = "_-.:/";
  std::string name;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == kWholeMark) {
      i = pattern.find(kWholeMark, i + 1);
      continue;
    }
    if (IsMark(pattern[i])) {
      ++i;
      continue;
    }
    const bool separator = kSeparators.find(pattern[i]) != std::string_view::npos;
    if (separator && (name.empty() || kSeparators.find(name.back()) != std::string_view::npos)) continue;
    name += pattern[i];
  }
  while (!name.empty() && kSeparators.find(name.back()) != std::string_view::npos) name.pop_back();
  return name;
}

bool RendersDate(const std::string& pattern) { return std::any_of(pattern.begin(), pattern.end(), IsMark); }

namespace {

constexpr auto kError = Finding::Severity::kError;
constexpr auto kWarning = Finding::Severity::kWarning;
constexpr size_t kToldMax = 20;       // unknown sources told of one group
constexpr size_t kCycleNamesMax = 6;  // of a cycle; the middle is left out

std::string PathOf(size_t condition) { return StrCat("trigger.preconditions[", condition, "]"); }

class Sources {
 public:
  explicit Sources(LintContext* context) : context_(*context), waits_for_(context->set.tasks.size()) {
    const std::vector<Task>& tasks = context_.set.tasks;
    for (size_t i = 0; i < tasks.size(); ++i) index_.emplace(tasks[i].id, i);
    for (size_t i = 0; i < tasks.size(); ++i) AddSetters(i);
    for (const FlagConfig& flag : context_.set.config.flags) AddNamed(flag);
  }

  void Run() {
    for (const LintGroup& group : context_.groups) {
      told_.clear();
      for (size_t i = 0; i < group.rule().trigger.preconditions.size(); ++i) LintCondition(group, i);
    }
    for (const std::vector<size_t>& cycle : FindWaitCycles(waits_for_)) TellCycle(cycle);
  }

 private:
  void AddSetters(size_t task) {
    const Task& setter = context_.set.tasks[task];
    for (const Template& flag : setter.rule().on_success_flags) {
      for (size_t value = 0; value < ValueCount(setter.rule()); ++value) {
        const std::string name = UndatedName(KeyPattern(flag, setter, value));
        std::vector<size_t>& setters = setters_[name];
        if (setters.empty() || setters.back() != task) setters.push_back(task);
        if (flag.constant()) break;
      }
    }
  }

  void AddNamed(const FlagConfig& flag) {
    named_.insert(flag.name);
    const Result<Template> name = Template::Parse(flag.name);
    Task nobody;
    nobody.body = std::make_shared<RuleBody>();
    if (name.ok()) named_.insert(UndatedName(KeyPattern(*name, nobody, 0)));
  }

  void LintCondition(const LintGroup& group, size_t condition_index) {
    const Precondition& condition = group.rule().trigger.preconditions[condition_index];
    if (condition.type != Precondition::Type::kTask && condition.type != Precondition::Type::kFlag) return;
    const bool is_task = condition.type == Precondition::Type::kTask;
    const Template& name = is_task ? condition.task.task : condition.flag.name;
    for (const Task* task : group.tasks) {
      for (size_t value = 0; value < ValueCount(task->rule()); ++value) {
        const std::string pattern = KeyPattern(name, *task, value);
        if (pattern.empty()) break;  // LintTemplates says why.
        if (is_task) {
          LintUpstream(group, *task, condition_index, pattern);
        } else {
          LintFlag(group, *task, condition_index, pattern);
        }
        if (name.constant()) break;
      }
    }
  }

  void LintUpstream(const LintGroup& group, const Task& task, size_t condition_index,
                    const std::string& name) {
    const TaskCondition& condition = group.rule().trigger.preconditions[condition_index].task;
    const auto upstream = index_.find(name == "self" ? task.id : name);
    if (upstream == index_.end()) {
      if (!Tell(name)) return;
      const auto near = Nearest(name, context_.TaskIds());
      context_.AddAt(
          kError, task,
          {"unknown_upstream", PathOf(condition_index),
           StrCat("waits for the task ", ShowBytes(name, false), ", which is not in the rules",
                  group.tasks.size() > 1 ? StrCat(" (", group.tasks.size(), " tasks share this rule)") : ""),
           near ? StrCat("did you mean ", *near, "?")
                : "name a task of the rules, or a flag that someone sets"});
      return;
    }
    const Task& other = context_.set.tasks[upstream->second];
    if (!other.rule().enabled && context_.options.thorough && Tell(name)) {
      context_.AddAt(kWarning, task,
                     {"upstream_disabled", PathOf(condition_index),
                      StrCat("waits for the task ", other.id, ", which is disabled"),
                      StrCat("enable ", other.id, ", or drop the precondition")});
    }
    // Another day's occurrence, or another key, can be there before this one is.
    if (condition.business_date == TaskCondition::Date::kSame && !condition.key)
      AddEdge(task, upstream->second);
  }

  void LintFlag(const LintGroup& group, const Task& task, size_t condition_index,
                const std::string& pattern) {
    const FlagCondition& condition = group.rule().trigger.preconditions[condition_index].flag;
    const std::string name = UndatedName(pattern);
    const bool named = named_.count(name) != 0 || named_.count(condition.name.text()) != 0;
    const auto setters = setters_.find(name);
    if (setters == setters_.end()) {
      if (named || !context_.options.thorough || !Tell(name)) return;
      context_.AddAt(
          kWarning, task,
          {"flag_unsourced", PathOf(condition_index),
           StrCat("waits for the flag ", ShowBytes(name, false), ", and nothing says who sets it"),
           "list it under `flags:` in duecourse.yaml with set_by, or let a task set it (on_success)"});
      return;
    }
    // Set by others as well, by several, or once and for all: then it can be there before this task
    // succeeded.
    const bool dated = condition.dated || RendersDate(pattern);
    if (!named && dated && setters->second.size() == 1) AddEdge(task, setters->second.front());
  }

  void AddEdge(const Task& from, size_t to) {
    waits_for_[static_cast<size_t>(&from - context_.set.tasks.data())].push_back(to);
  }

  bool Tell(const std::string& name) { return told_.size() < kToldMax && told_.insert(name).second; }

  void TellCycle(const std::vector<size_t>& cycle) {
    const std::vector<Task>& tasks = context_.set.tasks;
    std::vector<std::string> names;
    for (size_t i = 0; i < cycle.size(); ++i) {
      if (cycle.size() > kCycleNamesMax && i >= kCycleNamesMax / 2 && i + 2 < cycle.size()) {
        if (i == kCycleNamesMax / 2) names.push_back("…");
        continue;
      }
      names.push_back(tasks[cycle[i]].id);
    }
    names.push_back(tasks[cycle.front()].id);
    const std::string size = cycle.size() > kCycleNamesMax ? StrCat(" (", cycle.size(), " tasks)") : "";
    context_.AddAt(kError, tasks[cycle.front()],
                   {"waits_for_itself", "trigger.preconditions",
                    StrCat("waits for itself: ", Join(names, " → "), size, "; none of them can ever start"),
                    "take one of these preconditions out, or ask for the previous_day"});
  }

  LintContext& context_;
  std::unordered_map<std::string, size_t> index_;                 // task id
  std::unordered_map<std::string, std::vector<size_t>> setters_;  // flag without dates -> tasks that set it
  std::set<std::string> named_;                                   // flags of the settings
  std::set<std::string> told_;                                    // names told of the group at hand
  std::vector<std::vector<size_t>> waits_for_;
};

}  // namespace

void LintSources(LintContext* context) {
  const bool anyone_waits = std::any_of(context->groups.begin(), context->groups.end(),
                                        [](const LintGroup& group) { return group.rule().Waits(); });
  if (anyone_waits) Sources(context).Run();
}

}  // namespace duecourse
