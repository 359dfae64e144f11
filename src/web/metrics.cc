// The Prometheus text of what the daemon counts. Labels are bounded: states and reasons, never runs or keys.
#include "base/text.h"
#include "web/api.h"

namespace duecourse {

static void Line(std::string& out, const char* name, const char* kind, const char* help, int64_t value) {
  out += StrCat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n", name, " ", value, "\n");
}

std::string MetricsText(Backend& backend) {
  Engine::Figures figures = backend.figures();
  Health health = backend.health();
  std::string out;
  Line(out, "duecourse_healthy", "gauge", "1 while the engine steps and the store takes commits.",
       health.healthy ? 1 : 0);
  Line(out, "duecourse_step_age_milliseconds", "gauge", "Since the engine's last step.", health.step_age_ms);
  Line(out, "duecourse_store_refusing_milliseconds", "gauge",
       "Since the store took nothing; 0 while it does.", health.store_refusing_ms);
  Line(out, "duecourse_tasks", "gauge", "Tasks of the active rules.", static_cast<int64_t>(figures.tasks));
  Line(out, "duecourse_runs_running", "gauge", "Attempts under way.", static_cast<int64_t>(figures.running));
  out += "# HELP duecourse_runs_open Runs that are not over, by state.\n# TYPE duecourse_runs_open gauge\n";
  for (size_t i = 0; i < figures.by_state.size(); ++i) {
    RunState state = static_cast<RunState>(i);
    if (!IsFinal(state))
      out += StrCat("duecourse_runs_open{state=\"", RunStateName(state), "\"} ", figures.by_state[i], "\n");
  }
  Line(out, "duecourse_manual_open", "gauge", "Runs that wait for a person.",
       static_cast<int64_t>(figures.manual));
  Line(out, "duecourse_decisions_made_total", "counter", "Answers since the start of the daemon.",
       figures.decisions);
  Line(out, "duecourse_attempts_started_total", "counter", "Attempts started since the start of the daemon.",
       figures.started);
  Line(out, "duecourse_rule_version", "gauge", "Active version of the rules.", figures.rule_version);
  Line(out, "duecourse_draining", "gauge", "1 while the daemon is stopping.", figures.draining ? 1 : 0);
  return out;
}

}  // namespace duecourse
