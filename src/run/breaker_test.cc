#include "run/breaker.h"

#include <gtest/gtest.h>

namespace duecourse {
namespace {

const Instant kTen = *ParseUtc("2026-03-02T10:00:00Z");

RetryRule Written(int failures, Millis cooldown) {
  RetryRule rule;
  rule.breaker_failures = failures;
  rule.breaker_cooldown = cooldown;
  return rule;
}

Breaker OpenSince(Instant at, Millis cooldown) {
  Breaker breaker;
  breaker.version = 7;
  breaker.open = true;
  breaker.opened_at = at;
  breaker.until = at + cooldown;
  breaker.failed_attempts = 3;
  breaker.episode = "breaker/t/7";
  return breaker;
}

TEST(Breaker, AWrittenNumberOfFailuresInARowOpensItAtExactlyThatNumber) {
  const RetryRule rule = Written(5, Minutes(60));
  Breaker breaker;
  for (int i = 1; i <= 4; ++i) {
    const BreakerChange change = AfterFailure(breaker, rule, "r", false, kTen + Minutes(i));
    EXPECT_FALSE(change.opened) << i;
    EXPECT_FALSE(change.after.open) << i;
    EXPECT_EQ(change.after.version, i);
    breaker = change.after;
  }
  const BreakerChange fifth = AfterFailure(breaker, rule, "r", false, kTen + Minutes(5));
  EXPECT_TRUE(fifth.opened);
  EXPECT_TRUE(fifth.after.open);
  EXPECT_EQ(fifth.after.opened_at, kTen + Minutes(5));
  EXPECT_EQ(fifth.after.until, kTen + Minutes(65));
  EXPECT_EQ(fifth.after.version, 5);
}

TEST(Breaker, ASuccessBetweenStartsTheCountAgain) {
  const RetryRule rule = Written(2, Minutes(30));
  Breaker breaker = AfterFailure(Breaker{}, rule, "a", false, kTen).after;
  breaker = AfterSuccess(breaker, "b").after;
  EXPECT_EQ(breaker.failed_attempts, 0);
  EXPECT_FALSE(AfterFailure(breaker, rule, "c", false, kTen).opened);
}

TEST(Breaker, ByDefaultThreeRunsInARowThatUsedUpTheirLadderOpenIt) {
  const RetryRule rule;
  Breaker breaker;
  for (const char* run : {"a", "b", "c"}) {
    // A failure that still has a rung above it counts for nothing.
    const BreakerChange rung = AfterFailure(breaker, rule, run, false, kTen);
    EXPECT_EQ(rung.after, breaker);
    const BreakerChange last = AfterFailure(breaker, rule, run, true, kTen);
    EXPECT_EQ(last.opened, std::string(run) == "c") << run;
    breaker = last.after;
  }
  EXPECT_TRUE(breaker.open);
  EXPECT_EQ(breaker.until, kTen + Minutes(30));
}

TEST(Breaker, AFailedTrialBeginsANewCooldownInTheSameEpisodeSilently) {
  const RetryRule rule = Written(3, Minutes(60));
  Breaker breaker = OpenSince(kTen, Minutes(60));
  breaker.trial_run = "trial";
  const BreakerChange change = AfterFailure(breaker, rule, "trial", true, kTen + Minutes(61));
  EXPECT_TRUE(change.reopened);
  EXPECT_FALSE(change.opened);
  EXPECT_FALSE(change.closed);
  EXPECT_TRUE(change.after.open);
  EXPECT_EQ(change.after.until, kTen + Minutes(121));
  EXPECT_EQ(change.after.opened_at, kTen);
  EXPECT_EQ(change.after.episode, breaker.episode);
  EXPECT_EQ(change.after.trial_run, "");
  EXPECT_EQ(change.after.version, 8);
}

TEST(Breaker, ASuccessClosesItWhoeverHadIt) {
  for (const char* run : {"trial", "one that was under way", "by hand"}) {
    Breaker breaker = OpenSince(kTen, Minutes(60));
    breaker.trial_run = "trial";
    const BreakerChange change = AfterSuccess(breaker, run);
    EXPECT_TRUE(change.closed) << run;
    EXPECT_FALSE(change.after.open);
    EXPECT_EQ(change.after.until, std::nullopt);
    EXPECT_EQ(change.after.trial_run, "");
    EXPECT_EQ(change.after.failed_attempts, 0);
    EXPECT_EQ(change.after.episode, "breaker/t/7") << "the recovery note belongs to the episode";
    EXPECT_EQ(change.after.version, 8);
  }
}

TEST(Breaker, AnAttemptThatWasUnderWayWhenItOpenedDoesNotProlongIt) {
  const RetryRule rule = Written(3, Minutes(60));
  const Breaker cooling = OpenSince(kTen, Minutes(60));
  EXPECT_EQ(AfterFailure(cooling, rule, "other", true, kTen + Minutes(30)).after, cooling);
  Breaker half_open = cooling;
  half_open.trial_run = "trial";
  EXPECT_EQ(AfterFailure(half_open, rule, "other", true, kTen + Minutes(61)).after, half_open);
}

TEST(Breaker, AFailureAfterTheCooldownCountsAsTheTrialWhereNobodyIsNotedAsOne) {
  const Breaker breaker = OpenSince(kTen, Minutes(60));
  const BreakerChange change = AfterFailure(breaker, Written(3, Minutes(60)), "r", true, kTen + Minutes(60));
  EXPECT_TRUE(change.reopened);
  EXPECT_EQ(change.after.until, kTen + Minutes(120));
}

TEST(Breaker, OurOwnStopACancelOrNotReadyFreesTheTrialAndChangesNothingElse) {
  Breaker breaker = OpenSince(kTen, Minutes(60));
  breaker.trial_run = "trial";
  const BreakerChange other = AfterNeutral(breaker, "other");
  EXPECT_EQ(other.after, breaker);
  const BreakerChange change = AfterNeutral(breaker, "trial");
  EXPECT_FALSE(change.opened || change.closed || change.reopened);
  EXPECT_EQ(change.after.version, 8);
  breaker.trial_run.clear();
  breaker.version = 8;
  EXPECT_EQ(change.after, breaker);
}

TEST(Breaker, WhatChangesNothingKeepsTheVersionSoThatItIsNotWritten) {
  const Breaker quiet;
  EXPECT_EQ(AfterSuccess(quiet, "r").after, quiet);
  EXPECT_FALSE(AfterSuccess(quiet, "r").closed);
  EXPECT_EQ(AfterNeutral(quiet, "r").after, quiet);
  EXPECT_EQ(AfterFailure(quiet, RetryRule{}, "r", false, kTen).after, quiet);
}

// Scenario 43: every five minutes from 22:00 until 08:00, failing until 06:30, five failures, an hour of
// cooldown.
TEST(Breaker, Scenario43HasTwentyOneStartsOfWhichThirteenFail) {
  const RetryRule rule = Written(5, Minutes(60));
  const Instant from = *ParseUtc("2026-03-02T22:00:00Z");
  const Instant well = *ParseUtc("2026-03-03T06:30:00Z");
  Breaker breaker;
  int starts = 0, failures = 0, opened = 0, closed = 0, reopened = 0;
  for (Instant due = from; due < from + Hours(10); due = due + Minutes(5)) {
    if (breaker.open && *breaker.until > due) continue;
    ++starts;
    const std::string run = FormatUtc(due);
    if (breaker.open) breaker.trial_run = run;
    if (due < well) ++failures;
    const BreakerChange change =
        due < well ? AfterFailure(breaker, rule, run, true, due) : AfterSuccess(breaker, run);
    opened += change.opened ? 1 : 0;
    closed += change.closed ? 1 : 0;
    reopened += change.reopened ? 1 : 0;
    breaker = change.after;
  }
  EXPECT_EQ(starts, 21);
  EXPECT_EQ(failures, 13);
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(reopened, 8);
  EXPECT_EQ(closed, 1);
}

}  // namespace
}  // namespace duecourse
