// The daemon: threads and sinks around the engine. One thread steps the engine
// and nothing else; the store, executors, probes and channels have their own and
// post what happened to one queue. Construct, Start, then Drain and Wait.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/queue.h"
#include "base/wall_guard.h"
#include "web/backend.h"
#include "web/prune_pace.h"
#include "web/store_thread.h"

namespace duecourse {

struct DaemonOptions {
  LoadRequest rules;        // read again at each reload
  std::string data_folder;  // absolute
  bool init = false;        // serve --init
  bool confirm = false;     // serve --confirm: far fewer tasks than the store's active version are meant
  double clock_rate = 1.0;  // seconds of `clock` in a real one, where a test runs it faster
};

class Daemon : public Backend {
 public:
  // Clock and log must outlive it. `rules` has passed the checks.
  Daemon(DaemonOptions options, std::shared_ptr<const RuleSet> rules, const Clock& clock, Log& log);
  ~Daemon() override;

  // Opens the store and starts every thread. The error is for the person on call; nothing runs then.
  Status Start();
  // SIGTERM: no new plans or claims; running attempts finish within drain_timeout, then they are ended.
  void Drain();
  // Until the drain is over and everything is stored. False where the store took nothing and what waited for
  // it had to be given up; the log says what.
  bool Wait();
  // Text for the start: the rules' zones, the host's zone and UTC side by side, and what --init means.
  const std::vector<std::string>& start_notes() const { return start_notes_; }

  void Ask(Request request, std::function<void(Answer)> reply) override;
  void Reload(ReloadOrder order, std::function<void(Answer)> reply) override;
  void TestAlert(TestOrder order, std::function<void(Answer)> reply) override;
  Result<std::unique_ptr<StoreReader>> NewReader() override;
  std::string WaitsFor(const AttemptRef& ref) override { return executor_->WaitsFor(ref); }
  Health health() override;
  Engine::Figures figures() override;
  std::shared_ptr<const RuleSet> rules() override;
  const std::string& data_folder() const override { return options_.data_folder; }
  const std::string& node() const override { return node_; }
  Instant now() const override { return clock_.Wall(); }

 private:
  struct Resync {
    Snapshot snapshot;
    uint64_t epoch = 0;
    std::optional<OpenReply> reopened;
  };
  using Input = std::variant<Event, Resync>;
  struct Waiting {
    std::function<void(Answer)> reply;
    int64_t asked_ms = 0;  // monotonic, real
    bool act = false;      // it changes the store
  };

  Result<OpenReply> OpenStore(Store& store, bool init);
  void StartWorkers();
  void StartNotes(const OpenReply& opened);
  void EngineLoop(OpenReply opened, Snapshot snapshot,
                  std::vector<std::pair<std::string, std::string>> texts);
  void StepOnce(std::vector<Input> inputs);
  size_t live_attempts();
  void LookAtClock();
  void Prune();
  void Apply(std::vector<Effect> effects);
  void ApplyOne(Effect effect);
  void Answered(const Answer& answer);
  void TellRefused(const std::string& what, const std::vector<Finding>& errors);
  void ReadRules(ReloadOrder order, uint64_t request_id);
  std::function<void()> OfferRules(const ReloadOrder& order, uint64_t request_id);
  uint64_t Remember(std::function<void(Answer)> reply, bool act);
  Status CheckTaskCount(const RuleSet& set) const;
  std::optional<Answer> NotNow();
  void AnswerLate();
  bool GivesUp();
  std::string ClockWarning() const;
  void Audit(AuditRow row);
  void Post(Event event) { inputs_.Push(Input(std::move(event))); }

  DaemonOptions options_;
  WallGuard guard_;
  const Clock& clock_ = guard_;  // what everything here tells the time by
  Log& log_;
  std::string node_;
  std::string incarnation_;
  std::string boot_id_;
  std::vector<std::string> start_notes_;
  Mutex mutex_;
  std::shared_ptr<const RuleSet> rules_ GUARDED_BY(mutex_);
  std::map<uint64_t, Waiting> waiting_ GUARDED_BY(mutex_);
  std::set<std::string> live_ GUARDED_BY(mutex_);  // runs with an attempt under way here
  Instant stops_by_ GUARDED_BY(mutex_) = kNever;
  std::map<std::string, uint64_t> tests_ GUARDED_BY(mutex_);  // alert id of a test -> request
  uint64_t next_request_ GUARDED_BY(mutex_) = 1;
  Engine::Figures figures_ GUARDED_BY(mutex_);
  Queue<Input> inputs_;
  std::unique_ptr<Engine> engine_;  // engine's thread only, after Start
  std::unique_ptr<StoreThread> store_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Prober> prober_;
  std::unique_ptr<AlertSender> sender_;
  uint64_t epoch_ = 0;  // engine's thread only
  std::string store_id_;
  int64_t figures_at_ms_ = 0;             // engine's thread only
  std::atomic<int64_t> last_step_ms_{0};  // monotonic, real
  std::optional<OpenReply> reopened_;  // store's thread only: not yet told to the engine
  std::atomic<bool> draining_{false};
  std::atomic<bool> drained_{false};
  Instant stop_at_ = kNever;        // engine's thread only
  int64_t give_up_ms_ = 0;          // monotonic, real; 0: not stopping yet. Engine's thread only
  Instant found_alive_ = kLongAgo;  // when a daemon was last at work here, before this one; set by Start
  PrunePace prune_pace_;
  std::thread thread_;
  Mutex reload_mutex_;
  std::thread reload_thread_ GUARDED_BY(reload_mutex_);
  bool reloading_ GUARDED_BY(reload_mutex_) = false;  // that thread reads
  // Asked for by a signal, which nobody can be told to send again, while another was being read.
  std::optional<std::pair<ReloadOrder, uint64_t>> next_reload_ GUARDED_BY(reload_mutex_);
};

// Checks that serve and reload make beyond reading: errors of lint and keys of later issues refuse the set.
std::vector<Finding> CheckForServe(const Loaded& loaded, Instant now);
// Every rule file and the settings, as text, to be kept with a version.
std::vector<std::pair<std::string, std::string>> TextsOf(const RuleSet& rules);

}  // namespace duecourse
