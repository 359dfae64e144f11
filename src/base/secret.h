// Secrets are named in rules and settings ({env: NAME}, {file: PATH}) and read
// only where they are used, each time, so that a rotated one is taken up at
// once. What is read is registered, so that Redact knows it. Blocks on the
// file; not for the engine's thread. Any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace duecourse {

inline constexpr size_t kSecretMaxBytes = 64u << 10;

// The value of the environment variable `env`, or, where that is empty, the content of `file` (relative to
// `folder`) less the line ends at its tail. Errors: not set, unreadable, empty; they name the variable or
// file, never the value. It may hold any bytes: whoever puts it into a header refuses control characters.
Result<std::string> ReadSecret(const std::string& env, const std::string& file, const std::string& folder);

}  // namespace duecourse
