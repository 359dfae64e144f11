// The sender: three threads that try channels. One of them takes P1 only, and all take P1 first, so that a P1
// waits for another P1 at the most, never for a P2 or P3 that hangs.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "alert/channel.h"
#include "alert/shown.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/text.h"

namespace duecourse {
namespace {

constexpr int kThreadsForAll = 2;
// Alerts that wait here; the store keeps the others.
constexpr size_t kWaitingMax = 10'000;

struct Order {
  AlertMessage message;
  std::vector<ChannelConfig> channels;
};

// One HTTP answer that a thread of ours waits for.
struct Awaited {
  Mutex mutex;
  CondVar arrived;
  std::optional<HttpResult> result GUARDED_BY(mutex);
};

class Sender : public AlertSender {
 public:
  Sender(const Clock& clock, std::string folder, std::string store_id, std::function<void(SendResult)> sink)
      : clock_(clock),
        folder_(std::move(folder)),
        store_id_(std::move(store_id)),
        sink_(std::move(sink)),
        cancel_(::eventfd(0, EFD_CLOEXEC)) {
    CHECK(cancel_.valid());
    // All that is needed to tell somebody is there from the start: an alert is often about a machine that has
    // no more of something.
    MutexLock lock(mutex_);
    http_ = std::make_unique<HttpClient>();
    threads_.emplace_back([this] { Work(true); });
    for (int i = 0; i < kThreadsForAll; ++i) threads_.emplace_back([this] { Work(false); });
  }

  ~Sender() override {
    std::vector<std::thread> threads;
    {
      MutexLock lock(mutex_);
      closing_ = true;
      for (uint64_t id : calls_) http_->Cancel(id);
      threads.swap(threads_);
    }
    const uint64_t one = 1;
    CHECK(::write(cancel_.get(), &one, sizeof one) == static_cast<ssize_t>(sizeof one));
    work_.NotifyAll();
    for (std::thread& thread : threads) thread.join();
  }

  void Send(AlertMessage message, std::vector<ChannelConfig> channels) override {
    MutexLock lock(mutex_);
    if (closing_) return;
    if (urgent_.size() + others_.size() >= kWaitingMax) {
      refused_.push_back(std::move(message.id));
    } else {
      std::deque<Order>& queue = message.level == AlertLevelName(AlertLevel::kP1) ? urgent_ : others_;
      queue.push_back({std::move(message), std::move(channels)});
    }
    work_.NotifyAll();
  }

 private:
  void Work(bool urgent_only) {
    while (true) {
      std::optional<Order> order;
      SendResult result;
      {
        MutexLock lock(mutex_);
        while (!closing_ && urgent_.empty() && (urgent_only || (others_.empty() && refused_.empty()))) {
          work_.Wait(mutex_);
        }
        if (closing_) return;
        if (!urgent_.empty()) {
          order = TakeFrom(urgent_);
        } else if (!refused_.empty()) {
          result.id = std::move(refused_.front());
          refused_.pop_front();
          result.error = "too many alerts are waiting to be sent";
        } else {
          order = TakeFrom(others_);
        }
      }
      if (order.has_value()) result = Try(*order);
      // What the end of the daemon cut short is no answer of a channel.
      if (Closing() && !result.taken) return;
      sink_(std::move(result));
    }
  }

  bool Closing() {
    MutexLock lock(mutex_);
    return closing_;
  }

  static Order TakeFrom(std::deque<Order>& queue) {
    Order order = std::move(queue.front());
    queue.pop_front();
    return order;
  }

  SendResult Try(const Order& order) {
    SendResult result;
    result.id = order.message.id;
    AlertMessage message = order.message;
    message.json = Redact(std::move(message.json));
    message.text = Redact(std::move(message.text));
    message.title = Redact(std::move(message.title));
    std::vector<std::string> errors;
    std::optional<Millis> shortest;
    bool all_asked = true;
    for (const ChannelConfig& channel : order.channels) {
      if (Closing()) break;
      const Delivery delivery = Deliver(channel, message);
      if (delivery.taken) {
        result.taken = true;
        result.channel = channel.name;
        return result;
      }
      errors.push_back(StrCat(Shown(channel.name, kShownWord), ": ", delivery.error));
      all_asked = all_asked && delivery.retry_after.has_value();
      if (delivery.retry_after.has_value()) {
        shortest = std::min(shortest.value_or(kRetryAfterMax), *delivery.retry_after);
      }
    }
    if (errors.empty()) errors.emplace_back("no channel is configured for it");
    result.error = Join(errors, "; ");
    if (all_asked) result.retry_after = shortest;
    return result;
  }

  Delivery Deliver(const ChannelConfig& channel, const AlertMessage& message) {
    const Millis now = clock_.Monotonic();
    {
      MutexLock lock(mutex_);
      auto quiet = quiet_until_.find(channel.name);
      if (quiet != quiet_until_.end() && now < quiet->second) {
        const Millis left = quiet->second - now;
        return {false, StrCat("asked us to stay away for another ", FormatMillis(left)), left};
      }
      if (quiet != quiet_until_.end()) quiet_until_.erase(quiet);
    }
    ChannelTools tools;
    tools.folder = folder_;
    tools.store_id = store_id_;
    tools.cancel_fd = cancel_.get();
    tools.call = [this](HttpClientCall call) { return Call(std::move(call)); };
    tools.now = clock_.Wall();
    Delivery delivery = channel.kind == ChannelConfig::Kind::kCommand
                            ? SendByCommand(channel, message, tools)
                            : SendByWebhook(channel, message, tools);
    if (delivery.retry_after.has_value()) {
      MutexLock lock(mutex_);
      quiet_until_[channel.name] = clock_.Monotonic() + *delivery.retry_after;
    }
    return delivery;
  }

  // Like HttpClient::Call, but it ends when the sender does.
  HttpResult Call(HttpClientCall call) {
    auto awaited = std::make_shared<Awaited>();  // shared with a callback that may come after we have gone
    uint64_t id = 0;
    {
      MutexLock lock(mutex_);
      if (closing_) {
        HttpResult cancelled;
        cancelled.error = HttpError::kCancelled;
        return cancelled;
      }
      id = http_->Start(std::move(call), [awaited](HttpResult result) {
        MutexLock inner(awaited->mutex);
        awaited->result = std::move(result);
        awaited->arrived.NotifyAll();
      });
      calls_.insert(id);
    }
    HttpResult result;
    {
      MutexLock lock(awaited->mutex);
      while (!awaited->result.has_value()) awaited->arrived.Wait(awaited->mutex);
      result = std::move(*awaited->result);
    }
    MutexLock lock(mutex_);
    calls_.erase(id);
    return result;
  }

  const Clock& clock_;
  const std::string folder_;
  const std::string store_id_;
  const std::function<void(SendResult)> sink_;
  const Fd cancel_;

  Mutex mutex_;
  CondVar work_;
  bool closing_ GUARDED_BY(mutex_) = false;
  std::deque<Order> urgent_ GUARDED_BY(mutex_);
  std::deque<Order> others_ GUARDED_BY(mutex_);
  std::deque<std::string> refused_ GUARDED_BY(mutex_);            // ids whose result is still to be told
  std::map<std::string, Millis> quiet_until_ GUARDED_BY(mutex_);  // channel -> monotonic
  std::unique_ptr<HttpClient> http_ GUARDED_BY(mutex_);
  std::set<uint64_t> calls_ GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<AlertSender> NewAlertSender(const Clock& clock, std::string folder, std::string store_id,
                                            std::function<void(SendResult)> sink) {
  return std::make_unique<Sender>(clock, std::move(folder), std::move(store_id), std::move(sink));
}

Millis AlertRetryDelay(int tries) {
  constexpr Millis kFirst = Seconds(5);
  constexpr Millis kLongest = Minutes(10);
  Millis delay = kFirst;
  for (int i = 1; i < tries && delay < kLongest; ++i) delay = delay + delay;
  return std::min(delay, kLongest);
}

}  // namespace duecourse
