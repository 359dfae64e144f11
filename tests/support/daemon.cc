#include "daemon.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/check.h"
#include "base/clock.h"
#include "base/text.h"
#include "net/http_client.h"

namespace duecourse {

bool LongRun() { return ::getenv("DUECOURSE_LONG") != nullptr; }

namespace {

constexpr int64_t kStartPatienceMs = 60'000;

Instant InstantOf(const std::string& text) {
  Result<Instant> instant = ParseUtc(text);
  CHECK(instant.ok());
  return *instant;
}

std::vector<Json> ListIn(const Json& body, const char* name) { return body.Get(name).AsArray(); }

}  // namespace

TestDaemon::TestDaemon() { Settings(""); }

TestDaemon::~TestDaemon() { Kill(); }

void TestDaemon::Rules(const std::string& yaml, const std::string& file) {
  WriteText(StrCat(folder_ / "rules", "/", file), yaml);
}

void TestDaemon::Settings(const std::string& yaml) { WriteText(folder_ / "duecourse.yaml", yaml); }

void TestDaemon::StandAt(const std::string& instant, double rate) {
  clock_set_ = true;
  rate_ = LongRun() ? 1 : rate;
  virtual_origin_ = InstantOf(instant);
  real_origin_us_ = MonotonicMicros();
  clock_waits_ = true;
}

void TestDaemon::InForceSince(const std::string& instant) {
  StandAt(instant);
  CHECK(Start());
  CHECK(Eventually([&] { return log().find("rules_changed") != std::string::npos; }));
  CHECK(Stop() == 0);
}

Instant TestDaemon::Now() const {
  if (!clock_set_) return SystemClock().Wall();
  double passed_ms = static_cast<double>(MonotonicMicros() - real_origin_us_) / 1000 * rate_;
  return virtual_origin_ + Millis{static_cast<int64_t>(passed_ms)};
}

int64_t TestDaemon::BoundUntil(const std::string& instant, int64_t more_ms) const {
  double left = static_cast<double>((InstantOf(instant) - Now()).count) / rate_;
  return std::max<int64_t>(0, static_cast<int64_t>(left)) + more_ms;
}

bool TestDaemon::PassedBy(const std::string& instant) const { return Now() >= InstantOf(instant); }

void TestDaemon::Until(const std::string& instant) const {
  Eventually([&] { return PassedBy(instant); }, BoundUntil(instant));
}

ProgramSpec TestDaemon::ServeSpec(const Launch& launch) {
  ProgramSpec spec;
  spec.argv = launch.under;
  for (const std::string& word : {std::string(DUECOURSE_PROGRAM), std::string("serve"),
                                  std::string("--config"), folder_ / "duecourse.yaml", std::string("--rules"),
                                  folder_ / "rules", std::string("--data"), data()}) {
    spec.argv.push_back(word);
  }
  if (launch.init && !started_) spec.argv.push_back("--init");
  if (clock_set_) {
    if (std::exchange(clock_waits_, false)) real_origin_us_ = MonotonicMicros();
    spec.argv.push_back(StrCat("--clock-at=", FormatUtc(Now())));
    spec.argv.push_back(StrCat("--clock-rate=", rate_));
  }
  spec.argv.insert(spec.argv.end(), launch.more.begin(), launch.more.end());
  if (!launch.only_env) spec.env = PlainEnvironment();
  spec.env.insert(spec.env.end(), launch.env.begin(), launch.env.end());
  spec.folder = launch.folder.empty() ? folder_.path() : launch.folder;
  spec.out = folder_ / "daemon.out";
  spec.err = folder_ / "daemon.log";
  return spec;
}

bool TestDaemon::Start() { return Start(Launch()); }

bool TestDaemon::Start(const Launch& launch) {
  program_ = Program(ServeSpec(launch));
  bool ready = Eventually([&] { return Ready() || !program_.running(); }, kStartPatienceMs) && Ready();
  started_ = started_ || ready;
  Result<Instant> now = ParseUtc(Get("/api/v1/version").Get("now").AsString());
  if (ready && clock_set_ && now.ok()) {
    // It began a little later than it was told to: its own clock is what counts.
    virtual_origin_ = *now;
    real_origin_us_ = MonotonicMicros();
  }
  return ready;
}

int TestDaemon::StartRefused(const Launch& launch) {
  program_ = Program(ServeSpec(launch));
  return program_.Wait(kStartPatienceMs);
}

int TestDaemon::Stop(int64_t bound_ms) {
  program_.Signal(SIGTERM);
  return program_.Wait(bound_ms);
}

void TestDaemon::Kill() { program_.Kill(); }

bool TestDaemon::Ready() const { return Status("/healthz") != 0; }

ProgramResult TestDaemon::Cli(std::vector<std::string> words) const {
  ProgramSpec spec;
  spec.argv = {DUECOURSE_PROGRAM};
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  for (const char* option : {"--config", "--rules", "--data"}) spec.argv.emplace_back(option);
  spec.argv[spec.argv.size() - 3] = StrCat("--config=", folder_ / "duecourse.yaml");
  spec.argv[spec.argv.size() - 2] = StrCat("--rules=", folder_ / "rules");
  spec.argv[spec.argv.size() - 1] = StrCat("--data=", data());
  spec.env = PlainEnvironment();
  spec.folder = folder_.path();
  return RunProgram(std::move(spec));
}

Json TestDaemon::Ask(std::vector<std::string> words) const {
  words.insert(words.begin() + 1, {"-o", "json"});
  Result<Json> body = Json::Parse(Cli(std::move(words)).out);
  return body.ok() ? *body : Json();
}

static HttpResult Call(const std::string& socket, const std::string& path) {
  HttpClientCall call;
  call.unix_socket = socket;
  call.url = "http://daemon" + path;
  call.timeout = Seconds(20);
  call.max_response_bytes = 256u << 20;
  HttpClient client;
  return client.Call(std::move(call));
}

Json TestDaemon::Get(const std::string& path) const {
  HttpResult result = Call(StrCat(data(), "/daemon.sock"), path);
  if (result.error != HttpError::kNone) return Json();
  Result<Json> body = Json::Parse(result.body);
  return body.ok() ? *body : Json();
}

int TestDaemon::Status(const std::string& path) const {
  HttpResult result = Call(StrCat(data(), "/daemon.sock"), path);
  return result.error == HttpError::kNone ? result.status : 0;
}

std::vector<Json> TestDaemon::Runs(const std::string& task) const {
  std::vector<Json> runs = ListIn(Get(StrCat("/api/v1/runs?limit=1000&task=", task)), "runs");
  std::reverse(runs.begin(), runs.end());
  return runs;
}

std::optional<Json> TestDaemon::Run(const std::string& key) const {
  std::vector<Json> runs = ListIn(Get(StrCat("/api/v1/runs?key=", key)), "runs");
  return runs.empty() ? std::nullopt : std::optional<Json>(runs.front());
}

std::string TestDaemon::State(const std::string& key) const {
  std::optional<Json> run = Run(key);
  return run ? run->Get("state").AsString() : "";
}

std::vector<Json> TestDaemon::Attempts(const std::string& key) const {
  std::optional<Json> run = Run(key);
  if (!run) return {};
  return ListIn(Get(StrCat("/api/v1/runs/", run->Get("run_id").AsString())), "attempt_list");
}

std::vector<Json> TestDaemon::Decisions(const std::string& task) const {
  return ListIn(Get(StrCat("/api/v1/decisions?limit=1000&task=", task)), "decisions");
}

std::vector<Json> TestDaemon::Alerts(const std::string& task) const {
  return ListIn(Get(StrCat("/api/v1/alerts?limit=1000", task.empty() ? "" : "&task=", task)), "alerts");
}

std::vector<Json> TestDaemon::Ranges(const std::string& task) const {
  return ListIn(Get(StrCat("/api/v1/why?task=", task)), "ranges");
}

std::vector<std::string> TestDaemon::Details(const std::string& task, const std::string& reason) const {
  std::vector<std::string> out;
  for (const Json& row : Decisions(task)) {
    if (row.Get("reason").AsString() == reason) out.push_back(row.Get("detail").Dump());
  }
  return out;
}

bool TestDaemon::AwaitState(const std::string& key, const std::string& state, int64_t bound_ms) const {
  return Eventually([&] { return State(key) == state; }, bound_ms);
}

std::string TestDaemon::Tell(const std::string& task) const {
  std::string text = log();
  if (text.size() > 4000) text = text.substr(text.size() - 4000);
  text = StrCat("daemon's clock ", FormatUtc(Now()), "\n--- log\n", text, "\n--- runs\n");
  for (const Json& run : Runs(task)) text += run.Dump() + "\n";
  text += "--- decisions\n";
  for (const Json& row : Decisions(task)) text += row.Dump() + "\n";
  return text;
}

}  // namespace duecourse
