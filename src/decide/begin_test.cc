#include "decide/begin.h"

#include <gtest/gtest.h>

namespace duecourse {
namespace {

const Instant kNoon = *ParseUtc("2026-03-02T12:00:00Z");

TEST(MayNotBegin, WhatStandsAgainstAStartStandsAgainstABeginning) {
  struct Row {
    const char* name;
    Instant now;
    Instant maintenance_until;
    bool paused, draining;
    std::optional<Reason> automatic, by_hand;
  };
  const Row rows[] = {
      {"in its window", kNoon - Millis{1}, kLongAgo, false, false, {}, {}},
      {"at its end", kNoon, kLongAgo, false, false, Reason::kExceededWindow, {}},
      {"paused", kNoon - Hours(1), kLongAgo, true, false, Reason::kPaused, {}},
      {"over is over, paused or not", kNoon, kLongAgo, true, false, Reason::kExceededWindow, {}},
      {"in maintenance", kNoon - Hours(1), kNoon, false, false, Reason::kMaintenanceWindow, {}},
      {"after maintenance", kNoon - Hours(1), kNoon - Hours(1), false, false, {}, {}},
      {"stopping", kNoon - Hours(1), kLongAgo, false, true, Reason::kDraining, Reason::kDraining},
  };
  for (const Row& row : rows) {
    BeginFacts facts;
    facts.now = row.now;
    facts.ends = kNoon;
    facts.maintenance_until = row.maintenance_until;
    facts.paused = row.paused;
    facts.draining = row.draining;
    EXPECT_EQ(MayNotBegin(facts), row.automatic) << row.name;
    facts.by_hand = true;
    EXPECT_EQ(MayNotBegin(facts), row.by_hand) << row.name;
  }
}

TEST(MayNotBegin, MaxDelayHoldsForCatchupThatWaitsAndARemovedRuleForAll) {
  BeginFacts facts;
  facts.now = kNoon;
  facts.ends = kNoon + Hours(1);
  facts.start_limit = kNoon + Millis{1};
  EXPECT_EQ(MayNotBegin(facts), std::nullopt);
  facts.start_limit = kNoon;
  EXPECT_EQ(MayNotBegin(facts), Reason::kExceededMaxDelay);
  facts.by_hand = true;
  EXPECT_EQ(MayNotBegin(facts), std::nullopt);
  facts.gone = true;
  EXPECT_EQ(MayNotBegin(facts), Reason::kRuleRemoved);
}

}  // namespace
}  // namespace duecourse
