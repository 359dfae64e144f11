// What the daemon answers for: requests and who waits for them, health, and what it says when the store takes
// nothing. Nothing that was asked waits for ever.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "web/daemon.h"

namespace duecourse {
namespace {

// A stranger's lock is gone in seconds, and an act simply waits for that; after so long it is refused at
// once.
constexpr int64_t kBusyPatienceMs = 2'000;
// An act that was on its way when the trouble began is answered for after so long; with the engine's idle
// step of a second that is within ten seconds.
constexpr int64_t kActPatienceMs = 8'000;
constexpr size_t kWaitsForShown = 20;

bool ChangesTheStore(const RequestBody& body) {
  return std::get_if<ExplainRequest>(&body) == nullptr && std::get_if<TasksRequest>(&body) == nullptr;
}

std::string AwayText(const StoreAway& away) {
  if (away.fault.claims_only)
    return StrCat("nothing starts since ", FormatUtc(away.since), ": ", away.fault.message);
  return StrCat("the store takes nothing since ", FormatUtc(away.since), ": ", away.fault.message);
}

Answer Unavailable(const std::string& text) {
  return {0, Answer::Kind::kProblem, text,
          Json::MakeObject().Set("reason", "store_unavailable").Set("detail", text)};
}

}  // namespace

// Why an act cannot be taken on now; nothing where it can.
std::optional<Answer> Daemon::NotNow() {
  std::optional<StoreAway> away = store_ == nullptr ? std::nullopt : store_->away();
  if (!away || away->fault.claims_only) return std::nullopt;
  const bool brief = clock_.Monotonic().count - away->since_ms < kBusyPatienceMs;
  if (away->fault.kind == StoreFault::Kind::kBusy && brief) return std::nullopt;
  return Unavailable(StrCat(AwayText(*away), ". Nothing was done; ask again when it is back"));
}

void Daemon::AnswerLate() {
  std::optional<StoreAway> away = store_->away();
  if (!away || away->fault.claims_only) return;
  const int64_t before = MonotonicMicros() / 1000 - kActPatienceMs;
  std::vector<std::function<void(Answer)>> late;
  {
    MutexLock lock(mutex_);
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (it->second.act && it->second.asked_ms <= before) {
        late.push_back(std::move(it->second.reply));
        it = waiting_.erase(it);
      } else {
        ++it;
      }
    }
  }
  const Answer answer =
      Unavailable(StrCat(AwayText(*away),
                         ". What you asked for was on its way by then and may still happen when the store is "
                         "back: look (why, runs) before you ask again"));
  for (const auto& reply : late) reply(answer);
}

// The drain's time is over, nothing runs any more, and the store takes nothing: it is not waited for.
bool Daemon::GivesUp() {
  if (give_up_ms_ == 0 || MonotonicMicros() / 1000 < give_up_ms_) return false;
  std::optional<StoreAway> away = store_->away();
  if (!away || away->fault.claims_only) return false;
  {
    MutexLock lock(mutex_);
    if (!live_.empty()) return false;
  }
  log_.Problem("stops_without_store", Json::MakeObject().Set("error", AwayText(*away)));
  return true;
}

void Daemon::Answered(const Answer& answer) {
  std::function<void(Answer)> reply;
  {
    MutexLock lock(mutex_);
    auto it = waiting_.find(answer.request_id);
    if (it == waiting_.end()) return;
    reply = std::move(it->second.reply);
    waiting_.erase(it);
  }
  reply(answer);
}

uint64_t Daemon::Remember(std::function<void(Answer)> reply, bool act) {
  MutexLock lock(mutex_);
  uint64_t id = next_request_++;
  waiting_.emplace(id, Waiting{std::move(reply), MonotonicMicros() / 1000, act});
  return id;
}

void Daemon::Ask(Request request, std::function<void(Answer)> reply) {
  const bool act = ChangesTheStore(request.body);
  if (act) {
    if (std::optional<Answer> no = NotNow()) {
      reply(std::move(*no));
      return;
    }
  }
  request.id = Remember(std::move(reply), act);
  Post(Requested{std::move(request)});
}

void Daemon::Drain() {
  if (!draining_.exchange(true)) Post(DrainAsked{});
}

bool Daemon::Wait() {
  if (thread_.joinable()) thread_.join();
  if (store_ != nullptr) store_->Stop();
  // Whoever still waits for an answer hears that none will come.
  std::map<uint64_t, Waiting> left;
  {
    MutexLock lock(mutex_);
    left.swap(waiting_);
  }
  for (auto& [id, waiting] : left)
    waiting.reply(Answer{id, Answer::Kind::kProblem, "the daemon stopped", Json::MakeObject()});
  return store_ == nullptr || (drained_.load() && store_->given_up() == 0);
}

// In the audit trail, beside what the engine writes there itself. On the store's thread.
void Daemon::Audit(AuditRow row) {
  AuditCall call;
  call.row = std::move(row);
  call.row.at = clock_.Wall();
  store_->Run([this, call](Store& store) {
    StoreFault fault;
    store.Commit({call}, fault);
    if (fault.kind == StoreFault::Kind::kNone) return;
    log_.Problem("audit_not_stored", Json::MakeObject()
                                         .Set("by", call.row.by)
                                         .Set("action", call.row.action)
                                         .Set("detail", call.row.detail)
                                         .Set("error", fault.message));
  });
}

Result<std::unique_ptr<StoreReader>> Daemon::NewReader() {
  return NewSqliteReader(options_.data_folder, [this](const std::string& what) { store_->Doubt(what); });
}

// What happens where a daemon was at work at an instant that this machine's clock has not reached.
std::string Daemon::ClockWarning() const {
  const Instant now = clock_.Wall();
  if (found_alive_ <= now + kWallSkew) return "";
  return StrCat(
      "the wall clock stands at ", FormatUtc(now), ", but a daemon was at work here at ",
      FormatUtc(found_alive_), ", ", FormatMillis(found_alive_ - now),
      " later: it is wrong now, or it was then. Look at the machine's time service (timedatectl); what "
      "comes due again is known by its key and is not repeated");
}

Health Daemon::health() {
  Health health;
  health.draining = draining_.load();
  health.step_age_ms = MonotonicMicros() / 1000 - last_step_ms_.load();
  std::optional<StoreAway> away = store_ == nullptr ? std::nullopt : store_->away();
  bool trusted = true;
  if (away) {
    health.store_refusing_ms = std::max<int64_t>(1, clock_.Monotonic().count - away->since_ms);
    health.store_problem = AwayText(*away);
    // None of them passes by itself.
    const StoreFault::Kind kind = away->fault.kind;
    trusted = kind != StoreFault::Kind::kVanished && kind != StoreFault::Kind::kCorrupt &&
              kind != StoreFault::Kind::kOwned;
  }
  if (std::string warning = ClockWarning(); !warning.empty()) health.warnings.push_back(std::move(warning));
  if (health.draining) {
    MutexLock lock(mutex_);
    health.stops_by = stops_by_;
    for (const std::string& run : live_) {
      if (health.waits_for.size() < kWaitsForShown) health.waits_for.push_back(run);
    }
  }
  health.healthy = true;
  if (health.step_age_ms > kStepAgeMax) {
    health.healthy = false;
    health.problem = StrCat("the engine has not stepped for ", health.step_age_ms / 1000, " s");
  } else if (!trusted || health.store_refusing_ms > kStoreRefusingMax) {
    health.healthy = false;
    health.problem = health.store_problem;
  }
  return health;
}

}  // namespace duecourse
