// Reading rules again, off the engine's thread: all or nothing; an invalid set leaves the active one as it
// is.
#include <algorithm>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "rule/lint.h"
#include "rule/origin.h"
#include "rule/place.h"
#include "web/daemon.h"

namespace duecourse {

std::vector<Finding> CheckForServe(const Loaded& loaded, Instant now) {
  std::vector<Finding> out = loaded.findings;
  if (loaded.set == nullptr) return out;
  LintOptions options;
  options.now = now;
  options.thorough = false;
  std::vector<Finding> more = Lint(*loaded.set, options);
  out.insert(out.end(), more.begin(), more.end());
  std::erase_if(out, [](const Finding& finding) { return finding.severity != Finding::Severity::kError; });
  if (!more.empty()) PlaceFindings(*loaded.set, &out);
  return out;
}

std::vector<std::pair<std::string, std::string>> TextsOf(const RuleSet& rules) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const RuleFile& file : rules.files) {
    Result<std::string> text = ReadFile(file.path, kYamlMaxBytes);
    if (text.ok()) texts.emplace_back(file.path, std::move(text).value());
  }
  if (!rules.config.file.empty()) {
    Result<std::string> text = ReadFile(rules.config.file, kYamlMaxBytes);
    if (text.ok()) texts.emplace_back(rules.config.file, std::move(text).value());
  }
  return texts;
}

void Daemon::Reload(ReloadOrder order, std::function<void(Answer)> reply) {
  if (!order.dry_run) {
    if (std::optional<Answer> no = NotNow()) {
      reply(std::move(*no));
      return;
    }
  }
  auto noted = [this, order, reply = std::move(reply)](const Answer& answer) {
    if (!order.dry_run && answer.kind == Answer::Kind::kFine) {
      AuditRow row;
      row.by = order.by;
      row.reason = order.reason;
      row.action = "reload";
      row.detail = answer.message;
      Audit(std::move(row));
    }
    reply(answer);
  };
  uint64_t without_thread = 0;
  std::string why;
  {
    MutexLock lock(reload_mutex_);
    if (!reloading_ || (order.waits && !next_reload_)) {
      const uint64_t id = Remember(std::move(noted), !order.dry_run);
      if (reloading_) {
        next_reload_.emplace(order, id);
        return;
      }
      // The thread before has nothing left to do but to end.
      if (reload_thread_.joinable()) reload_thread_.join();
      reloading_ = true;
      try {
        reload_thread_ = std::thread([this, order, id] { ReadRules(order, id); });
        return;
      } catch (const std::system_error& error) {
        reloading_ = false;
        without_thread = id;
        why = error.what();
      }
    }
  }
  if (without_thread != 0) {
    return Answered({without_thread, Answer::Kind::kProblem,
                     StrCat("the machine gives no thread to read the rules with (", why,
                            "); those in force go on; see TasksMax and ulimit -u"),
                     Json::MakeObject()});
  }
  const std::string busy = "a reload is running: the rules are being read; ask again when it is answered";
  noted({0, Answer::Kind::kRefused, busy,
         Json::MakeObject().Set("reason", ReasonName(Reason::kLockOccupied)).Set("detail", busy)});
}

void Daemon::ReadRules(ReloadOrder order, uint64_t request_id) {
  while (true) {
    const std::function<void()> go_on = OfferRules(order, request_id);
    bool another = false;
    {
      // Before anybody hears of it: whoever does may ask for the next at once.
      MutexLock lock(reload_mutex_);
      another = next_reload_.has_value();
      reloading_ = another;
      if (another) std::tie(order, request_id) = *std::exchange(next_reload_, std::nullopt);
    }
    go_on();
    if (!another) return;
  }
}

// A daemon that starts on far fewer tasks than it had is asked the question that reload asks: a folder that
// is empty or not mounted would end the open runs of all the others, and one that has no tasks from the first
// start on would run nothing, unnoticed. Who confirmed an empty set once is not asked again at each start.
// What cannot be read here is told by Open.
Status Daemon::CheckTaskCount(const RuleSet& set) const {
  if (options_.confirm) return {};
  const int64_t after = static_cast<int64_t>(set.tasks.size());
  const std::string where = RulesPlace(options_.rules, set.config);
  if (!FileExists(JoinPath(options_.data_folder, "store.db"))) {
    if (after > 0 || !options_.init) return {};
    return Error(StrCat("the rules have 0 tasks (looked in ", where,
                        " for files *.yaml and *.yml): nothing would ever run. Put a rule there, or say with "
                        "--rules where they are; if an empty start is meant: duecourse serve --init "
                        "--confirm"));
  }
  Result<std::unique_ptr<StoreReader>> reader = NewSqliteReader(options_.data_folder);
  if (!reader.ok()) return {};
  Result<std::vector<RuleVersion>> newest = (*reader)->RuleVersions(1);
  if (!newest.ok()) return {};
  if (newest->empty()) {
    if (after > 0) return {};
    return Error(StrCat("the rules have 0 tasks (looked in ", where,
                        " for files *.yaml and *.yml): nothing would ever run. Put a rule there; if that is "
                        "meant: duecourse serve --confirm"));
  }
  const int64_t before = newest->front().tasks;
  const bool few = after < before && (before - after) * 100 > before * kReloadLossPercent;
  if (before == 0 || (after > 0 && !few)) return {};
  return Error(StrCat("the rules have ", after, after == 1 ? " task" : " tasks", ", version ",
                      newest->front().version, " of the store has ", before,
                      ": open runs of the others would end as rule_removed. Look whether the rules are all "
                      "there (",
                      where, "); if that is meant: duecourse serve --confirm"));
}

// Reads and checks; what is returned hands the outcome on.
std::function<void()> Daemon::OfferRules(const ReloadOrder& order, uint64_t request_id) {
  Loaded loaded = LoadRules(options_.rules);
  std::vector<Finding> errors = CheckForServe(loaded, clock_.Wall());
  if (loaded.set == nullptr || !errors.empty()) {
    Json list = Json::MakeArray();
    for (const Finding& finding : errors) list.Add(FormatFinding(finding));
    Answer answer{request_id, Answer::Kind::kProblem, "", Json::MakeObject()};
    answer.message = StrCat(order.dry_run ? "the new rules would be refused: "
                                          : "the new rules are refused, the active ones stay: ",
                            errors.size(), errors.size() == 1 ? " error" : " errors");
    // A question that is answered with no refuses nothing.
    if (!order.dry_run)
      log_.Problem("rules_refused", Json::MakeObject().Set("by", order.by).Set("errors", list));
    answer.body.Set("errors", std::move(list));
    if (!order.dry_run) TellRefused(answer.message, errors);
    return [this, answer] { Answered(answer); };
  }
  RulesOffered offered;
  offered.request_id = request_id;
  offered.rules = loaded.set;
  offered.by = order.by;
  offered.confirm = order.confirm;
  offered.dry_run = order.dry_run;
  if (loaded.set->hash != rules()->hash && !order.dry_run) offered.texts = TextsOf(*loaded.set);
  return [this, offered] { Post(offered); };
}

// An invalid set leaves the last good one active, and somebody hears of it.
void Daemon::TellRefused(const std::string& what, const std::vector<Finding>& errors) {
  NoticeFacts facts;
  facts.level = AlertLevel::kP2;
  facts.event = "rules_refused";
  facts.what = what;
  for (size_t i = 0; i < errors.size() && i < 5; ++i) facts.todo.push_back(FormatFinding(errors[i]));
  facts.at = clock_.Wall();
  AlertDraft draft = DraftNotice(facts);
  for (std::vector<ChannelConfig>& channels : ChannelsForAll(rules()->config, facts.level)) {
    sender_->Send(MessageOf(StrCat("a", SecureToken(10)), draft.level, draft.title, draft.body),
                  std::move(channels));
  }
}

void Daemon::TestAlert(TestOrder order, std::function<void(Answer)> reply) {
  const std::string what = StrCat(AlertLevelName(order.level), " to ", order.owner);
  auto noted = [this, what, order, reply](const Answer& answer) {
    AuditRow row;
    row.by = order.by;
    row.reason = order.reason;
    row.action = "alert_test";
    row.detail = StrCat(what, ": ", answer.message);
    Audit(std::move(row));
    reply(answer);
  };
  const std::shared_ptr<const RuleSet> set = rules();
  std::vector<std::string> owners;
  for (const auto& owner : set->config.owners) owners.push_back(owner.first);
  if (std::find(owners.begin(), owners.end(), order.owner) == owners.end()) {
    // Alerts of a name that nobody has go to `default`; a test of it would tell nothing of that name.
    const auto near = Nearest(order.owner, owners);
    reply(Answer{0, Answer::Kind::kUnknown,
                 StrCat("there is no owner ", order.owner, " in the settings",
                        near ? StrCat("; did you mean ", *near, "?") : ""),
                 Json::MakeObject()});
    return;
  }
  std::vector<ChannelConfig> channels = ChannelsFor(set->config, order.owner, order.level);
  if (channels.empty()) {
    reply(Answer{0, Answer::Kind::kProblem,
                 StrCat("owner ", order.owner, " has no channel for ", AlertLevelName(order.level)),
                 Json::MakeObject()});
    return;
  }
  uint64_t id = Remember(std::move(noted), /*act=*/false);
  NoticeFacts facts;
  facts.level = order.level;
  facts.event = "test";
  facts.what = "this is a test: alerts of this level reach you here";
  facts.at = clock_.Wall();
  AlertDraft draft = DraftNotice(facts);
  std::string alert = StrCat("a", SecureToken(10));
  {
    MutexLock lock(mutex_);
    tests_[alert] = id;
  }
  sender_->Send(MessageOf(alert, order.level, draft.title, draft.body), std::move(channels));
}

}  // namespace duecourse
