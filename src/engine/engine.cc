#include "engine/engine.h"

#include <algorithm>

#include "engine/state.h"

namespace duecourse {

Engine::Engine(EngineOptions options, std::shared_ptr<const RuleSet> rules, uint64_t seed)
    : state_(std::make_unique<EngineState>(std::move(options), std::move(rules), seed)) {}
Engine::~Engine() = default;

void Engine::Begin(const OpenReply& opened, const Snapshot& snapshot,
                   std::vector<std::pair<std::string, std::string>> texts, Instant now,
                   std::vector<Effect>& effects) {
  state_->now = now;
  state_->effects = &effects;
  state_->Begin(opened, snapshot, std::move(texts));
  state_->effects = nullptr;
}

void Engine::Resync(const Snapshot& snapshot, const std::optional<OpenReply>& reopened,
                    std::vector<std::pair<std::string, std::string>> texts, Instant now,
                    std::vector<Effect>& effects) {
  state_->now = now;
  state_->effects = &effects;
  state_->Resync(snapshot, reopened, std::move(texts));
  state_->effects = nullptr;
}

void Engine::Step(Instant now, std::vector<Event> events, std::vector<Effect>& effects) {
  state_->now = now;
  state_->effects = &effects;
  state_->Step(std::move(events));
  state_->effects = nullptr;
}

Instant Engine::NextTimer() const { return state_->NextTimer(); }

std::shared_ptr<const RuleSet> Engine::rules() const { return state_->rules; }

Engine::Figures Engine::figures() const {
  Figures out;
  out.tasks = state_->rules->tasks.size();
  for (const auto& [id, open] : state_->runs) {
    ++out.by_state[static_cast<size_t>(open->run.state)];
    if (IsOpen(open->run.state)) ++out.open_runs;
    if (open->run.state == RunState::kRunning) ++out.running;
    if (open->run.state == RunState::kManualRequired) ++out.manual;
  }
  out.draining = state_->draining;
  out.decisions = state_->decisions_made;
  out.started = state_->attempts_started;
  out.rule_version = state_->rule_version;
  out.next_due = state_->NextTimer();
  out.held = state_->held();
  return out;
}

EngineState::EngineState(EngineOptions engine_options, Rules rule_set, uint64_t seed)
    : EngineCore(std::move(engine_options), std::move(rule_set), seed) {}

// Store replies come first: they tell what already happened. Then the order that engine.h promises.
void EngineState::Step(std::vector<Event> events) {
  for (Event& event : events) {
    if (auto* reply = std::get_if<StoreReplied>(&event)) OnStore(std::move(*reply));
    if (auto* trouble = std::get_if<StoreTrouble>(&event)) OnTrouble(*trouble);
  }
  // Whoever drives it promised to step by then: a machine that was suspended did not.
  if (NextTimer() < now - kLateGrace) NoteDowntime(last_alive);
  RunTimers();
  for (Event& event : events) Handle(std::move(event));
  AskDirty();
  FlushCalls();
  last_alive = now;
  if (draining && !drained_said && IsDrained()) {
    FoldAll();  // nothing counted is left behind
    FlushCalls();
  }
  if (draining && !drained_said && IsDrained()) {
    drained_said = true;
    Emit(Drained{});
  }
}

void EngineState::Handle(Event event) {
  if (auto* ended = std::get_if<AttemptEnded>(&event)) {
    OnEnded(ended->ref, std::move(ended->ending));
  } else if (auto* inspected = std::get_if<AttemptInspected>(&event)) {
    OnInspected(inspected->inspection);
  } else if (auto* probe = std::get_if<ProbeReplied>(&event)) {
    OnProbe(probe->answer);
  } else if (auto* alert = std::get_if<AlertAnswered>(&event)) {
    OnAlert(alert->result);
  } else if (auto* requested = std::get_if<Requested>(&event)) {
    OnRequest(std::move(requested->request));
  } else if (auto* offered = std::get_if<RulesOffered>(&event)) {
    OnRules(std::move(*offered));
  } else if (std::get_if<DrainAsked>(&event) != nullptr) {
    draining = true;
    for (const auto& [id, open] : runs) AskBegin(*open);
    FoldAll();
    WakeAll();
  } else if (std::get_if<StopNow>(&event) != nullptr) {
    StopRunning();
  } else if (auto* leap = std::get_if<ClockLeapt>(&event)) {
    NoticeFacts notice = NoticeOfLeap(*leap, now);
    Say(LogLevel::kWarning, "wall_clock",
        Json::MakeObject()
            .Set("by_ms", leap->by.count)
            .Set("believed", leap->believed)
            .Set("text", notice.what));
    if (leap->believed && leap->by < Millis{}) FollowBack();
    SendNotice(notice);
  }
}

// What still runs when the drain's time is over is ended; its outcome is unknown to us, so it is lost, cause
// shutdown.
void EngineState::StopRunning() {
  draining = true;
  stopping = true;
  for (auto& [id, open] : runs) {
    if (!open->executing) continue;
    open->killed = KillWhy::kShutdown;
    open->ending_cause = "the daemon was shut down and its drain time was over";
    Emit(AttemptKill{{open->run.id, open->run.fence, open->run.attempts}, KillWhy::kShutdown});
  }
}

bool EngineState::IsDrained() const {
  if (!flights.empty() || !calls.empty()) return false;
  return std::none_of(runs.begin(), runs.end(), [](const auto& entry) {
    return entry.second->executing || entry.second->flight != OpenRun::Flight::kNone;
  });
}

void EngineState::RunTimers() {
  std::vector<std::string> run_ids;
  std::vector<size_t> due_lanes;
  std::vector<std::string> alert_ids;
  bool fold = false;
  while (!timers.empty() && timers.top().at <= now) {
    Timer timer = timers.top();
    timers.pop();
    switch (timer.kind) {
      case Timer::Kind::kRun: {
        OpenRun* open = FindRun(timer.id);
        if (open != nullptr && open->timer == timer.generation) run_ids.push_back(timer.id);
        break;
      }
      case Timer::Kind::kAlert:
        alert_ids.push_back(timer.id);
        break;
      case Timer::Kind::kFold:
        fold = true;
        break;
    }
  }
  for (const std::string& id : run_ids) {
    OnRunTimer(id);
    FlushMany();
  }
  while (!lane_timers.empty() && lane_timers.top().at <= now) {
    LaneTimer timer = lane_timers.top();
    lane_timers.pop();
    // A lane has one live timer: the one that carries its next due instant.
    bool live = timer.generation == lane_generation && lanes[timer.lane].next_due == timer.at;
    if (live) due_lanes.push_back(timer.lane);
  }
  std::sort(due_lanes.begin(), due_lanes.end(), [this](size_t a, size_t b) {
    if (lanes[a].next_due != lanes[b].next_due) return lanes[a].next_due < lanes[b].next_due;
    return a < b;  // tasks are sorted by id
  });
  for (size_t lane : due_lanes) {
    PlanLane(lane);
    FlushMany();
  }
  for (const std::string& id : alert_ids) SendAlertAgain(id);
  if (fold) {
    if (waiting_lanes.empty()) store_gap = StoreGap();
    FoldAll();
    DropOldFlags();
    ArmFold();
  }
}

// A run's timer: its window's end, a retry's instant, the next look at what it waits for, its lease, its
// stuck limit.
void EngineState::OnRunTimer(const std::string& id) {
  OpenRun* open = FindRun(id);
  if (open == nullptr) return;
  open->timer_at = kNever;
  if (open->run.state == RunState::kRunning) {
    OnRunningTimer(*open);
    return;
  }
  if (open->stuck_at <= now) TellStuck(*open);
  if (open->alive && open->flight == OpenRun::Flight::kNone) {
    Emit(AttemptInspect{{open->run.id, open->run.fence, open->run.attempts}, true});
    ArmRun(*open, now + kInspectAgain);
  }
  // What was no, or could not be read, is asked again; a yes keeps its age.
  for (Observed& seen : open->observed) {
    if (seen.fact.answer != PreconditionFact::Answer::kYes)
      seen.fact.answer = PreconditionFact::Answer::kUnknown;
  }
  // A window that has ended comes before what is planned in this instant.
  if (open->run.window_ends <= now) {
    Ask(*open);
  } else {
    Wake(id);
  }
}

}  // namespace duecourse
