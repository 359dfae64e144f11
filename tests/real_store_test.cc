// Scenarios 83 and 84: a store that others lock, that is damaged, or gone.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "daemon.h"
#include "db/sqlite.h"

namespace duecourse {
namespace {

std::string StoreFile(const TestDaemon& daemon) {
  for (const auto& entry : std::filesystem::directory_iterator(daemon.data())) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(".db") || name.ends_with(".sqlite")) return entry.path().string();
  }
  return "";
}

// Holds BEGIN EXCLUSIVE as a stranger would, for so many real milliseconds.
void HoldExclusive(const std::string& file, int64_t ms) {
  Database database;
  DbOptions options;
  options.busy_timeout = Seconds(30);
  ASSERT_TRUE(Database::Open(file, options, database).ok());
  ASSERT_TRUE(database.Execute("BEGIN EXCLUSIVE").ok());
  Eventually([] { return false; }, ms);
  ASSERT_TRUE(database.Execute("ROLLBACK").ok());
}

TEST(Scenario83, AStrangersLockDelaysAndLosesNothing) {
  const double rate = 6;
  TestDaemon daemon;
  daemon.Settings(
      StrCat("owners: {desk: {P2: [page], P1: [page]}}\nchannels: {page: {command: [/bin/sh, -c, 'cat >> ",
             daemon / "pages", "']}}\n"));
  daemon.Rules(
      StrCat("task_id: m\nowner: desk\ntrigger: {cron: \"* * * * *\", timezone: UTC}\n"
             "idempotency: {business_key: \"m:{scheduled_at}\"}\n"
             "execution: {shell: 'echo $DUECOURSE_KEY >> ",
             daemon / "out.log", "'}\n"));
  daemon.StandAt("2026-03-02T08:00:30Z", rate);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  const double real = LongRun() ? 1 : 1 / rate;
  const std::string file = StoreFile(daemon);
  ASSERT_NE(file, "");
  // 3 s of every 5, for five minutes (two where the story is compressed).
  while (!daemon.PassedBy(LongRun() ? "2026-03-02T08:05:30Z" : "2026-03-02T08:02:30Z")) {
    HoldExclusive(file, static_cast<int64_t>(3'000 * real));
    Eventually([] { return false; }, static_cast<int64_t>(2'000 * real));
  }
  EXPECT_EQ(daemon.Status("/healthz"), 200);

  // Once for 90 s: reads go on, health says what is wrong, somebody is told without the store.
  std::thread stranger([&] { HoldExclusive(file, static_cast<int64_t>(90'000 * real)); });
  bool unhealthy = false;
  bool told = false;
  int reads = 0;
  const int64_t until = MonotonicMicros() + static_cast<int64_t>(88'000'000 * real);
  Eventually(
      [&] {
        unhealthy = unhealthy || daemon.Status("/healthz") == 503;
        told = told || !Content(daemon / "pages").empty();
        reads += daemon.Status("/api/v1/runs") == 200 ? 1 : 0;
        return MonotonicMicros() >= until;
      },
      static_cast<int64_t>(100'000 * real));
  stranger.join();
  EXPECT_TRUE(unhealthy);
  EXPECT_TRUE(told);
  EXPECT_GT(reads, 3);
  EXPECT_TRUE(Eventually([&] { return daemon.Status("/healthz") == 200; }, 5'000));

  Instant end = daemon.Now();
  EXPECT_TRUE(Eventually([&] { return daemon.Now() > end + Minutes(1); }));
  Database copy;
  Database source;
  DbOptions reading;
  reading.read_only = true;
  ASSERT_TRUE(Database::Open(file, reading, source).ok());
  EXPECT_TRUE(source.Execute(StrCat("VACUUM INTO '", daemon / "backup.db", "'")).ok());
  for (int i = 0; i < 200; ++i) ASSERT_EQ(daemon.Status("/api/v1/runs?limit=20"), 200) << i;

  // Every minute is once in the log, or decided otherwise and recorded; none twice.
  EXPECT_EQ(daemon.Stop(), 0);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  std::map<std::string, int> lines;
  for (const std::string& line : Lines(Content(daemon / "out.log"))) EXPECT_EQ(++lines[line], 1) << line;
  std::map<std::string, std::string> states;
  for (const Json& run : daemon.Runs("m")) states[run.Get("key").AsString()] = run.Get("state").AsString();
  int delayed = 0;
  for (Instant due = ParseUtc("2026-03-02T08:01:00Z").value(); due < end; due = due + Minutes(1)) {
    std::string key = StrCat("m:", FormatUtc(due));
    bool in_range = false;
    for (const Json& range : daemon.Ranges("m")) {
      in_range = in_range || (ParseUtc(range.Get("first_due").AsString()).value() <= due &&
                              due <= ParseUtc(range.Get("last_due").AsString()).value());
    }
    EXPECT_TRUE(states.contains(key) || in_range) << key << " is recorded nowhere\n" << daemon.Tell("m");
    if (states[key] != "success") ++delayed;
    EXPECT_EQ(lines.contains(key), states[key] == "success") << key << " " << states[key];
  }
  EXPECT_LE(delayed, 2) << daemon.Tell("m");
}

// After the 08:00 run: stopped, the store changed by `damage`, started again at 09:00.
class Damaged {
 public:
  Damaged() {
    daemon.Settings(
        StrCat("owners: {desk: {P2: [page], P1: [page]}}\nchannels: {page: {command: [/bin/sh, -c, 'cat >> ",
               daemon / "pages", "']}}\n"));
    daemon.Rules(StrCat(
        "task_id: d\nowner: desk\n"
        "trigger: {cron: \"0 8 * * *\", timezone: UTC, window_start: \"08:00\", window_end: \"20:00\"}\n"
        "idempotency: {business_key: \"d:{business_date}\"}\n"
        "execution: {shell: 'echo $DUECOURSE_KEY >> ",
        daemon / "out.log", "'}\n"));
    daemon.InForceSince("2026-03-02T07:30:00Z");
    daemon.StandAt("2026-03-02T07:59:58Z");
    EXPECT_TRUE(daemon.Start()) << daemon.log();
    EXPECT_TRUE(daemon.AwaitState("d:2026-03-02", "success")) << daemon.Tell("d");
    EXPECT_EQ(daemon.Stop(), 0) << daemon.log();
    file = StoreFile(daemon);
    EXPECT_NE(file, "");
    daemon.StandAt("2026-03-02T09:00:00Z");
  }
  void ExpectRefusedAndUntouched() {
    const std::string before = Content(file);
    EXPECT_NE(daemon.StartRefused({}), 0);
    EXPECT_EQ(Content(file), before) << "the damaged file was changed";
    EXPECT_NE(daemon.log().find("not started"), std::string::npos) << daemon.log();
    EXPECT_FALSE(Content(daemon / "pages").empty()) << "nobody was told";
    EXPECT_EQ(Lines(Content(daemon / "out.log")).size(), 1u);
  }
  TestDaemon daemon;
  std::string file;
};

TEST(Scenario84, ATruncatedStoreIsRefused) {
  Damaged story;
  std::filesystem::resize_file(story.file, std::filesystem::file_size(story.file) / 2);
  story.ExpectRefusedAndUntouched();
}

TEST(Scenario84, AStoreWithZeroesInTheMiddleIsRefused) {
  Damaged story;
  std::string bytes = Content(story.file);
  ASSERT_GT(bytes.size(), 16384u);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2 / 4096 * 4096), 4096, '\0');
  WriteText(story.file, bytes);
  story.ExpectRefusedAndUntouched();
}

TEST(Scenario84, AnEmptyFileIsRefused) {
  Damaged story;
  WriteText(story.file, "");
  story.ExpectRefusedAndUntouched();
}

TEST(Scenario84, AFileOfAnotherProgramIsRefused) {
  Damaged story;
  WriteText(story.file, std::string(20'000, 'x'));
  story.ExpectRefusedAndUntouched();
}

TEST(Scenario84, ADatabaseOfAnotherProgramIsRefused) {
  Damaged story;
  std::filesystem::remove(story.file);
  {
    Database other;
    DbOptions options;
    options.create = true;
    options.wal = false;
    ASSERT_TRUE(Database::Open(story.file, options, other).ok());
    ASSERT_TRUE(other.Execute("CREATE TABLE bookmarks (url TEXT)").ok());
  }
  story.ExpectRefusedAndUntouched();
}

TEST(Scenario84, ADeletedStoreIsStartedAnewOnlyWhenAskedAndOwesNothing) {
  Damaged story;
  std::filesystem::remove(story.file);
  EXPECT_NE(story.daemon.StartRefused({}), 0);
  EXPECT_NE(story.daemon.log().find("--init"), std::string::npos) << story.daemon.log();
  EXPECT_FALSE(FileExists(story.file));
  TestDaemon::Launch launch;
  launch.more = {"--init"};
  ASSERT_TRUE(story.daemon.Start(launch)) << story.daemon.log();
  EXPECT_NE(story.daemon.log().find("new store: windows already open"), std::string::npos);
  EXPECT_TRUE(NeverFor(2'000, [&] { return Lines(Content(story.daemon / "out.log")).size() != 1; }));
  EXPECT_TRUE(story.daemon.Runs("d").empty());
}

TEST(Scenario84, KilledAtAnyMomentTheStoreOpensAgain) {
  TestDaemon daemon;
  std::string rules = "tasks:\n";
  for (int i = 0; i < 20; ++i) {
    rules += StrCat("- {task_id: w", i,
                    ", trigger: {cron: \"* * * * *\", timezone: UTC}, execution: {noop: {}}}\n");
  }
  daemon.Rules(rules);
  daemon.StandAt("2026-03-02T08:00:30Z", 120);
  for (int round = 0; round < 12; ++round) {
    ASSERT_TRUE(daemon.Start()) << "round " << round << "\n" << daemon.log();
    // A moment that differs from round to round, in the midst of writing.
    Eventually([] { return false; }, 100 + 67 * round);
    daemon.Kill();
  }
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  EXPECT_FALSE(daemon.Runs("w0").empty());
}

}  // namespace
}  // namespace duecourse
