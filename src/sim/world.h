// A made-up world around the real engine: a virtual clock, the in-memory store,
// scripted executors and probes, an alert sink, people who ask. The daemon in it
// can be stopped, killed at any store call, and started again. The same seed and
// script give the same log. One thread.
//
// Three witnesses are kept apart, for the checkers: the store's tables, the
// ledger of starts as the executors saw them, and the alerts as they were sent.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace duecourse {

class SimClock : public Clock {
 public:
  explicit SimClock(Instant start) : now_(start) {}
  Instant Wall() const override { return now_; }
  Millis Monotonic() const override { return {now_.ms}; }
  Millis Boot() const override { return {now_.ms}; }
  void Set(Instant now) { now_ = now; }

 private:
  Instant now_;
};

// How one attempt goes in the made-up world.
struct SimEnding {
  Ending ending;
  Millis after;        // from its start
  bool hangs = false;  // never ends by itself; its timeout or a kill ends it
};

// One start, as the executors' ledger has it.
struct SimStart {
  std::string task;
  std::string value;
  std::string key;
  std::string run_id;
  int attempt = 0;
  int64_t fence = 0;
  std::string trigger;
  Instant at;
  std::optional<Instant> ended;
  std::vector<std::pair<std::string, std::string>> context;
};

struct SimAlert {
  AlertMessage message;
  Instant at;
};

struct WorldScript {
  std::function<SimEnding(const StartRequest&, Instant now)> execute;  // unset: exit 0 at once
  std::function<ProbeAnswer(const ProbeRequest&, Instant now)> probe;  // unset: yes; answers at once
  std::function<bool(const AlertMessage&, Instant now)> deliver;       // unset: taken
};

class World {
 public:
  World(std::shared_ptr<const RuleSet> rules, Instant start, uint64_t seed, WorldScript script);
  ~World();

  // ---- the daemon in it
  void Start();
  void Kill();   // kill -9: what runs becomes an orphan, found and ended at the next start
  void Drain();  // SIGTERM; Stopped() once it is drained or its drain time is over
  bool up() const { return engine_ != nullptr; }
  Engine::Figures figures() const { return engine_->figures(); }  // while it is up
  void StoreAway(bool away);     // commits are refused; what is asked of the store is kept
  void Suspend(bool suspended);  // SIGSTOP: nothing is stepped, time goes on
  void Reload(std::shared_ptr<const RuleSet> rules, bool confirm, bool dry_run, uint64_t request_id);

  // ---- time
  Instant now() const { return clock_.Wall(); }
  void RunUntil(Instant until);  // everything due before or at it
  void At(Instant when, std::function<void()> act);

  // ---- people
  uint64_t Ask(Request request);  // stepped at once
  const Answer* AnswerTo(uint64_t request_id) const;

  // ---- crash at a store call: before commit number n of this world (counted from 0), or after it and before
  // its reply; the daemon is started again at the same instant.
  void CrashAt(int64_t commit, bool after_commit);
  int64_t commits() const { return commits_; }

  // ---- witnesses
  const std::vector<SimStart>& starts() const { return starts_; }
  const std::vector<SimAlert>& alerts() const { return alerts_; }
  const std::vector<std::string>& log() const { return log_; }
  StoreReader& store();
  // Hash of everything that happened, for replay checks.
  std::string TraceHash() const;

 private:
  struct Live {        // an attempt under way
    size_t start = 0;  // index into starts_
    StartRequest request;
    uint64_t generation = 0;
  };
  using RefKey = std::pair<std::string, int64_t>;

  void Post(Instant at, Event event);
  void Pump();
  void Apply(Effect effect);
  void Commit(StoreBatch batch);
  void Execute(const StartRequest& request);
  void EndAttempt(const AttemptRef& ref, Ending ending);
  void KillLive(const AttemptKill& kill);
  void Inspect(const AttemptInspect& inspect);
  void Probe(const ProbeRequest& request);
  void Deliver(const AlertSend& send);
  void Note(const std::string& line) { log_.push_back(line); }

  SimClock clock_;
  Random random_;
  WorldScript script_;
  std::shared_ptr<const RuleSet> rules_;
  std::shared_ptr<MemoryDisk> disk_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreReader> reader_;
  std::unique_ptr<Engine> engine_;
  uint64_t seed_;
  int incarnation_ = 0;
  uint64_t generation_ = 0;  // of the daemon; events posted for a former one are dropped
  struct Queued {
    uint64_t generation = 0;  // 0: the world's own act
    Event event;
    std::function<void()> act;
  };
  std::multimap<Instant, Queued> queue_;
  std::vector<Event> ready_;
  std::vector<StoreBatch> kept_;  // while the store is away
  bool store_away_ = false;
  bool suspended_ = false;
  bool drained_ = false;
  int64_t commits_ = 0;
  int64_t crash_at_ = -1;
  bool crash_after_ = false;
  uint64_t next_request_ = 1;
  std::map<uint64_t, Answer> answers_;
  std::map<RefKey, Live> live_;
  std::set<RefKey> markers_;  // of attempts that were started
  std::vector<SimStart> starts_;
  std::vector<SimAlert> alerts_;
  std::vector<std::string> log_;
};

}  // namespace duecourse
