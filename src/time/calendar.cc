#include "time/calendar.h"

namespace duecourse {
namespace {

// Ten years without a working day: then the calendar has none.
constexpr int kMaxSearchDays = 3660;

std::optional<CivilDay> Search(const Calendar& calendar, CivilDay day, int direction) {
  for (int i = 1; i <= kMaxSearchDays; ++i) {
    CivilDay candidate = day + direction * i;
    std::optional<bool> works = calendar.IsWorkday(candidate);
    if (!works) return std::nullopt;
    if (*works) return candidate;
  }
  return std::nullopt;
}

}  // namespace

bool Calendar::Covers(CivilDay day) const { return covers.empty() || covers.count(ToYmd(day).year) != 0; }

std::optional<bool> Calendar::IsWorkday(CivilDay day) const {
  if (!Covers(day)) return std::nullopt;
  if (workdays.count(day) != 0) return true;
  if (holidays.count(day) != 0) return false;
  return ((weekend >> WeekdayOf(day)) & 1) == 0;
}

std::optional<CivilDay> Calendar::NextWorkday(CivilDay day) const { return Search(*this, day, 1); }

std::optional<CivilDay> Calendar::PreviousWorkday(CivilDay day) const { return Search(*this, day, -1); }

}  // namespace duecourse
