// Reading drill files.
#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "rule/lint.h"
#include "sim/drill.h"

namespace duecourse {
namespace {

// Reads one map's members by name and remembers which were used, so that a misspelt one is an error.
class Reader {
 public:
  Reader(const YamlNode& node, std::vector<std::string>& faults, std::string what)
      : node_(node), faults_(faults), what_(std::move(what)) {
    if (node.kind != YamlNode::Kind::kMap) Fault(node.place, StrCat(what_, " must be a map"));
  }
  const YamlNode* Get(const char* name) {
    known_.push_back(name);
    return node_.Find(name);
  }
  std::string Text(const char* name, const std::string& fallback = "") {
    const YamlNode* found = Get(name);
    return found == nullptr ? fallback : found->scalar;
  }
  bool Flag(const char* name) { return Text(name) == "true"; }
  Instant Time(const char* name, Instant fallback) {
    const YamlNode* found = Get(name);
    if (found == nullptr) return fallback;
    Result<Instant> instant = ParseUtc(found->scalar);
    if (instant.ok()) return *instant;
    Fault(found->place, instant.error().message());
    return fallback;
  }
  std::optional<Millis> Span(const char* name) {
    const YamlNode* found = Get(name);
    if (found == nullptr) return std::nullopt;
    Result<Millis> span = ParseMillis(found->scalar);
    if (span.ok()) return *span;
    Fault(found->place, span.error().message());
    return std::nullopt;
  }
  std::optional<int> Number(const char* name) {
    const YamlNode* found = Get(name);
    if (found == nullptr) return std::nullopt;
    std::optional<int64_t> number = ParseInteger(found->scalar);
    if (!number) Fault(found->place, StrCat(name, " must be a number"));
    return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
  }
  void Done() {
    for (const auto& [key, value] : node_.members) {
      if (std::find(known_.begin(), known_.end(), key.scalar) != known_.end()) continue;
      std::optional<std::string> nearest = Nearest(key.scalar, known_);
      Fault(key.place, StrCat("unknown key ", key.scalar, " in ", what_,
                              nearest ? StrCat("; did you mean ", *nearest, "?") : ""));
    }
  }
  void Fault(YamlPlace place, const std::string& text) {
    faults_.push_back(StrCat(place.line, ":", place.column, ": ", text));
  }

 private:
  const YamlNode& node_;
  std::vector<std::string>& faults_;
  std::string what_;
  std::vector<std::string> known_;
};

void ReadEnding(Reader& reader, SimEnding& out) {
  Ending& ending = out.ending;
  if (auto exit = reader.Number("exit")) ending.code = *exit;
  if (auto status = reader.Number("http")) {
    ending.kind = Ending::Kind::kHttp;
    ending.code = *status;
    ending.http_expect_met = *status >= 200 && *status < 300 && *status != 202;
  }
  if (auto signal = reader.Number("signal")) {
    ending.kind = Ending::Kind::kSignal;
    ending.code = *signal;
  }
  if (reader.Flag("network_error")) {
    ending.kind = Ending::Kind::kNetwork;
    ending.request_sent = false;
  }
  ending.retry_after = reader.Span("retry_after");
  ending.summary = reader.Text("summary");
  ending.output_tail = reader.Text("output");
  out.hangs = reader.Flag("hangs");
  out.after = reader.Span("after").value_or(Millis{0});
}

void ReadAnswer(Reader& reader, ProbeAnswer& out, const YamlNode& node) {
  std::string word = reader.Text("answer");
  if (word == "yes")
    out.answer = PreconditionFact::Answer::kYes;
  else if (word == "no")
    out.answer = PreconditionFact::Answer::kNo;
  else if (word == "invalid")
    out.answer = PreconditionFact::Answer::kInvalid;
  else if (word == "check_failed")
    out.answer = PreconditionFact::Answer::kCheckFailed;
  else
    reader.Fault(node.place, "answer must be yes, no, invalid or check_failed");
  out.code = reader.Text("code", word);
  out.text = reader.Text("text", word);
}

std::vector<DrillBehaviour> ReadBehaviours(const YamlNode* list, bool probes,
                                           std::vector<std::string>& faults) {
  std::vector<DrillBehaviour> out;
  if (list == nullptr) return out;
  for (const YamlNode& node : list->items) {
    Reader reader(node, faults, probes ? "a probe" : "an executor");
    DrillBehaviour behaviour;
    behaviour.task = reader.Text("task", "*");
    behaviour.key = reader.Text("key", "*");
    behaviour.from = reader.Time("from", kLongAgo);
    behaviour.until = reader.Time("until", kNever);
    if (const YamlNode* attempts = reader.Get("attempts")) {
      for (const YamlNode& item : attempts->items)
        behaviour.attempts.push_back(static_cast<int>(ParseInteger(item.scalar).value_or(0)));
    }
    if (probes) {
      behaviour.about = reader.Text("about");
      ReadAnswer(reader, behaviour.answer, node);
    } else {
      ReadEnding(reader, behaviour.ending);
    }
    reader.Done();
    out.push_back(std::move(behaviour));
  }
  return out;
}

DrillStep ReadStep(const YamlNode& node, std::vector<std::string>& faults) {
  Reader reader(node, faults, "a step");
  DrillStep step;
  step.place = node.place;
  step.at = reader.Time("at", kLongAgo);
  step.act = reader.Text("do");
  step.name = reader.Text("name");
  step.task = reader.Text("task");
  step.value = reader.Text("value");
  step.key = reader.Text("key");
  step.scope = reader.Text("scope");
  step.flag = reader.Text("flag");
  step.flag_value = reader.Text("flag_value", "true");
  step.by = reader.Text("by", "ann");
  step.reason = reader.Text("reason");
  step.text = reader.Text("rules");
  step.settings = reader.Text("settings");
  if (const YamlNode* date = reader.Get("date")) {
    Result<CivilDay> day = ParseDay(date->scalar);
    if (day.ok())
      step.date = *day;
    else
      reader.Fault(date->place, day.error().message());
  }
  if (reader.Get("due") != nullptr) step.due = reader.Time("due", kLongAgo);
  step.ttl = reader.Span("ttl");
  step.force = reader.Flag("force");
  step.extra = reader.Flag("extra");
  step.catch_up = reader.Flag("catch_up");
  step.confirm = reader.Flag("confirm");
  reader.Done();
  return step;
}

void LoadDrillRules(Drill& drill, const std::string& rules, const std::string& settings, Reader& reader,
                    const YamlNode& root) {
  Loaded loaded = LoadRulesFromText({{"rules.yaml", rules}}, {"duecourse.yaml", settings});
  if (loaded.set != nullptr) {
    drill.rules = loaded.set;
    return;
  }
  for (const Finding& finding : loaded.findings) {
    if (finding.severity == Finding::Severity::kError) reader.Fault(root.place, FormatFinding(finding));
  }
}

}  // namespace

Result<Drill> ParseDrill(const std::string& name, const std::string& text) {
  YamlText yaml = ParseYaml(text);
  if (!yaml.faults.empty())
    return Error(StrCat(name, ":", yaml.faults.front().place.line, ": ", yaml.faults.front().message));
  if (yaml.documents.size() != 1) return Error(StrCat(name, ": a drill file holds one document"));
  const YamlNode& root = yaml.documents.front();
  std::vector<std::string> faults;
  Reader reader(root, faults, "the drill");
  Drill drill;
  drill.file = name;
  drill.name = reader.Text("drill");
  drill.why = reader.Text("why");
  drill.from = reader.Time("from", kLongAgo);
  drill.until = reader.Time("until", kLongAgo);
  drill.seed = static_cast<uint64_t>(reader.Number("seed").value_or(1));
  drill.crash = reader.Flag("crash");
  LoadDrillRules(drill, reader.Text("rules"), reader.Text("settings"), reader, root);
  drill.executors = ReadBehaviours(reader.Get("executors"), false, faults);
  drill.probes = ReadBehaviours(reader.Get("probes"), true, faults);
  if (const YamlNode* steps = reader.Get("steps")) {
    for (const YamlNode& node : steps->items) drill.steps.push_back(ReadStep(node, faults));
  }
  if (const YamlNode* expect = reader.Get("expect")) {
    for (const auto& [key, value] : expect->members) drill.expectations.push_back({key.scalar, value});
  }
  reader.Done();
  if (drill.from >= drill.until) faults.push_back("from must be before until");
  if (!faults.empty()) return Error(StrCat(name, ":", Join(faults, StrCat("\n", name, ":"))));
  return drill;
}

Result<Drill> ReadDrill(const std::string& path) {
  Result<std::string> text = ReadFile(path, kYamlMaxBytes);
  if (!text.ok()) return text.error();
  return ParseDrill(path, *text);
}

bool GlobMatches(const std::string& pattern, const std::string& text) {
  size_t p = 0, t = 0, star = std::string::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace duecourse
