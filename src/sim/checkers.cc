#include "sim/checkers.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "run/lifecycle.h"

namespace duecourse {
namespace {

constexpr int kRowsMax = kReadMax;  // drills stay below it but for decisions, which are paged

class Checker {
 public:
  explicit Checker(const CheckInput& input) : input_(input) {
    for (const Run& run : input.runs) runs_[run.id] = &run;
    for (const Attempt& attempt : input.attempts) attempts_[attempt.run_id].push_back(&attempt);
  }

  std::vector<std::string> All() {
    for (const Run& run : input_.runs) {
      CheckAttempts(run);
      CheckReplay(run);
    }
    CheckKeys();
    CheckLedger();
    if (!input_.rules_changed) CheckPlanned();
    return std::move(found_);
  }

 private:
  void Broken(int number, const std::string& text) {
    found_.push_back(StrCat("invariant ", number, ": ", text));
  }

  // 2: fences rise. 5: the cap, and numbers without a hole. 3, 4: nothing after the success, one success.
  void CheckAttempts(const Run& run) {
    int64_t fence = 0;
    int number = 0;
    int successes = 0;
    for (const Attempt* attempt : attempts_[run.id]) {
      if (attempt->fence <= fence)
        Broken(2, StrCat("fence ", attempt->fence, " of run ", run.id, " does not rise"));
      if (attempt->number != number + 1)
        Broken(5, StrCat("attempt ", attempt->number, " of run ", run.id, " follows ", number));
      if (successes > 0) Broken(3, StrCat("run ", run.id, " was claimed after its success"));
      fence = attempt->fence;
      number = attempt->number;
      if (attempt->outcome == Outcome::kSuccess) ++successes;
    }
    if (successes > 1) Broken(4, StrCat("run ", run.id, " has ", successes, " successes"));
    const Task* task = input_.rules->Find(run.task);
    if (task != nullptr && !input_.rules_changed && run.counted > task->rule().retry.max_total_attempts) {
      Broken(5, StrCat("run ", run.id, " counted ", run.counted, " attempts, the cap is ",
                       task->rule().retry.max_total_attempts));
    }
    if (run.fence != fence)
      Broken(2, StrCat("run ", run.id, " has fence ", run.fence, ", its newest claim ", fence));
  }

  // 16: only known edges. 30: the decision rows alone rebuild the state.
  void CheckReplay(const Run& run) {
    std::string state = "scheduled";
    for (const DecisionRow& row : input_.decisions) {
      if (row.run_id != run.id) continue;
      if (row.decision == "run") state = "running";
      if (row.decision != "state") continue;
      std::optional<RunState> from = RunStateFromName(row.from_state);
      std::optional<RunState> to = RunStateFromName(row.to_state);
      if (!from || !to) {
        Broken(16,
               StrCat("run ", run.id, " has a state nobody knows: ", row.from_state, " to ", row.to_state));
        continue;
      }
      if (!EdgeExists(*from, *to))
        Broken(16, StrCat("run ", run.id, " went from ", row.from_state, " to ", row.to_state));
      if (row.from_state != state)
        Broken(30, StrCat("run ", run.id, ": a row says from ", row.from_state, ", replay is at ", state));
      state = row.to_state;
    }
    if (state != RunStateName(run.state))
      Broken(30, StrCat("run ", run.id, " is ", RunStateName(run.state), ", replay says ", state));
  }

  // 4: one run a key. 15: every final state has a reason.
  void CheckKeys() {
    std::set<std::string> keys;
    for (const Run& run : input_.runs) {
      if (!run.key) {
        if (run.state != RunState::kManualRequired && !IsFinal(run.state))
          Broken(15, StrCat("run ", run.id, " has no key and is ", RunStateName(run.state)));
        continue;
      }
      if (!keys.insert(*run.key).second) Broken(4, StrCat("key ", *run.key, " stands twice"));
    }
  }

  // 8: each start has its claim, and 1: no two of a key at once, as the executors saw it. 17, 18, 21: inside
  // the window.
  void CheckLedger() {
    std::map<std::string, const SimStart*> running;
    for (const SimStart& start : *input_.starts) {
      const Attempt* claim = nullptr;
      for (const Attempt* attempt : attempts_[start.run_id]) {
        if (attempt->fence == start.fence) claim = attempt;
      }
      if (claim == nullptr) {
        Broken(8, StrCat("a start of run ", start.run_id, " with fence ", start.fence, " has no claim"));
        continue;
      }
      if (claim->claimed_at > start.at) Broken(8, StrCat("run ", start.run_id, " started before its claim"));
      const SimStart*& before = running[start.key];
      if (before != nullptr && (!before->ended || *before->ended > start.at))
        Broken(1, StrCat("key ", start.key, " ran twice at once"));
      before = &start;
      const Run* run = runs_[start.run_id];
      bool automatic = claim->kind != TriggerKind::kManual;
      if (run == nullptr || !automatic || input_.rules_changed) continue;
      if (start.at < run->due) Broken(21, StrCat("run ", run->id, " started before its due instant"));
      if (start.at < run->window_opens || start.at >= run->window_ends) {
        Broken(18, StrCat("run ", run->id, " started at ", FormatUtc(start.at), ", outside its window"));
      }
    }
  }

  // 14: every occurrence is exactly one row, or lies in exactly one range or note.
  void CheckPlanned() {
    for (const Task& task : input_.rules->tasks) {
      if (!task.rule().enabled) continue;
      for (size_t v = 0; v < ValueCount(task.rule()); ++v) CheckLane(task, v);
    }
  }

  void CheckLane(const Task& task, size_t value) {
    const std::string& id = ValueId(task.rule(), value);
    std::map<int64_t, int> rows;
    for (const Run& run : input_.runs) {
      if (run.task == task.id && run.value == id && run.identity.starts_with("cron/")) ++rows[run.due.ms];
    }
    std::vector<const Note*> ranges;
    int64_t in_ranges = 0;
    for (const Note& note : input_.notes) {
      if (note.task != task.id || note.value != id) continue;
      ranges.push_back(&note);
      in_ranges += note.count;
    }
    int64_t uncovered = 0;
    int64_t planned = 0;
    Instant last = input_.until;
    for (std::optional<Instant> due = NextDue(task.rule(), value, input_.from); due && *due <= last;
         due = NextDue(task.rule(), value, *due)) {
      ++planned;
      auto row = rows.find(due->ms);
      if (row != rows.end()) {
        if (row->second != 1)
          Broken(14, StrCat(task.id, " ", FormatUtc(*due), " has ", row->second, " rows"));
        rows.erase(row);
        continue;
      }
      ++uncovered;
      bool inside = std::any_of(ranges.begin(), ranges.end(), [&](const Note* note) {
        return note->first_due <= *due && *due <= note->last_due;
      });
      if (!inside) Broken(14, StrCat(task.id, " ", FormatUtc(*due), " is neither a run nor in a range"));
    }
    if (uncovered != in_ranges)
      Broken(14, StrCat(task.id, " ", id, ": ", uncovered, " occurrences without a row, ranges count ",
                        in_ranges));
    for (const auto& [due, count] : rows) {
      if (Instant{due} <= last && Instant{due} > input_.from)
        Broken(14, StrCat(task.id, " has a row for ", FormatUtc({due}), " where nothing is due"));
    }
  }

  const CheckInput& input_;
  std::map<std::string, const Run*> runs_;
  std::map<std::string, std::vector<const Attempt*>> attempts_;
  std::vector<std::string> found_;
};

}  // namespace

Result<CheckInput> Gather(World& world, std::shared_ptr<const RuleSet> rules, Instant from, Instant until) {
  CheckInput input;
  input.rules = rules.get();
  input.starts = &world.starts();
  input.alerts = &world.alerts();
  input.from = from;
  input.until = until;
  RunFilter filter;
  filter.limit = kRowsMax;
  filter.newest_first = false;
  Result<std::vector<Run>> runs = world.store().Runs(filter);
  if (!runs.ok()) return runs.error();
  input.runs = std::move(runs).value();
  for (const Run& run : input.runs) {
    Result<std::vector<Attempt>> attempts = world.store().Attempts(run.id);
    if (!attempts.ok()) return attempts.error();
    input.attempts.insert(input.attempts.end(), attempts->begin(), attempts->end());
  }
  DecisionFilter decisions;
  decisions.limit = kRowsMax;
  while (true) {  // page by page: a reader has a limit
    Result<std::vector<DecisionRow>> rows = world.store().Decisions(decisions);
    if (!rows.ok()) return rows.error();
    if (rows->empty()) break;
    decisions.after_id = rows->back().id;
    input.decisions.insert(input.decisions.end(), rows->begin(), rows->end());
  }
  Result<std::vector<Note>> notes = world.store().Notes("", kLongAgo, kNever, kRowsMax);
  if (!notes.ok()) return notes.error();
  input.notes = std::move(notes).value();
  return input;
}

std::vector<std::string> CheckInvariants(const CheckInput& input) { return Checker(input).All(); }

}  // namespace duecourse
