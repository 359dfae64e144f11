// Every finding of lint stands at the key that it is about: a person who opens the file there sees what to
// change.
#include "rule/test_lint.h"

namespace duecourse {
namespace {

struct Row {
  const char* id;
  const char* place;  // line:column and what is written there
  const char* rules;
  const char* now = "2026-02-10T00:00:00Z";
  const char* settings = kLintSettings;
};

constexpr const char* kNoPhone =
    "owners: {quiet: {P2: [phone]}}\nchannels: {phone: {command: [/bin/true]}}\n";

const Row kRows[] = {
    {"always_excluded", "6:1 days:",
     "task_id: t\n"
     "cron: \"0 9 * * 6\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "days: mon-fri\n"},
    {"at_partly_past", "5:1 at:",
     "task_id: t\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "at: [\"2026-01-01 09:00\", \"2027-01-01 09:00\"]\n"
     "business_key: \"t:{date}\"\n"},
    {"at_past", "5:1 at:",
     "task_id: t\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "at: \"2026-01-01 09:00\"\n"},
    {"calendar_ends", "7:1 calendar:",
     "task_id: t\n"
     "cron: \"0 9 * * *\"\n"
     "timezone: Asia/Shanghai\n"
     "owner: data\n"
     "noop: {}\n"
     "days: workdays\n"
     "calendar: cn\n",
     "2026-11-25T00:00:00Z"},
    {"cap_below_ladder", "9:45 max_total_attempts:",
     "task_id: t\n"
     "cron: \"0 2 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{task}:{date}:{window}\"\n"
     "window_start: \"02:00\"\n"
     "window_end: \"05:00\"\n"
     "retry: {backoff: {intervals: [1m, 2m, 4m]}, max_total_attempts: 3}\n"},
    {"cap_high", "9:40 max_total_attempts:",
     "task_id: t\n"
     "cron: \"0 2 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{task}:{date}:{window}\"\n"
     "window_start: \"02:00\"\n"
     "window_end: \"05:00\"\n"
     "retry: {catchup: {check_interval: 1m}, max_total_attempts: 101}\n"},
    {"catchup_no_room", "9:67 max_total_attempts:",
     "task_id: t\n"
     "cron: \"0 2 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{task}:{date}:{window}\"\n"
     "window_start: \"02:00\"\n"
     "window_end: \"05:00\"\n"
     "retry: {backoff: {intervals: [1m, 2m]}, catchup: {enabled: true}, max_total_attempts: 3}\n"},
    {"cost_bound", "6:1 retry:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "retry: standard\n"},
    {"day_or_weekday", "2:1 cron:",
     "task_id: t\n"
     "cron: \"0 9 1 * 1\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"},
    {"day_star_step", "2:1 cron:",
     "task_id: t\n"
     "cron: \"0 9 */2 * 1\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"},
    {"defaults", "2:1 cron:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "noop: {}\n"},
    {"dst_gap", "2:1 cron:",
     "task_id: t\n"
     "cron: \"30 2 * * *\"\n"
     "timezone: America/New_York\n"
     "owner: data\n"
     "noop: {}\n"},
    {"dst_named_hour", "2:1 cron:",
     "task_id: t\n"
     "cron: \"*/20 2 * * *\"\n"
     "timezone: America/New_York\n"
     "owner: data\n"
     "noop: {}\n"},
    {"dst_overlap", "2:1 cron:",
     "task_id: t\n"
     "cron: \"30 1 * * *\"\n"
     "timezone: America/New_York\n"
     "owner: data\n"
     "noop: {}\n"},
    {"due_outside_window", "6:1 window_start:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "window_start: \"09:00\"\n"
     "window_end: \"12:00\"\n"},
    {"flag_unsourced", "9:14 etl.raedy]",
     "---\n"
     "task_id: a\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "window_end: +4h\n"
     "business_key: \"{task}:{date}\"\n"
     "depends_on: [etl.raedy]\n"},
    {"keep_short", "8:1 keep:",
     "task_id: t\n"
     "cron: \"0 2 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{task}:{date}:{window}\"\n"
     "window_end: +72h\n"
     "keep: 2d\n"},
    {"key_coarse", "7:1 business_key:",
     "---\n"
     "task_id: t\n"
     "cron: \"0 9 1 * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{year}\"\n"},
    {"key_constant", "7:1 business_key:",
     "---\n"
     "task_id: t\n"
     "cron: \"0 9 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"t:{window}\"\n"},
    {"key_iso_week", "7:1 business_key:",
     "---\n"
     "task_id: t\n"
     "cron: \"0 9 * * 1\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{business_date:%Y%V}\"\n"},
    {"key_missing", "1:1 task_id:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "retry: standard\n"},
    {"key_no_year", "7:1 business_key:",
     "---\n"
     "task_id: t\n"
     "cron: \"0 9 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"t:{month}\"\n"},
    {"key_shared", "14:1 business_key:",
     "---\n"
     "task_id: a\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"r:{date}\"\n"
     "---\n"
     "task_id: z\n"
     "cron: \"0 9 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"r:{business_date}\"\n"},
    {"key_shared_by_values", "1:1 task_id:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "for_each: {c: [x, y]}\n"},
    {"key_too_fine", "7:1 business_key:",
     "---\n"
     "task_id: t\n"
     "cron: \"0 9 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{node}:{date}\"\n"},
    {"lease_heartbeats", "9:19 heartbeat:",
     "task_id: t\n"
     "cron: \"0 2 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{task}:{date}:{window}\"\n"
     "window_start: \"02:00\"\n"
     "window_end: \"05:00\"\n"
     "lease: {ttl: 60s, heartbeat: 25s}\n"},
    {"manual_silenced", "6:19 manual_required:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "noop: {}\n"
     "owner: data\n"
     "alerts: {levels: {manual_required: none}}\n"},
    {"max_times_unreachable", "9:19 max_times:",
     "task_id: t\n"
     "cron: \"0 2 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{task}:{date}:{window}\"\n"
     "window_start: \"02:00\"\n"
     "window_end: \"05:00\"\n"
     "retry: {catchup: {max_times: 6}, max_total_attempts: 9}\n"},
    {"missed_silenced", "6:19 missed:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "noop: {}\n"
     "owner: data\n"
     "alerts: {levels: {missed: none}}\n"},
    {"never_due", "6:1 until:",
     "task_id: t\n"
     "cron: \"0 9 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "until: 2026-01-31\n"},
    {"window_long", "6:1 window_end:",
     "task_id: t\n"
     "cron: \"0 2 * * *\"\n"
     "timezone: UTC\n"
     "noop: {}\n"
     "window_start: \"02:00\"\n"
     "window_end: \"01:00\"\n"},
    {"catchup_capped", "8:1 retry:",
     "task_id: t\n"
     "cron: \"0 2 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "window_start: \"02:00\"\n"
     "window_end: \"12:00\"\n"
     "retry: {catchup: {enabled: true, check_interval: 30m}}\n"},
    {"no_jitter", "9:40 jitter:",
     "task_id: t\n"
     "cron: \"0 2 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{task}:{date}:{window}\"\n"
     "window_start: \"02:00\"\n"
     "window_end: \"05:00\"\n"
     "retry: {backoff: {intervals: [1m, 2m], jitter: 0}}\n"},
    {"no_owner", "1:1 task_id:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "noop: {}\n"},
    {"no_why", "6:14 health]",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "depends_on: [health]\n"},
    {"retry_count", "9:1 retry:",
     "task_id: t\n"
     "cron: \"0 2 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{task}:{date}:{window}\"\n"
     "window_start: \"02:00\"\n"
     "window_end: \"05:00\"\n"
     "retry: {backoff: {intervals: [1m, 2m]}}\n"},
    {"short_months", "2:1 cron:",
     "task_id: t\n"
     "cron: \"0 9 30 * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"},
    {"status_202", "5:43 status",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "http: {url: \"http://a.example/\", expect: {status: 202}}\n"},
    {"unknown_upstream", "9:17 {task: extarct",
     "---\n"
     "task_id: load\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "window_end: +4h\n"
     "business_key: \"{task}:{date}\"\n"
     "preconditions: [{task: extarct, why: x}]\n"
     "---\n"
     "task_id: extract\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "window_end: +4h\n"
     "business_key: \"{task}:{date}\"\n"},
    {"unknown_variable", "7:1 business_key:",
     "---\n"
     "task_id: b\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"b:{busines_date}\"\n"},
    {"key_invalid", "6:1 business_key:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "business_key: \"{part}:{date}\"\n"
     "vars: {part: \"a#b\"}\n"},
    {"upstream_disabled", "9:17 {task: b",
     "---\n"
     "task_id: a\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "window_end: +4h\n"
     "business_key: \"{task}:{date}\"\n"
     "preconditions: [{task: b, why: x}]\n"
     "---\n"
     "task_id: b\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "window_end: +4h\n"
     "business_key: \"{task}:{date}\"\n"
     "enabled: false\n"},
    {"upstream_not_that_day", "9:17 {task: up",
     "---\n"
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "window_end: +4h\n"
     "business_key: \"{task}:{date}\"\n"
     "preconditions: [{task: up, why: x}]\n"
     "---\n"
     "task_id: up\n"
     "cron: \"0 9 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "window_end: +4h\n"
     "business_key: \"{task}:{date}\"\n"},
    {"waits_for_itself", "9:1 preconditions:",
     "---\n"
     "task_id: a\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "window_end: +4h\n"
     "business_key: \"{task}:{date}\"\n"
     "preconditions: [{task: a, why: x}]\n"},
    {"window_end_missing", "2:1 cron:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "owner: data\n"
     "noop: {}\n"
     "retry: standard\n"},
    {"no_p1_channel", "5:1 owner:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "noop: {}\n"
     "owner: quiet\n",
     "2026-02-10T00:00:00Z", kNoPhone},
    {"lease_long", "5:1 lock_ttl:",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "noop: {}\n"
     "lock_ttl: 3600s\n"},
    {"not_supported_yet", "5:9 5m",
     "task_id: t\n"
     "cron: \"0 8 * * *\"\n"
     "timezone: UTC\n"
     "noop: {}\n"
     "spread: 5m\n"},
    // A list of tasks and a map of names: the second rule's own keys.
    {"lease_long", "4:68 lock_ttl:",
     "tasks:\n"
     "  - {task_id: a, cron: \"0 8 * * *\", timezone: UTC, noop: {}}\n"
     "  - {task_id: b, cron: \"0 8 * * *\",\n"
     "     timezone: UTC, noop: {}, why: it is long because it is long,  lock_ttl: 3600s}\n"},
    {"no_owner", "1:1 a:", "a: {cron: \"0 8 * * *\", timezone: UTC, noop: {}}\n"},
};

TEST(LintPlace, EveryFindingStandsAtTheKeyItIsAbout) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(StrCat(row.id, "\n", row.rules));
    const Linted linted = LintRules(row.rules, row.now, true, row.settings);
    const std::vector<std::string_view> lines = Split(row.rules, '\n');
    std::vector<std::string> places;
    for (const Finding& finding : linted.Of(row.id)) {
      ASSERT_GT(finding.line, 0);
      ASSERT_LE(static_cast<size_t>(finding.line), lines.size());
      ASSERT_GT(finding.column, 0);
      const std::string_view line = lines[static_cast<size_t>(finding.line) - 1];
      const std::string_view place = row.place;
      const std::string_view token = place.substr(place.find(' ') + 1);
      places.push_back(
          StrCat(finding.line, ":", finding.column, " ",
                 std::string(line.substr(static_cast<size_t>(finding.column) - 1, token.size()))));
    }
    EXPECT_TRUE(std::find(places.begin(), places.end(), row.place) != places.end())
        << "not at " << row.place << " but at " << Join(places, ", ");
  }
}

TEST(LintPlace, NoFindingIsLeftOut) {
  std::set<std::string> placed;
  for (const Row& row : kRows) placed.insert(row.id);
  for (const std::string& id : LintIds()) EXPECT_EQ(placed.count(id), 1u) << id << " has no row here";
}

}  // namespace
}  // namespace duecourse
