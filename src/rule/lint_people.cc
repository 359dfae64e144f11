#include <algorithm>

#include "base/text.h"
#include "rule/lint_parts.h"

namespace duecourse {
namespace {

constexpr auto kWarning = Finding::Severity::kWarning;
constexpr auto kHint = Finding::Severity::kHint;

const OwnerConfig* FindOwner(const ServerConfig& config, const std::string& name) {
  for (const auto& owner : config.owners) {
    if (owner.first == name) return &owner.second;
  }
  return nullptr;
}

void LintOwner(LintContext* context, const LintGroup& group) {
  const RuleBody& rule = group.rule();
  // The owner of this name has the rules that name none (the router of alerts says so too).
  const std::string name = rule.owner.empty() ? "default" : rule.owner;
  const OwnerConfig* owner = FindOwner(context->set.config, name);
  if (owner == nullptr && rule.owner.empty()) {
    std::vector<std::string> names;
    for (const auto& one : context->set.config.owners) names.push_back(one.first);
    const std::string fix =
        names.empty()
            ? "name a team under `owners:` in duecourse.yaml, with its channels, and write owner: TEAM"
            : StrCat("write owner: ", Join(names, " or "));
    return context->Add(kWarning, group,
                        {"no_owner", "owner",
                         "no owner: nobody is told of the final failure, or decides what was missed", fix});
  }
  if (owner == nullptr) return;  // Loading says so.
  const bool has_p1 = std::any_of(owner->channels.begin(), owner->channels.end(), [](const auto& level) {
    return level.first == AlertLevel::kP1 && !level.second.empty();
  });
  if (has_p1) return;
  const bool has_any = std::any_of(owner->channels.begin(), owner->channels.end(),
                                   [](const auto& level) { return !level.second.empty(); });
  context->Add(kWarning, group,
               {"no_p1_channel", "owner",
                StrCat("its owner ", name, " has no P1 channel: what must be acted on now ",
                       has_any ? "goes where all else goes, as if it could wait" : "reaches nobody"),
                StrCat("add a channel under owners.", name, ".P1 in duecourse.yaml")});
}

void LintSilenced(LintContext* context, const LintGroup& group) {
  for (const auto& level : group.rule().alerts.levels) {
    if (level.second != AlertLevel::kNone) continue;
    if (level.first == AlertRule::Event::kMissed) {
      context->Add(kWarning, group,
                   {"missed_silenced", "alerts.levels.missed",
                    "missed: none: nobody is told of what was owed and did not run", "write P3 at least"});
    } else if (level.first == AlertRule::Event::kManualRequired) {
      context->Add(
          kWarning, group,
          {"manual_silenced", "alerts.levels.manual_required",
           "manual_required: none: a run waits for a person whom nobody tells", "write P2 at least"});
    }
  }
}

bool HasWhy(const RuleBody& rule, const std::string& block) {
  return std::any_of(rule.whys.begin(), rule.whys.end(), [&block](const auto& why) {
    return !why.second.empty() && (why.first == block || why.first == "trigger." + block);
  });
}

void LintWhy(LintContext* context, const LintGroup& group) {
  const RuleBody& rule = group.rule();
  std::vector<std::string> missing;
  for (size_t i = 0; i < rule.trigger.preconditions.size(); ++i) {
    if (rule.trigger.preconditions[i].why.empty())
      missing.push_back(StrCat("trigger.preconditions[", i, "]"));
  }
  if (rule.retry.catchup && !HasWhy(rule, "retry.catchup") && !HasWhy(rule, "retry"))
    missing.push_back("retry.catchup");
  if (missing.empty()) return;
  context->Add(
      kHint, group,
      {"no_why", missing.front(),
       StrCat("no why for ", Join(missing, ", "), ": whoever is woken by it cannot tell what it is for"),
       "write why: beside each; `why TASK` quotes it"});
}

}  // namespace

void LintPeople(LintContext* context) {
  for (const LintGroup& group : context->groups) {
    LintOwner(context, group);
    LintSilenced(context, group);
    LintWhy(context, group);
  }
}

}  // namespace duecourse
