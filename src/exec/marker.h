// The start marker of an attempt: attempts/<run>.<fence> below the data folder.
// It is written, naming the boot, before anything of the attempt can run, and
// gets the process's id and start time once there is one. It is not synced: it
// is believed only within the boot it names, and within a boot the page cache
// does not forget. So, in the same boot: no marker = certainly never started.
//
// Text, one fact a line: "boot ID", "process PID START", "scratch FOLDER".
// A line that was cut off counts as absent. All calls block; not for the
// engine's thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/file.h"
#include "exec/exec.h"

namespace duecourse {

// "r0123.7": names the attempt in file names and tables.
std::string AttemptName(const AttemptRef& ref);
std::string MarkerPath(const std::string& data_folder, const AttemptRef& ref);
// DUECOURSE_RESULT of an attempt that runs as the daemon's own user.
std::string ResultPath(const std::string& data_folder, const AttemptRef& ref);

class Marker {
 public:
  // Replaces a former one of the same name. Fails where it cannot be written; then nothing may be started.
  static Result<Marker> Write(const std::string& data_folder, const AttemptRef& ref,
                              const std::string& boot_id);
  Status AddProcess(pid_t pid, int64_t start);
  Status AddScratch(const std::string& folder);  // a folder to be removed with the attempt

 private:
  explicit Marker(Fd fd) : fd_(std::move(fd)) {}
  Status AddLine(const std::string& line);
  Fd fd_;
};

struct MarkerFacts {
  bool there = false;
  std::string boot_id;
  pid_t pid = 0;  // 0: none was noted
  int64_t start = 0;
  std::string scratch;
};
// A marker that is not there is a fact, not an error; one that cannot be read is an error.
Result<MarkerFacts> ReadMarker(const std::string& data_folder, const AttemptRef& ref);
// Its marker and its result file; fine where there is none.
void RemoveMarker(const std::string& data_folder, const AttemptRef& ref);

}  // namespace duecourse
