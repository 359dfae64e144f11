#include "exec/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "exec/clone.h"
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

// As execve wants them; it changes nothing of what they point to.
std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> HelperArguments(const SpawnPlan& plan) {
  std::vector<std::string> groups;
  for (gid_t group : plan.account->groups) groups.push_back(std::to_string(group));
  std::vector<std::string> argv = {plan.helper_program,
                                   kHelperVerb,
                                   "--groups",
                                   Join(groups, ","),
                                   "--gid",
                                   std::to_string(plan.account->gid),
                                   "--uid",
                                   std::to_string(plan.account->uid),
                                   "--",
                                   plan.program};
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
  return error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM || error == ETIMEDOUT ||
         error == ETXTBSY;
}

std::variant<Spawned, SpawnFault> Spawn(const SpawnPlan& plan) {
  CHECK(!plan.argv.empty());
  const bool helped = plan.account.has_value();
  Pipe out, err, status;
  int error = OpenPipe(out);
  if (error == 0) error = OpenPipe(err);
  if (error == 0 && helped) error = OpenPipe(status);
  if (error != 0) return SpawnFault{error, "pipe"};

  const std::vector<std::string> helper = helped ? HelperArguments(plan) : std::vector<std::string>();
  const std::vector<char*> arguments = Pointers(helped ? helper : plan.argv);
  const std::vector<char*> variables = Pointers(plan.environment);
  ExecPlan exec;
  exec.program = (helped ? plan.helper_program : plan.program).c_str();
  exec.argv = arguments.data();
  exec.environment = variables.data();
  exec.cwd = plan.cwd;
  exec.files = {plan.in, out.write.get(), err.write.get(), status.write.get()};
  exec.umask_bits = plan.umask_bits;
  exec.soft_files = plan.soft_files;
  static_assert(kHelperStatusFd == 3);

  Spawned spawned;
  spawned.birth.earliest = TicksNow();
  Born born = CloneAndExec(exec);
  spawned.birth.latest = TicksNow();
  if (born.error != 0) {
    // Arguments and environment are the command's own, so that too much of them is no fault of the helper's.
    const bool helper_itself = helped && std::string_view(born.step) == "exec" && born.error != E2BIG;
    return SpawnFault{born.error, helper_itself ? "helper" : born.step};
  }
  spawned.pid = born.pid;
  spawned.pidfd = std::move(born.pidfd);
  if (helped) {
    std::optional<SpawnFault> fault = AwaitHelper(spawned.pid, status);
    if (fault.has_value()) return *fault;
  }
  ::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(err.read.get(), F_SETFL, O_NONBLOCK);
  spawned.out = std::move(out.read);
  spawned.err = std::move(err.read);
  return spawned;
}

}  // namespace duecourse
