// A command that was started, from its exec to its Ending. It has one owner at a
// time (the thread that launches it, the watch, the thread that finishes it), so
// nothing in it is guarded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "exec/capture.h"
#include "exec/exec.h"

namespace duecourse {

struct ChildStream {
  Fd fd;  // invalid once at its end
  Capture capture;
};

struct Child {
  explicit Child(int64_t output_max) : out{Fd(), Capture(output_max)}, err{Fd(), Capture(output_max)} {}

  AttemptRef ref;
  std::shared_ptr<const RuleBody> rule;  // shared with every request of the rule; never changed
  pid_t pid = 0;                         // also the id of its session and group
  Fd pidfd;
  ChildStream out;
  ChildStream err;
  Millis timeout;
  int64_t deadline_us = 0;  // the end of the time-out, as MonotonicMicros
  Millis started;           // monotonic
  Millis ended;
  std::string marker_note;  // why its process is not in its marker, where that failed
  std::string result_path;
  std::string scratch;  // folder of result_path, where it is the child's own user's
  Fd result_folder;     // opened before the child could touch it

  // Set by the watch.
  bool exited = false;  // the direct child; it stays a zombie until the finish, which keeps its id ours
  bool signalled = false;
  int code = 0;                    // exit code or signal
  std::optional<KillWhy> kill;     // we ended it, and why
  bool kill_sent = false;          // TERM was not enough
  bool closed_after_exit = false;  // somebody still held a stream when it was closed

  // Set by the finish.
  bool reaped = false;
  std::vector<pid_t> others_ended;  // processes of it that outlived the direct child
  std::vector<pid_t> others_kept;
};

}  // namespace duecourse
