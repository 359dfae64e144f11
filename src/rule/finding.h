// The faults of one load, bounded, in the order of the text. One thread.
#pragma once

#include <cstddef>
#include <vector>

#include "rule/ruleset.h"

namespace duecourse {

inline constexpr size_t kFindingsMax = 1000;  // of one load; the rest is counted

// Faults of one load.
class FindingList {
 public:
  void Add(Finding finding);
  bool full() const { return list_.size() >= kFindingsMax; }
  size_t count() const { return list_.size() + dropped_; }
  // From the mark (an earlier count()) on, in the order of the text; what is no YAML at all comes first.
  void SortFrom(size_t mark);
  std::vector<Finding> Take();  // with a last one that says how many more there are

 private:
  std::vector<Finding> list_;
  size_t dropped_ = 0;
};

}  // namespace duecourse
