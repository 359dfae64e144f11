#include "web/daemon.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/child.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/failpoint.h"
#include "rule/lint.h"
#include "rule/place.h"
#include "time/zone.h"

namespace duecourse {
namespace {

constexpr size_t kInputsMax =
    1u << 22;  // the engine's own thread posts to it (noop endings), so it must never be full
constexpr int64_t kFiguresMs = 250;  // counting walks the open runs; readers can wait
constexpr int64_t kIdleWaitMs =
    1'000;  // an idle engine steps once a second: health, and a wall clock that was set
// Of a crowd under way, news come one upon the other: one step and one commit for those of so long, or the
// steps take from the commands half of the machine (./dev bench W5). Claims never wait for it, and where few
// run nothing does.
constexpr size_t kCrowd = 16;
constexpr int64_t kGatherMs = 50;
constexpr size_t kGatherMost = 512;
// After the drain's time: a store that is coming back may still take what waits for it.
constexpr int64_t kGiveUpAfterMs = 3'000;

}  // namespace

Daemon::Daemon(DaemonOptions options, std::shared_ptr<const RuleSet> rules, const Clock& clock, Log& log)
    : options_(std::move(options)), guard_(clock), log_(log), rules_(std::move(rules)), inputs_(kInputsMax) {
  node_ = rules_->config.node_id.empty() ? HostName() : rules_->config.node_id;
  incarnation_ = SecureToken(8);
  boot_id_ = BootId();
}

Daemon::~Daemon() {
  inputs_.Close();
  if (thread_.joinable()) thread_.join();
  std::thread reload;
  {
    MutexLock lock(reload_mutex_);
    next_reload_.reset();
    reload = std::move(reload_thread_);
  }
  if (reload.joinable()) reload.join();
  // Those who post to the store and the engine end first.
  prober_.reset();
  sender_.reset();
  executor_.reset();
  store_.reset();
}

Result<OpenReply> Daemon::OpenStore(Store& store, bool init) {
  OpenRequest request;
  request.node = node_;
  request.incarnation = incarnation_;
  request.boot_id = boot_id_;
  request.zone_data = ZoneDataVersion();
  request.init = init;
  request.allow_unsafe_durability = rules()->config.allow_unsafe_durability;
  return store.Open(request);
}

Status Daemon::Start() {
  std::shared_ptr<const RuleSet> set = rules();
  if (Status enough = CheckTaskCount(*set); !enough.ok()) return enough;
  std::unique_ptr<Store> store = NewSqliteStore(options_.data_folder, clock_);
  Result<OpenReply> taken = OpenStore(*store, options_.init);
  if (!taken.ok()) return taken.error();
  OpenReply opened = std::move(taken).value();
  if (options_.init && !opened.created)
    start_notes_.push_back("--init: there is a store here already; it is opened as it is, nothing is new");
  options_.init = false;  // a store that vanishes later is never started empty
  Result<Snapshot> snapshot = store->Load();
  if (!snapshot.ok()) return snapshot.error();
  found_alive_ = snapshot->last_alive;
  StartNotes(opened);
  std::vector<std::pair<std::string, std::string>> texts;
  if (opened.rules_hash != set->hash) texts = TextsOf(*set);
  StoreThreadSink sink;
  sink.events = [this](std::vector<Event> events) {
    inputs_.PushAll({std::make_move_iterator(events.begin()), std::make_move_iterator(events.end())});
  };
  sink.resync = [this](Snapshot fresh, uint64_t epoch) {
    inputs_.Push(Input(Resync{std::move(fresh), epoch, std::exchange(reopened_, std::nullopt)}));
  };
  auto reopen = [this](Store& again) {
    Result<OpenReply> reply = OpenStore(again, /*init=*/false);
    if (reply.ok()) reopened_ = *reply;
    return reply.status();
  };
  store_ = std::make_unique<StoreThread>(std::move(store), reopen, clock_, log_, std::move(sink));
  // What the former one left of attempts the engine asks for one by one; a check or a message is made again.
  if (const size_t left = opened.predecessor.empty() ? 0 : EndChildrenOf("DUECOURSE_STORE_ID", store_id_))
    log_.Info("orphans_ended", Json::MakeObject()
                                   .Set("processes", static_cast<int64_t>(left))
                                   .Set("why", "checks and messages of the daemon before this one"));
  StartWorkers();
  EngineOptions engine;
  engine.node = node_;
  engine.incarnation = incarnation_;
  engine.boot_id = boot_id_;
  engine.host_zone = HostZoneName();
  engine.log_least = log_.least();
  engine.early = [this](std::vector<Effect> effects) { Apply(std::move(effects)); };
  engine_ = std::make_unique<Engine>(engine, set, RandomSeed());
  last_step_ms_.store(MonotonicMicros() / 1000);
  thread_ =
      std::thread([this, opened, texts = std::move(texts), snapshot = std::move(snapshot).value()]() mutable {
        EngineLoop(std::move(opened), std::move(snapshot), std::move(texts));
      });
  return Status();
}

void Daemon::StartWorkers() {
  std::shared_ptr<const RuleSet> set = rules();
  ExecSink exec;
  exec.started = [this](const AttemptRef& ref, const std::string& process) {
    if (log_.least() > LogLevel::kInfo) return;
    log_.Info("attempt_started",
              Json::MakeObject().Set("run", ref.run_id).Set("attempt", ref.attempt).Set("process", process));
  };
  exec.ended = [this](AttemptRef ref, Ending ending) {
    inputs_.PushSoon(Event(AttemptEnded{std::move(ref), std::move(ending)}));
  };
  exec.inspected = [this](Inspection seen) { Post(AttemptInspected{std::move(seen)}); };
  ExecOptions options;
  options.data_folder = options_.data_folder;
  options.store_id = store_id_;
  options.http_allow = set->config.http_allow;
  options.command_slots = set->config.command_slots;
  options.http_slots = set->config.http_slots;
  options.clock_rate = options_.clock_rate;
  executor_ = NewExecutor(std::move(options), clock_, log_, std::move(exec));
  ProbeOptions probe;
  for (const std::string& root : set->config.file_roots) {
    probe.file_roots.push_back(AbsolutePath(JoinPath(set->config.folder, root)));
  }
  probe.settings_folder = set->config.folder;
  probe.store_id = store_id_;
  probe.http_allow = set->config.http_allow;
  probe.rate = options_.clock_rate;
  prober_ = NewProber(std::move(probe), clock_,
                      [this](ProbeAnswer answer) { Post(ProbeReplied{std::move(answer)}); });
  sender_ = NewAlertSender(clock_, set->config.folder, store_id_, [this](SendResult result) {
    uint64_t request = 0;
    {
      MutexLock lock(mutex_);
      auto it = tests_.find(result.id);
      if (it != tests_.end()) {
        request = it->second;
        tests_.erase(it);
      }
    }
    if (request == 0) {
      Post(AlertAnswered{std::move(result)});
      return;
    }
    Answer answer{request, result.taken ? Answer::Kind::kFine : Answer::Kind::kProblem, "",
                  Json::MakeObject()};
    answer.message = result.taken ? StrCat("taken by channel ", result.channel)
                                  : StrCat("no channel took it: ", result.error);
    Answered(answer);
  });
}

void Daemon::StartNotes(const OpenReply& opened) {
  store_id_ = opened.store_id;
  std::shared_ptr<const RuleSet> set = rules();
  Instant at = clock_.Wall();
  start_notes_.push_back(StrCat("UTC                      ", FormatUtc(at)));
  start_notes_.push_back(StrCat("host zone (never used)   ", HostZoneName()));
  std::vector<std::string> seen;
  for (const Task& task : set->tasks) {
    for (size_t v = 0; v < ValueCount(task.rule()) && seen.size() < 20; ++v) {
      const Zone& zone = ScheduleOf(task.rule(), v).zone;
      if (std::find(seen.begin(), seen.end(), zone.name()) != seen.end()) continue;
      seen.push_back(zone.name());
      std::string name = zone.name();
      name.resize(std::max<size_t>(name.size(), 24), ' ');
      start_notes_.push_back(StrCat(name, " ", FormatLocal(at, zone)));
    }
  }
  if (set->tasks.empty())
    start_notes_.push_back(StrCat("the rules have 0 tasks (looked in ",
                                  RulesPlace(options_.rules, set->config),
                                  "): nothing runs until some are there and reloaded"));
  if (opened.created)
    start_notes_.push_back("new store: windows already open today are not run; what is due from now on is");
  if (!opened.predecessor.empty())
    start_notes_.push_back(
        "the daemon before this one did not stop in order; its attempts are looked at first");
  if (std::string warning = ClockWarning(); !warning.empty()) start_notes_.push_back(warning);
}

void Daemon::EngineLoop(OpenReply opened, Snapshot snapshot,
                        std::vector<std::pair<std::string, std::string>> texts) {
  ::pthread_setname_np(::pthread_self(), "dc-engine");  // for whoever looks at the threads of a busy daemon
  std::vector<Effect> effects;
  engine_->Begin(opened, snapshot, std::move(texts), clock_.Wall(), effects);
  Apply(std::move(effects));
  snapshot = Snapshot();
  prune_pace_.Started(clock_.Boot());
  while (!drained_.load()) {
    int64_t wait = kIdleWaitMs;
    Instant next = std::min(engine_->NextTimer(), stop_at_);
    if (next < kNever) wait = std::clamp<int64_t>(clock_.RealMillisUntil(next), 0, kIdleWaitMs);
    const size_t live = live_attempts();
    // As many news as there are attempts: there may be nothing more to come.
    std::vector<Input> inputs =
        inputs_.TakeAll(wait, live >= kCrowd ? kGatherMs : 0, std::min(live, kGatherMost));
    if (inputs.empty() && inputs_.closed()) return;
    StepOnce(std::move(inputs));
    LookAtClock();
    AnswerLate();
    if (GivesUp()) return;
    if (prune_pace_.TakeDue(clock_.Boot())) Prune();
    last_step_ms_.store(MonotonicMicros() / 1000);
  }
}

void Daemon::StepOnce(std::vector<Input> inputs) {
  std::vector<Event> events;
  std::vector<Effect> effects;
  for (Input& input : inputs) {
    if (auto* resync = std::get_if<Resync>(&input)) {
      // The store's replies from before it mean nothing afterwards. What they make the engine ask of the
      // store belongs to the epoch that is over, and is dropped there; so whatever else there is waits.
      const auto of_store = [](const Event& event) {
        return std::holds_alternative<StoreReplied>(event) || std::holds_alternative<StoreTrouble>(event);
      };
      const auto others = std::stable_partition(events.begin(), events.end(), of_store);
      std::vector<Event> replies(std::make_move_iterator(events.begin()), std::make_move_iterator(others));
      events.erase(events.begin(), others);
      if (!replies.empty()) engine_->Step(clock_.Wall(), std::move(replies), effects);
      Apply(std::exchange(effects, {}));
      epoch_ = resync->epoch;
      const std::shared_ptr<const RuleSet> set = engine_->rules();
      const bool other = resync->reopened && resync->reopened->rules_hash != set->hash;
      engine_->Resync(resync->snapshot, resync->reopened,
                      other ? TextsOf(*set) : std::vector<std::pair<std::string, std::string>>(),
                      clock_.Wall(), effects);
      continue;
    }
    Event& event = std::get<Event>(input);
    if (std::get_if<DrainAsked>(&event) != nullptr) {
      stop_at_ = clock_.Wall() + rules()->config.drain_timeout;
      MutexLock lock(mutex_);
      stops_by_ = stop_at_;
    }
    if (const auto* ended = std::get_if<AttemptEnded>(&event)) {
      Failpoint("finish.before");
      MutexLock lock(mutex_);
      live_.erase(ended->ref.run_id);
    }
    events.push_back(std::move(event));
  }
  if (stop_at_ <= clock_.Wall()) {
    stop_at_ = kNever;
    give_up_ms_ = MonotonicMicros() / 1000 + kGiveUpAfterMs;
    events.push_back(StopNow{});
  }
  engine_->Step(clock_.Wall(), std::move(events), effects);
  Apply(std::move(effects));
  int64_t now_ms = MonotonicMicros() / 1000;
  const std::shared_ptr<const RuleSet> active = engine_->rules();
  MutexLock lock(mutex_);
  if (now_ms - figures_at_ms_ < kFiguresMs && active == rules_) return;
  figures_at_ms_ = now_ms;
  figures_ = engine_->figures();
  rules_ = active;
}

void Daemon::LookAtClock() {
  std::optional<WallLeap> leap = guard_.TakeNews();
  if (!leap) return;
  if (leap->believed) prune_pace_.Leapt(clock_.Boot());
  Post(ClockLeapt{leap->by, leap->believed});
}

// History older than `retention`, a bounded piece at a time, on the store's thread; and outputs whose time is
// over.
void Daemon::Prune() {
  PruneCall call;
  std::shared_ptr<const RuleSet> set = rules();
  call.before = clock_.Wall() - set->config.retention;
  for (const Task& task : set->tasks) {
    Millis keep = task.rule().keep;
    if (keep != kKeysKept) call.keys_from.emplace_back(task.id, clock_.Wall() - keep);
  }
  store_->Run([this, call](Store& store) {
    StoreFault fault;
    std::vector<StoreReply> replies = store.Commit({call}, fault);
    int outputs = PruneOutputs(options_.data_folder, clock_.Wall());
    if (fault.kind != StoreFault::Kind::kNone || replies.empty()) return;
    int64_t rows = std::get<PruneReply>(replies.front()).rows;
    prune_pace_.Pruned(rows >= call.limit);
    if (rows > 0 || outputs > 0)
      log_.Info("pruned", Json::MakeObject().Set("rows", rows).Set("outputs", outputs));
  });
}

void Daemon::Apply(std::vector<Effect> effects) {
  for (Effect& effect : effects) ApplyOne(std::move(effect));
}

void Daemon::ApplyOne(Effect effect) {
  if (auto* batch = std::get_if<StoreBatch>(&effect)) {
    store_->Post(std::move(*batch), epoch_);
  } else if (auto* start = std::get_if<AttemptStart>(&effect)) {
    Failpoint("claim.after");  // the claim is durable, nothing else has happened yet
    {
      MutexLock lock(mutex_);
      live_.insert(start->request.ref.run_id);
    }
    executor_->Start(std::move(start->request));
  } else if (auto* withdraw = std::get_if<AttemptWithdraw>(&effect)) {
    executor_->Withdraw(withdraw->ref, withdraw->why);
  } else if (auto* kill = std::get_if<AttemptKill>(&effect)) {
    executor_->Kill(kill->ref, kill->why);
  } else if (auto* inspect = std::get_if<AttemptInspect>(&effect)) {
    executor_->Inspect(inspect->ref, inspect->same_boot);
  } else if (auto* forget = std::get_if<AttemptForget>(&effect)) {
    executor_->Forget(forget->ref);
  } else if (auto* probe = std::get_if<ProbeStart>(&effect)) {
    prober_->Start(std::move(probe->request));
  } else if (auto* send = std::get_if<AlertSend>(&effect)) {
    sender_->Send(std::move(send->message), std::move(send->channels));
  } else if (auto* answer = std::get_if<Answer>(&effect)) {
    Answered(*answer);
  } else if (auto* line = std::get_if<LogLine>(&effect)) {
    log_.Write(line->level, line->event, std::move(line->fields));
  } else if (std::get_if<Drained>(&effect) != nullptr) {
    drained_.store(true);
  }
}

size_t Daemon::live_attempts() {
  MutexLock lock(mutex_);
  return live_.size();
}

Engine::Figures Daemon::figures() {
  MutexLock lock(mutex_);
  return figures_;
}

std::shared_ptr<const RuleSet> Daemon::rules() {
  MutexLock lock(mutex_);
  return rules_;
}

}  // namespace duecourse
