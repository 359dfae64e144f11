// Claims: how an attempt of a run gets its one owner and how the owner keeps it. Values; the protocol is in
// claim.h.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/rows.h"

namespace duecourse {

// The newest claim owns the key until its lease ends. Everything that must never be violated is checked here
// again, at store time: state and fence (so: key not done, not running), cap, limits, window, versions.
// claim.h says it in full. On success the store changes the row, and whoever mirrors it must do the same:
// fence + 1, attempts + 1, counted + 1 where it counts, state running, reason all_conditions_met, detail
// empty, next_at nothing (by hand it stays), `met` the call's where it says one, before_claim (by hand also
// before_manual) the state before, state_since and, if it has none, first_start the reply's `at`;
// incarnation, boot id, lease; the task's last_start where it is the run's first attempt. Attempt and
// decision rows are written with it.
struct ClaimCall {
  std::string run_id;
  RunState expected_state = RunState::kScheduled;
  int64_t expected_fence = 0;
  std::string nonce;  // random, per call; FindNonce reads back what became of an unknown reply
  TriggerKind kind = TriggerKind::kSchedule;
  bool counts = true;  // toward the cap; false for attempts by hand
  Millis ttl;
  Instant not_before = kLongAgo;  // window and maintenance, as the decision saw them
  Instant not_after = kNever;     // exclusive
  int attempts_max = 1;           // asked only where `counts`
  int task_limit = 1;             // live leases of (task, value), this one included; 0: not asked
  Millis min_interval;            // since last_start of (task, value); asked of first attempts; 0: not asked
  std::vector<std::pair<std::string, int>> pools;  // name, limit
  int64_t breaker_version = -1;                    // -1: not asked; a breaker that has no row is version 0
  int64_t control_version = -1;  // newest version of all controls that the decision saw; -1: not asked
  int64_t rule_version = 0;  // of the rules it was decided under; 0: not asked. Refused (not_due, to be asked
                             // again at once) where another version is active
  std::string met;          // marks of preconditions met for good; empty: as they are
  std::string by;           // person, for attempts by hand
  std::string incarnation;  // empty: of Open; another than Open's is refused, internal_invariant
  std::string boot_id;      // the same
  DecisionRow decision;     // its attempt and fence are filled in by the store
  std::optional<AuditRow> audit = std::nullopt;  // a person's act; written where the claim is granted
};
struct ClaimReply {
  bool granted = false;
  int64_t fence = 0;
  int attempt = 0;
  Instant at;  // store time of the claim
  Reason refusal = Reason::kLockOccupied;
  std::string holder;  // run that is in the way, where there is one
  std::string detail;  // a clause for people: what stood against it
  Instant recheck_at = kNever;
  bool moved_on = false;  // the row is not as the decision saw it, or not there: to be read again
};

// What became of a claim whose reply was lost: answers a ClaimReply, granted if that claim was committed.
struct FindNonceCall {
  std::string run_id;
  std::string nonce;
};

// A new end of the lease, `ttl` from now. Accepted after its end too, until the attempt was marked lost.
struct RenewCall {
  std::string run_id;
  int64_t fence = 0;
  Millis ttl;
};
struct RenewReply {
  bool held = false;  // false: lost; stop the attempt
};

}  // namespace duecourse
