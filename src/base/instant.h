// A point in time and a span. Instant is UTC, milliseconds since 1970; Millis
// is a length. Never a bare number for time inside the program. Arithmetic
// saturates at the ends instead of wrapping, so an absurd timeout cannot turn
// into the past.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace duecourse {

constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

constexpr int64_t SaturatingSubtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

struct Millis {
  int64_t count = 0;
  friend constexpr auto operator<=>(Millis, Millis) = default;
  friend constexpr Millis operator+(Millis a, Millis b) { return {SaturatingAdd(a.count, b.count)}; }
  friend constexpr Millis operator-(Millis a, Millis b) { return {SaturatingSubtract(a.count, b.count)}; }
};

constexpr Millis Seconds(int64_t n) { return {n * 1000}; }
constexpr Millis Minutes(int64_t n) { return {n * 60'000}; }
constexpr Millis Hours(int64_t n) { return {n * 3'600'000}; }
constexpr Millis Days(int64_t n) { return {n * 86'400'000}; }

struct Instant {
  int64_t ms = 0;
  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant a, Millis b) { return {SaturatingAdd(a.ms, b.count)}; }
  friend constexpr Instant operator-(Instant a, Millis b) { return {SaturatingSubtract(a.ms, b.count)}; }
  friend constexpr Millis operator-(Instant a, Instant b) { return {SaturatingSubtract(a.ms, b.ms)}; }
};

// Later than every instant that is ever planned, yet inside int64 after any arithmetic.
inline constexpr Instant kNever{253'402'300'799'000};  // 9999-12-31T23:59:59Z
inline constexpr Instant kLongAgo{0};

// "2026-12-01T00:01:00Z"; milliseconds are shown only where they are not zero.
std::string FormatUtc(Instant instant);
// Reads what FormatUtc writes, and an offset (+08:00) in place of Z. Errors name what was expected.
Result<Instant> ParseUtc(std::string_view text);

// "90s", "1h30m", "2d", "250ms": exact, from the largest unit down; below two minutes in seconds, and with a fraction of a
// second below ten seconds in milliseconds. A negative span has a leading "-"; none is "0s".
std::string FormatMillis(Millis span);
// Reads ms, s, m, h, d and sums of them from large to small ("1h30m"), no sign. A bare number is an error that says so. At most 10 years.
Result<Millis> ParseMillis(std::string_view text);

}  // namespace duecourse
