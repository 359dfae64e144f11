// Executors do the work: commands, HTTP agents, noop. The daemon's engine asks
// for a start after the claim is durable and hears of the end as an Ending that
// nobody has classified yet. Start never blocks; a hundred hanging attempts cost
// a hundred descriptors and no thread.
//
// The start marker: before exec a file is written that names the attempt and the
// boot; afterwards the process's id and start time are added. It is not synced,
// for it is believed only within one boot. After a daemon died, Inspect tells
// from it whether an attempt certainly never started, and ends what still lives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "decide/facts.h"

namespace duecourse {

struct AttemptRef {
  std::string run_id;
  int64_t fence = 0;
  int attempt = 0;
  friend bool operator==(const AttemptRef&, const AttemptRef&) = default;
};

// Rendered for one attempt; holds no template.
struct StartRequest {
  AttemptRef ref;
  std::string task;
  std::string key;
  std::shared_ptr<const RuleBody> rule;
  std::vector<std::string> argv;                         // kCommand; for kShell {"/bin/sh","-c",text}
  std::vector<std::pair<std::string, std::string>> env;  // the rule's `env`, literal values
  std::vector<std::pair<std::string, SecretRef>>
      secret_env;                 // resolved by the executor just before the start
  std::string cwd;                // absolute; empty: the task's own private folder, tasks/<task>
  std::string folder;             // of the rule file: secret files are relative to it
  std::string method, url, body;  // kHttp
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::pair<std::string, SecretRef>> secret_headers;
  std::optional<SecretRef> secret_body;
  Millis timeout = Minutes(30);
  // DUECOURSE_* variables, in order (TASK RUN_ID ATTEMPT ATTEMPTS_MAX SCHEDULED_AT SCHEDULED_LOCAL
  // BUSINESS_DATE KEY FENCE TRIGGER DEADLINE TIMEZONE…); HTTP agents get the same as JSON in the body's place
  // where none is written, and as headers.
  std::vector<std::pair<std::string, std::string>> context;

  // DEADLINE again, for an attempt that begins now: it may have waited for a slot.
  void BeginsAt(Instant now);
};

// How an unfinished attempt of a former daemon stands.
struct Inspection {
  AttemptRef ref;
  enum class Found {
    kNotStarted,
    kGone,
    kAlive
  };  // kAlive: still there after KILL (a process in the kernel's hands)
  Found found = Found::kGone;
  std::string text;  // "ended process 4711 and 2 children"
};

struct ExecSink {
  std::function<void(const AttemptRef&, const std::string& process)> started;  // "pid 4711"
  std::function<void(AttemptRef, Ending)> ended;                 // exactly once for each Start
  std::function<void(Inspection)> inspected;
};

enum class KillWhy { kTimeout, kCancelled, kLeaseLost, kWindowEnd, kShutdown };

class Executor {
 public:
  virtual ~Executor() = default;
  virtual void Start(StartRequest request) = 0;
  // TERM, the rule's grace, KILL to the group; an HTTP request is dropped. The end is reported as usual.
  virtual void Kill(const AttemptRef& ref, KillWhy why) = 0;
  // Where it has not begun (it waits for a slot, or for room on the machine) it does not, and ends as not
  // started, `why` a clause that says so; else nothing happens.
  virtual void Withdraw(const AttemptRef& ref, const std::string& why) = 0;
  // "one of the 4 command slots" while it waits for one; empty where it has begun, has ended or is unknown.
  virtual std::string WaitsFor(const AttemptRef& ref) = 0;
  // For an unfinished attempt found in the store at start. `same_boot`: its boot id is ours.
  virtual void Inspect(const AttemptRef& ref, bool same_boot) = 0;
  // An attempt whose ending is stored: its marker may go.
  virtual void Forget(const AttemptRef& ref) = 0;
};

struct ExecOptions {
  std::string data_folder;  // absolute; attempts/ (markers), tasks/ (private folders) and output/ are below it
  std::string store_id;     // given to children, so that orphans are found by environment too
  std::vector<std::string> http_allow;
  // 0: one more than there are cores. A thread that spawns sleeps until its child has begun its program; more
  // of them only keep the cores from the commands (./dev bench W5).
  int spawn_threads = 0;
  int command_slots = 256;
  int http_slots = 512;
  std::string helper_program =
      "/proc/self/exe";  // its main hands the verb __exec to ExecHelperMain (exec/helper.h)
  std::string scratch_folder =
      "/tmp";               // result files of rules with another `user`, who cannot enter data_folder
  double clock_rate = 1.0;  // seconds of `clock` in a real one, where a test runs it faster
};
std::unique_ptr<Executor> NewExecutor(ExecOptions options, const Clock& clock, Log& log, ExecSink sink);

// Captured output of an attempt, as kept on disk: head and tail with the number of bytes dropped between.
struct CapturedOutput {
  bool stored = false;  // false: it wrote nothing (its detail has the sizes), or its time was up
  std::string out;      // the bytes themselves, without a mark where some were dropped
  std::string err;
  int64_t out_bytes = 0, err_bytes = 0;  // written by the process
  int64_t out_dropped = 0, err_dropped = 0;
  int64_t out_head = 0, err_head = 0;  // where dropped bytes are missing: after so many of those kept
  std::string out_sha256, err_sha256;  // of what the process wrote
};
// Errors: something is there and cannot be read.
Result<CapturedOutput> ReadOutput(const std::string& data_folder, const std::string& run_id, int attempt);
// Removes outputs whose `output.keep` ended before the UTC day of `now`. At most kPruneMax a call; returns
// how many.
inline constexpr int kPruneMax = 1000;
int PruneOutputs(const std::string& data_folder, Instant now);

}  // namespace duecourse
