// Whole stories: Decide and Recover drive one run from its due instant to its end, as the engine does,
// against an agent that answers by the clock. Nothing is kept but the run and the breaker, so a restart at
// any point changes nothing.
#include <gtest/gtest.h>

#include <functional>

#include "decide/decide.h"
#include "decide/recover.h"
#include "run/lifecycle.h"

namespace duecourse {
namespace {

// How an attempt (numbered from 1) that starts at an instant ends, at once.
using Agent = std::function<Ending(int attempt, Instant at)>;

Agent Exits(int code) {
  return [code](int, Instant) {
    Ending ending;
    ending.code = code;
    return ending;
  };
}
Agent AnswersUntil(Instant well, int status) {
  return [well, status](int, Instant at) {
    Ending ending;
    ending.kind = Ending::Kind::kHttp;
    ending.http_expect_met = at >= well;
    ending.code = ending.http_expect_met ? 200 : status;
    return ending;
  };
}

struct Story {
  Zone zone = Zone::Utc();
  Instant due;
  Instant ends;
  RetryRule retry;
  ExecutionRule execution;
  OnLost on_lost = OnLost::kRerun;
  OnWindowEnd on_window_end = OnWindowEnd::kManual;
  Instant max_delay_end = kNever;
  Breaker breaker;
  Run run;

  std::vector<std::string> starts;  // local times of day, with a fraction where there is one
  Instant ended_at;
  int decisions = 0;

  std::string Local(Instant at) const {
    const LocalTime local = zone.ToLocal(at);
    std::string text = FormatTimeOfDay(local.civil.second);
    if (text.size() == 5) text += ":00";
    return text;
  }

  Facts FactsAt(Instant now) const {
    Facts facts;
    facts.now = now;
    facts.state = run.state;
    facts.due = facts.opens = due;
    facts.ends = ends;
    facts.max_delay_end = max_delay_end;
    facts.counted = run.counted;
    facts.uncounted = run.uncounted;
    facts.attempts_max = retry.max_total_attempts;
    facts.next_at = run.next_at.value_or(kLongAgo);
    facts.next_is_catchup = run.state == RunState::kCatchupWaiting;
    facts.breaker_open = breaker.open;
    facts.breaker_until = breaker.until.value_or(kLongAgo);
    facts.busy_until = AvoidEnd(retry, zone, now).value_or(kLongAgo);
    return facts;
  }

  void Attempt(const Agent& agent, Instant now) {
    starts.push_back(Local(now));
    run.before_claim = run.state;
    run.state = RunState::kRunning;
    ++run.attempts;
    ++run.counted;
    if (breaker.open) breaker.trial_run = run.id;
    const Classified ended = Classify(execution, agent(run.attempts, now));
    const bool failed = ended.outcome == Outcome::kFailed || ended.outcome == Outcome::kTimedOut;
    BreakerChange change = AfterNeutral(breaker, run.id);
    if (failed) {
      change = AfterFailure(breaker, retry, run.id, LadderUsedUp(run, retry, ended.failure_class), now);
    } else if (ended.outcome == Outcome::kSuccess) {
      change = AfterSuccess(breaker, run.id);
    }
    breaker = change.after;
    RecoverFacts facts;
    facts.now = now;
    facts.outcome = ended.outcome;
    facts.failure_class = ended.failure_class;
    facts.retry_after = ended.retry_after;
    facts.run = &run;
    facts.retry = &retry;
    facts.on_lost = on_lost;
    facts.ends = ends;
    facts.max_delay_end = max_delay_end;
    facts.zone = &zone;
    facts.breaker = &breaker;
    facts.breaker_manual = retry.breaker_manual && (change.opened || change.reopened);
    const Recovery next = Recover(facts);
    EXPECT_TRUE(EdgeExists(run.state, next.next)) << RunStateName(next.next);
    run.state = next.next;
    run.reason = next.reason;
    run.next_at = next.next_at;
    run.ladder = next.ladder;
    run.counted = next.counted;
    run.uncounted = next.uncounted;
    run.next_lost_rerun = next.lost_rerun;
  }

  // From the due instant until the run is final or a person's. "success succeeded 10:30:15".
  std::string Tell(const Agent& agent) {
    run.id = "r";
    Instant now = due;
    while (IsOpen(run.state)) {
      if (++decisions > 10'000) return "never ends";
      const Decision decision = Decide(FactsAt(now));
      if (decision.verdict == Verdict::kAllow) {
        Attempt(agent, now);
      } else if (decision.verdict == Verdict::kEnd) {
        const Ended end = DecideEnd({decision.reason, on_window_end, run.counted});
        EXPECT_TRUE(EdgeExists(run.state, end.state));
        run.state = end.state;
        run.reason = end.reason;
      } else {
        EXPECT_GT(decision.recheck_at, now);
        now = decision.recheck_at;
      }
    }
    ended_at = now;
    return std::string(RunStateName(run.state)) + " " + ReasonName(run.reason) + " " + Local(now);
  }
};

using Times = std::vector<std::string>;

// Article B's order_sync: daily 02:00 in Shanghai, window until 05:00.
Story OrderSync() {
  Story story;
  story.zone = *Zone::Load("Asia/Shanghai");
  story.due = *ParseUtc("2025-06-01T02:00:00+08:00");
  story.ends = *ParseUtc("2025-06-01T05:00:00+08:00");
  story.retry.immediate_max = 1;
  story.retry.immediate_interval = Seconds(5);
  story.retry.backoff = {Minutes(1), Minutes(2), Minutes(4)};
  story.retry.catchup = true;
  story.retry.catchup_interval = Minutes(30);
  story.retry.catchup_max_times = 5;
  story.retry.max_total_attempts = 10;
  return story;
}

TEST(Timeline, ArticleBWithATransientErrorTriesTenTimesThenCallsAPerson) {
  Story story = OrderSync();
  EXPECT_EQ(story.Tell(Exits(75)), "manual_required attempts_exhausted 04:37:05");
  EXPECT_EQ(story.starts, (Times{"02:00:00", "02:00:05", "02:01:05", "02:03:05", "02:07:05", "02:37:05",
                                 "03:07:05", "03:37:05", "04:07:05", "04:37:05"}));
  EXPECT_EQ(story.run.counted, 10);
  EXPECT_FALSE(story.breaker.open) << "one run uses up one ladder";
}

TEST(Timeline, ArticleBWithAnUnknownErrorClimbsTheLadderThenCallsAPerson) {
  Story story = OrderSync();
  EXPECT_EQ(story.Tell(Exits(1)), "manual_required failed 02:07:05");
  EXPECT_EQ(story.starts, (Times{"02:00:00", "02:00:05", "02:01:05", "02:03:05", "02:07:05"}));
}

TEST(Timeline, ArticleBWithABusinessErrorCallsAPersonAtOnce) {
  Story story = OrderSync();
  EXPECT_EQ(story.Tell(Exits(65)), "manual_required business_error 02:00:00");
  EXPECT_EQ(story.starts.size(), 1u);
}

TEST(Timeline, ArticleBsBreakerToTheLetterStopsAtTheThirdFailure) {
  Story story = OrderSync();
  story.retry.breaker_failures = 3;
  story.retry.breaker_manual = true;
  EXPECT_EQ(story.Tell(Exits(75)), "manual_required breaker_open 02:01:05");
  EXPECT_EQ(story.starts, (Times{"02:00:00", "02:00:05", "02:01:05"}));
  Story trial = OrderSync();
  trial.retry.breaker_failures = 3;
  EXPECT_EQ(trial.Tell(Exits(75)), "manual_required exceeded_window 04:31:05");
  EXPECT_EQ(trial.starts, (Times{"02:00:00", "02:00:05", "02:01:05", "02:31:05", "03:01:05", "03:31:05",
                                 "04:01:05", "04:31:05"}))
      << "each cooldown of 30 min carries the next rung to its end";
}

// Article A's digest: daily 09:00 in Shanghai until 12:00; the agent is down until 10:30.
Story Digest() {
  Story story;
  story.zone = *Zone::Load("Asia/Shanghai");
  story.due = *ParseUtc("2025-06-02T09:00:00+08:00");
  story.ends = *ParseUtc("2025-06-02T12:00:00+08:00");
  story.retry.backoff = {Seconds(1), Seconds(2), Seconds(4), Seconds(8)};
  story.retry.catchup = true;
  story.retry.catchup_interval = Minutes(5);
  story.retry.max_total_attempts = 41;
  return story;
}

TEST(Timeline, ArticleAWithAnAgentThatIsDownUntilHalfPastTenSucceedsAtTheTwentyThirdAttempt) {
  Story story = Digest();
  EXPECT_EQ(story.Tell(AnswersUntil(*ParseUtc("2025-06-02T10:30:00+08:00"), 503)),
            "success succeeded 10:30:15");
  EXPECT_EQ(story.starts.size(), 23u);
  EXPECT_EQ(Times(story.starts.begin(), story.starts.begin() + 7),
            (Times{"09:00:00", "09:00:01", "09:00:03", "09:00:07", "09:00:15", "09:05:15", "09:10:15"}));
}

TEST(Timeline, ArticleAWithAnAgentThatStaysDownCallsAPersonBeforeNoon) {
  Story story = Digest();
  EXPECT_EQ(story.Tell(AnswersUntil(kNever, 503)), "manual_required exceeded_window 11:55:15");
  EXPECT_EQ(story.starts.size(), 40u);  // the five of the ladder and 35 looks; the next would be at 12:00:15
}

// Scenario 48: three stages until the window ends.
Story Grades() {
  Story story;
  story.due = *ParseUtc("2026-03-02T07:00:00Z");
  story.ends = *ParseUtc("2026-03-02T09:00:00Z");
  story.retry.immediate_max = 1;
  story.retry.immediate_interval = Millis{0};
  story.retry.backoff = {Seconds(30), Seconds(60), Seconds(120), Seconds(240)};
  story.retry.catchup = true;
  story.retry.catchup_interval = Minutes(15);
  story.retry.max_total_attempts = 12;
  return story;
}

TEST(Timeline, Scenario48TheFirstDaySucceedsWithTheNinthAttempt) {
  Story story = Grades();
  EXPECT_EQ(story.Tell(AnswersUntil(*ParseUtc("2026-03-02T07:42:00Z"), 529)), "success succeeded 07:52:30");
  EXPECT_EQ(story.starts, (Times{"07:00:00", "07:00:00", "07:00:30", "07:01:30", "07:03:30", "07:07:30",
                                 "07:22:30", "07:37:30", "07:52:30"}));
}

TEST(Timeline, Scenario48TheSecondDayCallsAPersonAfterTheTwelfthAttempt) {
  Story story = Grades();
  EXPECT_EQ(story.Tell(AnswersUntil(kNever, 529)), "manual_required attempts_exhausted 08:37:30");
  EXPECT_EQ(story.starts.size(), 12u);
}

Story Bad() {
  Story story;
  story.due = *ParseUtc("2026-03-02T10:00:00Z");
  story.ends = *ParseUtc("2026-03-02T12:00:00Z");
  story.retry.backoff = std::vector<Millis>(10, Seconds(60));
  story.retry.max_total_attempts = 4;
  return story;
}

TEST(Timeline, Scenario46FourAttemptsAreAllThereAreHoweverOftenTheDaemonRestarts) {
  Story story = Bad();
  EXPECT_EQ(story.Tell(Exits(1)), "manual_required attempts_exhausted 10:03:00");
  EXPECT_EQ(story.starts, (Times{"10:00:00", "10:01:00", "10:02:00", "10:03:00"}));
}

TEST(Timeline, AttemptsLostInCrashesCountTowardTheSameCap) {
  Story story = Bad();
  const Agent crashes_twice = [](int attempt, Instant) {
    Ending ending;
    ending.code = 1;
    if (attempt == 2 || attempt == 3) ending.kind = Ending::Kind::kUnknown;
    return ending;
  };
  EXPECT_EQ(story.Tell(crashes_twice), "manual_required attempts_exhausted 10:01:00");
  EXPECT_EQ(story.starts, (Times{"10:00:00", "10:01:00", "10:01:00", "10:01:00"}));
  Story hold = Bad();
  hold.on_lost = OnLost::kHold;
  EXPECT_EQ(hold.Tell(crashes_twice), "manual_required attempt_lost 10:01:00");
  EXPECT_EQ(hold.starts.size(), 2u);
}

TEST(Timeline, WhatIsNeverReadyIsAskedAHundredTimesAndThenAPersonIs) {
  Story story = Bad();
  EXPECT_EQ(story.Tell(Exits(69)), "manual_required attempts_exhausted 10:49:30");
  EXPECT_EQ(story.starts.size(), 100u);
  EXPECT_EQ(story.run.counted, 0);
  Story brief = Bad();
  brief.ends = *ParseUtc("2026-03-02T10:01:15Z");
  brief.on_window_end = OnWindowEnd::kMissed;
  EXPECT_EQ(brief.Tell(Exits(69)), "missed exceeded_window 10:01:15");
  EXPECT_EQ(brief.starts, (Times{"10:00:00", "10:00:30", "10:01:00"}));
}

TEST(Timeline, CatchUpStepsOverTheHoursToAvoidAndEndsWithMaxDelay) {
  Story story = OrderSync();
  story.retry.avoid = {{(2 * 60 + 30) * 60, 4 * 3600}};
  EXPECT_EQ(story.Tell(Exits(75)), "manual_required exceeded_window 04:30:00");
  EXPECT_EQ(Times(story.starts.begin() + 5, story.starts.end()), (Times{"04:00:00", "04:30:00"}));
  Story delayed = OrderSync();
  delayed.max_delay_end = *ParseUtc("2025-06-01T03:30:00+08:00");
  EXPECT_EQ(delayed.Tell(Exits(75)), "manual_required exceeded_max_delay 03:07:05");
  EXPECT_EQ(Times(delayed.starts.begin() + 5, delayed.starts.end()), (Times{"02:37:05", "03:07:05"}));
}

// Scenario 39: slept through, the next attempt lies after now; none are owed.
TEST(Timeline, AttemptsSleptThroughAreNotOwed) {
  Story story = Bad();
  story.retry.backoff = std::vector<Millis>(59, Seconds(10));
  story.retry.max_total_attempts = 60;
  story.run.state = RunState::kRetrying;
  story.run.counted = 30;
  story.run.ladder.backoff = 30;
  story.run.next_at = *ParseUtc("2026-03-02T10:05:00Z");
  story.due = *ParseUtc("2026-03-02T10:25:00Z");  // awake again
  EXPECT_EQ(story.Tell([](int, Instant at) {
    Ending ending;
    ending.code = at >= *ParseUtc("2026-03-02T10:26:00Z") ? 0 : 7;
    return ending;
  }),
            "success succeeded 10:26:00");
  EXPECT_EQ(story.starts,
            (Times{"10:25:00", "10:25:10", "10:25:20", "10:25:30", "10:25:40", "10:25:50", "10:26:00"}));
}

}  // namespace
}  // namespace duecourse
