// For tests of this room: a prober whose answers are collected, and requests built as the engine builds them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/test_folder.h"
#include "base/text.h"
#include "net/test_peer.h"
#include "probe/probe.h"

namespace duecourse {

inline const char* AnswerName(PreconditionFact::Answer answer) {
  switch (answer) {
    case PreconditionFact::Answer::kUnknown:
      return "unknown";
    case PreconditionFact::Answer::kYes:
      return "yes";
    case PreconditionFact::Answer::kNo:
      return "no";
    case PreconditionFact::Answer::kInvalid:
      return "invalid";
    case PreconditionFact::Answer::kCheckFailed:
      return "failed";
  }
  return "?";
}

class Answers {
 public:
  ProbeSink Sink() {
    return [this](ProbeAnswer answer) {
      MutexLock lock(mutex_);
      answers_.push_back(std::move(answer));
      arrived_.NotifyAll();
    };
  }
  // All answers once there are n; fewer where they did not come within half a minute.
  std::vector<ProbeAnswer> Await(size_t n) {
    constexpr int64_t kPatienceMs = 30'000;
    MutexLock lock(mutex_);
    while (answers_.size() < n && arrived_.WaitFor(mutex_, kPatienceMs)) continue;
    return answers_;
  }
  // The answer to that ticket; one that says so where it did not come.
  ProbeAnswer AwaitTicket(uint64_t ticket) {
    constexpr int64_t kPatienceMs = 30'000;
    MutexLock lock(mutex_);
    while (true) {
      for (const ProbeAnswer& answer : answers_) {
        if (answer.ticket == ticket) return answer;
      }
      if (!arrived_.WaitFor(mutex_, kPatienceMs)) break;
    }
    return {ticket, PreconditionFact::Answer::kUnknown, "no answer came", "", {}};
  }
  uint64_t NextTicket() {
    MutexLock lock(mutex_);
    return ++tickets_;
  }
  size_t count() {
    MutexLock lock(mutex_);
    return answers_.size();
  }

 private:
  Mutex mutex_;
  CondVar arrived_;
  std::vector<ProbeAnswer> answers_ GUARDED_BY(mutex_);
  uint64_t tickets_ GUARDED_BY(mutex_) = 1'000'000;  // apart from those that tests choose themselves
};

// A request for one precondition, which its rule keeps alive.
inline ProbeRequest RequestFor(const Precondition& condition, Millis timeout = Seconds(20)) {
  auto body = std::make_shared<RuleBody>();
  body->trigger.preconditions.push_back(condition);
  ProbeRequest request;
  request.rule = body;
  request.condition = &request.rule->trigger.preconditions[0];
  request.timeout = timeout;
  return request;
}

// Asks one prober one thing.
inline ProbeAnswer Ask(Prober& prober, Answers& answers, ProbeRequest request) {
  const uint64_t ticket = answers.NextTicket();
  request.ticket = ticket;
  prober.Start(std::move(request));
  return answers.AwaitTicket(ticket);
}

// "failed timed_out"
inline std::string Brief(const ProbeAnswer& answer) {
  return StrCat(AnswerName(answer.answer), " ", answer.code);
}

inline constexpr Millis kFast{300};

inline std::string Http(int status, const std::string& body, const std::string& headers = "") {
  return StrCat("HTTP/1.1 ", status, " x\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n",
                headers, "\r\n", body);
}

// A server that accepts and says nothing more.
inline void Hold(RawPeer& peer, const RawServer& server) {
  while (server.Holding(peer)) continue;
}

class ProberTest : public testing::Test {
 protected:
  Prober& prober() {
    if (prober_ == nullptr) prober_ = NewProber(options_, clock_, answers_.Sink());
    return *prober_;
  }
  ProbeAnswer Get(const Precondition& condition, const std::string& url, Millis timeout = Seconds(20)) {
    ProbeRequest request = RequestFor(condition, timeout);
    request.url = url;
    request.folder = folder_;
    request.share_key = url;
    return Ask(prober(), answers_, std::move(request));
  }
  static Precondition HttpCondition() {
    Precondition condition;
    condition.type = Precondition::Type::kHttp;
    return condition;
  }
  static Precondition UpCondition() {
    Precondition condition = HttpCondition();
    condition.http.expect.json = {{"/status", Json("UP")}};
    return condition;
  }
  ProbeRequest CommandRequest(const std::vector<std::string>& argv, Millis timeout = Seconds(20)) {
    Precondition condition;
    condition.type = Precondition::Type::kCommand;
    ProbeRequest request = RequestFor(condition, timeout);
    request.argv = argv;
    request.folder = folder_;
    request.share_key = Join(argv, "\x1f");
    return request;
  }
  ProbeRequest FileRequest(const std::string& path, Millis timeout = Seconds(20)) {
    Precondition condition;
    condition.type = Precondition::Type::kFile;
    ProbeRequest request = RequestFor(condition, timeout);
    request.path = path;
    request.folder = folder_;
    request.share_key = path;
    return request;
  }

  const TestFolder scratch_;
  const std::string& folder_ = scratch_.path();
  SystemClock clock_;
  Answers answers_;
  ProbeOptions options_;
  std::unique_ptr<Prober> prober_;
};

}  // namespace duecourse
