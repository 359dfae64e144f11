// HTTP agents, from Start to their Ending: hundreds of calls in flight on the
// client's one thread. A start marker is written before a call can leave, as for
// a command: an attempt without one certainly sent nothing.
//
// Any thread may call; nothing blocks. The sink is called from the pool.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "exec/exec.h"
#include "exec/journal.h"
#include "exec/pool.h"
#include "exec/slots.h"
#include "net/http_client.h"

namespace duecourse {

inline constexpr size_t kHttpAnswerMaxBytes = 1u << 20;  // of an answer's body that are looked at
// A longer body is waited for to its end, for only then is the answer whole; beyond this it is broken.
inline constexpr size_t kHttpAnswerReadMaxBytes = 64u << 20;

class HttpRunner {
 public:
  struct Options {
    const ExecOptions& exec;
    const ExecSink& sink;
    const Clock& clock;
    Log& log;
    StartJournal& journal;
    int slots = 1;
  };
  HttpRunner(Options options, Pool& pool);
  void Start(StartRequest request);
  void Kill(const AttemptRef& ref, KillWhy why);
  bool Withdraw(const AttemptRef& ref, const std::string& why);  // false where it is not here
  std::string WaitsFor(const AttemptRef& ref) { return slots_.WaitsFor(ref); }
  // Calls under way are let go, unreported. After the pool's stop.
  void Stop() { client_.reset(); }

 private:
  struct Place {
    std::optional<uint64_t> call;  // the client's id
    std::optional<KillWhy> kill;
    std::string withdrawn;  // why, where that was asked for while it had a slot and was not sent
  };

  bool LeaveLine(const AttemptRef& ref, const std::string& why);
  void PostBegin(StartRequest request);
  void Begin(StartRequest request);
  void Send(std::shared_ptr<const StartRequest> request, HttpClientCall call);
  void Finish(const StartRequest& request, const HttpResult& result);
  void End(const AttemptRef& ref, Ending ending);

  const Options options_;
  Pool& pool_;
  Slots slots_;
  std::string guard_fault_;  // what is wrong with http_allow: then nothing is called
  std::unique_ptr<HttpClient> client_;
  Mutex mutex_;
  std::unordered_map<std::string, Place> places_ GUARDED_BY(mutex_);  // of all that have not ended, by name
};

}  // namespace duecourse
