// The engine's memory as one object, with the small things that every part of it
// needs: timers, store calls of this step, effects, looking up. Internal to this
// room. One thread.
#pragma once

#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "engine/memory.h"

namespace duecourse {

using RuleTexts = std::vector<std::pair<std::string, std::string>>;  // path, text

// A person asks; `forced` says whether what stands against it is passed over.
Force ForceOf(bool forced);
NoticeFacts NoticeOfLeap(const ClockLeapt& leap, Instant now);

class EngineCore {
 public:
  EngineCore(EngineOptions engine_options, Rules rule_set, uint64_t seed);

  void Arm(Timer timer);
  void ArmRun(OpenRun& open, Instant at);
  void EndOrphans();
  void ArmFold();
  void DropTimersOfRows();  // of runs and alerts: armed again from the rows that are read
  void ArmAlert(const AlertRow& alert);
  Instant NextTimer() const;
  void Call(StoreCall call, Pending pending);
  void FlushCalls();
  void FlushMany();  // of a crowd the first are stored while the others are still looked at
  void Emit(Effect effect) { effects->push_back(std::move(effect)); }
  void Say(LogLevel level, const char* event, Json fields);
  OpenRun* FindRun(const std::string& id);
  Lane* FindLane(const std::string& task, const std::string& value, size_t* index = nullptr);
  void AddLane(uint32_t task, uint32_t value, Lane lane);
  void JoinLane(OpenRun& open);
  std::string NewId(char prefix);
  void WaitForFlag(OpenRun& open, const std::string& name);
  void WaitForTask(OpenRun& open, const std::string& task);
  void StopWaiting(OpenRun& open);
  void WaitForPools(OpenRun& open, const std::vector<std::string>& names);
  void LeavePools(OpenRun& open);
  // Folded repeats of its newest answer, into the store or, where the answer's row is not there yet, aside.
  void FoldOne(OpenRun& open);
  void OnAnswerStored(OpenRun* open, uint64_t ticket, int64_t decision_id);
  // The trial of this run came to nothing: another may take its place.
  void ReleaseTrial(const OpenRun& open);
  // What is claimed may yet wait for a slot of the executor: where decide/ says no, it does not begin there.
  void AskBegin(const OpenRun& open);
  // Answers to people, and the row that says who did what.
  void Reply(const Request& request, Answer::Kind kind, const std::string& message, Json body);
  void Refuse(const Request& request, Reason reason, const std::string& text, const std::string& run_id);
  std::string StartAgainText(const Run& run) const;
  // ... to the person whose question this run answers; that a run has what is asked for, or is over.
  void RefuseAsked(OpenRun& open, Reason reason, const std::string& text);
  void RefuseKnown(const Request& request, const PlannedReply& known, const std::string& what);
  void RefuseOpen(const Request& request, const Run& run);
  void OverOrUnknown(const Request& request, const std::string& run_id, const std::optional<Run>& stored);
  // The pause of this task, or null; the end of the maintenance that is on for it, or kLongAgo.
  const Control* PauseOf(const Task& task) const;
  Instant MaintenanceUntil(const Task& task, int* index) const;
  bool GapIsLate() const;
  std::optional<size_t> FirstToStart(const Lane& lane, const std::vector<Instant>& starts) const;
  // Why nothing was planned until now.
  std::string DownText(const Zone& zone) const;
  // Nobody was at work from then until now.
  void NoteDowntime(Instant from);
  std::string MovedText(const OpenRun& open) const;
  const Task* TaskToTell(const OpenRun& open) const;
  // Why there is nothing that judges this run any more.
  std::string GoneText(const Run& run) const;
  void AnswerFine(const Pending& pending, const std::string& run_id);
  void NoteByHand(const Request& request, OpenRun& open, Run after, const char* action,
                  std::vector<DecisionRow> rows);
  bool AnswerClaim(const Pending& pending, const Run& before);
  AuditRow AuditOf(const Request& request, const char* action, const std::string& task,
                   const std::string& run_id) const;
  // What no longer counts: timers that are dead, flags that history no longer holds.
  void DropDeadTimers();
  void DropOldFlags();
  size_t held() const;
  const Task& TaskOf(const Lane& lane) const { return rules->tasks[lane.task]; }

  EngineOptions options;
  Rules rules;
  Random random;
  Instant now;
  std::vector<Effect>* effects = nullptr;
  std::vector<StoreCall> calls;  // of this step; one batch, of a crowd several
  std::vector<Pending> call_pendings;
  uint64_t next_ticket = 1;
  std::map<uint64_t, std::vector<Pending>> flights;
  std::vector<Lane> lanes;
  uint32_t lane_generation = 0;      // timers of lanes of a former set are dead
  std::vector<uint32_t> first_lane;  // of each task of the set; kNoFirstLane where it has none
  std::map<std::pair<std::string, std::string>, std::set<Instant>> ahead;  // started before they were due
  std::set<size_t> waiting_lanes;    // due, but the store is away or a plan is in flight
  size_t owed_count = 0;             // of the plan being made: how many starts are owed from downtime
  std::map<std::string, std::unique_ptr<OpenRun>> runs;
  std::map<std::string, std::unique_ptr<OpenRun>> former;  // while Resync is under way
  std::map<std::string, PoolState> pools;
  std::map<std::string, Instant> pool_last_start;
  std::map<std::pair<std::string, int32_t>, Flag> flags;
  std::map<std::string, Control> controls;
  std::map<std::string, AlertRow> alerts;                                // that no channel has taken yet
  std::map<std::string, std::set<std::string>> task_waiters;             // upstream task -> runs
  std::map<std::string, std::set<std::string>> flag_waiters;             // flag name -> runs
  std::map<std::pair<std::string, std::string>, Breaker> idle_breakers;  // of tasks that are not in the set
  std::set<std::string> dirty;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers;
  std::priority_queue<LaneTimer, std::vector<LaneTimer>, std::greater<>> lane_timers;
  std::map<uint64_t, std::pair<std::string, size_t>> probes;  // ticket -> run, precondition
  std::map<uint64_t, LateCount> late_counts;                  // ticket of the answer
  std::vector<PreconditionFact> scratch_conditions;
  std::vector<PoolFact> scratch_pools;
  int64_t rule_version = 0;
  int64_t control_version = 0;
  int64_t control_asked = 0;  // given to the newest pause or resume on its way
  bool store_available = true;
  bool store_told = false;
  StoreFault store_fault;
  Instant store_away_since = kNever;
  StoreGap store_gap;              // what came due in it is late, not missed, while its window is open
  Instant last_alive = kLongAgo;   // newest instant at which a daemon was at work, before this step
  Instant down_from = kNever;      // of the newest downtime; kNever: none is known
  Instant down_until = kLongAgo;
  Instant found_alive = kLongAgo;  // the same as this daemon found it at its start: of the one before it
  bool activating = false;         // a new version of the rules is on its way into the store
  std::vector<std::pair<std::string, std::string>> activating_texts;
  bool owed_to_person = false;  // of the plan being made: what is planned is a person's
  bool draining = false;
  bool stopping = false;
  bool drained_said = false;
  int64_t decisions_made = 0;
  int64_t attempts_started = 0;
};

}  // namespace duecourse
