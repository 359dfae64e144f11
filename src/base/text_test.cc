#include "base/text.h"

#include <gtest/gtest.h>

#include <limits>

namespace duecourse {
namespace {

using std::string_literals::operator""s;

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(Split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(Split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(Join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(Trim(" \t\r\n a b \n"), "a b");
  EXPECT_EQ(Trim("  "), "");
  EXPECT_EQ(AsciiLower("AbÄ"), "abÄ");
  EXPECT_EQ(StrCat("run ", 7, " of ", "x"s), "run 7 of x");
}

TEST(Text, OnlyPlainDecimalIntegersAreIntegers) {
  EXPECT_EQ(ParseInteger("0"), 0);
  EXPECT_EQ(ParseInteger("-1"), -1);
  EXPECT_EQ(ParseInteger("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseInteger("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  for (const char* text : {"", "-", "+1", " 1", "1 ", "01", "-0", "1_000", "0x1", "1.0",
                           "9223372036854775808", "-9223372036854775809", "99999999999999999999"}) {
    EXPECT_FALSE(ParseInteger(text).has_value()) << text;
  }
}

TEST(Text, Utf8IsTakenStrictly) {
  for (const char* text :
       {"", "plain", "Zürich", "调休", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"}) {
    EXPECT_TRUE(IsValidUtf8(text)) << text;
  }
  for (const char* text :
       {"\x80", "\xC3", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "long enough to be skipped \xE2\x82"}) {
    EXPECT_FALSE(IsValidUtf8(text)) << ShowBytes(text, false);
  }
}

TEST(Text, BytesThatSteerATerminalAreShownNotSent) {
  EXPECT_EQ(ShowBytes("ok Zürich", false), "ok Zürich");
  EXPECT_EQ(ShowBytes("a\x1b[31m\0b"s, false), "a\\x1b[31m\\x00b");
  EXPECT_EQ(ShowBytes("a\nb\tc\rd", false), "a\\nb\\tc\\rd");
  EXPECT_EQ(ShowBytes("a\nb\tc\rd", true), "a\nb\tc\\rd");
  EXPECT_EQ(ShowBytes("x\xE2\x80\xAEy", true), "x\\u202ey");  // right-to-left override
  EXPECT_EQ(ShowBytes("x\xC2\x9By", true), "x\\u009by");      // C1 control sequence introducer
  EXPECT_EQ(ShowBytes("bad \xC3( \xFF", false), "bad \xEF\xBF\xBD( \xEF\xBF\xBD");
}

TEST(Text, AMisspeltWordFindsItsNeighbourAndNothingFar) {
  const std::vector<std::string> words = {"timezone", "cron", "window_end", "window_start", "retry", "at"};
  EXPECT_EQ(Nearest("timzone", words), "timezone");
  EXPECT_EQ(Nearest("TimeZone", words), "timezone");
  EXPECT_EQ(Nearest("windowend", words), "window_end");
  EXPECT_EQ(Nearest("rerty", words), "retry");
  EXPECT_EQ(Nearest("corn", words), "cron");
  EXPECT_EQ(Nearest("xy", words), std::nullopt);
  EXPECT_EQ(Nearest("budget", words), std::nullopt);
  EXPECT_EQ(Nearest("", words), std::nullopt);
}

TEST(Text, Sha256MatchesThePublishedVectors) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace duecourse
