// What may follow the words typed so far, where that is a name which the daemon knows: for the scripts of
// `duecourse completion`. The words that never change are in the scripts themselves.
#pragma once

#include <string>
#include <vector>

namespace duecourse {

// `typed`: the words between the program and the one being typed. Ids and names, each plain enough to be put
// into a shell's list of words as it is; what is not is left out, as are all where no daemon answers within a
// second.
std::vector<std::string> CompletionsAfter(const std::vector<std::string>& typed);

}  // namespace duecourse
