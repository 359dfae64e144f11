#include "exec/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/text.h"
#include "exec/helper.h"

namespace duecourse {
namespace {

// The helper runs a dozen system calls; what takes longer than this hangs in the kernel.
constexpr int kHelperWaitMs = 10'000;

struct Pipe {
  Fd read;
  Fd write;
};

int OpenPipe(Pipe& pipe) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno;
  pipe.read = Fd(ends[0]);
  pipe.write = Fd(ends[1]);
  return 0;
}

// As posix_spawn wants them, which changes nothing of what they point to (POSIX, its rationale).
std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Owns what posix_spawn wants initialised and destroyed.
class Actions {
 public:
  Actions() {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~Actions() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;

  // 0, or the errno of the first that failed (out of memory, or a descriptor out of range).
  int Prepare(const SpawnPlan& plan, int out, int err, int status) {
    // From here on the child's own descriptors: in the order in which they are put in place.
    int error = ::posix_spawn_file_actions_addfchdir_np(&files_, plan.cwd);
    if (error == 0) error = ::posix_spawn_file_actions_addopen(&files_, 0, "/dev/null", O_RDONLY, 0);
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&files_, out, 1);
    if (error == 0) error = ::posix_spawn_file_actions_adddup2(&files_, err, 2);
    int first_closed = 3;
    if (status >= 0) {
      if (error == 0) error = ::posix_spawn_file_actions_adddup2(&files_, status, kHelperStatusFd);
      first_closed = kHelperStatusFd + 1;
    }
    if (error == 0) error = ::posix_spawn_file_actions_addclosefrom_np(&files_, first_closed);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    if (error == 0) error = ::posix_spawnattr_setsigmask(&attributes_, &none);
    if (error == 0) error = ::posix_spawnattr_setsigdefault(&attributes_, &all);
    constexpr int kFlags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (error == 0) error = ::posix_spawnattr_setflags(&attributes_, static_cast<short>(kFlags));
    return error;
  }
  int Run(pid_t* pid, const std::string& program, const std::vector<std::string>& argv,
          const std::vector<std::string>& environment) {
    std::vector<char*> arguments = Pointers(argv);
    std::vector<char*> variables = Pointers(environment);
    return ::posix_spawn(pid, program.c_str(), &files_, &attributes_, arguments.data(), variables.data());
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

bool NeedsHelper(const SpawnPlan& plan) { return plan.umask_bits.has_value() || plan.account.has_value(); }

std::vector<std::string> HelperArguments(const SpawnPlan& plan) {
  std::vector<std::string> argv = {plan.helper_program, kHelperVerb};
  if (plan.umask_bits.has_value()) {
    argv.insert(argv.end(), {"--umask", std::to_string(*plan.umask_bits)});
  }
  if (plan.soft_files.has_value()) argv.insert(argv.end(), {"--files", std::to_string(*plan.soft_files)});
  if (plan.account.has_value()) {
    std::vector<std::string> groups;
    for (gid_t group : plan.account->groups) groups.push_back(std::to_string(group));
    argv.insert(argv.end(), {"--groups", Join(groups, ","), "--gid", std::to_string(plan.account->gid),
                             "--uid", std::to_string(plan.account->uid)});
  }
  argv.insert(argv.end(), {"--", plan.program});
  argv.insert(argv.end(), plan.argv.begin(), plan.argv.end());
  return argv;
}

void Reap(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0 && errno == EINTR) {
  }
}

// What the helper says before its exec, "STEP ERRNO"; empty once the exec has closed its end.
std::string HelperStatus(int fd) {
  std::string text;
  std::array<char, 256> buffer{};
  pollfd wait = {fd, POLLIN, 0};
  while (text.size() < buffer.size()) {
    int ready = ::poll(&wait, 1, kHelperWaitMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return StrCat("answer ", ETIMEDOUT);
    ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(n));
  }
  return text;
}

std::optional<SpawnFault> AwaitHelper(pid_t pid, Pipe& status) {
  status.write.Reset();
  std::string text = HelperStatus(status.read.get());
  if (text.empty()) return std::nullopt;
  ::kill(-pid, SIGKILL);
  Reap(pid);
  std::vector<std::string_view> words = Split(Trim(text), ' ');
  std::optional<int64_t> error = ParseInteger(words.back());
  return SpawnFault{static_cast<int>(error.value_or(EINVAL)), std::string(words.front())};
}

}  // namespace

bool SpawnFault::exhausted() const {
  return error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM || error == ETIMEDOUT;
}

std::variant<Spawned, SpawnFault> Spawn(const SpawnPlan& plan) {
  CHECK(!plan.argv.empty());
  const bool helped = NeedsHelper(plan);
  Pipe out, err, status;
  int error = OpenPipe(out);
  if (error == 0) error = OpenPipe(err);
  if (error == 0 && helped) error = OpenPipe(status);
  if (error != 0) return SpawnFault{error, "pipe"};
  Actions actions;
  error = actions.Prepare(plan, out.write.get(), err.write.get(), status.write.get());
  if (error != 0) return SpawnFault{error, "prepare"};

  std::vector<std::string> helper;
  if (helped) helper = HelperArguments(plan);
  Spawned spawned;
  spawned.birth.earliest = TicksNow();
  error = actions.Run(&spawned.pid, helped ? plan.helper_program : plan.program, helped ? helper : plan.argv,
                      plan.environment);
  spawned.birth.latest = TicksNow();
  if (error != 0) return SpawnFault{error, helped ? "helper" : "exec"};
  if (helped) {
    std::optional<SpawnFault> fault = AwaitHelper(spawned.pid, status);
    if (fault.has_value()) return *fault;
  } else if (plan.soft_files.has_value()) {
    rlimit limit{};
    if (::prlimit(spawned.pid, RLIMIT_NOFILE, nullptr, &limit) == 0 && limit.rlim_cur > *plan.soft_files) {
      limit.rlim_cur = *plan.soft_files;
      ::prlimit(spawned.pid, RLIMIT_NOFILE, &limit, nullptr);
    }
  }
  // The child is ours and not reaped, so its id still means it.
  spawned.pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, spawned.pid, 0)));
  if (!spawned.pidfd.valid()) {
    const int open_error = errno;
    ::kill(-spawned.pid, SIGKILL);
    Reap(spawned.pid);
    return SpawnFault{open_error, "pidfd"};
  }
  ::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err.read.get(), F_SETFL, O_NONBLOCK);
  spawned.out = std::move(out.read);
  spawned.err = std::move(err.read);
  return spawned;
}

}  // namespace duecourse
