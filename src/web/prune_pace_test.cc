#include "web/prune_pace.h"

#include <gtest/gtest.h>

namespace duecourse {
namespace {

// How many pieces are begun in a span, by an engine that looks ten times a second; each has `more` after it.
int PiecesIn(PrunePace& pace, Millis& boot, Millis span, bool more) {
  int pieces = 0;
  for (const Millis end = boot + span; boot < end; boot = boot + Millis{100}) {
    if (!pace.TakeDue(boot)) continue;
    ++pieces;
    pace.Pruned(more);
  }
  return pieces;
}

TEST(PrunePace, APieceASecondAsLongAsThereIsMoreElseOneInTenMinutes) {
  PrunePace pace;
  Millis boot = Hours(1);
  pace.Started(boot);
  EXPECT_EQ(PiecesIn(pace, boot, kPruneAfterStart, true), 0) << "the wall clock may be wrong";
  const int busy = PiecesIn(pace, boot, Minutes(1), true);
  EXPECT_GE(busy, 50) << "a backlog of a year goes in hours, not in months";
  EXPECT_LE(busy, 61) << "starts in between are not held up";
  EXPECT_EQ(PiecesIn(pace, boot, Seconds(5), false), 1) << "the last, that found less";
  EXPECT_EQ(PiecesIn(pace, boot, Hours(1), false), 6);
}

TEST(PrunePace, AfterALeapThatWasBelievedNothingGoesForADay) {
  PrunePace pace;
  Millis boot = Hours(1);
  pace.Started(boot);
  boot = boot + kPruneAfterStart;
  ASSERT_TRUE(pace.TakeDue(boot));
  pace.Leapt(boot);
  pace.Pruned(true);  // of the piece that was under way
  EXPECT_EQ(PiecesIn(pace, boot, kPruneAfterLeap, false), 0);
  EXPECT_GE(PiecesIn(pace, boot, Minutes(10), false), 1);
}

}  // namespace
}  // namespace duecourse
