#include "exec/http.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "exec/capture.h"
#include "exec/failpoint.h"
#include "exec/finish.h"
#include "exec/http_answer.h"
#include "exec/launch.h"
#include "exec/output.h"
#include "exec/report.h"

namespace duecourse {

HttpRunner::HttpRunner(Options options, Pool& pool)
    : options_(options), pool_(pool), slots_(options.slots, "HTTP") {
  HttpClientOptions client;
  client.max_connections = slots_.count();
  Result<AddressGuard> guard = AddressGuard::Parse(options_.exec.http_allow);
  if (guard.ok()) {
    client.guard = std::make_shared<const AddressGuard>(std::move(guard).value());
  } else {
    guard_fault_ = guard.error().message();
    options_.log.Problem("http_allow", Json::MakeObject().Set("error", guard.error().message()));
  }
  client_ = std::make_unique<HttpClient>(client);
}

void HttpRunner::Start(StartRequest request) {
  {
    MutexLock lock(mutex_);
    places_[AttemptName(request.ref)];
  }
  std::optional<StartRequest> admitted = slots_.Enter(std::move(request));
  if (admitted.has_value()) PostBegin(*std::move(admitted));
}

void HttpRunner::Kill(const AttemptRef& ref, KillWhy why) {
  if (LeaveLine(ref, KillWhyText(why))) return;
  std::optional<uint64_t> call;
  {
    MutexLock lock(mutex_);
    auto found = places_.find(AttemptName(ref));
    if (found == places_.end() || found->second.kill.has_value()) return;
    found->second.kill = why;
    call = found->second.call;
  }
  if (call.has_value()) client_->Cancel(*call);
}

bool HttpRunner::Withdraw(const AttemptRef& ref, const std::string& why) {
  if (LeaveLine(ref, why)) return true;
  MutexLock lock(mutex_);
  auto found = places_.find(AttemptName(ref));
  if (found == places_.end()) return false;
  found->second.withdrawn = why;  // once it is sent nobody reads this
  return true;
}

bool HttpRunner::LeaveLine(const AttemptRef& ref, const std::string& why) {
  std::optional<Ending> ending = slots_.Withdraw(ref, why);
  if (!ending.has_value()) return false;
  {
    MutexLock lock(mutex_);
    places_.erase(AttemptName(ref));
  }
  // Not from here: whoever asks may hold what the sink needs.
  pool_.PostEnding(MakeJob(
      [this, ref, ending = *std::move(ending)]() mutable { options_.sink.ended(ref, std::move(ending)); }));
  return true;
}

void HttpRunner::PostBegin(StartRequest request) {
  pool_.Post(MakeJob([this, request = std::move(request)]() mutable { Begin(std::move(request)); }));
}

void HttpRunner::Begin(StartRequest request) {
  const AttemptRef ref = request.ref;
  std::string stopped;
  {
    MutexLock lock(mutex_);
    auto place = places_.find(AttemptName(ref));
    if (place == places_.end()) return;  // ended already
    stopped = place->second.kill.has_value() ? KillWhyText(*place->second.kill) : place->second.withdrawn;
  }
  if (!stopped.empty()) return End(ref, NotStartedEnding(StrCat(stopped, " before it was sent")));
  if (!guard_fault_.empty()) return End(ref, ConfigurationEnding("http_allow", guard_fault_));
  request.BeginsAt(options_.clock.Wall());
  Result<HttpClientCall> call = BuildCall(request, options_.exec.store_id);
  if (!call.ok()) return End(ref, ConfigurationEnding("request_unusable", Redact(call.error().message())));
  call->max_response_bytes = kHttpAnswerMaxBytes;
  call->max_read_bytes = kHttpAnswerReadMaxBytes;
  const double rate = options_.exec.clock_rate;
  call->timeout.count =
      std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(request.timeout.count) / rate));
  call->connect_timeout = std::min(call->connect_timeout, call->timeout);
  Failpoint("exec.before_marker");
  Status marked = options_.journal.Start(ref, "");
  if (!marked.ok()) return End(ref, NotStartedEnding(marked.error().message()));
  Failpoint("exec.after_marker");
  options_.sink.started(ref, StrCat(request.method, " ", HostOfUrl(request.url)));
  // Shared with the callback, which the client must be able to copy; never changed.
  Send(std::make_shared<const StartRequest>(std::move(request)), std::move(call).value());
}

void HttpRunner::Send(std::shared_ptr<const StartRequest> request, HttpClientCall call) {
  const AttemptRef ref = request->ref;
  const uint64_t id = client_->Start(std::move(call), [this, request](HttpResult result) {
    pool_.PostEnding(MakeJob([this, request, result = std::move(result)] { Finish(*request, result); }));
  });
  Failpoint("exec.after_spawn");
  bool killed = false;
  {
    MutexLock lock(mutex_);
    auto found = places_.find(AttemptName(ref));
    if (found == places_.end()) return;  // ended already
    found->second.call = id;
    killed = found->second.kill.has_value();
  }
  if (killed) client_->Cancel(id);
}

void HttpRunner::Finish(const StartRequest& request, const HttpResult& result) {
  std::optional<KillWhy> kill;
  {
    MutexLock lock(mutex_);
    auto place = places_.find(AttemptName(request.ref));
    if (place == places_.end()) return;
    kill = place->second.kill;
  }
  if (result.error == HttpError::kCancelled && !kill.has_value()) return;  // the executor itself ends
  Ending ending = EndingOfAnswer({request, result, kill, options_.clock.Wall()});
  const ExecutionRule& rule = request.rule->execution;
  Capture body(rule.output_max), nothing(0);
  body.Add(result.body);
  if (ending.kind == Ending::Kind::kHttp) {
    ending.detail.Set("output", Json::MakeObject().Set("out", CaptureFacts(body)));
    ending.detail.Set("traceparent", TraceParent(request.ref, options_.exec.store_id));
  }
  Status stored = StoreOutput({options_.exec.data_folder, request.ref.run_id, request.ref.attempt, body,
                               nothing, options_.clock.Wall() + rule.output_keep});
  if (!stored.ok()) AddNote(ending, StrCat("output was not kept: ", stored.error().message()));
  Failpoint("exec.before_end");
  End(request.ref, std::move(ending));
}

void HttpRunner::End(const AttemptRef& ref, Ending ending) {
  {
    MutexLock lock(mutex_);
    places_.erase(AttemptName(ref));
  }
  std::optional<StartRequest> next = slots_.Leave();
  if (next.has_value()) PostBegin(*std::move(next));
  options_.sink.ended(ref, std::move(ending));
}

}  // namespace duecourse
