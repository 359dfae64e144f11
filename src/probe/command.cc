#include "probe/command.h"

#include "base/child.h"
#include "base/text.h"

namespace duecourse {

Observation CheckCommand(const CommandCheck& check, int cancel_fd) {
  using Answer = PreconditionFact::Answer;
  using Kind = ChildEnding::Kind;
  ChildRequest request;
  request.argv = check.argv;
  request.folder = check.folder;
  request.output_max = kProbeMaxBody;
  request.timeout = check.real_timeout;
  request.cancel_fd = cancel_fd;
  if (!check.store_id.empty()) request.env = {{"DUECOURSE_STORE_ID", check.store_id}};
  const ChildEnding ending = RunChild(request);
  const std::string name = check.argv.empty() ? "" : Quote(check.argv[0]);
  const std::string last = LastLine(ending.output, kQuoteMax);
  const std::string said = last.empty() ? "" : StrCat(": ", last);
  switch (ending.kind) {
    case Kind::kExit:
      if (ending.code == 0) return {Answer::kYes, "met", StrCat(name, " says yes", said)};
      if (ending.code == 1) return {Answer::kNo, "exit", StrCat(name, " says no (exit 1)", said)};
      return {Answer::kCheckFailed, "exit", StrCat(name, " failed: ", ending.text, said)};
    case Kind::kSignal:
      return {Answer::kCheckFailed, "killed", StrCat(name, " failed: ", ending.text, said)};
    case Kind::kTimedOut:
      return {Answer::kCheckFailed, "timed_out",
              StrCat("check timed out after ", FormatMillis(check.timeout), ": ", name, " was still running",
                     said)};
    case Kind::kCancelled:
    case Kind::kNotStarted:
      break;
  }
  return {Answer::kCheckFailed, "not_started", Shown(ending.text, 2 * kQuoteMax)};
}

}  // namespace duecourse
