// An HTTP/1.1 server on one thread of its own, for the CLI (a Unix socket that only its owner may open) and
// for loopback TCP. It frames messages and guards itself; what a path means is the handler's business.
//
// Guards (GUARANTEES 7.2): request head 16 KiB and 100 lines, body 1 MiB, 10 s for the head, 30 s for the
// body, a minute for the answer's writing, a bound on connections for each listener. Framing is strict: a
// bare line feed, a folded header, both Content-Length and Transfer-Encoding, a second Host or an encoded
// body are refused, and the connection closed.
//
// The handler runs on the server's thread and must not block: slow work goes to another thread, which calls
// `reply` when it is ready. `reply` may be called from any thread, once (later calls do nothing), also after
// the server's end. A reply that is dropped or comes later than reply_deadline is answered for by 500 or 504.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "net/http_message.h"

namespace duecourse {

struct HttpRequest {
  std::string method;
  std::string target;  // as sent: path and query, nothing decoded
  std::vector<HttpHeader> headers;
  std::string body;
  bool local = false;  // over the Unix socket
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<HttpHeader> headers;  // besides type and length; unsafe ones (line ends in a value) are a CHECK
};

using HttpReply = std::function<void(HttpResponse)>;
using HttpHandler = std::function<void(HttpRequest, HttpReply)>;

struct HttpServerOptions {
  std::string unix_path;  // empty: no Unix socket. The file has mode 0600; a stale one is replaced
  int tcp_port = -1;      // -1: no TCP, 0: any free port
  std::string tcp_address =
      "127.0.0.1";            // loopback only: anything else needs TLS and a login, which are not here
  int max_connections = 200;  // for each listener; one more is answered 503
  size_t max_head_bytes = 16u << 10;
  int max_head_lines = 100;
  size_t max_body_bytes = 1u << 20;
  Millis head_deadline = Seconds(10);
  Millis body_deadline = Seconds(30);
  Millis reply_deadline = Seconds(60);
  Millis write_deadline = Seconds(60);
  Millis idle_deadline = Seconds(60);  // between two requests of one connection
};

class HttpServer {
 public:
  // Fails where an address is taken, another process listens on the socket file, or the path is too long for
  // one.
  static Result<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options, HttpHandler handler);
  ~HttpServer();  // Stop
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int tcp_port() const;
  // Accepts nothing more, lets requests that are being handled finish for at most `grace`, closes the rest,
  // removes the socket file and ends the thread. A second call does nothing. Not from the handler.
  void Stop(Millis grace = Seconds(2));

 private:
  struct Impl;

 public:
  explicit HttpServer(std::unique_ptr<Impl> impl);  // for Start

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace duecourse
