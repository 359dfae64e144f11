// Text from outside made fit to be shown, stored or sent: files' content,
// answers of servers, output of commands are hostile until they went through
// here. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace duecourse {

// One line: secrets replaced, control characters and invalid UTF-8 made visible, cut at `longest` bytes with
// "…".
std::string Shown(std::string_view text, size_t longest);

}  // namespace duecourse
