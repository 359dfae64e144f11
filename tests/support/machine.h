// What a test asks of the machine beyond files and processes: one thread of a program held still while its
// others go on, and a program with mounts of its own. Both need rights that not every machine gives; then
// the reason is told and the test is skipped, which ctest shows as skipped and not as passed.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace duecourse {

// The thread of that name (comm); 0 where the process has none.
pid_t ThreadNamed(pid_t process, const std::string& name);

// Holds one thread still, as a debugger does, from construction to the end of its life. To be used by one
// thread of the test, and before the process is waited for elsewhere.
class HeldThread {
 public:
  explicit HeldThread(pid_t thread);
  ~HeldThread() { LetGo(); }
  HeldThread(const HeldThread&) = delete;
  HeldThread& operator=(const HeldThread&) = delete;
  bool held() const { return thread_ != 0; }
  const std::string& why_not() const { return why_not_; }
  void LetGo();

 private:
  pid_t thread_ = 0;
  std::string why_not_;
};

// Words to put before a command, so that it has mounts of its own, changed by `script` (sh, `set -e`) first.
// The process stays the same one: its id is the command's.
std::vector<std::string> PrivateMounts(const std::string& script);
// Why they cannot be had here; empty where they can.
std::string WhyNoPrivateMounts();

}  // namespace duecourse
