#include "sim/drill_expect.h"

#include <algorithm>

#include "base/text.h"

namespace duecourse {
namespace {

const char* KindName(Answer::Kind kind) {
  switch (kind) {
    case Answer::Kind::kFine:
      return "fine";
    case Answer::Kind::kProblem:
      return "problem";
    case Answer::Kind::kUsage:
      return "usage";
    case Answer::Kind::kRefused:
      return "refused";
    case Answer::Kind::kUnknown:
      return "unknown";
  }
  return "";
}

std::string TextOf(const YamlNode& node, const char* name, const std::string& fallback) {
  const YamlNode* found = node.Find(name);
  return found == nullptr ? fallback : found->scalar;
}

std::vector<std::string> ListOf(const YamlNode& node, const char* name) {
  std::vector<std::string> out;
  const YamlNode* found = node.Find(name);
  if (found == nullptr) return out;
  for (const YamlNode& item : found->items) out.push_back(item.scalar);
  return out;
}

class Expecter {
 public:
  Expecter(const CheckInput& input, World& world, std::vector<std::string>& failures)
      : input_(input), world_(world), failures_(failures) {}

  void Miss(const YamlNode& node, const std::string& text) {
    failures_.push_back(StrCat("line ", node.place.line, ": ", text));
  }

  // A misspelt key in an expectation would make it pass: refuse it.
  void Known(const YamlNode& node, const std::vector<std::string>& names) {
    for (const auto& [key, value] : node.members) {
      if (std::find(names.begin(), names.end(), key.scalar) == names.end())
        Miss(key, StrCat("unknown key ", key.scalar));
    }
  }

  void Count(const YamlNode& node, const std::string& what, int64_t got) {
    const YamlNode* want = node.Find("count");
    const YamlNode* least = node.Find("least");
    const YamlNode* most = node.Find("most");
    if (want != nullptr && std::to_string(got) != want->scalar)
      Miss(node, StrCat(what, ": expected ", want->scalar, ", got ", got));
    if (least != nullptr && got < ParseInteger(least->scalar).value_or(0))
      Miss(node, StrCat(what, ": at least ", least->scalar, ", got ", got));
    if (most != nullptr && got > ParseInteger(most->scalar).value_or(0))
      Miss(node, StrCat(what, ": at most ", most->scalar, ", got ", got));
    if (want == nullptr && least == nullptr && most == nullptr && got == 0)
      Miss(node, StrCat(what, ": there is none"));
  }

  void Starts(const YamlNode& node) {
    Known(node, {"task", "key", "value", "trigger", "at", "count", "least", "most", "from", "until"});
    std::vector<std::string> got;
    std::string from = TextOf(node, "from", ""), until = TextOf(node, "until", "");
    for (const SimStart& start : *input_.starts) {
      std::string at = FormatUtc(start.at);
      bool fits = GlobMatches(TextOf(node, "task", "*"), start.task) &&
                  GlobMatches(TextOf(node, "key", "*"), start.key) &&
                  GlobMatches(TextOf(node, "value", "*"), start.value) &&
                  GlobMatches(TextOf(node, "trigger", "*"), start.trigger);
      if (fits && at >= from && (until.empty() || at < until)) got.push_back(at);
    }
    std::string what = StrCat("starts of ", TextOf(node, "task", "*"), " ", TextOf(node, "key", ""));
    if (node.Find("at") != nullptr) {
      std::vector<std::string> want = ListOf(node, "at");
      if (got != want)
        Miss(node, StrCat(what, ":\n    expected ", Join(want, " "), "\n    got      ", Join(got, " ")));
    } else {
      Count(node, what, static_cast<int64_t>(got.size()));
    }
  }

  void Runs(const YamlNode& node) {
    Known(node, {"task", "key", "value", "date", "state", "reason", "detail", "attempts", "counted", "due",
                 "count", "least", "most"});
    int64_t count = 0;
    std::string seen;
    for (const Run& run : input_.runs) {
      if (!GlobMatches(TextOf(node, "task", "*"), run.task) ||
          !GlobMatches(TextOf(node, "key", "*"), run.key.value_or("")))
        continue;
      if (!GlobMatches(TextOf(node, "value", "*"), run.value)) continue;
      if (TextOf(node, "date", FormatDay(run.business_date)) != FormatDay(run.business_date)) continue;
      if (TextOf(node, "due", FormatUtc(run.due)) != FormatUtc(run.due)) continue;
      bool fits = TextOf(node, "state", RunStateName(run.state)) == RunStateName(run.state) &&
                  TextOf(node, "reason", ReasonName(run.reason)) == ReasonName(run.reason) &&
                  TextOf(node, "attempts", std::to_string(run.attempts)) == std::to_string(run.attempts) &&
                  TextOf(node, "counted", std::to_string(run.counted)) == std::to_string(run.counted) &&
                  run.detail.find(TextOf(node, "detail", "")) != std::string::npos;
      if (fits) ++count;
      if (!fits && seen.size() < 2000) {
        seen += StrCat("\n    ", run.task, " ", run.key.value_or("-"), " ", RunStateName(run.state), " ",
                       ReasonName(run.reason), " attempts ", run.attempts, " (", run.detail, ")");
      }
    }
    size_t before = failures_.size();
    Count(node, "runs", count);
    if (failures_.size() > before && !seen.empty())
      failures_.back() += StrCat("; others of this task and key:", seen);
  }

  void Notes(const YamlNode& node) {
    Known(node, {"task", "value", "reason", "state", "occurrences", "first", "last", "detail", "count",
                 "least", "most"});
    int64_t count = 0;
    std::string seen;
    for (const Note& note : input_.notes) {
      if (!GlobMatches(TextOf(node, "task", "*"), note.task)) continue;
      bool fits = TextOf(node, "reason", ReasonName(note.reason)) == ReasonName(note.reason) &&
                  TextOf(node, "value", note.value) == note.value &&
                  TextOf(node, "state", RunStateName(note.state)) == RunStateName(note.state) &&
                  TextOf(node, "occurrences", std::to_string(note.count)) == std::to_string(note.count) &&
                  TextOf(node, "first", FormatUtc(note.first_due)) == FormatUtc(note.first_due) &&
                  TextOf(node, "last", FormatUtc(note.last_due)) == FormatUtc(note.last_due) &&
                  note.detail.find(TextOf(node, "detail", "")) != std::string::npos;
      if (fits) ++count;
      seen += StrCat("\n    ", note.task, " ", ReasonName(note.reason), " ", note.count, " ",
                     FormatUtc(note.first_due), " ", FormatUtc(note.last_due), " (", note.detail, ")");
    }
    size_t before = failures_.size();
    Count(node, "notes", count);
    if (failures_.size() > before) failures_.back() += StrCat("; there are:", seen.substr(0, 3000));
  }

  void Alerts(const YamlNode& node) {
    Known(node, {"task", "event", "level", "title", "text", "count", "least", "most"});
    int64_t count = 0;
    std::string seen;
    for (const SimAlert& alert : *input_.alerts) {
      Result<Json> json = Json::Parse(alert.message.json);
      std::string task = json.ok() ? json->Get("task").AsString() : "";
      std::string event = json.ok() ? json->Get("event").AsString() : "";
      seen += StrCat("\n    ", FormatUtc(alert.at), " ", task, " ", event, " ", alert.message.title);
      bool fits = GlobMatches(TextOf(node, "task", "*"), task) && TextOf(node, "event", event) == event &&
                  TextOf(node, "level", alert.message.level) == alert.message.level &&
                  alert.message.title.find(TextOf(node, "title", "")) != std::string::npos &&
                  alert.message.text.find(TextOf(node, "text", "")) != std::string::npos;
      if (fits) ++count;
    }
    size_t before = failures_.size();
    Count(node, "alerts sent", count);
    if (failures_.size() > before) failures_.back() += StrCat("; there are:", seen.substr(0, 3000));
  }

  void Decisions(const YamlNode& node) {
    Known(node, {"task", "key", "decision", "reason", "detail", "to", "at", "attempt", "from", "until",
                 "repeats_least", "count", "least", "most"});
    int64_t count = 0;
    std::string seen;
    std::string from = TextOf(node, "from", ""), until = TextOf(node, "until", "");
    for (const DecisionRow& row : input_.decisions) {
      if (!GlobMatches(TextOf(node, "task", "*"), row.task) ||
          !GlobMatches(TextOf(node, "key", "*"), row.key))
        continue;
      std::string at = FormatUtc(row.at);
      if (at < from || (!until.empty() && at >= until)) continue;
      bool fits = TextOf(node, "decision", row.decision) == row.decision &&
                  TextOf(node, "reason", ReasonName(row.reason)) == ReasonName(row.reason) &&
                  TextOf(node, "to", row.to_state) == row.to_state && TextOf(node, "at", at) == at &&
                  TextOf(node, "attempt", std::to_string(row.attempt)) == std::to_string(row.attempt) &&
                  row.count >= ParseInteger(TextOf(node, "repeats_least", "1")).value_or(1) &&
                  row.detail.find(TextOf(node, "detail", "")) != std::string::npos;
      if (fits) ++count;
      if (seen.size() < 3000)
        seen += StrCat("\n    ", at, " ", row.task, " ", row.key, " ", row.decision, " ",
                       ReasonName(row.reason), " ", row.to_state, " x", row.count, " ", row.detail);
    }
    size_t before = failures_.size();
    Count(node, "decision rows", count);
    if (failures_.size() > before) failures_.back() += StrCat("; there are:", seen);
  }

  // Never more than so many at once.
  void Overlap(const YamlNode& node) {
    Known(node, {"task", "most"});
    std::vector<std::pair<Instant, int>> edges;
    for (const SimStart& start : *input_.starts) {
      if (!GlobMatches(TextOf(node, "task", "*"), start.task)) continue;
      edges.emplace_back(start.at, 1);
      edges.emplace_back(start.ended.value_or(kNever), -1);
    }
    std::sort(edges.begin(), edges.end());  // an end comes before a start of the same instant
    int running = 0, top = 0;
    for (const auto& [at, change] : edges) top = std::max(top, running += change);
    Count(node, StrCat("at once of ", TextOf(node, "task", "*")), top);
  }

  // What people did: the audit log.
  void Audit(const YamlNode& node) {
    Known(node, {"task", "by", "action", "reason", "detail", "count", "least", "most"});
    Result<std::vector<AuditRow>> rows = world_.store().Audit(TextOf(node, "task", ""), "", 1000);
    if (!rows.ok()) return Miss(node, rows.error().message());
    int64_t count = 0;
    std::string seen;
    for (const AuditRow& row : *rows) {
      seen += StrCat("\n    ", FormatUtc(row.at), " ", row.by, " ", row.action, " ", row.task, " (",
                     row.reason, ") ", row.detail);
      bool fits = TextOf(node, "by", row.by) == row.by && TextOf(node, "action", row.action) == row.action &&
                  TextOf(node, "reason", row.reason) == row.reason &&
                  row.detail.find(TextOf(node, "detail", "")) != std::string::npos;
      if (fits) ++count;
    }
    size_t before = failures_.size();
    Count(node, "audit rows", count);
    if (failures_.size() > before) failures_.back() += StrCat("; there are:", seen.substr(0, 3000));
  }

  void Answers(const YamlNode& node, const std::map<std::string, uint64_t>& asked) {
    Known(node, {"step", "kind", "text"});
    auto it = asked.find(TextOf(node, "step", ""));
    const Answer* answer = it == asked.end() ? nullptr : world_.AnswerTo(it->second);
    if (answer == nullptr) {
      Miss(node, StrCat("step ", TextOf(node, "step", ""), " has no answer"));
      return;
    }
    const std::string kind = KindName(answer->kind);
    if (TextOf(node, "kind", kind) != kind)
      Miss(node, StrCat("expected ", TextOf(node, "kind", kind), ", got ", kind, ": ", answer->message));
    if (answer->message.find(TextOf(node, "text", "")) == std::string::npos)
      Miss(node, StrCat("the answer is: ", answer->message));
  }

 private:
  const CheckInput& input_;
  World& world_;
  std::vector<std::string>& failures_;
};

}  // namespace

void CheckExpectations(const Drill& drill, const CheckInput& input, World& world,
                       const std::map<std::string, uint64_t>& asked, std::vector<std::string>& failures) {
  Expecter expecter(input, world, failures);
  if (drill.expectations.empty()) failures.push_back("a drill that expects nothing proves nothing");
  for (const DrillExpectation& expectation : drill.expectations) {
    for (const YamlNode& node : expectation.node.items) {
      if (expectation.what == "starts")
        expecter.Starts(node);
      else if (expectation.what == "runs")
        expecter.Runs(node);
      else if (expectation.what == "notes")
        expecter.Notes(node);
      else if (expectation.what == "alerts")
        expecter.Alerts(node);
      else if (expectation.what == "decisions")
        expecter.Decisions(node);
      else if (expectation.what == "overlap")
        expecter.Overlap(node);
      else if (expectation.what == "audit")
        expecter.Audit(node);
      else if (expectation.what == "answers")
        expecter.Answers(node, asked);
      else
        expecter.Miss(node, StrCat("unknown expectation ", expectation.what));
    }
  }
}

}  // namespace duecourse
