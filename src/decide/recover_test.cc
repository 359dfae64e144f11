#include "decide/recover.h"

#include <gtest/gtest.h>

#include <functional>

#include "run/lifecycle.h"

namespace duecourse {
namespace {

const Instant kNoon = *ParseUtc("2026-03-02T12:00:00Z");

// An attempt of this run failed at noon with a transient error; window until two. Immediate 1 x 5 s, backoff
// 1 and 2 min, catch-up every 30 min, ten attempts.
struct Case {
  Run run;
  RetryRule retry;
  Breaker breaker;
  RecoverFacts facts;
  Case() {
    run.state = RunState::kRunning;
    run.counted = 1;
    run.attempts = 1;
    retry.immediate_max = 1;
    retry.backoff = {Minutes(1), Minutes(2)};
    retry.catchup = true;
    retry.max_total_attempts = 10;
    facts.now = kNoon;
    facts.failure_class = FailureClass::kTransient;
    facts.ends = kNoon + Hours(2);
  }
  Recovery Ask() {
    facts.run = &run;
    facts.retry = &retry;
    facts.breaker = &breaker;
    return Recover(facts);
  }
};

// "retrying failed 00:05 1/0/0 counted 1": what comes next, why, and when.
std::string Show(const Recovery& r) {
  std::string out = std::string(RunStateName(r.next)) + " " + ReasonName(r.reason);
  if (r.next_at) out += " +" + FormatMillis(*r.next_at - kNoon);
  return out;
}
std::string Rungs(const Recovery& r) {
  return std::to_string(r.ladder.immediate) + "/" + std::to_string(r.ladder.backoff) + "/" +
         std::to_string(r.ladder.catchup);
}

struct Row {
  const char* what;
  std::function<void(Case&)> change;
  const char* expected;
};
void Expect(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    Case test;
    row.change(test);
    const Recovery recovery = test.Ask();
    EXPECT_EQ(Show(recovery), row.expected) << row.what;
    EXPECT_TRUE(EdgeExists(RunState::kRunning, recovery.next)) << row.what;
  }
}

void InCatchup(Case& c) {
  c.run.ladder = {1, 2, 1};
  c.run.before_claim = RunState::kCatchupWaiting;
}

TEST(Recover, TheLadderIsImmediateThenBackoffThenCatchUp) {
  const struct {
    Ladder before;
    const char* expected;
    const char* after;
    bool used_up;
  } rows[] = {
      {{0, 0, 0}, "retrying failed +5s", "1/0/0", false},
      {{1, 0, 0}, "retrying failed +60s", "1/1/0", false},
      {{1, 1, 0}, "retrying failed +2m", "1/2/0", false},
      {{1, 2, 0}, "catchup_waiting failed +30m", "1/2/1", true},
      {{1, 2, 1}, "catchup_waiting failed +30m", "1/2/2", false},  // used up once a run, for the breaker
  };
  for (const auto& row : rows) {
    Case test;
    test.run.ladder = row.before;
    const Recovery recovery = test.Ask();
    EXPECT_EQ(Show(recovery), row.expected);
    EXPECT_EQ(Rungs(recovery), row.after);
    EXPECT_EQ(LadderUsedUp(test.run, test.retry, FailureClass::kTransient), row.used_up) << row.after;
    EXPECT_EQ(recovery.counted, 1);
  }
}

TEST(Recover, EachClassLeadsWhereTheConceptsSay) {
  Expect({
      {"transient", [](Case&) {}, "retrying failed +5s"},
      {"timed out", [](Case& c) { c.facts.outcome = Outcome::kTimedOut; }, "retrying failed +5s"},
      {"business: a person at once", [](Case& c) { c.facts.failure_class = FailureClass::kBusiness; },
       "manual_required business_error"},
      {"unknown: the ladder", [](Case& c) { c.facts.failure_class = FailureClass::kUnknown; },
       "retrying failed +5s"},
      {"unknown: but no catch-up",
       [](Case& c) {
         c.facts.failure_class = FailureClass::kUnknown;
         c.run.ladder = {1, 2, 0};
       },
       "manual_required failed"},
      {"unknown in a catch-up attempt",
       [](Case& c) {
         c.facts.failure_class = FailureClass::kUnknown;
         InCatchup(c);
       },
       "manual_required failed"},
      {"success", [](Case& c) { c.facts.outcome = Outcome::kSuccess; }, "success succeeded"},
      {"cancelled", [](Case& c) { c.facts.outcome = Outcome::kCancelled; }, "skipped cancelled"},
  });
}

TEST(Recover, WhereTheLadderEndsAPersonIsAsked) {
  Expect({
      {"no retry at all", [](Case& c) { c.retry = RetryRule{}; }, "manual_required attempts_exhausted"},
      {"no retry, one attempt left for a loss",
       [](Case& c) {
         c.retry = RetryRule{};
         c.retry.max_total_attempts = 2;
       },
       "manual_required attempts_exhausted"},
      {"no catch-up",
       [](Case& c) {
         c.run.ladder = {1, 2, 0};
         c.retry.catchup = false;
       },
       "manual_required attempts_exhausted"},
      {"retry.then: manual",
       [](Case& c) {
         c.run.ladder = {1, 2, 0};
         c.retry.then_manual = true;
       },
       "manual_required attempts_exhausted"},
      {"max_times executions",
       [](Case& c) {
         InCatchup(c);
         c.run.ladder.catchup = 5;
         c.retry.catchup_max_times = 5;
       },
       "manual_required attempts_exhausted"},
      {"one catch-up left",
       [](Case& c) {
         InCatchup(c);
         c.run.ladder.catchup = 4;
         c.retry.catchup_max_times = 5;
       },
       "catchup_waiting failed +30m"},
      {"the cap", [](Case& c) { c.run.counted = 10; }, "manual_required attempts_exhausted"},
      {"one below the cap", [](Case& c) { c.run.counted = 9; }, "retrying failed +5s"},
      {"breaker, then: manual", [](Case& c) { c.facts.breaker_manual = true; },
       "manual_required breaker_open"},
      {"on_timeout: manual",
       [](Case& c) {
         c.facts.timed_out_manual = true;
         c.facts.outcome = Outcome::kTimedOut;
       },
       "manual_required failed"},
      {"on_timeout: manual, but it did not time out", [](Case& c) { c.facts.timed_out_manual = true; },
       "retrying failed +5s"},
  });
}

TEST(Recover, AnInstantAtOrAfterTheEndIsAPersonNow) {
  Expect({
      {"the rung falls on the end", [](Case& c) { c.facts.ends = kNoon + Seconds(5); },
       "manual_required exceeded_window"},
      {"a moment before the end", [](Case& c) { c.facts.ends = kNoon + Millis{5001}; },
       "retrying failed +5s"},
      {"catch-up after the end",
       [](Case& c) {
         InCatchup(c);
         c.facts.ends = kNoon + Minutes(30);
       },
       "manual_required exceeded_window"},
      {"catch-up after max_delay",
       [](Case& c) {
         InCatchup(c);
         c.facts.max_delay_end = kNoon + Minutes(30);
       },
       "manual_required exceeded_max_delay"},
      {"max_delay does not bound the ladder", [](Case& c) { c.facts.max_delay_end = kNoon; },
       "retrying failed +5s"},
      {"max_delay never lengthens the window",
       [](Case& c) {
         InCatchup(c);
         c.facts.ends = kNoon + Minutes(10);
         c.facts.max_delay_end = kNoon + Hours(5);
       },
       "manual_required exceeded_window"},
      {"the agent asks for more time than there is", [](Case& c) { c.facts.retry_after = Hours(2); },
       "manual_required exceeded_window"},
      {"the breaker cools down for longer",
       [](Case& c) {
         c.breaker.open = true;
         c.breaker.until = kNoon + Hours(2);
       },
       "manual_required exceeded_window"},
  });
}

TEST(Recover, RetryAfterAndJitterOnlyMakeAWaitLonger) {
  Expect({
      {"a longer Retry-After", [](Case& c) { c.facts.retry_after = Seconds(90); }, "retrying failed +90s"},
      {"a shorter one", [](Case& c) { c.facts.retry_after = Seconds(1); }, "retrying failed +5s"},
      {"on a catch-up",
       [](Case& c) {
         InCatchup(c);
         c.facts.retry_after = Minutes(45);
       },
       "catchup_waiting failed +45m"},
      {"jitter",
       [](Case& c) {
         c.retry.jitter = Seconds(1);
         c.facts.jitter = Millis{400};
       },
       "retrying failed +5400ms"},
      {"more jitter than the rule has is cut",
       [](Case& c) {
         c.retry.jitter = Millis{300};
         c.facts.jitter = Seconds(9);
       },
       "retrying failed +5300ms"},
      {"catch-up has none",
       [](Case& c) {
         InCatchup(c);
         c.retry.jitter = Seconds(1);
         c.facts.jitter = Seconds(1);
       },
       "catchup_waiting failed +30m"},
  });
}

TEST(Recover, AWaitThatWasAskedForIsNamedWhereItDecides) {
  const struct {
    Millis asked;
    Instant ends;
    const char* because;
  } rows[] = {
      {Seconds(1), kNoon + Hours(2), ""},
      {Seconds(90), kNoon + Hours(2),
       "it asked for a longer wait (Retry-After), which moves the next attempt"},
      {Seconds(90), kNoon + Seconds(60), "it asked for a wait (Retry-After) that ends after the window"},
      {Seconds(1), kNoon + Seconds(1), "the next attempt would come after the window's end"},
  };
  for (const auto& row : rows) {
    Case test;
    test.facts.retry_after = row.asked;
    test.facts.ends = row.ends;
    const Recovery recovery = test.Ask();
    EXPECT_STREQ(recovery.because == nullptr ? "" : recovery.because, row.because);
  }
}

TEST(Recover, AnOpenBreakerMovesTheRetryToTheCooldownsEndAndUsesNothingMore) {
  Case test;
  test.breaker.open = true;
  test.breaker.until = kNoon + Minutes(30);
  const Recovery recovery = test.Ask();
  EXPECT_EQ(Show(recovery), "retrying failed +30m");
  EXPECT_EQ(Rungs(recovery), "1/0/0");
  test.breaker.open = false;
  EXPECT_EQ(Show(test.Ask()), "retrying failed +5s");
}

TEST(Recover, NotReadyIsTakenOffAndAskedAgainWhereItCameFrom) {
  const struct {
    const char* what;
    RunState before;
    Outcome outcome;
    int uncounted;
    const char* expected;
  } rows[] = {
      {"the first", RunState::kScheduled, Outcome::kNotReady, 0, "scheduled not_ready +30s"},
      {"a retry", RunState::kRetrying, Outcome::kNotReady, 3, "retrying not_ready +30s"},
      {"a catch-up", RunState::kCatchupWaiting, Outcome::kNotReady, 3, "catchup_waiting not_ready +30s"},
      {"never started goes again at once", RunState::kScheduled, Outcome::kNotStarted, 0,
       "scheduled not_ready +0s"},
      {"but only once", RunState::kScheduled, Outcome::kNotStarted, 1, "scheduled not_ready +30s"},
      {"the ninety-ninth", RunState::kRetrying, Outcome::kNotReady, 98, "retrying not_ready +30s"},
      {"the hundredth is a person's", RunState::kRetrying, Outcome::kNotReady, 99,
       "manual_required attempts_exhausted"},
  };
  for (const auto& row : rows) {
    Case test;
    test.run.before_claim = row.before;
    test.run.uncounted = row.uncounted;
    test.run.counted = 4;
    test.run.ladder = {1, 1, 0};
    test.run.next_lost_rerun = true;
    test.facts.outcome = row.outcome;
    test.facts.ends = kNoon + Seconds(10);  // waiting for data goes on to the end, whatever the next look
    const Recovery recovery = test.Ask();
    EXPECT_EQ(Show(recovery), row.expected) << row.what;
    EXPECT_EQ(recovery.counted, 3) << row.what;
    EXPECT_EQ(recovery.uncounted, row.uncounted + 1) << row.what;
    EXPECT_EQ(Rungs(recovery), "1/1/0") << "it uses no rung";
    EXPECT_EQ(recovery.lost_rerun, recovery.next_at.has_value());
  }
}

TEST(Recover, ALostAttemptIsDoneAgainAtOnceAndUsesNoRung) {
  const auto lost = [](Case& c) { c.facts.outcome = Outcome::kLost; };
  Expect({
      {"rerun", lost, "retrying attempt_lost +0s"},
      {"of a catch-up",
       [&](Case& c) {
         InCatchup(c);
         lost(c);
       },
       "catchup_waiting attempt_lost +0s"},
      {"hold",
       [&](Case& c) {
         lost(c);
         c.facts.on_lost = OnLost::kHold;
       },
       "manual_required attempt_lost"},
      {"the cap holds over losses",
       [&](Case& c) {
         lost(c);
         c.run.counted = 10;
       },
       "manual_required attempts_exhausted"},
      {"only inside the window",
       [&](Case& c) {
         lost(c);
         c.facts.ends = kNoon;
       },
       "manual_required exceeded_window"},
      {"an open breaker comes first",
       [&](Case& c) {
         lost(c);
         c.breaker.open = true;
         c.breaker.until = kNoon + Minutes(3);
       },
       "retrying attempt_lost +3m"},
      {"what failed while we stopped it is lost",
       [](Case& c) {
         c.facts.draining_stop = true;
         c.facts.failure_class = FailureClass::kBusiness;
       },
       "retrying attempt_lost +0s"},
      {"stopped by us under hold",
       [](Case& c) {
         c.facts.draining_stop = true;
         c.facts.on_lost = OnLost::kHold;
       },
       "manual_required attempt_lost"},
  });
  Case test;
  test.facts.outcome = Outcome::kLost;
  test.run.ladder = {1, 1, 0};
  const Recovery recovery = test.Ask();
  EXPECT_TRUE(recovery.lost_rerun);
  EXPECT_EQ(Rungs(recovery), "1/1/0");
  EXPECT_EQ(recovery.counted, 1);
}

TEST(Recover, ARequestSentAndNotAnsweredIsAPersonsUnderHoldAndRetriedOtherwise) {
  const auto unanswered = [](Case& c) {
    c.facts.outcome = Outcome::kTimedOut;
    c.facts.request_unanswered = true;
  };
  Expect({
      {"rerun", unanswered, "retrying failed +5s"},
      {"hold",
       [&](Case& c) {
         unanswered(c);
         c.facts.on_lost = OnLost::kHold;
       },
       "manual_required attempt_lost"},
      {"hold, but a failure that was reported", [](Case& c) { c.facts.on_lost = OnLost::kHold; },
       "retrying failed +5s"},
  });
}

void ByHand(Case& c) {
  c.facts.manual_attempt = true;
  c.run.before_manual = RunState::kManualRequired;
}

void ByHandOfRetrying(Case& c) {
  c.facts.manual_attempt = true;
  c.run.before_manual = RunState::kRetrying;
  c.run.next_at = kNoon + Minutes(7);
  c.run.counted = 10;
}

TEST(Recover, AFailedAttemptByHandReturnsToWhereTheRunStood) {
  Expect({
      {"from a person's queue", ByHand, "manual_required failed"},
      {"business",
       [](Case& c) {
         ByHand(c);
         c.facts.failure_class = FailureClass::kBusiness;
       },
       "manual_required business_error"},
      {"of a run that retries, outside the cap", ByHandOfRetrying, "retrying failed +7m"},
      {"whose instant nobody kept",
       [](Case& c) {
         ByHandOfRetrying(c);
         c.run.next_at.reset();
       },
       "retrying failed +30s"},
      {"hours before it was due",
       [](Case& c) {
         ByHand(c);
         c.run.before_manual = RunState::kScheduled;
         c.facts.opens = kNoon + Hours(1);
       },
       "scheduled failed +1h"},
      {"before it was due",
       [](Case& c) {
         ByHand(c);
         c.run.before_manual = RunState::kScheduled;
       },
       "scheduled failed +30s"},
      {"not ready",
       [](Case& c) {
         ByHandOfRetrying(c);
         c.facts.outcome = Outcome::kNotReady;
       },
       "retrying not_ready +7m"},
      {"lost",
       [](Case& c) {
         ByHandOfRetrying(c);
         c.facts.outcome = Outcome::kLost;
       },
       "retrying attempt_lost +7m"},
      {"lost under hold: automation must not go on",
       [](Case& c) {
         ByHandOfRetrying(c);
         c.facts.outcome = Outcome::kLost;
         c.facts.on_lost = OnLost::kHold;
       },
       "manual_required attempt_lost"},
      {"success ends the run",
       [](Case& c) {
         ByHandOfRetrying(c);
         c.facts.outcome = Outcome::kSuccess;
       },
       "success succeeded"},
      {"cancelled",
       [](Case& c) {
         ByHand(c);
         c.facts.outcome = Outcome::kCancelled;
       },
       "skipped cancelled"},
  });
  Case test;
  ByHandOfRetrying(test);
  EXPECT_EQ(test.Ask().counted, 10);
}

TEST(Recover, AfterAFailedAttemptByHandAutomationWaitsAndRepeatsNoRefusal) {
  Expect({
      {"business: automation does not send again what a person just saw refused",
       [](Case& c) {
         ByHandOfRetrying(c);
         c.facts.failure_class = FailureClass::kBusiness;
       },
       "manual_required business_error"},
      {"business, before it was due",
       [](Case& c) {
         ByHand(c);
         c.run.before_manual = RunState::kScheduled;
         c.facts.failure_class = FailureClass::kBusiness;
       },
       "manual_required business_error"},
      {"whose instant came meanwhile",
       [](Case& c) {
         ByHandOfRetrying(c);
         c.run.next_at = kNoon;
       },
       "retrying failed +30s"},
      {"it asked for more time than there was to the next attempt",
       [](Case& c) {
         ByHandOfRetrying(c);
         c.facts.retry_after = Minutes(9);
       },
       "retrying failed +9m"},
      {"it asked for less",
       [](Case& c) {
         ByHandOfRetrying(c);
         c.facts.retry_after = Minutes(1);
       },
       "retrying failed +7m"},
      {"never started, before it was due",
       [](Case& c) {
         ByHand(c);
         c.run.before_manual = RunState::kScheduled;
         c.facts.outcome = Outcome::kNotStarted;
       },
       "scheduled not_ready +30s"},
  });
}

TEST(Recover, CatchUpAvoidsHoursAndTheLadderDoesNot) {
  const Zone utc = Zone::Utc();
  const auto avoid = [&](Case& c) {
    InCatchup(c);
    c.facts.zone = &utc;
    c.facts.ends = kNoon + Hours(24);
    c.retry.avoid = {{9 * 3600, 18 * 3600}};
  };
  Expect({
      {"inside", avoid, "catchup_waiting failed +6h"},
      {"two stretches in a row",
       [&](Case& c) {
         avoid(c);
         c.retry.avoid.push_back({18 * 3600, 20 * 3600});
       },
       "catchup_waiting failed +8h"},
      {"outside",
       [&](Case& c) {
         avoid(c);
         c.facts.now = kNoon + Hours(6);
       },
       "catchup_waiting failed +6h30m"},
      {"all day, so never",
       [&](Case& c) {
         avoid(c);
         c.retry.avoid = {{0, 0}};
       },
       "manual_required exceeded_window"},
      {"until after the end",
       [&](Case& c) {
         avoid(c);
         c.facts.ends = kNoon + Hours(6);
       },
       "manual_required exceeded_window"},
      {"the ladder",
       [&](Case& c) {
         avoid(c);
         c.run.ladder = {};
         c.run.before_claim = RunState::kScheduled;
       },
       "retrying failed +5s"},
  });
}

TEST(Recover, AvoidHoursAreLocalAndMayPassMidnight) {
  const Result<Zone> shanghai = Zone::Load("Asia/Shanghai");
  ASSERT_TRUE(shanghai.ok());
  RetryRule retry;
  retry.avoid = {{22 * 3600, 6 * 3600}};
  const auto end = [&](const char* at) {
    const std::optional<Instant> found = AvoidEnd(retry, *shanghai, *ParseUtc(at));
    return found ? FormatUtc(*found) : "none";
  };
  EXPECT_EQ(end("2026-03-02T13:59:59Z"), "none");
  EXPECT_EQ(end("2026-03-02T14:00:00Z"), "2026-03-02T22:00:00Z");  // 22:00 there
  EXPECT_EQ(end("2026-03-02T21:59:59Z"), "2026-03-02T22:00:00Z");
  EXPECT_EQ(end("2026-03-02T22:00:00Z"), "none");
}

TEST(LadderUsedUp, IsTrueOnceARunWhereAFailureLeavesNoRung) {
  const struct {
    const char* what;
    Ladder ladder;
    int counted;
    FailureClass failure_class;
    bool expected;
  } rows[] = {
      {"a rung is left", {1, 1, 0}, 3, FailureClass::kTransient, false},
      {"none is left", {1, 2, 0}, 4, FailureClass::kTransient, true},
      {"none is left, unknown", {1, 2, 0}, 4, FailureClass::kUnknown, true},
      {"in catch-up it was used up before", {1, 2, 1}, 5, FailureClass::kTransient, false},
      {"the cap came first", {0, 0, 0}, 10, FailureClass::kTransient, true},
      {"business leaves none", {0, 0, 0}, 1, FailureClass::kBusiness, true},
      {"not ready is no failure", {1, 2, 0}, 4, FailureClass::kNotReady, false},
  };
  Case test;
  for (const auto& row : rows) {
    test.run.ladder = row.ladder;
    test.run.counted = row.counted;
    EXPECT_EQ(LadderUsedUp(test.run, test.retry, row.failure_class), row.expected) << row.what;
  }
}

}  // namespace
}  // namespace duecourse
