#include "base/shown.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace duecourse {
namespace {

TEST(ShownTest, WhatIsShownIsOneSafeLineOfAtMostSoManyBytes) {
  RegisterSecret("canary-to-be-shown");
  struct Row {
    std::string text;
    const char* shown;
  };
  const Row rows[] = {{"", ""},
                      {"plain", "plain"},
                      {"two\nlines", "two\\nlines"},
                      {"\x1b[2J", "\\x1b[2J"},
                      {"bad \xff", "bad \xEF\xBF\xBD"},
                      {"12345678901234567890", "12345678901234567890"},
                      {"123456789012345678901", "12345678901234567890…"},
                      {"1234567890123456789é", "1234567890123456789…"},
                      {"a canary-to-be-shown", "a ***"}};
  for (const Row& row : rows) EXPECT_EQ(Shown(row.text, 20), row.shown);
  EXPECT_EQ(Shown(std::string(1 << 20, 'x'), 20), "xxxxxxxxxxxxxxxxxxxx…");
}

}  // namespace
}  // namespace duecourse
