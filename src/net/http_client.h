// An HTTP client: hundreds of calls in flight on one thread of its own. TCP or a Unix socket, http and https
// only, no proxy from the environment, no decompression, no redirects unless the call allows some.
//
// The important answer for a scheduler is not only the status but whether the request left this machine: a
// call that failed with sent = false has surely done nothing there, one with sent = true may have done
// everything. So that `sent` means what it says, calls other than GET and HEAD never reuse a connection (the
// library would quietly send them a second time when a kept connection turns out to be dead).
//
// Limits: the whole call ends within `timeout`, its waiting for a free connection included; an answer's
// headers have at most kHttpMaxAnswerHeaderBytes, its body max_response_bytes. An answer beyond a limit, or
// one with two lengths, is an error whatever its status (net/http_intake.h). Any thread may call; `done` runs
// once for each call, on the client's thread, with no lock held, and must not block.
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

enum class HttpError {
  kNone,          // a whole answer came, whatever its status
  kBadCall,       // the url, method or a header is unusable; nothing was tried
  kResolve,       // the host's name has no address, or none was found before the call's time ran out
  kConnect,       // refused, unreachable, no such socket
  kTls,           // handshake or certificate
  kTimeout,       // the call's time ran out
  kTooLarge,      // headers, trailer or body beyond the limit: what came of it is no answer
  kRedirectLoop,  // more redirects than allowed
  kBroken,        // the answer broke off, is no HTTP, or has two lengths
  kCancelled,     // Cancel, or the client's end
  kOther,
  kForbidden,  // the guard allows none of the host's addresses
};
// A url without the user and password that may be in it, and those as the value of an Authorization header.
struct HttpUrlParts {
  std::string bare;
  std::string login;
};
HttpUrlParts SplitHttpUrl(const std::string& url);
const char* HttpErrorName(HttpError error);

struct HttpClientCall {
  std::string method = "GET";
  std::string url;
  std::vector<HttpHeader> headers;  // on a redirect to another host, Authorization and Cookie stay behind
  std::string body;
  std::string unix_socket;  // a path, in place of the url's host and port
  Millis timeout = Seconds(30);
  Millis connect_timeout = Seconds(10);
  size_t max_response_bytes = 1u << 20;  // of the body that are kept
  // A longer body is read on and let go by, up to so many bytes in all; below max_response_bytes: none is.
  size_t max_read_bytes = 0;
  int max_redirects = 0;  // 0: a 3xx is the answer
};

// What makes the call unusable; empty where it can be made.
std::string HttpClientCallFault(const HttpClientCall& call);

struct HttpResult {
  HttpError error = HttpError::kNone;
  std::string message;              // for people, empty where there is no error
  bool sent = false;                // bytes of the request left for the other side
  bool answering = false;           // the other side had begun to send something
  int status = 0;                   // 0 where no status came; with an error, of what is no whole answer
  std::vector<HttpHeader> headers;  // of the last answer
  std::string body;                 // at most max_response_bytes
  size_t body_bytes = 0;            // of the body, the part that was let go included
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
