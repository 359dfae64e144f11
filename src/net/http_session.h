// One connection of the server, from its first byte to its last. Used by http_server.cc alone, on the
// server's thread.
#pragma once

#include <functional>
#include <memory>

#include "base/file.h"
#include "net/http_server.h"

namespace boost::asio {
class io_context;
}

namespace duecourse {

class HttpSession {
 public:
  virtual ~HttpSession() = default;
  virtual void Drain() = 0;  // ends an idle connection now and a busy one after its answer
  virtual void Abort() = 0;
};

// What the sessions of one server share; outlives them.
struct HttpSessionHome {
  boost::asio::io_context& context;
  const HttpServerOptions& options;
  const HttpHandler& handler;
};

// Takes the connection over. `ended` runs once, when it is over; the session lives until then at least.
std::shared_ptr<HttpSession> StartSession(const HttpSessionHome& home, Fd fd, bool local,
                                          std::function<void()> ended);

}  // namespace duecourse
