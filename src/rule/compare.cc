#include <map>
#include <utility>

#include "rule/print.h"
#include "rule/ruleset.h"

namespace duecourse {
namespace {

constexpr const char* kSettings = "duecourse.yaml";

void CompareLeaves(const std::string& task, const PrintNode& before, const PrintNode& after,
                   std::vector<RuleChange>* out) {
  std::map<std::string, std::pair<const Leaf*, const Leaf*>> paths;
  std::vector<Leaf> old_leaves = Leaves(before);
  std::vector<Leaf> new_leaves = Leaves(after);
  for (const Leaf& leaf : old_leaves) paths[leaf.path].first = &leaf;
  for (const Leaf& leaf : new_leaves) paths[leaf.path].second = &leaf;
  for (const auto& [path, pair] : paths) {
    const auto& [old_leaf, new_leaf] = pair;
    if (old_leaf != nullptr && new_leaf != nullptr && old_leaf->text == new_leaf->text) continue;
    // A default that follows from another key moves with it; the key that was written is the change.
    bool old_plain = old_leaf == nullptr || old_leaf->is_default;
    bool new_plain = new_leaf == nullptr || new_leaf->is_default;
    if (old_plain && new_plain) continue;
    RuleChange change;
    change.task = task;
    change.field = path;
    if (old_leaf != nullptr) change.before = old_leaf->text;
    if (new_leaf != nullptr) change.after = new_leaf->text;
    out->push_back(std::move(change));
  }
}

RuleChange Whole(RuleChange::Kind kind, const std::string& task) {
  RuleChange change;
  change.kind = kind;
  change.task = task;
  return change;
}

}  // namespace

std::vector<RuleChange> CompareRules(const RuleSet& before, const RuleSet& after) {
  std::vector<RuleChange> changes;
  CompareLeaves(kSettings, ConfigTree(before.config), ConfigTree(after.config), &changes);
  auto old_task = before.tasks.begin();
  auto new_task = after.tasks.begin();
  while (old_task != before.tasks.end() || new_task != after.tasks.end()) {
    bool removed =
        new_task == after.tasks.end() || (old_task != before.tasks.end() && old_task->id < new_task->id);
    bool added = !removed && (old_task == before.tasks.end() || new_task->id < old_task->id);
    if (removed) {
      changes.push_back(Whole(RuleChange::Kind::kRemoved, (old_task++)->id));
    } else if (added) {
      changes.push_back(Whole(RuleChange::Kind::kAdded, (new_task++)->id));
    } else {
      if (old_task->body != new_task->body && old_task->rule().hash != new_task->rule().hash) {
        CompareLeaves(old_task->id, RuleTree(old_task->rule(), true), RuleTree(new_task->rule(), true),
                      &changes);
      }
      ++old_task;
      ++new_task;
    }
  }
  return changes;
}

}  // namespace duecourse
