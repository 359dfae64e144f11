#include "cli/complete.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "alert/shown.h"
#include "cli/args.h"
#include "cli/client.h"
#include "run/run.h"

namespace duecourse {
namespace {

enum class Kind { kTask, kRun, kRunToCancel, kRunOfPerson, kFlag, kState, kOutput, kLevel, kOwner, kStream };

// Whoever presses a key waits for it.
constexpr Millis kDeadline = Seconds(1);
constexpr const char* kMost = "200";

// Shells expand the list they are given, so nothing in it may mean anything to one.
bool IsPlain(const std::string& word) { return ShellQuoted(word) == word; }

struct Typed {
  Args args;
  const Verb* verb = nullptr;
  std::string option;  // the last word, where a value of it is being typed
};

const OptionSpec* FindOption(const Verb& verb, const std::string& word) {
  for (const std::vector<OptionSpec>* list : {&verb.options, &CommonOptions()}) {
    for (const OptionSpec& option : *list) {
      const std::string name = option.name;
      const size_t comma = std::min(name.find(','), name.size());
      if (word == name.substr(0, comma) || (comma < name.size() && word == name.substr(comma + 1)))
        return &option;
    }
  }
  return nullptr;
}

Typed Read(const std::vector<std::string>& words) {
  Typed typed;
  if (words.empty()) return typed;
  for (const Verb& verb : Verbs()) {
    if (words[0] == verb.name) typed.verb = &verb;
  }
  if (typed.verb == nullptr) return typed;
  for (size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with('-')) {
      typed.args.positional_.push_back(words[i]);
      continue;
    }
    const size_t equals = std::min(words[i].find('='), words[i].size());
    const OptionSpec* option = FindOption(*typed.verb, words[i].substr(0, equals));
    if (option == nullptr || !option->takes_value) continue;
    const std::string name = std::string(option->name).substr(0, std::string(option->name).find(','));
    if (equals < words[i].size()) {
      typed.args.values_[name] = words[i].substr(equals + 1);
    } else if (i + 1 < words.size()) {
      typed.args.values_[name] = words[++i];
    } else {
      typed.option = name;
    }
  }
  return typed;
}

std::optional<Kind> KindOfValue(const std::string& option) {
  static const std::pair<const char*, Kind> kValues[] = {{"--run", Kind::kRun},
                                                         {"--state", Kind::kState},
                                                         {"--output", Kind::kOutput},
                                                         {"--level", Kind::kLevel},
                                                         {"--raw", Kind::kStream}};
  for (const auto& [name, kind] : kValues) {
    if (option == name) return kind;
  }
  return std::nullopt;
}

std::optional<Kind> KindOfWord(const Typed& typed) {
  struct Row {
    const char* verb;
    const char* first;  // the word before it; nullptr: it is the first itself
    Kind kind;
  };
  static constexpr Row kRows[] = {{"show", nullptr, Kind::kTask},
                                  {"next", nullptr, Kind::kTask},
                                  {"why", nullptr, Kind::kTask},
                                  {"decisions", nullptr, Kind::kTask},
                                  {"runs", nullptr, Kind::kTask},
                                  {"audit", nullptr, Kind::kTask},
                                  {"trigger", nullptr, Kind::kTask},
                                  {"pause", nullptr, Kind::kTask},
                                  {"resume", nullptr, Kind::kTask},
                                  {"logs", nullptr, Kind::kRun},
                                  {"cancel", nullptr, Kind::kRunToCancel},
                                  {"manual", "claim", Kind::kRunOfPerson},
                                  {"manual", "resolve", Kind::kRunOfPerson},
                                  {"manual", "rerun", Kind::kRunOfPerson},
                                  {"manual", "skip", Kind::kRunOfPerson},
                                  {"flag", "set", Kind::kFlag},
                                  {"flag", "unset", Kind::kFlag},
                                  {"alert", "list", Kind::kTask},
                                  {"alert", "test", Kind::kOwner},
                                  {"doctor", "missed", Kind::kTask},
                                  {"doctor", "catchup", Kind::kTask}};
  const std::vector<std::string>& words = typed.args.positional();
  for (const Row& row : kRows) {
    if (std::string(row.verb) != typed.verb->name) continue;
    if (row.first == nullptr ? words.empty() : words.size() == 1 && words[0] == row.first) return row.kind;
  }
  return std::nullopt;
}

using Params = std::vector<std::pair<std::string, std::string>>;

// One member of the rows of a list.
struct Source {
  const char* path;
  Params params;
  const char* list;
  const char* member;
};
void AddFrom(const Typed& typed, const Source& source, std::vector<std::string>* words) {
  const DaemonAnswer answer = GetWithin(typed.args, kDeadline, source.path, source.params);
  if (answer.status != 200) return;
  for (const Json& row : answer.body.Get(source.list).AsArray())
    words->push_back(row.Get(source.member).AsString());
}

// What can be cancelled is what is open and has no person yet; the daemon holds it with its tasks.
void AddOpenRuns(const Typed& typed, std::vector<std::string>* words) {
  const DaemonAnswer answer = GetWithin(typed.args, kDeadline, "/api/v1/tasks", {});
  if (answer.status != 200) return;
  for (const Json& task : answer.body.Get("tasks").AsArray()) {
    for (const Json& run : task.Get("open").AsArray()) {
      if (run.Get("state").AsString() != RunStateName(RunState::kManualRequired))
        words->push_back(run.Get("run_id").AsString());
    }
  }
}

std::vector<std::string> WordsOf(const Typed& typed, Kind kind) {
  std::vector<std::string> words;
  switch (kind) {
    case Kind::kTask:
      AddFrom(typed, {"/api/v1/tasks", {}, "tasks", "task_id"}, &words);
      break;
    case Kind::kRun:
      AddFrom(typed, {"/api/v1/runs", {{"limit", kMost}}, "runs", "run_id"}, &words);
      break;
    case Kind::kRunToCancel:
      AddOpenRuns(typed, &words);
      break;
    case Kind::kRunOfPerson:
      AddFrom(typed,
              {"/api/v1/runs",
               {{"state", RunStateName(RunState::kManualRequired)}, {"limit", kMost}},
               "runs",
               "run_id"},
              &words);
      break;
    case Kind::kFlag:
      AddFrom(typed, {"/api/v1/flags", {}, "flags", "name"}, &words);
      break;
    case Kind::kState:
      for (RunState state :
           {RunState::kScheduled, RunState::kRunning, RunState::kRetrying, RunState::kCatchupWaiting,
            RunState::kManualRequired, RunState::kSuccess, RunState::kSkipped, RunState::kMissed})
        words.emplace_back(RunStateName(state));
      break;
    case Kind::kOutput:
      words = {"table", "json"};
      break;
    case Kind::kOwner:  // of the settings here, as the daemon has no list of them
      for (const auto& owner : LoadSettings(FindPlaces(typed.args).load).config.owners)
        words.push_back(owner.first);
      break;
    case Kind::kStream:
      words = {"out", "err"};
      break;
    case Kind::kLevel:
      words = {"P1", "P2", "P3"};
      break;
  }
  return words;
}

}  // namespace

std::vector<std::string> CompletionsAfter(const std::vector<std::string>& typed_words) {
  const Typed typed = Read(typed_words);
  if (typed.verb == nullptr) return {};
  const std::optional<Kind> kind = typed.option.empty() ? KindOfWord(typed) : KindOfValue(typed.option);
  if (!kind) return {};
  std::vector<std::string> words;
  std::set<std::string> seen;
  for (std::string& word : WordsOf(typed, *kind)) {
    if (IsPlain(word) && seen.insert(word).second) words.push_back(std::move(word));
  }
  return words;
}

}  // namespace duecourse
