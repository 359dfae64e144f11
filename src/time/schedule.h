// What is due: a cron expression in a zone, an elapsed interval from an anchor,
// or listed instants. Immutable, any thread. The answer depends only on the
// schedule and the instant asked from.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "time/cron.h"

namespace duecourse {

struct CronSchedule {
  Cron cron;
  DstRule dst;
  friend bool operator==(const CronSchedule&, const CronSchedule&) = default;
};
struct EverySchedule {
  Millis every;
  Instant anchor;  // occurrences at anchor + n * every, n of any sign
  friend bool operator==(const EverySchedule&, const EverySchedule&) = default;
};
struct AtSchedule {
  std::vector<CivilTime> at;  // local times of the rule's zone, ascending; a gap moves to its end, an overlap
                              // takes the first pass
  friend bool operator==(const AtSchedule&, const AtSchedule&) = default;
};

struct Schedule {
  std::variant<CronSchedule, EverySchedule, AtSchedule> kind = EverySchedule{};  // every 0: never due
  Zone zone = Zone::Utc();

  std::optional<Instant> Next(Instant after) const;       // strictly later
  std::optional<Instant> Previous(Instant before) const;  // strictly earlier
  int64_t Count(Instant after, Instant until) const;      // in (after, until]
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace duecourse
