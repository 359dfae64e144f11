// Scenarios 12, 22, 46 and the restart of W6: what kill -9 leaves behind, and what a new daemon makes of it.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "daemon.h"

namespace duecourse {
namespace {

constexpr const char* kDesk =
    "owners: {desk: {P2: [page], P1: [page]}}\nchannels: {page: {command: [/bin/true]}}\n";

size_t DecisionsWith(const TestDaemon& daemon, const std::string& task, const std::string& reason) {
  size_t count = 0;
  for (const Json& row : daemon.Decisions(task)) count += row.Get("reason").AsString() == reason ? 1 : 0;
  return count;
}

// Lines of the decision log for a lost attempt, whatever followed from it.
size_t LostLines(const TestDaemon& daemon, const std::string& task) {
  size_t count = 0;
  for (const Json& row : daemon.Decisions(task)) count += row.Get("error_code").AsString() == "lost" ? 1 : 0;
  return count;
}

// The levels of the alerts of that event.
std::vector<std::string> LevelsOf(const TestDaemon& daemon, const std::string& task,
                                  const std::string& event) {
  std::vector<std::string> levels;
  for (const Json& alert : daemon.Alerts(task)) {
    if (alert.Get("event").AsString() == event) levels.push_back(alert.Get("level").AsString());
  }
  return levels;
}

const std::vector<std::string> kOneP2 = {"P2"};

size_t AttemptsThatEnded(const TestDaemon& daemon, const std::string& key, const std::string& outcome) {
  size_t count = 0;
  for (const Json& attempt : daemon.Attempts(key))
    count += attempt.Get("outcome").AsString() == outcome ? 1 : 0;
  return count;
}

void WriteWakeUp(TestDaemon& daemon, const std::string& on_lost) {
  daemon.Settings(kDesk);
  daemon.Rules(StrCat(
      "task_id: wake-up-message\nowner: desk\n"
      "trigger: {cron: \"15 6 * * *\", timezone: UTC, window_start: \"06:15\", window_end: \"08:15\"}\n"
      "retry: {backoff: {max_attempts: 2, initial: 30s, jitter: 0s}, max_total_attempts: 3}\n"
      "on_lost: ",
      on_lost,
      "\nidempotency: {business_key: \"wake:{business_date}\"}\n"
      "execution: {shell: 'echo \"$DUECOURSE_KEY $DUECOURSE_ATTEMPT $DUECOURSE_FENCE\" >> ",
      daemon / "sink", "'}\n"));
}

struct CrashPoint {
  const char* name;
  bool surely_before_exec;
};
constexpr CrashPoint kCrashPoints[] = {{"claim.after", true},        {"exec.before_marker", true},
                                       {"exec.after_marker", false}, {"exec.after_spawn", false},
                                       {"exec.before_end", false},   {"finish.before", false}};

// Starts at 06:14:58 with the failpoint and lets it end the daemon.
void CrashAt(TestDaemon& daemon, const char* point) {
  TestDaemon::Launch launch;
  launch.env = {StrCat("DC_FAIL=", point)};
  daemon.Start(launch);
  ASSERT_EQ(daemon.program().Wait(), 128 + SIGKILL) << point << "\n" << daemon.log();
}

TEST(Scenario12, UnderHoldACrashSendsTheMessageAtMostOnce) {
  for (const CrashPoint& point : kCrashPoints) {
    SCOPED_TRACE(point.name);
    TestDaemon daemon;
    WriteWakeUp(daemon, "hold");
    daemon.InForceSince("2026-03-02T06:00:00Z");
    daemon.StandAt("2026-03-02T06:14:58Z");
    CrashAt(daemon, point.name);
    ASSERT_TRUE(daemon.Start()) << daemon.log();
    const std::string expected = point.surely_before_exec ? "success" : "manual_required";
    EXPECT_TRUE(daemon.AwaitState("wake:2026-03-02", expected)) << daemon.Tell("wake-up-message");
    // Nothing changes that any more, however often it is restarted.
    for (int i = 0; i < 3; ++i) {
      daemon.Kill();
      ASSERT_TRUE(daemon.Start()) << daemon.log();
      EXPECT_EQ(daemon.State("wake:2026-03-02"), expected);
    }
    std::vector<std::string> sent = Lines(Content(daemon / "sink"));
    if (point.surely_before_exec) {
      EXPECT_EQ(sent, std::vector<std::string>{"wake:2026-03-02 2 2"});
      EXPECT_EQ(daemon.Attempts("wake:2026-03-02").at(0).Get("outcome").AsString(), "not_started");
    } else {
      EXPECT_LE(sent.size(), 1u);
      EXPECT_EQ(daemon.Attempts("wake:2026-03-02").at(0).Get("outcome").AsString(), "lost");
      EXPECT_EQ(DecisionsWith(daemon, "wake-up-message", "attempt_lost"), 1u)
          << daemon.Tell("wake-up-message");
      EXPECT_EQ(LevelsOf(daemon, "wake-up-message", "manual_required"), kOneP2);
    }
  }
}

TEST(Scenario12, UnderRerunTheCapHoldsHoweverOftenItCrashes) {
  for (const CrashPoint& point : kCrashPoints) {
    SCOPED_TRACE(point.name);
    TestDaemon daemon;
    WriteWakeUp(daemon, "rerun");
    daemon.InForceSince("2026-03-02T06:00:00Z");
    daemon.StandAt("2026-03-02T06:14:58Z", 15);
    // Crashing ends when nothing is started any more: then the daemon lives.
    TestDaemon::Launch launch;
    launch.env = {StrCat("DC_FAIL=", point.name)};
    const int kRestarts = point.surely_before_exec ? 4 : 20;
    int crashes = 0;
    const size_t cap = 3;
    while (crashes < kRestarts) {
      daemon.Start(launch);
      bool ended = Eventually([&] {
        return !daemon.program().running() || daemon.State("wake:2026-03-02") == "manual_required";
      });
      ASSERT_TRUE(ended) << daemon.Tell("wake-up-message");
      if (daemon.program().running()) break;
      ASSERT_EQ(daemon.program().Wait(), 128 + SIGKILL) << daemon.log();
      ++crashes;
    }
    if (point.surely_before_exec) {
      // Nothing was ever started, so nothing was counted; without the fault it runs once.
      EXPECT_EQ(crashes, kRestarts);
      ASSERT_TRUE(daemon.Start()) << daemon.log();
      EXPECT_TRUE(daemon.AwaitState("wake:2026-03-02", "success")) << daemon.Tell("wake-up-message");
      EXPECT_EQ(Lines(Content(daemon / "sink")).size(), 1u);
      continue;
    }
    EXPECT_EQ(crashes, static_cast<int>(cap)) << daemon.Tell("wake-up-message");
    EXPECT_EQ(daemon.State("wake:2026-03-02"), "manual_required");
    EXPECT_EQ(daemon.Run("wake:2026-03-02")->Get("reason").AsString(), "attempts_exhausted");
    std::vector<std::string> sent = Lines(Content(daemon / "sink"));
    EXPECT_LE(sent.size(), cap);
    for (const std::string& line : sent) EXPECT_TRUE(line.starts_with("wake:2026-03-02 ")) << line;
    EXPECT_EQ(AttemptsThatEnded(daemon, "wake:2026-03-02", "lost"), cap);
    EXPECT_EQ(LostLines(daemon, "wake-up-message"), cap) << daemon.Tell("wake-up-message");
    EXPECT_EQ(LevelsOf(daemon, "wake-up-message", "manual_required"), kOneP2);
  }
}

bool IsOver(const std::string& state) { return state == "success" || state == "manual_required"; }

// Twenty starts, each ended by kill -9 at a moment drawn by chance: at one of the crash points, or once the
// run is over.
void CrashTwentyTimes(TestDaemon& daemon, Random& random) {
  constexpr int kCrashes = 20;
  const auto kPoints = static_cast<int64_t>(std::size(kCrashPoints));
  for (int i = 0; i < kCrashes; ++i) {
    const int64_t drawn = random.Between(0, kPoints);
    TestDaemon::Launch launch;
    if (drawn < kPoints) launch.env = {StrCat("DC_FAIL=", kCrashPoints[drawn].name)};
    daemon.Start(launch);
    ASSERT_TRUE(Eventually([&] {
      return !daemon.program().running() || IsOver(daemon.State("wake:2026-03-02"));
    })) << daemon.Tell("wake-up-message");
    daemon.program().Signal(SIGKILL);
    ASSERT_EQ(daemon.program().Wait(), 128 + SIGKILL) << daemon.log();
  }
}

TEST(Scenario12, TwentyCrashesAtAnyMomentsSendNoMoreThanTheRuleAllows) {
  struct Story {
    const char* on_lost;
    size_t most;
  };
  const uint64_t seeds = LongRun() ? 10 : 2;
  for (const Story& story : {Story{"hold", 1}, Story{"rerun", 3}}) {
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      SCOPED_TRACE(StrCat(story.on_lost, ", seed ", seed));
      TestDaemon daemon;
      WriteWakeUp(daemon, story.on_lost);
      daemon.InForceSince("2026-03-02T06:00:00Z");
      daemon.StandAt("2026-03-02T06:14:58Z");
      Random random(seed);
      CrashTwentyTimes(daemon, random);
      if (testing::Test::HasFatalFailure()) return;
      ASSERT_TRUE(daemon.Start()) << daemon.log();
      ASSERT_TRUE(Eventually([&] { return IsOver(daemon.State("wake:2026-03-02")); }))
          << daemon.Tell("wake-up-message");
      const std::string state = daemon.State("wake:2026-03-02");
      std::vector<std::string> sent = Lines(Content(daemon / "sink"));
      EXPECT_LE(sent.size(), story.most) << Content(daemon / "sink") << daemon.Tell("wake-up-message");
      for (const std::string& line : sent) EXPECT_TRUE(line.starts_with("wake:2026-03-02 ")) << line;
      const size_t lost = AttemptsThatEnded(daemon, "wake:2026-03-02", "lost");
      EXPECT_EQ(LostLines(daemon, "wake-up-message"), lost) << daemon.Tell("wake-up-message");
      EXPECT_LE(lost + AttemptsThatEnded(daemon, "wake:2026-03-02", "success"), story.most);
      if (state == "success") {
        EXPECT_GE(sent.size(), 1u);
      } else {
        EXPECT_GE(lost, 1u);
        EXPECT_EQ(LevelsOf(daemon, "wake-up-message", "manual_required"), kOneP2);
      }
      EXPECT_EQ(daemon.Runs("wake-up-message").size(), 1u);
    }
  }
}

void WriteChain(TestDaemon& daemon, const std::string& build) {
  daemon.Settings(kDesk);
  daemon.Rules(StrCat(
      "tasks:\n"
      "- task_id: build\n  owner: desk\n"
      "  trigger: {cron: \"0 22 * * *\", timezone: UTC, window_start: \"22:00\", window_end: \"23:30\"}\n"
      "  retry: {max_total_attempts: 2}\n  on_lost: rerun\n"
      "  idempotency: {business_key: \"build:{business_date}\"}\n"
      "  execution: {shell: '",
      build,
      "', timeout: 2h}\n"
      "- task_id: publish\n  owner: desk\n  on_window_end: missed\n"
      "  trigger: {cron: \"0 23 * * *\", timezone: UTC, window_start: \"23:00\", window_end: \"23:59\",\n"
      "            depends_on: [{task: build, key: \"build:{business_date}\"}]}\n"
      "  idempotency: {business_key: \"publish:{business_date}\"}\n"
      "  alerts: {levels: {missed: P3}}\n"
      "  execution: {shell: 'true'}\n"));
}

// Runs until build's first attempt is under way, then kills the daemon at 22:30:47 as a power cut would.
void KillDuringBuild(TestDaemon& daemon, double rate) {
  daemon.InForceSince("2026-03-02T21:30:00Z");
  daemon.StandAt("2026-03-02T21:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(daemon.AwaitState("build:2026-03-02", "running")) << daemon.Tell("build");
  std::string run = daemon.Run("build:2026-03-02")->Get("run_id").AsString();
  ASSERT_TRUE(Eventually([&] { return !ProcessesWith(StrCat("DUECOURSE_RUN_ID=", run)).empty(); }));
  if (LongRun()) daemon.Until("2026-03-02T22:30:47Z");
  daemon.Kill();
  std::vector<pid_t> orphans = ProcessesWith(StrCat("DUECOURSE_RUN_ID=", run));
  EXPECT_FALSE(orphans.empty());
  daemon.StandAt("2026-03-02T22:30:47Z", rate);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_TRUE(Eventually([&] { return daemon.Attempts("build:2026-03-02").size() == 2; }))
      << daemon.Tell("build");
  for (pid_t orphan : orphans) EXPECT_FALSE(Alive(orphan)) << orphan;
}

TEST(Scenario22, AnInterruptedRunIsSeenRepeatedAndWaitedFor) {
  const double rate = 90;
  TestDaemon daemon;
  // The first attempt has to be longer than half an hour, or it is over at 22:30:47.
  WriteChain(daemon,
             LongRun() ? "test \"$DUECOURSE_ATTEMPT\" = 1 && exec sleep 3600; exec sleep 1800" : "sleep 20");
  KillDuringBuild(daemon, rate);
  std::vector<Json> attempts = daemon.Attempts("build:2026-03-02");
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].Get("outcome").AsString(), "lost");
  // When it began and when it was found lost, and why, are to be seen.
  EXPECT_TRUE(attempts[0].Get("started_at").AsString().starts_with("2026-03-02T22:00:0"))
      << attempts[0].Dump();
  EXPECT_GE(attempts[0].Get("ended_at").AsString(), "2026-03-02T22:30:47");
  EXPECT_LT(attempts[0].Get("ended_at").AsString(), "2026-03-02T22:32:47");
  EXPECT_EQ(DecisionsWith(daemon, "build", "attempt_lost"), 1u) << daemon.Tell("build");
  EXPECT_NE(daemon.Details("build", "attempt_lost").at(0).find("daemon"), std::string::npos)
      << daemon.Details("build", "attempt_lost").at(0);
  Instant second = ParseUtc(attempts[1].Get("started_at").AsString()).value();
  EXPECT_LT(second, ParseUtc("2026-03-02T22:32:47Z").value());

  EXPECT_TRUE(Eventually([&] { return !daemon.Details("publish", "precondition_not_ready").empty(); },
                         daemon.BoundUntil("2026-03-02T23:00:00Z")))
      << daemon.Tell("publish");
  std::string detail = daemon.Details("publish", "precondition_not_ready").at(0);
  EXPECT_NE(detail.find("build:2026-03-02 is running (attempt 2)"), std::string::npos) << detail;
  EXPECT_EQ(daemon.State("publish:2026-03-02"), "scheduled");
  EXPECT_TRUE(daemon.AwaitState("build:2026-03-02", "success", daemon.BoundUntil("2026-03-02T23:01:00Z")))
      << daemon.Tell("build");
  EXPECT_TRUE(daemon.AwaitState("publish:2026-03-02", "success")) << daemon.Tell("publish");
  EXPECT_EQ(daemon.Attempts("publish:2026-03-02").size(), 1u);
}

TEST(Scenario22, WhenTheRepeatFailsTooDownstreamIsMissedAndNamesTheCause) {
  TestDaemon daemon;
  WriteChain(daemon, StrCat("test -e ", daemon / "broken", " && exit 65; sleep 1800"));
  daemon.InForceSince("2026-03-02T21:30:00Z");
  daemon.StandAt("2026-03-02T21:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(daemon.AwaitState("build:2026-03-02", "running")) << daemon.Tell("build");
  daemon.Kill();
  WriteText(daemon / "broken", "");
  daemon.StandAt("2026-03-02T22:59:50Z", 20);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_TRUE(daemon.AwaitState("build:2026-03-02", "manual_required")) << daemon.Tell("build");
  EXPECT_TRUE(
      daemon.AwaitState("publish:2026-03-02", "scheduled", daemon.BoundUntil("2026-03-02T23:00:00Z")));
  EXPECT_EQ(daemon.Stop(), 0);
  daemon.StandAt("2026-03-02T23:58:40Z", 20);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_TRUE(daemon.AwaitState("publish:2026-03-02", "missed", daemon.BoundUntil("2026-03-02T23:59:00Z")))
      << daemon.Tell("publish");
  EXPECT_TRUE(daemon.Attempts("publish:2026-03-02").empty());
  EXPECT_NE(daemon.Run("publish:2026-03-02")->Get("detail").AsString().find("build:2026-03-02"),
            std::string::npos)
      << daemon.Tell("publish");
  EXPECT_EQ(LevelsOf(daemon, "build", "manual_required"), kOneP2);
  EXPECT_EQ(LevelsOf(daemon, "publish", "missed"), std::vector<std::string>{"P3"});
  EXPECT_EQ(daemon.Alerts("publish").size(), 1u);
}

TEST(Scenario46, TheCapHoldsAcrossRestartsNodesAndReloads) {
  TestDaemon daemon;
  daemon.Settings(StrCat(kDesk, "node_id: A\n"));
  daemon.Rules(
      "task_id: bad\nowner: desk\n"
      "trigger: {cron: \"0 10 * * *\", timezone: UTC, window_start: \"10:00\", window_end: \"12:00\"}\n"
      "retry: {backoff: {max_attempts: 3, initial: 60s, factor: 1, jitter: 0s}, max_total_attempts: 4}\n"
      "idempotency: {business_key: \"bad:{business_date}\"}\nexecution: {shell: 'exit 1'}\n");
  daemon.InForceSince("2026-03-02T09:30:00Z");
  daemon.StandAt("2026-03-02T09:59:55Z", 20);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  daemon.Until("2026-03-02T10:01:30Z");
  EXPECT_EQ(daemon.Stop(), 0);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  daemon.Until("2026-03-02T10:02:30Z");
  daemon.Kill();
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  daemon.Until("2026-03-02T10:03:30Z");
  EXPECT_EQ(daemon.Stop(), 0);
  daemon.Settings(StrCat(kDesk, "node_id: B\n"));
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_EQ(daemon.Cli({"reload", "--by", "tester"}).code, 0);
  EXPECT_TRUE(daemon.AwaitState("bad:2026-03-02", "manual_required")) << daemon.Tell("bad");
  std::vector<Json> attempts = daemon.Attempts("bad:2026-03-02");
  ASSERT_EQ(attempts.size(), 4u) << daemon.Tell("bad");
  // A minute apart, and later only by what a restart took.
  Instant before = ParseUtc("2026-03-02T09:59:00Z").value();
  for (const Json& attempt : attempts) {
    Instant at = ParseUtc(attempt.Get("started_at").AsString()).value();
    EXPECT_GE((at - before).count, 60'000) << daemon.Tell("bad");
    before = at;
  }
  EXPECT_EQ(daemon.Stop(), 0);
  daemon.StandAt("2026-03-02T11:59:50Z", 20);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  daemon.Until("2026-03-02T12:00:10Z");
  EXPECT_EQ(daemon.Attempts("bad:2026-03-02").size(), 4u);
  EXPECT_EQ(LevelsOf(daemon, "bad", "manual_required"), kOneP2) << daemon.Tell("bad");
}

// Each start after a crash would add a hanging check to those of the crashes before it.
TEST(RestartAfterKill, AHangingCheckOfTheKilledDaemonIsEnded) {
  TestDaemon daemon;
  daemon.Rules(
      StrCat("{task_id: t, trigger: {cron: \"0 12 * * *\", timezone: UTC, window_end: +2h}, preconditions: "
             "[{command: [/bin/sh, -c, 'echo $$ >> ",
             daemon / "checks",
             "; exec sleep 1000'], timeout: 10m}], idempotency: {business_key: \"t:{business_date}\"}, "
             "execution: {noop: {}}}\n"));
  daemon.InForceSince("2026-03-02T11:30:00Z");
  daemon.StandAt("2026-03-02T11:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  auto pids = [&] { return Lines(Content(daemon / "checks")); };
  ASSERT_TRUE(Eventually([&] { return pids().size() == 1; })) << daemon.Tell("t");
  const std::string stat = StrCat("/proc/", pids().front(), "/stat");
  daemon.Kill();
  ASSERT_TRUE(FileExists(stat)) << "the check went with its daemon, so this proves nothing";
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_TRUE(Eventually([&] { return !FileExists(stat); })) << daemon.log();
  ASSERT_TRUE(Eventually([&] { return pids().size() == 2; })) << daemon.Tell("t");
  EXPECT_TRUE(FileExists(StrCat("/proc/", pids().back(), "/stat"))) << "its own check must live";
}

// W6: with work under way in forty runs, kill -9 and restart: every lost attempt is decided within 2 s of
// the restart, every orphan is ended, nothing is lost and nothing runs twice at once.
TEST(RestartAfterKill, LostAttemptsAreDecidedWithinTwoSeconds) {
  constexpr int kRuns = 40;
  TestDaemon daemon;
  std::string rules = "tasks:\n";
  for (int i = 0; i < kRuns; ++i) {
    rules += StrCat(
        "- task_id: t", i,
        "\n  trigger: {cron: \"0 12 * * *\", timezone: UTC, window_start: \"12:00\", window_end: \"14:00\"}\n"
        "  retry: {max_total_attempts: 2}\n  idempotency: {business_key: \"t",
        i,
        ":{business_date}\"}\n"
        "  execution: {shell: 'echo $DUECOURSE_KEY $DUECOURSE_ATTEMPT >> ",
        daemon / "started", "; exec sleep 300', kill_grace: 1s}\n");
  }
  daemon.Rules(rules);
  daemon.InForceSince("2026-03-02T11:30:00Z");
  daemon.StandAt("2026-03-02T11:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(Eventually([&] { return Lines(Content(daemon / "started")).size() == kRuns; }))
      << daemon.Tell("t0");
  daemon.Kill();
  int64_t from = MonotonicMicros();
  Instant restarted = daemon.Now();
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(Eventually([&] { return Lines(Content(daemon / "started")).size() == 2 * kRuns; }))
      << daemon.Tell("t0");
  int64_t took_ms = (MonotonicMicros() - from) / 1000;
  RecordProperty("restart_to_all_rerun_ms", static_cast<int>(took_ms));
  std::set<std::string> lines;
  for (const std::string& line : Lines(Content(daemon / "started")))
    EXPECT_TRUE(lines.insert(line).second) << line;
  Instant latest = restarted;
  for (int i = 0; i < kRuns; ++i) {
    std::vector<Json> attempts = daemon.Attempts(StrCat("t", i, ":2026-03-02"));
    ASSERT_EQ(attempts.size(), 2u);
    EXPECT_EQ(attempts[0].Get("outcome").AsString(), "lost");
    latest = std::max(latest, ParseUtc(attempts[0].Get("ended_at").AsString()).value());
    EXPECT_EQ(ProcessesWith(StrCat("DUECOURSE_RUN_ID=", attempts[0].Get("run_id").AsString())).size(), 1u);
  }
  EXPECT_LE((latest - restarted).count, 2'000)
      << "decided " << (latest - restarted).count << " ms after the restart";
  // The second attempts go too, or the drain would wait for them.
  daemon.Kill();
  for (int i = 0; i < kRuns; ++i) {
    for (pid_t pid : ProcessesWith(StrCat("DUECOURSE_KEY=t", i, ":2026-03-02"))) ::kill(pid, SIGKILL);
  }
}

}  // namespace
}  // namespace duecourse
