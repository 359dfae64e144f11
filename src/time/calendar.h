// Working days: weekends, holidays and made-up working days (调休), from lists
// or an .ics file. A year the calendar does not cover is never guessed. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "time/civil.h"

namespace duecourse {

struct Calendar {
  std::string name;
  uint8_t weekend = 0b1000001;  // bit n = weekday n (0 = Sunday) is no working day
  std::set<CivilDay> holidays;
  std::set<CivilDay> workdays;  // working although it is a weekend or holiday
  std::set<int> covers;         // years; empty = every year (a calendar of weekends only)

  bool Covers(CivilDay day) const;
  // Nothing where the year is not covered.
  std::optional<bool> IsWorkday(CivilDay day) const;
  // The nearest working day strictly after / before; nothing where it would need a year that is not covered.
  std::optional<CivilDay> NextWorkday(CivilDay day) const;
  std::optional<CivilDay> PreviousWorkday(CivilDay day) const;
  friend bool operator==(const Calendar&, const Calendar&) = default;
};

// All-day VEVENTs of an iCalendar text as holidays (DTSTART/DTEND or DURATION, folded lines, RRULE refused
// with a hint); an event with CATEGORIES:WORKDAY is a made-up working day; timed and cancelled events are
// passed over. At most 16 MiB and 100,000 events of at most 366 days. `covers` is the years from the first
// event's start to the last one's: a holiday that begins on 31 December does not make the next year a known
// one. Errors name the line.
Result<Calendar> ParseIcs(std::string_view text);

}  // namespace duecourse
