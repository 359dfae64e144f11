// Faults for a tired person: the place, what is wrong, what would be right; one
// for each mistake, and all of them at once. Secrets are never shown.
#include "rule/secret.h"
#include "rule/test_rules.h"

namespace duecourse {
namespace {

// Scenario 69: one bad entry refuses the set, and each fault is told once with its place.
TEST(Faults, Scenario69ThreeBadEntriesAreThreeFaults) {
  Loaded loaded = LoadText(CaseText("bad_rules/scenario_69.yaml"));
  EXPECT_EQ(loaded.set, nullptr);
  EXPECT_EQ(loaded.tasks_seen, 4u);
  ASSERT_EQ(loaded.findings.size(), 3u) << FindingsText(loaded);
  EXPECT_EQ(loaded.findings[0].id, "cron_invalid");
  EXPECT_EQ(loaded.findings[0].line, 3);
  EXPECT_EQ(loaded.findings[0].column, 36);
  EXPECT_NE(loaded.findings[0].message.find("25"), std::string::npos);
  EXPECT_EQ(
      FormatFinding(loaded.findings[1]),
      "a.yaml:4:19: error: bad2: schedul: unknown key \"schedul\"; did you mean schedule? [unknown_key]");
  EXPECT_EQ(FormatFinding(loaded.findings[2]),
            "a.yaml:5:13: error: ok1: task_id: there is already a task ok1, at line 2; give one of them "
            "another id [duplicate_task]");
}

// Scenario 70: times are read as they are written; what another reader would make of them is a fault.
TEST(Faults, Scenario70TimesAndWordsAreReadAsWritten) {
  Loaded loaded = LoadText(CaseText("bad_rules/scenario_70.yaml"));
  ASSERT_NE(loaded.readable->Find("a"), nullptr);
  ASSERT_NE(loaded.readable->Find("b"), nullptr);
  const TriggerRule& a = loaded.readable->Find("a")->rule().trigger;
  EXPECT_EQ(a.window.start, 22 * 3600);
  EXPECT_EQ(a.window.end, 2 * 3600);
  EXPECT_EQ(loaded.readable->Find("a")->body, loaded.readable->Find("b")->body);
  ASSERT_EQ(loaded.findings.size(), 3u) << FindingsText(loaded);
  EXPECT_EQ(loaded.findings[0].task, "on") << "a task called on is called on";
  EXPECT_EQ(loaded.findings[0].message, "expected true or false, got no");
  EXPECT_EQ(loaded.findings[1].task, "c");
  EXPECT_EQ(loaded.findings[1].message, "expected HH:MM, got 1320");
  EXPECT_EQ(loaded.findings[2].message, "expected HH:MM, got 120");
  loaded = LoadText("task_id: t\ncron: \"0 8 * * *\"\ntimezone: UTC\nnoop: {}\nwhy: a\nwhy: b\n");
  EXPECT_NE(FindingsText(loaded).find("a.yaml:6:1"), std::string::npos) << FindingsText(loaded);
  EXPECT_NE(FindingsText(loaded).find("line 5"), std::string::npos);
}

TEST(Faults, ARemedyIsSaidOnce) {
  struct Told {
    const char* more;
    const char* line;
  };
  const std::vector<Told> kRows = {
      {"noop: {}\ntimeout: 5 parsecs\n",
       "a.yaml:5:10: error: t: execution.timeout: \"5 parsecs\" is no length of time: expected whole numbers "
       "with a unit of ms, s, m, h or "
       "d, like 90s or 1h30m [bad_duration]"},
      {"noop: {}\ntimeout: 5m1h\n",
       "a.yaml:5:10: error: t: execution.timeout: \"5m1h\" is no length of time: units go from the largest "
       "to the smallest, each once, "
       "like 1h30m [bad_duration]"},
      {"command: [echo, \"{date\"]\n",
       "a.yaml:4:17: error: t: execution.command[1]: at character 1: the brace is not closed: \"{date\"; "
       "write {name}, or "
       "{{ for a brace itself [bad_template]"},
  };
  for (const Told& row : kRows) {
    Loaded loaded = LoadText(ShortRule(row.more));
    ASSERT_EQ(loaded.findings.size(), 1u) << row.more << FindingsText(loaded);
    EXPECT_EQ(FormatFinding(loaded.findings[0]), row.line);
  }
}

struct Row {
  const char* more;                   // lines 4 and on of a short rule
  std::vector<const char*> findings;  // the beginnings after "a.yaml:"
};

void ExpectFindings(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    Loaded loaded = LoadText(ShortRule(row.more));
    EXPECT_EQ(loaded.set, nullptr) << row.more;
    std::vector<std::string> lines;
    for (const Finding& finding : loaded.findings) lines.push_back(FormatFinding(finding));
    ASSERT_EQ(lines.size(), row.findings.size()) << row.more << "\n" << FindingsText(loaded);
    for (size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(lines[i].substr(0, 7 + std::string(row.findings[i]).size()),
                StrCat("a.yaml:", row.findings[i]))
          << row.more;
    }
  }
}

TEST(Faults, AMisspeltKeyMakesOneFaultAndCountsAsTheKeyItResembles) {
  ExpectFindings({
      {"nop: {}", {"4:1: error: t: nop: unknown key \"nop\"; did you mean noop? [unknown_key]"}},
      {"noop: {}\ntrigger: {windw_end: 05:00}",
       {"5:11: error: t: trigger.windw_end: unknown key \"windw_end\"; did you mean window_end? "
        "[unknown_key]"}},
      {"noop: {}\nretry: {backof: {intervals: [1m]}}",
       {"5:9: error: t: retry.backof: unknown key \"backof\"; did you mean backoff? [unknown_key]"}},
      {"noop: {}\ntz: UTC", {"5:1: error: t: tz: unknown key \"tz\"; write timezone [unknown_key]"}},
      {"noop: {}\nkey: a",
       {"5:1: error: t: key: unknown key \"key\"; write idempotency.business_key [unknown_key]"}},
      {"run: {noop: {}}", {"4:1: error: t: run: unknown key \"run\"; write execution [unknown_key]"}},
      {"noop: {}\nfrobnicate: 1",
       {"5:1: error: t: frobnicate: unknown key \"frobnicate\"; the keys are listed in "
        "docs/reference/rule.md"}},
      {"noop: {}\ndst: {gab: skip}", {"5:7: error: t: dst.gab: unknown key \"gab\"; did you mean gap?"}},
      {"noop: {}\nalerts: {levels: {failur: P1}}",
       {"5:19: error: t: alerts.levels.failur: unknown key \"failur\"; did you mean failure?"}},
      {"noop: {}\nwindow_ed: 1320",
       {"5:1: error: t: window_ed: unknown key",
        "5:12: error: t: trigger.window_end: expected HH:MM, got 1320"}},
  });
}

TEST(Faults, WhatIsMissingIsNamedWithWhatToWrite) {
  Loaded loaded = LoadText("task_id: t\n");
  EXPECT_EQ(FindingsText(loaded),
            "a.yaml:1:1: error: t: trigger: nothing says when this rule is due; write cron and timezone "
            "[missing_key]\n"
            "a.yaml:1:1: error: t: execution: nothing says what this rule does; write command, shell, http "
            "or noop under execution "
            "[missing_key]\n");
  loaded = LoadText("task_id: t\ncron: \"0 8 * * *\"\nnoop: {}\n");
  ASSERT_EQ(loaded.findings.size(), 1u);
  EXPECT_EQ(loaded.findings[0].message, "a rule always names its time zone");
  loaded = LoadText("task_id: t\ntimezone: Asia/Beijing\ncron: \"0 8 * * *\"\nnoop: {}\n");
  ASSERT_EQ(loaded.findings.size(), 1u);
  EXPECT_EQ(loaded.findings[0].id, "timezone_unknown");
  loaded = LoadText("task_id: t\ntimezone: UTC\nevery: 1d\nnoop: {}\n");
  ASSERT_EQ(loaded.findings.size(), 1u);
  EXPECT_EQ(loaded.findings[0].path, "trigger.anchor");
}

TEST(Faults, ThingsThatContradictOneAnother) {
  ExpectFindings({
      {"noop: {}\ncommand: [a]",
       {"4:7: error: t: execution.noop: execution.command at line 5 says already what this rule does"}},
      {"noop: {}\nevery: 5m",
       {"5:8: error: t: trigger.every: trigger.cron at line 2 says already when the rule is due"}},
      {"noop: {}\nanchor: 2026-01-01T00:00:00Z",
       {"5:9: error: t: trigger.anchor: anchor belongs to every, which is not here"}},
      {"noop: {}\nretry: {then: manual, catchup: {enabled: true}}",
       {"5:15: error: t: retry.then: then: manual calls a person"}},
      {"noop: {}\nretry: {backoff: {intervals: [1m, 2m], max_attempts: 1}}",
       {"5:54: error: t: retry.backoff.max_attempts: 2 intervals for 1 retries"}},
      {"noop: {}\nretry: {backoff: {intervals: [1m], initial: 5s}}",
       {"5:30: error: t: retry.backoff.intervals: intervals and initial"}},
      {"noop: {}\nretry: {backoff: {max_attempts: 3}}",
       {"5:33: error: t: retry.backoff.intervals: nothing says how long"}},
      {"noop: {}\nlease: {ttl: 30s, heartbeat: 30s}",
       {"5:30: error: t: trigger.lease.heartbeat: a heartbeat every 30s lets a lease of 30s end"}},
      {"noop: {}\ndays: workdays\nallow_weekend: true",
       {"6:16: error: t: trigger.allow_weekend: this rule keeps to working days"}},
      {"noop: {}\npreconditions: [{file: a.csv, flag: b}]",
       {"5:17: error: t: trigger.preconditions[0]: one entry names two conditions, flag and file"}},
      {"noop: {}\npreconditions: [{file: a.csv, url: b}]",
       {"5:31: error: t: trigger.preconditions[0].url: url does not belong to a file condition"}},
      {"noop: {}\npreconditions: [{path: a.csv}]",
       {"5:17: error: t: trigger.preconditions[0]: nothing says what kind of condition this is"}},
      {"noop: {}\nbusiness_key: \"a#b\"",
       {"5:15: error: t: idempotency.business_key: '#' is kept for reruns"}},
      {"noop: {}\nbusiness_key: \"c:{business_date\"", {"5:15: error: t: idempotency.business_key: "}},
      {"noop: {}\ncalendar: de", {"5:11: error: t: trigger.calendar: there is no calendar de"}},
      {"noop: {}\npools: [lm]", {"5:8: error: t: trigger.pools: there is no pool lm; did you mean llm?"}},
      {"noop: {}\nowner: dataa", {"5:8: error: t: owner: there is no owner dataa; did you mean data?"}},
      {"noop: {}\nfor_each: {a: [x, x]}", {"5:11: error: t: for_each: the value a=x is there twice"}},
      {"noop: {}\nvars: {business_date: x}",
       {"5:23: error: t: vars.business_date: {business_date} is filled in for every run already"}},
      {"command: \"echo 'a b' | wc\"", {"4:10: error: t: execution.command: a command is no shell line"}},
      {"http: {url: example.com}",
       {"4:13: error: t: execution.http.url: a URL begins with http:// or https://"}},
      {"noop: {}\nerrors: [{exit: 300, as: business}]",
       {"5:17: error: t: execution.errors[0].exit: expected a number or a range from 1 to 255, got 300"}},
  });
}

TEST(Faults, SecretsAreRefusedAndNeverShown) {
  const std::string secret = "hunter2hunter2hunter2hunter2";
  const std::vector<std::string> rows = {
      "noop: {}\nenv: {API_TOKEN: " + secret + "}",
      "noop: {}\nenv: {DB_PASSWORD: \"" + secret + "\"}",
      "noop: {}\nvars: {api_key: " + secret + "}",
      "noop: {}\nvars: {note: sk-" + secret + "}",
      "http: {url: \"https://example.com/\", headers: {Authorization: \"Bearer " + secret + "\"}}",
      "http: {url: \"https://example.com/\", headers: {X-Api-Key: " + secret + "}}",
      "http: {url: \"https://user:" + secret + "@example.com/\"}",
      "http: {url: \"https://example.com/?access_token=" + secret + "\"}",
      "http: {url: \"https://example.com/\", body: {password: " + secret + "}}",
      "command: [run, --token, " + secret + "]",
      "command: [run, --password=" + secret + "]",
      "shell: \"curl -H 'Authorization: Bearer " + secret + "' https://example.com\"",
      "shell: \"TOKEN=" + secret + " ./run\"",
      "noop: {}\nenv: {LICENSE: \"-----BEGIN RSA PRIVATE KEY-----" + secret + "\"}",
      "noop: {}\nlabels: {clientSecret: " + secret + "}",
      "noop: {}\npasswrod: " + secret,
      "noop: {}\ntimeout: ghp_" + secret + secret,
      "noop: {}\nenv: {TOKEN: [" + secret + "]}",
  };
  for (const std::string& row : rows) {
    Loaded loaded = LoadText(ShortRule(row + "\n"));
    EXPECT_EQ(loaded.set, nullptr) << row;
    EXPECT_FALSE(loaded.findings.empty()) << row;
    EXPECT_EQ(FindingsText(loaded).find("hunter2"), std::string::npos) << FindingsText(loaded);
  }
}

TEST(Faults, ReferencesAndOrdinaryWordsAreNoSecrets) {
  for (const char* more :
       {"noop: {}\nenv: {API_TOKEN: {env: MY_TOKEN}, DB_PASSWORD: {file: /run/db}}",
        "noop: {}\nenv: {MAX_TOKENS: \"4096\", TOKEN_FILE: /run/token}",
        "shell: \"TOKEN=$(cat /run/token) ./run --password=$PW\"",
        "http: {url: \"https://example.com/x@y?token_count=5\"}", "command: [run, --token, \"{task}\"]",
        "command: [run, --tokens, \"5\"]", "noop: {}\nbusiness_key: \"t:{business_date}\"",
        "noop: {}\nwhy: \"asks for the password: nobody\""}) {
    Loaded loaded = LoadText(ShortRule(std::string(more) + "\n"));
    EXPECT_NE(loaded.set, nullptr) << more << "\n" << FindingsText(loaded);
  }
  EXPECT_TRUE(NamesSecret("x-apiKey"));
  EXPECT_TRUE(NamesSecret("PGPASSWORD_SECRET"));
  EXPECT_FALSE(NamesSecret("secret_name"));
  EXPECT_FALSE(NamesSecret("key"));
  EXPECT_FALSE(NamesSecret("compass"));
}

TEST(Faults, OneBadFileAmongManyFaultsIsToldInTheOrderOfTheText) {
  Loaded loaded = LoadText(
      "tasks:\n- {task_id: a, cron: bad, timezone: UTC, noop: {}, timeout: 5}\n- 7\n- {task_id: b, cron: \"0 "
      "8 * * *\", timezone: Nowhere, noop: {}}\n");
  int before = 0;
  EXPECT_EQ(loaded.findings.size(), 4u) << FindingsText(loaded);
  for (const Finding& finding : loaded.findings) {
    EXPECT_GE(finding.line * 1000 + finding.column, before);
    before = finding.line * 1000 + finding.column;
  }
  loaded = LoadText("just text\n");
  EXPECT_NE(FindingsText(loaded).find("a.yaml:1:1: error: expected a rule, got just text"), std::string::npos)
      << FindingsText(loaded);
  loaded = LoadText("tasks: 5\n");
  EXPECT_NE(FindingsText(loaded).find("expected a list of rules, got 5"), std::string::npos)
      << FindingsText(loaded);
  loaded = LoadText("tasks: []\nretention: 5d\n");
  EXPECT_NE(FindingsText(loaded).find("settings of the server belong into duecourse.yaml"), std::string::npos)
      << FindingsText(loaded);
}

}  // namespace
}  // namespace duecourse
