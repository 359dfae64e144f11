// One field of a cron expression read into bits, with errors that name the
// field, what is wrong in it and what would be right. Used by the parser only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace duecourse {

enum class CronFieldKind { kSecond, kMinute, kHour, kDay, kMonth, kWeekday, kYear };

struct CronField {
  uint64_t bits[4] = {};          // bit n = value n; years: bit (year - 1970); weekday 7 is folded to 0
  uint32_t last_minus = 0;        // days: L and L-n
  uint32_t nearest_weekday = 0;   // days: nW, bit 0 = LW
  uint64_t nth_weekdays = 0;      // weekdays: bit (weekday * 5 + nth - 1)
  uint8_t last_weekdays = 0;      // weekdays: dL and d#L
  uint32_t late_days = 0;         // days 29 to 31 that are written as such, not reached by a longer range
  bool star = false;              // *, ? or */1 and nothing else
  bool begins_with_star = false;  // also */n and lists that begin with one
  bool full = false;              // the bits hold every value
};

Result<CronField> ParseCronField(std::string_view text, CronFieldKind kind);
std::string_view CronFieldName(CronFieldKind kind);

}  // namespace duecourse
