// How much of a text an alert shows. Handlers' output, names and details are
// hostile until they went through Shown.
#pragma once

#include <string>
#include <string_view>

#include "base/shown.h"

namespace duecourse {

inline constexpr size_t kShownWord = 120;   // bytes of a name
inline constexpr size_t kShownTitle = 300;  // of a title's clause: a title is one line on a telephone
inline constexpr size_t kShownLine = 1000;  // of any other line

// A word of a command line that is to be typed, quoted where a shell would read it otherwise.
std::string ShellQuoted(std::string_view word);
// The same, and safe to show.
std::string ShellWord(std::string_view word);

}  // namespace duecourse
