// The engine: gathers facts, asks decide/, carries out the answer. It has no
// clock, thread, socket or file of its own, and decides nothing itself. One
// thread drives it.
//
// Order within one instant: ends of windows; then what came due is planned (and
// supersedes); then results free their slots; then what waits is asked. Nothing
// scans all tasks: a timer queue holds one next instant for each (task, value),
// and one for each open run.
//
// A store call in flight holds its run: at most one for each run, so replies
// never cross. What is unknown after a fault is read back by Resync.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "engine/events.h"

namespace duecourse {

struct EngineOptions {
  std::string node;
  std::string incarnation;
  std::string boot_id;
  std::string host_zone;              // shown beside a rule's zone, never used
  std::string program = "duecourse";  // named in messages that say what to type
  LogLevel log_least = LogLevel::kDebug;  // lines below it are not even made
  // Takes what a long step has ready while it goes on, on the engine's thread; where it is empty all comes at
  // the end. Not to call the engine.
  std::function<void(std::vector<Effect>)> early;
};

// An occurrence found at most this long after its due instant is late, not missed.
inline constexpr Millis kLateGrace = Minutes(1);
// `reload` that loses more than this share of the tasks needs --confirm.
inline constexpr int kReloadLossPercent = 30;
// Missed occurrences still inside their windows that `missed: all` starts at the most; the rest is one range.
inline constexpr int kCatchupOccurrencesMax = 1000;

class EngineState;

class Engine {
 public:
  Engine(EngineOptions options, std::shared_ptr<const RuleSet> rules, uint64_t seed);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Once, before the first step: what the store knew, and at what instant we look. Texts are kept with a new
  // version.
  void Begin(const OpenReply& opened, const Snapshot& snapshot,
             std::vector<std::pair<std::string, std::string>> texts, Instant now,
             std::vector<Effect>& effects);
  // After a commit whose outcome nobody knows: memory is laid aside for what the store says. Attempts that
  // run go on.
  // `reopened`: what the store said when it was opened again, if it was; it may be an older copy of it.
  // `texts` of the rules, where it may not hold them.
  void Resync(const Snapshot& snapshot, const std::optional<OpenReply>& reopened,
              std::vector<std::pair<std::string, std::string>> texts, Instant now,
              std::vector<Effect>& effects);
  // `now`: the wall clock. Effects are appended, but for those that `early` takes before.
  void Step(Instant now, std::vector<Event> events, std::vector<Effect>& effects);
  // When the next step is due at the latest; kNever where nothing is planned.
  Instant NextTimer() const;

  // For metrics and health; cheap.
  struct Figures {
    size_t tasks = 0;
    size_t open_runs = 0;
    size_t running = 0;
    size_t manual = 0;
    std::array<int64_t, kRunStateCount> by_state{};
    bool draining = false;
    int64_t decisions = 0;
    int64_t started = 0;
    int64_t rule_version = 0;
    Instant next_due = kNever;
    size_t held = 0;  // entries of all tables in memory but the lanes: what must not grow with time
  };
  Figures figures() const;
  std::shared_ptr<const RuleSet> rules() const;  // the active set

 private:
  std::unique_ptr<EngineState> state_;
};

}  // namespace duecourse
