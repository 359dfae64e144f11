#include "cli/programs.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/child.h"
#include "base/file.h"
#include "base/text.h"
#include "exec/environment.h"
#include "exec/launch.h"

namespace duecourse {
namespace {

// Where a command line starts, and how to say it.
struct Start {
  std::string folder;  // absolute; the search of relative names
  std::string told;    // "the task's own folder"
  std::string path;    // the search of bare names
  std::string key;     // "execution.command"
  std::string fix;
};

// Options after which the next word is still the script.
bool KeepsScript(const std::string& program, const std::string& option) {
  static const std::set<std::string> kPython = {"-u", "-B", "-E", "-s", "-S", "-I", "-O", "-OO", "-v"};
  static const std::set<std::string> kShell = {"-e", "-u", "-x", "-eu", "-ex", "-eux"};
  const bool python = program.starts_with("python");
  return (python ? kPython : kShell).count(option) != 0;
}

bool IsInterpreter(const std::string& program) {
  static const std::set<std::string> kNames = {"sh",   "bash", "dash", "ksh", "zsh",
                                               "perl", "ruby", "node", "php"};
  return program.starts_with("python") || kNames.count(program) != 0;
}

// The script an interpreter is given; empty where the words do not say.
std::string ScriptOf(const std::vector<std::string>& argv) {
  const std::string program = std::filesystem::path(argv[0]).filename().string();
  if (!IsInterpreter(program)) return "";
  for (size_t i = 1; i < argv.size(); ++i) {
    if (argv[i].starts_with('-')) {
      if (KeepsScript(program, argv[i])) continue;
      return "";
    }
    return argv[i];
  }
  return "";
}

// Words before the first with a variable: what follows is known only at a start.
std::vector<std::string> ConstantWords(const std::vector<Template>& argv) {
  std::vector<std::string> words;
  for (const Template& word : argv) {
    if (!word.constant()) break;
    // Doubled braces of the text are single ones in what is rendered.
    Result<std::string> text = Render(word, TemplateScope());
    if (!text.ok()) break;
    words.push_back(*text);
  }
  return words;
}

// Where a name was looked for: the whole path, and whose folder that is unless the name says it all.
std::string Place(const Start& start, const std::string& name) {
  const std::string path = ShowBytes(AbsolutePath(JoinPath(start.folder, name)), false);
  return name.starts_with('/') ? path : StrCat(start.told, ": ", path);
}

std::optional<Finding> Look(const std::vector<std::string>& argv, const Start& start) {
  if (argv.empty()) return std::nullopt;
  Finding finding;
  finding.severity = Finding::Severity::kWarning;
  finding.path = start.key;
  finding.fix = start.fix;
  const ProgramPlace place = FindProgram(argv[0], start.path, start.folder);
  const bool relative = argv[0].find('/') != std::string::npos;
  if (place.found == ProgramPlace::Found::kNotFound) {
    finding.id = "program_missing";
    finding.message = StrCat("there is no program ", ShowBytes(argv[0], false), " (looked in ",
                             relative ? Place(start, argv[0]) : start.path, ")");
    if (!relative) finding.fix = "install it, or write its absolute path";
    if (argv[0].starts_with('/')) finding.fix = "put it there, or write where it is";
    return finding;
  }
  if (place.found == ProgramPlace::Found::kNotExecutable) {
    finding.id = "program_missing";
    finding.message = StrCat(ShowBytes(place.path, false), " is there but cannot be executed");
    finding.fix = "chmod +x it, or put its interpreter before it";
    return finding;
  }
  const std::string script = ScriptOf(argv);
  std::error_code ignored;
  if (script.empty() || std::filesystem::exists(JoinPath(start.folder, script), ignored)) return std::nullopt;
  finding.id = "script_missing";
  finding.message = StrCat(ShowBytes(argv[0], false), " is given ", ShowBytes(script, false),
                           ", which is not there (looked in ", Place(start, script), ")");
  return finding;
}

std::string PathOf(const ExecutionRule& execution) {
  for (const auto& [name, value] : execution.env) {
    if (name == "PATH" && !value.secret) return value.text.text();
  }
  return kBasePath;
}

void OfTask(const RuleSet& set, const Task& task, const std::string& data, std::vector<Finding>& out) {
  if (task.file >= set.files.size()) return;
  const RuleBody& rule = task.rule();
  const std::string beside = AbsolutePath(set.files[task.file].folder);
  auto add = [&](std::optional<Finding> finding) {
    if (!finding) return;
    finding->file = set.files[task.file].path;
    finding->line = task.line;
    finding->column = task.line > 0 ? 1 : 0;
    finding->task = task.id;
    out.push_back(std::move(*finding));
  };
  if (rule.execution.kind == ExecutionRule::Kind::kCommand) {
    const bool own = rule.execution.cwd.empty();
    Start start;
    start.folder = own ? WorkFolder(data, task.id) : JoinPath(beside, rule.execution.cwd);
    start.told = own ? "the task's own folder, as it has no cwd" : "its cwd";
    start.path = PathOf(rule.execution);
    start.key = "execution.command";
    start.fix =
        own ? "write cwd: . for the rule file's folder, or an absolute path" : "write an absolute path";
    add(Look(ConstantWords(rule.execution.command), start));
  }
  for (size_t i = 0; i < rule.trigger.preconditions.size(); ++i) {
    const Precondition& condition = rule.trigger.preconditions[i];
    if (condition.type != Precondition::Type::kCommand) continue;
    add(Look(ConstantWords(condition.command.argv),
             {beside, "the rule file's folder", kChildPath, StrCat("trigger.preconditions[", i, "]"),
              "write its path from the rule file's folder, or an absolute one"}));
  }
}

}  // namespace

std::vector<Finding> MissingPrograms(const RuleSet& set, const std::string& data) {
  std::vector<Finding> findings;
  std::set<std::pair<const RuleBody*, std::string>> seen;  // one finding for rules that are alike
  for (const Task& task : set.tasks) {
    const std::string folder = task.file < set.files.size() ? set.files[task.file].folder : "";
    if (seen.emplace(task.body.get(), folder).second) OfTask(set, task, data, findings);
  }
  for (const ChannelConfig& channel : set.config.channels) {
    if (channel.kind != ChannelConfig::Kind::kCommand) continue;
    std::optional<Finding> finding =
        Look(channel.command, {AbsolutePath(set.config.folder), "the settings' folder", kChildPath,
                               StrCat("channels.", channel.name, ".command"), "write an absolute path"});
    if (!finding) continue;
    finding->file = set.config.file;
    findings.push_back(std::move(*finding));
  }
  return findings;
}

}  // namespace duecourse
