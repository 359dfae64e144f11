#include "time/window.h"

namespace duecourse {
namespace {

// How many days around the due day are looked at: a window reaches into the next day at most, and a window
// that a clock change swallows is followed by one that is whole.
constexpr int kDaysBack = 2;
constexpr int kDaysAhead = 7;

Instant OpeningEdge(CivilDay day, int32_t second, const Zone& zone) {
  return zone.Lookup({day, second}).first;
}
Instant ClosingEdge(CivilDay day, int32_t second, const Zone& zone) {
  return zone.Lookup({day, second}).second;
}

bool DateHappens(CivilDay day, const Zone& zone) {
  constexpr int32_t kLast = 86'399;
  return zone.Lookup({day, 0}).kind != CivilLookup::Kind::kGap ||
         zone.Lookup({day, kLast}).kind != CivilLookup::Kind::kGap;
}

// The window that opens on a day, or nothing where a clock change leaves none of it.
std::optional<Window> WindowOn(CivilDay day, int32_t start, int32_t end, const Zone& zone) {
  if (!DateHappens(day, zone)) return std::nullopt;
  Window window{OpeningEdge(day, start, zone), ClosingEdge(end > start ? day : day + 1, end, zone), day,
                true};
  if (window.ends <= window.opens) return std::nullopt;
  return window;
}

Window BetweenEdges(int32_t start, int32_t end, Instant due, const Zone& zone) {
  CivilDay today = zone.ToLocal(due).civil.day;
  // The one opened last goes first: in an overlap a day's window may begin before yesterday's has ended.
  for (int ahead = 1; ahead >= -kDaysBack; --ahead) {
    std::optional<Window> window = WindowOn(today + ahead, start, end, zone);
    if (window && window->Contains(due)) return *window;
  }
  for (int ahead = -kDaysBack; ahead <= kDaysAhead; ++ahead) {
    std::optional<Window> window = WindowOn(today + ahead, start, end, zone);
    if (!window || window->opens <= due) continue;
    window->contains_due = false;
    return *window;
  }
  CHECK(false && "a wall-clock window opens every week");
  return {};
}

// Opens at the due instant and ends at the next wall-clock end.
Window UntilEdge(int32_t end, Instant due, const Zone& zone) {
  CivilTime local = zone.ToLocal(due).civil;
  CivilDay last = end > local.second ? local.day : local.day + 1;
  return {due, ClosingEdge(last, end, zone), local.day, true};
}

// A wall-clock start and an end that is counted from the due instant.
Window FromEdge(int32_t start, Instant due, const Zone& zone, Instant ends) {
  CivilDay today = zone.ToLocal(due).civil.day;
  Instant opens = OpeningEdge(today, start, zone);
  if (opens < ends) return {opens, ends, today, opens <= due};
  // Today's start comes too late for it, so the window is the one that opened the evening before (22:00, due
  // 01:00).
  return {OpeningEdge(today - 1, start, zone), ends, today - 1, true};
}

}  // namespace

Window WindowFor(const WindowSpec& spec, Instant due, const Zone& zone, Millis default_length) {
  if (spec.end && !spec.length) {
    return spec.start ? BetweenEdges(*spec.start, *spec.end, due, zone) : UntilEdge(*spec.end, due, zone);
  }
  if (!spec.start)
    return {due, due + spec.length.value_or(default_length), zone.ToLocal(due).civil.day, true};
  if (spec.length) return FromEdge(*spec.start, due, zone, due + *spec.length);
  CivilDay today = zone.ToLocal(due).civil.day;
  Instant opens = OpeningEdge(today, *spec.start, zone);
  return {opens, (opens < due ? due : opens) + default_length, today, opens <= due};
}

}  // namespace duecourse
