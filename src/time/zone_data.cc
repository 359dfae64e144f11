#include "time/zone_data.h"

namespace duecourse {
void Zone::Data::AddStep(int64_t begin, int32_t offset) {
  if (!offsets.empty() && offsets.back() == offset) return;
  begins.push_back(begin);
  offsets.push_back(offset);
}

void Zone::Data::Close() {
  begins.push_back(kTableEnd);
  size_t step = 0;
  for (int64_t second = kTableBegin; second < kTableEnd; second += int64_t{1} << kBucketBits) {
    while (begins[step + 1] <= second) ++step;
    buckets.push_back(static_cast<uint16_t>(step));
  }
  begins.shrink_to_fit();
  offsets.shrink_to_fit();
  buckets.shrink_to_fit();
}

// Several steps may show the reading: the first and the last of them are the two passes. Where none does, the
// clock leapt over it, and the first step that begins later is the gap's end.
std::optional<CivilLookup> Zone::Data::Find(int64_t reading) const {
  if (!Covers(reading - kMaxOffsetSeconds) || !Covers(reading + kMaxOffsetSeconds)) return std::nullopt;
  std::optional<size_t> first, last, after_gap;
  for (size_t step = IndexAt(reading - kMaxOffsetSeconds);
       step < steps() && begins[step] <= reading + kMaxOffsetSeconds; ++step) {
    if (ReadingBegin(step) > reading) {
      if (!after_gap) after_gap = step;
    } else if (reading < ReadingEnd(step)) {
      if (!first) first = step;
      last = step;
    }
  }
  if (!first) {
    CHECK(after_gap.has_value());
    Instant end = AtSecond(begins[*after_gap]);
    return CivilLookup{CivilLookup::Kind::kGap, end, end, end};
  }
  Instant pass = AtSecond(reading - offsets[*first]);
  if (first == last) return CivilLookup{CivilLookup::Kind::kUnique, pass, pass, pass};
  return CivilLookup{CivilLookup::Kind::kOverlap, pass, AtSecond(begins[*first + 1]),
                     AtSecond(reading - offsets[*last])};
}

}  // namespace duecourse
