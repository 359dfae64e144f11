// Which flags the rules speak of: what is told of a name that they do not.
#include "rule/flag_names.h"

#include "rule/test_rules.h"

namespace duecourse {
namespace {

TEST(FlagNames, ANameOfTheRulesOrTheSettingsIsKnownAndASlipIsTold) {
  const Loaded loaded = LoadRulesFromText(
      {{"rules.yaml",
        "tasks:\n"
        "- {task_id: up, cron: \"0 8 * * *\", timezone: UTC, noop: {}, on_success: {set: [\"up.ok\", "
        "\"{task}_{date}\", "
        "\"{task}{date}{year}{month}!ok\"]}}\n"
        "- {task_id: down, cron: \"0 9 * * *\", timezone: UTC, noop: {}, window_end: +2h, "
        "business_key: \"{task}:{date}\", preconditions: [{flag: \"etl.{business_date}.done\"}, {flag: gate, "
        "dated: false}]}\n"}},
      {"duecourse.yaml", "flags: {health: {set_by: the monitor}}\n"});
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  const struct {
    const char* name;
    bool dated;
    const char* told;  // empty: nothing
  } rows[] = {
      {"up.ok", true, ""},
      {"up.ok", false, "with a date beside it"},
      {"up_2026-06-01", false, ""},
      {"etl.2026-06-01.done", false, ""},
      {"etl.2026-06-01.done", true, "without a date beside it"},
      {"etl..done", false, "no active rule waits for or sets"},
      {"up2026-06-0120261!ok!ok", false, ""},
      {"up2!ok", false, "no active rule"},
      {"gate", false, ""},
      {"gate", true, "without a date beside it"},
      {"health", true, ""},
      {"health", false, ""},
      {"gaet", false, "did you mean gate?"},
      {"quite another", true, "no active rule waits for or sets a flag of the name quite another"},
  };
  for (const auto& row : rows) {
    const std::string note = UnknownFlagNote(*loaded.set, row.name, row.dated);
    EXPECT_EQ(note.empty(), row.told[0] == '\0') << row.name << ": " << note;
    EXPECT_NE(note.find(row.told), std::string::npos) << row.name << ": " << note;
  }
}

}  // namespace
}  // namespace duecourse
