// The clause for people beside a reason: until when, which file, who holds it.
#include <algorithm>

#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

// Who started it by hand and why, and what the hand overrode; empty where a clock did.
static std::string HandText(const OpenRun& open, Instant now) {
  if (!open.asked) return "";
  std::string text = StrCat("by hand, ", open.asked->by);
  if (!open.asked->reason.empty()) text += StrCat(": ", open.asked->reason);
  if (open.run.extra) {
    if (now >= open.run.window_ends) text += "; outside its window, so a failure is a person's at once";
  } else if (now < open.occurrence.window.opens || now >= open.occurrence.window.ends) {
    text += "; outside its window";
  } else if (now < open.occurrence.starts) {
    text += "; before it is due";
  }
  return text;
}

std::string EngineState::DescribeDecision(const OpenRun& open, const Decision& decision) const {
  const RuleBody& rule = open.task->rule();
  const Zone& zone = ScheduleOf(rule, open.value).zone;
  auto at = [&zone](Instant instant) { return FormatLocal(instant, zone); };
  const Run& run = open.run;
  switch (decision.reason) {
    case Reason::kPreconditionNotReady:
    case Reason::kPreconditionInvalid:
    case Reason::kPreconditionCheckFailed:
      return NotReadyText(open);
    case Reason::kNotDue:
      return StrCat("due at ", at(run.extra ? run.due : open.occurrence.starts));
    case Reason::kOutOfWindow:
      return StrCat("the window opens at ", at(run.window_opens));
    case Reason::kExceededWindow:
      return StrCat("the window ended at ", at(run.window_ends));
    case Reason::kExceededMaxDelay:
      return StrCat("max_delay ended at ", at(open.occurrence.start_limit));
    case Reason::kWaitingRetry:
      return StrCat("the next retry is at ", at(run.next_at.value_or(now)), MovedText(open));
    case Reason::kWaitingCatchup:
      return StrCat("the next catch-up is at ", at(run.next_at.value_or(now)), MovedText(open));
    case Reason::kBreakerOpen:
      return BreakerText(open);
    case Reason::kPaused:
      return PausedText(open);
    case Reason::kMaintenanceWindow:
      return MaintenanceText(decision.index);
    case Reason::kPoolFull:
      return PoolText(open, decision.index);
    case Reason::kMaxConcurrency:
      return StrCat(rule.trigger.max_concurrency, " of this task may run at once; ", HolderText(open, false));
    case Reason::kWaitingInOrder:
      return StrCat("an earlier occurrence is not over: ", HolderText(open, true));
    case Reason::kMinInterval:
      return StrCat("the last start is less than ", FormatMillis(rule.trigger.min_interval), " ago");
    case Reason::kAttemptsExhausted:
      return StrCat(run.counted, " of ", rule.retry.max_total_attempts, " attempts were used");
    case Reason::kCancelled:
      return run.cancel;
    case Reason::kDraining:
      return "the daemon is stopping";
    case Reason::kStoreUnavailable:
      return "the store does not answer";
    case Reason::kCalendarExcluded:
    case Reason::kCalendarUnknown:
      return open.occurrence.day_detail;
    case Reason::kAllConditionsMet: {
      std::string hand = HandText(open, now);
      if (std::string passed = PassedText(open); !passed.empty()) hand += StrCat("; ", passed);
      std::string time =
          open.occurrence.in_gap ? StrCat("moved: ", open.occurrence.gap_detail) : LatenessText(open);
      return hand.empty() || time.empty() ? hand + time : StrCat(hand, "; ", time);
    }
    default:
      return "";
  }
}

// Each answer that is passed over, with its clause: "not_due (due at …), precondition_not_ready (…)".
std::string EngineState::PassedText(const OpenRun& open) const {
  std::string text;
  for (const Decision& passed : open.passed) {
    std::string clause = passed.verdict == Verdict::kProbe ? "" : DescribeDecision(open, passed);
    const bool waits_for_something = passed.reason == Reason::kPreconditionNotReady ||
                                     passed.reason == Reason::kPreconditionInvalid ||
                                     passed.reason == Reason::kPreconditionCheckFailed;
    if (waits_for_something) clause += UnseenText(open, clause.empty() ? "" : "; ");
    text += StrCat(text.empty() ? "passed over: " : ", ", ReasonName(passed.reason));
    if (!clause.empty()) text += StrCat(" (", clause, ")");
  }
  return text;
}

// "file /data/orders.csv": what it asks, as this run would ask it.
static std::string NameOf(const Precondition& condition, const TemplateScope& scope) {
  const Template* name = nullptr;
  switch (condition.type) {
    case Precondition::Type::kFlag:
      name = &condition.flag.name;
      break;
    case Precondition::Type::kFile:
      name = &condition.file.path;
      break;
    case Precondition::Type::kHttp:
      name = &condition.http.url;
      break;
    case Precondition::Type::kTask:
      name = &condition.task.task;
      break;
    case Precondition::Type::kCommand:
      name = &condition.command.argv.front();
      break;
  }
  Result<std::string> text = Render(*name, scope);
  return StrCat(PreconditionTypeName(condition.type), " ", text.ok() ? *text : name->text());
}

// The preconditions that nobody looked at: of them it is not known whether they hold.
std::string EngineState::UnseenText(const OpenRun& open, const char* separator) const {
  const TriggerRule& trigger = open.task->rule().trigger;
  std::string text;
  for (size_t i = 0; i < open.observed.size(); ++i) {
    const PreconditionFact& fact = open.observed[i].fact;
    if (fact.once_met_stays || IsFresh(fact, now, trigger.check_interval)) continue;
    text += StrCat(text.empty() ? StrCat(separator, "not looked at: ") : ", ",
                   NameOf(trigger.preconditions[i], ScopeOf(*open.task, open.value, open.occurrence)));
  }
  return text;
}

std::string EngineCore::GoneText(const Run& run) const {
  if (rules->Find(run.task) == nullptr) return "its rule was removed";
  return StrCat("its rule has no value ", run.value, " any more");
}

std::string EngineState::LatenessText(const OpenRun& open) const {
  Millis late = now - open.occurrence.starts;
  if (open.run.extra || open.run.attempts > 0 || late < Seconds(1)) return "";
  return StrCat(open.run.owed ? "caught up inside window, " : "", FormatMillis({late.count / 1000 * 1000}),
                " late");
}

std::string EngineState::NotReadyText(const OpenRun& open) const {
  std::string text;
  for (const Observed& seen : open.observed) {
    if (seen.fact.answer == PreconditionFact::Answer::kYes || seen.text.empty()) continue;
    if (!text.empty()) text += "; ";
    text += seen.text;
  }
  return text.empty() ? "not looked at yet" : text;
}

std::string EngineState::BreakerText(const OpenRun& open) const {
  if (open.lane == kNoLane || lanes[open.lane].breaker == nullptr) return "";
  const Breaker& breaker = *lanes[open.lane].breaker;
  return StrCat("breaker open until ", FormatLocal(breaker.until.value_or(now), ZoneOf(open)));
}

// An attempt that a cooldown moved comes at its very end.
std::string EngineCore::MovedText(const OpenRun& open) const {
  const Breaker* breaker = open.lane == kNoLane ? nullptr : lanes[open.lane].breaker.get();
  const bool moved =
      breaker != nullptr && breaker->open && breaker->until && breaker->until == open.run.next_at;
  return moved ? ", moved there by the breaker, which is open until then" : "";
}

std::string EngineState::PausedText(const OpenRun& open) const {
  const Control* control = PauseOf(*open.task);
  if (control == nullptr) return "";
  return StrCat("paused (", control->scope, ") by ", control->by, " at ",
                FormatLocal(control->at, ZoneOf(open)), control->reason.empty() ? "" : ": ", control->reason);
}

std::string EngineState::MaintenanceText(int index) const {
  if (index < 0 || static_cast<size_t>(index) >= rules->config.maintenance.size()) return "";
  const MaintenanceConfig& item = rules->config.maintenance[static_cast<size_t>(index)];
  return StrCat("maintenance ", item.name, item.why.empty() ? "" : ": ", item.why);
}

std::string EngineState::PoolText(const OpenRun& open, int index) const {
  const std::vector<std::string>& names = open.task->rule().trigger.pools;
  if (index < 0 || static_cast<size_t>(index) >= names.size()) return "";
  const std::string& name = names[static_cast<size_t>(index)];
  std::string text = StrCat("pool ", name, " is full");
  const char* separator = ": held by ";
  auto pool = pools.find(name);
  if (pool == pools.end()) return text;
  for (const std::string& id : pool->second.holders) {
    auto other = runs.find(id);
    if (other == runs.end()) continue;
    text += StrCat(separator, other->second->run.key.value_or(other->second->run.task));
    separator = ", ";
  }
  return text;
}

// Of the same task (and value): the first that is earlier, or that has a slot.
std::string EngineState::HolderText(const OpenRun& open, bool earlier) const {
  if (open.lane == kNoLane) return "";
  for (const std::string& id : lanes[open.lane].open) {
    auto it = runs.find(id);
    if (it == runs.end() || it->second.get() == &open) continue;
    const Run& other = it->second->run;
    if (earlier ? other.due < open.run.due : it->second->reserved) {
      return StrCat(other.key.value_or(other.id), " is ", RunStateName(other.state));
    }
  }
  return "";
}

}  // namespace duecourse
