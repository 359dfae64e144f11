// The SQLite store's tables, by numbered migrations that only go forward; a shipped one is never edited. The
// number in force is the database's user_version. docs/reference/store.md describes every table and column.
//
// Instants and spans are milliseconds (UTC since 1970), days are days since 1970, states, reasons and other
// closed lists are their outside names. What is not known is NULL.
#pragma once

#include <cstdint>
#include <vector>

namespace duecourse {

// In the header of the file, so that a foreign database is told from ours: "DueC".
inline constexpr int64_t kApplicationId = 0x44756543;

// Open runs and those in manual_required: what the index run_open holds. Whoever reads by that index says it
// word for word. A chain of OR, not IN (...): SQLite makes a table for such a list, and another for each
// condition of an index or a check that has one, in every statement that writes a row: half of what writing a
// run took (./dev bench store).
#define DC_OPEN_STATES                                                                            \
  "(state = 'scheduled' OR state = 'running' OR state = 'retrying' OR state = 'catchup_waiting' " \
  "OR state = 'manual_required')"

struct Migration {
  int number;
  const char* sql;
};
// In order, from 1.
const std::vector<Migration>& Migrations();
int NewestSchema();

}  // namespace duecourse
