// Next occurrences in bulk, for `duecourse next --stdin`: one line in, one line
// out. Pure but for zone files, which are read once each; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace duecourse {

inline constexpr int64_t kMaxBulkCount = 100'000;

// `line` is expression<TAB>timezone<TAB>from<TAB>count, without its line end (a '\r' is dropped). The
// expression may hold tabs itself: the last three columns are the others. `count` is 1 to kMaxBulkCount. The
// answer has no line end: the UTC instants strictly later than `from`, like 2026-12-01T00:01:00Z, with commas
// between; fewer than `count` where the schedule ends; or "error: " and what is wrong, also where nothing at
// all is due after `from`, so that an empty line is never printed.
std::string NextLine(std::string_view line);

}  // namespace duecourse
