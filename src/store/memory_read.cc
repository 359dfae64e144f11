// The in-memory twin's query side.
#include <algorithm>

#include "store/memory_store.h"

namespace duecourse {
namespace {

bool Fits(const RunFilter& filter, const Run& run) {
  if (!filter.task.empty() && run.task != filter.task) return false;
  if (!filter.run_id.empty() && run.id != filter.run_id) return false;
  if (!filter.key.empty() && run.key != filter.key) return false;
  if (filter.value && run.value != *filter.value) return false;
  if (filter.business_date && run.business_date != *filter.business_date) return false;
  if (run.due < filter.from || run.due >= filter.until) return false;
  return filter.states.empty() || std::count(filter.states.begin(), filter.states.end(), run.state) > 0;
}

bool Fits(const DecisionFilter& filter, const DecisionRow& row) {
  if (!filter.task.empty() && row.task != filter.task) return false;
  if (!filter.run_id.empty() && row.run_id != filter.run_id) return false;
  return row.at >= filter.from && row.at < filter.until && row.id > filter.after_id;
}

// Sorted by less (reversed where newest_first), cut at the limit, and copied out.
template <typename T, typename Less>
std::vector<T> Cut(std::vector<const T*> rows, bool newest_first, int limit, Less less) {
  std::stable_sort(rows.begin(), rows.end(), [&](const T* a, const T* b) { return less(*a, *b); });
  if (newest_first) std::reverse(rows.begin(), rows.end());
  std::vector<T> cut;
  for (const T* row : rows) {
    if (cut.size() >= static_cast<size_t>(ClampLimit(limit))) break;
    cut.push_back(*row);
  }
  return cut;
}

class MemoryReader : public StoreReader {
 public:
  explicit MemoryReader(std::shared_ptr<const MemoryDisk> disk) : disk_(std::move(disk)) {}

  Result<std::vector<Run>> Runs(const RunFilter& filter) override {
    std::vector<const Run*> rows;
    for (const auto& [seq, id] : disk_->run_order) {
      const Run& run = disk_->runs.at(id).run;
      if (Fits(filter, run)) rows.push_back(&run);
    }
    bool by_due = !filter.task.empty();
    return Cut(rows, filter.newest_first, filter.limit,
               [by_due](const Run& a, const Run& b) { return by_due && a.due < b.due; });
  }

  Result<std::vector<Attempt>> Attempts(const std::string& run_id) override {
    auto found = disk_->runs.find(run_id);
    if (found == disk_->runs.end()) return std::vector<Attempt>{};
    return found->second.attempts;
  }

  Result<std::vector<DecisionRow>> Decisions(const DecisionFilter& filter) override {
    std::vector<const DecisionRow*> rows;
    for (const auto& [id, row] : disk_->decisions) {
      if (Fits(filter, row)) rows.push_back(&row);
    }
    bool by_at = !filter.task.empty() && filter.run_id.empty();
    return Cut(rows, filter.newest_first, filter.limit,
               [by_at](const DecisionRow& a, const DecisionRow& b) { return by_at && a.at < b.at; });
  }

  Result<std::vector<Note>> Notes(const std::string& task, Instant from, Instant until, int limit) override {
    std::vector<const Note*> rows;
    for (const auto& [id, row] : disk_->notes) {
      if (row.note.count < 1 || (!task.empty() && row.note.task != task)) continue;
      if (row.note.last_due >= from && row.note.first_due < until) rows.push_back(&row.note);
    }
    return Cut(rows, false, limit, [](const Note& a, const Note& b) { return a.first_due < b.first_due; });
  }

  Result<std::vector<AlertRow>> Alerts(const std::string& task, Instant from, int limit) override {
    std::vector<const AlertRow*> rows;
    for (const std::string& id : disk_->alert_order) {
      const AlertRow& row = disk_->alerts.at(id);
      if ((task.empty() || row.task == task) && row.created_at >= from) rows.push_back(&row);
    }
    return Cut(rows, true, limit, [](const AlertRow&, const AlertRow&) { return false; });
  }

  Result<std::vector<AuditRow>> Audit(const std::string& task, const std::string& run_id,
                                      int limit) override {
    std::vector<const AuditRow*> rows;
    for (const auto& [id, row] : disk_->audit) {
      if ((task.empty() || row.task == task) && (run_id.empty() || row.run_id == run_id))
        rows.push_back(&row);
    }
    return Cut(rows, true, limit, [](const AuditRow&, const AuditRow&) { return false; });
  }

  Result<std::vector<RuleVersion>> RuleVersions(int limit) override {
    std::vector<const RuleVersion*> rows;
    for (const RuleVersion& row : disk_->versions) rows.push_back(&row);
    return Cut(rows, true, limit, [](const RuleVersion&, const RuleVersion&) { return false; });
  }

  Result<std::vector<std::pair<std::string, std::string>>> RuleTexts(int64_t version) override {
    auto found = disk_->texts.find(version);
    if (found == disk_->texts.end()) return std::vector<std::pair<std::string, std::string>>{};
    std::vector<std::pair<std::string, std::string>> texts = found->second;
    std::sort(texts.begin(), texts.end());
    return texts;
  }

  Result<std::vector<Flag>> Flags() override {
    std::vector<Flag> rows;
    for (const auto& [name, flag] : disk_->flags) rows.push_back(flag);
    if (rows.size() > static_cast<size_t>(kReadMax)) rows.resize(static_cast<size_t>(kReadMax));
    return rows;
  }

  Result<std::vector<Run>> LastResults(const std::vector<std::string>& tasks) override {
    std::vector<Run> rows;
    for (const std::string& task : tasks) {
      auto order = disk_->due_order.find(task);
      if (order == disk_->due_order.end()) continue;
      for (auto place = order->second.rbegin(); place != order->second.rend(); ++place) {
        const Run& run = disk_->runs.at(disk_->run_order.at(place->second)).run;
        if (IsOpen(run.state)) continue;
        rows.push_back(run);
        break;
      }
    }
    return rows;
  }

 private:
  std::shared_ptr<const MemoryDisk> disk_;  // shared with the store, which may go first
};

}  // namespace

std::unique_ptr<StoreReader> NewMemoryReader(std::shared_ptr<const MemoryDisk> disk) {
  return std::make_unique<MemoryReader>(std::move(disk));
}

}  // namespace duecourse
