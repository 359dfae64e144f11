#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "base/random.h"
#include "base/shown.h"
#include "base/text.h"

namespace duecourse {
namespace {

constexpr int kMarkBytes = 16;

// Attributes and file actions of one spawn, released together.
class SpawnPlan {
 public:
  SpawnPlan() {
    CHECK(posix_spawnattr_init(&attributes_) == 0);
    CHECK(posix_spawn_file_actions_init(&actions_) == 0);
  }
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // 0 or an errno.
  int Prepare(const std::string& folder, int input, int output) {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setflags(&attributes_,
                                         POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (error == 0) error = posix_spawnattr_setsigmask(&attributes_, &none);
    if (error == 0) error = posix_spawnattr_setsigdefault(&attributes_, &all);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    if (error == 0) error = posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
    return error;
  }
  const posix_spawnattr_t* attributes() const { return &attributes_; }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

std::vector<std::string> Environment(const ChildRequest& request, const std::string& mark) {
  std::vector<std::pair<std::string, std::string>> all = {{"PATH", kChildPath}, {"LANG", "C.UTF-8"}};
  if (const char* home = std::getenv("HOME"); home != nullptr) all.emplace_back("HOME", home);
  for (const auto& [name, value] : request.env) {
    auto same = std::find_if(all.begin(), all.end(), [&n = name](const auto& one) { return one.first == n; });
    if (same != all.end()) {
      same->second = value;
    } else {
      all.emplace_back(name, value);
    }
  }
  all.emplace_back(kChildMark, mark);
  std::vector<std::string> lines;
  for (const auto& [name, value] : all) lines.push_back(StrCat(name, "=", value));
  return lines;
}

// A name with a slash is a path from the working folder; others are looked for in kChildPath. Empty: not
// found.
std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (std::string_view folder : Split(kChildPath, ':')) {
    std::string path = JoinPath(folder, name);
    if (FileExists(path) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Standard input as a file in memory: no pipe that could fill up, break or need a second loop.
Result<Fd> InputFile(const std::string& input) {
  Fd fd(::memfd_create("input", MFD_CLOEXEC));
  if (!fd.valid()) return Error(StrCat("no memory for its input: ", ErrnoText(errno)));
  std::string_view left = input;
  while (!left.empty()) {
    ssize_t n = ::write(fd.get(), left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Error(StrCat("no memory for its input: ", ErrnoText(errno)));
    left.remove_prefix(static_cast<size_t>(n));
  }
  if (::lseek(fd.get(), 0, SEEK_SET) != 0)
    return Error(StrCat("cannot rewind its input: ", ErrnoText(errno)));
  return fd;
}

// By its number: glibc 2.36 declares pidfd_open without C linkage.
int PidfdOpen(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

// "PID.START" of this process: whose its children are.
std::string MakerName() {
  const std::optional<ProcessStat> self = ReadProcessStat(::getpid());
  return StrCat(::getpid(), ".", self ? self->start : 0);
}

// Whether who made the child with this mark is still at work.
bool MakerLives(std::string_view mark) {
  const std::vector<std::string_view> parts = Split(mark, '.');
  if (parts.size() != 3) return false;
  const std::optional<ProcessStat> maker =
      ReadProcessStat(static_cast<pid_t>(ParseInteger(parts[0]).value_or(0)));
  return maker && !maker->dead() && maker->start == ParseInteger(parts[1]);
}

struct Started {
  std::string mark;      // in its environment and that of all it starts
  int64_t earliest = 0;  // start of it, in the ticks of ProcessStat
  pid_t pid = -1;
  Fd process;  // pidfd
  Fd output;   // read end, does not block
};

Result<Started> Spawn(const ChildRequest& request) {
  if (request.argv.empty() || request.argv[0].empty()) return Error("no command is named");
  const std::string program = FindProgram(request.argv[0]);
  if (program.empty()) {
    return Error(
        StrCat("command not found: ", ShowBytes(request.argv[0], false), " (looked in ", kChildPath, ")"));
  }
  Result<Fd> input = InputFile(request.input);
  if (!input.ok()) return input.error();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return Error(StrCat("no pipe for its output: ", ErrnoText(errno)));
  Started started;
  started.mark = StrCat(MakerName(), ".", SecureToken(kMarkBytes));
  started.earliest = TicksNow();
  started.output = Fd(ends[0]);
  Fd write_end(ends[1]);
  // Only our end must not block; the child's end is another open file and stays as programs expect it.
  if (::fcntl(started.output.get(), F_SETFL, O_NONBLOCK) != 0) return Error(ErrnoText(errno));
  SpawnPlan plan;
  const std::string folder = request.folder.empty() ? "/" : request.folder;
  int error = plan.Prepare(folder, input->get(), write_end.get());
  std::vector<std::string> argv = request.argv;
  std::vector<std::string> env = Environment(request, started.mark);
  if (error == 0) {
    error = ::posix_spawn(&started.pid, program.c_str(), plan.actions(), plan.attributes(),
                          Pointers(argv).data(), Pointers(env).data());
  }
  if (error != 0) {
    return Error(StrCat("cannot start ", ShowBytes(program, false), " in ", ShowBytes(folder, false), ": ",
                        ErrnoText(error)));
  }
  started.process = Fd(PidfdOpen(started.pid));
  if (!started.process.valid()) {
    const int reason = errno;
    ::kill(-started.pid, SIGKILL);
    ::waitpid(started.pid, nullptr, 0);
    return Error(StrCat("cannot watch the process: ", ErrnoText(reason)));
  }
  return started;
}

// Takes what is there and keeps the tail. False at the end of the stream.
bool Drain(int fd, size_t keep, std::string& output) {
  std::array<char, 16384> buffer{};
  // Bounded, so that an endless writer cannot keep us from looking at the time.
  for (int round = 0; round < 16; ++round) {
    ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) return false;
    output.append(buffer.data(), static_cast<size_t>(n));
    if (output.size() > 2 * keep) output.erase(0, output.size() - keep);
  }
  return true;
}

enum class Awaited { kEnded, kTimeUp, kCancelled };

// Until the process ends, its time is up, or `cancel_fd` (-1: none) is readable. Output is drained meanwhile.
Awaited AwaitEnd(Started& started, const ChildRequest& request, int64_t deadline_us, int cancel_fd,
                 std::string& output) {
  bool open = true;
  while (true) {
    const int64_t left_us = deadline_us - MonotonicMicros();
    std::array<pollfd, 3> waits = {pollfd{started.process.get(), POLLIN, 0},
                                   pollfd{open ? started.output.get() : -1, POLLIN, 0},
                                   pollfd{cancel_fd, POLLIN, 0}};
    const int64_t wait_ms = std::clamp<int64_t>((left_us + 999) / 1000, 0, 60'000);
    const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(wait_ms));
    if (ready < 0 && errno != EINTR) return Awaited::kTimeUp;
    if (ready > 0 && waits[1].revents != 0) open = Drain(started.output.get(), request.output_max, output);
    if (ready > 0 && waits[0].revents != 0) {
      if (open) Drain(started.output.get(), request.output_max, output);
      return Awaited::kEnded;
    }
    if (ready > 0 && waits[2].revents != 0) return Awaited::kCancelled;
    if (MonotonicMicros() >= deadline_us) return Awaited::kTimeUp;
  }
}

// Ends what it left running: in its session, or away from it with its mark. Before the leader is reaped, so
// that the session's number cannot be anybody else's.
void EndLeftBehind(const Started& started) {
  constexpr int kLooksMax = 3;
  bool unsure = true;
  for (int look = 0; look < kLooksMax && unsure; ++look) {
    unsure = false;
    KillPicked(
        1,
        [&](const ProcessStat& process) {
          // Whoever was there before it cannot descend from it; its own end is awaited elsewhere.
          if (process.pid == started.pid || process.start < started.earliest) return -1;
          if (process.session == started.pid || process.group == started.pid) return 0;
          const std::string environment = ProcessEnvironment(process.pid);
          if (environment.empty()) unsure = true;  // perhaps in the middle of an exec
          return EnvironmentValue(environment, kChildMark) == started.mark ? 0 : -1;
        },
        static_cast<int>(kChildReapPatience.count));
  }
}

ChildEnding EndingOf(const siginfo_t& info) {
  ChildEnding ending;
  ending.kind = info.si_code == CLD_EXITED ? ChildEnding::Kind::kExit : ChildEnding::Kind::kSignal;
  ending.code = info.si_status;
  ending.text = ending.kind == ChildEnding::Kind::kExit ? StrCat("exit ", info.si_status)
                                                        : StrCat("killed by signal ", info.si_status);
  return ending;
}

}  // namespace

size_t EndChildrenOf(const char* variable, const std::string& value) {
  const std::vector<EndedProcesses> found = KillPicked(
      1,
      [&](const ProcessStat& process) {
        const std::string environment = ProcessEnvironment(process.pid);
        const std::string_view mark = EnvironmentValue(environment, kChildMark);
        const bool ours = EnvironmentValue(environment, variable) == value;
        // A copy of a store has its id, too: what a living daemon made is not ours.
        return ours && !mark.empty() && !MakerLives(mark) ? 0 : -1;
      },
      static_cast<int>(kChildReapPatience.count));
  return found[0].ended.size() + found[0].alive.size();
}

ChildEnding RunChild(const ChildRequest& request) {
  const int64_t deadline_us =
      SaturatingAdd(MonotonicMicros(), SaturatingAdd(request.timeout.count, 0) * 1000);
  ChildEnding ending;
  Result<Started> spawned = Spawn(request);
  if (!spawned.ok()) {
    ending.text = spawned.error().message();
    return ending;
  }
  Started& started = *spawned;
  std::string output;
  const Awaited awaited = AwaitEnd(started, request, deadline_us, request.cancel_fd, output);
  const bool in_time = awaited == Awaited::kEnded;
  // The group is killed before its leader is reaped: until then its number cannot belong to anybody else.
  ::kill(-started.pid, SIGKILL);
  const int64_t patience_us = MonotonicMicros() + kChildReapPatience.count * 1000;
  const bool gone = in_time || AwaitEnd(started, request, patience_us, -1, output) == Awaited::kEnded;
  EndLeftBehind(started);
  siginfo_t info{};
  const bool reaped =
      gone && ::waitid(P_PIDFD, static_cast<id_t>(started.process.get()), &info, WEXITED) == 0;
  if (in_time && reaped) {
    ending = EndingOf(info);
  } else if (in_time) {
    ending.text = StrCat("its end could not be read: ", ErrnoText(errno));
  } else if (awaited == Awaited::kCancelled) {
    ending.kind = ChildEnding::Kind::kCancelled;
    ending.text = "ended because the daemon stops";
  } else {
    ending.kind = ChildEnding::Kind::kTimedOut;
    ending.text = StrCat("still running after ", FormatMillis(request.timeout));
  }
  if (!gone) ending.text += StrCat("; process ", started.pid, " does not die, it hangs in the kernel");
  if (output.size() > request.output_max) output.erase(0, output.size() - request.output_max);
  ending.output = std::move(output);
  return ending;
}

std::string LastLine(std::string_view output, size_t longest) {
  output = Trim(output);
  const size_t start = output.find_last_of("\r\n");
  if (start != std::string_view::npos) output.remove_prefix(start + 1);
  return Shown(Trim(output), longest);
}

}  // namespace duecourse
