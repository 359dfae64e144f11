// Every file in drills/ holds; the same seed twice gives the same log; a crash before or after any store call
// of those that say `crash: true` gives the same end state.
#include "sim/drill.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"

namespace duecourse {
namespace {

std::vector<std::string> DrillFiles() {
  Result<std::vector<std::string>> files =
      ListFiles(std::string(DUECOURSE_SOURCE_DIR) + "/drills", {".yaml"});
  return files.ok() ? *files : std::vector<std::string>();
}

std::string NameOfFile(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(info.param.rfind('/') + 1);
  std::string out;
  for (char c : name.substr(0, name.size() - 5))
    out.push_back(isalnum(static_cast<unsigned char>(c)) ? c : '_');
  return out;
}

std::string Tail(const std::vector<std::string>& log, size_t lines) {
  std::string out;
  for (size_t i = log.size() > lines ? log.size() - lines : 0; i < log.size(); ++i) out += log[i] + "\n";
  return out;
}

class DrillFile : public testing::TestWithParam<std::string> {};

TEST_P(DrillFile, Holds) {
  Result<Drill> drill = ReadDrill(GetParam());
  ASSERT_TRUE(drill.ok()) << drill.error().message();
  DrillReport report = RunDrill(*drill, {});
  EXPECT_TRUE(report.passed()) << Join(report.failures, "\n") << "\n--- end of the log\n"
                               << Tail(report.log, 25);
  EXPECT_EQ(report.trace_hash, RunDrill(*drill, {}).trace_hash) << "the same seed gave another log";
}

TEST_P(DrillFile, SurvivesACrashAtEveryStoreCall) {
  Result<Drill> drill = ReadDrill(GetParam());
  ASSERT_TRUE(drill.ok()) << drill.error().message();
  if (!drill->crash) return;
  DrillReport plain = RunDrill(*drill, {});
  ASSERT_TRUE(plain.passed());
  for (int64_t commit = 0; commit < plain.commits; ++commit) {
    for (bool after : {false, true}) {
      DrillRun run;
      run.crash_at = commit;
      run.crash_after = after;
      run.check_expectations = false;
      DrillReport report = RunDrill(*drill, run);
      EXPECT_TRUE(report.passed()) << "crash " << (after ? "after" : "before") << " commit " << commit << "\n"
                                   << Join(report.failures, "\n") << "\n"
                                   << Tail(report.log, 25);
      EXPECT_EQ(plain.end_state, report.end_state)
          << "crash " << (after ? "after" : "before") << " commit " << commit << "\n"
          << Tail(report.log, 25);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Drills, DrillFile, testing::ValuesIn(DrillFiles()), NameOfFile);

TEST(Drill, AMisspeltExpectationIsAnError) {
  const char* text =
      "drill: x\nfrom: 2026-01-01T00:00:00Z\nuntil: 2026-01-01T00:05:00Z\n"
      "rules: |\n  task_id: t\n  cron: \"* * * * *\"\n  timezone: UTC\n  execution: {noop: {}}\n"
      "expect:\n  starts:\n    - {task: t, coutn: 5}\n";
  Result<Drill> drill = ParseDrill("x.yaml", text);
  ASSERT_TRUE(drill.ok()) << drill.error().message();
  EXPECT_FALSE(RunDrill(*drill, {}).passed());
}

}  // namespace
}  // namespace duecourse
