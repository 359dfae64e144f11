// Everything else that a store keeps, what a start finds, and the query side, on every store.
#include "store/contract.h"

namespace duecourse {
namespace {

class RowsContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    AddTask("t");
  }
  RunRow AddRun(const std::string& id, Instant due, RunState state, const std::string& task = "t") {
    RunRow run = MakeRun(id, task, due);
    run.state = state;
    PlanRuns({run});
    return Stored(id);
  }
  std::vector<std::string> Ids(const RunFilter& filter) {
    Result<std::vector<RunRow>> rows = reader().Runs(filter);
    EXPECT_TRUE(rows.ok()) << rows.error().message();
    std::vector<std::string> ids;
    for (const RunRow& run : *rows) ids.push_back(run.id);
    return ids;
  }
  using Strings = std::vector<std::string>;
};

TEST_P(RowsContract, AScheduledRunShowsItsNewestAnswerAndNoOtherRunDoes) {
  PlanRuns({MakeRun("r1", "t", clock_.wall)});
  NoteDecisionCall note{MakeDecision("wait", Reason::kPreconditionNotReady)};
  note.row.run_id = "r1";
  note.shown = "in.csv is not there";
  CommitAll({note});
  EXPECT_EQ(Stored("r1").reason, Reason::kPreconditionNotReady);
  EXPECT_EQ(Stored("r1").detail, "in.csv is not there");
  note.shown.reset();
  note.row.reason = Reason::kPaused;
  CommitAll({note});
  EXPECT_EQ(Stored("r1").reason, Reason::kPreconditionNotReady);
  CommitAll({MakeClaim(Stored("r1"), "n1")});
  note.shown = "late";
  CommitAll({note});
  EXPECT_EQ(Stored("r1").reason, Reason::kAllConditionsMet) << "it runs";
}

TEST_P(RowsContract, AStartFindsWhatWasWrittenAndEndsTheLeasesOfTheDead) {
  RunningRun("r1", "t");
  clock_.Pass(Seconds(5));
  OpenReply reply = Start("i2");
  EXPECT_FALSE(reply.created);
  EXPECT_EQ(reply.predecessor, "i1");
  EXPECT_EQ(reply.version, 1);
  Snapshot snapshot = LoadAll();
  ASSERT_EQ(snapshot.open_runs.size(), 1u);
  EXPECT_EQ(snapshot.open_runs[0].state, RunState::kRunning);
  EXPECT_EQ(snapshot.open_runs[0].incarnation, "i1");
  EXPECT_EQ(snapshot.open_runs[0].lease_until, Millis{});
  ASSERT_EQ(snapshot.unfinished.size(), 1u);
  EXPECT_EQ(snapshot.unfinished[0].incarnation, "i1");
  // Its slot is free at once, its attempt is not finished.
  RunRow next = AddRun("r2", clock_.wall, RunState::kScheduled);
  EXPECT_TRUE(Claim(MakeClaim(next, "n2")).granted);
}

// Started by hand before its cursor got there; what is beside the schedule, or of a task that is gone, is
// not.
TEST_P(RowsContract, AStartFindsTheRunsThatTheirCursorHasNotReached) {
  auto add = [&](const std::string& id, Instant due, bool extra) {
    RunRow run = MakeRun(id, "t", due);
    run.extra = extra;
    EXPECT_EQ(PlanRuns({run}).runs[0].kind, PlannedReply::Kind::kCreated);
  };
  const Instant now = clock_.wall;
  add("r1", now + Hours(5), false);
  add("r2", now + Hours(2), false);
  add("r3", now + Hours(3), true);
  add("r4", now - Hours(1), false);
  TaskCursor cursor;
  cursor.task = "t";
  cursor.in_force_since = now - Hours(9);
  cursor.planned_through = now;
  ActivateCall activate;
  activate.cursors = {cursor};
  CommitAll({activate});
  std::vector<RunAhead> ahead = LoadAll().ahead;
  ASSERT_EQ(ahead.size(), 2u);
  EXPECT_EQ(ahead[0].task, "t");
  EXPECT_EQ(ahead[0].value, "");
  EXPECT_EQ(ahead[0].due, now + Hours(2));
  EXPECT_EQ(ahead[1].due, now + Hours(5));
  activate.cursors[0].planned_through = now + Hours(2);
  CommitAll({activate});
  EXPECT_EQ(LoadAll().ahead.size(), 1u);
  activate.cursors[0].active = false;
  CommitAll({activate});
  EXPECT_TRUE(LoadAll().ahead.empty());
}

TEST_P(RowsContract, AnOrderlyCloseLeavesNoPredecessor) {
  store_->Close();
  EXPECT_EQ(Start("i2").predecessor, "");
  EXPECT_EQ(Start("i3").predecessor, "i2");
}

TEST_P(RowsContract, ADaemonThatOpensAgainAfterAFaultKeepsItsLeases) {
  RunRow run = RunningRun("r1", "t");
  Result<OpenReply> reply = store_->Open(RequestOf("i1"));
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->predecessor, "");
  EXPECT_EQ(LoadAll().open_runs.at(0).lease_until, run.lease_until);
  EXPECT_TRUE(One<FinishReply>(MakeFinish(run, RunState::kSuccess, Outcome::kSuccess)).accepted);
}

TEST_P(RowsContract, AStoreThatNobodyMadeIsNotStartedEmpty) {
  Disk empty(GetParam());
  std::unique_ptr<Store> store = empty.NewStore(clock_);
  Result<OpenReply> refused = store->Open(RequestOf("i1"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(store->last_fault().kind, StoreFault::Kind::kVanished);
  EXPECT_NE(refused.error().message().find("init"), std::string::npos) << refused.error().message();
  Result<OpenReply> made = store->Open(RequestOf("i1", /*init=*/true));
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_TRUE(made->created);
  Result<OpenReply> again = store->Open(RequestOf("i1", /*init=*/true));
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_FALSE(again->created);
}

TEST_P(RowsContract, TwoDaemonsNeverHaveTheStoreAtOnce) {
  std::unique_ptr<Store> second = disk_.NewStore(clock_);
  Result<OpenReply> refused = second->Open(RequestOf("i2"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(second->last_fault().kind, StoreFault::Kind::kOwned);
  EXPECT_NE(refused.error().message().find("another daemon has this store open"), std::string::npos);
  // The first goes on as if nothing had happened; when it goes the second may come.
  EXPECT_EQ(AddRun("r1", clock_.wall, RunState::kScheduled).id, "r1");
  reader_.reset();
  store_->Close();
  EXPECT_TRUE(second->Open(RequestOf("i2")).ok());
}

TEST_P(RowsContract, LastAliveFollowsHeartbeatsAndCommits) {
  EXPECT_EQ(LoadAll().last_alive, clock_.wall);  // made a moment ago
  clock_.Pass(Minutes(1));
  EXPECT_EQ(store_->Heartbeat(clock_.wall).kind, StoreFault::Kind::kNone);
  const Instant beat = clock_.wall;
  clock_.Pass(Hours(1));
  Start("i2");
  EXPECT_EQ(LoadAll().last_alive, beat);  // opening is not being at work
  AddRun("r1", clock_.wall, RunState::kScheduled);
  EXPECT_EQ(LoadAll().last_alive, clock_.wall);
  // A clock that was wrong and is set right does not leave a day in the future behind.
  clock_.wall = clock_.wall - Days(2);
  AddRun("r2", clock_.wall, RunState::kScheduled);
  EXPECT_EQ(LoadAll().last_alive, clock_.wall);
  clock_.Pass(Minutes(1));
  store_->Close();
  Start("i3");
  EXPECT_EQ(LoadAll().last_alive, clock_.wall);
}

TEST_P(RowsContract, FlagsAreKeptByNameAndDate) {
  FlagCall undated;
  undated.flag.name = "healthy";
  undated.flag.value = "1";
  undated.flag.by = "ann";
  undated.flag.expires = clock_.wall + Minutes(2);
  undated.audit = MakeAudit("flag_set");
  FlagCall dated = undated;
  dated.flag.date = CivilDay{20'000};
  FlagCall again = dated;
  again.flag.value = "2";
  CommitAll({undated, dated, again});
  std::vector<Flag> flags = LoadAll().flags;
  ASSERT_EQ(flags.size(), 2u);
  EXPECT_FALSE(flags[0].date);
  EXPECT_EQ(flags[0].expires, clock_.wall + Minutes(2));
  EXPECT_EQ(flags[1].value, "2");
  EXPECT_EQ(flags[1].at, clock_.wall);
  undated.remove = true;
  CommitAll({undated});
  Result<std::vector<Flag>> left = reader().Flags();
  ASSERT_TRUE(left.ok() && left->size() == 1);
  EXPECT_EQ(left->at(0).date, CivilDay{20'000});
  EXPECT_EQ(reader().Audit("", "", 10)->size(), 4u);
}

TEST_P(RowsContract, ControlsBreakersAndAlertsAreReplacedAsWhole) {
  ControlCall control;
  control.control = {"task/t", true, "ann", "deploy", Instant{}, 1};
  control.audit = MakeAudit("pause");
  ControlCall resumed = control;
  resumed.control.paused = false;
  resumed.control.version = 2;
  Breaker breaker;
  breaker.task = "t";
  breaker.version = 1;
  breaker.open = true;
  breaker.until = clock_.wall;
  breaker.trial_run = "r1";
  breaker.opened_at = clock_.wall;
  breaker.episode = "breaker/t/1";
  AlertRow alert;
  alert.id = "a1";
  alert.level = AlertLevel::kP1;
  alert.title = "stuck";
  alert.state = AlertRow::State::kPending;
  AlertRow sent = alert;
  sent.state = AlertRow::State::kSent;
  sent.tries = 2;
  sent.channel = "ding";
  AlertRow waits = alert;
  waits.id = "a2";
  CommitAll({control, resumed, BreakerCall{breaker}, AlertsCall{{alert, waits}}, AlertsCall{{sent}}});
  Snapshot snapshot = LoadAll();
  ASSERT_EQ(snapshot.controls.size(), 1u);
  EXPECT_FALSE(snapshot.controls[0].paused);
  EXPECT_EQ(snapshot.controls[0].reason, "deploy");
  EXPECT_TRUE(snapshot.breakers.at(0) == breaker);
  ASSERT_EQ(snapshot.pending_alerts.size(), 1u);
  EXPECT_EQ(snapshot.pending_alerts[0].id, "a2");
  Result<std::vector<AlertRow>> rows = reader().Alerts("", kLongAgo, 10);
  ASSERT_TRUE(rows.ok() && rows->size() == 2);
  EXPECT_EQ(rows->at(0).id, "a2");  // newest first
  EXPECT_EQ(rows->at(1).channel, "ding");
  EXPECT_EQ(rows->at(1).level, AlertLevel::kP1);
}

TEST_P(RowsContract, TheSameAnswerAgainIsFolded) {
  AddRun("r1", clock_.wall, RunState::kScheduled);
  DecisionRow row = MakeDecision("wait", Reason::kPreconditionNotReady);
  row.run_id = "r1";
  row.recheck_at = clock_.wall + Seconds(30);
  int64_t id = One<DecisionReply>(NoteDecisionCall{row}).id;
  clock_.Pass(Minutes(3));
  CommitAll(
      {FoldCall{id, clock_.wall, 6}, FoldCall{id, clock_.wall - Minutes(1), 1}, FoldCall{999, kNever, 1}});
  std::vector<DecisionRow> rows = DecisionsOf("r1");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].id, id);
  EXPECT_EQ(rows[0].count, 8);
  EXPECT_EQ(rows[0].last_at, clock_.wall);
  EXPECT_EQ(rows[0].at, clock_.wall - Minutes(3));
  EXPECT_EQ(rows[0].recheck_at, clock_.wall - Minutes(3) + Seconds(30));
  EXPECT_EQ(rows[0].task, "t");
  EXPECT_EQ(rows[0].key, "t:r1");
}

TEST_P(RowsContract, FindsTheLatestRunOfEachValueThatFits) {
  const CivilDay day{20'000};
  auto add = [&](const std::string& id, const std::string& value, Instant due, CivilDay date) {
    RunRow run = MakeRun(id, "t", due);
    run.value = value;
    run.business_date = date;
    PlanRuns({run});
  };
  const Instant noon = clock_.wall;
  add("r1", "a", noon - Hours(3), day);
  add("r2", "a", noon - Hours(2), day);
  add("r3", "b", noon - Hours(3), day);
  add("r4", "a", noon - Hours(1), day + 1);
  add("r5", "a", noon + Hours(1), day);
  struct Row {
    const char* what;
    FindRunsCall call;
    Strings ids;
  };
  const std::vector<Row> rows = {
      {"each value of a date", {"t", std::nullopt, day, std::nullopt, noon}, {"r2", "r3"}},
      {"one value", {"t", "a", day, std::nullopt, noon}, {"r2"}},
      {"any date", {"t", "a", std::nullopt, std::nullopt, noon}, {"r4"}},
      {"a key", {"t", std::nullopt, std::nullopt, "t:r1", noon}, {"r1"}},
      {"a key of another date", {"t", std::nullopt, day + 1, "t:r1", noon}, {}},
      {"later too", {"t", "a", day, std::nullopt, kNever}, {"r5"}},
      {"another task", {"u", std::nullopt, day, std::nullopt, noon}, {}},
  };
  for (const Row& row : rows) {
    Strings ids;
    for (const RunRow& run : One<FindRunsReply>(row.call).runs) ids.push_back(run.id);
    EXPECT_EQ(ids, row.ids) << row.what;
  }
}

TEST_P(RowsContract, ReadsRunsByWhatIsAskedInOrderAndWithinTheLimit) {
  AddTask("u");
  const Instant now = clock_.wall;
  AddRun("r1", now, RunState::kSuccess);
  AddRun("r2", now - Hours(1), RunState::kScheduled);
  AddRun("r3", now - Hours(2), RunState::kManualRequired, "u");
  AddRun("r4", now + Hours(1), RunState::kMissed);
  auto filter = [](auto change) {
    RunFilter f;
    change(f);
    return f;
  };
  EXPECT_EQ(Ids(filter([](RunFilter&) {})), (Strings{"r4", "r3", "r2", "r1"}));  // as written, newest first
  EXPECT_EQ(Ids(filter([](RunFilter& f) { f.task = "t"; })), (Strings{"r4", "r1", "r2"}));  // by due
  EXPECT_EQ(Ids(filter([](RunFilter& f) {
              f.task = "t";
              f.newest_first = false;
              f.limit = 2;
            })),
            (Strings{"r2", "r1"}));
  EXPECT_EQ(Ids(filter([](RunFilter& f) {
              f.states = {RunState::kManualRequired, RunState::kScheduled};
            })),
            (Strings{"r3", "r2"}));
  EXPECT_EQ(Ids(filter([](RunFilter& f) {
              f.states = {RunState::kMissed, RunState::kScheduled};
              f.newest_first = false;
            })),
            (Strings{"r2", "r4"}));
  EXPECT_EQ(Ids(filter([&](RunFilter& f) {
              f.from = now - Hours(2);
              f.until = now;
            })),
            (Strings{"r3", "r2"}));
  EXPECT_EQ(Ids(filter([](RunFilter& f) { f.key = "t:r4"; })), Strings{"r4"});
  EXPECT_EQ(Ids(filter([](RunFilter& f) { f.limit = -1; })), Strings{});
  EXPECT_EQ(Ids(filter([](RunFilter& f) { f.limit = 1'000'000'000; })).size(), 4u);
  EXPECT_EQ(Ids(filter([](RunFilter& f) { f.business_date = CivilDay{1}; })), Strings{});
  // Hostile text is text.
  EXPECT_EQ(Ids(filter([](RunFilter& f) { f.task = "t' OR '1'='1"; })), Strings{});
  EXPECT_EQ(Ids(filter([](RunFilter& f) { f.key = "%"; })), Strings{});
}

TEST_P(RowsContract, ReadsDecisionsOfARunATaskOrAll) {
  AddRun("r1", clock_.wall, RunState::kScheduled);
  for (int i = 0; i < 4; ++i) {
    DecisionRow row = MakeDecision("wait", Reason::kNotDue);
    if (i % 2 == 0) row.run_id = "r1";
    row.task = i == 3 ? "u" : "t";
    row.at = clock_.wall + Minutes(i == 1 ? -5 : i);
    CommitAll({NoteDecisionCall{row}});
  }
  auto ids = [&](const DecisionFilter& filter) {
    std::vector<int64_t> found;
    Result<std::vector<DecisionRow>> rows = reader().Decisions(filter);
    for (const DecisionRow& row : *rows) found.push_back(row.id);
    return found;
  };
  using Found = std::vector<int64_t>;
  DecisionFilter filter;
  EXPECT_EQ(ids(filter), (Found{1, 2, 3, 4}));
  filter.after_id = 2;
  EXPECT_EQ(ids(filter), (Found{3, 4}));
  filter = {};
  filter.task = "t";
  EXPECT_EQ(ids(filter), (Found{2, 1, 3}));  // by their instant
  filter.newest_first = true;
  filter.limit = 2;
  EXPECT_EQ(ids(filter), (Found{3, 1}));
  filter = {};
  filter.run_id = "r1";
  EXPECT_EQ(ids(filter), (Found{1, 3}));
  filter.from = clock_.wall + Minutes(1);
  EXPECT_EQ(ids(filter), (Found{3}));
}

TEST_P(RowsContract, ReadsNotesThatOverlapAndTheLastResultOfEachTask) {
  PlanCall call;
  call.task = "t";
  for (int i = 0; i < 3; ++i) {
    Note note;
    note.task = "t";
    note.first_due = clock_.wall + Hours(10 * i);
    note.last_due = clock_.wall + Hours(10 * i + 5);
    call.notes.push_back(note);
  }
  One<PlanReply>(call);
  auto notes = reader().Notes("t", clock_.wall + Hours(5), clock_.wall + Hours(20), 10);
  ASSERT_TRUE(notes.ok());
  EXPECT_EQ(notes->size(), 2u);
  EXPECT_EQ(reader().Notes("", kLongAgo, kNever, 2)->size(), 2u);
  EXPECT_EQ(reader().Notes("u", kLongAgo, kNever, 2)->size(), 0u);

  AddTask("u");
  AddRun("r1", clock_.wall, RunState::kSuccess);
  AddRun("r2", clock_.wall + Hours(1), RunState::kManualRequired);
  AddRun("r3", clock_.wall + Hours(2), RunState::kScheduled);
  AddRun("r4", clock_.wall, RunState::kScheduled, "u");
  auto last = reader().LastResults({"t", "u", "none"});
  ASSERT_TRUE(last.ok());
  ASSERT_EQ(last->size(), 1u);
  EXPECT_EQ(last->at(0).id, "r2");
}

TEST_P(RowsContract, ReadsAuditRowsOfATaskOrRunNewestFirst) {
  for (const char* run : {"r1", "r2", "r1"}) {
    FlagCall call;
    call.flag.name = "x";
    call.audit = MakeAudit("flag_set");
    call.audit.task = "t";
    call.audit.run_id = run;
    CommitAll({call});
  }
  EXPECT_EQ(reader().Audit("t", "", 10)->size(), 3u);
  EXPECT_EQ(reader().Audit("", "r1", 10)->size(), 2u);
  EXPECT_EQ(reader().Audit("t", "r1", 1)->at(0).id, 3);
  EXPECT_EQ(reader().Audit("u", "r1", 10)->size(), 0u);
}

TEST_P(RowsContract, PruneTakesOldHistoryButNeverALiveKeyAnOpenRunOrTheNewest) {
  const Instant old_due = clock_.wall - Days(500);
  auto add = [&](const std::string& id, Instant due, RunState state, bool with_key) {
    RunRow run = MakeRun(id, "t", due);
    run.state = state;
    run.state_since = due;
    if (!with_key) run.key.reset();
    PlanCall call;
    call.task = "t";
    DecisionRow row = MakeDecision("end", Reason::kExceededWindow);
    row.at = due;
    call.runs = {{run, std::nullopt, {row}, {}}};
    One<PlanReply>(call);
  };
  add("old", old_due, RunState::kSuccess, true);
  add("old-open", old_due, RunState::kRetrying, true);
  add("old-manual", old_due, RunState::kManualRequired, true);
  add("no-key", clock_.wall - Days(200), RunState::kMissed, false);
  add("kept-key", clock_.wall - Days(200), RunState::kSuccess, true);
  add("newest", clock_.wall - Days(150), RunState::kMissed, false);
  PruneCall prune;
  prune.before = clock_.wall - Days(90);
  // Two whole runs with their decisions, and the decision of a row that stays for its key. The newest is left
  // alone.
  EXPECT_EQ(One<PruneReply>(prune).rows, 5);
  RunFilter all;
  all.newest_first = false;
  EXPECT_EQ(Ids(all), (Strings{"old-open", "old-manual", "kept-key", "newest"}));
  EXPECT_EQ(DecisionsOf("kept-key").size(), 0u);
  EXPECT_EQ(DecisionsOf("old-open").size(), 1u);
  EXPECT_EQ(One<PruneReply>(prune).rows, 0);
  // A key that its rule keeps for less long goes earlier, and may then be used again.
  prune.keys_from = {{"t", clock_.wall - Days(100)}};
  EXPECT_EQ(One<PruneReply>(prune).rows, 1);
  RunRow reused = MakeRun("again", "t", clock_.wall);
  reused.key = "t:kept-key";
  EXPECT_EQ(PlanRuns({reused}).runs.at(0).kind, PlannedReply::Kind::kCreated);
}

TEST_P(RowsContract, PruneTakesLooseRowsAndKeepsToItsLimit) {
  const Instant old = clock_.wall - Days(100);
  PlanCall plan;
  plan.task = "t";
  for (int i = 0; i < 3; ++i) {
    Note note;
    note.task = "t";
    note.first_due = old + Seconds(i);
    note.last_due = old + Seconds(i);
    note.at = old;
    plan.notes.push_back(note);
    DecisionRow row = MakeDecision("note", Reason::kSchedulerDown);
    row.task = "t";
    row.at = old;
    plan.note_decisions.push_back(row);
  }
  AlertRow pending;
  pending.id = "a1";
  pending.created_at = old;
  AlertRow sent = pending;
  sent.id = "a2";
  sent.state = AlertRow::State::kSent;
  AlertRow newest = sent;
  newest.id = "a3";
  plan.alerts = {pending, sent, newest};
  FlagCall flag;
  flag.flag.name = "x";
  flag.flag.at = old;
  flag.audit = MakeAudit("flag_set");
  flag.audit.at = old;
  FlagCall dated = flag;
  dated.flag.date = CivilDay{20'000};
  CommitAll({plan, flag, dated});
  PruneCall prune;
  prune.before = clock_.wall - Days(90);
  prune.limit = 4;
  // Two notes, two decision rows, an alert, an audit row, a flag: the newest of each stays, but of flags.
  EXPECT_EQ(One<PruneReply>(prune).rows, 4);
  EXPECT_EQ(One<PruneReply>(prune).rows, 3);
  EXPECT_EQ(One<PruneReply>(prune).rows, 0);
  EXPECT_EQ(LoadAll().pending_alerts.size(), 1u);
  EXPECT_EQ(LoadAll().flags.size(), 1u);
  EXPECT_EQ(reader().Audit("", "", 10)->size(), 1u);
  EXPECT_EQ(reader().Notes("t", kLongAgo, kNever, 10)->size(), 1u);
  // An id that is gone is never given again.
  EXPECT_GT(One<DecisionReply>(NoteDecisionCall{MakeDecision("note", Reason::kNotDue)}).id, 3);
}

HOLD_EVERY_STORE_TO(RowsContract);

}  // namespace
}  // namespace duecourse
