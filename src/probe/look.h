// What the kinds of probes have in common: what one look found, and the time
// that a look may ask for without holding on to anybody's clock.
#pragma once

#include <string>

#include "base/shown.h"
#include "probe/probe.h"

namespace duecourse {

struct Observation {
  PreconditionFact::Answer answer = PreconditionFact::Answer::kCheckFailed;
  std::string code;
  std::string text;  // a clause for people; safe to show
};

// Bytes of foreign text (a first line, a value, an error) that an answer quotes.
inline constexpr size_t kQuoteMax = 120;

inline std::string Quote(std::string_view text) { return Shown(text, kQuoteMax); }

// The wall clock as it was when the check was asked for, carried on by elapsed time: a look on a thread that
// was given up may outlive the daemon's clock. Runs at the daemon's rate.
struct LookTime {
  Instant wall;        // at `micros`
  int64_t micros = 0;  // MonotonicMicros then
  double rate = 1.0;
  Millis Since(int64_t former_micros, int64_t now_micros) const {
    return Millis{static_cast<int64_t>(static_cast<double>(now_micros - former_micros) * rate / 1000.0)};
  }
  Instant At(int64_t now_micros) const { return wall + Since(micros, now_micros); }
};

}  // namespace duecourse
