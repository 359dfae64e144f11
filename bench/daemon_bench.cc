// The daemon under load, measured from outside: a real program, a real store, rules written for the occasion.
// The machine's own limit is taken before and after each and stands beside it.
//   W1  10,000 noop tasks due in the same second, each claimed and finished durably; beside a bare SQLite
//   loop W3  idle: memory and processor of 10,000 and 100,000 tasks W4  200 tasks, one every 50 ms: lag from
//   the planned instant to the claim; beside one durable commit W5  2,000 x /bin/true as durable scheduled
//   commands; beside spawns of four threads W6  kill -9 and restart: how soon the lost attempt is decided
// Usage: daemon_bench [PROGRAM] [W1 W3 W4 W5 W6 …]; PROGRAM is the duecourse beside it where none is named.
// Prints figures and whether they reach their targets; asserts nothing about time.
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
#include "figures.h"
#include "machine_limits.h"
#include "net/http_client.h"
#include "store/store.h"
#include "time/zone.h"

extern char** environ;

namespace duecourse {
namespace {

// A scratch folder with a place for rules.
class Folder {
 public:
  Folder() { std::filesystem::create_directories(path() + "/rules"); }
  const std::string& path() const { return folder_.path(); }

 private:
  BenchFolder folder_;
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
  // Of all its threads, in nanoseconds: /proc/PID/stat counts in ticks of 10 ms, which is as much as an idle
  // daemon takes in ten seconds.
  double CpuSeconds() const {
    double seconds = 0;
    for (const auto& thread : std::filesystem::directory_iterator(StrCat("/proc/", pid_, "/task"))) {
      Result<std::string> used = ReadFile(thread.path().string() + "/schedstat", 1u << 10);
      CHECK(used.ok());
      seconds += std::strtod(used->c_str(), nullptr) / 1e9;
    }
    return seconds;
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
  std::vector<double> lag_ms;
  Instant last_end = kLongAgo;
  double seconds = 0;  // from due to the last end, where it is asked for
  size_t success = 0;
  size_t attempts = 0;
};
// Of the runs that were due then, or of all (kLongAgo), each with its own due instant.
Outcomes Read(const Server& server, Instant due) {
  Outcomes out;
  std::unique_ptr<StoreReader> reader = server.Reader();
  RunFilter filter;
  filter.limit = kReadMax;
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

// None twice, none lost.
void ReportOnce(const std::string& name, const Outcomes& out, size_t tasks) {
  Report({name + " none twice or lost", StrCat(out.success, " successes, ", out.attempts, " attempts"), "",
          "", StrCat(tasks, " each"), Meets(out.success == tasks && out.attempts == tasks)});
}

void W1(const std::string& program) {
  constexpr int kTasks = 10'000;
  const double before = BareRunsPerSecond(kTasks);
  Outcomes out;
  Instant due;
  {
    Folder folder;
    due = WholeSecondIn(8);
    Write(folder, NoopRules(kTasks, CronOf(due)));
    Server server(program, folder);
    server.Start(true);
    Rest(static_cast<int>(std::max<int64_t>(0, (due - SystemClock().Wall()).count)));
    AwaitStarts(server, kTasks, 60);
    server.Stop(SIGTERM);
    out = Read(server, due);
  }
  const double limit = (before + BareRunsPerSecond(kTasks)) / 2;
  Span lag = SpanOf(out.lag_ms);
  const double seconds = static_cast<double>((out.last_end - due).count) / 1000;
  const double rate = kTasks / seconds;
  Report({"W1 10,000 at once", StrCat(Number(rate), " runs/s (", Number(seconds, 2), " s)"),
          StrCat("bare SQLite loop ", Number(limit), " runs/s"), Number(rate / limit, 2), "at least 0.50",
          Meets(rate >= 0.5 * limit)});
  Report({"W1 lag", StrCat("p50 ", Number(lag.p50), " ms, p99 ", Number(lag.p99), " ms"), "", "",
          "p99 at most 400", Meets(lag.p99 <= 400)});
  ReportOnce("W1", out, kTasks);
}

void W3(const std::string& program) {
  struct Row {
    int tasks;
    double megabytes;  // at most; 0: shown only
    double start_ms;
  };
  for (const Row& row : {Row{10, 0, 0}, Row{10'000, 24, 1'500}, Row{100'000, 100, 0}}) {
    Folder folder;
    Write(folder, NoopRules(row.tasks, "0 3 1 1 *"));
    Server server(program, folder);
    server.Start(true);
    for (int i = 0; i < 600 && server.Metric("duecourse_tasks") < row.tasks; ++i) Rest(50);
    Rest(1500);
    const double before = server.CpuSeconds();
    constexpr int kSeconds = 10;
    Rest(kSeconds * 1000);
    const double share = (server.CpuSeconds() - before) / kSeconds * 100;
    const double resident = server.MiBOf("VmRSS") * 1.048576;
    const std::string name = StrCat("W3 idle, ", row.tasks, " tasks");
    Report(
        {name,
         StrCat(Number(resident, 1), " MB, ", Number(server.MiBOf("RssAnon") * 1.048576, 1), " MB its own"),
         "", "", row.megabytes > 0 ? StrCat("at most ", Number(row.megabytes), " MB") : "",
         row.megabytes > 0 ? Meets(resident <= row.megabytes) : Reached::kNone});
    Report({name, StrCat(Number(share, 3), " % of a core"), "", "", "below 0.1 %", Meets(share < 0.1)});
    Report({name, StrCat("started in ", Number(server.start_ms()), " ms"), "", "",
            row.start_ms > 0 ? StrCat("below ", Number(row.start_ms), " ms") : "",
            row.start_ms > 0 ? Meets(server.start_ms() < row.start_ms) : Reached::kNone});
  }
}

void W4(const std::string& program) {
  constexpr int kTasks = 200;
  const Span before = OneDurableCommit(kTasks);
  Outcomes out;
  {
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
    out = Read(server, kLongAgo);
  }
  const Span after = OneDurableCommit(kTasks);
  const double p50 = (before.p50 + after.p50) / 2;
  const double p99 = (before.p99 + after.p99) / 2;
  Span lag = SpanOf(out.lag_ms);
  const std::string measured = StrCat(" of ", out.lag_ms.size(), " starts");
  Report({"W4 lag p50", StrCat(Number(lag.p50), " ms", measured),
          StrCat("one durable commit ", Number(p50, 2), " ms"), StrCat("+", Number(lag.p50 - p50, 1)),
          "at most +2 ms", Meets(lag.p50 - p50 <= 2)});
  Report({"W4 lag p99", StrCat(Number(lag.p99), " ms, max ", Number(lag.max), " ms"),
          StrCat("one durable commit ", Number(p99, 2), " ms"), StrCat("+", Number(lag.p99 - p99, 1)),
          "at most +8 ms", Meets(lag.p99 - p99 <= 8)});
}

// Twice: a task's first command ever also makes the task's own folder, which costs as much as half a spawn.
void W5(const std::string& program) {
  constexpr int kTasks = 2'000;
  constexpr int kAgainAfter = 15;  // seconds
  const double before = BareSpawns(kTasks, 4);
  Outcomes first, again;
  {
    Folder folder;
    Instant due = WholeSecondIn(4);
    int32_t second = Zone::Utc().ToLocal(due).civil.second % 60;
    if (second + kAgainAfter >= 60)
      due = due + Seconds(60 - second);  // both in one minute, for one line of cron
    second = Zone::Utc().ToLocal(due).civil.second % 60;
    const std::string cron =
        StrCat(second, ",", second + kAgainAfter, CronOf(due).substr(CronOf(due).find(' ')));
    std::string text = "tasks:\n";
    for (int i = 0; i < kTasks; ++i) {
      text += StrCat("  - {task_id: t", 10000 + i, ", cron: \"", cron,
                     "\", timezone: UTC, command: [/bin/true]}\n");
    }
    Write(folder, text);
    Server server(program, folder);
    server.Start(true);
    AwaitStarts(server, 2 * kTasks, 120);
    server.Stop(SIGTERM);
    first = Read(server, due);
    again = Read(server, due + Seconds(kAgainAfter));
    first.seconds = static_cast<double>((first.last_end - due).count) / 1000;
    again.seconds = static_cast<double>((again.last_end - due).count) / 1000 - kAgainAfter;
  }
  const double limit = (before + BareSpawns(kTasks, 4)) / 2;
  const double ours = ProductSpawns(kTasks, 4);
  const double rate = kTasks / again.seconds;
  Report({"W5 2,000 x /bin/true", StrCat(Number(rate), " /s"),
          StrCat("posix_spawn, 4 threads ", Number(limit), " /s"), Number(rate / limit, 2), "at least 0.70",
          Meets(rate >= 0.7 * limit)});
  Report({"W5 the same", StrCat(Number(rate), " /s"),
          StrCat("product's spawn, 4 threads ", Number(ours), " /s"), Number(rate / ours, 2), "",
          Reached::kNone});
  Report({"W5 first run of each task", StrCat(Number(kTasks / first.seconds), " /s"),
          StrCat("posix_spawn, 4 threads ", Number(limit), " /s"), Number(kTasks / first.seconds / limit, 2),
          "", Reached::kNone});
  again.success += first.success;
  again.attempts += first.attempts;
  ReportOnce("W5", again, 2 * kTasks);
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
  Outcomes out;
  for (int i = 0; i < 200; ++i) {
    out = Read(server, due);
    if (out.success == 1) break;
    Rest(10);
  }
  std::unique_ptr<StoreReader> reader = server.Reader();
  RunFilter filter;
  filter.limit = 1;
  Result<std::vector<Run>> runs = reader->Runs(filter);
  CHECK(runs.ok());
  std::vector<Attempt> attempts;
  if (!runs->empty()) {
    Result<std::vector<Attempt>> read = reader->Attempts(runs->front().id);
    CHECK(read.ok());
    attempts = std::move(read).value();
  }
  const bool decided = !attempts.empty() && attempts[0].outcome == Outcome::kLost && attempts[0].ended_at;
  const int64_t took_ms = decided ? (*attempts[0].ended_at - again).count : -1;
  Report({"W6 lost attempt decided", decided ? StrCat(took_ms, " ms after the restart began") : "never", "",
          "", "at most 2000 ms", Meets(decided && took_ms <= 2'000)});
  Report({"W6 nothing lost or twice", StrCat(out.success, " success, ", attempts.size(), " attempts"), "", "",
          "1 and 2", Meets(out.success == 1 && attempts.size() == 2)});
}

}  // namespace
}  // namespace duecourse

int main(int argc, char** argv) {
  using namespace duecourse;
  const std::map<std::string, void (*)(const std::string&)> kAll = {
      {"W1", W1}, {"W3", W3}, {"W4", W4}, {"W5", W5}, {"W6", W6}};
  std::string program = AbsolutePath(ParentFolder(AbsolutePath(argv[0])) + "/duecourse");
  int named = 1;
  if (argc > 1 && kAll.count(argv[1]) == 0) {
    program = AbsolutePath(argv[1]);
    named = 2;
  }
  for (int i = named; i < argc; ++i) {
    if (kAll.count(argv[i]) > 0) continue;
    std::fprintf(stderr, "daemon_bench [PROGRAM] [W1 W3 W4 W5 W6]\n");
    return 2;
  }
  for (const auto& [name, bench] : kAll) {
    bool asked = named == argc;
    for (int i = named; i < argc; ++i) asked = asked || name == argv[i];
    if (asked) bench(program);
  }
  return 0;
}
