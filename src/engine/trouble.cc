// The store itself is the trouble: nothing new starts, nothing is lost, somebody hears of it, and it ends
// when it is back.
#include "base/text.h"
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
  late_from = std::min(late_from, store_away_since - kLateGrace);
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
  for (size_t lane : waiting) PlanLane(lane);
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

void EngineState::SendNotice(const NoticeFacts& facts) {
  AlertDraft draft = DraftNotice(facts);
  for (std::vector<ChannelConfig>& channels : ChannelsForAll(rules->config, facts.level)) {
    Emit(AlertSend{MessageOf(NewId('a'), draft.level, draft.title, draft.body), std::move(channels)});
  }
}

}  // namespace duecourse
