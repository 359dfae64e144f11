#include "exec/capture.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "base/text.h"

namespace duecourse {
namespace {

TEST(Capture, KeepsEverythingUpToItsAllowance) {
  Capture capture(10);
  capture.Add("01234");
  capture.Add("56789");
  EXPECT_EQ(capture.Kept(), "0123456789");
  EXPECT_EQ(capture.dropped(), 0);
  EXPECT_EQ(capture.total(), 10);
}

TEST(Capture, KeepsBeginningAndEndBeyondIt) {
  Capture capture(10);
  capture.Add("0123456789abc");
  EXPECT_EQ(capture.Kept(), "0123489abc");
  EXPECT_EQ(capture.head_size(), 5);
  EXPECT_EQ(capture.dropped(), 3);
}

TEST(Capture, HashesWhatWasWrittenAndNotWhatWasKept) {
  Capture capture(4);
  capture.Add("hello ");
  capture.Add("world");
  EXPECT_EQ(capture.Sha256(), Sha256Hex("hello world"));
}

TEST(Capture, HoldsAnyBytes) {
  const std::string bytes("ok \xe2\x28\xa1 \x80 \x00 \x1b[31m \n", 16);
  Capture capture(64 << 10);
  capture.Add(bytes);
  EXPECT_EQ(capture.Kept(), bytes);
}

TEST(Capture, KeepsNothingWhereNothingIsAllowed) {
  for (int64_t allowance : {-1, 0, 1}) {
    Capture capture(allowance);
    capture.Add("abc");
    EXPECT_EQ(capture.Kept(), "");
    EXPECT_EQ(capture.dropped(), 3);
    EXPECT_EQ(capture.Sha256(), Sha256Hex("abc"));
  }
}

TEST(Capture, LastBytesAreTheLastOnes) {
  Capture capture(10);
  capture.Add("0123456789abc");
  EXPECT_EQ(capture.Last(3), "abc");
  EXPECT_EQ(capture.Last(100), "0123489abc");
  Capture small(100);
  small.Add("abc");
  EXPECT_EQ(small.Last(2), "bc");
}

TEST(Capture, PiecesOfAnySizeGiveTheSameAsOnePiece) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const int64_t allowance = random.Between(2, 40);
    std::string all;
    Capture pieces(allowance);
    const int64_t count = random.Between(0, 12);
    for (int64_t i = 0; i < count; ++i) {
      std::string piece;
      const int64_t length = random.Between(0, 30);
      for (int64_t n = 0; n < length; ++n) piece += static_cast<char>(random.Between(0, 255));
      pieces.Add(piece);
      all += piece;
    }
    std::string expected = all;
    const size_t kept = static_cast<size_t>(allowance);
    if (all.size() > kept) expected = all.substr(0, kept / 2) + all.substr(all.size() - (kept - kept / 2));
    ASSERT_EQ(pieces.Kept(), expected) << "allowance " << allowance << " of " << all.size();
    ASSERT_EQ(pieces.dropped(), static_cast<int64_t>(all.size() - expected.size()));
  }
}

}  // namespace
}  // namespace duecourse
