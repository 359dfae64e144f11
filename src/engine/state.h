// The engine's memory and the parts it is made of. Internal to this room: each
// .cc implements one part of EngineState. One thread.
#pragma once

#include "decide/decide.h"
#include "decide/recover.h"
#include "engine/core.h"

namespace duecourse {

class EngineState : public EngineCore {
 public:
  EngineState(EngineOptions engine_options, Rules rule_set, uint64_t seed);

  // ---- engine.cc: the step
  void Step(std::vector<Event> events);
  void Handle(Event event);
  void StopRunning();
  bool IsDrained() const;
  void RunTimers();
  void OnRunTimer(const std::string& id);

  // ---- begin.cc: from the store's knowledge to memory
  void Begin(const OpenReply& opened, const Snapshot& snapshot,
             std::vector<std::pair<std::string, std::string>> texts);
  void Resync(const Snapshot& snapshot, const std::optional<OpenReply>& reopened, RuleTexts texts);
  void AnswerUnknown();
  void Adopt(const Snapshot& snapshot);
  void AdoptRuns(const Snapshot& snapshot);
  void AdoptRunning(OpenRun& open);
  void BuildLanes(const std::vector<TaskCursor>& cursors, bool activate,
                  std::vector<std::pair<std::string, std::string>> texts);
  TaskCursor CursorOf(const std::string& task, const std::string& value, const Lane& lane,
                      const std::string& print) const;
  void Activate(ActivateCall call, std::vector<std::pair<std::string, std::string>> texts,
                const std::string& by);
  OpenRun& AddRun(const Run& run);
  void Bind(OpenRun& open);

  // ---- plan.cc: what came due
  void ArmLane(size_t index);
  void PlanLane(size_t index);
  std::vector<Instant> StillOpen(const Lane& lane, Instant after, Instant end, bool any, size_t most) const;
  std::vector<Instant> LateOnes(const Lane& lane, Instant from) const;
  std::vector<Instant> StartedByHand(const Lane& lane, Instant after, Instant through) const;
  void CountMissed(const Lane& lane, Instant after, Instant through, DueSet& set) const;
  Instant FirstNotIn(const std::vector<Instant>& placed, const Lane& lane, Instant after, Instant through,
                     bool forward) const;
  void PersonForNewest(const Lane& lane, Instant after, DueSet& set) const;
  void EmitPlan(size_t index, DueSet set);
  void PlanOne(size_t index, Instant due, PlanCall& call, Pending& pending, const std::string& owed);
  Ended FirstFate(OpenRun& open, const std::string& owed);
  void SupersedeOlder(const Lane& lane, Instant newer, PlanCall& call, Pending& pending);

  // ---- ask.cc: facts, decision, claim
  void Wake(const std::string& run_id);
  void WakeLane(size_t lane);
  void WakeAll();
  void AskDirty();
  void WakePool(const std::string& name, const std::set<std::string>& asked);
  void Ask(OpenRun& open);
  Decision Evaluate(OpenRun& open);
  Facts Gather(const OpenRun& open);
  void GatherLane(const OpenRun& open, Facts& facts);
  ClaimCall MakeClaim(OpenRun& open);
  void TakeTrial(OpenRun& open, ClaimCall& claim);
  static TriggerKind KindOfNext(const OpenRun& open);
  void Reserve(OpenRun& open);
  void Unreserve(OpenRun& open);

  // ---- observe.cc: preconditions
  static std::pair<std::string, int32_t> FlagKey(const Flag& flag);
  static void MarkMet(const OpenRun& open, Observed& seen);
  void GatherFlags(OpenRun& open);
  void AnswerFlag(OpenRun& open, const FlagCondition& condition, Observed& seen);
  void Observe(OpenRun& open);
  void AskUpstream(OpenRun& open, size_t index);
  void StartProbe(OpenRun& open, size_t index);
  void OnProbe(const ProbeAnswer& answer);
  void Settle(OpenRun& open, size_t index, PreconditionFact::Answer answer, const std::string& code,
              const std::string& text);
  void OnUpstream(OpenRun& open, const Pending& pending, const std::vector<Run>& found);
  void WakeWaitersOfTask(const std::string& task);
  void WakeWaitersOfFlag(const std::string& name);
  void SetFlag(const Flag& flag, bool remove);

  // ---- wait.cc: answers that are not yes; rows.cc: rows; describe.cc: clauses for people
  void Wait(OpenRun& open, const Decision& decision);
  void FoldAll();
  void End(OpenRun& open, const Decision& decision);
  MoveCall MakeMove(OpenRun& open, RunState state, Reason reason, const std::string& detail);
  void MoveRun(OpenRun& open, Change change);
  void SetState(Run& run, RunState state, Reason reason, const std::string& detail) const;
  DecisionRow DecisionOf(const OpenRun& open, const char* decision, Reason reason) const;
  DecisionRow StateRow(const OpenRun& open, RunState from, RunState to);
  DecisionRow NoteRow(const Note& note, const Task& task);
  Json DetailOf(const OpenRun& open) const;
  void LogDecision(const DecisionRow& row);
  std::string DescribeDecision(const OpenRun& open, const Decision& decision) const;
  std::string LatenessText(const OpenRun& open) const;
  std::string PassedText(const OpenRun& open) const;
  std::string NotReadyText(const OpenRun& open) const;
  std::string UnseenText(const OpenRun& open, const char* separator) const;
  std::string BreakerText(const OpenRun& open) const;
  std::string PausedText(const OpenRun& open) const;
  std::string MaintenanceText(int index) const;
  std::string PoolText(const OpenRun& open, int index) const;
  std::string HolderText(const OpenRun& open, bool earlier) const;

  // ---- carry.cc: replies of the store; start.cc: starts
  void OnStore(StoreReplied reply);
  void OnReply(Pending& pending, StoreReply& reply);
  void OnPlanned(Pending& pending, const PlanReply& reply);
  void OnPlannedRun(OpenRun& open, const PlannedReply& reply, Pending& pending);
  void OnKnown(OpenRun& open, const PlannedReply& reply);
  bool NextExtraKey(OpenRun& open);
  void OnClaimed(OpenRun& open, const ClaimReply& reply);
  void OnRefused(OpenRun& open, const ClaimReply& reply);
  void OnMoved(OpenRun& open, Pending& pending, const MoveReply& reply);
  void Close(const std::string& run_id);
  void Reread(OpenRun& open, const char* refused);
  void OnReread(OpenRun& open, const std::vector<Run>& found);
  void TakeEnded(OpenRun& open);
  void StartAttempt(OpenRun& open);
  void LogStart(const OpenRun& open);
  void KillAttempt(OpenRun& open, KillWhy why, const std::string& cause);
  void OnRunningTimer(OpenRun& open);

  // ---- finish.cc: endings of attempts
  void OnEnded(const AttemptRef& ref, Ending ending);
  void OnInspected(const Inspection& inspection);
  Classified ClassifyEnding(const OpenRun& open, const Ending& ending) const;
  BreakerChange CountBreaker(OpenRun& open, const Classified& what, bool used_up);
  void FinishAttempt(OpenRun& open, Ending ending);
  Recovery AskRecover(const OpenRun& open, const Ending& ending, const Classified& what,
                      const BreakerChange& change);
  Attempt EndOf(const OpenRun& open, const Classified& what, const Ending& ending) const;
  Run AfterRecovery(OpenRun& open, const Recovery& next, const Classified& what);
  void OnFinished(OpenRun& open, Pending& pending, bool accepted);
  void SuccessFlags(const OpenRun& open, std::vector<Flag>& out) const;

  // ---- tell.cc: alerts; trouble.cc: the store itself
  AlertRow RowOf(const AlertDraft& draft, const std::string& episode, const std::string& task,
                 const std::string& run_id, const std::string& owner);
  void AddAlert(OpenRun& open, std::optional<AlertRule::Event> event, const std::string& what,
                std::vector<AlertRow>& rows, bool part_of_breaker = false);
  std::string NextText(const OpenRun& open) const;
  void TellEnding(OpenRun& open, const Classified& what, const BreakerChange& change,
                  std::vector<AlertRow>& rows);
  void TellRecovery(const OpenRun& open, const std::string& what, std::vector<AlertRow>& rows);
  void TellBreaker(const OpenRun& open, const BreakerChange& change, std::vector<AlertRow>& rows);
  void TellMissedRange(const Lane& lane, const Note& range, PlanCall& call, Pending& pending);
  void SetStuckLimit(OpenRun& open);
  void TellStuck(OpenRun& open);
  void KeepAlert(const AlertRow& row);
  void SendAlertAgain(const std::string& id);
  void OnAlert(const SendResult& result);
  void OnTrouble(const StoreTrouble& trouble);
  void TellStoreTrouble();
  void FollowBack();
  void SendNotice(const NoticeFacts& facts);

  // ---- person.cc, byhand.cc, control.cc, explain.cc: what people ask for
  void OnRequest(Request request);
  void OnTrigger(const Request& request, const TriggerRequest& trigger);
  std::string NoLaneText(const std::string& task, const std::string& value) const;
  std::optional<Instant> ChooseOccurrence(const Lane& lane, const TriggerRequest& trigger,
                                          std::string* problem) const;
  std::optional<Instant> ChooseByDate(const Lane& lane, CivilDay date, std::string* problem) const;
  void TriggerOpen(const Request& request, OpenRun& open, bool forced);
  void AskWithProbes(OpenRun& open);
  void PlanByHand(const Request& request, size_t index, Instant due, const TriggerRequest& trigger);
  Uncount UncountOf(OpenRun& open, const Request& request);
  void AskByHand(const Request& request, Run run, const Force& force);
  void PlanAsked(OpenRun& open);
  void OnCancel(const Request& request, const CancelRequest& cancel);
  void OrderCancel(const Request& request, OpenRun& open, const std::string& words);
  void ObeyCancel(OpenRun& open);
  void OnManual(const Request& request, const ManualRequest& manual);
  void ClaimByHand(const Request& request, OpenRun& open);
  void SupersedeByHand(const Request& request, const ManualRequest& manual);
  void OnFlag(const Request& request, const FlagRequest& asked);
  void OnPause(const Request& request, const PauseRequest& asked);
  bool ScopeExists(const std::string& scope, std::string* problem) const;
  void OnControlled(const Pending& pending);
  void EndPaused(Lane& lane, bool keep_newest);
  Json RunJson(const OpenRun& open) const;
  Json LaneJson(const Lane& lane) const;
  void Explain(const Request& request, const std::string& task_id);
  void ListTasks(const Request& request);
  void Flush(const Request& request);

  // ---- rules.cc: a new set
  void OnRules(RulesOffered offered);
  void SwitchRules(RulesOffered offered, std::vector<RuleChange> changes);
  void RebindRuns();
  void OnActivated(const Pending& pending, const ActivateReply& reply);
};

}  // namespace duecourse
