#include "net/listen.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace duecourse {
namespace {

constexpr int kBacklog = 512;

Error SocketError(const std::string& where, std::string_view what, int error) {
  return Error(StrCat(where, ": ", what, ": ", ErrnoText(error)));
}

Result<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error(StrCat(path, ": this path has ", path.size(), " bytes; a socket's may have ",
                        sizeof address.sun_path - 1, ". Choose a shorter data folder or socket path"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// Makes way for a new socket at path.
Status ClearStale(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) return Error(StrCat(path, ": is there and is no socket; move it away"));
  Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return SocketError(path, "cannot make a socket", errno);
  // EAGAIN is a living listener too, one with a full queue.
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EAGAIN) {
    return Error(StrCat(path, ": another process listens there; is a daemon running already?"));
  }
  if (errno != ECONNREFUSED) return SocketError(path, "cannot tell whether anybody listens there", errno);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return SocketError(path, "cannot remove the stale socket", errno);
  return {};
}

}  // namespace

Status CheckUnixPathLength(const std::string& path) { return UnixAddress(path).status(); }

Status CheckUnixPath(const std::string& path, const std::string& made_later) {
  Result<sockaddr_un> address = UnixAddress(path);
  if (!address.ok()) return address.error();
  const std::string folder = ParentFolder(path);
  if (folder != made_later && !FolderExists(folder)) {
    return Error(StrCat(path, ": there is no folder ", folder, " for the socket; make it, or choose another --socket"));
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode))
    return Error(StrCat(path, ": is there and is no socket; move it away"));
  return {};
}

namespace {

struct LoopbackAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::optional<LoopbackAddress> ParseLoopback(const std::string& text, int port) {
  LoopbackAddress out;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    if (ntohl(v4.sin_addr.s_addr) >> 24 != 127) return std::nullopt;
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(port));
    std::memcpy(&out.storage, &v4, sizeof v4);
    out.size = sizeof v4;
    return out;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<uint16_t>(port));
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.size = sizeof v6;
    return out;
  }
  return std::nullopt;
}

int BoundPort(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  std::memcpy(&v4, &storage, sizeof v4);
  std::memcpy(&v6, &storage, sizeof v6);
  return ntohs(storage.ss_family == AF_INET ? v4.sin_port : v6.sin6_port);
}

}  // namespace

Result<Fd> ListenUnix(const std::string& path) {
  Result<sockaddr_un> address = UnixAddress(path);
  if (!address.ok()) return address.error();
  if (Status status = ClearStale(path, *address); !status.ok()) return status.error();
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return SocketError(path, "cannot make a socket", errno);
  // Linux gives the file the mode of the unbound socket, so there is no moment in which others could open it.
  if (::fchmod(fd.get(), 0600) != 0) return SocketError(path, "cannot restrict the socket", errno);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(sockaddr_un)) != 0) {
    return SocketError(path, "cannot make the socket file", errno);
  }
  if (::listen(fd.get(), kBacklog) != 0) return SocketError(path, "cannot listen", errno);
  return fd;
}

Result<Fd> ListenLoopback(const std::string& address, int port, int& bound_port) {
  std::string where = StrCat(address, ":", port);
  std::optional<LoopbackAddress> parsed = ParseLoopback(address, port);
  if (!parsed || port < 0 || port > 65'535) {
    return Error(StrCat(
        where, ": only a loopback address (127.0.0.1 or ::1) and a port up to 65535 can be listened on"));
  }
  Fd fd(::socket(parsed->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return SocketError(where, "cannot make a socket", errno);
  // A restart must not wait for the former process's closed connections.
  int on = 1;
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
    return SocketError(where, "setsockopt", errno);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&parsed->storage), parsed->size) != 0) {
    return SocketError(where, "cannot take the address", errno);
  }
  if (::listen(fd.get(), kBacklog) != 0) return SocketError(where, "cannot listen", errno);
  bound_port = BoundPort(fd.get());
  return fd;
}

uint64_t InodeOf(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

void RemoveSocketFile(const std::string& path, uint64_t inode) {
  if (inode != 0 && InodeOf(path) == inode) ::unlink(path.c_str());
}

}  // namespace duecourse
