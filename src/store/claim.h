// The protocol of claims, leases and fences, in one place for every store, so that no two stores can differ
// in it. Pure: a store looks up what is asked for, asks here, and writes the answer in the same transaction.
//
// A claim makes one attempt of a run. It is granted only where, at store time and in this order (the order in
// which a decision asks),
//   - it is not done: final states refuse, manual_required but for a person's attempt, running, and a state
//   or
//     fence other than the decision saw;
//   - it is time: no pause or resume since the decision (control_version), the rules it was decided under are
//     the active ones, not_before <= now < not_after;
//   - it is ready: counted attempts are below the cap, the breaker is as the decision saw it;
//   - it is ours: the limits of the task, of min_interval and of each pool leave room, the store takes
//   claims.
// The first no is the answer. The claim gets the run's fence + 1, so fences of a key rise strictly in the
// order of commits, and a lease: the right to go on until an instant of the boot clock. A lease is live while
// that instant is ahead; slots in use are live leases, counted when asked, never a counter that could leak.
//
// An attempt ends by Finish with its fence. The newest fence is accepted even after the lease's end, for as
// long as nobody has marked the attempt lost: late knowledge is better than none while nobody else has
// started. Lost is said only after the lease's end, or of an owner that is proven dead: another incarnation
// than the one that holds the store. What comes too late leaves a `late` row and changes nothing.
#pragma once

#include <optional>
#include <string>

#include "store/calls.h"
#include "store/store.h"

namespace duecourse {

// The store's clocks, read once for each commit.
struct StoreTime {
  Instant wall;
  Millis boot;
};
// Who has the store open, from Open.
struct StoreOwner {
  std::string node;
  std::string incarnation;
  std::string boot_id;
  std::string zone_data;
};
// Live leases of a (task, value) or a pool.
struct LiveLeases {
  int count = 0;
  std::string holder;  // the one that ends first; of several, the least id
  Millis first_end;    // boot clock
};
struct BreakerSeen {
  int64_t version = 0;
  std::optional<Instant> until;
};

// What a claim asks of the store; each only where the call asks for it.
class ClaimView {
 public:
  virtual ~ClaimView() = default;
  virtual int64_t ActiveRules() = 0;
  virtual int64_t NewestControl() = 0;
  virtual BreakerSeen BreakerOf(const std::string& task, const std::string& value) = 0;
  virtual std::optional<Instant> LastStart(const std::string& task, const std::string& value) = 0;
  virtual LiveLeases TaskLeases(const std::string& task, const std::string& value) = 0;
  virtual LiveLeases PoolLeases(const std::string& pool) = 0;
  // Why no claim is granted at all (the disk is nearly full), or empty.
  virtual std::string ClosedBecause() = 0;
};

// How often a claim that met a closed store is asked again.
inline constexpr Millis kClosedRecheck = Seconds(5);

// `run` is the row as it stands, nothing where there is none.
ClaimReply CheckClaim(const ClaimCall& call, const Run* run, const StoreOwner& owner, StoreTime now,
                      ClaimView& view);
// What a granted claim makes of the run, and the attempt and decision rows that go with it.
void Grant(const ClaimCall& call, const StoreOwner& owner, StoreTime now, Run& run);
Attempt AttemptOf(const ClaimCall& call, const Run& granted, const StoreOwner& owner, StoreTime now);
DecisionRow DecisionOf(const ClaimCall& call, const Run& granted);
ClaimReply Granted(const Run& run, StoreTime now);

// The row of a run that is planned: never claimed, whatever it is given as.
Run AsPlanned(const Run& run, StoreTime now);

// Whether the attempt's end is accepted. `lost`: where the lease has ended or the owner is another
// incarnation.
bool FinishAccepted(const FinishCall& call, const Run& run, const StoreOwner& owner, StoreTime now);
DecisionRow LateRow(const FinishCall& call, const Run* run, StoreTime now);
// Whether the row may be moved.
bool MoveAccepted(const MoveCall& call, const Run& run);
// The stored row after a Finish or Move: what planning and claims wrote stays, all else is `after`'s. A run
// that does not run has no owner and no lease.
void TakeOver(const Run& after, Run& run);

// The note in place of a run whose key another run holds.
Note KeyKnownNote(const Run& planned, const std::string& holder, const std::string& holder_task,
                  StoreTime now);
// A range's clause is not added to from this length on, in bytes.
inline constexpr size_t kRangeDetailMax = 1000;
// Fills what the contract says a store fills: the run it names, `at` and `last_at`.
void Complete(DecisionRow& row, const Run* run, StoreTime now);
// The runs whose rows PruneCall may remove: those that ended before `before` and whose key, if any, is not
// kept.
bool KeyIsKept(const PruneCall& call, const Run& run, StoreTime now);
inline Instant OrNow(Instant at, StoreTime now) { return at == kLongAgo ? now.wall : at; }
// Whether a commit at `wall` moves the note of when a daemon was last at work: once a second, and back with a
// clock that was set back.
inline bool AliveIsOld(Instant last_alive, Instant wall) {
  return wall < last_alive || wall - last_alive >= Seconds(1);
}
// Whether a batch asks only, so that it needs no transaction and proves nothing.
bool OnlyReads(const std::vector<StoreCall>& batch);
// What a reader may ask for.
int ClampLimit(int limit);

}  // namespace duecourse
