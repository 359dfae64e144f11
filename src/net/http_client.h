// An HTTP client: hundreds of calls in flight on one thread of its own. TCP or a Unix socket, http and https
// only, no proxy from the environment, no decompression, no redirects unless the call allows some.
//
// The important answer for a scheduler is not only the status but whether the request left this machine: a
// call that failed with sent = false has surely done nothing there, one with sent = true may have done
// everything. So that `sent` means what it says, calls other than GET and HEAD never reuse a connection (the
// library would quietly send them a second time when a kept connection turns out to be dead).
//
// Limits: the whole call ends within `timeout`, its waiting for a free connection included; an answer's
// headers have at most kHttpMaxAnswerHeaderBytes, its body max_response_bytes. Any thread may call; `done`
// runs once for each call, on the client's thread, with no lock held, and must not block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/instant.h"
#include "net/address_guard.h"
#include "net/http_message.h"

namespace duecourse {

inline constexpr size_t kHttpMaxAnswerHeaderBytes = 256u << 10;

enum class HttpError {
  kNone,          // there is a status, whichever
  kBadCall,       // the url, method or a header is unusable; nothing was tried
  kResolve,       // the host's name has no address, or none was found before the call's time ran out
  kConnect,       // refused, unreachable, no such socket
  kTls,           // handshake or certificate
  kTimeout,       // the call's time ran out
  kTooLarge,      // headers or body beyond the limit
  kRedirectLoop,  // more redirects than allowed
  kBroken,        // the answer broke off or is no HTTP
  kCancelled,     // Cancel, or the client's end
  kOther,
  kForbidden,  // the guard allows none of the host's addresses
};
const char* HttpErrorName(HttpError error);

struct HttpClientCall {
  std::string method = "GET";
  std::string url;
  std::vector<HttpHeader> headers;  // on a redirect to another host, Authorization and Cookie stay behind
  std::string body;
  std::string unix_socket;  // a path, in place of the url's host and port
  Millis timeout = Seconds(30);
  Millis connect_timeout = Seconds(10);
  size_t max_response_bytes = 1u << 20;
  int max_redirects = 0;  // 0: a 3xx is the answer
};

// What makes the call unusable; empty where it can be made.
std::string HttpClientCallFault(const HttpClientCall& call);

struct HttpResult {
  HttpError error = HttpError::kNone;
  std::string message;              // for people, empty where there is no error
  bool sent = false;                // bytes of the request left for the other side
  bool answering = false;           // the other side had begun to send something
  int status = 0;                   // 0 where no answer came
  std::vector<HttpHeader> headers;  // of the last answer
  std::string body;                 // cut at the limit where error is kTooLarge
  Millis elapsed;
};

struct HttpClientOptions {
  int max_connections = 1000;  // calls beyond it wait for one
  std::string user_agent = "duecourse";
  // Which addresses may be connected to, each looked at when its socket is made (redirects too). Null: any.
  std::shared_ptr<const AddressGuard> guard;
};

class HttpClient {
 public:
  using Done = std::function<void(HttpResult)>;

  explicit HttpClient(const HttpClientOptions& options = {});
  // Ends all calls with kCancelled, after which no callback runs.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // The id is for Cancel.
  uint64_t Start(HttpClientCall call, Done done);
  // The call ends with kCancelled unless it has ended already.
  void Cancel(uint64_t id);
  // Waits for the answer. Not from a callback (CHECK).
  HttpResult Call(HttpClientCall call);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace duecourse
