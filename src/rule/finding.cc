#include "rule/finding.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace duecourse {

void FindingList::Add(Finding finding) {
  if (full()) {
    ++dropped_;
    return;
  }
  list_.push_back(std::move(finding));
}

void FindingList::SortFrom(size_t mark) {
  if (mark >= list_.size()) return;
  // What is no YAML comes first: other faults may only follow from how it was read on.
  const auto rank = [](const Finding& finding) {
    return std::tuple(finding.id != "yaml_invalid", finding.line, finding.column);
  };
  std::stable_sort(list_.begin() + static_cast<std::ptrdiff_t>(mark), list_.end(),
                   [rank](const Finding& a, const Finding& b) { return rank(a) < rank(b); });
}

std::vector<Finding> FindingList::Take() {
  if (dropped_ > 0) {
    Finding more;
    more.id = "too_many";
    more.message = StrCat(dropped_, " more faults are not shown");
    more.fix = "mend these first";
    list_.push_back(std::move(more));
  }
  return std::move(list_);
}

std::string FormatFinding(const Finding& finding) {
  const char* severity = "error";
  switch (finding.severity) {
    case Finding::Severity::kError: severity = "error"; break;
    case Finding::Severity::kWarning: severity = "warning"; break;
    case Finding::Severity::kHint: severity = "hint"; break;
  }
  std::string out = finding.file;
  if (finding.line > 0) out += StrCat(":", finding.line, ":", finding.column);
  if (!out.empty()) out += ": ";
  out += StrCat(severity, ": ");
  if (!finding.task.empty()) out += StrCat(finding.task, ": ");
  if (!finding.path.empty()) out += StrCat(finding.path, ": ");
  out += finding.message;
  if (!finding.fix.empty()) out += StrCat("; ", finding.fix);
  return ShowBytes(out, false) + StrCat(" [", finding.id, "]");
}

}  // namespace duecourse
