// Scenarios 14, 35, 69: rules that are loaded again, zones that are not there, sets that are refused.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "daemon.h"

namespace duecourse {
namespace {

TEST(Scenario14, LoadingIsDeclarativeHoweverOftenItIsDone) {
  TestDaemon daemon;
  const std::string rule =
      "task_id: checkExpiry\ntrigger: {cron: \"0,30 * * * *\", timezone: UTC}\n"
      "idempotency: {business_key: \"expiry:{scheduled_at}\"}\nexecution: {noop: {}, output: {keep: "
      "KEEPd}}\n";
  auto write = [&](const std::string& days) {
    std::string text = rule;
    daemon.Rules(text.replace(text.find("KEEP"), 4, days));
  };
  write("1");
  daemon.StandAt("2026-03-02T00:01:00Z");
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(daemon.Start()) << daemon.log();
    if (i % 2 == 0) {
      EXPECT_EQ(daemon.Stop(), 0);
    } else {
      daemon.Kill();
    }
  }
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(daemon.Cli({"reload", "--by", "tester"}).code, 0);
  EXPECT_EQ(daemon.Get("/api/v1/rules").Get("versions").AsArray().size(), 1u);
  write("5");
  Json dry = daemon.Ask({"reload", "--dry-run"});
  ASSERT_EQ(dry.Get("changes").AsArray().size(), 1u) << dry.Dump();
  EXPECT_NE(dry.Get("changes").AsArray()[0].Get("field").AsString().find("keep"), std::string::npos)
      << dry.Dump();
  EXPECT_EQ(daemon.Get("/api/v1/rules").Get("versions").AsArray().size(), 1u) << "a dry run changes nothing";
  EXPECT_EQ(daemon.Cli({"reload", "--by", "tester"}).code, 0);
  EXPECT_EQ(daemon.Get("/api/v1/rules").Get("versions").AsArray().size(), 2u);
  EXPECT_EQ(daemon.Get("/api/v1/tasks").Get("tasks").AsArray().size(), 1u);
  EXPECT_EQ(daemon.Stop(), 0);

  // Four occurrences, with a restart before each; off meanwhile, so that no clock has to be run through.
  for (const char* due : {"00:30", "01:00", "01:30", "02:00"}) {
    daemon.StandAt(FormatUtc(ParseUtc(StrCat("2026-03-02T", due, ":00Z")).value() - Seconds(2)));
    ASSERT_TRUE(daemon.Start()) << daemon.log();
    EXPECT_TRUE(daemon.AwaitState(StrCat("expiry:2026-03-02T", due, ":00Z"), "success"))
        << daemon.Tell("checkExpiry");
    EXPECT_EQ(daemon.Stop(), 0);
  }
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  std::vector<Json> runs = daemon.Runs("checkExpiry");
  EXPECT_EQ(runs.size(), 4u) << daemon.Tell("checkExpiry");
  for (const Json& run : runs) EXPECT_EQ(run.Get("attempts").AsInteger(), 1) << run.Dump();
  EXPECT_EQ(daemon.Get("/api/v1/rules").Get("versions").AsArray().size(), 2u);
}

class Scenario35 : public ::testing::Test {
 protected:
  int Refused(const std::vector<std::string>& env) {
    TestDaemon::Launch launch;
    launch.env = env;
    return daemon.StartRefused(launch);
  }
  TestDaemon daemon;
  const std::string madrid =
      "task_id: a\ntrigger: {cron: \"0 9 * * *\", timezone: Europe/Madrid}\nexecution: {noop: {}}\n";
};

TEST_F(Scenario35, WithoutZoneDataNothingStartsAndTheFolderIsNamed) {
  daemon.Rules(madrid);
  EXPECT_EQ(Refused({"TZDIR=/nonexistent/zoneinfo"}), 1);
  EXPECT_NE(daemon.log().find("/nonexistent/zoneinfo"), std::string::npos) << daemon.log();
  EXPECT_NE(daemon.log().find("tzdata"), std::string::npos) << daemon.log();
}

TEST_F(Scenario35, AnEmptyZoneFileIsAnErrorNotUtc) {
  daemon.Rules(madrid);
  std::error_code error;
  std::filesystem::create_directories(daemon / "zones/Europe");
  for (const char* name : {"UTC", "tzdata.zi", "zone1970.tab", "zone.tab", "iso3166.tab"}) {
    std::filesystem::copy(StrCat("/usr/share/zoneinfo/", name), daemon / StrCat("zones/", name), error);
  }
  WriteText(daemon / "zones/Europe/Madrid", "");
  EXPECT_EQ(Refused({StrCat("TZDIR=", daemon / "zones")}), 1);
  EXPECT_NE(daemon.log().find("Europe/Madrid"), std::string::npos) << daemon.log();
}

TEST_F(Scenario35, TheHostsZoneChangesNothing) {
  daemon.Rules(madrid);
  for (const char* zone : {"TZ=", "TZ=:bogus", "TZ=Asia/Tokyo"}) {
    daemon.StandAt("2026-07-01T06:59:00Z");
    TestDaemon::Launch launch;
    launch.env = {zone};
    ASSERT_TRUE(daemon.Start(launch)) << zone << daemon.log();
    Json tasks = daemon.Get("/api/v1/tasks");
    EXPECT_NE(tasks.Dump().find("2026-07-01T09:00:00+02:00"), std::string::npos) << zone << tasks.Dump();
    EXPECT_EQ(daemon.Stop(), 0);
  }
}

TEST_F(Scenario35, AMissingAndAnUnknownZoneAreErrorsAndTheWholeSetIsRefused) {
  daemon.Rules(madrid, "a.yaml");
  daemon.Rules("task_id: b\ntrigger: {cron: \"0 9 * * *\"}\nexecution: {noop: {}}\n", "b.yaml");
  daemon.Rules("task_id: c\ntrigger: {cron: \"0 9 * * *\", timezone: Asia/Beijing}\nexecution: {noop: {}}\n",
               "c.yaml");
  ProgramResult check = daemon.Cli({"check"});
  EXPECT_EQ(check.code, 1);
  EXPECT_NE(check.out.find("b.yaml:2:"), std::string::npos) << check.out;
  EXPECT_NE(check.out.find("timezone"), std::string::npos) << check.out;
  EXPECT_NE(check.out.find("Asia/Beijing"), std::string::npos) << check.out;
  EXPECT_NE(check.out.find("Asia/Shanghai"), std::string::npos) << check.out;
  EXPECT_EQ(Refused({}), 1);
}

std::string Twenty() {
  std::string rules = "tasks:\n";
  for (int i = 1; i <= 20; ++i) {
    rules += StrCat("- {task_id: ok", i,
                    ", trigger: {cron: \"0 8 * * *\", timezone: UTC}, execution: {noop: {}}}\n");
  }
  return rules;
}

TEST(Scenario69, ABadEntryRefusesTheWholeSetAndTheOldOneStays) {
  TestDaemon daemon;
  daemon.Settings(
      StrCat("owners: {desk: {P2: [page], P1: [page]}}\nchannels: {page: {command: [/bin/sh, -c, 'cat >> ",
             daemon / "pages", "']}}\n"));
  daemon.Rules(Twenty());
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  const std::string bad =
      "- {task_id: ok1, trigger: {cron: \"0 8 * * *\", timezone: UTC}, execution: {noop: {}}}\n"
      "- {task_id: bad1, trigger: {cron: \"0 25 * * *\", timezone: UTC}, execution: {noop: {}}}\n"
      "- {task_id: bad2, schedul: {cron: \"0 8 * * *\", timezone: UTC}, execution: {noop: {}}}\n"
      "- {task_id: ok1, trigger: {cron: \"0 9 * * *\", timezone: UTC}, execution: {noop: {}}}\n";
  daemon.Rules(bad);
  ProgramResult check = daemon.Cli({"check", "-o", "json"});
  EXPECT_EQ(check.code, 1);
  Json body = Json::Parse(check.out).value();
  EXPECT_EQ(body.Get("errors").AsInteger(), 3) << check.out;
  std::string text = daemon.Cli({"check"}).out;
  for (const char* part : {"rules.yaml:2:", "25", "rules.yaml:3:", "did you mean schedule",
                           "rules.yaml:4:", "ok1", "rules.yaml:1:"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  auto tasks = [&] { return daemon.Get("/api/v1/tasks").Get("tasks").AsArray().size(); };
  ProgramResult reload = daemon.Cli({"reload", "--by", "tester"});
  EXPECT_EQ(reload.code, 1) << reload.out << reload.err;
  EXPECT_NE(reload.err.find("25"), std::string::npos) << reload.err;
  EXPECT_EQ(tasks(), 20u);
  EXPECT_TRUE(Eventually([&] { return !Content(daemon / "pages").empty(); })) << "nobody was told";

  daemon.Rules("");
  EXPECT_NE(daemon.Cli({"reload", "--by", "tester"}).code, 0);
  EXPECT_EQ(tasks(), 20u);
  daemon.Rules(
      "tasks:\n- {task_id: ok1, trigger: {cron: \"0 8 * * *\", timezone: UTC}, execution: {noop: {}}}\n");
  EXPECT_EQ(daemon.Cli({"reload", "--by", "tester"}).code, 3);
  EXPECT_EQ(tasks(), 20u);
  EXPECT_EQ(daemon.Cli({"reload", "--confirm", "--by", "tester"}).code, 0);
  EXPECT_EQ(tasks(), 1u);
  daemon.Rules("");
  ProgramResult emptied = daemon.Cli({"reload", "--confirm", "--by", "tester"});
  EXPECT_EQ(emptied.code, 0) << emptied.out << emptied.err;
  EXPECT_EQ(tasks(), 0u);
}

}  // namespace
}  // namespace duecourse
