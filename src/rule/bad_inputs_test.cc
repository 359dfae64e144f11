// Hostile and careless files: a clean fault with its place, at once, in little
// memory, no other rule harmed, no secret shown.
#include <sys/resource.h>

#include <fstream>

#include "base/test_folder.h"
#include "rule/test_rules.h"

namespace duecourse {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr double kSecondsMost = kSanitized ? 20 : 1;
constexpr int64_t kMemoryMostKib = 64 << 10;

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int64_t StatusKib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    int64_t kib = 0;
    if (word == name + ":" && status >> kib) return kib;
  }
  return 0;
}

// Loads and holds the bounds.
Loaded LoadBounded(const std::string& what, const std::vector<NamedText>& rules,
                   const std::string& settings = "") {
  std::ofstream("/proc/self/clear_refs") << "5";  // forgets the former peak
  int64_t idle = StatusKib("VmRSS");
  double begin = CpuSeconds();
  Loaded loaded = LoadRulesFromText(rules, {"duecourse.yaml", settings});
  EXPECT_LT(CpuSeconds() - begin, kSecondsMost) << what;
  if (!kSanitized) {
    EXPECT_LT(StatusKib("VmHWM") - idle, kMemoryMostKib) << what;
  }
  for (const Finding& finding : loaded.findings) {
    std::string text = FormatFinding(finding);
    EXPECT_LT(text.size(), 2000u) << what;
    EXPECT_EQ(ShowBytes(text, false), text) << what << ": a message holds control characters";
  }
  return loaded;
}

const char* const kGood = "task_id: good\ncron: \"0 8 * * *\"\ntimezone: UTC\nnoop: {}\n";

// The text is refused with these words; a good rule beside it is read all the same.
void ExpectRefused(const std::string& what, const std::string& text, const std::string& words) {
  Loaded loaded = LoadBounded(what, {{"bad.yaml", text}, {"good.yaml", kGood}});
  EXPECT_EQ(loaded.set, nullptr) << what;
  EXPECT_NE(FindingsText(loaded).find(words), std::string::npos) << what << ": " << words << "\nnot in\n"
                                                                 << FindingsText(loaded).substr(0, 3000);
  EXPECT_NE(loaded.readable->Find("good"), nullptr) << what;
  EXPECT_TRUE(FindingsText(loaded).find("bad.yaml") != std::string::npos) << what;
}

TEST(BadInputs, AliasesThatNeverEndOrExplode) {
  ExpectRefused("cyclic alias", "task_id: t\nlabels: &a {b: *a}\n", "bad.yaml:2:");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += StrCat("a", i, ": &a", i, " [");
    for (int j = 0; j < 9; ++j) bomb += StrCat(j == 0 ? "" : ", ", "*a", i - 1);
    bomb += "]\n";
  }
  ExpectRefused("alias bomb", bomb, "bad.yaml:");
}

TEST(BadInputs, AZoneThatIsNoneHidesNeitherTheNextNorWhatElseIsWrong) {
  const std::string text =
      "task_id: t\ncron: \"0 99 * * *\"\ntimezone: \"{zone}\"\nnoop: {}\n"
      "for_each: [{user: a, zone: EST5}, {user: b, zone: Asia/Tokyo}, {user: c, zone: Asia/Beijing}]\n";
  for (const char* told : {"\"EST5\"", "\"Asia/Beijing\"", "hour \"99\" is out of range"})
    ExpectRefused("zones of values", text, told);
}

TEST(BadInputs, DepthAndSize) {
  std::string flow = "task_id: t\nlabels: ";
  for (int i = 0; i < 30'000; ++i) flow += "{a: ";
  ExpectRefused("30,000 nested maps", flow, "nested deeper than 32 levels");
  ExpectRefused("30,000 brackets", "task_id: t\nlabels: " + std::string(30'000, '['),
                "nested deeper than 32 levels");
  ExpectRefused("20 MB scalar", "task_id: t\nwhy: " + std::string(20'000'000, 'x'), "at most");
  ExpectRefused("2 MB scalar", "task_id: t\nwhy: " + std::string(2'000'000, 'x'), "at most");
  ExpectRefused("long text", ShortRule("why: " + std::string(5000, 'x') + "\nnoop: {}\n"),
                "this text has 5000 bytes");
  std::string many = "task_id: t\n";
  for (int i = 0; i < 100'000; ++i) many += StrCat("key", i, ": 1\n");
  ExpectRefused("100,000 unknown keys", many, "more faults are not shown");
  std::string labels = ShortRule("noop: {}\nlabels:\n");
  for (int i = 0; i < 50'000; ++i) labels += StrCat("  l", i, ": v\n");
  ExpectRefused("50,000 labels", labels, "at most 10000");
}

TEST(BadInputs, TheSameIdTwice) {
  std::string two = std::string("tasks:\n") +
                    "- {task_id: a, cron: \"0 8 * * *\", timezone: UTC, noop: {}}\n" +
                    "- {task_id: a, cron: \"0 9 * * *\", timezone: UTC, noop: {}}\n";
  ExpectRefused("in one file", two, "bad.yaml:3:13: error: a: task_id: there is already a task a, at line 2");
  ExpectRefused(
      "in case only",
      "tasks:\n- {task_id: Mixed, cron: \"0 8 * * *\", timezone: UTC, noop: {}}\n- {task_id: MIXED, "
      "noop: {}, cron: \"0 8 * * *\", timezone: UTC}\n",
      "MIXED differs from Mixed, at line 2, in case only");
  // Two Unicode forms of one word: neither is an id.
  ExpectRefused("Unicode form",
                "tasks:\n- {task_id: caf\u00e9, noop: {}}\n- {task_id: cafe\u0301, noop: {}}\n",
                "a task id holds letters, digits");
  ExpectRefused("in a map",
                "tasks:\n  a: {cron: \"0 8 * * *\", timezone: UTC, noop: {}}\n  a: {cron: \"0 9 * * *\", "
                "timezone: UTC, noop: {}}\n",
                "is already at line 2");
}

TEST(BadInputs, KeysTwice) {
  ExpectRefused("duplicate key",
                "task_id: t\ncron: \"0 8 * * *\"\ntimezone: UTC\nnoop: {}\ntimeout: 5s\ntimeout: 6s\n",
                "bad.yaml:6:1: error: the key \"timeout\" is already at line 5, column 1");
  ExpectRefused("two spellings",
                ShortRule("noop: {}\nwindow_end: 09:00\nguardrails: {execution_window: \"08:00-10:00\"}\n"),
                "trigger.execution_window says the same as trigger.window_end at line 5");
  ExpectRefused("merge key", "base: &b {cron: x}\nt: {<<: *b}\n", "merge keys");
}

TEST(BadInputs, TagsAndBytes) {
  ExpectRefused("python tag", "task_id: t\nwhy: !!python/object:os.system {}\n", "tags");
  ExpectRefused("unknown tag", "task_id: t\nwhy: !thing x\n", "tags");
  ExpectRefused("NUL", std::string("task_id: t\nwhy: a") + '\0' + "b\n", "bad.yaml:2:7");
  ExpectRefused("escape", "task_id: t\nwhy: a\x1b[31m\n", "U+001B");
  ExpectRefused("escape in an escape", "task_id: t\nwhy: \"a\\x1b[31m\"\n", "U+001B");
  ExpectRefused("bidi override", "task_id: t\nwhy: a\u202eb\n", "U+202E");
  ExpectRefused("invalid UTF-8", "task_id: t\nwhy: \xff\xfe\n", "not UTF-8");
  ExpectRefused("UTF-16", std::string("\xff\xfet\0a\0", 6), "UTF-16");
  Loaded loaded = LoadBounded("BOM", {{"a.yaml", std::string("\xEF\xBB\xBF") + kGood}});
  EXPECT_NE(loaded.set, nullptr) << "a UTF-8 byte-order mark is harmless: " << FindingsText(loaded);
  ExpectRefused("tab", "task_id: t\n\tcron: x\n", "tab");
}

TEST(BadInputs, NumbersTimesAndWordsThatMeanSomethingElse) {
  struct Row {
    const char* more;
    const char* words;
  };
  const std::vector<Row> rows = {
      {"timeout: 9223372036854775807s", "longer than ten years"},
      {"timeout: 9999999999999999999999s", "longer than ten years"},
      {"timeout: 22:30", "timeout"},
      {"timeout: 1e3", "timeout"},
      {"timeout: 300", "expected a length of time with its unit, got 300; write 300s, 300m or 300h"},
      {"timeout: 0", "expected a length of time from 1ms to"},
      {"timeout: -5", "expected a length of time from 1ms to"},
      {"timeout: -5s", "expected"},
      {"max_concurrency: 010", "expected a whole number, got 010, which some read as octal; write 10"},
      {"max_concurrency: 1_000", "expected a whole number, got 1_000; write 1000"},
      {"max_concurrency: 1e3", "expected a whole number, got 1e3"},
      {"max_concurrency: 0x10", "expected a whole number, got 0x10"},
      {"max_concurrency: 99999999999999999999", "expected a whole number"},
      {"max_concurrency: 0", "expected a number from 1 to 100000, got 0"},
      {"enabled: no", "expected true or false, got no; write false"},
      {"enabled: on", "expected true or false, got on; write true"},
      {"enabled: 1", "expected true or false, got 1"},
      {"until: 2026-02-30", "expected a date that exists, got 2026-02-30"},
      {"until: 20260101", "expected a date"},
      {"window_start: 1320", "expected HH:MM, got 1320"},
      {"window_end: 24:00", "expected HH:MM, got 24:00; write \"00:00\""},
      {"window_end: 4h", "write +4h"},
      {"window_start: 25:00", "expected HH:MM, got 25:00"},
      {"enabled: null", "nothing is written here"},
      {"owner:", "nothing is written here"},
      {"owner: ~", "nothing is written here"},
      {"pools: [llm, null]", "nothing is written here"},
      {"why: \"\"", "this text is empty"},
      {"timeout: [5s]", "expected a length of time, got a list"},
      {"retry: 3", "expected standard or a map, got 3"},
      {"trigger: daily", "expected a map, got text"},
      {"catchup: true", "expected a map, got true; write catchup: {enabled: true}"},
      {"retry: {immediate: 1}", "expected a map, got 1; write immediate: {max_attempts: 1}"},
  };
  for (const Row& row : rows)
    ExpectRefused(row.more, ShortRule(std::string(row.more) + "\nnoop: {}\n"), row.words);
}

TEST(BadInputs, CronExpressionsThatCannotBe) {
  std::string commas;
  for (int i = 0; i < 10'000; ++i) commas += ",";
  for (const std::string& cron :
       {std::string("0 0 30 2 *"), std::string("1-60 * * * *"), std::string("*/0 * * * *"),
        std::string("5-1 * * * *"), commas + " * * * *", std::string("0 0 * * L"),
        std::string("0 0 * * MON#6"), std::string("0 0 32W * *"), std::string("* *"),
        std::string("CRON_TZ=UTC 0 0 * * *"), std::string("@reboot"), std::string("H * * * *")}) {
    ExpectRefused(cron.substr(0, 30), "task_id: t\ncron: \"" + cron + "\"\ntimezone: UTC\nnoop: {}\n",
                  "bad.yaml:2:7: error: t: trigger.cron: ");
  }
  Loaded loaded = LoadBounded("seven stars",
                              {{"a.yaml", "task_id: t\ncron: \"* * * * * * *\"\ntimezone: UTC\nnoop: {}\n"}});
  EXPECT_NE(loaded.set, nullptr) << "seconds and a year are fields: " << FindingsText(loaded);
}

TEST(BadInputs, WindowsAtTheEdgesAreRead) {
  for (const char* window :
       {"window_start: 02:00\nwindow_end: 02:00", "window_start: 22:00\nwindow_end: 02:00",
        "window_start: 02:30\nwindow_end: 02:45"}) {
    std::string text =
        StrCat("task_id: t\ncron: \"30 2 * * *\"\ntimezone: America/New_York\nnoop: {}\n", window, "\n");
    Loaded loaded = LoadBounded(window, {{"a.yaml", text}});
    EXPECT_NE(loaded.set, nullptr) << FindingsText(loaded);
  }
}

TEST(BadInputs, RulesThatWaitForOneAnotherAreReadQuickly) {
  std::string text = "tasks:\n";
  constexpr int kTasks = 5000;
  for (int i = 0; i < kTasks; ++i) {
    text += StrCat("- {task_id: t", i,
                   ", cron: \"0 8 * * *\", timezone: UTC, noop: {}, window_end: +1h, business_key: "
                   "\"{task}:{date}\", depends_on: [{task: t",
                   (i + 1) % kTasks, "}]}\n");
  }
  Loaded loaded = LoadBounded("cycle of 5,000", {{"a.yaml", text}});
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  EXPECT_EQ(loaded.set->tasks.size(), static_cast<size_t>(kTasks));
}

TEST(BadInputs, NamesOfEnvironmentVariables) {
  ExpectRefused("LD_PRELOAD", ShortRule("noop: {}\nenv: {LD_PRELOAD: /tmp/x.so}\n"),
                "changes how programs are loaded");
  ExpectRefused("LD_LIBRARY_PATH", ShortRule("noop: {}\nenv: {LD_LIBRARY_PATH: /tmp}\n"),
                "changes how programs are loaded");
  ExpectRefused("A=B", ShortRule("noop: {}\nenv: {\"A=B\": c}\n"), "letters, digits and _ only");
  ExpectRefused("empty", ShortRule("noop: {}\nenv: {\"\": c}\n"), "is empty");
  ExpectRefused("digit", ShortRule("noop: {}\nenv: {1A: c}\n"), "begins with no digit");
  ExpectRefused("ours", ShortRule("noop: {}\nenv: {DUECOURSE_KEY: c}\n"), "set for every attempt already");
  ExpectRefused("PATH by reference", ShortRule("noop: {}\nenv: {PATH: {env: PATH}}\n"),
                "PATH takes a plain value");
  // Scenario 60 writes it out.
  RuleBody rule = OnlyRule(
      ShortRule("shell: \"env | sort; mytool --version\"\nenv: {PATH: \"/usr/local/bin:/usr/bin:/bin\"}\n"));
  EXPECT_EQ(rule.execution.env.at(0).second.text.text(), "/usr/local/bin:/usr/bin:/bin");
}

TEST(BadInputs, TaskIdsThatAreNoNames) {
  struct Row {
    std::string id;
    const char* words;
  };
  const std::vector<Row> rows = {
      {"../../x", "a task id holds letters"},
      {"CON", "means something else as the name of a file"},
      {"com1.txt", "means something else"},
      {"\"<script>\"", "a task id holds letters"},
      {std::string(10'000, 'a'), "a task id has at most 128 bytes, this one has 10000"},
      {"\"\"", "a task id is a text that is not empty"},
      {".", "means something else"},
      {"..", "means something else"},
      {"\"-rf\"", "begins with a letter"},
      {"\"a b\"", "a task id holds letters"},
      {"[a]", "a task id is a text"},
  };
  for (const Row& row : rows) {
    ExpectRefused(row.id.substr(0, 20),
                  "task_id: " + row.id + "\ncron: \"0 8 * * *\"\ntimezone: UTC\nnoop: {}\n", row.words);
  }
  ExpectRefused("none", "cron: \"0 8 * * *\"\ntimezone: UTC\nnoop: {}\n",
                "bad.yaml:1:1: error: task_id: this rule has no task_id");
}

// The pattern that stops backtracking engines is a plain text here.
TEST(BadInputs, NothingIsARegularExpression) {
  RuleBody rule = OnlyRule(ShortRule("noop: {}\nerrors: [{output: \"(a+)+$\", as: business}]\n"));
  EXPECT_EQ(rule.execution.errors.at(0).contains, "(a+)+$");
}

TEST(BadInputs, AHolidayFileOfTenMillionLines) {
  const TestFolder scratch;
  const std::string path = scratch.path() + "/holidays.ics";
  {
    std::ofstream file(path);
    std::string block;
    for (int i = 0; i < 10'000; ++i) block += "\r\n";
    for (int i = 0; i < 1000; ++i) file << block;
  }
  Loaded loaded =
      LoadBounded("10 M lines", {{"a.yaml", kGood}}, StrCat("calendars: {cn: {ics: \"", path, "\"}}\n"));
  EXPECT_EQ(loaded.set, nullptr);
  EXPECT_NE(FindingsText(loaded).find("duecourse.yaml:1:23: error: calendars.cn.ics: "), std::string::npos)
      << FindingsText(loaded);
  std::string list = "calendars: {cn: {holidays: [2026-01-01";
  for (int i = 0; i < 120'000; ++i) list += ", 2026-01-01";
  loaded = LoadBounded("120,000 days", {{"a.yaml", kGood}}, list + "]}}\n");
  EXPECT_EQ(loaded.set, nullptr);
}

}  // namespace
}  // namespace duecourse
