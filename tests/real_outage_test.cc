// Scenarios 83 and 84 while the daemon runs: its folder moved away, its file overwritten, its lock held; what
// people who ask it meanwhile are told, and that it stops all the same. And starts that are refused and leave
// nothing behind.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "daemon.h"
#include "db/sqlite.h"
#include "net/http_client.h"
#include "net/listen.h"

namespace duecourse {
namespace {

namespace fs = std::filesystem;

HttpResult CallAt(const std::string& socket, const std::string& path, const std::string& body = "") {
  HttpClientCall call;
  call.unix_socket = socket;
  call.url = "http://daemon" + path;
  call.timeout = Seconds(20);
  if (!body.empty()) {
    call.method = "POST";
    call.body = body;
  }
  HttpClient client;
  return client.Call(std::move(call));
}

// A key a day, which is done at once, and a key a second, which shows whether anything starts.
class Outage : public testing::Test {
 protected:
  void Begin(const std::string& more_settings = "") {
    daemon.Settings(StrCat(more_settings,
                           "owners: {desk: {P2: [page], P1: [page]}}\n"
                           "channels: {page: {command: [/bin/sh, -c, 'cat >> ",
                           daemon / "pages", "']}}\n"));
    daemon.Rules(StrCat("tasks:\n", Task("once", "once:{date}"), Task("tick", "tick:{scheduled_at}")));
    daemon.StandAt("2026-03-02T08:00:00Z", kRate);
    ASSERT_TRUE(daemon.Start()) << daemon.log();
    ASSERT_TRUE(Eventually([&] { return Done("once") == 1 && Done("tick") > 1; })) << daemon.Tell("once");
  }
  std::string Task(const std::string& name, const std::string& key) const {
    return StrCat("- {task_id: ", name,
                  ", owner: desk, trigger: {every: 5s, timezone: UTC, window_end: +4h}, ",
                  "idempotency: {business_key: \"", key, "\"}, execution: {shell: 'echo $DUECOURSE_KEY >> ",
                  daemon / name, "'}}\n");
  }
  size_t Done(const std::string& name) const { return Lines(Content(daemon / name)).size(); }
  // Nothing starts from now on; what runs in this moment may end.
  void ExpectNothingStarts() {
    size_t before = Done("tick");
    EXPECT_TRUE(Eventually([&] {
      const size_t now = Done("tick");
      return std::exchange(before, now) == now;
    }));
    EXPECT_TRUE(NeverFor(3'000, [&] { return Done("tick") > before; }));
    EXPECT_EQ(Done("once"), 1u);
  }
  void ExpectUnhealthy(const std::string& socket, const std::string& cause) {
    EXPECT_TRUE(Eventually([&] {
      HttpResult health = CallAt(socket, "/healthz");
      return health.status == 503 && health.body.find(cause) != std::string::npos;
    })) << CallAt(socket, "/healthz").body;
  }
  void ExpectActRefused(const std::string& socket, const std::string& cause) {
    const int64_t began = MonotonicMicros();
    HttpResult act = CallAt(socket, "/api/v1/flags", R"({"by": "ann", "name": "f", "value": "v"})");
    EXPECT_LT(MonotonicMicros() - began, 10'000'000);
    EXPECT_EQ(act.status, 503) << act.body;
    EXPECT_NE(act.body.find("takes nothing since"), std::string::npos) << act.body;
    EXPECT_NE(act.body.find(cause), std::string::npos) << act.body;
  }

  static constexpr double kRate = 6;
  TestDaemon daemon;
};

TEST_F(Outage, AFolderThatIsMovedAwayIsMissedAndTheKeyIsNotRunAgain) {
  Begin();
  const std::string id = Content(daemon.data() + "/store-id");
  const std::string aside = daemon / "aside";
  fs::rename(daemon.data(), aside);
  ExpectUnhealthy(aside + "/daemon.sock", "is gone");
  ExpectActRefused(aside + "/daemon.sock", "is gone");
  ExpectNothingStarts();
  EXPECT_TRUE(Eventually([&] { return Content(daemon / "pages").find("P1") != std::string::npos; }))
      << daemon.log();
  EXPECT_FALSE(fs::exists(daemon.data())) << "something was made in its place";
  EXPECT_LE(CountOf(daemon.log(), "\"store_reopen\""), 6) << daemon.log();

  const size_t before = Done("tick");
  fs::rename(aside, daemon.data());
  EXPECT_TRUE(Eventually([&] { return daemon.Status("/healthz") == 200; })) << daemon.log();
  EXPECT_TRUE(Eventually([&] { return Done("tick") > before; })) << daemon.Tell("tick");
  EXPECT_EQ(Done("once"), 1u);
  EXPECT_EQ(Content(daemon.data() + "/store-id"), id);
  EXPECT_EQ(daemon.Stop(), 0);
}

TEST_F(Outage, AStoreThatIsGoneDoesNotHoldUpTheStop) {
  Begin("drain_timeout: 6s\n");
  fs::rename(daemon.data() + "/store.db", daemon.data() + "/moved.db");
  ExpectUnhealthy(daemon.data() + "/daemon.sock", "is gone");
  EXPECT_EQ(daemon.Stop(20'000), 1) << daemon.log();
  EXPECT_NE(daemon.log().find("stops_without_store"), std::string::npos) << daemon.log();
  EXPECT_LE(CountOf(daemon.log(), "\"store_reopen\""), 6);
  fs::rename(daemon.data() + "/moved.db", daemon.data() + "/store.db");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_EQ(Done("once"), 1u);
}

TEST_F(Outage, AFileThatIsOverwrittenStartsNothingMore) {
  Begin();
  {
    std::fstream file(daemon.data() + "/store.db", std::ios::in | std::ios::out | std::ios::binary);
    file << std::string(36 * 4096, 'x');
  }
  ExpectUnhealthy(daemon.data() + "/daemon.sock", "Restore the newest backup");
  ExpectActRefused(daemon.data() + "/daemon.sock", "Restore the newest backup");
  ExpectNothingStarts();
  ProgramResult doctor = daemon.Cli({"doctor"});
  EXPECT_EQ(doctor.code, 1);
  EXPECT_NE(doctor.out.find("Restore the newest backup"), std::string::npos) << doctor.out;
}

TEST_F(Outage, DamageThatAReaderMeetsClosesTheStoreToClaims) {
  Begin();
  const std::string file = daemon.data() + "/store.db";
  Database copy;
  ASSERT_TRUE(Database::Open(file, {}, copy).ok());
  ASSERT_TRUE(copy.Checkpoint(false).ok());  // what was written is in the file, not in its log alone
  copy.Close();
  {
    const auto size = static_cast<std::streamoff>(fs::file_size(file));
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(4096);
    bytes << std::string(static_cast<size_t>(size) - 4096, 'x');
  }
  EXPECT_TRUE(
      Eventually([&] { return daemon.Status("/api/v1/audit") == 503 || daemon.Status("/healthz") == 503; }));
  ExpectUnhealthy(daemon.data() + "/daemon.sock", "store takes nothing");
  ExpectNothingStarts();
}

TEST_F(Outage, AnActIsAnsweredForWhileALockIsHeld) {
  Begin();
  Database stranger;
  DbOptions options;
  options.busy_timeout = Seconds(30);
  ASSERT_TRUE(Database::Open(daemon.data() + "/store.db", options, stranger).ok());
  ASSERT_TRUE(stranger.Execute("BEGIN IMMEDIATE").ok());
  // On its way before anybody knew.
  int64_t began = MonotonicMicros();
  ProgramResult early = daemon.Cli({"flag", "set", "early", "--undated", "--by", "ann"});
  EXPECT_LT(MonotonicMicros() - began, 20'000'000);
  EXPECT_EQ(early.code, 1) << early.out;
  EXPECT_NE(early.err.find("may still happen"), std::string::npos) << early.err;
  EXPECT_NE(early.err.find("write lock"), std::string::npos) << early.err;
  ExpectActRefused(daemon.data() + "/daemon.sock", "write lock");
  EXPECT_EQ(daemon.Status("/api/v1/runs"), 200);
  ASSERT_TRUE(stranger.Execute("ROLLBACK").ok());
  EXPECT_TRUE(Eventually([&] {
    return daemon.Cli({"flag", "list"}).out.find("early") != std::string::npos;
  }));
  EXPECT_TRUE(Eventually([&] { return daemon.Status("/healthz") == 200; }));
}

TEST_F(Outage, WhileItStopsItStillSaysWhatItWaitsFor) {
  daemon.Rules(
      "task_id: long\ntrigger: {every: 1d, anchor: \"2026-01-01T00:00:00Z\", timezone: UTC}\n"
      "execution: {shell: 'exec sleep 300'}\n");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ProgramResult started = daemon.Cli({"trigger", "long", "--extra", "--by", "ann"});
  ASSERT_EQ(started.code, 0) << started.err;
  const std::string run = daemon.Runs("long").at(0).Get("run_id").AsString();
  daemon.program().Signal(SIGTERM);
  EXPECT_TRUE(Eventually([&] { return daemon.Get("/healthz").Get("draining").AsBool(); }));
  EXPECT_EQ(daemon.Get("/healthz").Get("waits_for").AsArray().at(0).AsString(), run);
  for (const char* verb : {"show", "runs"}) EXPECT_EQ(daemon.Cli({verb}).code, 0) << verb;
  EXPECT_EQ(daemon.Cli({"why", "long"}).code, 0);
  ProgramResult doctor = daemon.Cli({"doctor"});
  EXPECT_NE(doctor.out.find(StrCat("waits for the attempts of ", run)), std::string::npos) << doctor.out;
  EXPECT_EQ(daemon.Cli({"trigger", "long", "--extra"}).code, 3);
}

TEST_F(Outage, AClockThatStandsBeforeTheLastDaemonsIsTold) {
  daemon.Rules("task_id: a\ntrigger: {cron: \"0 8 * * *\", timezone: UTC}\nexecution: {noop: {}}\n");
  daemon.StandAt("2026-03-05T10:00:00Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_EQ(daemon.Stop(), 0);
  daemon.StandAt("2026-03-02T10:00:00Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_NE(daemon.log().find("the wall clock stands at 2026-03-02T10:"), std::string::npos) << daemon.log();
  EXPECT_EQ(daemon.Get("/healthz").Get("warnings").AsArray().size(), 1u);
  ProgramResult doctor = daemon.Cli({"doctor"});
  EXPECT_NE(doctor.out.find("BAD  clock"), std::string::npos) << doctor.out;
}

TEST_F(Outage, TheLastHeartbeatBeforeAKillIsWhatALostAttemptTells) {
  daemon.Rules(
      StrCat("task_id: a\ntrigger: {every: 1d, anchor: \"2026-01-01T00:00:00Z\", timezone: UTC}\n"
             "execution: {shell: 'touch ",
             daemon / "started", "; exec sleep 300'}\n"));
  daemon.StandAt("2026-03-02T10:00:00Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_EQ(daemon.Cli({"trigger", "a", "--extra", "--by", "ann"}).code, 0);
  ASSERT_TRUE(Eventually([&] { return FileExists(daemon / "started"); })) << daemon.log();
  daemon.Kill();
  daemon.StandAt("2026-03-02T11:00:00Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_TRUE(Eventually([&] {
    return daemon.Cli({"why", "a"}).out.find("last known at work") != std::string::npos;
  }));
  EXPECT_NE(daemon.Cli({"why", "a"}).out.find("last known at work 2026-03-02T10:0"), std::string::npos)
      << daemon.Cli({"why", "a"}).out;
}

TEST_F(Outage, WhatThereIsNotIsSaidAndWritesNothing) {
  Begin();
  const std::string run = daemon.Runs("once").at(0).Get("run_id").AsString();
  EXPECT_EQ(daemon.Status("/api/v1/runs/"), 404);
  for (const char* attempt : {"0", "2", "1001", "4294967297", "9223372036854775806"})
    EXPECT_EQ(daemon.Status(StrCat("/api/v1/runs/", run, "/output?attempt=", attempt)), 404) << attempt;
  for (const char* attempt : {"x", "-1"})
    EXPECT_EQ(daemon.Status(StrCat("/api/v1/runs/", run, "/output?attempt=", attempt)), 400) << attempt;
  ProgramResult logs = daemon.Cli({"logs", run, "--attempt", "99"});
  EXPECT_EQ(logs.code, 1);
  EXPECT_NE(logs.err.find("has no attempt 99"), std::string::npos) << logs.err;
  ProgramResult past = daemon.Cli({"trigger", "tick", "--at", "1970-01-05T00:00:00Z", "--by", "ann"});
  EXPECT_EQ(past.code, 2) << past.out << past.err;
  EXPECT_NE(past.err.find("before the rule was in force"), std::string::npos) << past.err;
  EXPECT_EQ(daemon.Get("/api/v1/runs?to=1971-01-01").Get("runs").AsArray().size(), 0u);
}

// ---- starts
TEST(Start, ThatIsRefusedLeavesNoStoreBehind) {
  int port = 0;
  Result<Fd> taken = ListenLoopback("127.0.0.1", 0, port);
  ASSERT_TRUE(taken.ok()) << taken.error().message();
  struct Row {
    std::vector<std::string> more;
    int code;
    const char* said;
  };
  const Row rows[] = {{{StrCat("--tcp=", port)}, 1, "in use"},
                      {{"--tcp=abc"}, 2, "a number from 1 to 65535"},
                      {{"--tcp=-1"}, 2, "a number from 1 to 65535"},
                      {{"--tcp="}, 2, "--tcp"},
                      {{"--tcp=65536"}, 2, "a number from 1 to 65535"},
                      {{"--log-level=loud"}, 2, "debug, info, warning or error"},
                      {{"--socket=/nowhere/at/all.sock"}, 1, "no folder /nowhere/at"},
                      {{StrCat("--socket=/tmp/", std::string(200, 'x'))}, 1, "a socket's may have"}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.more[0].substr(0, 40));
    TestDaemon daemon;
    daemon.Rules("task_id: a\ntrigger: {cron: \"0 8 * * *\", timezone: UTC}\nexecution: {noop: {}}\n");
    TestDaemon::Launch launch;
    launch.more = row.more;
    EXPECT_EQ(daemon.StartRefused(launch), row.code) << daemon.log();
    EXPECT_NE(daemon.log().find(row.said), std::string::npos) << daemon.log();
    EXPECT_FALSE(fs::exists(daemon.data()));
  }
}

TEST(Start, OnFarFewerTasksAsksWhatReloadAsks) {
  TestDaemon daemon;
  std::string rules = "tasks:\n";
  for (int i = 0; i < 3; ++i)
    rules += StrCat("- {task_id: a", i,
                    ", trigger: {cron: \"0 8 * * *\", timezone: UTC}, execution: {noop: {}}}\n");
  daemon.Rules(rules);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(Eventually([&] { return daemon.log().find("rules_changed") != std::string::npos; }));
  // What reload would do is foretold with its exit code.
  daemon.Rules("task_id: a0\ntrigger: {cron: \"0 8 * * *\", timezone: UTC}\nexecution: {noop: {}}\n");
  ProgramResult dry = daemon.Cli({"reload", "--dry-run"});
  EXPECT_EQ(dry.code, 3) << dry.err;
  EXPECT_NE(dry.err.find("--confirm"), std::string::npos) << dry.err;
  EXPECT_EQ(daemon.Cli({"reload", "--dry-run", "--confirm"}).code, 0);
  EXPECT_EQ(daemon.Cli({"reload"}).code, 3);
  EXPECT_EQ(daemon.Stop(), 0);

  fs::remove(daemon / "rules/rules.yaml");
  EXPECT_EQ(daemon.StartRefused({}), 1);
  EXPECT_NE(daemon.log().find("the rules have 0 tasks, version 1 of the store has 3"), std::string::npos)
      << daemon.log();
  TestDaemon::Launch confirmed;
  confirmed.more = {"--confirm"};
  EXPECT_TRUE(daemon.Start(confirmed)) << daemon.log();
  EXPECT_TRUE(Eventually([&] { return daemon.Get("/api/v1/rules").Get("versions").AsArray().size() == 2; }));
  Json reload = daemon.Ask({"reload", "--by", "ann", "--reason", "new hours"});
  EXPECT_FALSE(reload.is_null());
  EXPECT_TRUE(Eventually([&] {
    const Json audit = daemon.Get("/api/v1/audit");
    for (const Json& row : audit.Get("audit").AsArray()) {
      if (row.Get("action").AsString() == "reload" && row.Get("by").AsString() == "ann")
        return row.Get("reason").AsString() == "new hours";
    }
    return false;
  })) << daemon.Get("/api/v1/audit").Dump();
}

}  // namespace
}  // namespace duecourse
