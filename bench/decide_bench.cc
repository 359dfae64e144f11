// Decisions a second from ready facts, one thread: the mix a busy engine asks. Text is made only when an
// answer is stored, so none is made here. The bar is one million a second.
#include <array>
#include <cstdio>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "decide/decide.h"
#include "decide/recover.h"
#include "figures.h"

namespace duecourse {
namespace {

constexpr int64_t kDecisions = 20'000'000;
constexpr int64_t kRecoveries = 5'000'000;
const Instant kStart{1'772'452'800'000};  // 2026-03-02T12:00:00Z

// What may start, with two preconditions and a pool; what waits for data, a retry, a slot; what has ended.
std::vector<Facts> Mix(const std::vector<PreconditionFact>& met, const std::vector<PreconditionFact>& missing,
                       const std::vector<PoolFact>& free, const std::vector<PoolFact>& full) {
  Facts base;
  base.now = base.due = base.opens = kStart;
  base.ends = kStart + Hours(3);
  base.attempts_max = 10;
  std::vector<Facts> mix(8, base);
  for (size_t i = 0; i < 3; ++i) {
    mix[i].preconditions = met;
    mix[i].pools = free;
  }
  mix[3].preconditions = missing;
  mix[4].state = RunState::kRetrying;
  mix[4].next_at = kStart + Minutes(1);
  mix[5].preconditions = met;
  mix[5].pools = full;
  mix[6].state = RunState::kSuccess;
  mix[7].ends = kStart;
  return mix;
}

double PerSecond(int64_t count, int64_t micros) {
  return static_cast<double>(count) * 1e6 / static_cast<double>(micros);
}

double MeasureDecide() {
  PreconditionFact yes;
  yes.answer = PreconditionFact::Answer::kYes;
  yes.at = kStart;
  yes.max_age = Seconds(60);
  PreconditionFact no = yes;
  no.answer = PreconditionFact::Answer::kNo;
  const std::vector<PreconditionFact> met = {yes, yes};
  const std::vector<PreconditionFact> missing = {yes, no};
  const std::vector<PoolFact> free = {{1, 4, kLongAgo}};
  const std::vector<PoolFact> full = {{4, 4, kLongAgo}};
  std::vector<Facts> mix = Mix(met, missing, free, full);
  std::array<int64_t, 4> verdicts = {};
  const int64_t before = MonotonicMicros();
  for (int64_t i = 0; i < kDecisions; ++i) {
    Facts& facts = mix[static_cast<size_t>(i % 8)];
    facts.now = kStart + Millis{i % 1000};
    ++verdicts[static_cast<size_t>(Decide(facts).verdict)];
  }
  const int64_t micros = MonotonicMicros() - before;
  // Three of eight may start, four wait or are done, one has ended; anything else measures something else.
  if (verdicts[0] != kDecisions / 8 * 3 || verdicts[3] != kDecisions / 8) {
    std::fprintf(stderr, "decide_bench: the mix was not answered as it should be\n");
    return 0;
  }
  return PerSecond(kDecisions, micros);
}

double MeasureRecover() {
  Run run;
  run.counted = 2;
  RetryRule retry;
  retry.immediate_max = 1;
  retry.backoff = {Minutes(1), Minutes(2), Minutes(4)};
  retry.catchup = true;
  retry.max_total_attempts = 10;
  const Breaker breaker;
  RecoverFacts facts;
  facts.failure_class = FailureClass::kTransient;
  facts.run = &run;
  facts.retry = &retry;
  facts.breaker = &breaker;
  facts.ends = kStart + Hours(3);
  int64_t retries = 0;
  const int64_t before = MonotonicMicros();
  for (int64_t i = 0; i < kRecoveries; ++i) {
    facts.now = kStart + Millis{i % 1000};
    run.ladder.backoff = static_cast<int>(i % 4);
    retries += Recover(facts).next == RunState::kRetrying ? 1 : 0;
  }
  const int64_t micros = MonotonicMicros() - before;
  return retries == kRecoveries ? PerSecond(kRecoveries, micros) : 0;
}

}  // namespace
}  // namespace duecourse

int main() {
  using namespace duecourse;
  const double decisions = MeasureDecide();
  const double recoveries = MeasureRecover();
  Report({"decisions", StrCat(Number(decisions / 1e6, 1), " M/s"), "", "", "at least 1",
          Meets(decisions >= 1e6)});
  Report({"endings judged", StrCat(Number(recoveries / 1e6, 1), " M/s"), "", "", "", {}});
  return decisions > 0 && recoveries > 0 ? 0 : 1;
}
