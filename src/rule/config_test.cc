// duecourse.yaml.
#include "base/test_folder.h"
#include "rule/print.h"
#include "rule/test_rules.h"

namespace duecourse {
namespace {

Loaded Settings(const std::string& text) { return LoadRulesFromText({}, {"conf/duecourse.yaml", text}); }

TEST(Config, EachSettingIsRead) {
  Loaded loaded = Settings(CaseText("settings/duecourse.yaml"));
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  const ServerConfig& config = loaded.set->config;
  EXPECT_EQ(config.folder, "conf");
  EXPECT_EQ(config.node_id, "node-1");
  ASSERT_EQ(config.owners.size(), 2u);
  EXPECT_EQ(config.owners[0].first, "data");
  ASSERT_EQ(config.owners[0].second.channels.size(), 2u);
  EXPECT_EQ(config.owners[0].second.channels[0].first, AlertLevel::kP1);
  EXPECT_EQ(config.owners[0].second.channels[0].second, std::vector<std::string>({"phone", "ding"}));
  ASSERT_EQ(config.channels.size(), 3u);
  EXPECT_EQ(config.channels[0].name, "ding");
  EXPECT_EQ(config.channels[0].url_secret->env, "DING_URL");
  EXPECT_EQ(config.channels[0].timeout, Seconds(5));
  EXPECT_EQ(config.channels[1].command, std::vector<std::string>({"./call.sh", "--loud"}));
  EXPECT_EQ(config.channels[2].url, "https://example.com/hook");
  const Calendar* cn = config.FindCalendar("cn");
  ASSERT_NE(cn, nullptr);
  EXPECT_EQ(cn->holidays.size(), 2u);
  EXPECT_EQ(cn->covers, std::set<int>({2026}));
  EXPECT_EQ(cn->weekend, 0b1000001);
  EXPECT_EQ(config.FindPool("llm")->max_concurrency, 4);
  EXPECT_EQ(config.FindPool("db")->max_concurrency, 2);
  EXPECT_EQ(config.FindPool("none"), nullptr);
  ASSERT_EQ(config.flags.size(), 2u);
  EXPECT_EQ(config.flags[0].set_by, "the ETL, when it has ended");
  ASSERT_EQ(config.maintenance.size(), 2u);
  EXPECT_EQ(FormatUtc(*config.maintenance[0].until), "2026-05-01T04:00:00Z");
  EXPECT_EQ(config.maintenance[1].length, Minutes(30));
  EXPECT_EQ(config.maintenance[1].tasks, std::vector<std::string>({"every_key"}));
  EXPECT_EQ(config.drain_timeout, Seconds(30));
  EXPECT_EQ(config.retention, Days(30));
  EXPECT_EQ(config.command_slots, 64);
  EXPECT_TRUE(config.allow_unsafe_durability);
}

TEST(Config, NothingWrittenMeansTheDefaults) {
  Loaded loaded = Settings("# nothing\n");
  ASSERT_NE(loaded.set, nullptr);
  EXPECT_EQ(loaded.set->config.rules, "rules");
  EXPECT_EQ(loaded.set->config.retention, Days(90));
  EXPECT_EQ(loaded.set->config.drain_timeout, Seconds(60));
}

TEST(Config, TheYearsOfACalendarAreThoseOfItsDays) {
  Loaded loaded =
      Settings("calendars:\n  cn: {holidays: [2026-10-01, 2027-01-01]}\n  plain: {weekend: [fri, sat]}\n");
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  EXPECT_EQ(loaded.set->config.FindCalendar("cn")->covers, std::set<int>({2026, 2027}));
  EXPECT_TRUE(loaded.set->config.FindCalendar("plain")->covers.empty())
      << "weekends are known for every year";
}

TEST(Config, AnIcsCalendarIsReadBesideTheSettings) {
  const TestFolder scratch;
  const std::string& folder = scratch.path();
  ASSERT_TRUE(WriteFileAtomic(
                  folder + "/cn.ics",
                  "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20261001\r\n"
                  "SUMMARY:National Day\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
                  false)
                  .ok());
  Loaded loaded = LoadRulesFromText({}, {folder + "/duecourse.yaml", "calendars: {cn: {ics: cn.ics}}\n"});
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  EXPECT_EQ(loaded.set->config.FindCalendar("cn")->holidays.size(), 1u);
  EXPECT_EQ(loaded.set->config.FindCalendar("cn")->name, "cn");
  loaded = LoadRulesFromText({}, {folder + "/duecourse.yaml", "calendars: {cn: {ics: absent.ics}}\n"});
  EXPECT_EQ(loaded.set, nullptr);
  EXPECT_NE(FindingsText(loaded).find("No such file"), std::string::npos) << FindingsText(loaded);
}

TEST(Config, FaultsNameTheirPlaceAndWhatWouldBeRight) {
  struct Row {
    const char* text;
    const char* finding;
  };
  const std::vector<Row> rows = {
      {"retenton: 5d",
       ":1:1: error: retenton: unknown key \"retenton\"; did you mean retention? [unknown_key]"},
      {"retention: 5",
       ":1:12: error: retention: expected a length of time with its unit, got 5; write 5d "
       "[bad_duration]"},
      {"owners: {data: {P1: [phone]}}",
       ":1:22: error: owners.data.P1[0]: there is no channel phone; write it under channels "
       "[unknown_channel]"},
      {"channels: {phone: {command: [a]}}\nowners: {data: {P1: [phon]}}",
       "did you mean phone? [unknown_channel]"},
      {"channels: {a: {}}", "nothing says how this channel sends"},
      {"channels: {a: {command: [x], webhook: \"https://e.com\"}}", "not both"},
      {"channels: {a: {webhook: \"ftp://e.com\"}}", "a URL begins with http:// or https://"},
      {"channels: {a: {webhook: \"https://h/send?access_token=abcdef123\"}}", "a secret is written here"},
      {"pools: {llm: 0}", "expected a number from 1 to 100000, got 0"},
      {"pools: {llm: {max_concurency: 4}}", "did you mean max_concurrency?"},
      {"calendars: {cn: {holidays: [2026-02-30]}}", "expected a date that exists, got 2026-02-30"},
      {"maintenance: [{from: \"2026-05-01T04:00:00Z\", until: \"2026-05-01T00:00:00Z\"}]",
       "it ends before it begins"},
      {"maintenance: [{cron: \"0 3 * * *\", length: 1h}]", "timezone is missing"},
      {"maintenance: [{name: x}]", "nothing says when this maintenance is"},
      {"---\na: 1\n---\nb: 2", "settings are one document"},
      {"rules: [a", "error"},
      {"http_allow: [\"http://agent.internal/\"]",
       "duecourse.yaml:1:14: error: http_allow[0]: \"http://agent.internal/\" is no host name, address or "
       "network"},
      {"http_allow:\n  - loopback\n  - 10.2.0.0/33",
       "duecourse.yaml:3:5: error: http_allow[1]: \"10.2.0.0/33\" is no"},
      {"http_allow: [10.2.0]", "write loopback, private, public, any, 192.168.7.0/24"},
      {"http_allow: [\"*.\"]", "is no host name"},
      {"http_allow: [agent:8080]", "is no host name"},
      {"file_roots:\n  - /data\n  - ~/orders",
       "duecourse.yaml:3:5: error: file_roots[1]: \"~/orders\" is not expanded"},
      {"file_roots: [\"s3://data/\"]", "is a URL; write a folder of this machine"},
      {"file_roots: [\"/data/*\"]", "write the folder that holds them all"},
      {"file_roots: [\"$HOME/data\"]", "takes no variables"},
      {"file_roots: [\"/data/{date}\"]", "takes no variables"},
      {"file_roots: [\" \"]", "file_roots[0]"},
  };
  for (const Row& row : rows) {
    Loaded loaded = Settings(row.text);
    EXPECT_EQ(loaded.set, nullptr) << row.text;
    EXPECT_NE(FindingsText(loaded).find(row.finding), std::string::npos) << row.text << "\n"
                                                                         << FindingsText(loaded);
    EXPECT_EQ(FindingsText(loaded).find("abcdef123"), std::string::npos) << "a secret is never shown";
  }
}

TEST(Config, KeysOfLaterIssuesAreKept) {
  Loaded loaded = Settings(
      "channels: {team: {slack: {channel: ops}}}\ntemplates: {nightly: {retry: standard}}\n"
      "pools: {llm: {max_concurrency: 2, rate: 6/min}}\nconnections: {dwh: {}}\n");
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  std::vector<std::string> paths;
  for (const UnsupportedKey& key : loaded.set->config.unsupported) paths.push_back(key.path);
  EXPECT_EQ(paths,
            std::vector<std::string>({"channels.team.slack", "pools.llm.rate", "templates", "connections"}));
}

TEST(Config, WhatPrintsReadsBackEqual) {
  Loaded loaded = Settings(CaseText("settings/duecourse.yaml"));
  std::string text = WriteYaml(ConfigTree(loaded.readable->config));
  Loaded again = Settings(text);
  ASSERT_NE(again.set, nullptr) << FindingsText(again) << text;
  EXPECT_EQ(again.set->hash, loaded.set->hash) << text;
}

}  // namespace
}  // namespace duecourse
