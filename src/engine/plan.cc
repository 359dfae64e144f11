// What came due becomes rows. Late occurrences are planned one by one; missed ones are counted by arithmetic
// and only those still inside window and max_delay are enumerated. What came due while the store was away is
// late as long as its window is open; what ended meanwhile is counted as after downtime, for there may be
// much of it.
#include <algorithm>

#include "base/text.h"
#include "engine/state.h"

namespace duecourse {

void EngineState::ArmLane(size_t index) {
  Lane& lane = lanes[index];
  const Task& task = TaskOf(lane);
  std::optional<Instant> next =
      NextDue(task.rule(), lane.value, std::max(lane.planned_through, lane.in_force_since));
  lane.next_due = next.value_or(kNever);
  if (lane.next_due < kNever)
    lane_timers.push({lane.next_due, static_cast<uint32_t>(index), lane_generation});
}

namespace {

// Excluded occurrences among the missed are told apart up to this many; beyond it all count as missed.
constexpr int64_t kSortedRangeMax = 200'000;

// Whether there are days on which the rule owes nothing.
bool IsRestricted(const TriggerRule& trigger) {
  return trigger.days != 0x7f || trigger.workdays_only || !trigger.calendar.empty();
}

// Its day is excluded, or it was moved to a day that has its own.
bool IsNotItsDay(const Task& task, size_t value, const Occurrence& occurrence, const ServerConfig& config) {
  return occurrence.day == Occurrence::Day::kExcluded ||
         (occurrence.moved && DroppedAfterMove(task, value, occurrence, config));
}

void Extend(Note& range, Instant due) {
  if (range.count == 0) range.first_due = due;
  range.last_due = due;
  ++range.count;
}

}  // namespace

// Walks back from the newest occurrence while they may yet start. `any`: late ones, which max_delay does not
// bind, and also those on days that are not the rule's, which have a fate of their own.
std::vector<Instant> EngineState::StillOpen(const Lane& lane, Instant after, Instant end, bool any,
                                            size_t most) const {
  const Task& task = TaskOf(lane);
  std::vector<Instant> open;
  Instant before = end + Millis{1};
  // Windows of one rule end in the order of their due times, so the walk stops at the first ended one. Of
  // those that a calendar moved only the last one before the day it moved to is owed, so they are in order,
  // too.
  while (open.size() < most) {
    std::optional<Instant> due = PreviousDue(task.rule(), lane.value, before);
    if (!due || *due <= after) break;
    Occurrence occurrence = OccurrenceAt(task, lane.value, *due, rules->config);
    if ((any ? occurrence.window.ends : occurrence.start_limit) <= now) break;
    if (any || !IsNotItsDay(task, lane.value, occurrence, rules->config)) open.push_back(*due);
    before = *due;
  }
  std::reverse(open.begin(), open.end());
  return open;
}

// Those that are in no range, oldest first.
static std::vector<Instant> Placed(const DueSet& set) {
  std::vector<Instant> placed = set.starts;
  placed.insert(placed.end(), set.by_hand.begin(), set.by_hand.end());
  placed.insert(placed.end(), set.late.begin(), set.late.end());
  std::sort(placed.begin(), placed.end());
  return placed;
}

// The counted range of what was missed, without those that start or have their run. Days that the rule
// excludes are told apart.
void EngineState::CountMissed(const Lane& lane, Instant after, Instant through, DueSet& set) const {
  const Task& task = TaskOf(lane);
  int64_t total = CountDue(task.rule(), lane.value, after, through);
  const std::vector<Instant> placed = Placed(set);
  int64_t chosen = std::count_if(placed.begin(), placed.end(), [&](Instant due) { return due <= through; });
  Note missed;
  missed.count = 0;
  Note excluded = missed;
  excluded.reason = Reason::kCalendarExcluded;
  excluded.state = RunState::kSkipped;
  if (IsRestricted(task.rule().trigger) && total <= kSortedRangeMax) {
    for (std::optional<Instant> due = NextDue(task.rule(), lane.value, after); due && *due <= through;
         due = NextDue(task.rule(), lane.value, *due)) {
      if (std::binary_search(placed.begin(), placed.end(), *due)) continue;
      Occurrence occurrence = OccurrenceAt(task, lane.value, *due, rules->config);
      Extend(IsNotItsDay(task, lane.value, occurrence, rules->config) ? excluded : missed, *due);
    }
  } else if (total > chosen) {
    missed.count = total - chosen;
    missed.first_due = FirstNotIn(placed, lane, after, through, true);
    missed.last_due = FirstNotIn(placed, lane, after, through, false);
  }
  if (missed.count > 0) set.ranges.push_back(std::move(missed));
  if (excluded.count > 0) set.ranges.push_back(std::move(excluded));
}

// The first (or last) occurrence in (after, through] that is in no other place, on a day of the rule where
// there is one. CHECKs that there is one.
Instant EngineState::FirstNotIn(const std::vector<Instant>& placed, const Lane& lane, Instant after,
                                Instant through, bool forward) const {
  const Task& task = TaskOf(lane);
  std::optional<Instant> due = forward ? NextDue(task.rule(), lane.value, after)
                                       : PreviousDue(task.rule(), lane.value, through + Millis{1});
  std::optional<Instant> any;
  for (int64_t i = 0; i < kSortedRangeMax && due && after < *due && *due <= through; ++i) {
    if (!std::binary_search(placed.begin(), placed.end(), *due)) {
      if (!any) any = due;
      bool excluded =
          IsRestricted(task.rule().trigger) &&
          IsNotItsDay(task, lane.value, OccurrenceAt(task, lane.value, *due, rules->config), rules->config);
      if (!excluded) return *due;
    }
    due = forward ? NextDue(task.rule(), lane.value, *due) : PreviousDue(task.rule(), lane.value, *due);
  }
  CHECK(any.has_value());
  return *any;
}

// The first of them that may really start: on a day of the rule, and not by hand already. What a day excludes
// takes nobody's place.
std::optional<size_t> EngineCore::FirstToStart(const Lane& lane, const std::vector<Instant>& starts) const {
  const Task& task = TaskOf(lane);
  const auto of_lane = ahead.find({task.id, ValueId(task.rule(), lane.value)});
  for (size_t i = 0; i < starts.size(); ++i) {
    const Occurrence occurrence = OccurrenceAt(task, lane.value, starts[i], rules->config);
    if (IsNotItsDay(task, lane.value, occurrence, rules->config)) continue;
    if (of_lane != ahead.end() && of_lane->second.contains(starts[i])) continue;
    return i;
  }
  return std::nullopt;
}

// What is planned one by one, whatever the rule says of missed ones. After a time without the store that may
// be much, so it is only what is still open.
std::vector<Instant> EngineState::LateOnes(const Lane& lane, Instant from) const {
  const Instant graced = now - kLateGrace - Millis{1};
  if (GapIsLate()) {
    const Instant after = std::max(from, std::min(graced, store_gap.from - kLateGrace - Millis{1}));
    return StillOpen(lane, after, now, true, kCatchupOccurrencesMax);
  }
  const RuleBody& rule = TaskOf(lane).rule();
  std::vector<Instant> late;
  for (std::optional<Instant> due = NextDue(rule, lane.value, std::max(from, graced)); due && *due <= now;
       due = NextDue(rule, lane.value, *due)) {
    late.push_back(*due);
  }
  return late;
}

// What came due while the store was away is late where it is planned as soon as the store is back. Who comes
// later was stopped itself meanwhile.
bool EngineCore::GapIsLate() const { return store_gap.from < kNever && now - store_gap.until <= kLateGrace; }

// Occurrences in (after, through] that a person started before they were due.
std::vector<Instant> EngineState::StartedByHand(const Lane& lane, Instant after, Instant through) const {
  std::vector<Instant> found;
  const RuleBody& rule = TaskOf(lane).rule();
  auto of_lane = ahead.empty() ? ahead.end() : ahead.find({TaskOf(lane).id, ValueId(rule, lane.value)});
  if (of_lane == ahead.end()) return found;
  for (Instant due : of_lane->second) {
    // Another schedule may have come into force since.
    if (after < due && due <= through && NextDue(rule, lane.value, due - Millis{1}) == due)
      found.push_back(due);
  }
  return found;
}

void EngineState::PlanLane(size_t index) {
  Lane& lane = lanes[index];
  if (draining) return;  // planned_through stays where SIGTERM found it
  if (!store_available || lane.planning || activating) {
    waiting_lanes.insert(index);  // taken up when the store is back, or the plan before it is durable
    return;
  }
  const Task& task = TaskOf(lane);
  const TriggerRule& trigger = task.rule().trigger;
  Instant from = std::max(lane.planned_through, lane.in_force_since);
  DueSet set;
  set.late = LateOnes(lane, from);
  const auto is_late = [&](Instant due) { return std::binary_search(set.late.begin(), set.late.end(), due); };
  // After an outage the late ones lie among the missed, else behind them.
  const Instant through = GapIsLate() ? now : std::max(from, now - kLateGrace - Millis{1});
  set.by_hand = StartedByHand(lane, from, through);
  std::erase_if(set.by_hand, is_late);
  const int64_t placed = static_cast<int64_t>(set.by_hand.size() + (GapIsLate() ? set.late.size() : 0));
  owed_count = 0;
  if (through > from && CountDue(task.rule(), lane.value, from, through) > placed) {
    if (trigger.missed == MissedPolicy::kAll) {
      set.starts = StillOpen(lane, from, through, false, kCatchupOccurrencesMax);
    } else if (trigger.missed == MissedPolicy::kLatest && !FirstToStart(lane, set.late)) {
      set.starts = StillOpen(lane, from, through, false, 1);
    }
    std::erase_if(set.starts, [&](Instant due) {
      return is_late(due) || std::binary_search(set.by_hand.begin(), set.by_hand.end(), due);
    });
    owed_count = set.starts.size();
    CountMissed(lane, from, through, set);
    const bool can_start = owed_count > 0 || FirstToStart(lane, set.late);
    if (!can_start && trigger.on_window_end == OnWindowEnd::kManual) PersonForNewest(lane, from, set);
  }
  set.starts.insert(set.starts.end(), set.late.begin(), set.late.end());
  EmitPlan(index, std::move(set));
}

// Nothing of what was missed can start, and the rule wants a person: the newest becomes a run for one.
void EngineState::PersonForNewest(const Lane& lane, Instant after, DueSet& set) const {
  for (Note& range : set.ranges) {
    if (range.reason != Reason::kSchedulerDown) continue;
    set.person = range.last_due;
    std::vector<Instant> placed = Placed(set);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), *set.person), *set.person);
    if (--range.count > 0) range.last_due = FirstNotIn(placed, lane, after, *set.person, false);
  }
  std::erase_if(set.ranges, [](const Note& range) { return range.count == 0; });
}

void EngineState::EmitPlan(size_t index, DueSet set) {
  Lane& lane = lanes[index];
  const Task& task = TaskOf(lane);
  PlanCall call;
  Pending pending;
  pending.kind = Pending::Kind::kPlan;
  pending.lane_task = task.id;
  pending.lane_value = ValueId(task.rule(), lane.value);
  call.task = task.id;
  call.value = ValueId(task.rule(), lane.value);
  call.planned_through = now;
  const Zone& zone = ScheduleOf(task.rule(), lane.value).zone;
  const std::string down = DownText(zone);
  const std::optional<size_t> first = FirstToStart(lane, set.starts);
  const bool latest = task.rule().trigger.missed == MissedPolicy::kLatest;
  if (first && latest) SupersedeOlder(lane, set.starts[*first], call, pending);
  std::string first_id;
  if (set.person) {
    owed_to_person = true;
    PlanOne(index, *set.person, call, pending, down);
    owed_to_person = false;
  }
  for (size_t i = 0; i < set.starts.size(); ++i) {
    PlanOne(index, set.starts[i], call, pending, i < owed_count ? down : "");
    if (first == i) first_id = pending.runs.back();
  }
  for (MoveCall& move : call.supersede) move.after.superseded_by = first_id;
  for (Run& after : pending.after) after.superseded_by = first_id;
  for (Note& range : set.ranges) {
    range.task = call.task;
    range.value = call.value;
    range.at = now;
    if (range.reason == Reason::kSchedulerDown) {
      range.detail = down;
      if (first && latest) {
        range.run_id = first_id;
        range.detail += StrCat("; superseded by the occurrence of ", FormatLocal(set.starts[*first], zone));
      }
      TellMissedRange(lane, range, call, pending);
    } else {
      range.detail = "its day is not a day of the rule";
    }
    call.note_decisions.push_back(NoteRow(range, task));
    call.notes.push_back(std::move(range));
  }
  // Asked for again, they are found to be done, and that is noted on their runs.
  for (Instant due : set.by_hand) PlanOne(index, due, call, pending, "");
  auto of_lane = ahead.find({call.task, call.value});
  if (of_lane != ahead.end()) {
    of_lane->second.erase(of_lane->second.begin(), of_lane->second.upper_bound(now));
    if (of_lane->second.empty()) ahead.erase(of_lane);
  }
  lane.planned_through = now;
  lane.planning = true;
  Call(std::move(call), std::move(pending));
  ArmLane(index);
}

std::string EngineCore::DownText(const Zone& zone) const {
  if (GapIsLate())
    return StrCat("the store took nothing from ", FormatLocal(store_gap.from, zone), " to ",
                  FormatLocal(store_gap.until, zone));
  return StrCat("the scheduler was down from ", FormatLocal(last_alive, zone), " to ",
                FormatLocal(now, zone));
}

void EngineCore::NoteDowntime(Instant from) {
  if (from <= kLongAgo || from >= now) return;
  down_from = from;
  down_until = now;
}

// One occurrence: its row, what it supersedes, and its first claim where the answer is already yes. `owed`
// says what it is owed from, or is empty.
void EngineState::PlanOne(size_t index, Instant due, PlanCall& call, Pending& pending,
                          const std::string& owed) {
  Lane& lane = lanes[index];
  const Task& task = TaskOf(lane);
  Run run;
  run.id = NewId('r');
  run.task = task.id;
  run.value = call.value;
  run.identity = StrCat("cron/", FormatUtc(due));
  run.due = due;
  run.owed = !owed.empty();
  run.rule_version = rule_version;
  run.created_at = now;
  run.state_since = now;
  run.business_date = OccurrenceAt(task, lane.value, due, rules->config).business_date;
  OpenRun& open = AddRun(run);
  open.flight = OpenRun::Flight::kPlan;
  PlannedRun planned;
  Ended fate = FirstFate(open, owed);
  if (fate.state != RunState::kScheduled) {
    SetState(open.run, fate.state, fate.reason, open.run.detail);
    planned.decisions.push_back(StateRow(open, RunState::kScheduled, fate.state));
    AddAlert(open, AlertEventOf(fate.state), open.run.detail, planned.alerts);
    pending.alerts.insert(pending.alerts.end(), planned.alerts.begin(), planned.alerts.end());
  } else {
    Decision decision = Evaluate(open);
    // Any other answer is asked for again, and kept, when the row is durable.
    if (decision.verdict == Verdict::kAllow) planned.claim = MakeClaim(open);
  }
  planned.run = open.run;
  pending.runs.push_back(open.run.id);
  call.runs.push_back(std::move(planned));
}

// What is known of an occurrence before it is asked anything: a key that cannot be rendered, a day that is
// not its own.
Ended EngineState::FirstFate(OpenRun& open, const std::string& owed) {
  const Task& task = *open.task;
  const Occurrence& occurrence = open.occurrence;
  if (!occurrence.business_date_known || occurrence.day == Occurrence::Day::kUnknown) {
    open.run.detail = occurrence.day_detail;
    return {RunState::kManualRequired, Reason::kCalendarUnknown};
  }
  // A day that is not its own takes no key: the working day beside it may have the same business date.
  if (IsNotItsDay(task, open.value, occurrence, rules->config)) {
    open.run.detail = occurrence.day_detail;
    return {RunState::kSkipped, Reason::kCalendarExcluded};
  }
  Result<std::string> key = RenderKey(task, open.value, occurrence);
  if (!key.ok()) {
    open.run.detail = key.error().message();
    return {RunState::kManualRequired, Reason::kKeyError};
  }
  open.run.key = *key;
  if (owed_to_person || (!owed.empty() && occurrence.start_limit <= now)) {
    open.run.detail = owed;
    return {RunState::kManualRequired, Reason::kSchedulerDown};
  }
  return {RunState::kScheduled, Reason::kNotDue};
}

// `missed: latest`: an older occurrence that never started, and is owed from downtime or blocked by a limit,
// gives way.
void EngineState::SupersedeOlder(const Lane& lane, Instant newer, PlanCall& call, Pending& pending) {
  for (const std::string& id : lane.open) {
    OpenRun* open = FindRun(id);
    if (open == nullptr || open->run.state != RunState::kScheduled || open->run.attempts > 0) continue;
    if (open->run.extra || open->flight != OpenRun::Flight::kNone || open->run.due >= newer) continue;
    Reason why = open->last.reason;
    if (why == Reason::kNotDue)
      why = open->run.reason;  // a former daemon's answer: this one has not asked yet
    bool by_limit =
        open->last.verdict == Verdict::kDeny && (why == Reason::kMaxConcurrency || why == Reason::kPoolFull ||
                                                 why == Reason::kMinInterval || why == Reason::kRateLimited);
    if (!open->run.owed && !by_limit) continue;
    const std::string& waits = open->last_text.empty() ? open->run.detail : open->last_text;
    std::string detail = StrCat("superseded by the occurrence of ", FormatLocal(newer, ZoneOf(*open)),
                                " while it waited: ", waits.empty() ? ReasonName(why) : waits);
    MoveCall move = MakeMove(*open, RunState::kSkipped, Reason::kSuperseded, detail);
    open->flight = OpenRun::Flight::kMove;
    pending.superseded.push_back(id);
    pending.after.push_back(move.after);
    pending.alerts.insert(pending.alerts.end(), move.alerts.begin(), move.alerts.end());
    call.supersede.push_back(std::move(move));
  }
}

}  // namespace duecourse
