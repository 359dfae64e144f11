#include "run/reason.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

namespace duecourse {
namespace {

TEST(Reason, EveryReasonHasANameOfItsOwnThatReadsBack) {
  std::set<std::string> names;
  for (int i = 0; i < kReasonCount; ++i) {
    const auto reason = static_cast<Reason>(i);
    const std::string name = ReasonName(reason);
    ASSERT_FALSE(name.empty()) << i;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(ReasonFromName(name), reason) << name;
    for (char c : name) EXPECT_TRUE((c >= 'a' && c <= 'z') || c == '_') << name;
  }
  EXPECT_EQ(names.size(), 44u);
}

TEST(Reason, EveryReasonHasASentenceOfItsOwnForPeople) {
  std::set<std::string> sentences;
  for (int i = 0; i < kReasonCount; ++i) {
    const std::string sentence = ReasonSentence(static_cast<Reason>(i));
    ASSERT_GE(sentence.size(), 10u) << i;
    EXPECT_TRUE(sentences.insert(sentence).second) << sentence;
    EXPECT_TRUE(std::isupper(static_cast<unsigned char>(sentence.front()))) << sentence;
    EXPECT_EQ(sentence.back(), '.') << sentence;
    EXPECT_LE(sentence.size(), 110u) << sentence;
  }
}

TEST(Reason, NamesAreReadExactlyAndOthersAreNothing) {
  EXPECT_EQ(ReasonFromName("pool_full"), Reason::kPoolFull);
  for (const char* name : {"", "pool", "pool_full ", "Pool_full", "kPoolFull", "should_run"}) {
    EXPECT_EQ(ReasonFromName(name), std::nullopt) << name;
  }
}

// The list is closed: these names are outside names, kept in stores, alerts and people's scripts.
TEST(Reason, TheNamesAreThoseOfTheDesignInItsOrder) {
  const char* const names[] = {"all_conditions_met",
                               "already_done",
                               "awaiting_person",
                               "superseded",
                               "cancelled",
                               "paused",
                               "not_due",
                               "calendar_excluded",
                               "calendar_unknown",
                               "out_of_window",
                               "exceeded_window",
                               "exceeded_max_delay",
                               "busy_hours",
                               "maintenance_window",
                               "attempts_exhausted",
                               "waiting_retry",
                               "waiting_catchup",
                               "breaker_open",
                               "budget_exhausted",
                               "precondition_not_ready",
                               "precondition_invalid",
                               "precondition_check_failed",
                               "lock_occupied",
                               "previous_attempt_alive",
                               "waiting_in_order",
                               "max_concurrency",
                               "min_interval",
                               "pool_full",
                               "rate_limited",
                               "draining",
                               "clock_skew",
                               "store_unavailable",
                               "succeeded",
                               "failed",
                               "not_ready",
                               "business_error",
                               "attempt_lost",
                               "stuck",
                               "scheduler_down",
                               "rule_removed",
                               "key_error",
                               "store_gap",
                               "resolved",
                               "internal_invariant"};
  ASSERT_EQ(std::size(names), static_cast<size_t>(kReasonCount));
  for (int i = 0; i < kReasonCount; ++i) EXPECT_STREQ(ReasonName(static_cast<Reason>(i)), names[i]);
}

TEST(Reason, TheReferencePageGivesEachReasonItsSentenceInTheSameOrder) {
  std::ifstream file(DUECOURSE_SOURCE_DIR "/docs/reference/reasons.md");
  ASSERT_TRUE(file.is_open()) << "docs/reference/reasons.md is missing";
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  size_t at = 0;
  for (int i = 0; i < kReasonCount; ++i) {
    const auto reason = static_cast<Reason>(i);
    const std::string row = std::string("| `") + ReasonName(reason) + "` | " + ReasonSentence(reason) + " |";
    const size_t found = text.find(row, at);
    EXPECT_NE(found, std::string::npos) << "docs/reference/reasons.md lacks, or has out of order: " << row;
    if (found != std::string::npos) at = found;
  }
}

}  // namespace
}  // namespace duecourse
