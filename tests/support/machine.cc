#include "machine.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "process.h"

namespace duecourse {

pid_t ThreadNamed(pid_t process, const std::string& name) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(StrCat("/proc/", process, "/task"), error)) {
    if (Trim(Content(entry.path().string() + "/comm")) != name) continue;
    return static_cast<pid_t>(ParseInteger(entry.path().filename().string()).value_or(0));
  }
  return 0;
}

HeldThread::HeldThread(pid_t thread) {
  if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
    why_not_ = StrCat("this machine lets no process hold a thread of another: ", ErrnoText(errno));
    return;
  }
  thread_ = thread;
  int status = 0;
  if (::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0 &&
      ::waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status)) {
    return;
  }
  why_not_ = StrCat("the thread could not be held: ", ErrnoText(errno));
  LetGo();
}

void HeldThread::LetGo() {
  if (thread_ != 0) ::ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
  thread_ = 0;
}

std::vector<std::string> PrivateMounts(const std::string& script) {
  // Who is not root becomes it within, which is enough to mount.
  return {"unshare",
          ::geteuid() == 0 ? "-m" : "-Urm",
          "--propagation",
          "private",
          "sh",
          "-c",
          StrCat("set -e; ", script, "; exec \"$@\""),
          "sh"};
}

std::string WhyNoPrivateMounts() {
  ScratchFolder folder;
  ProgramSpec spec;
  spec.argv = PrivateMounts(StrCat("mount -t tmpfs none '", folder.path(), "'"));
  spec.argv.push_back("true");
  spec.env = PlainEnvironment();
  ProgramResult result = RunProgram(spec);
  return result.code == 0 ? "" : StrCat("this machine gives a process no mounts of its own: ", result.err);
}

}  // namespace duecourse
