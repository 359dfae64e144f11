#include "net/http_transfer.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace duecourse {
namespace {

long ClampedMillis(Millis span) {  // 0 would mean "without end" to the library
  return static_cast<long>(std::clamp<int64_t>(span.count, 1, INT32_MAX));
}

// The library ends the call where fewer bytes are taken than there were.
size_t OnHeader(char* data, size_t one, size_t size, void* user) {
  return static_cast<Transfer*>(user)->intake.TakeLine({data, one * size}) ? one * size : 0;
}

size_t OnBody(char* data, size_t one, size_t size, void* user) {
  return static_cast<Transfer*>(user)->intake.TakeBody({data, one * size}) ? one * size : 0;
}

int OnResolve(void*, void*, void* user) { return static_cast<Transfer*>(user)->resolving = true, 0; }

// Opens the socket of a connection, after the guard has seen the address that it really goes to.
curl_socket_t OnSocket(void* user, curlsocktype /*purpose*/, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.resolving = false;
  if (address->family != AF_UNIX && transfer.guard != nullptr) {
    const char* url = nullptr;  // of this hop, where there were redirects
    curl_easy_getinfo(transfer.easy, CURLINFO_EFFECTIVE_URL, &url);
    if (!transfer.guard->Allows(HostOfUrl(url != nullptr ? url : transfer.call.url), &address->addr)) {
      transfer.forbidden = AddressText(&address->addr);
      return CURL_SOCKET_BAD;
    }
  }
  const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd >= 0 && address->family != AF_UNIX) transfer.sockets.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  return fd;
}

bool BeganToAnswer(const Transfer& transfer) {
  curl_off_t first_byte = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_STARTTRANSFER_TIME_T, &first_byte);
  return transfer.intake.any_line() || first_byte > 0 || AnyBytesReceived(transfer.sockets);
}

bool IsTlsFault(CURLcode code) {
  return code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
         code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CIPHER || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_SSL_ISSUER_ERROR || code == CURLE_SSL_INVALIDCERTSTATUS;
}

HttpError ErrorOf(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpError::kNone;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return HttpError::kBadCall;
    case CURLE_COULDNT_RESOLVE_HOST:
      return HttpError::kResolve;
    case CURLE_COULDNT_CONNECT:
      return HttpError::kConnect;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpError::kTimeout;
    case CURLE_LOGIN_DENIED:  // CURLOPT_DISALLOW_USERNAME_IN_URL; HTTP has no other login
      return HttpError::kForbidden;
    case CURLE_TOO_MANY_REDIRECTS:
      return HttpError::kRedirectLoop;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
      return HttpError::kBroken;
    default:
      return IsTlsFault(code) ? HttpError::kTls : HttpError::kOther;
  }
}

void SetMethod(CURL* easy, const HttpClientCall& call) {
  const bool has_body =
      !call.body.empty() || call.method == "POST" || call.method == "PUT" || call.method == "PATCH";
  if (call.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  } else if (has_body) {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call.body.data());  // not copied; the call lives longer
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
    if (call.method != "POST") curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  } else if (call.method != "GET") {
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  }
  if (call.method != "GET" && call.method != "HEAD") {
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
  }
}

void SetHeaders(Transfer& transfer) {
  auto add = [&](const std::string& line) {
    transfer.headers = curl_slist_append(transfer.headers, line.c_str());
  };
  // The library would claim a form.
  if (FindHeader(transfer.call.headers, "Content-Type") == nullptr) add("Content-Type:");
  add("Expect:");  // never a second's wait for "100 Continue"
  for (const HttpHeader& header : transfer.call.headers) {
    // The library spells an empty value with a semicolon; with a colon it would leave the header out.
    add(header.value.empty() ? header.name + ";" : StrCat(header.name, ": ", header.value));
  }
  curl_easy_setopt(transfer.easy, CURLOPT_HTTPHEADER, transfer.headers);
}

// The call's own user and password go into a header, so that any that a redirect brings can be refused: they
// would make us send what the other side chose, to whom it chose.
void SetUrl(Transfer& transfer) {
  const HttpUrlParts parts = SplitHttpUrl(transfer.call.url);
  curl_easy_setopt(transfer.easy, CURLOPT_URL, parts.bare.c_str());
  curl_easy_setopt(transfer.easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  const bool named = FindHeader(transfer.call.headers, "Authorization") != nullptr;
  if (!parts.login.empty() && !named) transfer.call.headers.push_back({"Authorization", parts.login});
}

}  // namespace

void Prepare(Transfer& transfer, const std::string& user_agent) {
  const HttpClientCall& call = transfer.call;
  CURL* easy = transfer.easy = curl_easy_init();
  CHECK(easy != nullptr);
  for (CURLoption user : {CURLOPT_PRIVATE, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_OPENSOCKETDATA,
                          CURLOPT_RESOLVER_START_DATA}) {
    curl_easy_setopt(easy, user, &transfer);
  }
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error_text.data());
  SetUrl(transfer);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // A name server that does not answer must not hold up the thread when a call ends meanwhile.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, ClampedMillis(call.timeout));
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, ClampedMillis(call.connect_timeout));
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, call.max_redirects > 0 ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_MAXREDIRS, static_cast<long>(std::max(call.max_redirects, 0)));
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, OnSocket);
  curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, OnResolve);
  if (!call.unix_socket.empty()) curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, call.unix_socket.c_str());
  SetMethod(easy, call);
  SetHeaders(transfer);
}

void Conclude(Transfer& transfer, CURLcode code) {
  HttpResult& result = transfer.result;
  long status = 0;
  long request_bytes = 0;
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(transfer.easy, CURLINFO_REQUEST_SIZE, &request_bytes);
  result.status = static_cast<int>(status);
  result.sent = request_bytes > 0;
  result.answering = BeganToAnswer(transfer);
  result.headers = std::move(transfer.intake.headers());
  result.body = std::move(transfer.intake.body());
  result.body_bytes = transfer.intake.body_bytes();
  // What is wrong with the answer itself comes before whatever the library makes of its being refused.
  const HttpIntake::Fault fault = transfer.intake.fault();
  result.error = fault == HttpIntake::Fault::kTooLarge ? HttpError::kTooLarge
                 : fault == HttpIntake::Fault::kBroken ? HttpError::kBroken
                                                       : ErrorOf(code);
  // The library has one code for a url it cannot use and for an answer that does not begin like HTTP.
  if (result.error == HttpError::kBadCall && result.sent && status == 0) result.error = HttpError::kBroken;
  // The library has one code for a name server that is mute and for an agent that is.
  if (result.error == HttpError::kTimeout && transfer.resolving) result.error = HttpError::kResolve;
  if (result.error == HttpError::kConnect && !transfer.forbidden.empty()) {
    result.error = HttpError::kForbidden;
    result.message = StrCat(transfer.forbidden, " is no public address and not listed under http_allow");
  } else if (fault != HttpIntake::Fault::kNone) {
    result.message = transfer.intake.fault_text();
  } else if (code == CURLE_LOGIN_DENIED) {
    result.message = "a redirect to an address with a user and a password in it is not followed";
  } else if (code != CURLE_OK) {
    result.message = transfer.error_text[0] != 0 ? transfer.error_text.data() : curl_easy_strerror(code);
  }
}

void EndUntried(Transfer& transfer, HttpError error, std::string message) {
  transfer.result.error = error;
  transfer.result.message = std::move(message);
  transfer.done(std::move(transfer.result));
}

}  // namespace duecourse
