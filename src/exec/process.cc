#include "exec/process.h"

#include <optional>
#include <string_view>

#include "base/text.h"

namespace duecourse {
namespace {

SeenProcess Seen(const std::string& store_id, const ProcessStat& stat) {
  SeenProcess process;
  process.stat = stat;
  const std::string environment = ProcessEnvironment(stat.pid);
  std::string_view run = EnvironmentValue(environment, "DUECOURSE_RUN_ID");
  std::optional<int64_t> fence = ParseInteger(EnvironmentValue(environment, "DUECOURSE_FENCE"));
  if (run.empty() || !fence.has_value()) return process;
  if (EnvironmentValue(environment, "DUECOURSE_STORE_ID") != store_id) return process;
  process.marked = true;
  process.run_id = run;
  process.fence = *fence;
  return process;
}

}  // namespace

std::vector<SeenProcess> ListProcesses(const std::string& store_id, bool environments) {
  std::vector<SeenProcess> seen;
  for (const ProcessStat& stat : ListProcessStats()) {
    seen.push_back(environments ? Seen(store_id, stat) : SeenProcess{stat, false, "", 0});
  }
  return seen;
}

std::set<pid_t> SessionsWithFollowers() {
  std::set<pid_t> sessions;
  for (const ProcessStat& process : ListProcessStats()) {
    if (process.session != process.pid) sessions.insert(process.session);
  }
  return sessions;
}

std::vector<EndedProcesses> KillProcesses(const std::string& store_id, size_t groups,
                                          const std::function<int(const SeenProcess&)>& pick, int wait_ms) {
  return KillPicked(
      groups, [&](const ProcessStat& stat) { return pick(Seen(store_id, stat)); }, wait_ms);
}

}  // namespace duecourse
