// Outputs of attempts on disk, below <data>/output:
//   <xy>/<run>.<attempt>   one line of JSON (sizes, hashes, where bytes are missing), then the bytes kept of
//   standard
//                          output, then those of standard error; xy are the last two characters of the run's
//                          id
//   keep/<yyyy-mm-dd>      "<run> <attempt>" a line: outputs whose time is up on that UTC day
// One file an attempt, because creating files is what costs. An attempt that
// wrote nothing stores nothing. Nothing is synced: the store holds sizes and
// hashes, and an output lost to a power cut is told apart from an empty one by
// them. All calls block; any thread but the engine's.
#pragma once

#include <string>

#include "exec/capture.h"
#include "exec/exec.h"

namespace duecourse {

struct OutputToStore {
  const std::string& data_folder;
  const std::string& run_id;
  int attempt = 0;
  const Capture& out;
  const Capture& err;
  Instant keep_until;
};
Status StoreOutput(const OutputToStore& output);

// {"bytes":…,"kept":…,"dropped":…,"head":…,"sha256":"…"}
Json CaptureFacts(const Capture& capture);

}  // namespace duecourse
