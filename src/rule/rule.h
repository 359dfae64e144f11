// What a rule says, with every default filled in (docs/reference/rule.md names
// the keys). A RuleBody holds no task id, so bodies that are alike are kept
// once and shared by thousands of tasks. Immutable after loading; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rule/execution.h"
#include "rule/precondition.h"
#include "rule/template.h"
#include "time/schedule.h"
#include "time/window.h"

namespace duecourse {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct BusinessDateRule {
  enum class Kind { kSameDay, kPreviousDay, kPreviousWorkday, kNextWorkday, kOffset };
  Kind kind = Kind::kSameDay;
  int offset_days = 0;  // kOffset
  friend bool operator==(const BusinessDateRule&, const BusinessDateRule&) = default;
};

enum class OnWindowEnd { kManual, kMissed };
enum class MissedPolicy { kLatest, kAll, kSkip };
enum class OnExcluded { kSkip, kNextWorkday };
enum class OnLost { kRerun, kHold };
enum class Supersede { kAllowed, kNever };

struct TriggerRule {
  Schedule schedule;           // of a rule whose zone is the same for all values
  bool zone_by_value = false;  // timezone: "{zone}"
  BusinessDateRule business_date;
  WindowSpec window;
  bool window_end_written = false;
  bool dst_gap_written = false;  // somebody has decided what a time that does not exist means
  uint8_t days = 0x7f;         // bit n = weekday n, judged on the day the window opens
  bool workdays_only = false;  // allow_weekend: false or days: workdays; with `calendar` where one is named
  std::optional<CivilDay> until;  // last local day on which an occurrence may be due
  std::string calendar;           // name in duecourse.yaml, or empty
  OnExcluded on_excluded = OnExcluded::kSkip;
  OnWindowEnd on_window_end = OnWindowEnd::kMissed;
  MissedPolicy missed = MissedPolicy::kSkip;
  std::vector<Precondition> preconditions;  // depends_on first
  Millis check_interval = Seconds(30);
  Millis min_interval;  // 0: none
  int max_concurrency = 1;
  bool in_order = false;
  std::vector<std::string> pools;
  Millis lease_ttl = Seconds(60);
  Millis lease_heartbeat = Seconds(15);
  friend bool operator==(const TriggerRule&, const TriggerRule&) = default;
};

struct AvoidHours {  // local times of day; an end at or before its start is the next day
  int32_t start = 0;
  int32_t end = 0;
  friend bool operator==(const AvoidHours&, const AvoidHours&) = default;
};

struct RetryRule {
  bool written = false;  // any retry block at all
  int immediate_max = 0;
  Millis immediate_interval = Seconds(5);
  std::vector<Millis> backoff;  // one entry a retry, expanded from intervals or initial/factor/max
  Millis jitter;                // 0..jitter is drawn for each ladder step
  bool then_manual = false;     // retry.then: manual
  bool catchup = false;
  Millis catchup_interval = Minutes(30);
  std::optional<int> catchup_max_times;  // executions
  std::optional<Millis> max_delay;       // from the due instant
  bool only_if_data_ready = true;
  std::vector<AvoidHours> avoid;
  int max_total_attempts = 1;
  int breaker_failures = 0;  // written: consecutive failed attempts; 0: three runs that used up their ladder
  Millis breaker_cooldown = Minutes(30);
  bool breaker_manual = false;  // then: manual
  friend bool operator==(const RetryRule&, const RetryRule&) = default;
};

enum class AlertLevel { kNone, kP3, kP2, kP1 };  // rising
struct AlertRule {
  enum class Policy { kGraded, kThreeStep };
  enum class Event {
    kFailure,
    kSecondFailure,
    kThirdFailure,
    kSkipped,
    kMissed,
    kManualRequired,
    kBreakerOpen,
    kStuck
  };
  Policy policy = Policy::kGraded;
  std::vector<std::pair<Event, AlertLevel>> levels;   // what the rule changes
  std::vector<std::pair<std::string, Millis>> stuck;  // state name -> limit
  friend bool operator==(const AlertRule&, const AlertRule&) = default;
};

struct ForEachValue {
  std::string id;  // "channel=app": names and values in the rule's order; identity of (task, value)
  Fields fields;
  std::optional<Schedule> schedule;  // where zone_by_value
  friend bool operator==(const ForEachValue&, const ForEachValue&) = default;
};

// A key of a later issue, kept as written so that it prints back; `check` says "not supported yet", `serve`
// refuses.
struct UnsupportedKey {
  std::string path;  // "preconditions[0].path"
  std::string what;  // "s3:// paths"
  int line = 0;
  int column = 0;
  std::string text;  // YAML as it prints back
  // Where it stood is not part of what it says.
  friend bool operator==(const UnsupportedKey& a, const UnsupportedKey& b) {
    return a.path == b.path && a.what == b.what && a.text == b.text;
  }
};

struct RuleBody {
  std::string why;
  std::string owner;
  Fields labels;
  bool enabled = true;
  Fields vars;
  TriggerRule trigger;
  RetryRule retry;
  OnLost on_lost = OnLost::kRerun;
  Template business_key;  // the default where none is written: {task}:{scheduled_at}
  bool key_written = false;
  Supersede supersede = Supersede::kAllowed;
  Millis keep = Days(400);
  ExecutionRule execution;
  std::vector<Template> on_success_flags;
  AlertRule alerts;
  std::vector<ForEachValue> for_each;  // empty: one value with an empty id
  std::vector<std::pair<std::string, std::string>>
      whys;  // block path -> why: "window", "retry", "retry.catchup"
  std::vector<UnsupportedKey> unsupported;
  std::string hash;  // SHA-256 of what the body means; equal bodies, equal hashes

  // Has preconditions.
  bool Waits() const { return !trigger.preconditions.empty(); }
  // Has a ladder or a catch-up.
  bool Retries() const { return retry.immediate_max > 0 || !retry.backoff.empty() || retry.catchup; }
  // True where the rule waits, retries, catches up, fans out or has another business date (section 2 of the
  // concepts).
  bool Elaborate() const;
  friend bool operator==(const RuleBody&, const RuleBody&) = default;
};

struct Task {
  std::string id;
  std::shared_ptr<const RuleBody> body;
  uint32_t file = 0;  // index into RuleSet::files
  int line = 0;       // where the rule begins

  const RuleBody& rule() const { return *body; }
};

// The schedule of one value of a rule (value index 0 where there is no for_each).
const Schedule& ScheduleOf(const RuleBody& rule, size_t value);
// Values a rule fans out to: at least one.
size_t ValueCount(const RuleBody& rule);
const std::string& ValueId(const RuleBody& rule, size_t value);

}  // namespace duecourse
