#include "exec/report.h"

#include <gtest/gtest.h>

#include "exec/journal.h"
#include "exec/test_harness.h"

namespace duecourse {
namespace {

TEST(Report, SaysClassCodeSummaryDataAndCost) {
  Ending ending;
  ApplyReportText(
      R"({"class":"not_ready","code":"E7","summary":"no file yet","data":{"rows":3},"cost":0.25})",
      "result file", ending);
  EXPECT_EQ(ending.said, FailureClass::kNotReady);
  EXPECT_FALSE(ending.said_success);
  EXPECT_EQ(ending.said_code, "E7");
  EXPECT_EQ(ending.summary, "no file yet");
  EXPECT_EQ(ending.detail.Get("data").Get("rows").AsInteger(), 3);
  EXPECT_EQ(ending.detail.Get("cost").AsDouble(), 0.25);
  EXPECT_FALSE(ending.detail.Has("notes"));
}

TEST(Report, SuccessIsNoFailureClass) {
  Ending ending;
  ApplyReportText(R"({"class":"success"})", "result file", ending);
  EXPECT_TRUE(ending.said_success);
  EXPECT_FALSE(ending.said.has_value());
}

TEST(Report, WhatIsMalformedIsNotBelievedAtAll) {
  const std::string rows[] = {
      "",
      "not json",
      "[1]",
      R"({"class":"great","summary":"x"})",
      R"({"class":7,"summary":"x"})",
      R"({"summary":["x"]})",
      R"({"summary":"x","cost":"much"})",
      R"({"summary":"x","cost":-1})",
      R"({"summary":"x"} trailing)",
      StrCat(R"({"summary":")", std::string(kReportMaxBytes, 'x'), R"("})"),
  };
  for (const std::string& row : rows) {
    Ending ending;
    ending.summary = "before";
    ApplyReportText(row, "result file", ending);
    EXPECT_FALSE(ending.said.has_value());
    EXPECT_FALSE(ending.said_success);
    EXPECT_EQ(ending.summary, "before");
    ASSERT_EQ(ending.detail.Get("notes").AsArray().size(), 1u) << row.substr(0, 60);
    EXPECT_TRUE(
        ending.detail.Get("notes").AsArray()[0].AsString().starts_with("result file is not believed: "));
  }
}

TEST(Report, TextIsOneBoundedLineWithoutControlCharacters) {
  Ending ending;
  Json report = Json::MakeObject();
  std::string long_text;
  for (int i = 0; i < 400; ++i) long_text += "中";
  report.Set("summary", "a\x1b[31m\n" + long_text).Set("code", std::string(200, 'c'));
  ApplyReport(report, "answer", ending);
  EXPECT_EQ(ending.summary.find('\x1b'), std::string::npos);
  EXPECT_EQ(ending.summary.find('\n'), std::string::npos);
  EXPECT_TRUE(IsValidUtf8(ending.summary));
  EXPECT_LE(ending.summary.size(), kReportSummaryMax + 3);
  EXPECT_LE(ending.said_code.size(), kReportCodeMax + 3);
}

using ReportTest = ExecutorTest;

TEST_F(ReportTest, AHandlerReportsThroughItsResultFile) {
  Ending ending =
      Run(Shell("r1",
                "echo '{\"class\":\"business\",\"code\":\"NO_ROWS\",\"summary\":\"the table is empty\"}' > "
                "$DUECOURSE_RESULT; exit 1"));
  EXPECT_EQ(ending.kind, Ending::Kind::kExit);
  EXPECT_EQ(ending.code, 1);
  EXPECT_EQ(ending.said, FailureClass::kBusiness);
  EXPECT_EQ(ending.summary, "the table is empty");
}

TEST_F(ReportTest, WhatIsNoPlainFileIsNotRead) {
  const char* rows[] = {"ln -s /etc/passwd $DUECOURSE_RESULT", "mkfifo $DUECOURSE_RESULT",
                        "mkdir -p $DUECOURSE_RESULT/deep/er",
                        "echo '{\"summary\":\"x\"}' > other; ln other $DUECOURSE_RESULT"};
  int n = 0;
  for (const char* row : rows) {
    Ending ending = Run(Shell(StrCat("r", ++n), row));
    EXPECT_EQ(ending.code, 0) << row;
    EXPECT_EQ(ending.summary, "") << row;
    EXPECT_EQ(ending.detail.Get("notes").AsArray().size(), 1u) << row << ending.detail.Dump();
    EXPECT_EQ(
        std::filesystem::symlink_status(ResultPath(options_.data_folder, {StrCat("r", n), 1, 1})).type(),
        std::filesystem::file_type::not_found)
        << row;
  }
  EXPECT_TRUE(FileExists("/etc/passwd"));
}

TEST_F(ReportTest, ATimeOutStaysOneWhateverWasSaidBefore) {
  ExecutionRule rule = ShellRule();
  rule.timeout = Millis{400};
  rule.kill_grace = Millis{100};
  Ending ending = Run(Shell(
      "r1", "echo '{\"class\":\"success\",\"summary\":\"half done\"}' > $DUECOURSE_RESULT; sleep 300", rule));
  EXPECT_EQ(ending.kind, Ending::Kind::kTimeout);
  EXPECT_EQ(ending.summary, "ended after its time-out of 400ms (TERM); it had said: half done");
}

}  // namespace
}  // namespace duecourse
