// The daemon under load, measured from outside: a real program, a real store, rules written for the occasion.
//   W1  10,000 noop tasks due in the same second, each claimed and finished durably
//   W3  idle: memory and processor of 10,000 and 100,000 tasks
//   W4  200 tasks, one every 50 ms: lag from the planned instant to the claim
//   W5  2,000 x /bin/true as durable scheduled commands
//   W6  kill -9 and restart: how soon the lost attempt is decided
// Usage: daemon_bench PROGRAM [W1 W3 W4 W5 W6 …]. Prints figures; asserts nothing about time.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "net/http_client.h"
#include "store/store.h"
#include "time/zone.h"

extern char** environ;

namespace duecourse {
namespace {

class Folder {
 public:
  Folder() {
    const char* base = std::getenv("DUECOURSE_BENCH_DIR");
    std::string name = StrCat(base == nullptr ? "/tmp" : base, "/duecourse-bench-XXXXXX");
    CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
    std::filesystem::create_directories(path_ + "/rules");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Waits without busy looping; no file is watched.
void Rest(int milliseconds) { ::poll(nullptr, 0, milliseconds); }

class Server {
 public:
  Server(std::string program, const Folder& folder) : program_(std::move(program)), folder_(folder.path()) {}
  ~Server() { Stop(SIGTERM); }

  void Start(bool init) {
    std::vector<std::string> words = {program_,          "serve",   "--data",
                                      folder_ + "/data", "--rules", folder_ + "/rules",
                                      "--log-level",     "warning"};
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
  void Stop(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  std::string Ask(const std::string& path) {
    HttpClientCall call;
    call.url = "http://daemon" + path;
    call.unix_socket = folder_ + "/data/daemon.sock";
    call.max_response_bytes = 64u << 20;
    return client_.Call(call).body;
  }
  int64_t Metric(const std::string& name) {
    std::string text = Ask("/metrics");
    size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::atoll(text.c_str() + at + name.size() + 2);
  }
  // Of /proc/PID/status: VmRSS is all that is resident, RssAnon the part that is no page of a program or
  // library file.
  double MiBOf(const std::string& name) const {
    Result<std::string> status = ReadFile(StrCat("/proc/", pid_, "/status"), 1u << 16);
    size_t at = status.ok() ? status->find(name + ":") : std::string::npos;
    return at == std::string::npos ? 0 : std::strtod(status->c_str() + at + name.size() + 1, nullptr) / 1024;
  }
  double CpuSeconds() const {
    Result<std::string> stat = ReadFile(StrCat("/proc/", pid_, "/stat"), 1u << 16);
    if (!stat.ok()) return 0;
    std::vector<std::string_view> fields = Split(std::string_view(*stat).substr(stat->rfind(')') + 2), ' ');
    double ticks = std::strtod(std::string(fields[11]).c_str(), nullptr) +
                   std::strtod(std::string(fields[12]).c_str(), nullptr);
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  double start_ms() const { return start_ms_; }
  std::unique_ptr<StoreReader> Reader() const {
    Result<std::unique_ptr<StoreReader>> reader = NewSqliteReader(folder_ + "/data");
    CHECK(reader.ok());
    return std::move(reader).value();
  }

 private:
  std::string program_;
  std::string folder_;
  pid_t pid_ = 0;
  double start_ms_ = 0;
  HttpClient client_;
};

struct Span {
  double p50 = 0, p99 = 0, max = 0;
};
Span SpanOf(std::vector<int64_t> ms) {
  if (ms.empty()) return {};
  std::sort(ms.begin(), ms.end());
  auto at = [&](double share) {
    return static_cast<double>(
        ms[std::min(ms.size() - 1, static_cast<size_t>(share * static_cast<double>(ms.size())))]);
  };
  return {at(0.50), at(0.99), static_cast<double>(ms.back())};
}

// "SS MM HH * * *" of an instant a few seconds from now, in UTC.
Instant WholeSecondIn(int seconds) {
  Instant now = SystemClock().Wall();
  return {(now.ms / 1000 + seconds) * 1000};
}
std::string CronOf(Instant at) {
  int32_t second = Zone::Utc().ToLocal(at).civil.second;
  return StrCat(second % 60, " ", second / 60 % 60, " ", second / 3600, " * * *");
}

void Write(const Folder& folder, const std::string& text) {
  Status written = WriteFileAtomic(folder.path() + "/rules/all.yaml", text, false);
  CHECK(written.ok());
}

std::string NoopRules(int count, const std::string& cron) {
  std::string text = "tasks:\n";
  for (int i = 0; i < count; ++i) {
    text += StrCat("  - {task_id: t", 100000 + i, ", trigger: {cron: \"", cron,
                   "\", timezone: UTC}, execution: {noop: {}}}\n");
  }
  return text;
}

struct Outcomes {
  std::vector<int64_t> lag_ms;
  Instant last_end = kLongAgo;
  size_t success = 0;
  size_t attempts = 0;
};
Outcomes Read(const Server& server, Instant due) {
  Outcomes out;
  std::unique_ptr<StoreReader> reader = server.Reader();
  RunFilter filter;
  filter.limit = kReadMax;
  Result<std::vector<Run>> runs = reader->Runs(filter);
  CHECK(runs.ok());
  for (const Run& run : *runs) {
    if (run.state == RunState::kSuccess) ++out.success;
    out.attempts += static_cast<size_t>(run.attempts);
    if (run.first_start) out.lag_ms.push_back((*run.first_start - (due == kLongAgo ? run.due : due)).count);
    out.last_end = std::max(out.last_end, run.state_since);
  }
  return out;
}

void AwaitStarts(Server& server, int64_t count, int seconds) {
  for (int i = 0; i < seconds * 20; ++i) {
    if (server.Metric("duecourse_attempts_started_total") >= count &&
        server.Metric("duecourse_runs_running") == 0)
      return;
    Rest(50);
  }
}

void W1(const std::string& program) {
  constexpr int kTasks = 10'000;
  Folder folder;
  Instant due = WholeSecondIn(8);
  Write(folder, NoopRules(kTasks, CronOf(due)));
  Server server(program, folder);
  server.Start(true);
  Rest(static_cast<int>((due - SystemClock().Wall()).count));
  AwaitStarts(server, kTasks, 60);
  server.Stop(SIGTERM);
  Outcomes out = Read(server, due);
  Span lag = SpanOf(out.lag_ms);
  double seconds = static_cast<double>((out.last_end - due).count) / 1000;
  std::printf(
      "W1  10,000 due at once, claimed and finished durably: %.2f s, %.0f runs/s; lag p50 %.0f ms, p99 %.0f "
      "ms; success %zu, attempts %zu\n",
      seconds, kTasks / seconds, lag.p50, lag.p99, out.success, out.attempts);
}

void W3(const std::string& program) {
  for (int tasks : {10, 10'000, 100'000}) {
    Folder folder;
    Write(folder, NoopRules(tasks, "0 3 1 1 *"));
    Server server(program, folder);
    server.Start(true);
    for (int i = 0; i < 600 && server.Metric("duecourse_tasks") < tasks; ++i) Rest(50);
    Rest(1500);
    double before = server.CpuSeconds();
    constexpr int kSeconds = 10;
    Rest(kSeconds * 1000);
    double share = (server.CpuSeconds() - before) / kSeconds * 100;
    std::printf(
        "W3  idle, %6d tasks: %.1f MiB resident (%.1f MiB of it its own), %.2f %% of a core, parsed and "
        "started in %.0f ms\n",
        tasks, server.MiBOf("VmRSS"), server.MiBOf("RssAnon"), share, server.start_ms());
  }
}

void W4(const std::string& program) {
  constexpr int kTasks = 200;
  Folder folder;
  Instant first = WholeSecondIn(4);
  std::string text = "tasks:\n";
  for (int i = 0; i < kTasks; ++i) {
    text += StrCat("  - {task_id: t", 1000 + i, ", trigger: {every: 20s, anchor: \"",
                   FormatUtc(first + Millis{i * 50}), "\", timezone: UTC}, execution: {noop: {}}}\n");
  }
  Write(folder, text);
  Server server(program, folder);
  server.Start(true);
  AwaitStarts(server, kTasks, 30);
  server.Stop(SIGTERM);
  Outcomes out = Read(server, kLongAgo);
  Span lag = SpanOf(out.lag_ms);
  std::printf(
      "W4  %zu starts, one every 50 ms: lag p50 %.0f ms, p99 %.0f ms, max %.0f ms (claim's store time after "
      "the planned instant)\n",
      out.lag_ms.size(), lag.p50, lag.p99, lag.max);
}

void W5(const std::string& program) {
  constexpr int kTasks = 2'000;
  Folder folder;
  Instant due = WholeSecondIn(4);
  std::string text = "tasks:\n";
  for (int i = 0; i < kTasks; ++i) {
    text += StrCat("  - {task_id: t", 10000 + i, ", cron: \"", CronOf(due),
                   "\", timezone: UTC, command: [/bin/true]}\n");
  }
  Write(folder, text);
  Server server(program, folder);
  server.Start(true);
  AwaitStarts(server, kTasks, 60);
  server.Stop(SIGTERM);
  Outcomes out = Read(server, due);
  double seconds = static_cast<double>((out.last_end - due).count) / 1000;
  std::printf("W5  2,000 x /bin/true, durable: %.2f s, %.0f a second; success %zu, attempts %zu\n", seconds,
              kTasks / seconds, out.success, out.attempts);
}

void W6(const std::string& program) {
  Folder folder;
  Instant due = WholeSecondIn(3);
  Write(folder,
        StrCat("{task_id: long, trigger: {cron: \"", CronOf(due),
               "\", timezone: UTC, window_end: +10m}, on_lost: rerun, retry: {max_total_attempts: 3}, ",
               "idempotency: {business_key: \"long:{business_date}\"}, execution: {shell: 'test "
               "\"$DUECOURSE_ATTEMPT\" = 1 && exec sleep 100; exit 0'}}\n"));
  Server server(program, folder);
  server.Start(true);
  for (int i = 0; i < 200 && server.Metric("duecourse_runs_running") < 1; ++i) Rest(50);
  Rest(300);
  server.Stop(SIGKILL);
  Instant again = SystemClock().Wall();
  server.Start(false);
  for (int i = 0; i < 200; ++i) {
    if (Read(server, due).success == 1) break;
    Rest(10);
  }
  std::unique_ptr<StoreReader> reader = server.Reader();
  RunFilter filter;
  filter.limit = 1;
  Result<std::vector<Run>> runs = reader->Runs(filter);
  if (!runs.ok() || runs->empty()) {
    std::printf("W6  the run is gone\n");
    return;
  }
  Result<std::vector<Attempt>> attempts = reader->Attempts(runs->front().id);
  CHECK(attempts.ok());
  for (const Attempt& attempt : *attempts) {
    std::printf(
        "W6  attempt %d: %s%s\n", attempt.number, OutcomeName(attempt.outcome),
        attempt.ended_at && attempt.number == 1
            ? StrCat(", decided ", (*attempt.ended_at - again).count, " ms after the restart began").c_str()
            : "");
  }
}

}  // namespace
}  // namespace duecourse

int main(int argc, char** argv) {
  using namespace duecourse;
  if (argc < 2) {
    std::fprintf(stderr, "daemon_bench PROGRAM [W1 W3 W4 W5 W6]\n");
    return 2;
  }
  const std::map<std::string, void (*)(const std::string&)> kAll = {
      {"W1", W1}, {"W3", W3}, {"W4", W4}, {"W5", W5}, {"W6", W6}};
  std::string program = AbsolutePath(argv[1]);
  for (const auto& [name, bench] : kAll) {
    bool asked = argc == 2;
    for (int i = 2; i < argc; ++i) asked = asked || name == argv[i];
    if (asked) bench(program);
    std::fflush(stdout);
  }
  return 0;
}
