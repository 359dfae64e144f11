#include "daemon_server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "time/zone.h"

extern char** environ;

namespace duecourse {

Folder::Folder() { std::filesystem::create_directories(path() + "/rules"); }

void Folder::WriteRules(const std::string& text) const {
  Status written = WriteFileAtomic(path() + "/rules/all.yaml", text, false);
  CHECK(written.ok());
}

void Rest(int milliseconds) { ::poll(nullptr, 0, milliseconds); }

Server::Server(std::string program, const Folder& folder)
    : program_(std::move(program)), folder_(folder.path()) {}

Server::~Server() { Stop(SIGTERM); }

void Server::Start(bool init) {
  std::vector<std::string> words = {program_,           "serve",       "--data", folder_ + "/data", "--rules",
                                    folder_ + "/rules", "--log-level", "warning"};
  if (init) words.push_back("--init");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, (folder_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0600);
  CHECK(::posix_spawn(&pid_, program_.c_str(), &actions, nullptr, argv.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  int64_t began = MonotonicMicros();
  while (Ask("/healthz").empty()) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      Result<std::string> log = ReadFile(folder_ + "/log", 1u << 20);
      std::fprintf(stderr, "the daemon ended:\n%s\n", log.ok() ? log->c_str() : "");
      std::exit(1);
    }
    Rest(5);
  }
  start_ms_ = static_cast<double>(MonotonicMicros() - began) / 1000;
}

void Server::Stop(int signal) {
  if (pid_ <= 0) return;
  ::kill(pid_, signal);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

std::string Server::Ask(const std::string& path) {
  HttpClientCall call;
  call.url = "http://daemon" + path;
  call.unix_socket = folder_ + "/data/daemon.sock";
  call.max_response_bytes = 64u << 20;
  return client_.Call(call).body;
}

int64_t Server::Metric(const std::string& name) {
  std::string text = Ask("/metrics");
  size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::atoll(text.c_str() + at + name.size() + 2);
}

double Server::MiBOf(const std::string& name) const {
  Result<std::string> status = ReadFile(StrCat("/proc/", pid_, "/status"), 1u << 16);
  size_t at = status.ok() ? status->find(name + ":") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtod(status->c_str() + at + name.size() + 1, nullptr) / 1024;
}

double Server::CpuSeconds() const {
  double seconds = 0;
  for (const auto& thread : std::filesystem::directory_iterator(StrCat("/proc/", pid_, "/task"))) {
    Result<std::string> used = ReadFile(thread.path().string() + "/schedstat", 1u << 10);
    CHECK(used.ok());
    seconds += std::strtod(used->c_str(), nullptr) / 1e9;
  }
  return seconds;
}

std::unique_ptr<StoreReader> Server::Reader() const {
  Result<std::unique_ptr<StoreReader>> reader = NewSqliteReader(folder_ + "/data");
  CHECK(reader.ok());
  return std::move(reader).value();
}

Instant WholeSecondIn(int seconds) {
  Instant now = SystemClock().Wall();
  return {(now.ms / 1000 + seconds) * 1000};
}
std::string CronOf(Instant at) {
  int32_t second = Zone::Utc().ToLocal(at).civil.second;
  return StrCat(second % 60, " ", second / 60 % 60, " ", second / 3600, " * * *");
}

std::string NoopRules(int count, const std::string& cron) {
  std::string text = "tasks:\n";
  for (int i = 0; i < count; ++i) {
    text += StrCat("  - {task_id: t", 100000 + i, ", trigger: {cron: \"", cron,
                   "\", timezone: UTC}, execution: {noop: {}}}\n");
  }
  return text;
}

Outcomes Read(const Server& server, Instant due) {
  Outcomes out;
  std::unique_ptr<StoreReader> reader = server.Reader();
  RunFilter filter;
  filter.limit = kReadMax;
  if (due != kLongAgo) {
    filter.from = due;
    filter.until = due + Millis{1};
  }
  Result<std::vector<Run>> runs = reader->Runs(filter);
  CHECK(runs.ok());
  for (const Run& run : *runs) {
    if (due != kLongAgo && run.due != due) continue;
    if (run.state == RunState::kSuccess) ++out.success;
    out.attempts += static_cast<size_t>(run.attempts);
    if (run.first_start)
      out.lag_ms.push_back(static_cast<double>((*run.first_start - (due == kLongAgo ? run.due : due)).count));
    out.last_end = std::max(out.last_end, run.state_since);
  }
  return out;
}

void AwaitStarts(Server& server, int64_t count, int seconds) {
  for (int i = 0; i < seconds * 4; ++i) {
    if (server.Metric("duecourse_attempts_started_total") >= count &&
        server.Metric("duecourse_runs_running") == 0)
      return;
    Rest(250);  // asking takes its part of the machine, too
  }
}

}  // namespace duecourse
