#include "exec/inspect.h"

#include <unistd.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "exec/process.h"
#include "exec/report.h"

namespace duecourse {
namespace {

std::string Numbered(size_t n, const char* what) { return StrCat(n, " ", what, n == 1 ? "" : "es"); }

std::string PidList(const std::vector<pid_t>& pids) {
  constexpr size_t kShownMax = 5;
  std::string text;
  for (size_t i = 0; i < pids.size() && i < kShownMax; ++i) text += StrCat(i == 0 ? "" : ", ", pids[i]);
  return pids.size() > kShownMax ? text + ", …" : text;
}

void Describe(const EndedProcesses& processes, Inspection& inspection) {
  if (!processes.alive.empty()) {
    inspection.found = Inspection::Found::kAlive;
    inspection.text = StrCat(Numbered(processes.alive.size(), "process"), " of it did not end after KILL (",
                             PidList(processes.alive), ")");
    return;
  }
  inspection.found = Inspection::Found::kGone;
  inspection.text = processes.ended.empty() ? "nothing of it was running any more"
                                            : StrCat("ended ", Numbered(processes.ended.size(), "process"),
                                                     " of it (", PidList(processes.ended), ")");
}

// Which attempt a living process belongs to.
class Owners {
 public:
  void Add(int index, const AttemptRef& ref, const StartJournal::Facts& marker) {
    marks_[{ref.run_id, ref.fence}] = index;
    if (marker.pid <= 0 || marker.birth.latest <= 0) return;
    leaders_[marker.pid] = {marker.birth, index};
    // Its session's number is its own as long as it lives itself; later it may be anybody's.
    std::optional<ProcessStat> stat = ReadProcessStat(marker.pid);
    if (stat.has_value() && marker.birth.Holds(stat->start) && stat->session == marker.pid)
      sessions_[marker.pid] = index;
  }
  int Of(const SeenProcess& process) const {
    auto leader = leaders_.find(process.stat.pid);
    if (leader != leaders_.end() && leader->second.first.Holds(process.stat.start))
      return leader->second.second;
    if (process.marked) {
      auto mark = marks_.find({process.run_id, process.fence});
      return mark == marks_.end() ? -1 : mark->second;
    }
    auto session = sessions_.find(process.stat.session);
    return session == sessions_.end() ? -1 : session->second;
  }

 private:
  std::map<std::pair<std::string, int64_t>, int> marks_;
  std::map<pid_t, std::pair<ProcessBirth, int>> leaders_;
  std::map<pid_t, int> sessions_;
};

void RemoveScratch(const std::string& scratch) {
  if (scratch.empty()) return;
  // Its name was read from a file: no more of it goes than what we made.
  (void)RemoveLeft(StrCat(scratch, "/result"));
  ::rmdir(scratch.c_str());
}

}  // namespace

Inspector::Inspector(const ExecOptions& options, const ExecSink& sink, StartJournal& journal, Pool& pool)
    : options_(options), sink_(sink), journal_(journal), pool_(pool) {}

void Inspector::Inspect(const AttemptRef& ref, bool same_boot) {
  bool first = false;
  {
    MutexLock lock(mutex_);
    first = asked_.empty();
    asked_.push_back({ref, same_boot});
  }
  if (first) pool_.Post(MakeJob([this] { Run(); }));
}

void Inspector::Run() {
  std::vector<Asked> asked;
  {
    MutexLock lock(mutex_);
    std::swap(asked, asked_);
  }
  std::vector<Inspection> answers;
  std::vector<std::string> scratches;
  std::vector<size_t> looked;  // indices into answers of those that may have processes
  Owners owners;
  for (const Asked& one : asked) {
    Inspection answer;
    answer.ref = one.ref;
    StartJournal::Facts marker;
    if (one.same_boot) marker = journal_.Look(one.ref);
    if (!one.same_boot) {
      answer.text = "the machine was started again since: nothing of it can be running";
    } else if (marker.started == StartJournal::Facts::Started::kNever) {
      answer.found = Inspection::Found::kNotStarted;
      answer.text = "it has no start marker, so it never started";
    } else {
      owners.Add(static_cast<int>(looked.size()), one.ref, marker);
      looked.push_back(answers.size());
    }
    scratches.push_back(marker.scratch);
    answers.push_back(std::move(answer));
  }
  if (!looked.empty()) {
    std::vector<EndedProcesses> results = KillProcesses(
        options_.store_id, looked.size(),
        [&owners](const SeenProcess& process) { return owners.Of(process); }, kInspectWaitMs);
    for (size_t i = 0; i < looked.size(); ++i) Describe(results[i], answers[looked[i]]);
  }
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].found == Inspection::Found::kGone) {
      RemoveScratch(scratches[i]);
      (void)RemoveLeft(ResultPath(options_.data_folder, answers[i].ref));
    }
    sink_.inspected(std::move(answers[i]));
  }
}

}  // namespace duecourse
