// The verb __exec of our own program: takes on a user and its groups and then
// becomes the command. Only exec/spawn.cc calls it; a
// program that embeds the executor must hand argv[1] == kHelperVerb to
// ExecHelperMain as the very first thing in its main.
//
//   PROGRAM __exec --groups 1,2 --gid N --uid N -- PATH ARGV0 ARG...
//
// Numbers are decimal. Descriptor 3 is the status pipe: closed by a good exec,
// else "STEP ERRNO" is written to it and the exit code is 127 for what is not
// there and 126 for the rest.
#pragma once

namespace duecourse {

inline constexpr const char* kHelperVerb = "__exec";
inline constexpr int kHelperStatusFd = 3;

int ExecHelperMain(int argc, char** argv);

}  // namespace duecourse
