// The calls of the SQLite store, each inside the transaction that Commit has begun. Internal to this room;
// one thread. Failures gather in the session; what a call answers after one is not to be used.
//
// On the way of a run that succeeds at once these are all statements: plan with claim reads the task's live
// leases and the breaker, inserts run, decision and attempt and updates the task; its finish reads the run's
// head, updates run and attempt, and inserts a decision.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/claim.h"
#include "store/sql_session.h"

namespace duecourse {

class SqliteCalls : private ClaimView {
 public:
  explicit SqliteCalls(SqlSession& session) : session_(session) {}

  // Who has the store open (owner_seq: its row of `node`), once after Open.
  void Begin(const StoreOwner& owner, int64_t owner_seq);
  // Before the calls of each commit. `closed`: why no claim is granted, or empty.
  void BeginCommit(StoreTime now, std::string closed);
  // Nothing is remembered from one commit to the next: the one before may have failed.
  void Forget();
  StoreReply Do(const StoreCall& call);
  int64_t ActiveRules() override;

 private:
  // The part of a run's row that claims, finishes and moves are judged by.
  struct Head {
    int64_t seq = 0;
    Run run;
  };

  // sqlite_calls.cc
  std::optional<Head> FindHead(const std::string& id);
  // Of the run it names; where it names none, of the head, if any.
  int64_t WriteDecision(const DecisionRow& row, const Head* head);
  int64_t WriteDecisions(const std::vector<DecisionRow>& rows, const Head& head);
  void WriteAlerts(const std::vector<AlertRow>& rows);
  void WriteAudit(const AuditRow& row);
  void WriteFlags(const std::vector<Flag>& flags);
  void WriteBreaker(const Breaker& breaker);
  void TakeFromRange(const Uncount& uncount, const Head& head);
  bool WriteNote(const Note& note, const std::string& identity);
  NoReply Call(const FlagCall& call);
  NoReply Call(const ControlCall& call);
  NoReply Call(const FoldCall& call);
  DecisionReply Call(const NoteDecisionCall& call);
  NoReply Call(const AlertsCall& call);
  NoReply Call(const BreakerCall& call);
  NoReply Call(const AuditCall& call);

  // sqlite_claim.cc
  ClaimReply Call(const ClaimCall& call);
  ClaimReply Call(const FindNonceCall& call);
  RenewReply Call(const RenewCall& call);
  FinishReply Call(const FinishCall& call);
  MoveReply Call(const MoveCall& call);
  void WriteAttempt(const ClaimCall& call, const Head& granted);
  void WriteStart(const std::string& task, const std::string& value);
  void UpdateRun(const Head& head, const Run& after);
  int64_t NewestControl() override;
  BreakerSeen BreakerOf(const std::string& task, const std::string& value) override;
  std::optional<Instant> LastStart(const std::string& task, const std::string& value) override;
  LiveLeases TaskLeases(const std::string& task, const std::string& value) override;
  LiveLeases PoolLeases(const std::string& pool) override;
  std::string ClosedBecause() override { return closed_; }

  // sqlite_plan.cc
  PlanReply Call(const PlanCall& call);
  PlannedReply PlanOne(const PlannedRun& planned);
  PlannedReply Known(const PlannedRun& planned);
  ActivateReply Call(const ActivateCall& call);
  void WriteVersion(const ActivateCall& call);
  FindRunsReply Call(const FindRunsCall& call);

  // sqlite_prune.cc
  PruneReply Call(const PruneCall& call);
  int64_t PruneRuns(const PruneCall& call);

  SqlSession& session_;
  StoreOwner owner_;
  int64_t owner_seq_ = 0;
  StoreTime now_;
  std::string closed_;
  std::optional<int64_t> newest_control_;
  std::optional<int64_t> active_rules_;
  // The (task, value) of the plan under way that had a first start in it: the task's row is updated once,
  // after all its runs.
  const PlanCall* planning_ = nullptr;
  bool planning_started_ = false;
};

}  // namespace duecourse
