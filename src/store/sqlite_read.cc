// The query side: one read-only connection, one statement for each question, so that an answer is one state
// of the store. Everything is bound and every list has a limit.
#include <algorithm>

#include "base/text.h"
#include "store/sql_rows.h"
#include "store/sqlite_fault.h"
#include "store/sqlite_store.h"

namespace duecourse {
namespace {

// Conditions that every question about runs has. Where a parameter is NULL its condition is not asked.
#define DC_RUN_CONDITIONS                          \
  "  AND run.due >= ?1\n"                          \
  "  AND run.due < ?2\n"                           \
  "  AND (?3 IS NULL OR run.task = ?3)\n"          \
  "  AND (?4 IS NULL OR run.value = ?4)\n"         \
  "  AND (?5 IS NULL OR run.business_date = ?5)\n" \
  "  AND (?6 IS NULL OR run.key = ?6)\n"           \
  "  AND (?7 IS NULL OR run.id = ?7)\n"            \
  "  AND (?8 = '' OR instr(?8, ',' || run.state || ',') > 0)\n"
#define DC_SELECT_RUNS "SELECT " DC_RUN_COLUMNS DC_RUN_FROM

constexpr const char* kRunById = DC_SELECT_RUNS "WHERE run.id = ?7\n" DC_RUN_CONDITIONS "LIMIT ?9\n";
constexpr const char* kRunByKey = DC_SELECT_RUNS "WHERE run.key = ?6\n" DC_RUN_CONDITIONS "LIMIT ?9\n";
constexpr const char* kRunsOfTaskDown = DC_SELECT_RUNS "WHERE run.task = ?3\n" DC_RUN_CONDITIONS
                                                       "ORDER BY run.due DESC, run.seq DESC\nLIMIT ?9\n";
constexpr const char* kRunsOfTaskUp =
    DC_SELECT_RUNS "WHERE run.task = ?3\n" DC_RUN_CONDITIONS "ORDER BY run.due, run.seq\nLIMIT ?9\n";
#define DC_SELECT_OPEN "SELECT " DC_RUN_COLUMNS DC_OPEN_RUN_FROM DC_WHERE_OPEN
constexpr const char* kOpenDown = DC_SELECT_OPEN DC_RUN_CONDITIONS "ORDER BY run.seq DESC\nLIMIT ?9\n";
constexpr const char* kOpenUp = DC_SELECT_OPEN DC_RUN_CONDITIONS "ORDER BY run.seq\nLIMIT ?9\n";
constexpr const char* kRunsDown =
    DC_SELECT_RUNS "WHERE run.seq > 0\n" DC_RUN_CONDITIONS "ORDER BY run.seq DESC\nLIMIT ?9\n";
constexpr const char* kRunsUp =
    DC_SELECT_RUNS "WHERE run.seq > 0\n" DC_RUN_CONDITIONS "ORDER BY run.seq\nLIMIT ?9\n";

constexpr const char* kLastResult = DC_SELECT_RUNS
    "WHERE run.task = ?\n"
    "  AND run.state IN ('success', 'skipped', 'missed', 'manual_required')\n"
    "ORDER BY run.due DESC, run.seq DESC\n"
    "LIMIT 1\n";

constexpr const char* kAttempts = "SELECT " DC_ATTEMPT_COLUMNS
                                  "FROM run\n"
                                  "JOIN attempt ON attempt.run = run.seq\n"
                                  "LEFT JOIN node ON node.seq = attempt.owner\n"
                                  "WHERE run.id = ?\n"
                                  "ORDER BY attempt.number\n"
                                  "LIMIT ?\n";

#define DC_DECISION_CONDITIONS \
  "  AND decision.at >= ?1\n"  \
  "  AND decision.at < ?2\n"   \
  "  AND decision.id > ?3\n"   \
  "  AND (?4 IS NULL OR decision.task = ?4)\n"
#define DC_SELECT_DECISIONS "SELECT " DC_DECISION_COLUMNS DC_DECISION_FROM
#define DC_OF_RUN "WHERE decision.run = (SELECT seq FROM run WHERE id = ?5)\n"

constexpr const char* kOfRunUp =
    DC_SELECT_DECISIONS DC_OF_RUN DC_DECISION_CONDITIONS "ORDER BY decision.id\nLIMIT ?6\n";
constexpr const char* kOfRunDown =
    DC_SELECT_DECISIONS DC_OF_RUN DC_DECISION_CONDITIONS "ORDER BY decision.id DESC\nLIMIT ?6\n";
constexpr const char* kOfTaskUp = DC_SELECT_DECISIONS "WHERE decision.task = ?4\n" DC_DECISION_CONDITIONS
                                                      "ORDER BY decision.at, decision.id\nLIMIT ?6\n";
constexpr const char* kOfTaskDown =
    DC_SELECT_DECISIONS "WHERE decision.task = ?4\n" DC_DECISION_CONDITIONS
                        "ORDER BY decision.at DESC, decision.id DESC\nLIMIT ?6\n";
constexpr const char* kDecisionsUp =
    DC_SELECT_DECISIONS "WHERE decision.id > 0\n" DC_DECISION_CONDITIONS "ORDER BY decision.id\nLIMIT ?6\n";
constexpr const char* kDecisionsDown = DC_SELECT_DECISIONS "WHERE decision.id > 0\n" DC_DECISION_CONDITIONS
                                                           "ORDER BY decision.id DESC\nLIMIT ?6\n";

constexpr const char* kNotes = "SELECT " DC_NOTE_COLUMNS
                               "FROM note\n"
                               "WHERE last_due >= ?1\n"
                               "  AND first_due < ?2\n"
                               "  AND count > 0\n"
                               "ORDER BY first_due, id\n"
                               "LIMIT ?3\n";
constexpr const char* kNotesOfTask = "SELECT " DC_NOTE_COLUMNS
                                     "FROM note\n"
                                     "WHERE last_due >= ?1\n"
                                     "  AND first_due < ?2\n"
                                     "  AND count > 0\n"
                                     "  AND task = ?4\n"
                                     "ORDER BY first_due, id\n"
                                     "LIMIT ?3\n";

constexpr const char* kAlerts = "SELECT " DC_ALERT_COLUMNS
                                "FROM alert\n"
                                "WHERE created_at >= ?1\n"
                                "ORDER BY seq DESC\n"
                                "LIMIT ?2\n";
constexpr const char* kAlertsOfTask = "SELECT " DC_ALERT_COLUMNS
                                      "FROM alert\n"
                                      "WHERE created_at >= ?1\n"
                                      "  AND task = ?3\n"
                                      "ORDER BY seq DESC\n"
                                      "LIMIT ?2\n";

constexpr const char* kAudit = "SELECT " DC_AUDIT_COLUMNS
                               "FROM audit\n"
                               "ORDER BY id DESC\n"
                               "LIMIT ?1\n";
constexpr const char* kAuditOfTask = "SELECT " DC_AUDIT_COLUMNS
                                     "FROM audit\n"
                                     "WHERE task = ?2\n"
                                     "ORDER BY id DESC\n"
                                     "LIMIT ?1\n";
constexpr const char* kAuditOfRun = "SELECT " DC_AUDIT_COLUMNS
                                    "FROM audit\n"
                                    "WHERE run_id = ?3\n"
                                    "  AND (?2 = '' OR task = ?2)\n"
                                    "ORDER BY id DESC\n"
                                    "LIMIT ?1\n";

constexpr const char* kVersions = "SELECT " DC_VERSION_COLUMNS
                                  "FROM rule_version\n"
                                  "ORDER BY version DESC\n"
                                  "LIMIT ?\n";

constexpr const char* kTexts = R"sql(
SELECT rule_file.name, rule_text.text
FROM rule_file
JOIN rule_text ON rule_text.hash = rule_file.hash
WHERE rule_file.version = ?
ORDER BY rule_file.name
LIMIT ?
)sql";

constexpr const char* kFlags = "SELECT " DC_FLAG_COLUMNS
                               "FROM flag\n"
                               "ORDER BY name, date\n"
                               "LIMIT ?\n";

const char* RunsSql(const RunFilter& filter) {
  if (!filter.run_id.empty()) return kRunById;
  if (!filter.key.empty()) return kRunByKey;
  if (!filter.task.empty()) return filter.newest_first ? kRunsOfTaskDown : kRunsOfTaskUp;
  bool open = !filter.states.empty() && std::none_of(filter.states.begin(), filter.states.end(), IsFinal);
  if (open) return filter.newest_first ? kOpenDown : kOpenUp;
  return filter.newest_first ? kRunsDown : kRunsUp;
}

const char* DecisionsSql(const DecisionFilter& filter) {
  if (!filter.run_id.empty()) return filter.newest_first ? kOfRunDown : kOfRunUp;
  if (!filter.task.empty()) return filter.newest_first ? kOfTaskDown : kOfTaskUp;
  return filter.newest_first ? kDecisionsDown : kDecisionsUp;
}

std::optional<std::string> UnlessEmpty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

class SqliteReader : public StoreReader {
 public:
  SqliteReader(Database database, DamageSeen damage) : damage_(std::move(damage)) {
    session_.db() = std::move(database);
  }

  Result<std::vector<Run>> Runs(const RunFilter& filter) override {
    std::string states;
    for (RunState state : filter.states)
      states += StrCat(states.empty() ? "," : "", RunStateName(state), ",");
    auto bind = [&](Put& put) {
      put << filter.from << filter.until << UnlessEmpty(filter.task) << filter.value << filter.business_date
          << UnlessEmpty(filter.key) << UnlessEmpty(filter.run_id) << states << ClampLimit(filter.limit);
    };
    return Rows(RunsSql(filter), bind, TakeRun);
  }

  Result<std::vector<Attempt>> Attempts(const std::string& run_id) override {
    return Rows(
        kAttempts, [&](Put& put) { put << run_id << kReadMax; }, TakeAttempt);
  }

  Result<std::vector<DecisionRow>> Decisions(const DecisionFilter& filter) override {
    auto bind = [&](Put& put) {
      put << filter.from << filter.until << filter.after_id << UnlessEmpty(filter.task);
      if (filter.run_id.empty()) {
        put << std::nullopt;
      } else {
        put << filter.run_id;
      }
      put << ClampLimit(filter.limit);
    };
    return Rows(DecisionsSql(filter), bind, TakeDecision);
  }

  Result<std::vector<Note>> Notes(const std::string& task, Instant from, Instant until, int limit) override {
    auto bind = [&](Put& put) {
      put << from << until << ClampLimit(limit);
      if (!task.empty()) put << task;
    };
    return Rows(task.empty() ? kNotes : kNotesOfTask, bind, TakeNote);
  }

  Result<std::vector<AlertRow>> Alerts(const std::string& task, Instant from, int limit) override {
    auto bind = [&](Put& put) {
      put << from << ClampLimit(limit);
      if (!task.empty()) put << task;
    };
    return Rows(task.empty() ? kAlerts : kAlertsOfTask, bind, TakeAlert);
  }

  Result<std::vector<AuditRow>> Audit(const std::string& task, const std::string& run_id,
                                      int limit) override {
    auto bind = [&](Put& put) {
      put << ClampLimit(limit);
      if (!task.empty() || !run_id.empty()) put << task;
      if (!run_id.empty()) put << run_id;
    };
    const char* sql = !run_id.empty() ? kAuditOfRun : task.empty() ? kAudit : kAuditOfTask;
    return Rows(sql, bind, TakeAudit);
  }

  Result<std::vector<RuleVersion>> RuleVersions(int limit) override {
    return Rows(
        kVersions, [&](Put& put) { put << ClampLimit(limit); }, TakeVersion);
  }

  Result<std::vector<std::pair<std::string, std::string>>> RuleTexts(int64_t version) override {
    auto bind = [&](Put& put) { put << version << kReadMax; };
    return Rows(kTexts, bind, [](Take& take) {
      std::string name = take.Text();
      return std::make_pair(std::move(name), take.Text());
    });
  }

  Result<std::vector<Flag>> Flags() override {
    return Rows(
        kFlags, [&](Put& put) { put << kReadMax; }, TakeFlag);
  }

  Result<std::vector<Run>> LastResults(const std::vector<std::string>& tasks) override {
    std::vector<Run> rows;
    session_.ClearFailure();
    for (const std::string& task : tasks) {
      session_.One(
          kLastResult, [&](Put& put) { put << task; },
          [&](Take& take) {
            take.OnlyToShow();
            rows.push_back(TakeRun(take));
          });
    }
    if (session_.failed()) return Failure();
    return rows;
  }

 private:
  template <typename Bind, typename TakeRow>
  auto Rows(const char* sql, Bind bind, TakeRow take_row)
      -> Result<std::vector<std::invoke_result_t<TakeRow, Take&>>> {
    std::vector<std::invoke_result_t<TakeRow, Take&>> rows;
    session_.ClearFailure();
    session_.Each(sql, bind, [&](Take& take) {
      take.OnlyToShow();
      rows.push_back(take_row(take));
      return true;
    });
    if (session_.failed()) return Failure();
    return rows;
  }

  Error Failure() {
    if (damage_ && IsDamage(session_.failure())) damage_(session_.failure().message);
    return Error(session_.failure().message);
  }

  SqlSession session_;
  DamageSeen damage_;
};

}  // namespace

std::unique_ptr<StoreReader> NewSqliteReader(Database database, DamageSeen damage) {
  return std::make_unique<SqliteReader>(std::move(database), std::move(damage));
}

}  // namespace duecourse
