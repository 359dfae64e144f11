// The heart. One pure function answers four questions in order: is it done, is
// it time, is it ready, is it ours? The first no is the answer; "not now" always
// says when it is asked again. It predicts and explains; Store::Claim enforces.
#pragma once

#include "decide/facts.h"

namespace duecourse {

enum class Verdict {
  kAllow,   // start it
  kDeny,    // not now, or never (a final reason); see recheck_at
  kProbe,   // the cheap gates passed; these facts are too old or missing: observe the preconditions, then ask again
  kEnd,     // the run is over without a start: window or max_delay ended, cap or uncounted bound reached, person needed
};

struct Decision {
  Verdict verdict = Verdict::kDeny;
  Reason reason = Reason::kNotDue;
  int index = -1;                // into facts: the first precondition, pool or maintenance that said no
  Instant recheck_at = kNever;   // kDeny: when it is asked again at the latest
};

Decision Decide(const Facts& facts);

// What becomes of a run that Decide ended (kEnd), or whose window ended while it waited: the closed rule of on_window_end.
struct EndFacts {
  Reason reason = Reason::kExceededWindow;   // of the decision
  OnWindowEnd on_window_end = OnWindowEnd::kMissed;
  int counted = 0;                           // attempts so far
  bool elaborate = false;
};
struct Ended {
  RunState state = RunState::kMissed;        // missed, skipped or manual_required
  Reason reason = Reason::kExceededWindow;
};
Ended DecideEnd(const EndFacts& facts);

}  // namespace duecourse
