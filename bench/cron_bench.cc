// Nanoseconds for one next occurrence, one thread, nothing else running: plain
// expressions in zones with and without daylight saving. Each row walks a
// schedule, so that every call starts where a daemon's would: at the last one
// due. The sum of the answers is printed, so that no call can be left out.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/text.h"
#include "figures.h"
#include "time/cron.h"

namespace duecourse {
namespace {

constexpr int kCalls = 500'000;
constexpr int kRounds = 5;

struct Row {
  const char* expression;
  const char* zone;
};
constexpr std::array<Row, 13> kRows = {{{"*/5 * * * *", "America/New_York"},
                                        {"0 2 * * *", "America/New_York"},
                                        {"30 1 * * *", "Europe/London"},
                                        {"0 9 * * MON-FRI", "America/New_York"},
                                        {"0 9 * * MON-FRI", "Europe/London"},
                                        {"0 9 * * MON-FRI", "UTC"},
                                        {"15,45 8-18 1,15 * *", "Europe/London"},
                                        {"0 0 13 * +FRI", "America/New_York"},
                                        {"0 6 L * *", "Europe/London"},
                                        {"0 6 15W * *", "America/New_York"},
                                        {"0 6 * * 5#2", "UTC"},
                                        {"*/10 * * * * *", "America/New_York"},
                                        {"0 12 29 2 *", "America/New_York"}}};

// Nanoseconds; the best of some rounds, since the machine may be disturbed in one of them. 0 where it failed.
double Measure(const Row& row) {
  Result<Cron> cron = Cron::Parse(row.expression);
  Result<Zone> zone = Zone::Load(row.zone);
  if (!cron.ok() || !zone.ok()) {
    std::fprintf(stderr, "%s\n", (cron.ok() ? zone.error() : cron.error()).message().c_str());
    return 0;
  }
  Instant start = *ParseUtc("2026-01-01T00:00:00Z");
  double best = 1e9;
  int64_t sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    Instant at = start;
    int64_t before = MonotonicMicros();
    for (int i = 0; i < kCalls; ++i) {
      std::optional<Instant> next = cron->Next(at, *zone);
      at = next && next->ms < start.ms + Days(40 * 365).count ? *next : start;
      sum += at.ms;
    }
    double nanos = static_cast<double>(MonotonicMicros() - before) * 1000.0 / kCalls;
    if (nanos < best) best = nanos;
  }
  std::printf("cron next  %-20s  %-17s  %7.1f ns  (sum %lld)\n", row.expression, row.zone, best,
              static_cast<long long>(sum));
  return best;
}

// A year of minutes, counted.
int MeasureCount() {
  Result<Cron> cron = Cron::Parse("* * * * *");
  Result<Zone> zone = Zone::Load("America/New_York");
  if (!cron.ok() || !zone.ok()) return 1;
  Instant start = *ParseUtc("2026-01-01T00:00:00Z");
  constexpr int kCounts = 20'000;
  int64_t sum = 0;
  int64_t before = MonotonicMicros();
  for (int i = 0; i < kCounts; ++i)
    sum += cron->Count(start + Seconds(i), start + Days(365) + Seconds(i), *zone);
  double nanos = static_cast<double>(MonotonicMicros() - before) * 1000.0 / kCounts;
  std::printf("cron count %-20s  %-17s  %7.1f ns  for a year (sum %lld)\n", "* * * * *", "America/New_York",
              nanos, static_cast<long long>(sum));
  return 0;
}

}  // namespace
}  // namespace duecourse

int main() {
  using namespace duecourse;
  double worst = 0;
  int failed = MeasureCount();
  for (const Row& row : kRows) {
    const double nanos = Measure(row);
    if (nanos == 0) ++failed;
    if (std::string_view(row.zone) != "UTC") worst = std::max(worst, nanos);
  }
  Report({"next occurrence", StrCat(Number(worst), " ns, the worst row"), "", "", "at most 300",
          Meets(worst <= 300)});
  return failed == 0 ? 0 : 1;
}
