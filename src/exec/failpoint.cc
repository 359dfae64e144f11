#include "exec/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace duecourse {

void Failpoint(const char* name) {
  static const std::string wanted = [] {
    const char* value = ::getenv("DC_FAIL");
    return std::string(value == nullptr ? "" : value);
  }();
  if (wanted.empty() || wanted != name) return;
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();  // the signal is on its way; nothing of ours may run meanwhile
}

}  // namespace duecourse
