#include "net/http_client.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/text.h"
#include "net/http_intake.h"

namespace duecourse {
namespace {

// One call that the library works on. It stays where it is while it runs: the library keeps its address.
struct Transfer {
  uint64_t id = 0;
  HttpClientCall call;
  HttpClient::Done done;
  HttpResult result;
  HttpIntake intake{0, 0};
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  const AddressGuard* guard = nullptr;
  std::string forbidden;    // the last address that the guard refused
  bool resolving = false;   // a name was asked for, and no socket has been opened since
  std::vector<Fd> sockets;  // second descriptors of those it opened, to see afterwards what came in
  int64_t started_us = 0;

  ~Transfer() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
};

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

// Fills in what the library knows about a call that ended.
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

}  // namespace

struct HttpClient::Impl {
  explicit Impl(const HttpClientOptions& o) : options(o) {}

  // The library and its thread are loaded at the first call: a daemon that calls nobody keeps two megabytes
  // less.
  void Open() REQUIRES(mutex);
  void Loop();
  // False at the end.
  bool TakeOrders();
  void Begin(std::unique_ptr<Transfer> transfer);
  void TakeFinished();
  // Calls that were asked for while the client ended.
  void RefuseWaiting();
  void End(uint64_t id, CURLcode code, bool cancelled);

  const HttpClientOptions options;
  CURLM* multi = nullptr;  // set once, under the lock, before the thread is there
  std::thread thread;
  std::map<uint64_t, std::unique_ptr<Transfer>> running;  // the thread's own

  Mutex mutex;
  uint64_t next_id GUARDED_BY(mutex) = 1;
  bool stopping GUARDED_BY(mutex) = false;
  std::vector<std::unique_ptr<Transfer>> to_begin GUARDED_BY(mutex);
  std::vector<uint64_t> to_cancel GUARDED_BY(mutex);
};

void HttpClient::Impl::Open() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_ALL);
  CHECK(initialised == CURLE_OK);
  multi = curl_multi_init();
  CHECK(multi != nullptr);
  curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(options.max_connections));
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 32L);  // kept open
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  thread = std::thread([this] { Loop(); });
}

HttpClient::HttpClient(const HttpClientOptions& options) : impl_(std::make_unique<Impl>(options)) {}

HttpClient::~HttpClient() {
  {
    MutexLock lock(impl_->mutex);
    impl_->stopping = true;
  }
  if (impl_->multi == nullptr) return;
  curl_multi_wakeup(impl_->multi);
  impl_->thread.join();
  curl_multi_cleanup(impl_->multi);
}

uint64_t HttpClient::Start(HttpClientCall call, Done done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->intake = HttpIntake(call.max_response_bytes, call.max_read_bytes);
  transfer->call = std::move(call);
  transfer->done = std::move(done);
  transfer->started_us = MonotonicMicros();
  MutexLock lock(impl_->mutex);
  if (impl_->multi == nullptr) impl_->Open();
  const uint64_t id = impl_->next_id++;
  transfer->id = id;
  impl_->to_begin.push_back(std::move(transfer));
  curl_multi_wakeup(impl_->multi);
  return id;
}

void HttpClient::Cancel(uint64_t id) {
  MutexLock lock(impl_->mutex);
  if (impl_->multi == nullptr) return;
  impl_->to_cancel.push_back(id);
  curl_multi_wakeup(impl_->multi);
}

HttpResult HttpClient::Call(HttpClientCall call) {
  {
    MutexLock lock(impl_->mutex);
    CHECK(std::this_thread::get_id() != impl_->thread.get_id());
  }
  Mutex mutex;
  CondVar arrived;
  std::optional<HttpResult> answer;
  Start(std::move(call), [&](HttpResult result) {
    MutexLock lock(mutex);
    answer = std::move(result);
    arrived.NotifyOne();  // under the lock: the waiter's frame is gone right after it
  });
  MutexLock lock(mutex);
  while (!answer) arrived.Wait(mutex);
  return std::move(*answer);
}

void HttpClient::Impl::Loop() {
  while (TakeOrders()) {
    int still_running = 0;
    CHECK(curl_multi_perform(multi, &still_running) == CURLM_OK);
    TakeFinished();
    curl_multi_poll(multi, nullptr, 0, 60'000, nullptr);  // or less, until the library's own next deadline
  }
  while (!running.empty()) End(running.begin()->first, CURLE_OK, true);
  RefuseWaiting();
}

void HttpClient::Impl::RefuseWaiting() {
  while (true) {
    std::vector<std::unique_ptr<Transfer>> waiting;
    {
      MutexLock lock(mutex);
      waiting.swap(to_begin);
    }
    if (waiting.empty()) return;
    for (auto& transfer : waiting) EndUntried(*transfer, HttpError::kCancelled, "the client is ending");
  }
}

bool HttpClient::Impl::TakeOrders() {
  std::vector<std::unique_ptr<Transfer>> begin;
  std::vector<uint64_t> cancel;
  bool go_on = false;
  {
    MutexLock lock(mutex);
    begin.swap(to_begin);
    cancel.swap(to_cancel);
    go_on = !stopping;
  }
  for (std::unique_ptr<Transfer>& transfer : begin) Begin(std::move(transfer));
  for (uint64_t id : cancel) End(id, CURLE_OK, true);
  return go_on;
}

void HttpClient::Impl::Begin(std::unique_ptr<Transfer> transfer) {
  if (std::string fault = HttpClientCallFault(transfer->call); !fault.empty())
    return EndUntried(*transfer, HttpError::kBadCall, std::move(fault));
  transfer->guard = options.guard.get();
  Prepare(*transfer, options.user_agent);
  CHECK(curl_multi_add_handle(multi, transfer->easy) == CURLM_OK);
  running[transfer->id] = std::move(transfer);
}

void HttpClient::Impl::TakeFinished() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    char* user = nullptr;
    CURLcode code = message->data.result;  // the message is gone once its handle is removed
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
    End(reinterpret_cast<Transfer*>(user)->id, code, false);
  }
}

void HttpClient::Impl::End(uint64_t id, CURLcode code, bool cancelled) {
  auto found = running.find(id);
  if (found == running.end()) return;
  std::unique_ptr<Transfer> transfer = std::move(found->second);
  running.erase(found);
  Conclude(*transfer, code);
  if (cancelled) {
    transfer->result.error = HttpError::kCancelled;
    transfer->result.message = "the call was cancelled";
  }
  transfer->result.elapsed = Millis{(MonotonicMicros() - transfer->started_us) / 1000};
  curl_multi_remove_handle(multi, transfer->easy);
  HttpClient::Done done = std::move(transfer->done);
  HttpResult result = std::move(transfer->result);
  transfer.reset();
  done(std::move(result));
}

}  // namespace duecourse
