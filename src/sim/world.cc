#include "sim/world.h"

#include <algorithm>

#include "base/text.h"

namespace duecourse {

World::World(std::shared_ptr<const RuleSet> rules, Instant start, uint64_t seed, WorldScript script)
    : clock_(start),
      random_(seed),
      script_(std::move(script)),
      rules_(std::move(rules)),
      disk_(NewMemoryDisk()),
      seed_(seed) {}
World::~World() = default;

void World::Start() {
  CHECK(engine_ == nullptr);
  ++generation_;
  ++incarnation_;
  drained_ = false;
  suspended_ = false;
  store_ = NewMemoryStore(disk_, clock_);
  OpenRequest request;
  request.node = "sim";
  request.incarnation = StrCat("sim-", incarnation_);
  request.boot_id = "boot";
  request.init = incarnation_ == 1;
  Result<OpenReply> opened = store_->Open(request);
  CHECK(opened.ok());
  Result<Snapshot> snapshot = store_->Load();
  CHECK(snapshot.ok());
  EngineOptions options;
  options.node = request.node;
  options.incarnation = request.incarnation;
  options.boot_id = request.boot_id;
  options.host_zone = "UTC";
  engine_ = std::make_unique<Engine>(options, rules_, seed_ + static_cast<uint64_t>(incarnation_));
  std::vector<Effect> effects;
  engine_->Begin(*opened, *snapshot, {}, now(), effects);
  Note(StrCat(FormatUtc(now()), " daemon ", incarnation_, " started"));
  for (Effect& effect : effects) Apply(std::move(effect));
  Pump();
}

// Nothing of the daemon is left but its processes.
void World::Kill() {
  engine_.reset();
  store_.reset();
  reader_.reset();
  ready_.clear();
  kept_.clear();
  ++generation_;
  Note(StrCat(FormatUtc(now()), " daemon killed"));
}

void World::Drain() {
  if (engine_ == nullptr) return;
  ready_.push_back(DrainAsked{});
  Post(now() + rules_->config.drain_timeout, StopNow{});
  Pump();
}

void World::StoreAway(bool away) {
  store_away_ = away;
  if (engine_ == nullptr) return;
  if (away) return;  // noticed at the next commit
  std::vector<StoreBatch> kept = std::move(kept_);
  kept_.clear();
  bool told = !kept.empty();
  for (StoreBatch& batch : kept) Commit(std::move(batch));
  if (told && engine_ != nullptr) ready_.push_back(StoreTrouble{true, {}});
  Pump();
}

void World::Suspend(bool suspended) {
  suspended_ = suspended;
  if (!suspended) Pump();
}

void World::Reload(std::shared_ptr<const RuleSet> rules, bool confirm, bool dry_run, uint64_t request_id) {
  if (!dry_run) rules_ = rules;
  if (engine_ == nullptr) return;
  RulesOffered offered;
  offered.request_id = request_id;
  offered.rules = std::move(rules);
  offered.by = "drill";
  offered.confirm = confirm;
  offered.dry_run = dry_run;
  ready_.push_back(std::move(offered));
  Pump();
}

void World::Post(Instant at, Event event) {
  queue_.emplace(std::max(at, now()), Queued{generation_, std::move(event), nullptr});
}

void World::At(Instant when, std::function<void()> act) {
  queue_.emplace(std::max(when, now()), Queued{0, {}, std::move(act)});
}

// What the executors and probes report comes before what the world does at the same instant only if it was
// posted before.
void World::RunUntil(Instant until) {
  while (true) {
    Instant next = until;
    bool timer = engine_ != nullptr && !suspended_;
    if (timer) next = std::min(next, std::max(engine_->NextTimer(), now()));
    if (!queue_.empty()) next = std::min(next, std::max(queue_.begin()->first, now()));
    bool engine_due = timer && engine_->NextTimer() <= next;
    bool queue_due = !queue_.empty() && queue_.begin()->first <= next;
    if (!engine_due && !queue_due && ready_.empty()) break;
    clock_.Set(next);
    std::vector<std::function<void()>> acts;
    while (!queue_.empty() && queue_.begin()->first <= next) {
      Queued item = std::move(queue_.begin()->second);
      queue_.erase(queue_.begin());
      if (item.act) {
        acts.push_back(std::move(item.act));
      } else if (item.generation == generation_) {
        ready_.push_back(std::move(item.event));
      }
    }
    Pump();
    for (const std::function<void()>& act : acts) act();
  }
  clock_.Set(until);
}

void World::Pump() {
  if (engine_ == nullptr || suspended_) return;
  // Bounded: each step either answers something or ends the loop.
  for (int round = 0; round < 100'000; ++round) {
    std::vector<Event> events = std::move(ready_);
    ready_.clear();
    std::vector<Effect> effects;
    engine_->Step(now(), std::move(events), effects);
    uint64_t generation = generation_;
    for (Effect& effect : effects) {
      if (generation == generation_) Apply(std::move(effect));
    }
    if (engine_ == nullptr) return;
    if (drained_) {
      store_->Close();
      engine_.reset();
      store_.reset();
      reader_.reset();
      ++generation_;
      Note(StrCat(FormatUtc(now()), " daemon stopped"));
      return;
    }
    if (ready_.empty() && engine_->NextTimer() > now()) return;
  }
  CHECK(false && "the engine does not come to rest");
}

void World::Apply(Effect effect) {
  if (auto* batch = std::get_if<StoreBatch>(&effect)) {
    Commit(std::move(*batch));
  } else if (auto* start = std::get_if<AttemptStart>(&effect)) {
    Execute(start->request);
  } else if (auto* kill = std::get_if<AttemptKill>(&effect)) {
    KillLive(*kill);
  } else if (auto* inspect = std::get_if<AttemptInspect>(&effect)) {
    Inspect(*inspect);
  } else if (auto* forget = std::get_if<AttemptForget>(&effect)) {
    markers_.erase({forget->ref.run_id, forget->ref.fence});
  } else if (auto* probe = std::get_if<ProbeStart>(&effect)) {
    Probe(probe->request);
  } else if (auto* send = std::get_if<AlertSend>(&effect)) {
    Deliver(*send);
  } else if (auto* answer = std::get_if<Answer>(&effect)) {
    Note(StrCat(FormatUtc(now()), " answer ", answer->message));
    answers_[answer->request_id] = *answer;
  } else if (auto* line = std::get_if<LogLine>(&effect)) {
    Note(StrCat(FormatUtc(now()), " ", line->event, " ", line->fields.Dump()));
  } else if (std::get_if<Drained>(&effect) != nullptr) {
    drained_ = true;
  }
}

void World::Commit(StoreBatch batch) {
  if (store_away_) {
    if (kept_.empty()) {
      StoreFault fault;
      fault.kind = StoreFault::Kind::kBusy;
      fault.message = "the store is locked by another process";
      ready_.push_back(StoreTrouble{false, fault});
    }
    kept_.push_back(std::move(batch));
    return;
  }
  bool crash = commits_++ == crash_at_;
  if (crash && !crash_after_) {
    Kill();
    Start();
    return;
  }
  StoreFault fault;
  std::vector<StoreReply> replies = store_->Commit(batch.calls, fault);
  CHECK(fault.kind == StoreFault::Kind::kNone);
  store_->Heartbeat(now());
  if (crash) {
    Kill();
    Start();
    return;
  }
  ready_.push_back(StoreReplied{batch.ticket, std::move(replies)});
}

void World::CrashAt(int64_t commit, bool after_commit) {
  crash_at_ = commit;
  crash_after_ = after_commit;
}

void World::Execute(const StartRequest& request) {
  SimStart start;
  start.task = request.task;
  start.key = request.key;
  start.run_id = request.ref.run_id;
  start.attempt = request.ref.attempt;
  start.fence = request.ref.fence;
  start.at = now();
  start.context = request.context;
  for (const auto& [name, value] : request.context) {
    if (name == "DUECOURSE_TRIGGER") start.trigger = value;
    if (name == "DUECOURSE_VALUE") start.value = value;
  }
  Note(StrCat(FormatUtc(now()), " start ", start.task, " ", start.key, " attempt ", start.attempt, " fence ",
              start.fence));
  starts_.push_back(std::move(start));
  RefKey key{request.ref.run_id, request.ref.fence};
  markers_.insert(key);
  live_[key] = Live{starts_.size() - 1, request, generation_};
  SimEnding ending;
  if (script_.execute) {
    ending = script_.execute(request, now());
  } else if (request.rule->execution.kind == ExecutionRule::Kind::kNoop) {
    ending.ending.code = request.rule->execution.noop.exit_code;
    ending.after = request.rule->execution.noop.after;
  }
  if (ending.hangs || ending.after > request.timeout) {
    ending.after = request.timeout;
    ending.ending = Ending();
    ending.ending.kind = Ending::Kind::kTimeout;
    ending.ending.summary = StrCat("timed out after ", FormatMillis(request.timeout));
  }
  AttemptRef ref = request.ref;
  Ending how = ending.ending;
  // The process lives on when its daemon dies; an ending that nobody hears is not told.
  queue_.emplace(now() + ending.after, Queued{0, {}, [this, ref, how] { EndAttempt(ref, how); }});
}

void World::EndAttempt(const AttemptRef& ref, Ending ending) {
  auto it = live_.find({ref.run_id, ref.fence});
  if (it == live_.end()) return;  // ended before
  starts_[it->second.start].ended = now();
  bool heard = it->second.generation == generation_;
  live_.erase(it);
  if (!heard || engine_ == nullptr) return;
  ready_.push_back(AttemptEnded{ref, std::move(ending)});
  Pump();
}

void World::KillLive(const AttemptKill& kill) {
  AttemptRef ref = kill.ref;
  Ending ending;
  ending.kind = Ending::Kind::kSignal;
  ending.code = 15;
  ending.summary = "ended by SIGTERM";
  queue_.emplace(now(), Queued{0, {}, [this, ref, ending] { EndAttempt(ref, ending); }});
}

void World::Inspect(const AttemptInspect& inspect) {
  RefKey key{inspect.ref.run_id, inspect.ref.fence};
  Inspection seen;
  seen.ref = inspect.ref;
  seen.found = markers_.contains(key) ? Inspection::Found::kGone : Inspection::Found::kNotStarted;
  auto it = live_.find(key);
  if (it != live_.end()) {
    starts_[it->second.start].ended = now();
    live_.erase(it);
    seen.text = "ended its process";
  }
  ready_.push_back(AttemptInspected{seen});
}

void World::Probe(const ProbeRequest& request) {
  ProbeAnswer answer;
  if (script_.probe) {
    answer = script_.probe(request, now());
  } else {
    answer.answer = PreconditionFact::Answer::kYes;
    answer.code = "met";
  }
  answer.ticket = request.ticket;
  answer.at = now();
  ready_.push_back(ProbeReplied{answer});
}

void World::Deliver(const AlertSend& send) {
  bool taken = !script_.deliver || script_.deliver(send.message, now());
  Note(StrCat(FormatUtc(now()), " alert ", send.message.title));
  if (taken) alerts_.push_back({send.message, now()});
  SendResult result;
  result.id = send.message.id;
  result.taken = taken;
  result.channel = send.channels.empty() ? "" : send.channels.front().name;
  ready_.push_back(AlertAnswered{result});
}

uint64_t World::Ask(Request request) {
  request.id = next_request_++;
  uint64_t id = request.id;
  if (engine_ == nullptr) return id;
  ready_.push_back(Requested{std::move(request)});
  Pump();
  return id;
}

const Answer* World::AnswerTo(uint64_t request_id) const {
  auto it = answers_.find(request_id);
  return it == answers_.end() ? nullptr : &it->second;
}

StoreReader& World::store() {
  if (store_ == nullptr) {
    // Looked at while no daemon is up: a reader of our own, without taking ownership.
    store_ = NewMemoryStore(disk_, clock_);
  }
  if (reader_ == nullptr) {
    Result<std::unique_ptr<StoreReader>> reader = store_->NewReader();
    CHECK(reader.ok());
    reader_ = std::move(*reader);
  }
  return *reader_;
}

std::string World::TraceHash() const {
  std::string all;
  for (const std::string& line : log_) {
    all += line;
    all += '\n';
  }
  return Sha256Hex(all);
}

}  // namespace duecourse
