// Faults in words for the person on call: what happened to which file, what it means for the runs, what to
// do.
#pragma once

#include <string>

#include "db/sqlite.h"
#include "store/store.h"

namespace duecourse {

StoreFault MakeFault(StoreFault::Kind kind, std::string message);
// From an answer of SQLite. `committing`: it came from COMMIT, so what was written may be there or not.
// `mounted_read_only` makes a read-only file system of what SQLite calls an I/O error.
StoreFault FaultOf(const DbStatus& status, bool committing, bool mounted_read_only);
// SQLite itself found the file malformed; a row that was changed by hand is not that.
bool IsDamage(const DbStatus& status);
// The steps for a store that cannot be read: look, keep, restore or begin anew.
std::string RecoverySteps(const std::string& database);

}  // namespace duecourse
