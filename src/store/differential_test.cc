// The twin in memory is worth as much as its equality with SQLite: both get the same seeded random calls, and
// their replies and all that can be read afterwards must be the same.
#include <cstdlib>
#include <sstream>

#include "base/random.h"
#include "store/contract_parts.h"

namespace duecourse {
namespace {

class Show {
 public:
  template <typename T>
  Show& operator<<(const T& value) {
    out_ << value << '|';
    return *this;
  }
  Show& operator<<(Instant value) { return *this << value.ms; }
  Show& operator<<(Millis value) { return *this << value.count; }
  Show& operator<<(CivilDay value) { return *this << value.days; }
  Show& operator<<(RunState value) { return *this << RunStateName(value); }
  Show& operator<<(Reason value) { return *this << ReasonName(value); }
  template <typename T>
  Show& operator<<(const std::optional<T>& value) {
    return value ? *this << *value : *this << "none";
  }
  template <typename T>
  Show& operator<<(const std::vector<T>& rows) {
    for (const T& row : rows) *this << row;
    return *this << rows.size();
  }
  Show& operator<<(const RunRow& r) {
    return *this << r.id << r.task << r.value << r.identity << r.due << r.business_date << r.key << r.state
                 << r.reason << r.detail << r.fence << r.attempts << r.counted << r.uncounted << r.failures
                 << static_cast<int>(r.told) << r.ladder.immediate << r.ladder.backoff << r.ladder.catchup
                 << r.next_at << r.next_lost_rerun << r.window_opens << r.window_ends << r.before_manual
                 << r.before_claim << TriggerKindName(r.origin) << r.extra << r.owed << r.supersedes
                 << r.superseded_by << r.cancel << r.met << r.rule_version << r.created_at << r.state_since
                 << r.first_start << r.incarnation << r.boot_id << r.lease_until;
  }
  Show& operator<<(const Attempt& a) {
    return *this << a.run_id << a.number << a.fence << TriggerKindName(a.kind) << a.nonce << a.rule_version
                 << a.node << a.incarnation << a.boot_id << a.claimed_at << a.ended_at
                 << OutcomeName(a.outcome) << FailureClassName(a.failure_class) << a.code << a.summary
                 << a.detail << a.by;
  }
  Show& operator<<(const DecisionRow& d) {
    return *this << d.id << d.run_id << d.task << d.value << d.key << d.business_date << d.at << d.last_at
                 << d.count << d.decision << d.reason << d.detail << d.from_state << d.to_state << d.attempt
                 << d.error_code << d.fence << d.rule_version << d.node << d.zone_data << d.recheck_at;
  }
  Show& operator<<(const Note& n) {
    return *this << n.id << n.task << n.value << n.reason << n.state << n.first_due << n.last_due << n.count
                 << n.run_id << n.detail << n.at;
  }
  Show& operator<<(const AlertRow& a) {
    return *this << a.id << a.episode << a.event << static_cast<int>(a.level) << a.task << a.run_id << a.owner
                 << a.title << a.body << static_cast<int>(a.state) << a.created_at << a.next_try_at << a.tries
                 << a.channel << a.last_error;
  }
  Show& operator<<(const AuditRow& a) {
    return *this << a.id << a.at << a.by << a.action << a.task << a.run_id << a.reason << a.detail;
  }
  Show& operator<<(const Flag& f) {
    return *this << f.name << f.date << f.value << f.by << f.at << f.expires;
  }
  Show& operator<<(const Control& c) {
    return *this << c.scope << c.paused << c.by << c.reason << c.at << c.version;
  }
  Show& operator<<(const Breaker& b) {
    return *this << b.task << b.value << b.version << b.open << b.until << b.trial_run << b.failed_attempts
                 << b.failed_ladders << b.opened_at << b.episode;
  }
  Show& operator<<(const TaskCursor& c) {
    return *this << c.task << c.value << c.in_force_since << c.planned_through << c.last_start << c.schedule
                 << c.active;
  }
  Show& operator<<(const RuleVersion& v) {
    return *this << v.version << v.hash << v.at << v.by << v.tasks << v.changes;
  }
  Show& operator<<(const std::pair<std::string, Instant>& p) { return *this << p.first << p.second; }
  Show& operator<<(const ClaimReply& r) {
    return *this << "claim" << r.granted << r.fence << r.attempt << r.at << r.refusal << r.holder << r.detail
                 << r.recheck_at << r.moved_on;
  }
  Show& operator<<(const MoveReply& r) {
    return *this << "move" << r.moved << r.state << r.fence << r.superseded_by << r.decision_id;
  }
  Show& operator<<(const PlannedReply& r) {
    return *this << "planned" << static_cast<int>(r.kind) << r.holder << r.holder_state << r.claim
                 << r.decision_id;
  }
  Show& operator<<(const NoReply&) { return *this << "fine"; }
  Show& operator<<(const ActivateReply& r) { return *this << r.version; }
  Show& operator<<(const PlanReply& r) { return *this << r.runs << r.supersede; }
  Show& operator<<(const RenewReply& r) { return *this << r.held; }
  Show& operator<<(const FinishReply& r) { return *this << r.accepted << r.decision_id; }
  Show& operator<<(const DecisionReply& r) { return *this << r.id; }
  Show& operator<<(const FindRunsReply& r) { return *this << r.runs; }
  Show& operator<<(const PruneReply& r) { return *this << "pruned" << r.rows; }
  Show& operator<<(const StoreReply& reply) {
    std::visit([this](const auto& one) { *this << one; }, reply);
    return *this << "\n";
  }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

// Random calls that make sense often enough: most claims and finishes name the state and fence as they stand.
class Caller {
 public:
  Caller(uint64_t seed, const MemoryDisk& disk, const StillClock& clock)
      : random_(seed), disk_(disk), clock_(clock) {}

  StoreCall Next() {
    switch (random_.Between(0, 15)) {
      case 0:
      case 1:
      case 2:
        return Plan();
      case 3:
      case 4:
      case 5:
        return Claim(Pick());
      case 6:
      case 7:
      case 8:
        return Finish();
      case 9:
        return Move();
      case 10:
        return RenewCall{Pick().id, random_.Between(0, 3), Seconds(random_.Between(0, 90))};
      case 11:
        return Rows();
      case 12:
        return FindRunsCall{Task(),
                            Maybe<std::string>(Value()),
                            Maybe(CivilDay{Int(0, 3)}),
                            random_.Between(0, 4) == 0 ? Maybe<std::string>(Key()) : std::nullopt,
                            Due(),
                            Chance(10) ? Pick().id : ""};
      case 13:
        return FindNonceCall{Pick().id, StrCat("n", random_.Between(0, 400))};
      case 14:
        return Activate();
      default:
        return Prune();
    }
  }
  std::string Met() { return StrCat("m", Int(0, 9)); }
  int Int(int low, int high) { return static_cast<int>(random_.Between(low, high)); }
  bool Chance(int percent) { return random_.Between(1, 100) <= percent; }

 private:
  template <typename T>
  std::optional<T> Maybe(T value) {
    return Chance(50) ? std::optional<T>(std::move(value)) : std::nullopt;
  }
  std::string Task() { return StrCat("t", Int(0, 2)); }
  std::string Value() { return Chance(70) ? "" : "x"; }
  std::string Key() { return StrCat("key", Int(0, 60)); }
  Instant Due() { return clock_.wall + Seconds(random_.Between(-30, 30) * 60); }
  RunState State() { return static_cast<RunState>(random_.Between(0, kRunStateCount - 1)); }
  Reason AnyReason() { return static_cast<Reason>(random_.Between(0, kReasonCount - 1)); }
  RunRow Pick() {
    if (disk_.run_order.empty() || Chance(3)) return MakeRun("none", "t0", clock_.wall);
    int64_t skip = random_.Between(0, static_cast<int64_t>(disk_.run_order.size()) - 1);
    if (Chance(60)) skip = std::max<int64_t>(skip, static_cast<int64_t>(disk_.run_order.size()) - 8);
    return disk_.runs.at(std::next(disk_.run_order.begin(), skip)->second).run;
  }
  std::vector<DecisionRow> Decisions() {
    std::vector<DecisionRow> rows;
    for (int i = Int(0, 2); i > 0; --i) rows.push_back(Decision());
    return rows;
  }
  DecisionRow Decision() {
    DecisionRow row = MakeDecision("wait", AnyReason());
    if (Chance(20)) row.run_id = Pick().id;
    row.task = Task();
    row.value = Value();
    row.key = "given";
    row.business_date = CivilDay{Int(0, 9)};
    if (Chance(50)) row.at = Due();
    if (Chance(50)) row.last_at = Due();
    if (Chance(50)) row.recheck_at = Due();
    row.count = Int(1, 3);
    row.rule_version = Int(0, 3);
    return row;
  }
  std::vector<AlertRow> Alerts() {
    std::vector<AlertRow> rows;
    if (Chance(70)) return rows;
    AlertRow row;
    row.id = StrCat("a", Int(0, 9));
    row.task = Task();
    row.level = static_cast<AlertLevel>(Int(0, 3));
    row.state = static_cast<AlertRow::State>(Int(0, 2));
    if (Chance(50)) row.created_at = Due();
    rows.push_back(row);
    return rows;
  }
  std::optional<AuditRow> Audit() {
    AuditRow row = MakeAudit("act");
    if (Chance(20)) row.by = "";
    row.task = Task();
    row.run_id = Pick().id;
    return Maybe(row);
  }
  Breaker AnyBreaker() {
    Breaker breaker;
    breaker.task = Task();
    breaker.value = Value();
    breaker.version = Int(0, 2);
    breaker.until = Maybe(Due());
    return breaker;
  }
  Flag AnyFlag() {
    Flag flag;
    flag.name = StrCat("f", Int(0, 2));
    flag.date = Maybe(CivilDay{Int(0, 2)});
    flag.value = StrCat(Int(0, 9));
    flag.expires = Maybe(Due());
    if (Chance(50)) flag.at = Due();
    return flag;
  }
  RunRow Fresh(const std::string& task, const std::string& value) {
    RunRow run = MakeRun(StrCat("r", ++made_), task, Due());
    run.value = value;
    run.identity = StrCat("cron/", Int(0, 300));
    run.key = Chance(10) ? std::nullopt : std::optional<std::string>(Key());
    run.business_date = CivilDay{Int(0, 3)};
    if (Chance(30)) run.state = State();
    if (run.state == RunState::kRunning) run.state = RunState::kScheduled;
    run.reason = AnyReason();
    run.window_ends = Due();
    run.counted = Int(0, 2);
    if (Chance(50)) run.state_since = Due();
    return run;
  }
  PlanCall Plan() {
    PlanCall call;
    call.task = Task();
    call.value = Value();
    call.planned_through = Maybe(Due());
    for (int i = Int(0, 3); i > 0; --i) {
      RunRow run = Chance(90) ? Fresh(call.task, call.value) : Fresh(Task(), Value());
      call.runs.push_back({run, Maybe(Claim(run)), Decisions(), Alerts()});
      call.runs.back().only_with_claim = Chance(20);
      if (Chance(20)) call.runs.back().uncount = Uncount{AnyReason(), "by hand", Decision()};
    }
    if (Chance(30)) {
      Note note;
      note.task = Task();
      note.value = Value();
      note.first_due = Due();
      note.last_due = note.first_due + Minutes(Int(0, 3));
      note.count = Int(1, 3);
      if (Chance(50)) note.reason = AnyReason();
      note.state = State();
      if (Chance(50)) note.at = Due();
      call.notes = {note};
      if (Chance(30)) call.notes.push_back(note);
    }
    call.note_decisions = Decisions();
    if (Chance(20)) call.supersede = {Move()};
    call.alerts = Alerts();
    return call;
  }
  ClaimCall Claim(const RunRow& run) {
    ClaimCall claim = MakeClaim(run, StrCat("n", ++nonces_));
    if (Chance(10)) claim.expected_state = State();
    if (Chance(10)) claim.expected_fence = Int(0, 3);
    if (Chance(30)) claim.kind = static_cast<TriggerKind>(Int(0, 4));
    claim.counts = Chance(80);
    claim.attempts_max = Int(1, 5);
    claim.ttl = Seconds(Int(0, 600));
    claim.task_limit = Int(0, 4);
    if (Chance(20)) claim.min_interval = Seconds(Int(0, 600));
    if (Chance(20)) claim.not_before = Due();
    if (Chance(20)) claim.not_after = Due();
    if (Chance(20)) claim.breaker_version = Int(0, 2);
    if (Chance(20)) claim.control_version = Int(0, 2);
    if (Chance(20)) claim.rule_version = Int(1, 4);
    if (Chance(5)) claim.incarnation = "other";
    for (const char* pool : {"p1", "p2"}) {
      if (Chance(20)) claim.pools.emplace_back(pool, Int(0, 3));
    }
    if (Chance(20)) claim.audit = AuditRow{0, Due(), "ann", "trigger", run.task, run.id, "why", "over it"};
    claim.decision = Decision();
    return claim;
  }
  FinishCall Finish() {
    FinishCall call;
    call.after = Changed();
    call.fence = Chance(90) ? call.after.fence : random_.Between(0, 3);
    call.lost = Chance(20);
    call.end.outcome = static_cast<Outcome>(Int(0, 7));
    call.end.failure_class = static_cast<FailureClass>(Int(0, 4));
    call.end.code = StrCat("exit ", Int(0, 99));
    call.end.ended_at = Maybe(Due());
    call.decisions = Decisions();
    call.alerts = Alerts();
    call.breaker = Maybe(AnyBreaker());
    if (Chance(20)) call.flags = {AnyFlag()};
    return call;
  }
  MoveCall Move() {
    MoveCall call;
    call.after = Changed();
    call.expected_state = Chance(90) ? before_ : State();
    call.expected_fence = Chance(90) ? call.after.fence : random_.Between(0, 3);
    call.decisions = Decisions();
    call.alerts = Alerts();
    call.breaker = Maybe(AnyBreaker());
    call.audit = Audit();
    if (Chance(20)) call.flags = {AnyFlag()};
    return call;
  }
  // A run as it might be after something; before_ is its state now.
  RunRow Changed() {
    RunRow run = Pick();
    before_ = run.state;
    run.state = State();
    run.reason = AnyReason();
    run.detail = StrCat("d", Int(0, 9));
    run.counted = Int(0, 3);
    run.told = static_cast<AlertLevel>(Int(0, 3));
    run.ladder = {Int(0, 1), Int(0, 3), Int(0, 5)};
    run.next_at = Maybe(Due());
    run.next_lost_rerun = Chance(20);
    run.cancel = Chance(10) ? "by ann" : "";
    run.met = Chance(10) ? Met() : run.met;
    run.window_ends = Due();
    run.state_since = clock_.wall;
    if (Chance(10)) run.superseded_by = StrCat("r", Int(0, 99));
    return run;
  }
  StoreCall Rows() {
    switch (random_.Between(0, 5)) {
      case 0:
        return FlagCall{AnyFlag(), Chance(30), MakeAudit("flag_set")};
      case 1:
        return ControlCall{{StrCat("task/t", Int(0, 2)), Chance(50), "ann", "why", Instant{}, Int(0, 2)},
                           MakeAudit("pause")};
      case 2:
        return FoldCall{random_.Between(1, disk_.next_decision), Due(), random_.Between(0, 3)};
      case 3:
        return NoteDecisionCall{Decision(), Chance(20) ? Met() : "",
                                Chance(50) ? std::optional<std::string>("shown") : std::nullopt};
      case 4:
        return AlertsCall{Alerts()};
      default:
        return BreakerCall{AnyBreaker()};
    }
  }
  ActivateCall Activate() {
    ActivateCall call;
    call.version.hash = StrCat("h", Int(0, 2));
    call.texts = {{"b.yaml", StrCat("text", Int(0, 2))}, {"a.yaml", "same"}};
    TaskCursor cursor;
    cursor.task = Task();
    cursor.value = Value();
    cursor.in_force_since = Due();
    cursor.planned_through = Due();
    cursor.last_start = Chance(20) ? Maybe(Due()) : std::nullopt;
    cursor.schedule = StrCat("every ", Int(1, 3));
    cursor.active = Chance(80);
    call.cursors = {cursor};
    return call;
  }
  PruneCall Prune() {
    PruneCall call;
    if (!Chance(20)) return call;
    call.before = clock_.wall - Minutes(Int(0, 600));
    call.limit = 1'000'000;
    call.keys_from = {{"t0", clock_.wall - Minutes(Int(0, 600))}, {"t1", kNever}};
    return call;
  }

  Random random_;
  const MemoryDisk& disk_;
  const StillClock& clock_;
  int made_ = 0;
  int nonces_ = 0;
  RunState before_ = RunState::kScheduled;
};

std::string ShowAll(Store& store) {
  Show show;
  Result<Snapshot> s = store.Load();
  if (!s.ok()) return s.error().message();
  show << s->cursors << s->open_runs << s->unfinished << s->failed << s->breakers << s->controls << s->flags
       << s->pending_alerts << s->pool_last_start << s->last_alive;
  for (const RunAhead& ahead : s->ahead) show << ahead.task << ahead.value << ahead.due;
  Result<std::unique_ptr<StoreReader>> made = store.NewReader();
  StoreReader& reader = **made;
  for (const char* task : {"", "t0", "t1", "t2"}) {
    for (bool newest_first : {false, true}) {
      RunFilter runs;
      runs.task = task;
      runs.newest_first = newest_first;
      runs.limit = 50;
      DecisionFilter decisions;
      decisions.task = task;
      decisions.newest_first = newest_first;
      show << *reader.Runs(runs) << *reader.Decisions(decisions);
    }
    show << *reader.Notes(task, kLongAgo, kNever, 100) << *reader.Alerts(task, kLongAgo, 100)
         << *reader.Audit(task, "", 100) << *reader.LastResults({task});
  }
  RunFilter all;
  all.limit = kReadMax;
  Result<std::vector<RunRow>> runs = reader.Runs(all);
  for (const RunRow& run : *runs) {
    DecisionFilter filter;
    filter.run_id = run.id;
    show << *reader.Attempts(run.id) << *reader.Decisions(filter);
  }
  show << *reader.RuleVersions(100) << *reader.Flags();
  return show.text();
}

// The lines at which two texts part, for a readable failure.
std::string Difference(const std::string& a, const std::string& b) {
  size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  size_t from = at > 200 ? at - 200 : 0;
  return StrCat("…", a.substr(from, 400), "…\nagainst\n…", b.substr(from, 400), "…");
}

void PlayBoth(uint64_t seed, int rounds) {
  SCOPED_TRACE(StrCat("seed ", seed));
  StillClock clock;
  std::shared_ptr<MemoryDisk> disk = NewMemoryDisk();
  Disk file("sqlite");
  Caller caller(seed, *disk, clock);
  std::unique_ptr<Store> memory;
  std::unique_ptr<Store> sqlite;
  for (int round = 0; round < rounds; ++round) {
    if (memory == nullptr || caller.Chance(4)) {
      if (memory != nullptr && caller.Chance(50)) {
        memory->Close();
        sqlite->Close();
      }
      memory.reset();
      sqlite.reset();
      memory = NewMemoryStore(disk, clock);
      sqlite = file.NewStore(clock);
      OpenRequest request = RequestOf(StrCat("i", round), round == 0);
      Result<OpenReply> a = memory->Open(request);
      Result<OpenReply> b = sqlite->Open(request);
      ASSERT_TRUE(a.ok() && b.ok());
      ASSERT_EQ(a->predecessor, b->predecessor);
      ASSERT_EQ(a->version, b->version);
      ASSERT_EQ(a->rules_hash, b->rules_hash);
    }
    clock.Pass(Seconds(caller.Int(0, 120)));
    std::vector<StoreCall> batch;
    for (int i = caller.Int(1, 12); i > 0; --i) batch.push_back(caller.Next());
    StoreFault fault_a;
    StoreFault fault_b;
    std::string a = (Show() << memory->Commit(batch, fault_a)).text();
    std::string b = (Show() << sqlite->Commit(batch, fault_b)).text();
    ASSERT_EQ(fault_b.kind, StoreFault::Kind::kNone) << fault_b.message;
    ASSERT_TRUE(a == b) << "round " << round << ", replies: " << Difference(a, b);
    if (round % 10 != 9) continue;
    a = ShowAll(*memory);
    b = ShowAll(*sqlite);
    ASSERT_TRUE(a == b) << "round " << round << ", content: " << Difference(a, b);
  }
}

TEST(Differential, TheSameCallsGetTheSameRepliesAndLeaveTheSameContent) {
  const bool thorough = std::getenv("DUECOURSE_LONG") != nullptr;
  const uint64_t seeds = thorough ? 200 : 6;
  for (uint64_t seed = 1; seed <= seeds && !testing::Test::HasFatalFailure(); ++seed) {
    PlayBoth(seed, thorough ? 400 : 100);
  }
}

}  // namespace
}  // namespace duecourse
