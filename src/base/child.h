// One small child process, waited for by the thread that asks: a probe's
// command, a channel's command. (The work of tasks is started by exec/, which
// holds hundreds at once.)
//
// argv without a shell, own session and process group, a clean environment, no
// descriptor but the three standard ones. Standard input is `input`; both output
// streams come together and are drained from the start, of which the tail is
// kept. When the child ends, or its time is up, all it left behind is killed: its
// group, its session, and what left that and still has kChildMark of its
// environment (base/process.h; it is also looked for when the caller cancels).
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"

namespace duecourse {

// Where commands without a slash in their name are looked for; children get it as PATH.
inline constexpr const char* kChildPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
// The variable by which what a child started is known as its own, wherever it went; its value is of one
// child.
inline constexpr const char* kChildMark = "DUECOURSE_CHILD";
// How long a killed child is waited for before it is left to the kernel (it hangs in a device or a dead file
// system).
inline constexpr Millis kChildReapPatience = Seconds(1);

struct ChildRequest {
  std::vector<std::string> argv;
  std::string folder;  // working folder; empty: "/"
  std::vector<std::pair<std::string, std::string>>
      env;  // beside PATH, LANG=C.UTF-8, our own HOME and kChildMark; wins over the first three
  std::string input;
  size_t output_max = 64u << 10;
  Millis timeout = Seconds(10);  // real time, of everything
  int cancel_fd = -1;            // once it is readable the child is killed; borrowed, -1: none
};

struct ChildEnding {
  enum class Kind { kExit, kSignal, kTimedOut, kCancelled, kNotStarted };
  Kind kind = Kind::kNotStarted;
  int code = 0;        // exit code or signal
  std::string output;  // the last output_max bytes of both streams, as they came
  std::string text;    // "exit 3", "killed by signal 9", "still running after 10s", "command not found: x
                       // (looked in …)"
};

ChildEnding RunChild(const ChildRequest& request);
// Ends what RunChild of a process that is no more left running: all that has kChildMark and `variable` with
// this value in its environment. For a daemon that takes over a store from one that was killed; waits
// kChildReapPatience at most. How many it was.
size_t EndChildrenOf(const char* variable, const std::string& value);
// The last line with anything in it, safe to show and at most `longest` bytes; empty where there is none.
std::string LastLine(std::string_view output, size_t longest);

}  // namespace duecourse
