#include "rule/lint.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "rule/lint_parts.h"

namespace duecourse {

LintContext::LintContext(const RuleSet& a_set, const LintOptions& a_options)
    : set(a_set), options(a_options) {
  std::unordered_map<const RuleBody*, size_t> index;
  for (const Task& task : set.tasks) {
    const auto [at, is_new] = index.emplace(task.body.get(), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].tasks.push_back(&task);
  }
}

void LintContext::Add(Finding::Severity severity, const LintGroup& group, LintText text) {
  if (const size_t more = group.tasks.size() - 1; more > 0) {
    text.message =
        StrCat(text.message, " (so do ", more, more == 1 ? " more task" : " more tasks", " with this rule)");
  }
  AddAt(severity, group.first(), std::move(text));
}

void LintContext::AddAt(Finding::Severity severity, const Task& task, LintText text) {
  Finding finding;
  finding.severity = severity;
  finding.id = text.id;
  if (task.file < set.files.size()) finding.file = set.files[task.file].path;
  finding.line = task.line;
  finding.column = task.line > 0 ? 1 : 0;
  finding.task = task.id;
  finding.path = std::move(text.path);
  finding.message = std::move(text.message);
  finding.fix = std::move(text.fix);
  findings.push_back(std::move(finding));
}

std::vector<std::string> LintContext::TaskIds() const {
  std::vector<std::string> ids;
  ids.reserve(set.tasks.size());
  for (const Task& task : set.tasks) ids.push_back(task.id);
  return ids;
}

bool HasSchedule(const RuleBody& rule) {
  for (size_t value = 0; value < ValueCount(rule); ++value) {
    const Schedule& schedule = ScheduleOf(rule, value);
    if (const auto* every = std::get_if<EverySchedule>(&schedule.kind)) {
      if (every->every <= Millis{}) return false;
    }
    if (const auto* listed = std::get_if<AtSchedule>(&schedule.kind)) {
      if (listed->at.empty()) return false;
    }
  }
  return true;
}

std::vector<Finding> Lint(const RuleSet& set, const LintOptions& options) {
  LintContext context(set, options);
  LintUnsupported(&context);
  LintTemplates(&context);
  LintKeys(&context);
  LintSharedKeys(&context);
  LintWritten(&context);
  LintSources(&context);
  if (options.thorough) {
    LintUniqueKeys(&context);
    LintUpstreamDays(&context);
    LintSchedules(&context);
    LintClockChanges(&context);
    LintCalendars(&context);
    LintRetries(&context);
    LintPeople(&context);
  }
  // By place, the worst first, so that one task's findings stand together.
  std::stable_sort(context.findings.begin(), context.findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.file, a.line, a.task, a.severity) < std::tie(b.file, b.line, b.task, b.severity);
  });
  return std::move(context.findings);
}

bool HasErrors(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.severity == Finding::Severity::kError; });
}

}  // namespace duecourse
