// Parts of scenarios 05, 35, 53 and 84 that need something of the machine itself: a thread held still, a name
// server that stays mute, a file system that is read-only, a broken /etc/localtime. Where the machine does
// not give it, the test says so and ctest shows this program as skipped.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/text.h"
#include "daemon.h"
#include "machine.h"

namespace duecourse {
namespace {

constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in CMakeLists.txt

std::string Pager(const TestDaemon& daemon) {
  return StrCat("owners: {desk: {P2: [page], P1: [page]}}\nchannels: {page: {command: [/bin/sh, -c, 'cat >> ",
                daemon / "pages", "']}}\n");
}

TEST(Scenario05, WithTheEngineBlockedHealthSaysSoAndIsBackWhenItGoesOn) {
  TestDaemon daemon;
  daemon.Rules(
      "task_id: heartbeat\ntrigger: {every: 1s, timezone: UTC}\n"
      "idempotency: {business_key: \"hb:{scheduled_at}\"}\nexecution: {noop: {}}\n");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(Eventually([&] { return !daemon.Runs("heartbeat").empty(); })) << daemon.log();
  ASSERT_EQ(daemon.Status("/healthz"), 200);
  pid_t engine = ThreadNamed(daemon.program().pid(), "dc-engine");
  ASSERT_NE(engine, 0) << "no thread is named dc-engine";
  HeldThread blocked(engine);
  if (!blocked.held()) GTEST_SKIP() << blocked.why_not();
  const int64_t from = MonotonicMicros();
  EXPECT_TRUE(Eventually([&] { return daemon.Status("/healthz") == 503; }, 30'000));
  const int64_t noticed_ms = (MonotonicMicros() - from) / 1000;
  EXPECT_GT(noticed_ms, 5'000) << "a step of a few seconds is no reason to be restarted";
  EXPECT_NE(daemon.Get("/healthz").Get("message").AsString().find("has not stepped"), std::string::npos)
      << daemon.Get("/healthz").Dump();
  // What needs no engine goes on, and what does not step decides nothing.
  EXPECT_EQ(daemon.Status("/api/v1/runs"), 200);
  EXPECT_EQ(daemon.Status("/metrics"), 200);
  const size_t before = daemon.Runs("heartbeat").size();
  blocked.LetGo();
  EXPECT_TRUE(Eventually([&] { return daemon.Status("/healthz") == 200; }, 5'000));
  EXPECT_TRUE(Eventually([&] { return daemon.Runs("heartbeat").size() > before; }))
      << daemon.Tell("heartbeat");
  EXPECT_EQ(daemon.Stop(), 0) << daemon.log();
}

// A name server that takes every question and answers none.
class MuteNameServer {
 public:
  MuteNameServer() {
    socket_ = Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(53);
    ::inet_pton(AF_INET, kAddress, &address.sin_addr);
    listening_ = ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  bool listening() const { return listening_; }
  bool asked() const {
    char byte = 0;
    return ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }
  static constexpr const char* kAddress = "127.0.0.77";

 private:
  Fd socket_;
  bool listening_ = false;
};

TEST(Scenario53, AMuteNameServerEndsTheCheckInTimeAndIsNamed) {
  std::string why_not = WhyNoPrivateMounts();
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  MuteNameServer server;
  if (!server.listening()) GTEST_SKIP() << "no port 53 for us on this machine";
  TestDaemon daemon;
  WriteText(daemon / "resolv.conf", StrCat("nameserver ", MuteNameServer::kAddress, "\n"));
  WriteText(daemon / "nsswitch.conf", "hosts: files dns\n");
  daemon.Rules(
      "task_id: t\ntrigger:\n  cron: \"0 8 * * *\"\n  timezone: UTC\n  window_start: \"08:00\"\n"
      "  window_end: \"08:30\"\n  check_interval: 1s\n  preconditions:\n"
      "    - {http: {url: \"http://mute.example/healthz\"}, timeout: 2s, max_age: 0s}\n"
      "idempotency: {business_key: \"t:{business_date}\"}\nexecution: {noop: {}}\n");
  TestDaemon::Launch launch;
  launch.under = PrivateMounts(StrCat("mount --bind '", daemon / "resolv.conf", "' /etc/resolv.conf; ",
                                      "test ! -e /etc/nsswitch.conf || mount --bind '",
                                      daemon / "nsswitch.conf", "' /etc/nsswitch.conf"));
  daemon.InForceSince("2026-03-02T07:00:00Z");
  daemon.StandAt("2026-03-02T07:59:59Z");
  ASSERT_TRUE(daemon.Start(launch)) << daemon.log();
  // The same answer again and again: it is asked anew although the last question got none.
  EXPECT_TRUE(Eventually([&] {
    for (const Json& row : daemon.Decisions("t")) {
      if (row.Get("reason").AsString() != "precondition_check_failed") continue;
      if (row.Get("detail").Dump().find("DNS") != std::string::npos && row.Get("count").AsInteger() >= 2)
        return true;
    }
    return false;
  })) << daemon.Tell("t");
  EXPECT_TRUE(server.asked());
  EXPECT_EQ(daemon.State("t:2026-03-02"), "scheduled");
  EXPECT_EQ(daemon.Status("/healthz"), 200);
  EXPECT_EQ(daemon.Stop(), 0) << daemon.log();
}

TEST(Scenario84, AReadOnlyFileSystemIsRefusedAndAnAlertIsSentAllTheSame) {
  std::string why_not = WhyNoPrivateMounts();
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  TestDaemon daemon;
  daemon.Settings(Pager(daemon));
  daemon.Rules(
      StrCat("task_id: d\nowner: desk\n"
             "trigger: {cron: \"0 8 * * *\", timezone: UTC, window_start: \"08:00\", window_end: \"20:00\"}\n"
             "idempotency: {business_key: \"d:{business_date}\"}\n"
             "execution: {shell: 'echo $DUECOURSE_KEY >> ",
             daemon / "out.log", "'}\n"));
  daemon.InForceSince("2026-03-02T07:30:00Z");
  daemon.StandAt("2026-03-02T07:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(daemon.AwaitState("d:2026-03-02", "success")) << daemon.Tell("d");
  ASSERT_EQ(daemon.Stop(), 0) << daemon.log();
  daemon.StandAt("2026-03-02T09:00:00Z");
  TestDaemon::Launch launch;
  launch.under = PrivateMounts(StrCat("mount --bind '", daemon.data(), "' '", daemon.data(),
                                      "'; mount -o remount,bind,ro '", daemon.data(), "'"));
  EXPECT_EQ(daemon.StartRefused(launch), 1) << daemon.log();
  EXPECT_NE(daemon.log().find("Read-only file system"), std::string::npos) << daemon.log();
  EXPECT_NE(Content(daemon / "pages").find("P1"), std::string::npos) << Content(daemon / "pages");
  EXPECT_EQ(Lines(Content(daemon / "out.log")).size(), 1u);
  // Nothing was harmed: writable again, it goes on where it was.
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_EQ(daemon.State("d:2026-03-02"), "success");
  EXPECT_EQ(daemon.Attempts("d:2026-03-02").size(), 1u);
  EXPECT_EQ(daemon.Stop(), 0) << daemon.log();
}

TEST(Scenario35, ALocaltimeThatLeadsNowhereChangesNothing) {
  std::string why_not = WhyNoPrivateMounts();
  if (!why_not.empty()) GTEST_SKIP() << why_not;
  TestDaemon daemon;
  daemon.Rules(
      "task_id: a\ntrigger: {cron: \"0 9 * * *\", timezone: Europe/Madrid}\nexecution: {noop: {}}\n");
  TestDaemon::Launch launch;
  // An /etc of its own, with all that the machine's has but that one link.
  launch.under = PrivateMounts(StrCat("mkdir -p '", daemon / "etc", "'; cp -a /etc/. '", daemon / "etc",
                                      "' 2>/dev/null || true; ln -sfn /nowhere '", daemon / "etc/localtime",
                                      "'; mount --bind '", daemon / "etc",
                                      "' /etc; test ! -e /etc/localtime; test -L /etc/localtime"));
  daemon.StandAt("2026-07-01T06:59:00Z");
  ASSERT_TRUE(daemon.Start(launch)) << daemon.log();
  EXPECT_NE(daemon.Get("/api/v1/tasks").Dump().find("2026-07-01T09:00:00+02:00"), std::string::npos)
      << daemon.Get("/api/v1/tasks").Dump();
  EXPECT_EQ(daemon.Stop(), 0) << daemon.log();
}

}  // namespace
}  // namespace duecourse

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int code = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  return code == 0 && all.skipped_test_count() > 0 ? duecourse::kSkipped : code;
}
