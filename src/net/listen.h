// Listening sockets, made before any server runs on them. Blocking calls, any thread.
#pragma once

#include <string>

#include "base/file.h"
#include "base/result.h"

namespace duecourse {

// A Unix socket at path with mode 0600 from its first instant. A file that is there is replaced only where it
// is a socket on which nobody listens any more; a living listener or another kind of file is an error.
Result<Fd> ListenUnix(const std::string& path);
// Whether a socket can have this path at all: it is not too long. No client can reach one that is.
Status CheckUnixPathLength(const std::string& path);
// What ListenUnix would find fault with, as far as it can be told before anything is made: the path's length,
// what is there. `made_later`: a folder that need not be there yet.
Status CheckUnixPath(const std::string& path, const std::string& made_later);
// A TCP socket on a loopback address; any other address is an error. port 0 takes a free one; bound_port says
// which.
Result<Fd> ListenLoopback(const std::string& address, int port, int& bound_port);
// Removes the socket file, if it is still the one the listener is bound to and not a successor's.
void RemoveSocketFile(const std::string& path, uint64_t inode);
uint64_t InodeOf(const std::string& path);  // 0 where there is none

}  // namespace duecourse
