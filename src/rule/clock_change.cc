#include "rule/clock_change.h"

namespace duecourse {
namespace {

// The local reading as if the zone were UTC, so that a cron expression can be asked about readings that do
// not exist.
Instant ReadAsUtc(CivilTime civil) { return Instant{} + Days(civil.day.days) + Seconds(civil.second); }
CivilTime FromUtcReading(Instant reading) { return Zone::Utc().ToLocal(reading).civil; }

}  // namespace

std::optional<ClockChange> ClockChangeAt(const Zone& zone, Instant at) {
  const ZoneSpan span = zone.SpanAt(at);
  if (span.begin != at) return std::nullopt;
  const int32_t before = zone.SpanAt(at - Millis{1}).offset;
  if (before == span.offset) return std::nullopt;
  ClockChange change;
  change.at = at;
  change.gap = span.offset > before;
  const CivilTime old_reading = FromUtcReading(at + Seconds(before));
  const CivilTime new_reading = FromUtcReading(at + Seconds(span.offset));
  change.from = change.gap ? old_reading : new_reading;
  change.to = change.gap ? new_reading : old_reading;
  return change;
}

std::optional<CivilTime> FirstNamed(const Schedule& schedule, CivilTime from, CivilTime to) {
  if (const auto* cron = std::get_if<CronSchedule>(&schedule.kind)) {
    const std::optional<Instant> next = cron->cron.Next(ReadAsUtc(from) - Millis{1}, Zone::Utc());
    if (next && *next < ReadAsUtc(to)) return FromUtcReading(*next);
  }
  if (const auto* listed = std::get_if<AtSchedule>(&schedule.kind)) {
    for (CivilTime at : listed->at) {
      if (from <= at && at < to) return at;
    }
  }
  return std::nullopt;
}

Instant InstantOf(CivilTime civil, const Zone& zone) {
  const CivilLookup lookup = zone.Lookup(civil);
  return lookup.kind == CivilLookup::Kind::kGap ? lookup.transition : lookup.first;
}

}  // namespace duecourse
