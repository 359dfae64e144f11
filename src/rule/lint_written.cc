#include "base/text.h"
#include "rule/lint_parts.h"

namespace duecourse {
namespace {

constexpr auto kError = Finding::Severity::kError;
constexpr auto kWarning = Finding::Severity::kWarning;

// Why the defaults of a four-line rule do not do.
std::vector<std::string> Causes(const RuleBody& rule) {
  std::vector<std::string> causes;
  if (rule.Waits()) causes.push_back("waits for preconditions");
  if (rule.retry.immediate_max > 0 || !rule.retry.backoff.empty()) causes.push_back("retries");
  if (rule.retry.catchup) causes.push_back("catches up");
  if (!rule.for_each.empty()) causes.push_back("fans out");
  return causes;
}

// An agent that answers 202 has accepted the work and not done it; nothing asks it again (run/classify.cc).
bool OnlyAccepted(const RuleBody& rule) {
  if (rule.execution.kind != ExecutionRule::Kind::kHttp) return false;
  const std::vector<int>& status = rule.execution.http.expect.status;
  return status.size() == 1 && status.front() == 202;
}

bool HasOtherBusinessDate(const RuleBody& rule) {
  return rule.trigger.business_date.kind != BusinessDateRule::Kind::kSameDay;
}

}  // namespace

void LintWritten(LintContext* context) {
  for (const LintGroup& group : context->groups) {
    const RuleBody& rule = group.rule();
    if (OnlyAccepted(rule)) {
      context->Add(kError, group,
                   {"status_202", "execution.http.expect.status",
                    "202 is never a success (accepted is not done), and no other status is expected: no run "
                    "could ever succeed",
                    "let the agent answer 200 when its work is done, and expect that"});
    }
    std::vector<std::string> causes = Causes(rule);
    Finding::Severity severity = kError;
    if (causes.empty()) {
      if (!HasOtherBusinessDate(rule)) continue;
      causes.push_back("has another business date");
      severity = kWarning;
    }
    if (severity == kWarning && !context->options.thorough) continue;
    const std::string why = StrCat("the rule ", Join(causes, ", "));
    if (!rule.key_written) {
      context->Add(severity, group,
                   {"key_missing", "idempotency.business_key",
                    StrCat(why, ", but does not say which result a run stands for (no business_key)"),
                    "write it, such as business_key: \"{task}:{business_date}\""});
    }
    if (!rule.trigger.window_end_written) {
      context->Add(severity, group,
                   {"window_end_missing", "trigger.window_end",
                    StrCat(why, ", but does not say until when (no window_end)"),
                    "write it, such as window_end: \"05:00\" or window_end: +4h"});
    }
  }
}

}  // namespace duecourse
