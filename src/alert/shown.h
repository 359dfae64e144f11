// Text from outside made fit for a message: handlers' output, names and details
// are hostile until they went through here. Pure but for the list of secrets.
#pragma once

#include <string>
#include <string_view>

namespace duecourse {

inline constexpr size_t kShownWord = 120;   // bytes of a name
inline constexpr size_t kShownTitle = 300;  // of a title's clause: a title is one line on a telephone
inline constexpr size_t kShownLine = 1000;  // of any other line

// One line: secrets replaced, control characters and invalid UTF-8 made visible, cut at `longest` bytes with
// "…".
std::string Shown(std::string_view text, size_t longest);
// The same for a word of a command line that is to be typed: quoted where a shell would read it otherwise.
std::string ShellWord(std::string_view word);

}  // namespace duecourse
