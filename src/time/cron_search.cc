// The daylight-saving rule. A zone is a row of steps of constant offset; at the
// begin of a step the wall leaps forward (a gap of readings that no instant has)
// or back (an overlap of readings that two instants have).
//
// A step serves a stretch of readings: all that the wall shows in it, except
// those of an overlap that belong to the other pass. Named readings of that
// stretch are due at their instants. Besides, a step that begins after a gap is
// due at its first instant where a fixed time lies in the gap; a date that lies
// in the gap as a whole does not exist, and what is named on it is not owed.
#include <algorithm>

#include "time/cron.h"
#include "time/cron_readings.h"
#include "time/zone_data.h"

namespace duecourse {
namespace {

class Search {
 public:
  Search(const Cron& cron, const Zone& zone, DstRule dst)
      : readings_(cron), zone_(zone.data()), dst_(dst), wildcard_(cron.wildcard()) {}

  // The first due second at or after; the last at or before; how many in [from, to]. All in [kFirstSecond,
  // kLastSecond].
  std::optional<int64_t> Next(int64_t from);
  std::optional<int64_t> Previous(int64_t to);
  int64_t Count(int64_t from, int64_t to);

 private:
  struct Stretch {
    int64_t begin;
    int64_t end;
  };
  Stretch Served(size_t step) const;
  bool DueAfterGap(size_t step);
  int64_t NextReading(int64_t reading);
  int64_t PreviousReading(int64_t reading);

  CronReadings readings_;
  const Zone::Data& zone_;
  DstRule dst_;
  bool wildcard_;
  // The last search each way: nothing is named between where it began and what it found. A rare expression
  // crosses hundreds of steps before it finds its day; this way it searches once.
  int64_t forth_from_ = CronReadings::kNoLater;
  int64_t forth_found_ = CronReadings::kNoEarlier;
  int64_t back_from_ = CronReadings::kNoEarlier;
  int64_t back_found_ = CronReadings::kNoLater;
};

Search::Stretch Search::Served(size_t step) const {
  Stretch served{zone_.ReadingBegin(step), zone_.ReadingEnd(step)};
  if (wildcard_ || dst_.overlap == DstRule::Overlap::kBoth) return served;
  if (dst_.overlap == DstRule::Overlap::kFirst) {
    if (step > 0) served.begin = std::max(served.begin, zone_.ReadingEnd(step - 1));
  } else if (step + 1 < zone_.steps()) {
    served.end = std::min(served.end, zone_.ReadingBegin(step + 1));
  }
  return served;
}

bool Search::DueAfterGap(size_t step) {
  if (wildcard_ || dst_.gap == DstRule::Gap::kSkip || step == 0) return false;
  int64_t begin = zone_.ReadingEnd(step - 1);
  int64_t end = zone_.ReadingBegin(step);
  if (begin >= end) return false;
  // The gap without the dates that lie in it as a whole: the rest of its first day, and the begin of its
  // last.
  int64_t first_day_end = -FloorDivide(-begin, kDaySeconds) * kDaySeconds;
  int64_t last_day_begin = FloorDivide(end, kDaySeconds) * kDaySeconds;
  return NextReading(begin) < std::min(first_day_end, end) ||
         NextReading(std::max(last_day_begin, begin)) < end;
}

int64_t Search::NextReading(int64_t reading) {
  if (reading < forth_from_ || reading > forth_found_) {
    forth_from_ = reading;
    forth_found_ = readings_.Next(reading);
  }
  return forth_found_;
}

int64_t Search::PreviousReading(int64_t reading) {
  if (reading > back_from_ || reading < back_found_) {
    back_from_ = reading;
    back_found_ = readings_.Previous(reading);
  }
  return back_found_;
}

std::optional<int64_t> Search::Next(int64_t from) {
  for (size_t step = zone_.IndexAt(from); step < zone_.steps() && zone_.begins[step] <= kLastSecond; ++step) {
    if (zone_.begins[step] >= from && DueAfterGap(step)) return zone_.begins[step];
    Stretch served = Served(step);
    int64_t reading = NextReading(std::max(served.begin, from + zone_.offsets[step]));
    if (reading >= served.end) continue;
    int64_t second = reading - zone_.offsets[step];
    if (second > kLastSecond) return std::nullopt;
    return second;
  }
  return std::nullopt;
}

std::optional<int64_t> Search::Previous(int64_t to) {
  for (size_t step = zone_.IndexAt(to);; --step) {
    Stretch served = Served(step);
    int64_t reading = PreviousReading(std::min(served.end - 1, to + zone_.offsets[step]));
    if (reading >= served.begin) {
      int64_t second = reading - zone_.offsets[step];
      if (second < kFirstSecond) return std::nullopt;
      return second;
    }
    if (step == 0 || zone_.begins[step] < kFirstSecond) return std::nullopt;
    if (DueAfterGap(step)) return zone_.begins[step];
  }
}

int64_t Search::Count(int64_t from, int64_t to) {
  int64_t count = 0;
  for (size_t step = zone_.IndexAt(from); step < zone_.steps() && zone_.begins[step] <= to; ++step) {
    Stretch served = Served(step);
    int64_t begin = std::max(served.begin, from + zone_.offsets[step]);
    int64_t end = std::min(served.end, to + 1 + zone_.offsets[step]);
    count += readings_.Count(begin, end);
    // A gap's run, unless the gap's end is itself a named time: then it is one run, counted above.
    bool at_gap_end = zone_.begins[step] >= from && DueAfterGap(step);
    if (at_gap_end && NextReading(served.begin) != served.begin) ++count;
  }
  return count;
}

}  // namespace

std::optional<Instant> Cron::Next(Instant after, const Zone& zone, DstRule dst) const {
  int64_t from = std::max(FloorDivide(after.ms, 1000) + 1, kFirstSecond);
  if (from > kLastSecond) return std::nullopt;
  std::optional<int64_t> second = Search(*this, zone, dst).Next(from);
  if (!second) return std::nullopt;
  return AtSecond(*second);
}

std::optional<Instant> Cron::Previous(Instant before, const Zone& zone, DstRule dst) const {
  int64_t floor = FloorDivide(before.ms, 1000);
  int64_t to = std::min(before.ms % 1000 == 0 ? floor - 1 : floor, kLastSecond);
  if (to < kFirstSecond) return std::nullopt;
  std::optional<int64_t> second = Search(*this, zone, dst).Previous(to);
  if (!second) return std::nullopt;
  return AtSecond(*second);
}

int64_t Cron::Count(Instant after, Instant until, const Zone& zone, DstRule dst) const {
  int64_t from = std::max(FloorDivide(after.ms, 1000) + 1, kFirstSecond);
  int64_t to = std::min(FloorDivide(until.ms, 1000), kLastSecond);
  if (from > to) return 0;
  return Search(*this, zone, dst).Count(from, to);
}

}  // namespace duecourse
