// The store itself is the trouble: nothing new starts, nothing is lost, somebody hears of it, and it ends
// when it is back.
#include "base/text.h"
#include "base/wall_guard.h"
#include "engine/state.h"

namespace duecourse {

// ---- the store itself
void EngineState::OnTrouble(const StoreTrouble& trouble) {
  if (trouble.available == store_available) return;
  store_available = trouble.available;
  if (!trouble.available) {
    store_away_since = now;
    store_fault = trouble.fault;
    Say(LogLevel::kError, "store_unavailable", Json::MakeObject().Set("error", trouble.fault.message));
    for (auto& [id, open] : runs) {
      if (open->executing && open->task != nullptr && open->task->rule().execution.stop_on_store_loss) {
        KillAttempt(*open, KillWhy::kLeaseLost,
                    "the store does not answer and the rule says on_store_loss: stop");
      }
    }
    Arm({now + kStoreAlertAfter, Timer::Kind::kAlert, 0, kStoreAlert});
    return;
  }
  Say(LogLevel::kInfo, "store_available", Json::MakeObject().Set("away_ms", (now - store_away_since).count));
  store_gap = {std::min(store_gap.from, store_away_since), now};
  if (store_told) {
    NoticeFacts facts;
    facts.level = AlertLevel::kP1;
    facts.event = "recovered";
    facts.what = StrCat("the store answers again after ",
                        FormatMillis({(now - store_away_since).count / 1000 * 1000}));
    facts.at = now;
    SendNotice(facts);
  }
  store_told = false;
  store_away_since = kNever;
  std::set<size_t> waiting = std::move(waiting_lanes);
  waiting_lanes.clear();
  for (size_t lane : waiting) {
    PlanLane(lane);
    FlushMany();
  }
  WakeAll();
}

// From memory, without a row: the store is the trouble.
void EngineState::TellStoreTrouble() {
  if (store_available || store_told) return;
  store_told = true;
  NoticeFacts facts;
  facts.level = AlertLevel::kP1;
  facts.event = "store_unavailable";
  facts.what = StrCat("the store has not taken anything since ", FormatUtc(store_away_since), ": ",
                      store_fault.message);
  facts.next = "nothing starts until it answers; running attempts go on and their results are kept";
  facts.todo = {StrCat("look: ", options.program, " doctor"), "the log names the file and the fault"};
  facts.at = now;
  SendNotice(facts);
}

// Sent from memory too: what is stored carries a time, and that is what is in doubt.
NoticeFacts NoticeOfLeap(const ClockLeapt& leap, Instant now) {
  NoticeFacts facts;
  facts.level = AlertLevel::kP2;
  facts.event = "clock_skew";
  facts.at = now;
  if (leap.by == Millis{}) {
    facts.event = "recovered";
    facts.what = "the machine's wall clock is right again; its leap was never followed";
    return facts;
  }
  const bool ahead = leap.by > Millis{};
  const std::string far = FormatMillis(ahead ? leap.by : Millis{} - leap.by);
  facts.what = StrCat("the machine's wall clock leapt ", far, ahead ? " ahead" : " back");
  if (!leap.believed) {
    facts.next = StrCat("time is reckoned on without the leap; if it lasts ", FormatMillis(kWallLeapBelieved),
                        ", it is believed");
    facts.todo = {"look at the machine's time service (timedatectl)"};
    return facts;
  }
  facts.what += " and stayed there, so it is believed";
  facts.next = ahead ? "what was due in between is missed or late, as its rules say"
                     : "what comes due again is known by its key and is not repeated";
  facts.todo = {"look at the machine's time service (timedatectl)",
                "history is not pruned for a day, so a wrong clock can still be set right"};
  return facts;
}

// The clock went back and stays there. What was planned by the hour that is no more is turned back, in memory
// and in the store, and each timer is set anew. What is on its way into the store goes on; who waits for it
// is answered. Running attempts notice nothing.
void EngineState::FollowBack() {
  ActivateCall call;
  lane_timers = {};
  ++lane_generation;
  for (size_t i = 0; i < lanes.size(); ++i) {
    Lane& lane = lanes[i];
    const Task& task = TaskOf(lane);
    if (lane.breaker != nullptr) TurnBack(*lane.breaker, task.rule().retry.breaker_cooldown, now);
    if (TurnBack(lane, now)) {
      call.cursors.push_back(CursorOf(task.id, ValueId(task.rule(), lane.value), lane,
                                      ScheduleFingerprint(ScheduleOf(task.rule(), lane.value))));
    }
    ArmLane(i);
  }
  if (!call.cursors.empty()) {
    call.version.hash = rules->hash;  // the active one: no new version is made
    Call(std::move(call), Pending());
  }
  for (auto& [pool, at] : pool_last_start) at = std::min(at, now);
  if (store_away_since < kNever) store_away_since = std::min(store_away_since, now);
  if (store_gap.from < kNever) store_gap = {std::min(store_gap.from, now), std::min(store_gap.until, now)};
  timers = {};
  ArmFold();
  if (!store_available && !store_told) Arm({now + kStoreAlertAfter, Timer::Kind::kAlert, 0, kStoreAlert});
  for (const auto& [id, alert] : alerts) ArmAlert(alert);
  for (auto& [id, open] : runs) {
    open->timer_at = kNever;
    if (open->not_before > now + kWallSkew) open->not_before = now;
    if (open->renew_at < kNever) open->renew_at = now;
    ArmRun(*open, open->alive ? now + kInspectAgain : kNever);
    Wake(id);
  }
}

void EngineState::SendNotice(const NoticeFacts& facts) {
  AlertDraft draft = DraftNotice(facts);
  for (std::vector<ChannelConfig>& channels : ChannelsForAll(rules->config, facts.level)) {
    Emit(AlertSend{MessageOf(NewId('a'), draft.level, draft.title, draft.body), std::move(channels)});
  }
}

}  // namespace duecourse
