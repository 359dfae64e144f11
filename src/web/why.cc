// `why`: sentences from rows. Nothing is recomputed; what the engine holds in memory is added for what is
// open.
#include <algorithm>

#include "base/text.h"
#include "engine/memory.h"
#include "web/api.h"
#include "web/local_text.h"

namespace duecourse {
namespace {

constexpr int kRunsShown = 20;
constexpr int kRowsShown = 400;

class Story {
 public:
  // Without a rule (it was removed) the store's rows are told all the same, in UTC.
  Story(const std::string& id, const Task* task, const Json& live, StoreReader& reader, Backend& backend)
      : id_(id),
        gone_(task == nullptr),
        rule_(task == nullptr ? NoRule() : task->rule()),
        live_(live),
        reader_(reader),
        backend_(backend) {}

  void Head(std::optional<CivilDay> date) {
    Add(StrCat(id_, date ? StrCat(", ", FormatDay(*date)) : "", " (", zone().name(), ")"));
    if (!rule_.why.empty()) Add(StrCat("  why it exists: ", ShowBytes(rule_.why, false)));
    if (gone_) {
      Add("  its rule was removed: nothing new is planned; what still waits for a person is theirs to end");
    } else if (!rule_.enabled) {
      Add("  it is not enabled");
    }
  }

  Status OneRun(const Run& run) {
    if (!gone_) zone_ = ScheduleOfValue(run.value).zone;
    Add("");
    Add(StrCat("run ", run.id, run.value.empty() ? "" : StrCat(" (", run.value, ")")));
    Add(StrCat("  key     ", run.key ? ShowBytes(*run.key, false) : "none"));
    Add(StrCat("  due     ", Local(run.due), ", for ", FormatDay(run.business_date)));
    Add(StrCat("  window  ", Local(run.window_opens), " to ", Local(run.window_ends), " (exclusive)"));
    DecisionFilter filter;
    filter.run_id = run.id;
    filter.limit = kRowsShown;
    Result<std::vector<DecisionRow>> rows = reader_.Decisions(filter);
    if (!rows.ok()) return rows.status();
    Result<std::vector<Attempt>> attempts = reader_.Attempts(run.id);
    if (!attempts.ok()) return attempts.status();
    for (const DecisionRow& row : *rows) Row(row, *attempts);
    Status ordered = EndOrdered(run);
    Standing(run, *attempts);
    return ordered;
  }

  void Range(const Note& note) {
    Add("");
    std::string when = note.count == 1 ? StrCat("the occurrence of ", Local(note.first_due))
                                       : StrCat(note.count, " occurrences, ", Local(note.first_due), " to ",
                                                Local(note.last_due));
    Add(StrCat(when, ": ", RunStateName(note.state), ", ", ShownReason(note)));
    Add(StrCat("  ", note.strange_reason.empty() ? ReasonSentence(note.reason)
                                                 : "this program knows no such reason"));
    if (!note.detail.empty()) Add(StrCat("  ", ShowBytes(LocalInstants(note.detail), false)));
    if (!note.run_id.empty()) Add(StrCat("  see run ", note.run_id));
  }

  // What the engine holds: what it waits for now, when it is asked again, what is due next.
  void Live() {
    const Json& live = live_;
    if (live.Has("store_away_since")) {
      Add("");
      Add(StrCat("now: the store has taken nothing since ",
                 LocalText(live.Get("store_away_since").AsString()),
                 ": nothing is planned and nothing starts until it does"));
    }
    for (const Json& value : live.Get("values").AsArray()) {
      for (const Json& open : value.Get("open").AsArray()) {
        if (open.Get("state").AsString() == "running" || open.Get("state").AsString() == "manual_required")
          continue;
        Add("");
        Add(StrCat("now: run ", open.Get("run_id").AsString(), " waits: ", open.Get("reason").AsString(),
                   open.Get("detail").AsString().empty() ? "" : ", ",
                   LocalInstants(open.Get("detail").AsString())));
        Conditions(open.Get("preconditions"));
        if (open.Has("asked_again_at"))
          Add(StrCat("  asked again at ", LocalText(open.Get("asked_again_at").AsString())));
      }
      if (value.Has("breaker_open_until"))
        Add(StrCat("now: the breaker is open until ", LocalText(value.Get("breaker_open_until").AsString())));
      if (!value.Get("next_due_local").is_null()) {
        std::string name = value.Get("value").AsString();
        Add(StrCat("next: due ", value.Get("next_due_local").AsString(),
                   name.empty() ? "" : StrCat(" (", name, ")")));
      }
    }
    if (const std::string pause = PauseText(); !pause.empty()) Add(pause);
  }

  void Add(const std::string& line) { text_ += line + "\n"; }
  const std::string& text() const { return text_; }

 private:
  static const RuleBody& NoRule() {
    static const RuleBody kNone;
    return kNone;
  }
  const Zone& zone() const {
    if (zone_) return *zone_;
    static const Zone kUtc = Zone::Utc();
    return gone_ ? kUtc : ScheduleOf(rule_, 0).zone;
  }
  const Schedule& ScheduleOfValue(const std::string& value) const {
    size_t index = 0;
    FindValue(rule_, value, &index);
    return ScheduleOf(rule_, index);
  }
  std::string Local(Instant instant) const { return FormatLocal(instant, zone()); }
  std::string LocalText(const std::string& utc) const {
    Result<Instant> instant = ParseUtc(utc);
    return instant.ok() ? Local(*instant) : utc;
  }

  // Instants in a sentence of the engine are UTC; here they are the task's, as everything beside them is.
  std::string LocalInstants(const std::string& text) const { return duecourse::LocalInstants(text, zone()); }

  // "paused (task/daily) by ann: repairs"; empty where nothing of the task is held.
  std::string PauseText() const {
    if (!live_.Has("paused_by")) return "";
    const std::string reason = ShowBytes(live_.Get("paused_reason").AsString(), false);
    return StrCat("paused (", live_.Get("paused_scope").AsString(), ") by ",
                  live_.Get("paused_by").AsString(), reason.empty() ? "" : ": ", reason);
  }

  // " [transient]": how what ended the attempt was classed, which says whether it is tried again.
  static std::string ClassOf(const DecisionRow& row, const std::vector<Attempt>& attempts) {
    if (row.from_state != RunStateName(RunState::kRunning)) return "";
    for (const Attempt& attempt : attempts) {
      if (attempt.number == row.attempt && attempt.failure_class != FailureClass::kNone)
        return StrCat(" [", FailureClassName(attempt.failure_class), "]");
    }
    return "";
  }

  void Row(const DecisionRow& row, const std::vector<Attempt>& attempts) {
    Result<Json> detail = Json::Parse(row.detail);
    std::string text = detail.ok() ? detail->Get("text").AsString() : row.detail;
    // How an attempt ended is told in the words of its output.
    if (row.from_state != RunStateName(RunState::kRunning)) text = LocalInstants(text);
    std::string line = StrCat("  ", Local(row.at), "  ");
    if (row.decision == "run") {
      line += StrCat("attempt ", row.attempt, HasBegun(row.attempt, attempts) ? " started" : " claimed",
                     text.empty() ? "" : StrCat(": ", text));
    } else if (row.decision == "state") {
      line += StrCat(row.from_state, " -> ", row.to_state, ", ", ShownReason(row),
                     text.empty() ? "" : StrCat(": ", text), ClassOf(row, attempts));
    } else if (row.decision == "late") {
      line +=
          StrCat("a late result was kept apart and changed nothing", text.empty() ? "" : StrCat(": ", text));
    } else {
      line += StrCat("no: ", ShownReason(row), text.empty() ? "" : StrCat(", ", text));
    }
    if (row.count > 1) line += StrCat(" (", row.count, " times, last at ", Local(row.last_at), ")");
    Add(ShowBytes(line, false));
    if (row.from_state == RunStateName(RunState::kRunning)) Notes(row.attempt, attempts);
    if (row.decision == "wait" && detail.ok()) Because(detail->Get("preconditions"));
  }

  // A claim comes first; what then waits for a slot, or never got one, did not start.
  bool HasBegun(int number, const std::vector<Attempt>& attempts) const {
    const auto it = std::find_if(attempts.begin(), attempts.end(),
                                 [number](const Attempt& attempt) { return attempt.number == number; });
    if (it == attempts.end()) return true;
    return !NeverStarted(*it) && backend_.WaitsFor(RefOf(*it)).empty();
  }

  // What of an attempt's ending could not be kept or believed.
  void Notes(int number, const std::vector<Attempt>& attempts) {
    for (const Attempt& attempt : attempts) {
      const Result<Json> detail = Json::Parse(attempt.detail);
      if (attempt.number != number || !detail.ok()) continue;
      for (const Json& note : detail->Get("notes").AsArray())
        Add(StrCat("      of attempt ", number, ": ", ShowBytes(note.AsString(), false)));
    }
  }

  // Why the rule waits for what was not there: its author's words.
  void Because(const Json& seen) {
    for (const Json& item : seen.AsArray()) {
      if (item.Get("answer").AsString() != "yes" && item.Has("why"))
        Add(StrCat("      it waits for this because: ", ShowBytes(item.Get("why").AsString(), false)));
    }
  }

  void Conditions(const Json& list) {
    for (const Json& item : list.AsArray()) {
      Add(StrCat("  ", item.Get("answer").AsString() == "yes" ? "yes" : "no ", "  ",
                 item.Get("type").AsString(), ": ", ShowBytes(item.Get("text").AsString(), false)));
      if (item.Get("answer").AsString() != "yes" && item.Has("help"))
        Add(StrCat("      to make it so: ", ShowBytes(item.Get("help").AsString(), false)));
    }
  }

  // Why fewer attempts count to the cap than there were.
  void Uncounted(const Run& run, const std::vector<Attempt>& attempts) {
    constexpr int kShown = 5;
    int found = 0;
    for (const Attempt& attempt : attempts) {
      const char* why = !FollowsLadder(attempt.kind, run.extra, attempt.number) ? "a person started it"
                        : attempt.outcome == Outcome::kNotStarted               ? "it was never started"
                        : attempt.outcome == Outcome::kNotReady
                            ? "it found that it could not begin its work (not_ready)"
                            : nullptr;
      if (why != nullptr && ++found <= kShown)
        Add(StrCat("    attempt ", attempt.number, " does not count: ", why));
    }
    if (found > kShown) Add(StrCat("    and ", found - kShown, " more that do not count"));
  }

  // An order to end the attempt, which is stored before it is obeyed.
  Status EndOrdered(const Run& run) {
    constexpr int kActsLookedAt = 100;
    if (run.cancel.empty() || run.state != RunState::kRunning) return Status();
    const Result<std::vector<AuditRow>> acts = reader_.Audit("", run.id, kActsLookedAt);
    if (!acts.ok()) return acts.status();
    const auto order =
        std::find_if(acts->begin(), acts->end(), [](const AuditRow& act) { return act.action == "cancel"; });
    Add(StrCat("  ", order == acts->end() ? "" : StrCat(Local(order->at), "  "),
               "its attempt is being ended: ", ShowBytes(run.cancel, false)));
    return Status();
  }

  void Standing(const Run& run, const std::vector<Attempt>& attempts) {
    for (const Attempt& attempt : attempts) {
      if (attempt.ended_at || attempt.outcome != Outcome::kNone) continue;
      const std::string slot = backend_.WaitsFor(RefOf(attempt));
      Add(StrCat("  attempt ", attempt.number, " (", TriggerKindName(attempt.kind), ") has been ",
                 slot.empty() ? "running" : StrCat("waiting for ", slot), " since ",
                 Local(attempt.claimed_at)));
    }
    Add(StrCat("  it is ", RunStateName(run.state), " (", ShownReason(run), ") since ",
               Local(run.state_since), "; ", run.attempts, run.attempts == 1 ? " attempt" : " attempts", ", ",
               run.counted, gone_ ? "" : StrCat(" of ", rule_.retry.max_total_attempts), " counted"));
    Uncounted(run, attempts);
    if (run.next_at) Add(StrCat("  next: ", Again(run)));
    if (run.state == RunState::kManualRequired) {
      Add(StrCat("  next: nothing until a person acts: duecourse manual ",
                 gone_      ? "resolve | skip "
                 : !run.key ? "claim | resolve | skip "
                            : "claim | rerun | resolve | skip ",
                 run.id, " --by NAME --reason \"…\""));
      if (!gone_ && !run.key)
        Add(StrCat(
            "  it has no key, so it cannot be started: mend what its key is made of, then duecourse trigger ",
            run.task, run.value.empty() ? "" : StrCat(" --value ", run.value), " --extra --date ",
            FormatDay(run.business_date)));
    }
    if (!run.superseded_by.empty()) Add(StrCat("  it gave way to run ", run.superseded_by));
    if (!run.supersedes.empty()) Add(StrCat("  it repeats run ", run.supersedes));
  }

  // A pause holds a retry as it holds a start.
  std::string Again(const Run& run) const {
    const std::string pause = PauseText();
    if (pause.empty()) return StrCat("again at ", Local(*run.next_at));
    return StrCat("nothing while it is ", pause, "; once resumed again at ", Local(*run.next_at),
                  ", or at once where that is past");
  }

  const std::string id_;
  const bool gone_;
  const RuleBody& rule_;
  const Json& live_;
  StoreReader& reader_;
  Backend& backend_;
  std::optional<Zone> zone_;
  std::string text_;
};

}  // namespace

static Result<std::vector<Run>> RunsToTell(const std::string& task, std::optional<CivilDay> date,
                                           StoreReader& reader) {
  RunFilter filter;
  filter.task = task;
  filter.business_date = date;
  filter.limit = kRunsShown;
  if (date) return reader.Runs(filter);
  filter.states = {RunState::kScheduled, RunState::kRunning, RunState::kRetrying, RunState::kCatchupWaiting,
                   RunState::kManualRequired};
  Result<std::vector<Run>> open = reader.Runs(filter);
  if (!open.ok()) return open;
  filter.states.clear();
  filter.limit = 1;
  Result<std::vector<Run>> newest = reader.Runs(filter);
  if (!newest.ok()) return newest;
  std::vector<Run> out = *open;
  for (const Run& run : *newest) {
    bool known = std::any_of(out.begin(), out.end(), [&](const Run& other) { return other.id == run.id; });
    if (!known) out.insert(out.begin(), run);
  }
  return out;
}

// What is due next, where a person had that started already.
static void PassBegun(const Task& task, Json& live, StoreReader& reader) {
  Json values = Json::MakeArray();
  for (Json value : live.Get("values").AsArray()) {
    size_t index = 0;
    const Result<Instant> next = ParseUtc(value.Get("next_due").AsString());
    if (next.ok() && FindValue(task.rule(), value.Get("value").AsString(), &index)) {
      const Instant due = NextToCome(task, index, *next, reader);
      const Zone& zone = ScheduleOf(task.rule(), index).zone;
      value.Set("next_due", due < kNever ? Json(FormatUtc(due)) : Json());
      value.Set("next_due_local", due < kNever ? Json(FormatLocal(due, zone)) : Json());
    }
    values.Add(std::move(value));
  }
  if (live.Has("values")) live.Set("values", std::move(values));
}

HttpResponse Why(const std::string& task_id, std::optional<CivilDay> date, Backend& backend,
                 StoreReader& reader) {
  std::shared_ptr<const RuleSet> rules = backend.rules();
  const Task* task = rules->Find(task_id);
  Request request;
  request.body = ExplainRequest{task_id};
  Answer live = AskAndWait(backend, request);
  Result<std::vector<Run>> runs = RunsToTell(task_id, date, reader);
  if (!runs.ok()) return Problem(503, runs.error().message());
  if (task == nullptr && runs->empty())
    return Problem(404, live.message.empty() ? StrCat("there is no task ", task_id) : live.message);
  if (task != nullptr) PassBegun(*task, live.body, reader);
  Story story(task_id, task, live.body, reader, backend);
  story.Head(date);
  Json list = Json::MakeArray();
  std::reverse(runs->begin(), runs->end());
  for (const Run& run : *runs) {
    Status told = story.OneRun(run);
    if (!told.ok()) return Problem(503, told.error().message());
    list.Add(RunToJson(run, *rules));
  }
  const Zone& zone = task == nullptr ? Zone::Utc() : ScheduleOf(task->rule(), 0).zone;
  Instant from = date ? zone.Lookup({*date, 0}).first : backend.now() - Days(7);
  Instant until = date ? zone.Lookup({*date + 2, 0}).first : kNever;
  Result<std::vector<Note>> notes = reader.Notes(task_id, from, until, 50);
  if (!notes.ok()) return Problem(503, notes.error().message());
  Json ranges = Json::MakeArray();
  for (const Note& note : *notes) {
    if (date && zone.ToLocal(note.last_due).civil.day < *date) continue;
    story.Range(note);
    ranges.Add(NoteToJson(note));
  }
  if (runs->empty() && notes->empty()) {
    const bool to_come = date && zone.ToLocal(backend.now()).civil.day < *date;
    story.Add(!date ? "  nothing has been due yet"
              : to_come
                  ? "  that day is yet to come"
                  : "  nothing of this task is known for that day: it was not due, or not in force yet");
  }
  story.Live();
  Json body = Json::MakeObject();
  body.Set("task_id", task_id)
      .Set("text", story.text())
      .Set("runs", std::move(list))
      .Set("ranges", std::move(ranges));
  body.Set("live", live.body);
  return JsonResponse(200, body);
}

}  // namespace duecourse
