// The two JSON Schemas against texts that load and texts that do not. A schema
// knows less than the reader (it cannot parse a cron expression), so a bad text
// here is one whose fault a schema can see.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/file.h"
#include "base/text.h"
#include "rule/choices.h"
#include "rule/keys.h"
#include "rule/lint.h"
#include "rule/parse.h"

namespace duecourse {
namespace {

class Schema {
 public:
  explicit Schema(const std::string& text) {
    const nlohmann::json document = nlohmann::json::parse(text);
    valijson::SchemaParser parser;
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(document), schema_);
  }
  // What is wrong, one a line; empty where nothing is.
  std::string Faults(const std::string& yaml) {
    const YamlText text = ParseYaml(yaml);
    if (!text.faults.empty()) return "yaml: " + text.faults[0].message;
    std::string faults;
    for (const YamlNode& node : text.documents) {
      const nlohmann::json document = nlohmann::json::parse(ToJson(node).Dump());
      valijson::ValidationResults results;
      valijson::adapters::NlohmannJsonAdapter target(document);
      if (valijson::Validator().validate(schema_, target, &results)) continue;
      valijson::ValidationResults::Error error;
      while (results.popError(error))
        faults += StrCat(Join(error.context, ""), ": ", error.description, "\n");
      if (faults.empty()) faults = "refused";
    }
    return faults;
  }

 private:
  valijson::Schema schema_;
};

Schema& Rules() {
  static Schema schema(RuleSchema());
  return schema;
}
Schema& Config() {
  static Schema schema(ConfigSchema());
  return schema;
}

const char* const kGoodRules[] = {
    R"(task_id: four
cron: "0 8 * * *"
timezone: UTC
command: /bin/true
)",
    // Article B.
    R"(task_id: order_sync
trigger:
  cron: "0 2 * * *"
  timezone: "Asia/Shanghai"
  window_start: "02:00"
  window_end: "05:00"
  min_interval: 300s
  preconditions:
    - {type: data_file_ready, path: "s3://data/orders/{target_date}.csv", must_exist: true}
  lock_ttl: 3600s
retry:
  immediate: {max_attempts: 1, interval: 5s}
  backoff: {max_attempts: 3, intervals: [1m, 2m, 4m]}
  catchup: {enabled: true, check_interval: 30m, max_times: 5}
  max_total_attempts: 10
idempotency: {business_key: "order_sync:{target_date}:{window}"}
execution: {command: [python3, sync.py, --date, "{target_date}"], timeout: 1800s, on_timeout: fail_and_notify}
)",
    // Article A.
    R"(task_id: digest
schedule: {cron: "0 9 * * *", timezone: Asia/Shanghai}
business_date: previous_day
guardrails: {execution_window: "09:00-12:00", allow_weekend: true}
depends_on: ["daily_etl.finished_{business_date}"]
dedupe_key: "digest:{business_date}:{channel_id}"
vars: {channel_id: ops}
retry: {max_attempts: 4, base: 2}
catchup: {enabled: true, check_interval: 5m, max_delay_min: 180, only_if_data_ready: true}
max_total_attempts: 41
timeout: 30s
supersede: never
http: {url: "http://127.0.0.1:8080/digest", expect: {status: 200, json: {"/ok": true}}}
)",
    R"(tasks:
  - {task_id: a, every: 90s, timezone: UTC, noop: {after: 1s, exit: 75}}
  - {task_id: b, at: "2026-06-01 09:00", timezone: UTC, shell: "echo hi", retry: standard}
)",
    R"(TASK_RULES:
  a: {cron: "0 8 * * *", timezone: UTC, command: [/bin/true]}
)",
    R"(a: {cron: "0 8 * * *", timezone: UTC, command: [/bin/true]}
b: {trigger: {every: 1d, anchor: "2026-03-01T02:00:00Z", timezone: UTC}, execution: {command: [/bin/true]}}
)",
    R"(task_id: full
why: everything that can be written
owner: data
labels: {team: data}
enabled: true
for_each: [{user: u1, zone: Asia/Tokyo}, {user: u2, zone: Europe/Paris}]
trigger:
  cron: "30 2 * * *"
  timezone: "{zone}"
  dst: {gap: skip, overlap: both}
  business_date: {offset: -2d}
  window: {start: "02:00", length: 4h, why: the source closes}
  days: [mon-fri, workdays]
  until: 2027-12-31
  on_window_end: manual
  missed: all
  calendar: cn
  on_excluded: next_workday
  depends_on:
    - etl.ready
    - {task: load, business_date: previous_day, why: it fills the table}
  preconditions:
    - {file: {path: "a.csv", min_rows: 10, min_bytes: 1KiB, modified_after: due, stable_for: 0}, why: yes}
    - http: {url: "http://a/ready", headers: {Authorization: {env: TOKEN}}, expect: {status: [200, 204]}}
    - {command: [test, -e, x], timeout: 5s, max_age: 0}
    - {flag: health, dated: false, value: 1}
  check_interval: 1m
  max_concurrency: 2
  in_order: true
  pools: [db]
  lease: {ttl: 2m, heartbeat: 20s}
retry:
  immediate: {max_attempts: 0}
  backoff: {max_attempts: 3, initial: 1s, factor: 1.5, max: 1m, jitter: 250ms}
  then: catchup
  catchup: {enabled: true, max_times: 2, max_delay: 2h, avoid: ["09:00-18:00"], why: late data}
  breaker: {failures: 3, cooldown: 10m, then: manual}
  why: the agent restarts
on_lost: hold
idempotency: {business_key: "{task}:{user}:{date}", supersede: never, keep: 30d}
execution:
  http:
    method: POST
    url: https://agent/run
    body: {date: "{date}", n: 1}
  env: {TOKEN: {file: /run/secret}, LEVEL: 3}
  umask: 022
  timeout: 10m
  expected: 1m
  output: {max: 1MiB, keep: 7d}
  errors: [{exit: [3, 64-68], as: business}, {output: quota, as: transient}]
  kill_at_window_end: true
  on_store_loss: stop
on_success: {set: [full.done]}
alerts: {policy: three_step, levels: {missed: P1, skipped: none}, stuck: {catchup_waiting: 2h}}
)",
};

TEST(RuleSchema, ItTakesWhatTheLanguageSays) {
  for (const char* text : kGoodRules) EXPECT_EQ(Rules().Faults(text), "") << text;
}

// Files that ship, and the fixtures of the reader.
std::vector<std::string> Files(const std::string& folder) {
  const auto files = ListFiles(StrCat(DUECOURSE_SOURCE_DIR, "/", folder), {".yaml"});
  EXPECT_TRUE(files.ok() && !files->empty()) << folder;
  return files.ok() ? *files : std::vector<std::string>{};
}

TEST(RuleSchema, EveryExampleAndFixturePasses) {
  for (const char* folder : {"examples", "examples/demo/rules", "tests/cases/rules"}) {
    for (const std::string& path : Files(folder)) {
      EXPECT_EQ(Rules().Faults(*ReadFile(path, 1 << 20)), "") << path;
    }
  }
}

TEST(ConfigSchema, EveryExampleAndFixturePasses) {
  for (const char* folder : {"examples/demo", "tests/cases/settings"}) {
    for (const std::string& path : Files(folder)) {
      EXPECT_EQ(Config().Faults(*ReadFile(path, 1 << 20)), "") << path;
    }
  }
}

TEST(RuleSchema, ItRefusesWhatItCanSee) {
  const std::string head = "task_id: t\ncron: \"0 8 * * *\"\ntimezone: UTC\ncommand: /bin/true\n";
  ASSERT_EQ(Rules().Faults(head), "");
  for (const char* line : {
           "timezon: UTC",
           "trigger: {crom: x}",
           "enabled: yes please",
           "window_start: 1320",
           "window_start: \"25:00\"",
           "window_end: 4h",
           "timeout: 1800",
           "timeout: \"1800\"",
           "retry: fast",
           "retry: {backof: {}}",
           "retry: {max_total_attempts: 0}",
           "retry: {catchup: {max_times: many}}",
           "missed: never",
           "preconditions: [{path: a.csv}]",
           "preconditions: [{file: {pat: a.csv}}]",
           "env: {TOKEN: {vault: x}}",
           "alerts: {levels: {missed: loud}}",
           "business_date: yesterday",
           "business_date: -2",
           "max_concurrency: 0",
           "http: {method: GET}",
           "until: 2026/01/01",
           "for_each: []",
           "errors: [{exit: 3}]",
           "on_success: {flag: x}",
       }) {
    EXPECT_NE(Rules().Faults(head + line + "\n"), "") << line;
  }
  EXPECT_NE(Rules().Faults("tasks: [{cron: \"* * * * *\"}]"), "") << "a rule of a list has an id";
  EXPECT_NE(Rules().Faults("- a\n- b\n"), "");
}

TEST(ConfigSchema, ItTakesWhatTheSettingsSay) {
  EXPECT_EQ(Config().Faults("{}"), "");
  EXPECT_EQ(Config().Faults(R"(rules: rules
data: /var/lib/duecourse
node_id: n1
owners: {data: {P2: [ding], P1: [phone, ding]}}
channels:
  ding: {webhook: {url: "https://x/hook", headers: {Authorization: {env: HOOK}}}, timeout: 5s}
  phone: {command: [/usr/local/bin/call, "+49"]}
calendars:
  cn: {holidays: [2026-10-01], workdays: [2026-10-10], covers: [2026, 2027], weekend: [sat, sun]}
  de: {ics: de.ics}
pools: {db: {max_concurrency: 3}}
flags: {etl.ready: {set_by: the ETL's last step}}
maintenance:
  - {name: patch, why: kernel, from: "2026-03-01T02:00:00Z", until: "2026-03-01T04:00:00Z"}
  - {name: night, cron: "0 3 * * 0", timezone: UTC, length: 1h, tasks: [a]}
file_roots: [/data]
http_allow: [10.0.0.0/8]
drain_timeout: 30s
retention: 90d
command_slots: 64
)"),
            "");
}

TEST(ConfigSchema, ItRefusesWhatItCanSee) {
  for (const char* text : {"ruls: rules", "owners: {data: {P4: [x]}}", "channels: {x: {webhok: y}}",
                           "calendars: {cn: {holidays: [01.10.2026]}}", "pools: {db: {max_concurrency: 0}}",
                           "retention: 90", "maintenance: [{nam: x}]", "command_slots: 0"}) {
    EXPECT_NE(Config().Faults(text), "") << text;
  }
}

// The words of a choice stand in one table of the reader; the schema has them all, in that order.
template <typename E, size_t N>
std::string Enumeration(const std::array<Choice<E>, N>& table) {
  Json words = Json::MakeArray();
  for (const Choice<E>& choice : table) words.Add(choice.name);
  return words.Dump();
}

TEST(RuleSchema, ItsChoicesAreTheReaders) {
  const Json schema = *Json::Parse(RuleSchema());
  const auto words = [&schema](const std::string& pointer) {
    const Json* found = schema.Pointer("/definitions/" + pointer + "/enum");
    return found == nullptr ? "missing: " + pointer : found->Dump();
  };
  EXPECT_EQ(words("trigger/properties/dst/properties/gap"), Enumeration(kGapNames));
  EXPECT_EQ(words("trigger/properties/dst/properties/overlap"), Enumeration(kOverlapNames));
  EXPECT_EQ(words("trigger/properties/on_window_end"), Enumeration(kOnWindowEndNames));
  EXPECT_EQ(words("trigger/properties/missed"), Enumeration(kMissedNames));
  EXPECT_EQ(words("trigger/properties/on_excluded"), Enumeration(kOnExcludedNames));
  EXPECT_EQ(words("rule/properties/on_lost"), Enumeration(kOnLostNames));
  EXPECT_EQ(words("idempotency/properties/supersede"), Enumeration(kSupersedeNames));
  EXPECT_EQ(words("execution/properties/on_timeout"), Enumeration(kOnTimeoutNames));
  EXPECT_EQ(words("execution/properties/background_children"), Enumeration(kBackgroundNames));
  EXPECT_EQ(words("execution/properties/on_store_loss"), Enumeration(kStoreLossNames));
  EXPECT_EQ(words("retryBlock/properties/then"), Enumeration(kThenNames));
  EXPECT_EQ(words("breaker/properties/then"), Enumeration(kBreakerThenNames));
  EXPECT_EQ(words("precondition/properties/state"), Enumeration(kTaskStateNames));
  EXPECT_EQ(words("precondition/properties/modified_after"), Enumeration(kModifiedAfterNames));
  EXPECT_EQ(words("alerts/properties/policy"), Enumeration(kAlertPolicyNames));
  EXPECT_EQ(words("level"), Enumeration(kAlertLevelNames));
}

std::set<std::string> KeysOf(const Json& properties) {
  std::set<std::string> keys;
  for (const Json::Member& member : properties.AsObject()) keys.insert(member.first);
  return keys;
}

TEST(RuleSchema, ItsKeysAreTheReaders) {
  const Json schema = *Json::Parse(RuleSchema());
  const std::pair<const char*, const char*> rows[] = {
      {"", "rule"},
      {"trigger", "trigger"},
      {"trigger.window", "window/anyOf/1"},
      {"trigger.dst", "trigger/properties/dst"},
      {"trigger.lease", "trigger/properties/lease"},
      {"trigger.preconditions[]", "precondition"},
      {"retry", "retryBlock"},
      {"retry.immediate", "retryBlock/properties/immediate"},
      {"retry.backoff", "retryBlock/properties/backoff"},
      {"retry.catchup", "catchup"},
      {"retry.breaker", "breaker"},
      {"idempotency", "idempotency"},
      {"execution", "execution"},
      {"execution.http", "httpCall"},
      {"execution.http.expect", "expect"},
      {"execution.output", "execution/properties/output"},
      {"execution.errors[]", "execution/properties/errors/items"},
      {"on_success", "rule/properties/on_success"},
      {"alerts", "alerts"},
      {"alerts.levels", "alerts/properties/levels"},
      {"alerts.stuck", "alerts/properties/stuck"},
  };
  for (const auto& [path, definition] : rows) {
    const std::vector<std::string>* known = RuleKeysAt(path);
    const Json* properties = schema.Pointer(StrCat("/definitions/", definition, "/properties"));
    ASSERT_NE(known, nullptr) << path;
    ASSERT_NE(properties, nullptr) << definition;
    EXPECT_EQ(KeysOf(*properties), std::set<std::string>(known->begin(), known->end())) << path;
  }
}

TEST(ConfigSchema, ItsKeysAreTheReaders) {
  const Json schema = *Json::Parse(ConfigSchema());
  const std::pair<const char*, const char*> rows[] = {
      {"", ""},
      {"owners{}", "/properties/owners/additionalProperties"},
      {"channels{}", "/properties/channels/additionalProperties"},
      {"calendars{}", "/properties/calendars/additionalProperties"},
      {"pools{}", "/properties/pools/additionalProperties/anyOf/1"},
      {"flags{}", "/properties/flags/additionalProperties/anyOf/1"},
      {"maintenance[]", "/properties/maintenance/items"},
  };
  for (const auto& [path, pointer] : rows) {
    const std::vector<std::string>* known = ConfigKeysAt(path);
    const Json* properties = schema.Pointer(StrCat(pointer, "/properties"));
    ASSERT_NE(known, nullptr) << path;
    ASSERT_NE(properties, nullptr) << pointer;
    EXPECT_EQ(KeysOf(*properties), std::set<std::string>(known->begin(), known->end())) << path;
  }
}

TEST(Schema, EveryKeyOfARuleTellsWhatItIs) {
  const Json schema = *Json::Parse(RuleSchema());
  const Json* rule = schema.Pointer("/definitions/rule/properties");
  ASSERT_NE(rule, nullptr);
  for (const Json::Member& member : rule->AsObject()) {
    const bool told = member.second.Has("description") || member.second.Has("$ref") ||
                      member.second.Has("enum") || member.second.Has("default") ||
                      member.second.Has("properties");
    EXPECT_TRUE(told) << member.first;
  }
}

}  // namespace
}  // namespace duecourse
