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

struct Migration {
  int number;
  const char* sql;
};
// In order, from 1.
const std::vector<Migration>& Migrations();
int NewestSchema();

}  // namespace duecourse
