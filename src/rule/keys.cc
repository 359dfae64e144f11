#include "rule/keys.h"

#include <map>

namespace duecourse {
namespace {

using Names = std::vector<std::string>;
using Table = std::map<std::string, Names, std::less<>>;

Names Together(std::initializer_list<Names> parts) {
  Names all;
  for (const Names& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const Names& ExecutionKeys() {
  static const Names keys = {"command",
                             "shell",
                             "http",
                             "noop",
                             "env",
                             "cwd",
                             "umask",
                             "user",
                             "timeout",
                             "expected",
                             "kill_grace",
                             "on_timeout",
                             "background_children",
                             "output",
                             "errors",
                             "kill_at_window_end",
                             "on_store_loss",
                             "budget"};
  return keys;
}

const Names& TriggerKeys() {
  static const Names keys = {"cron",
                             "dialect",
                             "every",
                             "anchor",
                             "at",
                             "event",
                             "external",
                             "timezone",
                             "dst",
                             "business_date",
                             "window",
                             "window_start",
                             "window_end",
                             "execution_window",
                             "days",
                             "until",
                             "on_window_end",
                             "missed",
                             "calendar",
                             "allow_weekend",
                             "on_excluded",
                             "depends_on",
                             "preconditions",
                             "check_interval",
                             "min_interval",
                             "max_concurrency",
                             "in_order",
                             "pools",
                             "spread",
                             "run_on",
                             "lease",
                             "lock_ttl"};
  return keys;
}

void AddTriggerKeys(Table* table) {
  const Names window = {"start", "end", "length", "days", "calendar", "why"};
  (*table)["trigger"] = TriggerKeys();
  (*table)["trigger.dst"] = {"gap", "overlap"};
  (*table)["trigger.business_date"] = {"offset"};
  (*table)["trigger.window"] = window;
  (*table)["trigger.execution_window"] = window;
  (*table)["trigger.lease"] = {"ttl", "heartbeat"};
  (*table)["trigger.event"] = {"name", "delay", "cancel_on", "correlate", "where", "scan", "every"};
  (*table)["trigger.external"] = {"why", "by"};
  (*table)["trigger.pools[]"] = {"name", "weight"};
}

// Both spellings: the keys of every kind beside `type`, and each kind as a block of its own.
void AddConditionKeys(Table* table) {
  const Names common = {"type", "why", "timeout", "max_age", "on_invalid"};
  const Names flag = {"name", "value", "dated"};
  const Names file = {"path",     "must_exist", "min_rows",       "min_bytes", "first_line",
                      "checksum", "signature",  "modified_after", "stable_for"};
  const Names http = {"method", "url", "headers", "body", "expect"};
  const Names task = {"task", "business_date", "key", "state"};
  const Names sql = {"connection", "query", "expect"};
  const std::string list = "trigger.preconditions[]";
  (*table)[list] = Together(
      {common, flag, file, http, task, sql, {"flag", "file", "data_file_ready", "http", "sql", "command"}});
  (*table)[list + ".flag"] = Together({common, flag});
  (*table)[list + ".file"] = Together({common, file});
  (*table)[list + ".data_file_ready"] = Together({common, file});
  (*table)[list + ".http"] = Together({common, http});
  (*table)[list + ".task"] = Together({common, task});
  (*table)[list + ".sql"] = Together({common, sql});
  (*table)[list + ".expect"] = {"status", "json", "rows", "value"};
  (*table)[list + ".http.expect"] = {"status", "json"};
  (*table)["trigger.depends_on[]"] = Together({common, flag, task, {"flag"}});
  (*table)["trigger.depends_on[].flag"] = Together({common, flag});
  (*table)["trigger.depends_on[].task"] = Together({common, task});
}

void AddRetryKeys(Table* table) {
  (*table)["retry"] = {"immediate", "backoff", "then",         "catchup", "max_total_attempts",
                       "breaker",   "why",     "max_attempts", "base",    "jitter"};
  (*table)["retry.immediate"] = {"max_attempts", "interval", "why"};
  (*table)["retry.backoff"] = {"max_attempts", "intervals", "initial", "factor", "max", "jitter", "why"};
  (*table)["retry.catchup"] = {"enabled",   "check_interval", "max_times",
                               "max_delay", "max_delay_min",  "only_if_data_ready",
                               "avoid",     "missed",         "why"};
  (*table)["retry.breaker"] = {"failures", "cooldown", "then"};
}

void AddExecutionKeys(Table* table) {
  (*table)["execution"] = ExecutionKeys();
  (*table)["execution.http"] = {"method", "url", "headers", "body", "expect", "async", "poll"};
  (*table)["execution.http.expect"] = {"status", "json"};
  (*table)["execution.noop"] = {"after", "exit"};
  (*table)["execution.output"] = {"max", "keep"};
  (*table)["execution.errors[]"] = {"exit", "status", "signal", "output", "as"};
  (*table)["execution.budget"] = {"unit", "per_day", "per_month"};
}

Table MakeRuleKeys() {
  const Names idempotency = {"business_key", "supersede", "keep"};
  Table table;
  table[""] = Together(
      {{"task_id", "why",      "owner",       "labels",     "enabled",   "vars",       "use",
        "trigger", "schedule", "guardrails",  "retry",      "catchup",   "breaker",    "max_total_attempts",
        "on_lost", "lookup",   "idempotency", "dedupe_key", "execution", "on_success", "alerts",
        "for_each"},
       TriggerKeys(),
       ExecutionKeys(),
       idempotency});
  AddTriggerKeys(&table);
  AddConditionKeys(&table);
  AddRetryKeys(&table);
  AddExecutionKeys(&table);
  table["idempotency"] = idempotency;
  table["on_success"] = {"set"};
  table["alerts"] = {"policy", "levels", "stuck"};
  table["alerts.levels"] = {"failure", "second_failure",  "third_failure", "skipped",
                            "missed",  "manual_required", "breaker_open",  "stuck"};
  table["alerts.stuck"] = {"scheduled", "running", "retrying", "catchup_waiting", "manual_required"};
  return table;
}

Table MakeConfigKeys() {
  Table table;
  table[""] = {
      "rules",     "data",          "node_id",     "owners",     "channels",    "calendars",
      "pools",     "flags",         "maintenance", "file_roots", "http_allow",  "drain_timeout",
      "retention", "command_slots", "http_slots",  "templates",  "connections", "allow_unsafe_durability"};
  table["owners{}"] = {"P1", "P2", "P3"};
  table["channels{}"] = {"command", "webhook", "timeout", "slack", "dingtalk", "wecom", "feishu", "email"};
  table["channels{}.webhook"] = {"url", "headers"};
  table["calendars{}"] = {"weekend", "holidays", "workdays", "covers", "ics"};
  table["pools{}"] = {"max_concurrency", "rate", "min_interval", "weight"};
  table["flags{}"] = {"set_by"};
  table["maintenance[]"] = {"name", "why", "from", "until", "cron", "timezone", "length", "tasks"};
  return table;
}

const Names* Lookup(const Table& table, std::string_view path) {
  auto at = table.find(path);
  return at == table.end() ? nullptr : &at->second;
}

}  // namespace

const std::vector<std::string>* RuleKeysAt(std::string_view path) {
  static const Table table = MakeRuleKeys();
  return Lookup(table, path);
}

const std::vector<std::string>* ConfigKeysAt(std::string_view path) {
  static const Table table = MakeConfigKeys();
  return Lookup(table, path);
}

std::string FamiliarKey(std::string_view key) {
  static const std::map<std::string, std::string, std::less<>> table = {
      {"id", "task_id"},
      {"task", "task_id"},
      {"name", "task_id"},
      {"tz", "timezone"},
      {"zone", "timezone"},
      {"time_zone", "timezone"},
      {"interval", "every"},
      {"key", "idempotency.business_key"},
      {"idempotency_key", "idempotency.business_key"},
      {"run", "execution"},
      {"cmd", "command"},
      {"script", "shell"},
      {"workdir", "cwd"},
      {"working_dir", "cwd"},
      {"environment", "env"},
      {"description", "why"},
      {"comment", "why"},
      {"require", "preconditions"},
      {"requires", "preconditions"},
      {"depends", "depends_on"},
      {"retries", "retry.backoff.max_attempts"},
      {"deadline", "window_end"},
      {"misfire", "missed"},
      {"concurrency", "max_concurrency"},
      {"pool", "pools"},
      {"tags", "labels"},
      {"disabled", "enabled: false"},
  };
  auto at = table.find(key);
  return at == table.end() ? "" : at->second;
}

}  // namespace duecourse
