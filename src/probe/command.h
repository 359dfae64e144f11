// Command preconditions: exit 0 is a yes, exit 1 a no, anything else means that
// the check itself failed. Runs in the rule's folder, without a shell, with a
// clean environment. All that it started is killed when it ends or is ended
// (base/child.h).
#pragma once

#include <string>
#include <vector>

#include "probe/look.h"

namespace duecourse {

struct CommandCheck {
  std::vector<std::string> argv;
  std::string folder;
  Millis timeout;       // as the rule says it
  Millis real_timeout;  // as it is waited for
  std::string store_id;  // of the daemon that looks, so that the next one can end what it left; or empty
};

// Blocks. `cancel_fd`: readable once nobody wants the answer any more; -1: none.
Observation CheckCommand(const CommandCheck& check, int cancel_fd);

}  // namespace duecourse
