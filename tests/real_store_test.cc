// Scenarios 83 and 84: a store that others lock, that is damaged, or gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

#include "base/random.h"
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

// Holds BEGIN EXCLUSIVE as a stranger would, for so long by the daemon's clock.
void HoldExclusive(const TestDaemon& daemon, const std::string& file, Millis span) {
  Database database;
  DbOptions options;
  options.busy_timeout = Seconds(30);
  ASSERT_TRUE(Database::Open(file, options, database).ok());
  ASSERT_TRUE(database.Execute("BEGIN EXCLUSIVE").ok());
  const Instant until = daemon.Now() + span;
  EXPECT_TRUE(Eventually([&] { return daemon.Now() >= until; }, 120'000));
  ASSERT_TRUE(database.Execute("ROLLBACK").ok());
}

// That the file is a whole database, and its first answer to `query` (0 where it has none).
int64_t NumberIn(const std::string& file, const char* query) {
  Database database;
  DbOptions reading;
  reading.read_only = true;
  EXPECT_TRUE(Database::Open(file, reading, database).ok());
  Statement check;
  bool row = false;
  EXPECT_TRUE(Statement::Prepare(database, "PRAGMA integrity_check", check).ok());
  EXPECT_TRUE(check.Step(row).ok() && row);
  EXPECT_EQ(check.Text(0), "ok") << file;
  Statement statement;
  EXPECT_TRUE(Statement::Prepare(database, query, statement).ok());
  EXPECT_TRUE(statement.Step(row).ok());
  return row ? statement.Integer(0) : 0;
}

// Locked once for 90 s: reads over the socket go on, health says what is wrong, somebody is told without the
// store.
void ReadWhileLocked(const TestDaemon& daemon, const std::string& file) {
  std::atomic<bool> locked = true;
  std::thread stranger([&] {
    HoldExclusive(daemon, file, Seconds(90));
    locked = false;
  });
  bool unhealthy = false;
  bool told = false;
  int reads = 0;
  EXPECT_TRUE(Eventually(
      [&] {
        unhealthy = unhealthy || daemon.Status("/healthz") == 503;
        told = told || !Content(daemon / "pages").empty();
        EXPECT_EQ(daemon.Status("/api/v1/runs?task=m"), 200);
        EXPECT_FALSE(daemon.Runs("m").empty());
        ++reads;
        return !locked;
      },
      120'000));
  stranger.join();
  EXPECT_TRUE(unhealthy);
  EXPECT_TRUE(told);
  EXPECT_GT(reads, 10);
}

// Another program copies the store while the daemon runs and 200 reads are made.
void BackUpWhileRead(const TestDaemon& daemon, const std::string& file) {
  const auto before = static_cast<int64_t>(daemon.Runs("m").size());
  std::atomic<bool> reading = true;
  int backups = 0;
  std::thread copier([&] {
    Database source;
    DbOptions options;
    options.read_only = true;
    ASSERT_TRUE(Database::Open(file, options, source).ok());
    while (reading || backups == 0) {
      DbStatus copied = source.Execute(StrCat("VACUUM INTO '", daemon / StrCat("backup", backups), "'"));
      ASSERT_TRUE(copied.ok()) << copied.message;
      ++backups;
    }
  });
  for (int i = 0; i < 200; ++i) EXPECT_EQ(daemon.Status("/api/v1/runs?limit=20"), 200) << i;
  reading = false;
  copier.join();
  ASSERT_GT(backups, 0);
  EXPECT_GE(NumberIn(daemon / "backup0", "SELECT count(*) FROM run WHERE task = 'm'"), before);
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
  const std::string file = StoreFile(daemon);
  ASSERT_NE(file, "");
  // 3 s of every 5, for five minutes (two where the story is compressed).
  while (!daemon.PassedBy(LongRun() ? "2026-03-02T08:05:30Z" : "2026-03-02T08:02:30Z")) {
    HoldExclusive(daemon, file, Seconds(3));
    const Instant next = daemon.Now() + Seconds(2);
    EXPECT_TRUE(Eventually([&] { return daemon.Now() >= next; }));
  }
  EXPECT_EQ(daemon.Status("/healthz"), 200);
  ReadWhileLocked(daemon, file);
  EXPECT_TRUE(Eventually([&] { return daemon.Status("/healthz") == 200; }, 5'000));

  Instant end = daemon.Now();
  EXPECT_TRUE(Eventually([&] { return daemon.Now() > end + Minutes(1); }));
  BackUpWhileRead(daemon, file);
  EXPECT_EQ(daemon.Status("/healthz"), 200);

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
    EXPECT_NE(daemon.log().find("PRAGMA integrity_check"), std::string::npos) << daemon.log();
    EXPECT_NE(daemon.log().find("Restore the newest backup"), std::string::npos) << daemon.log();
    EXPECT_NE(Content(daemon / "pages").find("P1"), std::string::npos) << "nobody was told";
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
  constexpr int kTasks = 100;
  constexpr int kRuns = 500;
  constexpr int kRoundsMost = 200;
  TestDaemon daemon;
  std::string rules = "tasks:\n";
  for (int i = 0; i < kTasks; ++i) {
    rules += StrCat("- {task_id: w", i, ", trigger: {every: 1s, timezone: UTC}, execution: {noop: {}}}\n");
  }
  daemon.Rules(rules);
  Random random(84);
  int64_t stored = 0;
  int rounds = 0;
  for (; stored < kRuns && rounds < kRoundsMost; ++rounds) {
    ASSERT_TRUE(daemon.Start()) << "round " << rounds << "\n" << daemon.log();
    // In the midst of writing: when some more runs are there, their number drawn.
    const int64_t more = random.Between(0, kTasks);
    EXPECT_TRUE(Eventually([&] {
      return static_cast<int64_t>(daemon.Get("/api/v1/runs?limit=1000").Get("runs").AsArray().size()) >=
             stored + more;
    })) << daemon.log();
    daemon.Kill();
    const int64_t now = NumberIn(StoreFile(daemon), "SELECT count(*) FROM run");
    EXPECT_GE(now, stored + more) << "what was answered for is gone";
    stored = now;
  }
  EXPECT_GE(stored, kRuns);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  RecordProperty("rounds", rounds);
}

}  // namespace
}  // namespace duecourse
