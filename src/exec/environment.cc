#include "exec/environment.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/secret.h"
#include "base/text.h"

namespace duecourse {
namespace {

constexpr std::string_view kContextPrefix = "DUECOURSE_";
constexpr size_t kAccountEntryMax = 64u << 10;
constexpr int kGroupsMax = 1024;

// getpwnam_r or getpwuid_r, as `look` says. False where there is no such account; errors: it could not be
// looked up.
template <typename Look>
Result<bool> LookUpAccount(Look look, Account& account) {
  std::vector<char> buffer(kAccountEntryMax);
  passwd entry{};
  passwd* found = nullptr;
  const int error = look(&entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    // getpwnam(3): these say "not found" on one system or another.
    const bool absent = error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
    if (absent) return false;
    return Error(StrCat("the account database: ", ErrnoText(error)), error);
  }
  account.uid = entry.pw_uid;
  account.gid = entry.pw_gid;
  account.name = entry.pw_name;
  account.home = entry.pw_dir;
  if (account.home.empty()) account.home = "/";
  return true;
}

Result<bool> LookUpUid(uid_t uid, Account& account) {
  return LookUpAccount([uid](passwd* entry, char* buffer, size_t size,
                             passwd** found) { return ::getpwuid_r(uid, entry, buffer, size, found); },
                       account);
}

bool IsNamed(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

std::string_view ContextValue(const StartRequest& request, std::string_view member) {
  for (const auto& entry : request.context) {
    if (ContextMember(entry.first) == member) return entry.second;
  }
  return "";
}

void SetBase(const EnvironmentPlan& plan, Environment& environment) {
  const StartRequest& request = plan.request;
  // First, so that whoever looks for an attempt's processes finds them named at the front.
  environment.Set("DUECOURSE_STORE_ID", plan.store_id);
  environment.Set("DUECOURSE_RUN_ID", request.ref.run_id);
  environment.Set("DUECOURSE_FENCE", std::to_string(request.ref.fence));
  environment.Set("PATH", kBasePath);
  environment.Set("HOME", plan.account.home);
  environment.Set("USER", plan.account.name);
  environment.Set("LOGNAME", plan.account.name);
  environment.Set("SHELL", "/bin/sh");
  environment.Set("LANG", "C.UTF-8");
  // The host's zone would shift what `date` says from one machine to the next; the rule's does not.
  std::string_view zone = ContextValue(request, "timezone");
  environment.Set("TZ", zone.empty() ? "UTC" : zone);
}

}  // namespace

Account OwnAccount() {
  Account account;
  Result<bool> found = LookUpUid(::geteuid(), account);
  if (!found.ok() || !*found) {
    account.name = std::to_string(::geteuid());
    account.home = "/";
  }
  account.uid = ::geteuid();
  account.gid = ::getegid();
  return account;
}

Result<Account> FindAccount(const std::string& user) {
  Account account;
  Result<bool> found = LookUpAccount(
      [&user](passwd* entry, char* buffer, size_t size, passwd** result) {
        return ::getpwnam_r(user.c_str(), entry, buffer, size, result);
      },
      account);
  std::optional<int64_t> number = ParseInteger(user);
  if (found.ok() && !*found && number.has_value() && *number >= 0 && *number < UINT32_MAX) {
    found = LookUpUid(static_cast<uid_t>(*number), account);
  }
  if (!found.ok()) return found.error().Wrap(StrCat("user ", user));
  if (!*found) return Error(StrCat("user ", user, " is not known on this machine"));
  account.groups.resize(kGroupsMax);
  int count = kGroupsMax;
  if (::getgrouplist(account.name.c_str(), account.gid, account.groups.data(), &count) < 0) {
    return Error(StrCat("user ", user, " is in more than ", kGroupsMax, " groups"));
  }
  account.groups.resize(static_cast<size_t>(count));
  return account;
}

void Environment::Set(std::string_view name, std::string_view value) {
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [name](std::string_view text) { return IsNamed(text, name); });
  if (entry == entries_.end()) entry = entries_.emplace(entry);
  *entry = StrCat(name, "=", value);
}

std::optional<std::string_view> Environment::Find(std::string_view name) const {
  for (std::string_view entry : entries_) {
    if (IsNamed(entry, name)) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::string ContextVariable(std::string_view name) {
  if (name.starts_with(kContextPrefix)) return std::string(name);
  std::string upper(kContextPrefix);
  for (char c : name) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

std::string ContextMember(std::string_view name) {
  if (name.starts_with(kContextPrefix)) name.remove_prefix(kContextPrefix.size());
  return AsciiLower(name);
}

void StartRequest::BeginsAt(Instant now) {
  for (auto& [name, value] : context) {
    if (ContextMember(name) == "deadline") value = FormatUtc(now + timeout);
  }
}

Result<std::string> RequestSecret(const StartRequest& request, const SecretRef& secret) {
  if (secret.env.empty() && request.folder.empty() && !secret.file.starts_with('/')) {
    return Error(StrCat("secret file ", secret.file,
                        ": the folder of its rule is not known; an absolute path is needed"));
  }
  return ReadSecret(secret.env, secret.file, request.folder);
}

Result<Environment> BuildEnvironment(const EnvironmentPlan& plan) {
  Environment environment;
  SetBase(plan, environment);
  for (const auto& entry : plan.request.env) environment.Set(entry.first, entry.second);
  for (const auto& entry : plan.request.secret_env) {
    Result<std::string> value = RequestSecret(plan.request, entry.second);
    if (!value.ok()) return value.error().Wrap(StrCat("env ", entry.first));
    environment.Set(entry.first, *value);
  }
  // After the rule's own, so that no rule can take another attempt's name.
  for (const auto& entry : plan.request.context) environment.Set(ContextVariable(entry.first), entry.second);
  environment.Set("DUECOURSE_STORE_ID", plan.store_id);
  environment.Set("DUECOURSE_RUN_ID", plan.request.ref.run_id);
  environment.Set("DUECOURSE_FENCE", std::to_string(plan.request.ref.fence));
  environment.Set("DUECOURSE_RESULT", plan.result_path);
  for (const std::string& entry : environment.entries()) {
    if (entry.find('\0') == std::string::npos) continue;
    return Error(StrCat("env ", entry.substr(0, entry.find('=')),
                        ": its value has a NUL byte in it, which no environment variable can hold"));
  }
  return environment;
}

ProgramPlace FindProgram(const std::string& name, std::string_view path, const std::string& cwd) {
  ProgramPlace place;
  place.path = name;
  std::vector<std::string> candidates;
  if (name.find('/') != std::string::npos) {
    candidates.push_back(JoinPath(cwd, name));
  } else if (!name.empty()) {
    for (std::string_view folder : Split(path, ':')) {
      candidates.push_back(JoinPath(JoinPath(cwd, folder), name));
    }
  }
  for (const std::string& candidate : candidates) {
    struct stat info {};
    if (::stat(candidate.c_str(), &info) != 0) continue;
    place.path = candidate;
    if (S_ISREG(info.st_mode) && ::access(candidate.c_str(), X_OK) == 0) {
      place.found = ProgramPlace::Found::kYes;
      return place;
    }
    place.found = ProgramPlace::Found::kNotExecutable;
  }
  return place;
}

}  // namespace duecourse
