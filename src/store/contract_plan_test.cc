// Planning and versions of the rules, on every store.
#include "store/contract.h"

namespace duecourse {
namespace {

class PlanContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    AddTask("t");
  }
  Note MakeRange(Instant first, Instant last, int64_t count) {
    Note note;
    note.task = "t";
    note.reason = Reason::kSchedulerDown;
    note.first_due = first;
    note.last_due = last;
    note.count = count;
    note.detail = "down";
    return note;
  }
  std::vector<Note> AllNotes() {
    Result<std::vector<Note>> notes = reader().Notes("t", kLongAgo, kNever, 100);
    EXPECT_TRUE(notes.ok());
    return *notes;
  }
};

Note RangeOf(Instant first, Millis length, int64_t count) {
  Note range;
  range.task = "t";
  range.first_due = first;
  range.last_due = first + length;
  range.count = count;
  range.detail = "down";
  return range;
}

TEST_P(PlanContract, WritesRunsNotesAndTheCursorTogether) {
  PlanCall call;
  call.task = "t";
  call.planned_through = clock_.wall;
  RunRow run = MakeRun("r1", "t", clock_.wall);
  AlertRow alert;
  alert.id = "a1";
  call.runs = {{run, std::nullopt, {MakeDecision("wait", Reason::kPreconditionNotReady)}, {alert}}};
  call.notes = {MakeRange(clock_.wall - Hours(5), clock_.wall - Hours(1), 4)};
  DecisionRow ended = MakeDecision("note", Reason::kSchedulerDown);
  ended.task = "t";
  call.note_decisions = {ended};
  PlanReply reply = One<PlanReply>(call);
  ASSERT_EQ(reply.runs.size(), 1u);
  EXPECT_EQ(reply.runs[0].kind, PlannedReply::Kind::kCreated);

  RunRow expected = run;
  expected.created_at = clock_.wall;
  expected.state_since = clock_.wall;
  EXPECT_TRUE(Stored("r1") == expected);
  std::vector<DecisionRow> rows = DecisionsOf("r1");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].id, reply.runs[0].decision_id);
  EXPECT_EQ(rows[0].task, "t");
  EXPECT_EQ(rows[0].business_date, run.business_date);
  Snapshot snapshot = LoadAll();
  EXPECT_EQ(snapshot.cursors.at(0).planned_through, clock_.wall);
  EXPECT_EQ(snapshot.pending_alerts.size(), 1u);
  EXPECT_EQ(AllNotes().at(0).count, 4);
  DecisionFilter filter;
  filter.task = "t";
  EXPECT_EQ(reader().Decisions(filter)->size(), 2u);
}

TEST_P(PlanContract, EveryFieldOfARunComesBackAsItWasWritten) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  run.value = "channel=app";
  run.business_date = CivilDay{-3};
  run.key = std::nullopt;
  run.state = RunState::kManualRequired;
  run.reason = Reason::kKeyError;
  run.detail = "no {order_id}; DROP TABLE run; --'\"";
  run.counted = 2;
  run.uncounted = 3;
  run.failures = 4;
  run.told = AlertLevel::kP2;
  run.ladder = {1, 2, 3};
  run.next_at = clock_.wall + Seconds(9);
  run.next_lost_rerun = true;
  run.before_manual = RunState::kCatchupWaiting;
  run.before_claim = RunState::kRetrying;
  run.origin = TriggerKind::kEvent;
  run.extra = true;
  run.owed = true;
  run.supersedes = "r0";
  run.superseded_by = "r2";
  run.cancel = "cancelled by ann";
  run.met = "0123 4567";
  run.rule_version = 77;
  run.created_at = clock_.wall - Days(1);
  run.state_since = clock_.wall - Hours(1);
  PlanRuns({run});
  EXPECT_TRUE(Stored("r1") == run);
  EXPECT_TRUE(LoadAll().open_runs.at(0) == run);
  Start("i2");
  EXPECT_TRUE(Stored("r1") == run);
}

TEST_P(PlanContract, ARunByHandOfACountedOccurrenceIsTakenFromItsRange) {
  PlanCall call;
  call.task = "t";
  call.notes = {RangeOf(clock_.wall, Minutes(10), 11)};
  One<PlanReply>(call);
  auto by_hand = [&](const std::string& id, Instant due) {
    PlanCall one;
    one.task = "t";
    one.runs = {{MakeRun(id, "t", due), std::nullopt, {}, {}}};
    one.runs[0].uncount =
        Uncount{Reason::kSchedulerDown, id + " by ann", MakeDecision("note", Reason::kSchedulerDown)};
    One<PlanReply>(one);
    return DecisionsOf(id).size();
  };
  EXPECT_EQ(by_hand("r1", clock_.wall + Minutes(3)), 1u);
  EXPECT_EQ(by_hand("r2", clock_.wall + Minutes(11)), 0u) << "outside of it";
  EXPECT_EQ(by_hand("r1", clock_.wall + Minutes(3)), 1u) << "known, so nothing was written";
  Result<std::vector<Note>> notes = reader().Notes("t", kLongAgo, kNever, 10);
  ASSERT_TRUE(notes.ok() && notes->size() == 1);
  EXPECT_EQ(notes->at(0).count, 10);
  EXPECT_NE(notes->at(0).detail.find("r1 by ann"), std::string::npos) << notes->at(0).detail;
}

TEST_P(PlanContract, ARangeOfWhichNothingIsLeftIsNotRead) {
  PlanCall call;
  call.task = "t";
  call.notes = {RangeOf(clock_.wall, Millis{0}, 1)};
  One<PlanReply>(call);
  PlanCall one;
  one.task = "t";
  one.runs = {{MakeRun("r1", "t", clock_.wall), std::nullopt, {}, {}}};
  one.runs[0].uncount =
      Uncount{Reason::kSchedulerDown, "by ann", MakeDecision("note", Reason::kSchedulerDown)};
  One<PlanReply>(one);
  EXPECT_TRUE(reader().Notes("t", kLongAgo, kNever, 10)->empty());
  EXPECT_TRUE(reader().Notes("", kLongAgo, kNever, 10)->empty());
}

TEST_P(PlanContract, AKnownIdentityWritesNothing) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanRuns({run});
  RunRow again = run;
  again.id = "r2";
  again.key = "another";
  PlanCall call;
  call.task = "t";
  call.runs = {{again, MakeClaim(again, "n2"), {MakeDecision("wait", Reason::kNotDue)}, {}}};
  PlanReply reply = One<PlanReply>(call);
  EXPECT_EQ(reply.runs.at(0).kind, PlannedReply::Kind::kIdentityKnown);
  EXPECT_EQ(reply.runs.at(0).holder, "r1");
  EXPECT_EQ(reply.runs.at(0).holder_state, RunState::kScheduled);
  EXPECT_FALSE(reply.runs.at(0).claim.granted);
  EXPECT_EQ(LoadAll().open_runs.size(), 1u);
  EXPECT_TRUE(AllNotes().empty());
}

TEST_P(PlanContract, AKnownKeyIsANoteAlreadyDoneAndStartsNothing) {
  RunRow done = MakeRun("r1", "t", clock_.wall);
  done.state = RunState::kSuccess;
  PlanRuns({done});
  RunRow same_key = MakeRun("r2", "t", clock_.wall + Hours(1));
  same_key.key = done.key;
  PlanCall call;
  call.task = "t";
  call.runs = {{same_key, MakeClaim(same_key, "n2"), {}, {}}};
  for (int i = 0; i < 2; ++i) {  // asked again after a lost reply it is still one note
    PlanReply reply = One<PlanReply>(call);
    EXPECT_EQ(reply.runs.at(0).kind, PlannedReply::Kind::kKeyKnown);
    EXPECT_EQ(reply.runs.at(0).holder, "r1");
    EXPECT_EQ(reply.runs.at(0).holder_state, RunState::kSuccess);
  }
  std::vector<Note> notes = AllNotes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].reason, Reason::kAlreadyDone);
  EXPECT_EQ(notes[0].state, RunState::kSkipped);
  EXPECT_EQ(notes[0].run_id, "r1");
  EXPECT_EQ(notes[0].detail, "key t:r1 is run r1");
  EXPECT_EQ(notes[0].first_due, same_key.due);
  // A second delivery at the same instant is another occurrence.
  same_key.identity = "event/2";
  call.runs = {{same_key, std::nullopt, {}, {}}};
  One<PlanReply>(call);
  EXPECT_EQ(AllNotes().size(), 2u);
}

TEST_P(PlanContract, KeysAreUniqueInTheWholeStoreAndRunsWithoutKeyAreMany) {
  AddTask("u");
  RunRow a = MakeRun("r1", "t", clock_.wall);
  RunRow b = MakeRun("r2", "u", clock_.wall);
  b.key = a.key;
  PlanRuns({a});
  EXPECT_EQ(PlanRuns({b}).runs.at(0).kind, PlannedReply::Kind::kKeyKnown);
  Result<std::vector<Note>> notes = reader().Notes("u", kLongAgo, kNever, 100);
  ASSERT_TRUE(notes.ok() && notes->size() == 1);
  EXPECT_EQ(notes->at(0).detail, "key t:r1 is run r1 of task t: two tasks share it");
  RunRow c = MakeRun("r3", "t", clock_.wall);
  RunRow d = MakeRun("r4", "t", clock_.wall);
  c.key.reset();
  d.key.reset();
  PlanReply reply = PlanRuns({c, d});
  EXPECT_EQ(reply.runs.at(0).kind, PlannedReply::Kind::kCreated);
  EXPECT_EQ(reply.runs.at(1).kind, PlannedReply::Kind::kCreated);
}

TEST_P(PlanContract, ARunThatIsOnlyWrittenWithItsClaimLeavesNothingWhereThatIsRefused) {
  RunRow run = MakeRun("r1", "t", clock_.wall);
  PlanCall call;
  call.task = "t";
  call.runs = {{run, MakeClaim(run, "n1"), {MakeDecision("wait", Reason::kNotDue)}, {}}};
  PlannedRun& planned = call.runs[0];
  planned.only_with_claim = true;
  planned.uncount = Uncount{Reason::kSchedulerDown, "by ann", MakeDecision("note", Reason::kSchedulerDown)};
  planned.claim->audit = AuditRow{0, clock_.wall, "ann", "trigger", "t", "r1", "why", "passed over"};
  planned.claim->not_after = clock_.wall;
  PlanReply reply = One<PlanReply>(call);
  EXPECT_EQ(reply.runs.at(0).kind, PlannedReply::Kind::kRefused);
  EXPECT_FALSE(reply.runs.at(0).claim.granted);
  EXPECT_TRUE(LoadAll().open_runs.empty());
  EXPECT_TRUE(reader().Decisions(DecisionFilter())->empty());
  EXPECT_TRUE(reader().Audit("", "", 10)->empty()) << "refused, so nobody did it";
  planned.claim->not_after = kNever;
  EXPECT_EQ(One<PlanReply>(call).runs.at(0).kind, PlannedReply::Kind::kCreated);
  EXPECT_EQ(Stored("r1").state, RunState::kRunning);
  Result<std::vector<AuditRow>> audit = reader().Audit("t", "r1", 10);
  ASSERT_EQ(audit->size(), 1u);
  EXPECT_EQ(audit->at(0).by + audit->at(0).reason + audit->at(0).detail, "annwhypassed over");
  run.id = "r2";
  call.runs = {{run, MakeClaim(run, "n2"), {}, {}}};
  call.runs[0].only_with_claim = true;
  EXPECT_EQ(One<PlanReply>(call).runs.at(0).kind, PlannedReply::Kind::kIdentityKnown);
  call.runs[0].run.identity = "manual/r2";
  reply = One<PlanReply>(call);
  EXPECT_EQ(reply.runs.at(0).kind, PlannedReply::Kind::kKeyKnown);
  EXPECT_EQ(reply.runs.at(0).holder_reason, Reason::kAllConditionsMet);
  EXPECT_TRUE(AllNotes().empty()) << "a person's question is no occurrence";
}

TEST_P(PlanContract, ARangeIsKeptOnceWithItsDecisionRows) {
  PlanCall call;
  call.task = "t";
  call.notes = {MakeRange(clock_.wall - Hours(5), clock_.wall, 4)};
  DecisionRow row = MakeDecision("note", Reason::kSchedulerDown);
  row.task = "t";
  call.note_decisions = {row};
  One<PlanReply>(call);
  One<PlanReply>(call);
  EXPECT_EQ(AllNotes().size(), 1u);
  DecisionFilter filter;
  filter.task = "t";
  EXPECT_EQ(reader().Decisions(filter)->size(), 1u);
}

TEST_P(PlanContract, PlansAndClaimsInOneStepUnderTheSameLimits) {
  PlanCall call;
  call.task = "t";
  call.planned_through = clock_.wall;
  for (int i = 0; i < 3; ++i) {
    RunRow run = MakeRun(StrCat("r", i), "t", clock_.wall - Minutes(i));
    ClaimCall claim = MakeClaim(run, StrCat("n", i));
    claim.task_limit = 2;
    if (i > 0) claim.min_interval = Seconds(30);
    call.runs.push_back({run, claim, {}, {}});
  }
  PlanReply reply = One<PlanReply>(call);
  EXPECT_TRUE(reply.runs.at(0).claim.granted);
  EXPECT_EQ(reply.runs.at(0).claim.fence, 1);
  // The start a moment ago, in the same call, counts for min_interval.
  EXPECT_EQ(reply.runs.at(1).claim.refusal, Reason::kMinInterval);
  EXPECT_EQ(reply.runs.at(2).claim.refusal, Reason::kMinInterval);
  EXPECT_EQ(Stored("r0").state, RunState::kRunning);
  EXPECT_EQ(Stored("r1").state, RunState::kScheduled);
  TaskCursor cursor = LoadAll().cursors.at(0);
  EXPECT_EQ(cursor.last_start, clock_.wall);
  EXPECT_EQ(cursor.planned_through, clock_.wall);
}

TEST_P(PlanContract, TheCursorNeverGoesBackAndStaysWhereItIsNotMentioned) {
  PlanCall call;
  call.task = "t";
  call.planned_through = clock_.wall;
  One<PlanReply>(call);
  call.planned_through = clock_.wall - Hours(1);
  One<PlanReply>(call);
  EXPECT_EQ(LoadAll().cursors.at(0).planned_through, clock_.wall);
  PlanRuns({MakeRun("r1", "t", clock_.wall + Hours(1))});
  EXPECT_EQ(LoadAll().cursors.at(0).planned_through, clock_.wall);
}

TEST_P(PlanContract, SupersedesBeforeItWritesTheNewRun) {
  RunRow old_run = MakeRun("r1", "t", clock_.wall - Hours(1));
  PlanRuns({old_run});
  PlanCall call;
  call.task = "t";
  MoveCall move;
  move.after = old_run;
  move.after.state = RunState::kSkipped;
  move.after.reason = Reason::kSuperseded;
  move.after.superseded_by = "r2";
  RunRow run = MakeRun("r2", "t", clock_.wall);
  run.supersedes = "r1";
  call.supersede = {move};
  call.runs = {{run, MakeClaim(run, "n2"), {}, {}}};
  PlanReply reply = One<PlanReply>(call);
  EXPECT_TRUE(reply.supersede.at(0).moved);
  EXPECT_TRUE(reply.runs.at(0).claim.granted);
  EXPECT_EQ(Stored("r1").superseded_by, "r2");
  // Asked twice: the second time nothing is moved and nothing is made.
  PlanReply again = One<PlanReply>(call);
  EXPECT_FALSE(again.supersede.at(0).moved);
  EXPECT_EQ(again.runs.at(0).kind, PlannedReply::Kind::kIdentityKnown);
}

TEST_P(PlanContract, TheSameRulesAreNoNewVersion) {
  EXPECT_EQ(LoadAll().cursors.size(), 1u);
  for (int i = 0; i < 10; ++i) {
    OpenReply opened = Start(StrCat("restart-", i));
    EXPECT_EQ(opened.version, 1);
    EXPECT_EQ(opened.rules_hash, "h1");
    ActivateCall same;
    same.version.hash = "h1";
    EXPECT_EQ(One<ActivateReply>(same).version, 1);
  }
  ActivateCall other;
  other.version.hash = "h2";
  other.version.by = "bob";
  other.version.tasks = 3;
  other.version.changes = "[]";
  other.texts = {{"rules/b.yaml", "task_id: b"}, {"rules/a.yaml", "task_id: a"}};
  EXPECT_EQ(One<ActivateReply>(other).version, 2);
  other.version.hash = "h1";  // back to the first text is a new version too
  EXPECT_EQ(One<ActivateReply>(other).version, 3);
  Result<std::vector<RuleVersion>> versions = reader().RuleVersions(10);
  ASSERT_TRUE(versions.ok());
  ASSERT_EQ(versions->size(), 3u);
  EXPECT_EQ(versions->at(1).hash, "h2");
  EXPECT_EQ(versions->at(1).by, "bob");
  EXPECT_EQ(versions->at(1).at, clock_.wall);
  auto texts = reader().RuleTexts(2);
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ(*texts, (std::vector<std::pair<std::string, std::string>>{{"rules/a.yaml", "task_id: a"},
                                                                      {"rules/b.yaml", "task_id: b"}}));
}

TEST_P(PlanContract, ActivateMovesTheCursorsOfRemovedTasks) {
  RunRow open = MakeRun("r1", "t", clock_.wall);
  PlanCall plan;
  plan.task = "t";
  plan.runs = {{open, MakeClaim(open, "n1"), {}, {}}};
  One<PlanReply>(plan);
  ASSERT_TRUE(One<FinishReply>(MakeFinish(Stored("r1"), RunState::kRetrying, Outcome::kFailed)).accepted);
  ActivateCall call;
  call.version.hash = "h2";
  TaskCursor removed;
  removed.task = "t";
  removed.in_force_since = clock_.wall;
  removed.planned_through = clock_.wall;
  removed.schedule = "every day at two";
  removed.active = false;
  call.cursors = {removed};
  EXPECT_EQ(One<ActivateReply>(call).version, 2);
  TaskCursor cursor = LoadAll().cursors.at(0);
  EXPECT_FALSE(cursor.active);
  // Without it a restart would take every schedule for a new one, which owes nothing from before.
  EXPECT_EQ(cursor.schedule, "every day at two");
  // What the store alone knows stays: a task that comes back keeps its min_interval.
  EXPECT_EQ(cursor.last_start, clock_.wall);
}

HOLD_EVERY_STORE_TO(PlanContract);

}  // namespace
}  // namespace duecourse
