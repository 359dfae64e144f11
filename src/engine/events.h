// What goes into the engine and what comes out. The engine is a step: a batch of
// events at an instant in, effects out. Threads and sockets wrap it in the
// daemon, a queue wraps it in the simulator. Plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "alert/alert.h"
#include "exec/exec.h"
#include "probe/probe.h"
#include "store/store.h"

namespace duecourse {

// ---- what people and programs ask for
struct TriggerRequest {
  std::string task;
  std::string value;             // for_each id; must be given where the task fans out
  std::optional<CivilDay> date;  // business date
  std::optional<Instant> at;     // exact due instant
  bool extra = false;
  bool force = false;
};
struct CancelRequest {
  std::string run_id;
  std::optional<Run> stored = std::nullopt;  // the run as the store has it, for one that is over
};
struct FlagRequest {
  std::string name;
  std::optional<CivilDay> date;
  std::string value;
  std::optional<Millis> ttl;
  bool remove = false;
};
struct PauseRequest {
  std::string scope;  // "task/<id>", "label/<name>=<value>", "all"
  bool resume = false;
  bool catch_up = false;  // resume: keep the newest that waited
};
struct ManualRequest {
  enum class Verb { kClaim, kResolve, kRerun, kSkip };
  Verb verb = Verb::kClaim;
  std::string run_id;
  bool supersede = false;     // rerun of a finished run: a new key
  std::optional<Run> stored;  // the run as the store has it; supersede needs it
  bool force = false;         // rerun: also over maintenance and what is not ready
};
struct ExplainRequest {
  std::string task;
};                       // what the engine holds in memory: open runs, last answers, next due
struct TasksRequest {};  // one line a task
struct FlushRequest {};  // folded counts into the store; the reply comes when they are there
using RequestBody = std::variant<TriggerRequest, CancelRequest, FlagRequest, PauseRequest, ManualRequest,
                                 ExplainRequest, TasksRequest, FlushRequest>;
struct Request {
  uint64_t id = 0;
  std::string by;      // who asks
  std::string reason;  // why
  RequestBody body;
};

// ---- events
struct StoreReplied {  // replies of one StoreBatch, in its order
  uint64_t ticket = 0;
  std::vector<StoreReply> replies;
};
// The store does not take commits (they are kept and tried again by whoever drives it), or takes them again.
struct StoreTrouble {
  bool available = false;
  StoreFault fault;
};
// The machine's wall clock was set, by so much (zero: it is right again). Time is told by it only once it is
// believed (base/wall_guard.h); what was planned by an hour that is no more is turned back then.
struct ClockLeapt {
  Millis by;
  bool believed = false;
};
struct ProbeReplied {
  ProbeAnswer answer;
};
struct AttemptEnded {
  AttemptRef ref;
  Ending ending;
};
struct AttemptInspected {
  Inspection inspection;
};
struct AlertAnswered {
  SendResult result;
};
struct Requested {
  Request request;
};
// A new set to go live, already checked. `confirm`: a set with far fewer tasks is meant.
struct RulesOffered {
  uint64_t request_id = 0;  // 0: nobody waits
  std::shared_ptr<const RuleSet> rules;
  std::vector<std::pair<std::string, std::string>> texts;
  std::string by;
  bool confirm = false;
  bool dry_run = false;
};
struct DrainAsked {};  // SIGTERM: no new plans or claims; running attempts finish
struct StopNow {};     // the drain's time is over: end what still runs, as lost
using Event = std::variant<StoreReplied, StoreTrouble, ProbeReplied, AttemptEnded, AttemptInspected,
                           AlertAnswered, Requested, RulesOffered, DrainAsked, StopNow, ClockLeapt>;

// ---- effects
struct StoreBatch {  // committed as one, or kept and tried again until it is
  uint64_t ticket = 0;
  std::vector<StoreCall> calls;
};
struct ProbeStart {
  ProbeRequest request;
};
struct AttemptStart {
  StartRequest request;
};
struct AttemptWithdraw {  // it may not start any more; what runs goes on
  AttemptRef ref;
  std::string why;
};
struct AttemptKill {
  AttemptRef ref;
  KillWhy why = KillWhy::kTimeout;
};
struct AttemptInspect {
  AttemptRef ref;
  bool same_boot = true;
};
struct AttemptForget {
  AttemptRef ref;
};
struct AlertSend {
  AlertMessage message;
  std::vector<ChannelConfig> channels;
};
struct Answer {  // to a Request
  // kUnknown: there is nothing of the name that was given.
  enum class Kind { kFine, kProblem, kUsage, kRefused, kUnknown };
  uint64_t request_id = 0;
  Kind kind = Kind::kFine;
  std::string message;  // for people
  Json body;
};
struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string event;
  Json fields;
};
struct Drained {};  // nothing runs and nothing waits to be stored: the daemon may close
using Effect = std::variant<StoreBatch, ProbeStart, AttemptStart, AttemptWithdraw, AttemptKill,
                            AttemptInspect, AttemptForget, AlertSend, Answer, LogLine, Drained>;

}  // namespace duecourse
