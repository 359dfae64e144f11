// The program's version; the only place where it stands in the code.
#pragma once

namespace duecourse {
inline constexpr const char* kVersion = "0.1.0";
}  // namespace duecourse
