// For tests: one end of a TCP or Unix connection, byte by byte, to say what no honest client or server would
// say. Every wait has a bound in real time, so a fault shows as a failed expectation and not as a hang.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mutex.h"
#include "net/listen.h"

namespace duecourse {

class RawPeer {
 public:
  explicit RawPeer(Fd fd) : fd_(std::move(fd)) {}
  static RawPeer ConnectTcp(int port) {
    Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return RawPeer(std::move(fd));
  }
  // Whether the other side has closed by now, as the kernel knows it: no thread of ours need have noticed.
  bool HungUp() const {
    pollfd look{fd_.get(), POLLRDHUP, 0};
    return ::poll(&look, 1, 0) > 0;
  }
  // False once the other side has closed.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  // What comes until `enough` holds, the other side closes, or time runs out.
  std::string ReadUntil(const std::function<bool(const std::string&)>& enough, int64_t bound_ms = 5000) {
    std::string got;
    const int64_t end = MonotonicMicros() + bound_ms * 1000;
    while (!enough(got)) {
      int64_t left = (end - MonotonicMicros()) / 1000;
      pollfd wait{fd_.get(), POLLIN, 0};
      if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) <= 0) break;
      std::array<char, 65536> buffer{};
      ssize_t n = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
      if (n <= 0) {
        closed_ = true;
        break;
      }
      got.append(buffer.data(), static_cast<size_t>(n));
    }
    return got;
  }
  std::string ReadToEnd(int64_t bound_ms = 5000) {
    return ReadUntil([](const std::string&) { return false; }, bound_ms);
  }
  std::string ReadHead() {
    return ReadUntil([](const std::string& got) { return got.find("\r\n\r\n") != std::string::npos; });
  }
  bool closed() const { return closed_; }  // the last read saw the other side's end
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  bool closed_ = false;
};

// A server on loopback that runs a script for each connection, on a thread of that connection.
class RawServer {
 public:
  using Script = std::function<void(RawPeer&)>;
  explicit RawServer(Script script) : script_(std::move(script)) {
    Result<Fd> fd = ListenLoopback("127.0.0.1", 0, port_);
    CHECK(fd.ok());
    listener_ = std::move(*fd);
    thread_ = std::thread([this] { Loop(); });
  }
  ~RawServer() {
    stopping_ = true;
    thread_.join();
    for (std::thread& thread : threads_) thread.join();
  }
  int port() const { return port_; }
  std::string Url(const std::string& path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  int connections() const { return connections_; }
  // For scripts that hold a connection: true until the server ends, after a wait of at most 10 ms for the
  // peer to go.
  bool Holding(RawPeer& peer) const {
    pollfd wait{peer.fd(), POLLRDHUP, 0};
    return ::poll(&wait, 1, 10) == 0 && !stopping_;
  }

 private:
  void Loop() {
    while (!stopping_) {
      pollfd wait{listener_.get(), POLLIN, 0};
      if (::poll(&wait, 1, 10) <= 0) continue;
      Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd.valid()) continue;
      ++connections_;
      threads_.emplace_back([this, peer = std::make_shared<RawPeer>(std::move(fd))] { script_(*peer); });
    }
  }

  const Script script_;
  Fd listener_;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
  std::vector<std::thread> threads_;
};

}  // namespace duecourse
