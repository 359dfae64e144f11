#include "net/http_server.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/check.h"
#include "net/http_session.h"
#include "net/listen.h"

namespace duecourse {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

struct Listener {
  Listener(asio::io_context& context, bool is_local) : socket(context), retry(context), local(is_local) {}
  asio::posix::stream_descriptor socket;
  asio::steady_timer retry;
  const bool local;
  int open = 0;  // connections that came through it
};

// One write of what fits the socket's buffer anyhow, so that the server owes a refused connection nothing
// more.
void RefuseFull(const Fd& fd) {
  static constexpr std::string_view kFull =
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/json\r\n"
      "Content-Length: 40\r\n\r\n"
      "{\"message\":\"too many open connections\"}\n";
  ssize_t ignored = ::send(fd.get(), kFull.data(), kFull.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  (void)ignored;
}

}  // namespace

struct HttpServer::Impl {
  Impl(const HttpServerOptions& o, HttpHandler h)
      : options(o), handler(std::move(h)), context(1), grace_timer(context) {}

  Status Listen();
  void Add(Fd fd, bool local);
  void AwaitConnections(Listener& listener);
  void TakeConnections(Listener& listener);
  void Open(Listener& listener, Fd fd);
  void BeginStop(Millis grace);

  const HttpServerOptions options;
  const HttpHandler handler;
  asio::io_context context;
  asio::steady_timer grace_timer;
  std::vector<std::unique_ptr<Listener>> listeners;
  std::map<uint64_t, std::shared_ptr<HttpSession>> sessions;
  uint64_t next_session = 0;
  bool stopping = false;
  uint64_t socket_inode = 0;
  int port = 0;
  std::thread thread;
};

Status HttpServer::Impl::Listen() {
  if (options.tcp_port >= 0) {
    Result<Fd> fd = ListenLoopback(options.tcp_address, options.tcp_port, port);
    if (!fd.ok()) return fd.error();
    Add(std::move(*fd), false);
  }
  if (!options.unix_path.empty()) {
    Result<Fd> fd = ListenUnix(options.unix_path);
    if (!fd.ok()) return fd.error();
    socket_inode = InodeOf(options.unix_path);
    Add(std::move(*fd), true);
  }
  if (listeners.empty()) return Error("a server needs a socket path or a port to listen on");
  return {};
}

void HttpServer::Impl::Add(Fd fd, bool local) {
  listeners.push_back(std::make_unique<Listener>(context, local));
  listeners.back()->socket.assign(fd.Release());
  AwaitConnections(*listeners.back());
}

void HttpServer::Impl::AwaitConnections(Listener& listener) {
  listener.socket.async_wait(asio::posix::descriptor_base::wait_read,
                             [this, &listener](const error_code& error) {
                               if (!error && !stopping) TakeConnections(listener);
                             });
}

void HttpServer::Impl::TakeConnections(Listener& listener) {
  // A round is bounded so that a flood of connections leaves time for those that are open.
  constexpr int kMostInOneRound = 64;
  for (int i = 0; i < kMostInOneRound; ++i) {
    Fd fd(::accept4(listener.socket.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.valid()) {
      Open(listener, std::move(fd));
      continue;
    }
    if (errno == EAGAIN) break;
    if (errno == EINTR || errno == ECONNABORTED) continue;
    // No descriptors or memory left: readiness would be told again at once and for ever, so wait a moment.
    listener.retry.expires_after(std::chrono::milliseconds(100));
    listener.retry.async_wait([this, &listener](const error_code& error) {
      if (!error && !stopping) TakeConnections(listener);
    });
    return;
  }
  AwaitConnections(listener);
}

void HttpServer::Impl::Open(Listener& listener, Fd fd) {
  if (listener.open >= options.max_connections) return RefuseFull(fd);
  ++listener.open;
  uint64_t id = next_session++;
  HttpSessionHome home{context, options, handler};
  sessions[id] = StartSession(home, std::move(fd), listener.local, [this, &listener, id] {
    --listener.open;
    sessions.erase(id);
    if (stopping && sessions.empty()) grace_timer.cancel();
  });
}

void HttpServer::Impl::BeginStop(Millis grace) {
  stopping = true;
  for (const auto& listener : listeners) {
    error_code ignored;
    listener->socket.close(ignored);
    listener->retry.cancel();
  }
  RemoveSocketFile(options.unix_path, socket_inode);
  for (const auto& [id, session] : sessions) session->Drain();
  if (sessions.empty()) return;
  // The loop ends by itself once nothing is left to wait for.
  grace_timer.expires_after(std::chrono::milliseconds(grace.count));
  grace_timer.async_wait([this](const error_code& error) {
    if (error) return;
    for (const auto& [id, session] : sessions) session->Abort();
  });
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() { Stop(); }

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options, HttpHandler handler) {
  auto impl = std::make_unique<Impl>(options, std::move(handler));
  if (Status status = impl->Listen(); !status.ok()) return status.error();
  impl->thread = std::thread([raw = impl.get()] { raw->context.run(); });
  return std::make_unique<HttpServer>(std::move(impl));
}

int HttpServer::tcp_port() const { return impl_->port; }

void HttpServer::Stop(Millis grace) {
  if (!impl_->thread.joinable()) return;
  CHECK(std::this_thread::get_id() != impl_->thread.get_id());
  asio::post(impl_->context, [impl = impl_.get(), grace] { impl->BeginStop(grace); });
  impl_->thread.join();
}

}  // namespace duecourse
