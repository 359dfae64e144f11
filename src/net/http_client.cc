#include "net/http_client.h"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/mutex.h"
#include "base/text.h"
#include "net/http_transfer.h"

namespace duecourse {
struct HttpClient::Impl {
  explicit Impl(const HttpClientOptions& o) : options(o) {}

  // The library and its thread are loaded at the first call: a daemon that calls nobody keeps two megabytes
  // less.
  void Run();
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
  CURLM* multi = nullptr;  // set once, by the thread, under the lock
  std::thread thread;
  std::map<uint64_t, std::unique_ptr<Transfer>> running;  // the thread's own

  Mutex mutex;
  uint64_t next_id GUARDED_BY(mutex) = 1;
  bool stopping GUARDED_BY(mutex) = false;
  std::vector<std::unique_ptr<Transfer>> to_begin GUARDED_BY(mutex);
  std::vector<uint64_t> to_cancel GUARDED_BY(mutex);
  CondVar wanted;  // until there is a multi handle to wake
  void Wake() REQUIRES(mutex);
};

void HttpClient::Impl::Wake() {
  if (multi != nullptr) {
    curl_multi_wakeup(multi);
  } else {
    wanted.NotifyOne();
  }
}

void HttpClient::Impl::Open() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_ALL);
  CHECK(initialised == CURLE_OK);
  multi = curl_multi_init();
  CHECK(multi != nullptr);
  curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(options.max_connections));
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, 32L);  // kept open
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
}

// The thread is there from the start: where the machine has no more of them, the first call is too late to
// find out. The library it needs is large and is loaded by the first call.
HttpClient::HttpClient(const HttpClientOptions& options) : impl_(std::make_unique<Impl>(options)) {
  impl_->thread = std::thread([impl = impl_.get()] { impl->Run(); });
}

HttpClient::~HttpClient() {
  {
    MutexLock lock(impl_->mutex);
    impl_->stopping = true;
    impl_->Wake();
  }
  impl_->thread.join();
  if (impl_->multi != nullptr) curl_multi_cleanup(impl_->multi);
}

uint64_t HttpClient::Start(HttpClientCall call, Done done) {
  auto transfer = std::make_unique<Transfer>();
  transfer->intake = HttpIntake(call.max_response_bytes, call.max_read_bytes);
  transfer->call = std::move(call);
  transfer->done = std::move(done);
  transfer->started_us = MonotonicMicros();
  MutexLock lock(impl_->mutex);
  const uint64_t id = impl_->next_id++;
  transfer->id = id;
  impl_->to_begin.push_back(std::move(transfer));
  impl_->Wake();
  return id;
}

void HttpClient::Cancel(uint64_t id) {
  MutexLock lock(impl_->mutex);
  impl_->to_cancel.push_back(id);
  impl_->Wake();
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

void HttpClient::Impl::Run() {
  {
    MutexLock lock(mutex);
    while (!stopping && to_begin.empty()) wanted.Wait(mutex);
    if (to_begin.empty()) return;
    Open();
  }
  Loop();
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
