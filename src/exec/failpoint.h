// Places at which a test may end the daemon as kill -9 would, to prove what a
// crash at that very place leaves behind. For tests only: a program acts on
// them when the environment variable DC_FAIL, read once, names the place.
//
// Names: exec.before_marker, exec.after_marker, exec.after_spawn,
// exec.before_end (this room); claim.after, finish.before (the engine's).
// Any thread may call; costs one comparison where DC_FAIL is not set.
#pragma once

namespace duecourse {

void Failpoint(const char* name);

}  // namespace duecourse
