// What a loaded zone holds, for code that walks its offsets (cron). Immutable
// after loading, process-lifetime, any thread. Times are seconds: UTC seconds
// since 1970 for instants, and for readings (what a wall shows) the same count
// as if the wall showed UTC. Offsets are kept as a table of steps from two days
// before 1970 to two days after 2199, so that a search reads an array and
// nothing else; what lies outside is asked of the zone library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "time/zone.h"

namespace duecourse {

inline constexpr int64_t kDaySeconds = 86'400;
// 1970-01-01T00:00:00Z and 2199-12-31T23:59:59Z: the instants that are planned in.
inline constexpr int64_t kFirstSecond = 0;
inline constexpr int64_t kLastSecond = 7'258'118'399;
inline constexpr int64_t kTableBegin = kFirstSecond - 2 * kDaySeconds;
inline constexpr int64_t kTableEnd = kLastSecond + 1 + 2 * kDaySeconds;

// No offset is further from UTC (the database's largest is 15 h 13 min).
inline constexpr int64_t kMaxOffsetSeconds = 25 * 3600;

constexpr int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
// The second that holds the instant. Beyond the year 200,000 it is that year's, so that days fit their type.
inline int64_t FloorSecond(Instant instant) {
  constexpr int64_t kFarthest = 200'000LL * 365 * kDaySeconds;
  return std::clamp(FloorDivide(instant.ms, 1000), -kFarthest, kFarthest);
}
constexpr Instant AtSecond(int64_t second) { return {second * 1000}; }
constexpr int64_t ReadingOf(CivilTime civil) { return civil.day.days * kDaySeconds + civil.second; }
constexpr CivilTime CivilOf(int64_t reading) {
  int64_t day = FloorDivide(reading, kDaySeconds);
  return {{static_cast<int32_t>(day)}, static_cast<int32_t>(reading - day * kDaySeconds)};
}

struct Zone::Data {
  std::string name;
  std::vector<int64_t>
      begins;  // where each step begins, ascending; begins[0] = kTableBegin; one more, kTableEnd, ends it
  std::vector<int32_t> offsets;   // seconds east of UTC in each step; neighbours differ
  std::vector<uint16_t> buckets;  // the step at the begin of each stretch of 2^kBucketBits seconds

  static constexpr int kBucketBits = 24;  // 194 days: in most zones a bucket holds at most two changes

  size_t steps() const { return offsets.size(); }
  static bool Covers(int64_t second) { return second >= kTableBegin && second < kTableEnd; }
  // The step that holds this UTC second, which the table must cover.
  size_t IndexAt(int64_t second) const {
    size_t index = buckets[static_cast<size_t>((second - kTableBegin) >> kBucketBits)];
    while (begins[index + 1] <= second) ++index;
    return index;
  }
  int64_t ReadingBegin(size_t step) const { return begins[step] + offsets[step]; }
  int64_t ReadingEnd(size_t step) const { return begins[step + 1] + offsets[step]; }

  // Where the table can tell: the instants at which a wall shows the reading.
  std::optional<CivilLookup> Find(int64_t reading) const;

  // Adds a step; one of the same offset as its neighbour adds nothing.
  void AddStep(int64_t begin, int32_t offset);
  // After the last step: closes the table and fills the buckets.
  void Close();
};

}  // namespace duecourse
