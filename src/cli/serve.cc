// duecourse serve: the daemon in the foreground.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "net/listen.h"
#include "web/api.h"
#include "web/daemon.h"

// jemalloc's; not there where a sanitizer is the allocator.
extern "C" int mallctl(const char* name, void* old, size_t* old_size, void* value, size_t size)
    __attribute__((weak));

namespace duecourse {
namespace {

// A thread that gives free memory back. Only a daemon lives long enough for it; where it cannot be had, free
// memory goes back when some is asked for.
void GiveMemoryBack() {
  bool on = true;
  if (&mallctl != nullptr) mallctl("background_thread", nullptr, nullptr, &on, sizeof on);
}

// At a start, or where a library wants a thread that the machine does not give: a sentence in place of a
// dump.
[[noreturn]] void SayWhatIsMissing() {
  try {
    if (std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::system_error& error) {
    const std::string text =
        StrCat("duecourse: the machine gives the daemon no more threads, processes or files (", error.what(),
               "); see TasksMax, ulimit -u and ulimit -n\n");
    [[maybe_unused]] ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(kExitProblem);
  } catch (...) {
  }
  std::abort();
}

// Below 27 no command could start, and with 30 a few could (tried); twice as many leave room for the rest.
constexpr rlim_t kFilesLeast = 64;

Status EnoughFiles() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max >= kFilesLeast) return {};
  return Error(StrCat("the hard limit of open files is ", limit.rlim_max, "; a daemon needs ", kFilesLeast,
                      " at the least (ulimit -Hn, LimitNOFILE)"));
}

struct Signals {
  Signals() {
    sigemptyset(&set);
    for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
    // Before any thread is made, so that all of them inherit it.
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    // What nobody has a use for must not end a daemon without a drain. (Children get the defaults back.)
    for (int signal : {SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT})
      std::signal(signal, SIG_IGN);
    for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) std::signal(signal, SIG_IGN);
  }
  sigset_t set;
};

bool ClockOptions(const Args& args, Millis* offset, double* rate) {
  std::string text = args.Get("--clock-offset", "0s");
  bool negative = text.starts_with('-');
  Result<Millis> span = ParseMillis(negative ? text.substr(1) : text);
  if (!span.ok()) {
    UsageFault(args, StrCat("--clock-offset: ", span.error().message()));
    return false;
  }
  *offset = negative ? Millis{-span->count} : *span;
  if (args.Has("--clock-at")) {
    Result<Instant> at = ParseUtc(args.Get("--clock-at"));
    if (!at.ok()) {
      UsageFault(args, StrCat("--clock-at: ", at.error().message()));
      return false;
    }
    *offset = *offset + (*at - SystemClock().Wall());
  }
  *rate = std::strtod(args.Get("--clock-rate", "1").c_str(), nullptr);
  if (*rate > 0 && *rate <= 10'000) return true;
  UsageFault(args, "--clock-rate must be a number above 0 and at most 10000");
  return false;
}

bool LogLevelOption(const Args& args, LogLevel* level) {
  static const std::pair<const char*, LogLevel> kLevels[] = {{"debug", LogLevel::kDebug},
                                                             {"info", LogLevel::kInfo},
                                                             {"warning", LogLevel::kWarning},
                                                             {"error", LogLevel::kError}};
  const std::string text = args.Get("--log-level", "info");
  for (const auto& [name, known] : kLevels) {
    if (text != name) continue;
    *level = known;
    return true;
  }
  UsageFault(args, StrCat("--log-level \"", text, "\": it is debug, info, warning or error"));
  return false;
}

// -1 where no TCP is wanted.
bool TcpOption(const Args& args, int* port) {
  *port = -1;
  if (!args.Has("--tcp")) return true;
  std::optional<int64_t> number = ParseInteger(args.Get("--tcp"));
  if (number && *number >= 0 && *number <= 65'535) {
    *port = static_cast<int>(*number);
    return true;
  }
  UsageFault(args, StrCat("--tcp \"", args.Get("--tcp"),
                          "\": it is a port, a number from 1 to 65535, or 0 for any that is free"));
  return false;
}

// What listens before the daemon is there, so that a port that is taken refuses the start before anything is
// made; it answers once there is somebody to ask.
class Door {
 public:
  HttpHandler Handler() {
    return [this](HttpRequest request, HttpReply reply) {
      Api* api = api_.load();
      if (api == nullptr) return reply(Problem(503, "the daemon is starting"));
      api->Handle(std::move(request), std::move(reply));
    };
  }
  void Open(Api& api) { api_.store(&api); }

 private:
  std::atomic<Api*> api_{nullptr};
};

// Secrets are in this process's memory: nobody finds them in a core file, or reads them as another process of
// the same user. It ends with exec, so handlers have the limits that they would have without us.
void KeepMemoryPrivate() { static_cast<void>(::prctl(PR_SET_DUMPABLE, 0)); }

// A daemon that refuses to start says so to people too, without a store; it waits a little for a channel to
// take it.
void TellRefusal(const RuleSet& rules, const std::string& problem, const Clock& clock) {
  auto results = std::make_shared<Queue<SendResult>>(64);
  std::unique_ptr<AlertSender> sender = NewAlertSender(
      clock, rules.config.folder, "", [results](SendResult result) { results->Push(std::move(result)); });
  NoticeFacts facts;
  facts.level = AlertLevel::kP1;
  facts.event = "start_refused";
  facts.what = StrCat("the daemon refuses to start: ", problem);
  facts.next = "nothing runs until it is started";
  facts.at = clock.Wall();
  AlertDraft draft = DraftNotice(facts);
  size_t open = 0;
  for (std::vector<ChannelConfig>& channels : ChannelsForAll(rules.config, facts.level)) {
    sender->Send(MessageOf(StrCat("a", SecureToken(10)), draft.level, draft.title, draft.body),
                 std::move(channels));
    ++open;
  }
  constexpr int64_t kPatienceMs = 12'000;
  int64_t until = MonotonicMicros() / 1000 + kPatienceMs;
  while (open > 0) {
    int64_t left = until - MonotonicMicros() / 1000;
    if (left <= 0) break;
    open -= std::min(open, results->TakeAll(left).size());
  }
}

int Refuse(const Args& args, const RuleSet& rules, const std::string& problem, const Clock& clock) {
  Fail(args, kExitProblem, StrCat("duecourse: not started: ", problem));
  TellRefusal(rules, problem, clock);
  return kExitProblem;
}

// Reads rules as serve and reload do; prints what refuses them.
std::shared_ptr<const RuleSet> Checked(const Args& args, const LoadRequest& request, Instant now) {
  Loaded loaded = LoadRules(request);
  std::vector<Finding> errors = CheckForServe(loaded, now);
  if (loaded.set == nullptr || !errors.empty()) {
    FailWith(args, kExitProblem,
             StrCat("duecourse: not started: the rules have ", errors.size(),
                    errors.size() == 1 ? " error" : " errors", "; duecourse check says more"),
             errors);
    return nullptr;
  }
  return loaded.set;
}

void WaitForEnd(const Args& args, const Signals& signals, Daemon& daemon) {
  Fd fd(::signalfd(-1, &signals.set, SFD_CLOEXEC));
  CHECK(fd.valid());
  while (true) {
    signalfd_siginfo info{};
    if (::read(fd.get(), &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) continue;
    if (info.ssi_signo != SIGHUP) break;
    daemon.Reload({"SIGHUP", "", false, false, true},
                  [&args](const Answer& answer) { Tell(args, StrCat("reload: ", answer.message)); });
  }
  daemon.Drain();
}

}  // namespace

int ServeVerb(const Args& args) {
  Signals signals;
  std::set_terminate(&SayWhatIsMissing);
  GiveMemoryBack();
  Millis offset;
  double rate = 1;
  LogLevel level = LogLevel::kInfo;
  HttpServerOptions tcp;
  if (!ClockOptions(args, &offset, &rate) || !LogLevelOption(args, &level) || !TcpOption(args, &tcp.tcp_port))
    return kExitUsage;
  KeepMemoryPrivate();
  SystemClock clock(offset, rate);
  Status zones = CheckZoneData();
  if (!zones.ok())
    return Fail(args, kExitProblem, StrCat("duecourse: not started: ", zones.error().message()));
  if (Status files = EnoughFiles(); !files.ok())
    return Fail(args, kExitProblem, StrCat("duecourse: not started: ", files.error().message()));
  Places places = FindPlaces(args);
  std::shared_ptr<const RuleSet> rules = Checked(args, places.load, clock.Wall());
  if (rules == nullptr) return kExitProblem;
  Log log(clock, STDERR_FILENO, level);
  DaemonOptions options;
  options.rules = places.load;
  options.data_folder = places.data;
  options.init = args.Has("--init");
  options.clock_rate = rate;
  options.confirm = args.Has("--confirm");
  // The store comes last: a start that is refused leaves none behind.
  if (Status path = CheckUnixPath(places.socket, places.data); !path.ok())
    return Refuse(args, *rules, path.error().message(), clock);
  Daemon daemon(options, rules, clock, log);
  Door door;
  std::unique_ptr<HttpServer> loopback;
  if (tcp.tcp_port >= 0) {
    Result<std::unique_ptr<HttpServer>> listens = HttpServer::Start(tcp, door.Handler());
    if (!listens.ok()) return Refuse(args, *rules, listens.error().message(), clock);
    loopback = std::move(listens).value();
  }
  Status started = daemon.Start();
  if (!started.ok()) return Refuse(args, *rules, started.error().message(), clock);
  Api api(daemon);
  door.Open(api);
  HttpServerOptions http;
  http.unix_path = places.socket;
  Result<std::unique_ptr<HttpServer>> server = HttpServer::Start(http, door.Handler());
  if (!server.ok()) {
    if (loopback != nullptr) loopback->Stop();  // before the API that it asks
    daemon.Drain();
    daemon.Wait();
    return Refuse(args, *rules, server.error().message(), clock);
  }
  for (const std::string& note : daemon.start_notes()) Tell(args, note);
  Tell(args, StrCat("duecourse: ", rules->tasks.size(), rules->tasks.size() == 1 ? " task" : " tasks",
                    ", data in ", places.data, ", socket ", places.socket));
  if (loopback != nullptr)
    Tell(args,
         StrCat("duecourse: /healthz and /metrics also on ", tcp.tcp_address, ":", loopback->tcp_port()));
  log.Info("started", Json::MakeObject()
                          .Set("tasks", rules->tasks.size())
                          .Set("zone_data", ZoneDataVersion())
                          .Set("pid", static_cast<int64_t>(::getpid())));
  WaitForEnd(args, signals, daemon);
  const bool stored = daemon.Wait();
  (*server)->Stop();
  if (loopback != nullptr) loopback->Stop();
  log.Info("stopped");
  return stored ? kExitFine : kExitProblem;
}

}  // namespace duecourse
