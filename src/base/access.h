// Whom the rights of a file keep out, said so that a person knows whom to ask.
#pragma once

#include <string>

namespace duecourse {

// Why this process may not use the path for `rights` (R_OK, W_OK and X_OK of access(2)): "/srv/data belongs
// to root (mode 0700) and you are nobody". What stands in the way may be a folder above it. Empty where
// nothing forbids it, also where there is no such path.
std::string WhyDenied(const std::string& path, int rights);

}  // namespace duecourse
