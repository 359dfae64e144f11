// What the API needs of the daemon behind it. Every method may be called from
// any thread and returns at once; answers come through the callbacks, on some
// other thread, exactly once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace duecourse {

struct TestOrder {
  std::string by;
  std::string reason;
  std::string owner;
  AlertLevel level = AlertLevel::kP2;
};

struct ReloadOrder {
  std::string by;
  std::string reason;
  bool confirm = false;
  bool dry_run = false;
  bool waits = false;  // for another that is being read; else it is refused
};

struct Health {
  bool healthy = false;
  std::string problem;            // why not, for people
  int64_t step_age_ms = 0;        // since the engine's last step, or since it was last idle by intent
  int64_t store_refusing_ms = 0;  // since the store took nothing; 0: it takes
  bool draining = false;
  std::string store_problem;           // why the store takes nothing and since when; empty while it does
  std::vector<std::string> warnings;   // nothing is ill, but somebody should know
  std::vector<std::string> waits_for;  // while draining: runs whose attempts are still under way
  Instant stops_by = kNever;           // while draining: when those are ended
};
// Bounds of `healthy`: the last step at most this old, the store refusing at most that long.
inline constexpr int64_t kStepAgeMax = 10'000;
inline constexpr int64_t kStoreRefusingMax = 30'000;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual void Ask(Request request, std::function<void(Answer)> reply) = 0;
  // One at a time: while rules are being read another is refused at once.
  virtual void Reload(ReloadOrder order, std::function<void(Answer)> reply) = 0;
  // Sends a test alert to the owner's channels for that level; the answer says which channel took it.
  virtual void TestAlert(TestOrder order, std::function<void(Answer)> reply) = 0;
  virtual Result<std::unique_ptr<StoreReader>> NewReader() = 0;
  // What an attempt that is claimed still waits for: "one of the 4 command slots"; empty where it has begun.
  virtual std::string WaitsFor(const AttemptRef& ref) = 0;
  virtual Health health() = 0;
  virtual Engine::Figures figures() = 0;
  virtual std::shared_ptr<const RuleSet> rules() = 0;
  virtual const std::string& data_folder() const = 0;
  virtual const std::string& node() const = 0;
  virtual Instant now() const = 0;
};

}  // namespace duecourse
