// How the in-memory twin is made; internal to this room. memory.h says what it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/memory.h"

namespace duecourse {

class MemoryStore : public Store, private ClaimView {
 public:
  MemoryStore(std::shared_ptr<MemoryDisk> disk, const Clock& clock);
  ~MemoryStore() override;
  Result<OpenReply> Open(const OpenRequest& request) override;
  Result<Snapshot> Load() override;
  std::vector<StoreReply> Commit(const std::vector<StoreCall>& batch, StoreFault& fault) override;
  StoreFault Heartbeat(Instant now) override;
  Result<std::unique_ptr<StoreReader>> NewReader() override;
  Status Backup(const std::string& path) override;
  StoreFault last_fault() const override { return last_fault_; }
  void Close() override;

 private:
  // memory_calls.cc: one for each call.
  ActivateReply Do(const ActivateCall& call);
  PlanReply Do(const PlanCall& call);
  ClaimReply Do(const ClaimCall& call);
  ClaimReply Do(const FindNonceCall& call);
  RenewReply Do(const RenewCall& call);
  FinishReply Do(const FinishCall& call);
  MoveReply Do(const MoveCall& call);
  // memory_rows.cc
  NoReply Do(const FlagCall& call);
  NoReply Do(const ControlCall& call);
  NoReply Do(const FoldCall& call);
  DecisionReply Do(const NoteDecisionCall& call);
  NoReply Do(const AlertsCall& call);
  NoReply Do(const BreakerCall& call);
  NoReply Do(const AuditCall& call);
  FindRunsReply Do(const FindRunsCall& call);
  PruneReply Do(const PruneCall& call);

  PlannedReply PlanOne(const PlannedRun& planned);
  ClaimReply ClaimRun(const ClaimCall& call, MemoryRun& stored);
  void SetState(MemoryRun& stored);  // after the run's state was changed
  MemoryRun* FindRun(const std::string& id);
  int64_t WriteDecision(DecisionRow row, const Run* run);
  int64_t WriteDecisions(const std::vector<DecisionRow>& rows, const Run& run);
  bool WriteNote(Note note, const std::string& identity);
  void TakeFromRange(const Uncount& uncount, const Run& run);
  void WriteAlerts(const std::vector<AlertRow>& rows);
  void WriteAudit(AuditRow row);
  void WriteFlags(const std::vector<Flag>& flags);
  int64_t PruneRuns(const PruneCall& call);
  int64_t PruneRun(const std::string& id, bool with_row);
  int64_t PruneAlerts(const PruneCall& call, int64_t room);

  int64_t ActiveRules() override;
  int64_t NewestControl() override;
  BreakerSeen BreakerOf(const std::string& task, const std::string& value) override;
  std::optional<Instant> LastStart(const std::string& task, const std::string& value) override;
  LiveLeases TaskLeases(const std::string& task, const std::string& value) override;
  LiveLeases PoolLeases(const std::string& pool) override;
  std::string ClosedBecause() override { return {}; }

  std::shared_ptr<MemoryDisk> disk_;  // shared with the test or simulator that outlives this store
  const Clock& clock_;
  StoreTime now_;
  bool open_ = false;
  StoreFault last_fault_;
};

std::unique_ptr<StoreReader> NewMemoryReader(std::shared_ptr<const MemoryDisk> disk);

}  // namespace duecourse
