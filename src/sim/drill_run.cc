// Running a drill: the script for the world, the steps, and the state it all ends in.
#include <algorithm>

#include "base/text.h"
#include "sim/checkers.h"
#include "sim/drill_expect.h"

namespace duecourse {
namespace {

bool Fits(const DrillBehaviour& behaviour, const std::string& task, const std::string& key, Instant now) {
  return GlobMatches(behaviour.task, task) && GlobMatches(behaviour.key, key) && behaviour.from <= now &&
         now < behaviour.until;
}

SimEnding Execute(const Drill& drill, const StartRequest& request, Instant now) {
  for (const DrillBehaviour& behaviour : drill.executors) {
    if (!Fits(behaviour, request.task, request.key, now)) continue;
    const std::vector<int>& attempts = behaviour.attempts;
    if (!attempts.empty() &&
        std::find(attempts.begin(), attempts.end(), request.ref.attempt) == attempts.end())
      continue;
    return behaviour.ending;
  }
  SimEnding plain;
  if (request.rule->execution.kind == ExecutionRule::Kind::kNoop) {
    plain.ending.code = request.rule->execution.noop.exit_code;
    plain.after = request.rule->execution.noop.after;
  }
  return plain;
}

ProbeAnswer AnswerProbe(const Drill& drill, const ProbeRequest& request, Instant now) {
  for (const DrillBehaviour& behaviour : drill.probes) {
    if (!Fits(behaviour, "", "", now)) continue;
    bool about = behaviour.about.empty() || request.share_key.find(behaviour.about) != std::string::npos;
    if (about) return behaviour.answer;
  }
  ProbeAnswer yes;
  yes.answer = PreconditionFact::Answer::kYes;
  yes.code = "met";
  yes.text = "met";
  return yes;
}

class Runner {
 public:
  Runner(const Drill& drill, const DrillRun& run)
      : drill_(drill), world_(drill.rules, drill.from, drill.seed, Script()) {
    if (run.crash_at >= 0) world_.CrashAt(run.crash_at, run.crash_after);
  }

  void Go() {
    bool starts_itself =
        std::none_of(drill_.steps.begin(), drill_.steps.end(),
                     [this](const DrillStep& step) { return step.at <= drill_.from && step.act == "start"; });
    for (const DrillStep& step : drill_.steps) {
      world_.At(step.at, [this, &step] { Act(step); });
    }
    if (starts_itself) world_.Start();
    world_.RunUntil(drill_.until);
  }

  World& world() { return world_; }
  const std::map<std::string, uint64_t>& asked() const { return asked_; }
  bool rules_changed() const { return rules_changed_; }
  const std::shared_ptr<const RuleSet>& rules() const { return rules_ == nullptr ? drill_.rules : rules_; }
  std::vector<std::string> failures;

 private:
  WorldScript Script() {
    WorldScript script;
    script.execute = [this](const StartRequest& request, Instant now) {
      return Execute(drill_, request, now);
    };
    script.probe = [this](const ProbeRequest& request, Instant now) {
      return AnswerProbe(drill_, request, now);
    };
    return script;
  }

  void Act(const DrillStep& step) {
    if (step.act == "start") {
      if (!world_.up()) world_.Start();
    } else if (step.act == "kill") {
      if (world_.up()) world_.Kill();
    } else if (step.act == "restart") {
      if (world_.up()) world_.Kill();
      world_.Start();
    } else if (step.act == "stop") {
      world_.Drain();
    } else if (step.act == "suspend" || step.act == "wake") {
      world_.Suspend(step.act == "suspend");
    } else if (step.act == "store_away" || step.act == "store_back") {
      world_.StoreAway(step.act == "store_away");
    } else if (step.act == "reload") {
      Reload(step);
    } else {
      Ask(step);
    }
  }

  void Reload(const DrillStep& step) {
    Loaded loaded = LoadRulesFromText({{"rules.yaml", step.text}}, {"duecourse.yaml", step.settings});
    if (loaded.set == nullptr) {
      failures.push_back(StrCat("line ", step.place.line, ": the rules of this reload cannot be read"));
      return;
    }
    rules_changed_ = rules_changed_ || loaded.set->hash != rules()->hash;
    rules_ = loaded.set;
    uint64_t id = 1'000'000 + asked_.size();
    if (!step.name.empty()) asked_[step.name] = id;
    world_.Reload(loaded.set, step.confirm, false, id);
  }

  // The newest run that fits the step's key, or task.
  std::optional<Run> Find(const DrillStep& step) {
    RunFilter filter;
    filter.key = step.key;
    filter.task = step.task;
    filter.limit = 1;
    Result<std::vector<Run>> runs = world_.store().Runs(filter);
    if (!runs.ok() || runs->empty()) return std::nullopt;
    return runs->front();
  }

  void Ask(const DrillStep& step) {
    Request request;
    request.by = step.by;
    request.reason = step.reason;
    if (step.act == "trigger") {
      request.body = TriggerRequest{step.task, step.value, step.date, step.due, step.extra, step.force};
    } else if (step.act == "flag" || step.act == "unflag") {
      request.body = FlagRequest{step.flag, step.date, step.flag_value, step.ttl, step.act == "unflag"};
    } else if (step.act == "pause" || step.act == "resume") {
      request.body = PauseRequest{step.scope, step.act == "resume", step.catch_up};
    } else {
      std::optional<Run> run = Find(step);
      if (!run) {
        failures.push_back(StrCat("line ", step.place.line, ": no run for this step"));
        return;
      }
      if (!Manual(step, *run, request)) return;
    }
    uint64_t id = world_.Ask(std::move(request));
    if (!step.name.empty()) asked_[step.name] = id;
  }

  bool Manual(const DrillStep& step, const Run& run, Request& request) {
    using Verb = ManualRequest::Verb;
    if (step.act == "cancel") {
      request.body = CancelRequest{run.id, run};
      return true;
    }
    static const std::map<std::string, Verb> kVerbs = {{"claim", Verb::kClaim},
                                                       {"resolve", Verb::kResolve},
                                                       {"rerun", Verb::kRerun},
                                                       {"supersede", Verb::kRerun},
                                                       {"skip", Verb::kSkip}};
    auto verb = kVerbs.find(step.act);
    if (verb == kVerbs.end()) {
      failures.push_back(StrCat("line ", step.place.line, ": unknown step ", step.act));
      return false;
    }
    request.body = ManualRequest{verb->second, run.id, step.act == "supersede", run, step.force};
    return true;
  }

  const Drill& drill_;
  World world_;
  std::map<std::string, uint64_t> asked_;
  std::shared_ptr<const RuleSet> rules_;
  bool rules_changed_ = false;
};

// What must not depend on where a daemon crashed: each run's end, each range. Attempts may differ by what was
// lost.
std::string EndState(World& world) {
  RunFilter filter;
  filter.limit = 1'000'000;
  filter.newest_first = false;
  Result<std::vector<Run>> runs = world.store().Runs(filter);
  std::vector<std::string> lines;
  if (runs.ok()) {
    for (const Run& run : *runs) {
      lines.push_back(StrCat(run.task, "|", run.value, "|", FormatUtc(run.due), "|", run.key.value_or("-"),
                             "|", RunStateName(run.state)));
    }
  }
  std::sort(lines.begin(), lines.end());
  return Join(lines, "\n");
}

}  // namespace

DrillReport RunDrill(const Drill& drill, const DrillRun& run) {
  Runner runner(drill, run);
  runner.Go();
  DrillReport report;
  report.failures = runner.failures;
  Result<CheckInput> input = Gather(runner.world(), runner.rules(), drill.from, drill.until);
  if (!input.ok()) {
    report.failures.push_back(input.error().message());
    return report;
  }
  input->rules_changed = runner.rules_changed();
  std::vector<std::string> broken = CheckInvariants(*input);
  report.failures.insert(report.failures.end(), broken.begin(), broken.end());
  if (run.check_expectations)
    CheckExpectations(drill, *input, runner.world(), runner.asked(), report.failures);
  report.end_state = EndState(runner.world());
  report.trace_hash = runner.world().TraceHash();
  report.commits = runner.world().commits();
  report.log = runner.world().log();
  return report;
}

}  // namespace duecourse
