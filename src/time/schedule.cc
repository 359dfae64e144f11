#include "time/schedule.h"

#include <algorithm>

#include "time/zone_data.h"

namespace duecourse {
namespace {

// Beyond this distance (73 million years) an interval has no answer, so that no product or difference
// overflows.
constexpr int64_t kFarthestMs = int64_t{1} << 61;

bool TooFar(Millis distance) { return distance.count > kFarthestMs || distance.count < -kFarthestMs; }

std::optional<Instant> Step(const EverySchedule& schedule, int64_t number) {
  return schedule.anchor + Millis{number * schedule.every.count};
}

std::optional<Instant> NextOf(const EverySchedule& schedule, Instant after) {
  CHECK(schedule.every.count > 0);
  Millis distance = after - schedule.anchor;
  if (TooFar(distance)) return std::nullopt;
  return Step(schedule, FloorDivide(distance.count, schedule.every.count) + 1);
}

std::optional<Instant> PreviousOf(const EverySchedule& schedule, Instant before) {
  CHECK(schedule.every.count > 0);
  Millis distance = before - schedule.anchor;
  if (TooFar(distance)) return std::nullopt;
  return Step(schedule, FloorDivide(distance.count - 1, schedule.every.count));
}

int64_t CountOf(const EverySchedule& schedule, Instant after, Instant until) {
  CHECK(schedule.every.count > 0);
  if (until <= after) return 0;
  auto steps = [&](Instant at) {
    int64_t distance = std::clamp((at - schedule.anchor).count, -kFarthestMs, kFarthestMs);
    return FloorDivide(distance, schedule.every.count);
  };
  return steps(until) - steps(after);
}

// The instants that are due, ascending; two times in one gap are one instant.
std::vector<Instant> InstantsOf(const AtSchedule& schedule, const Zone& zone) {
  std::vector<Instant> instants;
  instants.reserve(schedule.at.size());
  for (const CivilTime& civil : schedule.at) instants.push_back(zone.Lookup(civil).first);
  std::sort(instants.begin(), instants.end());
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  return instants;
}

}  // namespace

std::optional<Instant> Schedule::Next(Instant after) const {
  if (const CronSchedule* cron = std::get_if<CronSchedule>(&kind))
    return cron->cron.Next(after, zone, cron->dst);
  if (const EverySchedule* every = std::get_if<EverySchedule>(&kind)) return NextOf(*every, after);
  std::vector<Instant> instants = InstantsOf(std::get<AtSchedule>(kind), zone);
  auto next = std::upper_bound(instants.begin(), instants.end(), after);
  return next == instants.end() ? std::nullopt : std::optional<Instant>(*next);
}

std::optional<Instant> Schedule::Previous(Instant before) const {
  if (const CronSchedule* cron = std::get_if<CronSchedule>(&kind)) {
    return cron->cron.Previous(before, zone, cron->dst);
  }
  if (const EverySchedule* every = std::get_if<EverySchedule>(&kind)) return PreviousOf(*every, before);
  std::vector<Instant> instants = InstantsOf(std::get<AtSchedule>(kind), zone);
  auto later = std::lower_bound(instants.begin(), instants.end(), before);
  return later == instants.begin() ? std::nullopt : std::optional<Instant>(*(later - 1));
}

int64_t Schedule::Count(Instant after, Instant until) const {
  if (until <= after) return 0;
  if (const CronSchedule* cron = std::get_if<CronSchedule>(&kind)) {
    return cron->cron.Count(after, until, zone, cron->dst);
  }
  if (const EverySchedule* every = std::get_if<EverySchedule>(&kind)) return CountOf(*every, after, until);
  std::vector<Instant> instants = InstantsOf(std::get<AtSchedule>(kind), zone);
  return std::upper_bound(instants.begin(), instants.end(), until) -
         std::upper_bound(instants.begin(), instants.end(), after);
}

}  // namespace duecourse
