// For tests of whole programs: starting them, waiting for them and ending them by their own id. Nothing waits
// blindly: every wait is for a condition and has a bound in real time, so a fault shows as a failed
// expectation and not as a hang.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"

namespace duecourse {

// Nothing that works takes this long, on however busy a machine.
inline constexpr int64_t kPatienceMs = 60'000;

// Asks again and again, a few times in each tenth of a second, until it holds; false where it did not in
// time.
bool Eventually(const std::function<bool()>& holds, int64_t bound_ms = kPatienceMs);
// Watches that it never holds for so long: false as soon as it does.
bool NeverFor(int64_t ms, const std::function<bool()>& holds);

// A folder that goes with its owner.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The file's bytes; empty where there is no such file.
std::string Content(const std::string& path);
// Writes at once; the folders above it are made.
void WriteText(const std::string& path, const std::string& text);
void AppendText(const std::string& path, const std::string& text);
// Non-empty lines.
std::vector<std::string> Lines(const std::string& text);
int CountOf(const std::string& text, const std::string& part);

struct ProgramSpec {
  std::vector<std::string> argv;  // argv[0] is looked for in PATH where it has no slash
  std::vector<std::string> env;   // "NAME=value"; the whole environment
  std::string folder = "/";
  std::string in = "/dev/null";  // files for the three streams; those that are written are appended to
  std::string out = "/dev/null";
  std::string err = "/dev/null";
};

// A child process of the test; killed and reaped when it goes.
class Program {
 public:
  Program() = default;
  explicit Program(const ProgramSpec& spec);
  ~Program();
  Program(Program&& other) noexcept { *this = std::move(other); }
  Program& operator=(Program&& other) noexcept;
  pid_t pid() const { return pid_; }
  bool running() const;
  void Signal(int number) const;
  // Waits for its end: the exit code, 128 + the signal that ended it, or -1 where it goes on beyond the
  // bound.
  int Wait(int64_t bound_ms = kPatienceMs);
  // SIGKILL, and reaped.
  void Kill();

 private:
  pid_t pid_ = 0;
  int status_ = -1;
};

struct ProgramResult {
  int code = -1;
  std::string out;
  std::string err;
};
ProgramResult RunProgram(ProgramSpec spec, int64_t bound_ms = kPatienceMs);

// The test's own environment, without what would change how the program behaves.
std::vector<std::string> PlainEnvironment();
// Whether a process of this id is there (and is no zombie).
bool Alive(pid_t pid);
// Processes whose environment holds NAME=value.
std::vector<pid_t> ProcessesWith(const std::string& assignment);

}  // namespace duecourse
