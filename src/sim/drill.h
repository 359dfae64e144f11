// Drill files: rules, a made-up world that goes wrong, and what must follow, in
// YAML (docs/reference/drills.md). The same engine runs in them as in the
// daemon, on a virtual clock; nothing waits.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/yaml.h"
#include "sim/world.h"

namespace duecourse {

// One thing that an executor or probe does, for whom and when; the first that fits is taken.
struct DrillBehaviour {
  std::string task = "*";  // glob
  std::string key = "*";   // glob
  std::string about;       // probes: the path, URL or command contains it
  Instant from = kLongAgo;
  Instant until = kNever;
  std::vector<int> attempts;  // numbers; empty: all
  SimEnding ending;           // executors
  ProbeAnswer answer;         // probes
};
struct DrillStep {
  Instant at;
  std::string
      act;  // "stop" "kill" "start" "suspend" "wake" "store_away" "store_back" "reload" "flag" "unflag"
            // "trigger" "cancel" "pause" "resume" "claim" "resolve" "skip" "rerun" "supersede"
  std::string name;  // to look its answer up
  std::string task, value, key, scope, flag, flag_value, by, reason, text, settings;
  std::optional<CivilDay> date;
  std::optional<Instant> due;
  std::optional<Millis> ttl;
  bool force = false, extra = false, catch_up = false, confirm = false;
  YamlPlace place;
};
struct DrillExpectation {
  std::string what;  // "starts" "runs" "notes" "alerts" "decisions" "audit" "answers" "overlap"
  YamlNode node;
};
struct Drill {
  std::string name;
  std::string why;
  std::string file;
  std::shared_ptr<const RuleSet> rules;
  Instant from;
  Instant until;
  uint64_t seed = 1;
  std::vector<DrillBehaviour> executors;
  std::vector<DrillBehaviour> probes;
  std::vector<DrillStep> steps;
  std::vector<DrillExpectation> expectations;
  bool crash = false;  // also run it with a crash before and after every store call, with the same end state
};

Result<Drill> ReadDrill(const std::string& path);
Result<Drill> ParseDrill(const std::string& name, const std::string& text);

struct DrillReport {
  std::vector<std::string> failures;  // "line 40: starts of poll-inbox: expected …, got …"
  std::string end_state;  // canonical text of runs, attempts counted, notes: what must not depend on crashes
  std::string trace_hash;
  int64_t commits = 0;
  std::vector<std::string> log;
  bool passed() const { return failures.empty(); }
};
struct DrillRun {
  int64_t crash_at = -1;
  bool crash_after = false;
  bool check_expectations = true;
};
DrillReport RunDrill(const Drill& drill, const DrillRun& run);

// `*` and `?` only.
bool GlobMatches(const std::string& pattern, const std::string& text);

}  // namespace duecourse
