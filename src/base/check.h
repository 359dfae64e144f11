// CHECK states what must hold for the program itself to be right. It stays on
// in release builds, prints the expression and the place, and aborts: a wrong
// scheduler that goes on is worse than one that is restarted.
#pragma once

namespace duecourse {
[[noreturn]] void CheckFailed(const char* expression, const char* file, int line);
}  // namespace duecourse

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) ::duecourse::CheckFailed(#condition, __FILE__, __LINE__); \
  } while (false)
