#include "time/bulk.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace duecourse {
namespace {

TEST(Bulk, ALineOfColumnsBecomesALineOfInstants) {
  struct Row {
    const char* line;
    const char* answer;
  };
  for (const Row& row : {
           Row{"* * * * *\tUTC\t2026-12-01T00:00:00Z\t2", "2026-12-01T00:01:00Z,2026-12-01T00:02:00Z"},
           Row{"30 2 * * *\tAmerica/New_York\t2026-03-08T05:00:00Z\t2",
               "2026-03-08T07:00:00Z,2026-03-09T06:30:00Z"},
           Row{"\t 30\t2 * * *\tUTC\t2026-12-01T00:00:00Z\t1", "2026-12-01T02:30:00Z"},
           Row{"* * * * *\tUTC\t2026-12-01T00:00:00Z\t1\r", "2026-12-01T00:01:00Z"},
           Row{"0 0 0 1 1 * 2027,2028\tUTC\t2026-12-01T00:00:00Z\t9",
               "2027-01-01T00:00:00Z,2028-01-01T00:00:00Z"},
           Row{"* * * * *\tUTC\t2026-12-01T08:00:30+08:00\t1", "2026-12-01T00:01:00Z"},
           Row{"*/30 59 23 31 12 *\tUTC\t2026-12-31T23:59:00Z\t2",
               "2026-12-31T23:59:30Z,2027-12-31T23:59:00Z"},
       }) {
    EXPECT_EQ(NextLine(row.line), row.answer) << row.line;
  }
}

TEST(Bulk, WhatCannotBeAnsweredIsOneLineOfError) {
  for (const char* line :
       {"", "* * * * *", "* * * * *\tUTC\t2026-12-01T00:00:00Z", "61 * * * *\tUTC\t2026-12-01T00:00:00Z\t1",
        "* * * * *\tMars/Olympus\t2026-12-01T00:00:00Z\t1", "* * * * *\tUTC\ttomorrow\t1",
        "* * * * *\tUTC\t2026-12-01T00:00:00Z\t0", "* * * * *\tUTC\t2026-12-01T00:00:00Z\t100001",
        "* * * * *\tUTC\t2026-12-01T00:00:00Z\t-1", "* * * * *\tUTC\t2026-12-01T00:00:00Z\t1x",
        "0 0 0 * * * 1999-2005\tUTC\t2026-12-01T00:00:00Z\t5", "\x1b[0m\n\tUTC\t2026-12-01T00:00:00Z\t1"}) {
    std::string answer = NextLine(line);
    EXPECT_TRUE(answer.starts_with("error: ")) << line << ": " << answer;
    EXPECT_EQ(answer.find_first_of("\n\r\x1b"), std::string::npos) << answer;
  }
}

TEST(Bulk, TheLargestCountIsAnswered) {
  std::string answer = NextLine("* * * * * *\tAmerica/New_York\t2026-12-01T00:00:00Z\t100000");
  EXPECT_EQ(std::count(answer.begin(), answer.end(), ','), 99'999);
  EXPECT_TRUE(answer.ends_with(",2026-12-02T03:46:40Z")) << answer.substr(answer.size() - 30);
}

}  // namespace
}  // namespace duecourse
