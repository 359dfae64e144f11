// Scenarios 02, 05, 53, 58: late starts, hanging neighbours, checks that hang, data that is not today's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/text.h"
#include "daemon.h"
#include "net/test_peer.h"

namespace duecourse {
namespace {

constexpr const char* kDesk =
    "owners: {desk: {P2: [page], P1: [page]}}\nchannels: {page: {command: [/bin/true]}}\n";

Instant At(const std::string& text) { return ParseUtc(text).value(); }

// How long this machine keeps whoever wakes up waiting for a processor and the disk, taken while a scenario
// runs: rounds of a short rest and one durable write, in a thread of the test. What it takes away from
// everybody is not the daemon's lateness, so a bound in time is the scenario's own plus the longest round of
// just then.
class Witness {
 public:
  explicit Witness(const TestDaemon& daemon) : daemon_(daemon), thread_([this] { Watch(); }) {}
  ~Witness() {
    over_ = true;
    thread_.join();
  }
  // Real milliseconds beyond the rest, of the longest round that touches this span of the daemon's time.
  int64_t Longest(Instant from, Instant until) {
    MutexLock lock(mutex_);
    int64_t longest = 0;
    for (const Round& round : rounds_) {
      if (round.from <= until && from <= round.until) longest = std::max(longest, round.late_ms);
    }
    return longest;
  }
  int64_t Longest() { return Longest(kLongAgo, kNever); }

 private:
  struct Round {
    Instant from, until;
    int64_t late_ms = 0;
  };
  void Watch() {
    constexpr int kRestMs = 20;
    Fd file(::open((daemon_ / "witness").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    while (!over_) {
      Round round;
      round.from = daemon_.Now();
      const int64_t from = MonotonicMicros();
      ::poll(nullptr, 0, kRestMs);
      EXPECT_EQ(::pwrite(file.get(), "witness", 7, 0), 7);
      EXPECT_EQ(::fdatasync(file.get()), 0);
      round.late_ms = (MonotonicMicros() - from) / 1000 - kRestMs;
      round.until = daemon_.Now();
      MutexLock lock(mutex_);
      rounds_.push_back(round);
    }
  }

  const TestDaemon& daemon_;
  std::atomic<bool> over_{false};
  Mutex mutex_;
  std::vector<Round> rounds_ GUARDED_BY(mutex_);
  std::thread thread_;
};

// Scenario 01 beside its drill: a year of minutely occurrences is decided at once by a real daemon too.
TEST(Scenario01, AYearOffIsDecidedWithinASecond) {
  TestDaemon daemon;
  daemon.Rules(
      "task_id: poll-inbox\ntrigger: {cron: \"* * * * *\", timezone: UTC, window_end: +5m, missed: latest}\n"
      "idempotency: {business_key: \"poll-inbox:{scheduled_at}\"}\nexecution: {noop: {}}\n");
  daemon.InForceSince("2025-03-03T06:10:20Z");
  daemon.StandAt("2026-03-03T06:10:20Z");
  Witness witness(daemon);
  const Instant from = At("2026-03-03T06:10:20Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(daemon.AwaitState("poll-inbox:2026-03-03T06:10:00Z", "success")) << daemon.Tell("poll-inbox");
  Instant started = At(daemon.Attempts("poll-inbox:2026-03-03T06:10:00Z").at(0).Get("started_at").AsString());
  EXPECT_LT((started - from).count, 1'000 + witness.Longest()) << daemon.Tell("poll-inbox");
  std::vector<Json> ranges = daemon.Ranges("poll-inbox");
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].Get("count").AsInteger(), 525'599) << ranges[0].Dump();
  EXPECT_EQ(daemon.Runs("poll-inbox").size(), 1u);
  // Why 03:00 did not run: down from when to when, and what took its place.
  ProgramResult why = daemon.Cli({"why", "poll-inbox", "2026-03-03"});
  EXPECT_NE(why.out.find("down from 2025-03-03T06:10:2"), std::string::npos) << why.out << why.err;
  EXPECT_NE(why.out.find("to 2026-03-03T06:10:2"), std::string::npos) << why.out;
  EXPECT_NE(why.out.find("superseded by the occurrence of 2026-03-03T06:10:00+00:00"), std::string::npos)
      << why.out;
}

// Scenario 03 beside its drill: the list shows yesterday's success no longer.
TEST(Scenario03, TheListShowsAMissedDayAsTheLastResult) {
  TestDaemon daemon;
  daemon.Settings(
      StrCat("owners: {desk: {P2: [page], P1: [page]}}\nchannels: {page: {command: [/bin/sh, -c, "
             "'cat >> ",
             daemon / "pages", "']}}\n"));
  daemon.Rules(
      "task_id: daily-briefing\nowner: desk\n"
      "trigger: {cron: \"0 9 * * *\", timezone: Asia/Shanghai, window_start: \"09:00\", window_end: "
      "\"12:00\", missed: latest}\n"
      "idempotency: {business_key: \"daily-briefing:{business_date}\"}\nexecution: {noop: {}}\n");
  daemon.InForceSince("2026-03-02T08:00:00+08:00");
  daemon.StandAt("2026-03-02T11:31:00+08:00");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_TRUE(daemon.AwaitState("daily-briefing:2026-03-02", "success")) << daemon.Tell("daily-briefing");
  EXPECT_EQ(daemon.Stop(), 0);
  daemon.StandAt("2026-03-03T12:01:00+08:00");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  auto listed = [&] { return daemon.Get("/api/v1/tasks").Get("tasks").AsArray().at(0); };
  EXPECT_TRUE(Eventually([&] { return listed().Get("last_result").AsString() == "missed"; }))
      << listed().Dump();
  EXPECT_EQ(listed().Get("last_date").AsString(), "2026-03-03") << listed().Dump();
  EXPECT_NE(daemon.Cli({"show"}).out.find("missed"), std::string::npos) << daemon.Cli({"show"}).out;
  EXPECT_TRUE(daemon.Attempts("daily-briefing:2026-03-03").empty());
  // The alert leaves at once and names the day and the window.
  ASSERT_TRUE(Eventually([&] { return !Content(daemon / "pages").empty(); })) << daemon.log();
  ASSERT_EQ(daemon.Alerts("daily-briefing").size(), 1u);
  EXPECT_EQ(daemon.Alerts("daily-briefing").at(0).Get("level").AsString(), "P2");
  const std::string page = Content(daemon / "pages");
  EXPECT_NE(page.find("2026-03-03"), std::string::npos) << page;
  EXPECT_NE(page.find("window until 2026-03-03T12:00:00+08:00"), std::string::npos) << page;
}

void WriteStockPurchase(TestDaemon& daemon) {
  daemon.Settings(kDesk);
  daemon.Rules(
      "task_id: stock-purchase\nowner: desk\n"
      "trigger: {cron: \"35 11 * * 1-5\", timezone: Asia/Shanghai, window_start: \"11:35\", window_end: "
      "\"11:50\"}\n"
      "idempotency: {business_key: \"stock-purchase:{business_date}\"}\nexecution: {noop: {}}\n");
}

TEST(Scenario02, ALateOccurrenceStartsWhileItsWindowIsOpen) {
  TestDaemon daemon;
  WriteStockPurchase(daemon);
  daemon.InForceSince("2026-03-02T11:00:00+08:00");
  daemon.StandAt("2026-03-02T11:33:30+08:00", 10);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  daemon.Until("2026-03-02T11:34:50+08:00");
  daemon.program().Signal(SIGSTOP);
  daemon.Until("2026-03-02T11:36:30+08:00");
  Instant continued = daemon.Now();
  daemon.program().Signal(SIGCONT);
  ASSERT_TRUE(daemon.AwaitState("stock-purchase:2026-03-02", "success")) << daemon.Tell("stock-purchase");
  std::vector<Json> attempts = daemon.Attempts("stock-purchase:2026-03-02");
  ASSERT_EQ(attempts.size(), 1u);
  Instant started = At(attempts[0].Get("started_at").AsString());
  EXPECT_LE((started - continued).count, static_cast<int64_t>(2'000 * daemon.rate()))
      << "not within 2 s of SIGCONT";
  // How late it was is recorded.
  std::string told;
  for (const Json& row : daemon.Decisions("stock-purchase")) {
    if (row.Get("decision").AsString() == "run") told = row.Get("detail").Get("text").AsString();
  }
  EXPECT_NE(told.find("late"), std::string::npos) << daemon.Tell("stock-purchase");
}

TEST(Scenario02, WhatCameDueWhileTheDaemonWasStoppedIsOwed) {
  TestDaemon daemon;
  WriteStockPurchase(daemon);
  daemon.InForceSince("2026-03-02T11:00:00+08:00");
  daemon.StandAt("2026-03-02T11:40:00+08:00");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_TRUE(daemon.AwaitState("stock-purchase:2026-03-02", "success")) << daemon.Tell("stock-purchase");
}

TEST(Scenario02, OnlyTheEndOfTheWindowMakesItMissed) {
  TestDaemon daemon;
  WriteStockPurchase(daemon);
  daemon.InForceSince("2026-03-03T11:00:00+08:00");
  daemon.StandAt("2026-03-03T11:30:00+08:00", 30);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  daemon.Until("2026-03-03T11:34:50+08:00");
  daemon.program().Signal(SIGSTOP);
  daemon.Until("2026-03-03T11:51:00+08:00");
  daemon.program().Signal(SIGCONT);
  ASSERT_TRUE(Eventually([&] { return !daemon.Ranges("stock-purchase").empty(); }))
      << daemon.Tell("stock-purchase");
  Json range = daemon.Ranges("stock-purchase").at(0);
  EXPECT_EQ(range.Get("state").AsString(), "missed");
  EXPECT_EQ(range.Get("reason").AsString(), "scheduler_down");
  EXPECT_EQ(range.Get("count").AsInteger(), 1);
  EXPECT_NE(range.Get("detail").AsString().find("down from 2026-03-03T11:3"), std::string::npos)
      << range.Dump();
  EXPECT_NE(range.Get("detail").AsString().find("to 2026-03-03T11:5"), std::string::npos) << range.Dump();
  EXPECT_TRUE(daemon.Runs("stock-purchase").empty()) << daemon.Tell("stock-purchase");
  ASSERT_TRUE(Eventually([&] { return !daemon.Alerts("stock-purchase").empty(); }));
  EXPECT_EQ(daemon.Alerts("stock-purchase").size(), 1u);
}

TEST(Scenario05, HangingNeighboursDelayNobody) {
  const double rate = 15;
  // A port that accepts and never answers: for agents, checks and alerts.
  RawServer* server = nullptr;
  RawServer mute([&](RawPeer& peer) {
    while (server != nullptr && server->Holding(peer)) {
    }
  });
  server = &mute;
  TestDaemon daemon;
  daemon.Settings(StrCat("owners: {desk: {P2: [page], P1: [page]}}\nchannels: {page: {webhook: \"",
                         mute.Url("/alert"), "\"}}\n"));
  std::string rules = StrCat(
      "tasks:\n- {task_id: heartbeat, trigger: {cron: \"* * * * *\", timezone: UTC}, idempotency: "
      "{business_key: \"hb:{scheduled_at}\"},\n"
      "   execution: {shell: 'true'}}\n"
      "- {task_id: failing, owner: desk, trigger: {cron: \"31 * * * *\", timezone: UTC}, execution: {shell: "
      "'exit 65'}}\n"
      "- task_id: checking\n  trigger: {cron: \"30 * * * *\", timezone: UTC, window_end: +20m}\n"
      "  preconditions: [{http: {url: \"",
      mute.Url("/ready"),
      "\"}}]\n"
      "  idempotency: {business_key: \"checking:{scheduled_at}\"}\n  execution: {shell: 'true'}\n");
  for (int i = 1; i <= 20; ++i) {
    rules += StrCat("- {task_id: hung-", i, ", trigger: {cron: \"30 * * * *\", timezone: UTC}, execution: {",
                    i % 2 == 0 ? std::string("shell: 'exec sleep 840'")
                               : StrCat("http: {url: \"", mute.Url("/agent"), "\"}"),
                    ", timeout: 20m}}\n");
  }
  daemon.Rules(rules);
  daemon.InForceSince("2026-03-02T08:29:05Z");
  daemon.StandAt("2026-03-02T08:29:30Z", rate);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  Witness witness(daemon);
  int64_t oldest_step = 0;
  const std::string end = LongRun() ? "2026-03-02T08:45:30Z" : "2026-03-02T08:36:30Z";
  Eventually(
      [&] {
        Json health = daemon.Get("/healthz");
        EXPECT_TRUE(health.Get("healthy").AsBool()) << health.Dump();
        oldest_step = std::max(oldest_step, health.Get("step_age_ms").AsInteger());
        return daemon.PassedBy(end);
      },
      daemon.BoundUntil(end));
  EXPECT_LT(oldest_step, 2'000 + witness.Longest())
      << "an idle engine steps once a second; more than a second over that is a lag";
  int minutes = 0;
  for (Instant due = At("2026-03-02T08:30:00Z"); due < At(end); due = due + Minutes(1), ++minutes) {
    std::vector<Json> attempts = daemon.Attempts(StrCat("hb:", FormatUtc(due)));
    ASSERT_EQ(attempts.size(), 1u) << FormatUtc(due) << daemon.Tell("heartbeat");
    Instant started = At(attempts[0].Get("started_at").AsString());
    const int64_t machine_ms = witness.Longest(due, started);
    EXPECT_LT(static_cast<double>((started - due).count) / daemon.rate(), 1'000 + machine_ms)
        << "real milliseconds, of which the machine's own " << machine_ms << "\n"
        << attempts[0].Dump();
  }
  EXPECT_EQ(minutes, LongRun() ? 16 : 7);
  EXPECT_EQ(daemon.Runs("hung-1").at(0).Get("state").AsString(), "running") << daemon.Tell("hung-1");
  EXPECT_FALSE(daemon.Alerts("failing").empty());
  for (int i = 2; i <= 20; i += 2) {
    std::string id = daemon.Runs(StrCat("hung-", i)).at(0).Get("run_id").AsString();
    daemon.Cli({"cancel", id, "--by", "tester", "--reason", "over"});
  }
  daemon.Kill();
  server = nullptr;
}

// A server whose behaviour is changed while the check goes on asking; counts what is open at once.
class MoodyServer {
 public:
  MoodyServer() : server_([this](RawPeer& peer) { Serve(peer); }) {}
  void Behave(const std::string& mood) {
    MutexLock lock(mutex_);
    mood_ = mood;
    asked_ = 0;
  }
  int asked() {
    MutexLock lock(mutex_);
    return asked_;
  }
  int64_t most_open() {
    MutexLock lock(mutex_);
    return most_open_;
  }
  int64_t longest_ms() {
    MutexLock lock(mutex_);
    return longest_ms_;
  }
  std::string Url() const { return server_.Url("/healthz"); }

 private:
  void Serve(RawPeer& peer) {
    std::string mood;
    {
      MutexLock lock(mutex_);
      mood = mood_;
      ++asked_;
      open_.insert(&peer);
      // One whose thread has not noticed yet that it was given up is not open any more.
      most_open_ = std::max<int64_t>(
          most_open_, std::count_if(open_.begin(), open_.end(),
                                    [&](const RawPeer* one) { return one == &peer || !one->HungUp(); }));
    }
    const int64_t from = MonotonicMicros();
    peer.ReadHead();
    Answer(peer, mood);
    MutexLock lock(mutex_);
    open_.erase(&peer);
    longest_ms_ = std::max(longest_ms_, (MonotonicMicros() - from) / 1000);
  }
  void Answer(RawPeer& peer, const std::string& mood) {
    auto reply = [&](const std::string& status, const std::string& headers, const std::string& body) {
      peer.Send(StrCat("HTTP/1.1 ", status, "\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n",
                       headers, "\r\n", body));
    };
    if (mood == "mute") {
      while (server_.Holding(peer)) {
      }
    } else if (mood == "slow") {
      peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
      for (int n = 0; server_.Holding(peer); ++n) {
        if (n % 50 == 0 && !peer.Send("{")) break;
      }
    } else if (mood == "redirect") {
      reply("302 Found", StrCat("Location: ", server_.Url("/healthz"), "\r\n"), "");
    } else if (mood == "endless") {
      peer.Send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n\"");
      while (peer.Send(std::string(65536, 'x'))) {
      }
    } else if (mood == "500") {
      reply("500 Internal Server Error", "", "oops");
    } else {
      reply("200 OK", "Content-Type: application/json\r\n", StrCat("{\"status\": \"", mood, "\"}"));
    }
  }

  Mutex mutex_;
  std::string mood_ GUARDED_BY(mutex_) = "mute";
  int asked_ GUARDED_BY(mutex_) = 0;
  std::set<const RawPeer*> open_ GUARDED_BY(mutex_);
  int64_t most_open_ GUARDED_BY(mutex_) = 0;
  int64_t longest_ms_ GUARDED_BY(mutex_) = 0;
  RawServer server_;
};

TEST(Scenario53, AHangingCheckIsNeverAYesAndIsNamed) {
  MoodyServer server;
  TestDaemon daemon;
  // Longer than the time-out, so that the check before has let go of the server by then, whatever the machine
  // does.
  const std::string every = LongRun() ? "30s" : "2s";
  const std::string timeout = LongRun() ? "5s" : "1s";
  daemon.Rules(
      StrCat("task_id: t\n"
             "trigger:\n  cron: \"0 8 * * *\"\n  timezone: UTC\n  window_start: \"08:00\"\n  window_end: "
             "\"08:30\"\n  check_interval: ",
             every, "\n  preconditions:\n    - {http: {url: \"", server.Url(),
             "\", expect: {json: {/status: UP}}}, timeout: ", timeout,
             ", max_age: 0s}\nidempotency: {business_key: \"t:{business_date}\"}\nexecution: {noop: {}}\n"));
  daemon.InForceSince("2026-03-02T07:00:00Z");
  daemon.StandAt("2026-03-02T07:59:58Z");
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  Witness witness(daemon);
  struct Mood {
    const char* name;
    const char* told;
  };
  constexpr Mood kMoods[] = {{"mute", "no answer"},    {"slow", "slow"},
                             {"redirect", "redirect"}, {"endless", "larger than 65536 bytes"},
                             {"500", "status 500"},    {"DOWN", "/status is \\\"DOWN\\\""}};
  const int checks = LongRun() ? 4 : 2;
  for (const Mood& mood : kMoods) {
    SCOPED_TRACE(mood.name);
    server.Behave(mood.name);
    EXPECT_TRUE(Eventually([&] { return server.asked() > checks; }, 180'000)) << daemon.Tell("t");
    EXPECT_TRUE(Eventually(
        [&] {
          for (const char* reason :
               {"precondition_check_failed", "precondition_not_ready", "precondition_invalid"}) {
            for (const std::string& detail : daemon.Details("t", reason)) {
              if (detail.find(mood.told) != std::string::npos) return true;
            }
          }
          return false;
        },
        10'000))
        << daemon.Tell("t");
    EXPECT_EQ(daemon.State("t:2026-03-02"), "scheduled");
  }
  server.Behave("UP");
  const Instant up = daemon.Now();
  EXPECT_TRUE(daemon.AwaitState("t:2026-03-02", "success")) << daemon.Tell("t");
  ASSERT_EQ(daemon.Attempts("t:2026-03-02").size(), 1u);
  Instant started = At(daemon.Attempts("t:2026-03-02").at(0).Get("started_at").AsString());
  EXPECT_LE((started - up).count, (LongRun() ? 30'000 : 2'000) + 500 + witness.Longest(up, started));
  EXPECT_EQ(server.most_open(), 1);
  EXPECT_LE(server.longest_ms(), (LongRun() ? 5'000 : 1'000) + 500 + witness.Longest());
}

void SetModified(const std::string& path, const std::string& instant) {
  int64_t ms = At(instant).ms;
  timespec times[2] = {{ms / 1000, 0}, {ms / 1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

bool AwaitDetail(const TestDaemon& daemon, const std::string& reason, const std::string& part) {
  return Eventually([&] {
    for (const std::string& detail : daemon.Details("publish", reason)) {
      if (detail.find(part) != std::string::npos) return true;
    }
    return false;
  });
}

TEST(Scenario58, DataOfAnotherDayIsNeverGoodEnough) {
  TestDaemon daemon;
  daemon.Settings(kDesk);
  const std::string file = daemon / "rules/in/latest.csv";
  daemon.Rules(
      "task_id: publish\nowner: desk\n"
      "trigger:\n  cron: \"0 8 * * *\"\n  timezone: Asia/Shanghai\n  window_start: \"08:00\"\n  window_end: "
      "\"10:00\"\n  check_interval: 5s\n"
      "  on_window_end: missed\n"
      "  preconditions:\n    - {flag: {name: warehouse_ready, value: \"{business_date}\", dated: false}, "
      "max_age: 0s}\n"
      "    - {file: {path: \"in/latest.csv\", modified_after: business_date, first_line: "
      "\"{business_date}\"}, max_age: 0s}\n"
      "idempotency: {business_key: \"publish:{business_date}\"}\nexecution: {noop: {}}\n");
  WriteText(file, "2026-03-01\n1,2\n");
  SetModified(file, "2026-03-01T23:00:00+08:00");
  daemon.InForceSince("2026-03-02T07:00:00+08:00");
  daemon.StandAt("2026-03-02T07:59:50+08:00", 10);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  auto set_flag = [&](const std::string& value) {
    ProgramResult set =
        daemon.Cli({"flag", "set", "warehouse_ready", "--undated", "--value", value, "--by", "etl"});
    EXPECT_EQ(set.code, 0) << set.err;
  };
  set_flag("2026-03-01");
  EXPECT_TRUE(AwaitDetail(daemon, "precondition_not_ready", "2026-03-01")) << daemon.Tell("publish");
  set_flag("2026-03-02");
  EXPECT_TRUE(AwaitDetail(daemon, "precondition_not_ready", "latest.csv")) << daemon.Tell("publish");
  EXPECT_EQ(daemon.State("publish:2026-03-02"), "scheduled");
  WriteText(file + ".new", "2026-03-02\n1,2\n");
  SetModified(file + ".new", "2026-03-02T08:00:30+08:00");
  ASSERT_EQ(std::rename((file + ".new").c_str(), file.c_str()), 0);
  EXPECT_TRUE(daemon.AwaitState("publish:2026-03-02", "success")) << daemon.Tell("publish");
  EXPECT_EQ(daemon.Attempts("publish:2026-03-02").size(), 1u);
  EXPECT_EQ(daemon.Stop(), 0);

  daemon.StandAt("2026-03-03T07:59:50+08:00", 10);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  set_flag("2026-03-03");
  SetModified(file, "2026-03-03T07:59:55+08:00");
  EXPECT_TRUE(AwaitDetail(daemon, "precondition_invalid", "2026-03-02")) << daemon.Tell("publish");
  EXPECT_EQ(daemon.Stop(), 0);
  daemon.StandAt("2026-03-03T09:59:30+08:00", 10);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_TRUE(daemon.AwaitState("publish:2026-03-03", "missed")) << daemon.Tell("publish");
  std::string detail = daemon.Run("publish:2026-03-03")->Get("detail").AsString();
  EXPECT_NE(detail.find("first line 2026-03-02 != 2026-03-03"), std::string::npos) << detail;
  EXPECT_TRUE(daemon.Attempts("publish:2026-03-03").empty());
  EXPECT_EQ(daemon.Alerts("publish").size(), 1u);
}

}  // namespace
}  // namespace duecourse
