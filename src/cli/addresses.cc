#include "cli/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <set>
#include <string>

#include "base/text.h"
#include "net/address_guard.h"

namespace duecourse {
namespace {

// The host where the URL says it whatever its variables are; else empty.
std::string ConstantHost(const Template& url) {
  if (url.pieces().empty()) return "";
  const std::string& start = url.pieces().front().literal;
  const size_t scheme = start.find("://");
  if (scheme == std::string::npos) return "";
  const bool whole = start.find_first_of("/?#", scheme + 3) != std::string::npos;
  return whole || url.constant() ? HostOfUrl(start) : "";
}

bool Refused(const AddressGuard& guard, const std::string& host) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1)
    return !guard.Allows(host, reinterpret_cast<const sockaddr*>(&v4));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1)
    return !guard.Allows(host, reinterpret_cast<const sockaddr*>(&v6));
  return false;
}

class Urls {
 public:
  Urls(const RuleSet& set, const AddressGuard& guard) : set_(set), guard_(guard) {}

  void OfTask(const Task& task) {
    const RuleBody& rule = task.rule();
    if (rule.execution.kind == ExecutionRule::Kind::kHttp)
      Look(task, rule.execution.http.url, "execution.http.url", "every run would fail as business_error");
    for (size_t i = 0; i < rule.trigger.preconditions.size(); ++i) {
      const Precondition& condition = rule.trigger.preconditions[i];
      if (condition.type == Precondition::Type::kHttp)
        Look(task, condition.http.url, StrCat("trigger.preconditions[", i, "].url"),
             "it would never be found ready");
    }
  }
  std::vector<Finding> Take() { return std::move(findings_); }

 private:
  void Look(const Task& task, const Template& url, std::string path, const char* so) {
    const std::string host = ConstantHost(url);
    if (!Refused(guard_, host)) return;
    Finding finding;
    finding.severity = Finding::Severity::kWarning;
    finding.id = "address_refused";
    if (task.file < set_.files.size()) finding.file = set_.files[task.file].path;
    finding.line = task.line;
    finding.column = task.line > 0 ? 1 : 0;
    finding.task = task.id;
    finding.path = std::move(path);
    finding.message =
        StrCat(host, " is no public address and not listed under http_allow: it is not called, and ", so);
    finding.fix = set_.config.http_allow.empty()
                      ? StrCat("write http_allow: [loopback, ", host, "] in duecourse.yaml, if it is meant")
                      : StrCat("list it under http_allow in duecourse.yaml, if it is meant");
    findings_.push_back(std::move(finding));
  }

  const RuleSet& set_;
  const AddressGuard& guard_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> RefusedAddresses(const RuleSet& set) {
  const Result<AddressGuard> guard = AddressGuard::Parse(set.config.http_allow);
  if (!guard.ok()) return {};  // Reading says so.
  Urls urls(set, *guard);
  std::set<const RuleBody*> seen;  // one finding for rules that are alike
  for (const Task& task : set.tasks) {
    if (seen.insert(task.body.get()).second) urls.OfTask(task);
  }
  return urls.Take();
}

}  // namespace duecourse
