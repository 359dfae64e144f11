// Gathers facts for one run, asks decide/, and carries out the answer: claim it, look at what it waits for,
// wait, or end it.
#include <algorithm>

#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

// Soonest window end first, then earliest due, then task id.
static bool AskedBefore(const OpenRun& a, const OpenRun& b) {
  return std::tie(a.run.window_ends, a.run.due, a.run.task, a.run.value, a.run.id) <
         std::tie(b.run.window_ends, b.run.due, b.run.task, b.run.value, b.run.id);
}

// Whether a person said --force: only then is anything passed over that would have been asked.
static bool IsForced(const OpenRun& open) {
  if (!open.asked) return false;
  const auto* trigger = std::get_if<TriggerRequest>(&open.asked->body);
  const auto* manual = std::get_if<ManualRequest>(&open.asked->body);
  return trigger != nullptr ? trigger->force : manual != nullptr && manual->force;
}

static const char* ActName(const RequestBody& body) {
  if (const auto* trigger = std::get_if<TriggerRequest>(&body))
    return trigger->extra ? "trigger_extra" : "trigger";
  const auto* manual = std::get_if<ManualRequest>(&body);
  return manual != nullptr && manual->supersede ? "manual_rerun_supersede" : "manual_rerun";
}

static Pending ClaimPending(const OpenRun& open) {
  Pending pending;
  pending.kind = Pending::Kind::kClaim;
  pending.runs.push_back(open.run.id);
  return pending;
}

void EngineState::Wake(const std::string& run_id) {
  OpenRun* open = FindRun(run_id);
  if (open == nullptr || open->dirty) return;
  open->dirty = true;
  dirty.insert(run_id);
}

void EngineState::WakeLane(size_t lane) {
  if (lane == kNoLane) return;
  for (const std::string& id : lanes[lane].open) Wake(id);
}

void EngineState::WakeAll() {
  for (auto& [id, open] : runs) Wake(id);
}

// Asks everybody who was woken, in order. A slot that stays free because the woken run did not take it goes
// to the next that waits, so a round may wake others; each run is asked at most once an instant.
void EngineState::AskDirty() {
  if (activating) return;  // claims name the version of the rules: asked when it is known
  std::set<std::string> asked;
  while (true) {
    std::vector<OpenRun*> round;
    for (const std::string& id : dirty) {
      OpenRun* open = FindRun(id);
      if (open == nullptr) continue;
      open->dirty = false;
      if (asked.insert(id).second) round.push_back(open);
    }
    dirty.clear();
    if (round.empty()) return;
    std::sort(round.begin(), round.end(),
              [](const OpenRun* a, const OpenRun* b) { return AskedBefore(*a, *b); });
    std::vector<std::string> ids;
    for (const OpenRun* open : round) ids.push_back(open->run.id);
    for (const std::string& id : ids) {
      OpenRun* open = FindRun(id);
      if (open != nullptr) Ask(*open);
      FlushMany();
    }
    for (auto& [name, pool] : pools) WakePool(name, asked);
  }
}

// One waiting run for each free slot of a pool.
void EngineState::WakePool(const std::string& name, const std::set<std::string>& asked) {
  PoolState& pool = pools[name];
  const PoolConfig* config = rules->config.FindPool(name);
  if (config == nullptr || pool.waiting.empty()) return;
  int free = config->max_concurrency - pool.running();
  if (free <= 0) return;
  std::vector<const OpenRun*> waiting;
  for (const std::string& id : pool.waiting) {
    const OpenRun* open = FindRun(id);
    if (open != nullptr && !asked.contains(id)) waiting.push_back(open);
  }
  size_t count = std::min(waiting.size(), static_cast<size_t>(free));
  std::partial_sort(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(count), waiting.end(),
                    [](const OpenRun* a, const OpenRun* b) { return AskedBefore(*a, *b); });
  for (size_t i = 0; i < count; ++i) Wake(waiting[i]->run.id);
}

void EngineState::Ask(OpenRun& open) {
  open.dirty = false;
  if (open.flight != OpenRun::Flight::kNone || open.inspecting) return;  // asked when the reply is there
  if (open.run.state == RunState::kRunning || IsFinal(open.run.state)) return;
  if (open.run.state == RunState::kManualRequired && !open.force.manual) return;
  if (now < std::min(open.not_before, open.run.window_ends) && !open.asked) {
    ArmRun(open, std::min(open.not_before, open.run.window_ends));
    return;
  }
  if (open.task == nullptr) {
    const std::string gone = GoneText(open.run);
    if (open.asked) {
      RefuseAsked(
          open, Reason::kRuleRemoved,
          StrCat(gone, "; end it with: manual resolve or manual skip ", open.run.id, " --reason \"why\""));
    }
    if (open.unwritten) {
      Close(open.run.id);
    } else if (IsOpen(open.run.state)) {
      MoveRun(open, {RunState::kSkipped, Reason::kRuleRemoved, gone});
    }
    return;
  }
  Decision decision = Evaluate(open);
  LeavePools(open);
  if (decision.verdict != Verdict::kProbe) {  // the round of questions is over
    for (Observed& seen : open.observed) seen.fact.this_round = false;
  }
  switch (decision.verdict) {
    case Verdict::kAllow:
      if (open.unwritten) {
        PlanAsked(open);
        break;
      }
      FoldOne(open);
      Call(MakeClaim(open), ClaimPending(open));
      break;
    case Verdict::kProbe:
      Observe(open);
      ArmRun(open, open.run.window_ends > now ? open.run.window_ends : kNever);
      break;
    case Verdict::kDeny:
      Wait(open, decision);
      break;
    case Verdict::kEnd:
      End(open, decision);
      break;
  }
}

Decision EngineState::Evaluate(OpenRun& open) {
  ++decisions_made;
  GatherFlags(open);
  std::vector<PreconditionFact>& conditions = scratch_conditions;
  conditions.clear();
  for (const Observed& seen : open.observed) conditions.push_back(seen.fact);
  std::vector<PoolFact>& pool_facts = scratch_pools;
  pool_facts.clear();
  for (const std::string& name : open.task->rule().trigger.pools) {
    const PoolConfig* config = rules->config.FindPool(name);
    pool_facts.push_back({pools[name].running(), config == nullptr ? 0 : config->max_concurrency});
  }
  Facts facts = Gather(open);
  facts.preconditions = conditions;
  facts.pools = pool_facts;
  Decision decision = Decide(facts);
  decision.recheck_at =
      std::min(decision.recheck_at, open.run.window_ends > now ? open.run.window_ends : kNever);
  open.passed.clear();
  if (decision.verdict == Verdict::kAllow && IsForced(open)) open.passed = PassedOver(facts);
  open.last = decision;
  open.last_text = DescribeDecision(open, decision);
  return decision;
}

Facts EngineState::Gather(const OpenRun& open) {
  const RuleBody& rule = open.task->rule();
  const Run& run = open.run;
  Facts facts;
  facts.now = now;
  facts.force = open.force;
  facts.state = run.state;
  facts.state_reason = run.reason;
  facts.cancel_ordered = !run.cancel.empty();
  facts.paused = PauseOf(*open.task) != nullptr;
  facts.day = open.occurrence.day;
  facts.due = run.extra ? run.due : open.occurrence.starts;
  facts.opens = run.window_opens;
  facts.ends = run.window_ends;
  if (rule.retry.max_delay && !run.extra) facts.max_delay_end = open.occurrence.start_limit;
  facts.owed = run.owed;
  facts.maintenance_until = MaintenanceUntil(*open.task, &facts.maintenance_index);
  facts.counted = run.counted;
  facts.uncounted = run.uncounted;
  facts.attempts_max = rule.retry.max_total_attempts;
  facts.next_at = run.next_at.value_or(kLongAgo);
  facts.next_is_catchup = run.state == RunState::kCatchupWaiting;
  facts.check_interval = rule.trigger.check_interval;
  facts.key_running = run.state == RunState::kRunning;
  facts.previous_alive = open.alive || open.inspecting;
  facts.draining = draining;
  facts.store_available = store_available;
  facts.task_limit = rule.trigger.max_concurrency;
  facts.first_attempt = run.attempts == 0;  // what was not ready is not delayed by its own start
  if (IsCatchupStart(facts)) {
    std::optional<Instant> busy = AvoidEnd(rule.retry, ScheduleOf(rule, open.value).zone, now);
    if (busy) facts.busy_until = *busy;
  }
  if (open.lane != kNoLane) GatherLane(open, facts);
  return facts;
}

void EngineState::GatherLane(const OpenRun& open, Facts& facts) {
  const RuleBody& rule = open.task->rule();
  const Lane& lane = lanes[open.lane];
  facts.task_running = lane.running;
  if (rule.trigger.min_interval.count > 0 && lane.last_start > kLongAgo) {
    facts.min_interval_until = lane.last_start + rule.trigger.min_interval;
  }
  if (lane.breaker != nullptr && lane.breaker->open) {
    facts.breaker_open = true;
    facts.breaker_until = lane.breaker->until.value_or(now);
    facts.breaker_trial_taken = !lane.breaker->trial_run.empty() && lane.breaker->trial_run != open.run.id;
  }
  if (rule.trigger.in_order) {
    for (const std::string& id : lane.open) {
      const OpenRun* other = FindRun(id);
      if (other == &open) break;
      if (other != nullptr && other->run.due < open.run.due && !IsFinal(other->run.state))
        facts.earlier_open = true;
    }
  }
}

const Control* EngineCore::PauseOf(const Task& task) const {
  auto paused = [this](const std::string& scope) -> const Control* {
    auto it = controls.find(scope);
    return it != controls.end() && it->second.paused ? &it->second : nullptr;
  };
  if (controls.empty()) return nullptr;
  if (const Control* all = paused("all")) return all;
  if (const Control* one = paused(StrCat("task/", task.id))) return one;
  for (const auto& [name, value] : task.rule().labels) {
    if (const Control* label = paused(StrCat("label/", name, "=", value))) return label;
  }
  return nullptr;
}

static bool IsAbout(const MaintenanceConfig& item, const Task& task) {
  return item.tasks.empty() || std::find(item.tasks.begin(), item.tasks.end(), task.id) != item.tasks.end();
}

Instant NextMaintenance(const ServerConfig& config, const Task& task, Instant now) {
  Instant next = kNever;
  for (const MaintenanceConfig& item : config.maintenance) {
    if (!IsAbout(item, task)) continue;
    Instant from = item.from.value_or(kLongAgo);
    if (item.cron) from = item.cron->Next(now).value_or(kNever);
    if (from > now) next = std::min(next, from);
  }
  return next;
}

// The end of the maintenance that is on now for this task, or kLongAgo.
Instant EngineCore::MaintenanceUntil(const Task& task, int* index) const {
  const std::vector<MaintenanceConfig>& list = rules->config.maintenance;
  for (size_t i = 0; i < list.size(); ++i) {
    const MaintenanceConfig& item = list[i];
    if (!IsAbout(item, task)) continue;
    Instant from = item.from.value_or(kLongAgo);
    Instant until = item.until.value_or(kNever);
    if (item.cron) {
      std::optional<Instant> begin = item.cron->Previous(now + Millis{1});
      if (!begin) continue;
      from = *begin;
      until = *begin + item.length;
    }
    if (from <= now && now < until) {
      *index = static_cast<int>(i);
      return until;
    }
  }
  return kLongAgo;
}

ClaimCall EngineState::MakeClaim(OpenRun& open) {
  const RuleBody& rule = open.task->rule();
  ClaimCall claim;
  claim.run_id = open.run.id;
  claim.expected_state = open.run.state;
  claim.expected_fence = open.run.fence;
  claim.nonce = NewId('n');
  claim.kind = KindOfNext(open);
  claim.counts = FollowsLadder(claim.kind, open.run.extra, open.run.attempts + 1);
  claim.ttl = rule.trigger.lease_ttl;
  open.start_limit = kNever;
  if (!open.force.time) {
    Facts facts = Gather(open);
    claim.not_before = std::max(facts.opens, facts.due);
    claim.not_after = open.start_limit = StartLimit(facts);
  }
  if (!open.force.maintenance)  // a claim that is stored late must not fall into it
    claim.not_after = std::min(claim.not_after, NextMaintenance(rules->config, *open.task, now));
  claim.attempts_max = rule.retry.max_total_attempts;
  claim.task_limit = rule.trigger.max_concurrency;
  claim.min_interval = rule.trigger.min_interval;
  for (const std::string& name : rule.trigger.pools) {
    const PoolConfig* config = rules->config.FindPool(name);
    claim.pools.emplace_back(name, config == nullptr ? 0 : config->max_concurrency);
  }
  claim.control_version = control_version;
  claim.rule_version = rule_version;
  claim.incarnation = options.incarnation;
  claim.boot_id = options.boot_id;
  if (open.asked) {
    claim.by = open.asked->by;
    claim.audit = AuditOf(*open.asked, ActName(open.asked->body), open.run.task, open.run.id);
    claim.audit->detail = PassedText(open);
  }
  claim.met = open.run.met = MetOf(open);
  claim.decision = DecisionOf(open, "run", StartReason(open));
  TakeTrial(open, claim);
  open.nonce = claim.nonce;
  Reserve(open);
  if (open.flight == OpenRun::Flight::kNone) open.flight = OpenRun::Flight::kClaim;
  return claim;
}

// An open breaker whose cooldown is over lets one trial through; the place is taken in the same batch as the
// claim.
void EngineState::TakeTrial(OpenRun& open, ClaimCall& claim) {
  if (open.lane == kNoLane || claim.kind == TriggerKind::kManual) return;
  Lane& lane = lanes[open.lane];
  if (lane.breaker == nullptr) {
    claim.breaker_version = 0;
    return;
  }
  if (lane.breaker->open) {
    lane.breaker->trial_run = open.run.id;
    ++lane.breaker->version;
    Call(BreakerCall{*lane.breaker}, Pending());
  }
  claim.breaker_version = lane.breaker->version;
}

TriggerKind EngineState::KindOfNext(const OpenRun& open) {
  if (open.force.manual) return TriggerKind::kManual;
  if (open.run.state == RunState::kCatchupWaiting) return TriggerKind::kCatchup;
  if (open.run.attempts > 0) return TriggerKind::kRetry;
  return open.run.origin;
}

void EngineState::Reserve(OpenRun& open) {
  if (open.reserved) return;
  open.reserved = true;
  if (open.lane != kNoLane) ++lanes[open.lane].running;
  if (open.task == nullptr) return;
  for (const std::string& name : open.task->rule().trigger.pools) {
    pools[name].holders.insert(open.run.id);
    open.pools.push_back(name);
  }
}

// The slots are free again: one waiting run for each is woken, and those of this task.
void EngineState::Unreserve(OpenRun& open) {
  if (!open.reserved) return;
  open.reserved = false;
  if (open.lane != kNoLane) --lanes[open.lane].running;
  for (const std::string& name : open.pools) pools[name].holders.erase(open.run.id);
  std::vector<std::string> freed = std::move(open.pools);
  open.pools.clear();
  for (const std::string& name : freed) WakePool(name, {});
  WakeLane(open.lane);
}

void EngineCore::WaitForPools(OpenRun& open, const std::vector<std::string>& names) {
  for (const std::string& name : names) pools[name].waiting.insert(open.run.id);
  open.waits_for_pools = names;
}

// Those it stands in, whatever pools its rule has by now.
void EngineCore::LeavePools(OpenRun& open) {
  for (const std::string& name : open.waits_for_pools) pools[name].waiting.erase(open.run.id);
  open.waits_for_pools.clear();
}

}  // namespace duecourse
