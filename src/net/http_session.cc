#include "net/http_session.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/text.h"
#include "net/http_head.h"

namespace duecourse {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

// One type for TCP and Unix sockets.
using Protocol = asio::generic::stream_protocol;
using Socket = asio::basic_stream_socket<Protocol, asio::io_context::executor_type>;
using Stream = beast::basic_stream<Protocol, asio::io_context::executor_type>;
using Timer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                               asio::io_context::executor_type>;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
// Read ahead at most, beyond a head. It also bounds what the parser wants whole: a chunk's line, the trailer.
constexpr size_t kBuffered = 64u << 10;

std::chrono::milliseconds Chrono(Millis span) { return std::chrono::milliseconds(span.count); }

bool HasBareLineFeed(std::string_view text) {
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    if (at == 0 || text[at - 1] != '\r') return true;
  }
  return false;
}

// What the server itself says, in the shape of a handler's answer: {"message": "…"}.
HttpResponse ServerError(int status, const std::string& text) {
  HttpResponse response;
  response.status = status;
  response.body = Json::MakeObject().Set("message", text).Dump() + "\n";
  return response;
}

// Where the thread that answers and the server's thread meet. Outlives both the session and the server.
class Exchange {
 public:
  // The first answer counts. After Close nothing of the server is touched.
  void Answer(HttpResponse response) {
    MutexLock lock(mutex_);
    if (closed_ || answered_) return;
    answered_ = true;
    response_ = std::move(response);
    if (wake_) wake_();  // only posts to the server's queue
  }
  std::optional<HttpResponse> Take() {
    MutexLock lock(mutex_);
    return std::exchange(response_, std::nullopt);
  }
  void SetWake(std::function<void()> wake) {
    MutexLock lock(mutex_);
    wake_ = std::move(wake);
  }
  void Close() {
    MutexLock lock(mutex_);
    closed_ = true;
    wake_ = nullptr;
  }

 private:
  Mutex mutex_;
  bool closed_ GUARDED_BY(mutex_) = false;
  bool answered_ GUARDED_BY(mutex_) = false;
  std::optional<HttpResponse> response_ GUARDED_BY(mutex_);
  std::function<void()> wake_ GUARDED_BY(mutex_);
};

// Goes with the last copy of a reply; one that was never called is answered for here.
class Ticket {
 public:
  explicit Ticket(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Ticket() { exchange_->Answer(ServerError(500, "this request was dropped without an answer")); }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  void Answer(HttpResponse response) { exchange_->Answer(std::move(response)); }

 private:
  std::shared_ptr<Exchange> exchange_;
};

// One connection. Everything here runs on the server's thread.
class Session : public HttpSession {
 public:
  Session(Stream stream, bool local, const HttpServerOptions& options, const HttpHandler& handler)
      : stream_(std::move(stream)),
        local_(local),
        options_(options),
        handler_(handler),
        buffer_(options.max_head_bytes + kBuffered) {}

  asio::awaitable<void> Run();
  void Drain() override {
    draining_ = true;
    if (!busy_) Abort();
  }
  void Abort() override {
    aborted_ = true;
    stream_.close();
    if (reply_timer_) reply_timer_->cancel();
  }

 private:
  // How a step went: go on, close in silence, or refuse with an answer.
  struct Step {
    bool go_on = false;
    int refusal = 0;
    std::string fault;
  };
  static Step GoOn() { return {true, 0, {}}; }
  static Step Hang() { return {}; }
  static Step Refusal(int status, std::string fault) { return {false, status, std::move(fault)}; }

  Step BodyTooLarge() const {
    return Refusal(413, StrCat("the body is larger than ", options_.max_body_bytes, " bytes"));
  }
  // Judges the head that stands at the front of the buffer.
  Step JudgeBuffered(HttpHead& head) const {
    head = JudgeHead(Buffered().substr(0, head_size_), options_.max_head_lines);
    if (head.refusal != 0) return Refusal(head.refusal, head.fault);
    if (head.content_length && static_cast<uint64_t>(*head.content_length) > options_.max_body_bytes)
      return BodyTooLarge();
    return GoOn();
  }

  using Parser = http::request_parser<http::string_body>;
  asio::awaitable<Step> ReadHead();
  asio::awaitable<Step> ReadBody(Parser& parser, HttpHead head);
  asio::awaitable<HttpResponse> Ask(HttpRequest request);
  asio::awaitable<bool> Send(HttpResponse response, bool keep, bool head_only);
  asio::awaitable<void> Refuse(int status, std::string fault);
  std::string_view Buffered() const {
    auto bytes = buffer_.cdata();
    return {static_cast<const char*>(bytes.data()), bytes.size()};
  }
  HttpRequest TakeRequest(Parser& parser) const;

  Stream stream_;
  const bool local_;
  const HttpServerOptions& options_;
  const HttpHandler& handler_;
  beast::flat_buffer buffer_;
  size_t head_size_ = 0;
  bool first_ = true;
  bool busy_ = false;  // a request was read and its answer not yet written
  bool draining_ = false;
  bool aborted_ = false;
  std::shared_ptr<Timer> reply_timer_;
};

asio::awaitable<Session::Step> Session::ReadHead() {
  // A kept connection may idle; from the first byte on the head has its own deadline, however slowly it drips
  // in.
  bool begun = !Buffered().empty();
  stream_.expires_after(Chrono(begun || first_ ? options_.head_deadline : options_.idle_deadline));
  while (true) {
    size_t end = Buffered().find("\r\n\r\n");
    head_size_ = end == std::string_view::npos ? Buffered().size() : end + 4;
    if (head_size_ > options_.max_head_bytes) co_return Refusal(431, "the request's head is too large");
    if (end != std::string_view::npos) co_return GoOn();
    // A line feed on its own would otherwise be waited on until the deadline.
    if (HasBareLineFeed(Buffered())) co_return Refusal(400, "lines must end in CR LF");
    constexpr size_t kPiece = 4096;
    auto [error, count] = co_await stream_.async_read_some(buffer_.prepare(kPiece), kAwait);
    if (error || count == 0) co_return Hang();
    buffer_.commit(count);
    if (!begun && !first_) stream_.expires_after(Chrono(options_.head_deadline));
    begun = true;
  }
}

asio::awaitable<Session::Step> Session::ReadBody(Parser& parser, HttpHead head) {
  stream_.expires_after(Chrono(options_.body_deadline));
  if (head.expects_continue) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    auto [error, count] = co_await asio::async_write(stream_, asio::buffer(kContinue), kAwait);
    if (error) co_return Hang();
  }
  parser.eager(true);
  while (!parser.is_done()) {
    beast::error_code error;
    const size_t used = parser.put(buffer_.data(), error);
    buffer_.consume(used);
    if (error == http::error::body_limit) co_return BodyTooLarge();
    if (error && error != http::error::need_more) co_return Refusal(400, "the body is malformed");
    if (used > 0) continue;
    // What the parser leaves of a chunked body is a chunk's line or the trailer, not yet at its CR LF; it
    // wants them whole, and would wait for ever for one that ends otherwise.
    if (head.chunked && HasBareLineFeed(Buffered()))
      co_return Refusal(400, "the lines of a chunked body must end in CR LF");
    const size_t room = buffer_.max_size() - buffer_.size();
    if (room == 0) co_return Refusal(413, "a chunk's line or the trailer is too long");
    auto [failed, count] =
        co_await stream_.async_read_some(buffer_.prepare(std::min(room, kBuffered)), kAwait);
    if (failed || count == 0) co_return Hang();
    buffer_.commit(count);
  }
  co_return GoOn();
}

HttpRequest Session::TakeRequest(Parser& parser) const {
  HttpRequest request;
  auto message = parser.release();
  request.method = std::string(message.method_string());
  request.target = std::string(message.target());
  for (const auto& field : message) {
    request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  request.body = std::move(message.body());
  request.local = local_;
  return request;
}

asio::awaitable<HttpResponse> Session::Ask(HttpRequest request) {
  auto exchange = std::make_shared<Exchange>();
  auto executor = stream_.get_executor();
  reply_timer_ = std::make_shared<Timer>(executor, Chrono(options_.reply_deadline));
  exchange->SetWake([executor, weak = std::weak_ptr<Timer>(reply_timer_)] {
    asio::post(executor, [weak] {
      if (std::shared_ptr<Timer> timer = weak.lock()) timer->cancel();
    });
  });
  handler_(std::move(request), [ticket = std::make_shared<Ticket>(exchange)](HttpResponse response) {
    ticket->Answer(std::move(response));
  });
  std::optional<HttpResponse> response = exchange->Take();
  if (!response) {
    co_await reply_timer_->async_wait(kAwait);
    response = exchange->Take();
  }
  exchange->Close();
  reply_timer_.reset();
  if (!response)
    response = ServerError(504, "no answer within the time allowed; what was asked for may still happen");
  co_return std::move(*response);
}

asio::awaitable<bool> Session::Send(HttpResponse response, bool keep, bool head_only) {
  http::response<http::string_body> message(static_cast<http::status>(response.status), 11);
  message.set(http::field::content_type, response.content_type);
  for (const HttpHeader& header : response.headers) {
    CHECK(IsHeaderSafe(header));
    message.insert(header.name, header.value);
  }
  message.keep_alive(keep);
  size_t size = response.body.size();
  if (!head_only) message.body() = std::move(response.body);
  message.content_length(size);
  http::response_serializer<http::string_body> serializer(message);
  stream_.expires_after(Chrono(options_.write_deadline));
  auto [error, count] = co_await http::async_write(stream_, serializer, kAwait);
  co_return !error;
}

// Answers, then reads on for a moment: a connection that is closed over unread bytes is reset, and the client
// would lose the answer with it.
asio::awaitable<void> Session::Refuse(int status, std::string fault) {
  HttpResponse response = ServerError(status, fault);
  bool sent = co_await Send(std::move(response), false, false);
  if (!sent) co_return;
  beast::error_code ignored;
  ignored = stream_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
  constexpr size_t kMostDrained = 256u << 10;
  stream_.expires_after(std::chrono::seconds(1));
  for (size_t drained = 0; drained < kMostDrained;) {
    buffer_.clear();
    auto [error, count] = co_await stream_.async_read_some(buffer_.prepare(16u << 10), kAwait);
    if (error || count == 0) break;
    drained += count;
  }
}

asio::awaitable<void> Session::Run() {
  while (!draining_) {
    Step step = co_await ReadHead();
    HttpHead head;
    if (step.go_on) step = JudgeBuffered(head);
    busy_ = step.go_on;
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(options_.max_head_bytes + 1));
    parser.body_limit(options_.max_body_bytes);
    if (step.go_on) {
      beast::error_code error;
      buffer_.consume(parser.put(buffer_.data(), error));
      if (error) {
        step = Refusal(400, "the request is malformed");
      } else {
        step = co_await ReadBody(parser, head);
      }
    }
    if (aborted_) co_return;
    if (!step.go_on) {
      if (step.refusal != 0) co_await Refuse(step.refusal, step.fault);
      co_return;
    }
    stream_.expires_never();
    bool keep = parser.keep_alive();
    bool head_only = parser.get().method() == http::verb::head;
    HttpResponse response = co_await Ask(TakeRequest(parser));
    if (aborted_) co_return;
    keep = keep && !draining_;
    bool sent = co_await Send(std::move(response), keep, head_only);
    busy_ = false;
    first_ = false;
    if (!sent || !keep) co_return;
  }
}

}  // namespace

std::shared_ptr<HttpSession> StartSession(const HttpSessionHome& home, Fd fd, bool local,
                                          std::function<void()> ended) {
  Socket socket(home.context.get_executor());
  beast::error_code error;
  // The family only matters for making sockets; this one exists.
  error = socket.assign(Protocol(local ? AF_UNIX : AF_INET, 0), fd.get(), error);
  CHECK(!error);
  fd.Release();
  auto session = std::make_shared<Session>(Stream(std::move(socket)), local, home.options, home.handler);
  // The coroutine holds the session; what ended tells may let go of the server's own hold on it.
  asio::co_spawn(home.context.get_executor(), session->Run(),
                 [session, ended = std::move(ended)](const std::exception_ptr& thrown) {
                   CHECK(thrown == nullptr);
                   ended();
                 });
  return session;
}

}  // namespace duecourse
