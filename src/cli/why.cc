// duecourse why: what happened to a task, in sentences.
#include <cstdio>

#include "cli/client.h"
#include "cli/verbs.h"

namespace duecourse {

int WhyVerb(const Args& args) {
  DaemonAnswer answer = Get(args, "/api/v1/why", {{"task", args.At(0)}, {"date", args.At(1)}});
  int code = kExitFine;
  if (!Good(args, answer, &code)) return code;
  std::printf("%s", args.json() ? (answer.body.DumpPretty() + "\n").c_str()
                                : answer.body.Get("text").AsString().c_str());
  return kExitFine;
}

}  // namespace duecourse
