#include "exec/helper.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace duecourse {
namespace {

struct Asked {
  std::optional<std::vector<gid_t>> groups;
  std::optional<gid_t> gid;
  std::optional<uid_t> uid;
  int program = 0;  // index of PATH in argv
};

int Fail(std::string_view step, int error) {
  const std::string text = StrCat(step, " ", error, "\n");
  [[maybe_unused]] ssize_t n = ::write(kHelperStatusFd, text.data(), text.size());
  return error == ENOENT ? 127 : 126;
}

std::optional<std::vector<gid_t>> ParseGroups(std::string_view text) {
  std::vector<gid_t> groups;
  if (text.empty()) return groups;
  for (std::string_view part : Split(text, ',')) {
    std::optional<int64_t> group = ParseInteger(part);
    if (!group.has_value()) return std::nullopt;
    groups.push_back(static_cast<gid_t>(*group));
  }
  return groups;
}

bool Take(std::string_view name, std::string_view value, Asked& asked) {
  if (name == "--groups") {
    asked.groups = ParseGroups(value);
    return asked.groups.has_value();
  }
  std::optional<int64_t> number = ParseInteger(value);
  if (!number.has_value() || *number < 0) return false;
  if (name == "--gid") {
    asked.gid = static_cast<gid_t>(*number);
  } else if (name == "--uid") {
    asked.uid = static_cast<uid_t>(*number);
  } else {
    return false;
  }
  return true;
}

std::optional<Asked> Parse(int argc, char** argv) {
  Asked asked;
  int at = 2;
  for (; at + 1 < argc && std::string_view(argv[at]) != "--"; at += 2) {
    if (!Take(argv[at], argv[at + 1], asked)) return std::nullopt;
  }
  asked.program = at + 1;
  if (asked.program + 1 >= argc || std::string_view(argv[at]) != "--") return std::nullopt;
  return asked;
}

// The step that failed, with errno set; empty where all is as asked. The user comes last: after it nothing
// else is allowed.
std::string_view Apply(const Asked& asked) {
  if (asked.groups.has_value() && ::setgroups(asked.groups->size(), asked.groups->data()) != 0) {
    return "setgroups";
  }
  if (asked.gid.has_value() && ::setresgid(*asked.gid, *asked.gid, *asked.gid) != 0) return "setgid";
  if (asked.uid.has_value()) {
    // Whoever is told to work as somebody else shall not become more than that: setuid programs and file
    // capabilities give nothing from here on, to it and all it starts.
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs";
    if (::setresuid(*asked.uid, *asked.uid, *asked.uid) != 0) return "setuid";
    // What was given up must not come back.
    if (*asked.uid != 0 && ::setresuid(0, 0, 0) == 0) {
      errno = EPERM;
      return "setuid";
    }
  }
  return "";
}

}  // namespace

int ExecHelperMain(int argc, char** argv) {
  if (::fcntl(kHelperStatusFd, F_SETFD, FD_CLOEXEC) != 0) return 126;  // not started by us
  std::optional<Asked> asked = Parse(argc, argv);
  if (!asked.has_value()) return Fail("arguments", EINVAL);
  std::string_view failed = Apply(*asked);
  if (!failed.empty()) return Fail(failed, errno);
  // We came here as somebody who may enter every folder.
  if (::faccessat(AT_FDCWD, ".", X_OK, AT_EACCESS) != 0) return Fail("chdir", errno);
  ::execv(argv[asked->program], argv + asked->program + 1);
  return Fail("exec", errno);
}

}  // namespace duecourse
