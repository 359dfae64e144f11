#include <gtest/gtest.h>

#include "run/run.h"

namespace duecourse {
namespace {

Ending Exit(int code) {
  Ending ending;
  ending.code = code;
  return ending;
}
Ending Of(Ending::Kind kind, int code = 0) {
  Ending ending;
  ending.kind = kind;
  ending.code = code;
  return ending;
}
Ending Status(int status, bool expected = false) {
  Ending ending = Of(Ending::Kind::kHttp, status);
  ending.http_expect_met = expected;
  return ending;
}

TEST(Classify, ExitsFollowTheTable) {
  const ExecutionRule rule;
  for (int code = 0; code <= 255; ++code) {
    Outcome outcome = Outcome::kFailed;
    FailureClass expected = FailureClass::kUnknown;
    if (code == 0) {
      outcome = Outcome::kSuccess;
      expected = FailureClass::kNone;
    } else if (code == 71 || code == 74 || code == 75) {
      expected = FailureClass::kTransient;
    } else if (code == 69) {
      outcome = Outcome::kNotReady;
      expected = FailureClass::kNotReady;
    } else if ((code >= 64 && code <= 78) || code == 126 || code == 127) {
      expected = FailureClass::kBusiness;
    }
    const Classified result = Classify(rule, Exit(code));
    EXPECT_EQ(result.outcome, outcome) << code;
    EXPECT_EQ(result.failure_class, expected) << code;
    EXPECT_EQ(result.code, "exit " + std::to_string(code));
    EXPECT_EQ(result.summary.rfind(result.code, 0), 0u) << result.summary;
    EXPECT_EQ(result.retry_after, std::nullopt);
  }
}

TEST(Classify, StatusesFollowTheTable) {
  const ExecutionRule rule;
  for (int status = 200; status <= 599; ++status) {
    FailureClass expected = FailureClass::kBusiness;
    if (status < 300 && status != 202) expected = FailureClass::kUnknown;
    if (status >= 500 || status == 408 || status == 425 || status == 429) expected = FailureClass::kTransient;
    const Classified result = Classify(rule, Status(status));
    EXPECT_EQ(result.outcome, Outcome::kFailed) << status;
    EXPECT_EQ(result.failure_class, expected) << status;
    EXPECT_EQ(result.code, "http " + std::to_string(status));
  }
  EXPECT_EQ(Classify(rule, Status(600)).failure_class, FailureClass::kUnknown);
}

TEST(Classify, SuccessOverHttpIsWhatExpectSaysButNeverA202) {
  const ExecutionRule rule;
  EXPECT_EQ(Classify(rule, Status(200, true)).outcome, Outcome::kSuccess);
  EXPECT_EQ(Classify(rule, Status(201, true)).outcome, Outcome::kSuccess);
  EXPECT_EQ(Classify(rule, Status(404, true)).outcome, Outcome::kSuccess);  // "gone" may be what is asked for
  EXPECT_EQ(Classify(rule, Status(200, false)).outcome, Outcome::kFailed);
  Ending accepted = Status(202, true);
  accepted.said_success = true;
  const Classified result = Classify(rule, accepted);
  EXPECT_EQ(result.outcome, Outcome::kFailed);
  EXPECT_EQ(result.failure_class, FailureClass::kBusiness);
  EXPECT_NE(result.summary.find("async"), std::string::npos);
  EXPECT_NE(result.summary.find("answer 200 when its work is done"), std::string::npos) << result.summary;
  EXPECT_EQ(result.summary.find("`async`"), std::string::npos) << "a key that no rule may write yet";
}

TEST(Classify, EndingsThatAreNotTheHandlersOwn) {
  const ExecutionRule rule;
  Ending never_sent = Of(Ending::Kind::kNetwork);
  never_sent.request_sent = false;
  const struct {
    Ending ending;
    Outcome outcome;
    FailureClass failure_class;
    const char* code;
  } rows[] = {
      {Of(Ending::Kind::kSignal, 9), Outcome::kFailed, FailureClass::kTransient, "killed 9"},
      {Of(Ending::Kind::kTimeout), Outcome::kTimedOut, FailureClass::kTransient, "timeout"},
      {Of(Ending::Kind::kNetwork), Outcome::kTimedOut, FailureClass::kTransient, "network"},
      {never_sent, Outcome::kFailed, FailureClass::kTransient, "network"},
      {Of(Ending::Kind::kNotStarted), Outcome::kNotStarted, FailureClass::kNone, "not_started"},
      {Of(Ending::Kind::kKilled), Outcome::kLost, FailureClass::kNone, "stopped"},
      {Of(Ending::Kind::kUnknown), Outcome::kLost, FailureClass::kNone, "lost"},
  };
  for (const auto& row : rows) {
    const Classified result = Classify(rule, row.ending);
    EXPECT_EQ(result.outcome, row.outcome) << row.code;
    EXPECT_EQ(result.failure_class, row.failure_class) << row.code;
    EXPECT_EQ(result.code, row.code);
    EXPECT_FALSE(result.summary.empty());
  }
}

TEST(Classify, RetryAfterCountsOnlyWith429And503) {
  ExecutionRule rule;
  for (int status : {200, 202, 301, 404, 408, 425, 429, 500, 502, 503, 504, 529}) {
    Ending ending = Status(status);
    ending.retry_after = Seconds(120);
    const bool counts = status == 429 || status == 503;
    EXPECT_EQ(Classify(rule, ending).retry_after, counts ? std::optional<Millis>(Seconds(120)) : std::nullopt)
        << status;
  }
  Ending expected = Status(503, true);
  expected.retry_after = Seconds(120);
  EXPECT_EQ(Classify(rule, expected).retry_after, std::nullopt) << "a success needs no retry";
}

TEST(Classify, TheRulesErrorsExtendTheTableAndTheFirstMatchWins) {
  ExecutionRule rule;
  rule.errors = {
      {ErrorRule::Kind::kOutput, {}, "invalid key", FailureClass::kBusiness},
      {ErrorRule::Kind::kExit, {{7, 7}, {20, 29}}, "", FailureClass::kTransient},
      {ErrorRule::Kind::kExit, {{25, 25}}, "", FailureClass::kBusiness},
      {ErrorRule::Kind::kStatus, {{402, 402}}, "", FailureClass::kTransient},
      {ErrorRule::Kind::kStatus, {{503, 503}}, "", FailureClass::kNotReady},
      {ErrorRule::Kind::kSignal, {{11, 11}}, "", FailureClass::kBusiness},
      {ErrorRule::Kind::kExit, {{0, 0}}, "", FailureClass::kBusiness},
  };
  Ending text = Exit(7);
  text.output_tail = "… error: invalid key …";
  Ending success = Exit(0);
  success.output_tail = "invalid key";
  const struct {
    Ending ending;
    Outcome outcome;
    FailureClass failure_class;
  } rows[] = {
      {Exit(7), Outcome::kFailed, FailureClass::kTransient},
      {Exit(25), Outcome::kFailed, FailureClass::kTransient},
      {Exit(30), Outcome::kFailed, FailureClass::kUnknown},
      {Exit(75), Outcome::kFailed, FailureClass::kTransient},
      {text, Outcome::kFailed, FailureClass::kBusiness},
      {success, Outcome::kSuccess, FailureClass::kNone},
      {Status(402), Outcome::kFailed, FailureClass::kTransient},
      {Status(503), Outcome::kNotReady, FailureClass::kNotReady},
      {Status(7), Outcome::kFailed, FailureClass::kUnknown},
      {Of(Ending::Kind::kSignal, 11), Outcome::kFailed, FailureClass::kBusiness},
      {Of(Ending::Kind::kSignal, 7), Outcome::kFailed, FailureClass::kTransient},
      {Of(Ending::Kind::kTimeout, 7), Outcome::kTimedOut, FailureClass::kTransient},
  };
  for (const auto& row : rows) {
    const Classified result = Classify(rule, row.ending);
    EXPECT_EQ(result.outcome, row.outcome) << result.code;
    EXPECT_EQ(result.failure_class, row.failure_class) << result.code;
  }
}

TEST(Classify, TheHandlersOwnWordComesBeforeTableAndRule) {
  ExecutionRule rule;
  rule.errors = {{ErrorRule::Kind::kExit, {{1, 255}}, "", FailureClass::kUnknown}};
  const auto said = [](Ending ending, FailureClass word) {
    ending.said = word;
    return ending;
  };
  const auto done = [](Ending ending) {
    ending.said_success = true;
    return ending;
  };
  const struct {
    const char* what;
    Ending ending;
    Outcome outcome;
    FailureClass failure_class;
  } rows[] = {
      {"exit 1, transient", said(Exit(1), FailureClass::kTransient), Outcome::kFailed,
       FailureClass::kTransient},
      {"exit 75, business", said(Exit(75), FailureClass::kBusiness), Outcome::kFailed,
       FailureClass::kBusiness},
      {"exit 0, business", said(Exit(0), FailureClass::kBusiness), Outcome::kFailed, FailureClass::kBusiness},
      {"exit 0, not ready", said(Exit(0), FailureClass::kNotReady), Outcome::kNotReady,
       FailureClass::kNotReady},
      {"200, transient", said(Status(200, true), FailureClass::kTransient), Outcome::kFailed,
       FailureClass::kTransient},
      {"exit 0, nothing", said(Exit(0), FailureClass::kNone), Outcome::kSuccess, FailureClass::kNone},
      {"exit 1, success", done(Exit(1)), Outcome::kSuccess, FailureClass::kNone},
      {"exit 1, success and business", said(done(Exit(1)), FailureClass::kBusiness), Outcome::kFailed,
       FailureClass::kBusiness},
      {"killed, success", done(Of(Ending::Kind::kSignal, 9)), Outcome::kFailed, FailureClass::kTransient},
      {"not what expect asks, success", done(Status(200)), Outcome::kFailed, FailureClass::kUnknown},
      {"timed out, success", done(Of(Ending::Kind::kTimeout)), Outcome::kTimedOut, FailureClass::kTransient},
      {"timed out, business", said(Of(Ending::Kind::kTimeout), FailureClass::kBusiness), Outcome::kTimedOut,
       FailureClass::kBusiness},
      {"timed out, not ready", said(Of(Ending::Kind::kTimeout), FailureClass::kNotReady), Outcome::kTimedOut,
       FailureClass::kTransient},
  };
  for (const auto& row : rows) {
    const Classified result = Classify(rule, row.ending);
    EXPECT_EQ(result.outcome, row.outcome) << row.what;
    EXPECT_EQ(result.failure_class, row.failure_class) << row.what;
  }
  Ending coded = said(Exit(1), FailureClass::kBusiness);
  coded.said_code = "E_SCHEMA";
  coded.summary = "column total is missing";
  EXPECT_EQ(Classify(rule, coded).code, "E_SCHEMA");
  EXPECT_EQ(Classify(rule, coded).summary, "column total is missing");
}

TEST(Classify, TheSummaryExplainsWhatACodeAloneDoesNot) {
  const ExecutionRule rule;
  const auto summary = [&](Ending ending, const char* given = "") {
    ending.summary = given;
    return Classify(rule, ending).summary;
  };
  EXPECT_NE(summary(Exit(127)).find("command not found"), std::string::npos);
  EXPECT_NE(summary(Exit(126)).find("cannot be executed"), std::string::npos);
  EXPECT_NE(summary(Exit(127), "exit 127").find("command not found"), std::string::npos);
  EXPECT_EQ(summary(Exit(127), "exit 127: command not found: mytool"), "exit 127: command not found: mytool");
  EXPECT_EQ(summary(Exit(137)),
            "exit 137: as a shell says it, a program inside was ended by signal 9 (SIGKILL)");
  EXPECT_EQ(summary(Exit(1)), "exit 1");
  EXPECT_EQ(summary(Of(Ending::Kind::kSignal, 11)), "ended by signal 11 (SIGSEGV)");
  EXPECT_EQ(summary(Of(Ending::Kind::kSignal, 40)), "ended by signal 40");
  EXPECT_EQ(summary(Status(200)), "http 200: the answer is not what `expect` asks for");
  EXPECT_EQ(summary(Status(200, true)), "http 200");
}

}  // namespace
}  // namespace duecourse
