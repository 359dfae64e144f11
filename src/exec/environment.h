// The environment a command sees. It is made of a fixed base, the rule's `env`
// and the attempt's context, in that order; nothing of the daemon's own
// environment reaches it, so it is the same however the daemon was started.
// docs/reference/execution.md is the table of the base.
//
// May block on the account database and on secret files; not for the engine's thread. Any other thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/exec.h"

namespace duecourse {

inline constexpr const char* kBasePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Who a command runs as.
struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  std::string home;           // "/" where the account database names none
  std::vector<gid_t> groups;  // of FindAccount only
};
Account OwnAccount();  // the daemon's
// By name or by number. Errors: no such account.
Result<Account> FindAccount(const std::string& user);

// Names and values in order, each name once; a later value replaces an earlier one in its place.
class Environment {
 public:
  void Set(std::string_view name, std::string_view value);
  std::optional<std::string_view> Find(std::string_view name) const;  // until the next Set
  const std::vector<std::string>& entries() const { return entries_; }
  std::vector<std::string> Take() && { return std::move(entries_); }

 private:
  std::vector<std::string> entries_;  // "NAME=value"
};

struct EnvironmentPlan {
  const StartRequest& request;
  const Account& account;
  const std::string& store_id;
  const std::string& result_path;
};
// Errors: a secret that cannot be read (its name, never its value), a value with a NUL in it.
Result<Environment> BuildEnvironment(const EnvironmentPlan& plan);

// A context name as a variable ("DUECOURSE_RUN_ID") and as a member of JSON ("run_id"), whichever of the two
// it was given as.
std::string ContextVariable(std::string_view name);
std::string ContextMember(std::string_view name);
// The value of a secret of this request, registered for redaction.
Result<std::string> RequestSecret(const StartRequest& request, const SecretRef& secret);

// Where a program is. A name without '/' is looked for along `path` (as execvp does, so an empty part is the
// working folder), one with '/' is taken from the working folder.
struct ProgramPlace {
  enum class Found { kYes, kNotFound, kNotExecutable };
  Found found = Found::kNotFound;
  std::string path;  // absolute where found, else what was looked at last
};
ProgramPlace FindProgram(const std::string& name, std::string_view path, const std::string& cwd);

}  // namespace duecourse
