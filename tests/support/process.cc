#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "base/clock.h"
#include "base/text.h"

namespace duecourse {
namespace {

constexpr int kAskAgainMs = 20;

}  // namespace

bool Eventually(const std::function<bool()>& holds, int64_t bound_ms) {
  const int64_t until = MonotonicMicros() + bound_ms * 1000;
  while (!holds()) {
    if (MonotonicMicros() >= until) return false;
    ::poll(nullptr, 0, kAskAgainMs);
  }
  return true;
}

bool NeverFor(int64_t ms, const std::function<bool()>& holds) { return !Eventually(holds, ms); }

ScratchFolder::ScratchFolder() {
  std::string pattern = "/tmp/duecourse-real-XXXXXX";
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (::getenv("DUECOURSE_KEEP") == nullptr) std::filesystem::remove_all(path_, ignored);
}

std::string Content(const std::string& path) {
  Result<std::string> text = ReadFile(path, 256u << 20);
  return text.ok() ? *text : "";
}

void WriteText(const std::string& path, const std::string& text) {
  CHECK(MakeFolders(ParentFolder(path), 0755).ok());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

void AppendText(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> out;
  for (std::string_view line : Split(text, '\n')) {
    if (!line.empty()) out.emplace_back(line);
  }
  return out;
}

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

namespace {

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

Program::Program(const ProgramSpec& spec) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  CHECK(posix_spawn_file_actions_init(&actions) == 0);
  CHECK(posix_spawnattr_init(&attributes) == 0);
  const int kAppend = O_WRONLY | O_CREAT | O_APPEND;
  posix_spawn_file_actions_addopen(&actions, 0, spec.in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, spec.out.c_str(), kAppend, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, spec.err.c_str(), kAppend, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, spec.folder.c_str());
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> argv = Pointers(spec.argv);
  std::vector<char*> env = Pointers(spec.env);
  int error = posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), env.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) pid_ = 0;
}

Program::~Program() { Kill(); }

Program& Program::operator=(Program&& other) noexcept {
  if (this == &other) return *this;
  Kill();
  pid_ = std::exchange(other.pid_, 0);
  status_ = other.status_;
  return *this;
}

bool Program::running() const { return pid_ > 0 && Alive(pid_); }

void Program::Signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

int Program::Wait(int64_t bound_ms) {
  if (pid_ <= 0) return status_;
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd wait{process.get(), POLLIN, 0};
  if (!process.valid() || ::poll(&wait, 1, static_cast<int>(bound_ms)) <= 0) return -1;
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) return -1;
  pid_ = 0;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

void Program::Kill() {
  if (pid_ <= 0) return;
  Signal(SIGKILL);
  Wait();
}

ProgramResult RunProgram(ProgramSpec spec, int64_t bound_ms) {
  ScratchFolder folder;
  spec.out = folder / "out";
  spec.err = folder / "err";
  Program program(spec);
  ProgramResult result;
  result.code = program.Wait(bound_ms);
  program.Kill();
  result.out = Content(spec.out);
  result.err = Content(spec.err);
  return result;
}

std::vector<std::string> PlainEnvironment() {
  std::vector<std::string> out = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                  "HOME=/tmp", "LANG=C.UTF-8"};
  for (const char* name : {"TZDIR", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
    const char* value = ::getenv(name);
    if (value != nullptr) out.push_back(StrCat(name, "=", value));
  }
  return out;
}

bool Alive(pid_t pid) {
  std::string stat = Content(StrCat("/proc/", pid, "/stat"));
  size_t end = stat.rfind(')');
  return end != std::string::npos && end + 2 < stat.size() && stat[end + 2] != 'Z';
}

std::vector<pid_t> ProcessesWith(const std::string& assignment) {
  std::vector<pid_t> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::optional<int64_t> pid = ParseInteger(entry.path().filename().string());
    if (!pid) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (std::string_view part : Split(text, '\0')) {
      if (part == assignment && Alive(static_cast<pid_t>(*pid))) out.push_back(static_cast<pid_t>(*pid));
    }
  }
  return out;
}

}  // namespace duecourse
