// The heart. One pure function answers four questions in order: is it done, is
// it time, is it ready, is it ours? The first no is the answer; "not now" always
// says when it is asked again. It predicts and explains; Store::Claim enforces.
//
// Done comes first, so that nothing is probed for finished work. What costs
// nothing to know comes before what must be observed: kProbe is answered only
// where done, time, attempts, retry instants, breaker and budget said yes. What
// is observed comes before what is ours to take, so that waiting holds nothing.
//
// A person's question passes the same gates. What it may override is in Force;
// it never ends a run: where the automatic answer would be kEnd, a person is
// refused with the same reason, and the run's own next decision ends it.
#pragma once

#include <vector>

#include "decide/facts.h"

namespace duecourse {

enum class Verdict {
  kAllow,  // start it
  kDeny,   // not now, or never (a final reason); see recheck_at
  kProbe,  // the cheap gates passed; facts are too old or missing: observe the preconditions, then ask again
  kEnd,    // over without a start: window or max_delay ended, cap or uncounted bound reached, person needed
};

struct Decision {
  Verdict verdict = Verdict::kDeny;
  Reason reason = Reason::kNotDue;
  int index = -1;  // into facts: the first precondition, pool or maintenance that said no
  // kDeny: when it is asked again at the latest, never later than the instant at which the run must stop
  // waiting. Always after `now`. kNever only for what no passing of time can change: a finished run, a done
  // key, a run that waits for a person; there only a person's word leads on.
  Instant recheck_at = kNever;
};

Decision Decide(const Facts& facts);
// What a person's word passes over, in the order of the gates: the answers that Decide would give without
// what Force overrides. Empty where all of it is true anyway. Of what is not asked of a person at all (the
// cap; time and pause of `manual rerun`; time of `--extra`) nothing is said. kProbe among them: nobody
// looked.
std::vector<Decision> PassedOver(const Facts& facts);
// Whether a refusal for this reason is one that Force could pass.
bool CanBeForced(Reason reason);

// What becomes of a run that ends without a start: Decide said kEnd, or its window ended, or it was
// superseded, cancelled, its rule removed, the scheduler down. A reason that only says "not now" (pool_full,
// breaker_open…) is that of a run whose window ended meanwhile: it is judged as exceeded_window, and the
// reason given is kept by the caller as the cause.
struct EndFacts {
  Reason reason = Reason::kExceededWindow;  // of the decision
  OnWindowEnd on_window_end = OnWindowEnd::kMissed;
  int counted = 0;  // counted attempts so far; after one it is always a person
};
struct Ended {
  RunState state = RunState::kMissed;  // missed, skipped or manual_required
  Reason reason = Reason::kExceededWindow;
};
Ended DecideEnd(const EndFacts& facts);

}  // namespace duecourse
