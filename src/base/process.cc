#include "base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/text.h"

namespace duecourse {
namespace {

// Linux gives a program at most 2 MiB of arguments and environment together unless its stack limit was
// raised.
constexpr size_t kEnvironmentMax = 2u << 20;

struct CloseFolder {
  void operator()(DIR* handle) const { ::closedir(handle); }
};

// The ids that /proc lists at this moment.
std::vector<pid_t> ProcessIds() {
  std::vector<pid_t> ids;
  std::unique_ptr<DIR, CloseFolder> handle(::opendir("/proc"));
  if (!handle) return ids;
  while (const dirent* entry = ::readdir(handle.get())) {
    std::optional<int64_t> id = ParseInteger(entry->d_name);
    if (id.has_value() && *id > 0) ids.push_back(static_cast<pid_t>(*id));
  }
  return ids;
}

// The whole of a small file in /proc; empty where it cannot be read.
std::string ReadProc(const std::string& path, size_t max_bytes) {
  std::string content;
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return content;
  std::array<char, 16384> buffer{};
  while (content.size() < max_bytes) {
    ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    content.append(buffer.data(), static_cast<size_t>(n));
  }
  return content;
}

}  // namespace

int64_t TicksNow() {
  constexpr int64_t kMicrosPerTick = 10'000;  // USER_HZ is 100 on Linux, whatever the kernel's own is
  return BootMicros() / kMicrosPerTick;
}

std::optional<ProcessStat> ReadProcessStat(pid_t pid) {
  std::string text = ReadProc(StrCat("/proc/", pid, "/stat"), 4096);
  // "4711 (any name) S parent group session …": the name may hold spaces and brackets, so fields count from
  // its last ')'.
  size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  std::vector<std::string_view> fields = Split(std::string_view(text).substr(name_end + 2), ' ');
  constexpr size_t kState = 0, kGroup = 2, kSession = 3, kStart = 19;  // fields 3, 5, 6 and 22 of proc(5)
  if (fields.size() <= kStart || fields[kState].size() != 1) return std::nullopt;
  std::optional<int64_t> group = ParseInteger(fields[kGroup]);
  std::optional<int64_t> session = ParseInteger(fields[kSession]);
  std::optional<int64_t> start = ParseInteger(fields[kStart]);
  if (!group.has_value() || !session.has_value() || !start.has_value()) return std::nullopt;
  ProcessStat stat;
  stat.pid = pid;
  stat.state = fields[kState][0];
  stat.group = static_cast<pid_t>(*group);
  stat.session = static_cast<pid_t>(*session);
  stat.start = *start;
  return stat;
}

std::vector<ProcessStat> ListProcessStats() {
  std::vector<ProcessStat> stats;
  for (pid_t pid : ProcessIds()) {
    std::optional<ProcessStat> stat = ReadProcessStat(pid);
    if (stat.has_value() && !stat->dead()) stats.push_back(*stat);
  }
  return stats;
}

std::string ProcessEnvironment(pid_t pid) {
  return ReadProc(StrCat("/proc/", pid, "/environ"), kEnvironmentMax);
}

std::string_view EnvironmentValue(std::string_view environment, std::string_view name) {
  std::string_view value;
  for (std::string_view entry : Split(environment, '\0')) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      value = entry.substr(name.size() + 1);
    }
  }
  return value;
}

Fd OpenProcess(pid_t pid, int64_t start) {
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.valid()) return Fd();
  // The id may have been used again before it was opened; from here on it cannot change its meaning.
  std::optional<ProcessStat> stat = ReadProcessStat(pid);
  if (!stat.has_value() || stat->start != start) return Fd();
  return fd;
}

bool SignalProcess(const Fd& process, int signal) {
  return ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

std::vector<bool> WaitForEnd(const std::vector<Fd>& processes, int wait_ms) {
  std::vector<bool> ended(processes.size(), false);
  std::vector<pollfd> polls;
  for (const Fd& process : processes) polls.push_back({process.get(), POLLIN, 0});
  const int64_t until = MonotonicMicros() + int64_t{wait_ms} * 1000;
  size_t left = polls.size();
  while (left > 0) {
    const int64_t left_us = std::max<int64_t>(0, until - MonotonicMicros());
    // A pidfd is readable from the moment at which the process has ended, whoever is to reap it.
    const int ready = ::poll(polls.data(), polls.size(), static_cast<int>((left_us + 999) / 1000));
    for (size_t i = 0; i < polls.size() && ready > 0; ++i) {
      if (polls[i].fd < 0 || polls[i].revents == 0) continue;
      ended[i] = true;
      polls[i].fd = -1;  // poll leaves it out from now on
      --left;
    }
    if (left_us == 0) break;
  }
  return ended;
}

namespace {

struct Signalled {
  std::vector<Fd> handles;
  std::vector<std::pair<int, pid_t>> of;       // group and id of each handle
  std::vector<std::pair<int, pid_t>> refused;  // not ours to signal
};

Signalled KillRound(const std::function<int(const ProcessStat&)>& pick) {
  Signalled round;
  for (const ProcessStat& process : ListProcessStats()) {
    const int group = process.pid == ::getpid() ? -1 : pick(process);
    if (group < 0) continue;
    Fd handle = OpenProcess(process.pid, process.start);
    if (!handle.valid()) continue;
    if (SignalProcess(handle, SIGKILL) || errno == ESRCH) {
      round.handles.push_back(std::move(handle));
      round.of.emplace_back(group, process.pid);
    } else {
      round.refused.emplace_back(group, process.pid);
    }
  }
  return round;
}

}  // namespace

std::vector<EndedProcesses> KillPicked(size_t groups, const std::function<int(const ProcessStat&)>& pick,
                                       int wait_ms) {
  std::vector<EndedProcesses> result(groups);
  const int64_t until = MonotonicMicros() + int64_t{wait_ms} * 1000;
  for (int round = 0; round < kKillRounds; ++round) {
    Signalled now = KillRound(pick);
    for (EndedProcesses& group : result) group.alive.clear();
    for (const auto& refused : now.refused)
      result[static_cast<size_t>(refused.first)].alive.push_back(refused.second);
    const int64_t left_ms = std::max<int64_t>(0, (until - MonotonicMicros()) / 1000);
    std::vector<bool> ended = WaitForEnd(now.handles, static_cast<int>(left_ms));
    for (size_t i = 0; i < ended.size(); ++i) {
      EndedProcesses& group = result[static_cast<size_t>(now.of[i].first)];
      (ended[i] ? group.ended : group.alive).push_back(now.of[i].second);
    }
    if (now.handles.empty() || left_ms == 0) break;
  }
  return result;
}

}  // namespace duecourse
