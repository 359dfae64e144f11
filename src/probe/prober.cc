// Starts looks, shares them, and tells everybody who waits. One look at a time for one thing: while it is
// under way the same question joins it, and while a look that was given up still hangs, the same question is
// answered at once with that.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/text.h"
#include "probe/command.h"
#include "probe/file.h"
#include "probe/http.h"
#include "probe/probe.h"
#include "probe/workers.h"

namespace duecourse {
namespace {

using Answer = PreconditionFact::Answer;

// Threads that looks at files may hold at most, those on dead mounts included.
constexpr int kFileThreadsMax = 64;
constexpr int kCommandThreads = 4;
constexpr int kCommandThreadsMax = 32;
// A command's own deadline comes first; this much later its thread is given up.
constexpr Millis kCommandGrace = Seconds(5);
// Under a fast clock a timeout shrinks to no less than this.
constexpr Millis kLeastTimeout{50};

// What decides the answer beside the engine's share key.
std::string KeyOf(const ProbeRequest& request) {
  const Precondition& condition = *request.condition;
  std::string key = StrCat(request.share_key, "\x1f", static_cast<int>(condition.type),
                           condition.file.must_exist ? "+" : "-");
  if (condition.type != Precondition::Type::kHttp) return key;
  for (int status : condition.http.expect.status) key += StrCat("\x1f", status);
  const auto add = [&key](const SecretRef& secret) {
    key += StrCat("\x1f", secret.env, "\x1e", secret.file);
  };
  for (const auto& [name, value] : condition.http.headers) {
    if (value.secret.has_value()) add(*value.secret);
  }
  if (condition.http.body.has_value() && condition.http.body->secret.has_value())
    add(*condition.http.body->secret);
  return key;
}

class SharingProber : public Prober {
 public:
  SharingProber(ProbeOptions options, const Clock& clock, ProbeSink sink)
      : options_(std::move(options)),
        clock_(clock),
        sink_(std::move(sink)),
        guard_(AddressGuard::Parse(options_.http_allow)),
        steady_(std::make_shared<SteadyFiles>()),
        cancel_(std::make_shared<Fd>(::eventfd(0, EFD_CLOEXEC))),
        files_(options_.threads, std::max(options_.threads, kFileThreadsMax)),
        commands_(kCommandThreads, kCommandThreadsMax) {
    CHECK(cancel_->valid());
    if (!guard_.ok()) return;
    HttpClientOptions client;
    client.guard = std::make_shared<const AddressGuard>(*guard_);
    http_ = std::make_unique<HttpClient>(client);
  }

  ~SharingProber() override {
    {
      MutexLock lock(mutex_);
      closing_ = true;
    }
    const uint64_t one = 1;
    CHECK(::write(cancel_->get(), &one, sizeof one) == static_cast<ssize_t>(sizeof one));
    http_.reset();  // ends the calls under way; what they answer now is told to nobody
  }

  void Start(ProbeRequest request) override {
    CHECK(request.condition != nullptr);
    const std::string key = KeyOf(request);
    std::optional<ProbeAnswer> hanging;
    {
      MutexLock lock(mutex_);
      if (closing_) return;
      auto [flight, fresh] = flights_.try_emplace(key);
      if (!fresh && !flight->second.answered) {
        flight->second.tickets.push_back(request.ticket);
        return;
      }
      if (fresh) {
        flight->second.tickets.push_back(request.ticket);
        flight->second.began = clock_.Wall();
      } else {
        hanging = StillHanging(request, flight->second.began);
      }
    }
    if (hanging.has_value()) {
      // On a thread of ours, for the caller must not be called back while it calls.
      files_.Submit({[](const std::atomic<bool>&) {}, [this, answer = *hanging](LookEnd) { sink_(answer); },
                     nullptr, Real(request.timeout)});
      return;
    }
    Dispatch(std::make_shared<const ProbeRequest>(std::move(request)), key);
  }

 private:
  struct Flight {
    std::vector<uint64_t> tickets;
    Instant began;
    bool answered = false;  // it timed out, and its thread has not come back
  };
  using Shared = std::shared_ptr<const ProbeRequest>;  // by the look, its end and the call that may follow

  Millis Real(Millis timeout) const {
    if (options_.rate == 1.0) return timeout;
    const auto real = static_cast<int64_t>(static_cast<double>(timeout.count) / options_.rate);
    return std::max(Millis{real}, kLeastTimeout);
  }

  static Zone ZoneOf(const ProbeRequest& request) {
    return request.rule != nullptr ? request.rule->trigger.schedule.zone : Zone::Utc();
  }

  ProbeAnswer StillHanging(const ProbeRequest& request, Instant began) const {
    return {request.ticket, Answer::kCheckFailed, "timed_out",
            StrCat("the check begun at ", FormatLocal(began, ZoneOf(request)), " still hangs"),
            clock_.Wall()};
  }

  void Dispatch(const Shared& request, const std::string& key) {
    switch (request->condition->type) {
      case Precondition::Type::kFile:
        return StartFile(request, key);
      case Precondition::Type::kHttp:
        return HasSecret(request->condition->http)
                   ? StartSecretHttp(request, key)
                   : StartHttp(request, key, MakeCall(*request, Real(request->timeout)));
      case Precondition::Type::kCommand:
        return StartCommand(request, key);
      case Precondition::Type::kFlag:
      case Precondition::Type::kTask:
        break;
    }
    CHECK(request->condition->type == Precondition::Type::kFile);  // flags and tasks are known to the engine
  }

  void StartFile(const Shared& request, const std::string& key) {
    const FileCondition& file = request->condition->file;
    FileCheck check;
    check.path = request->path;
    check.name = ShortName(request->path, request->folder);
    check.folder = request->folder;
    check.must_exist = file.must_exist;
    check.min_rows = file.min_rows;
    check.min_bytes = file.min_bytes;
    check.first_line = request->first_line;
    check.checksum = request->checksum;
    check.modified_after = request->modified_after;
    check.stable_for = file.stable_for;
    check.bounds.roots = options_.file_roots;
    for (const std::string& home : {options_.settings_folder, request->folder}) {
      if (!home.empty()) check.bounds.homes.push_back(home);
    }
    check.zone = ZoneOf(*request);
    check.time = {clock_.Wall(), MonotonicMicros(), options_.rate};
    check.progress = std::make_shared<std::atomic<int64_t>>(0);
    auto found = std::make_shared<Observation>();
    Look look;
    look.timeout = Real(request->timeout);
    look.look = [check, found, steady = steady_](const std::atomic<bool>& cancelled) {
      *found = CheckFile(check, *steady, cancelled);
    };
    look.end = [this, key, found, request, name = check.name, progress = check.progress](LookEnd end) {
      if (end == LookEnd::kDone) return EndLook(key, end, *found);
      const int64_t read = *progress;
      EndLook(key, end, read > 0 ? TooSlow(*request, name, read) : NoAnswer(*request, end, files_, name));
    };
    look.back = [this, key] { Release(key); };
    files_.Submit(std::move(look));
  }

  void StartCommand(const Shared& request, const std::string& key) {
    const CommandCheck check = {request->argv, request->folder, request->timeout, Real(request->timeout),
                                options_.store_id};
    auto found = std::make_shared<Observation>();
    Look look;
    look.timeout = check.real_timeout + kCommandGrace;
    look.look = [check, found, cancel = cancel_](const std::atomic<bool>&) {
      *found = CheckCommand(check, cancel->get());
    };
    look.end = [this, key, found, request](LookEnd end) {
      const std::string name = request->argv.empty() ? "" : Quote(request->argv[0]);
      EndLook(key, end, end == LookEnd::kDone ? *found : NoAnswer(*request, end, commands_, name));
    };
    look.back = [this, key] { Release(key); };
    commands_.Submit(std::move(look));
  }

  // Secrets may lie on a mount that hangs, so they are read where that does no harm.
  void StartSecretHttp(const Shared& request, const std::string& key) {
    const Millis timeout = Real(request->timeout);
    const int64_t begun_us = MonotonicMicros();
    auto made = std::make_shared<std::optional<Result<HttpClientCall>>>();
    Look look;
    look.timeout = timeout;
    look.look = [request, made, timeout](const std::atomic<bool>&) {
      made->emplace(MakeCall(*request, timeout));
    };
    look.end = [this, key, request, made, timeout, begun_us](LookEnd end) {
      if (end != LookEnd::kDone) return EndLook(key, end, NoAnswer(*request, end, files_, "its secret"));
      Result<HttpClientCall>& call = **made;
      const Millis spent{(MonotonicMicros() - begun_us) / 1000};
      if (call.ok()) call.value().timeout = std::max(timeout - spent, Millis{1});
      StartHttp(request, key, std::move(call));
    };
    look.back = [this, key] { Release(key); };
    files_.Submit(std::move(look));
  }

  void StartHttp(const Shared& request, const std::string& key, Result<HttpClientCall> call) {
    if (!guard_.ok() || !call.ok()) {
      const Error error = guard_.ok() ? call.error() : guard_.error();
      const Observation fault = {Answer::kCheckFailed, guard_.ok() ? "secret" : "forbidden",
                                 Shown(error.message(), 2 * kQuoteMax)};
      files_.Submit({[](const std::atomic<bool>&) {},
                     [this, key, fault](LookEnd) { EndLook(key, LookEnd::kDone, fault); }, nullptr,
                     Real(request->timeout)});
      return;
    }
    MutexLock lock(mutex_);
    if (closing_) return;
    http_->Start(std::move(call).value(), [this, key, request](const HttpResult& result) {
      EndLook(key, LookEnd::kDone, JudgeAnswer(request->condition->http.expect, result, request->timeout));
    });
  }

  static Observation NoAnswer(const ProbeRequest& request, LookEnd end, const Workers& workers,
                              const std::string& name) {
    const std::string after = FormatMillis(request.timeout);
    if (end == LookEnd::kNoThread) {
      return {Answer::kCheckFailed, "timed_out",
              StrCat("check could not begin within ", after, ": the threads for it are busy, ",
                     workers.hanging(), " of them with checks that hang")};
    }
    return {Answer::kCheckFailed, "timed_out",
            StrCat("check timed out after ", after, ": ", name, " does not answer (a dead mount?)")};
  }

  // Not dead, only large or slow.
  static Observation TooSlow(const ProbeRequest& request, const std::string& name, int64_t bytes_read) {
    return {Answer::kCheckFailed, "timed_out",
            StrCat("check timed out after ", FormatMillis(request.timeout), ": ", name,
                   " was still being read (", bytes_read, " bytes so far); a longer timeout lets it end")};
  }

  // Tells all who wait for it. A look that timed out keeps its place until its thread is back.
  void EndLook(const std::string& key, LookEnd end, const Observation& found) {
    std::vector<uint64_t> tickets;
    {
      MutexLock lock(mutex_);
      auto flight = flights_.find(key);
      if (closing_ || flight == flights_.end()) return;
      tickets.swap(flight->second.tickets);
      if (end == LookEnd::kTimedOut) {
        flight->second.answered = true;
      } else {
        flights_.erase(flight);
      }
    }
    for (uint64_t ticket : tickets) sink_({ticket, found.answer, found.code, found.text, clock_.Wall()});
  }

  void Release(const std::string& key) {
    MutexLock lock(mutex_);
    flights_.erase(key);
  }

  const ProbeOptions options_;
  const Clock& clock_;
  const ProbeSink sink_;
  const Result<AddressGuard> guard_;
  const std::shared_ptr<SteadyFiles> steady_;  // shared with looks that may outlive us
  const std::shared_ptr<Fd> cancel_;           // the same

  Mutex mutex_;
  bool closing_ GUARDED_BY(mutex_) = false;
  std::map<std::string, Flight> flights_ GUARDED_BY(mutex_);
  std::unique_ptr<HttpClient> http_;  // made under the lock; ended by the destructor without it

  Workers files_;  // last, so that they end first
  Workers commands_;
};

}  // namespace

std::unique_ptr<Prober> NewProber(ProbeOptions options, const Clock& clock, ProbeSink sink) {
  return std::make_unique<SharingProber>(std::move(options), clock, std::move(sink));
}

}  // namespace duecourse
