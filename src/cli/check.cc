// duecourse check: rules against the launch checklist, without a daemon.
#include <cstdio>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cli/addresses.h"
#include "cli/client.h"
#include "cli/programs.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "rule/lint.h"
#include "rule/origin.h"
#include "rule/place.h"

namespace duecourse {
namespace {

const char* SeverityName(Finding::Severity severity) {
  switch (severity) {
    case Finding::Severity::kError:
      return "error";
    case Finding::Severity::kWarning:
      return "warning";
    case Finding::Severity::kHint:
      return "hint";
  }
  return "error";
}

// "1 task", "2 tasks"
std::string Counted(size_t count, const char* what) {
  return StrCat(count, " ", what, count == 1 ? "" : "s");
}

Json FindingJson(const Finding& finding) {
  Json out = Json::MakeObject();
  out.Set("id", finding.id)
      .Set("severity", SeverityName(finding.severity))
      .Set("file", finding.file)
      .Set("line", finding.line);
  out.Set("column", finding.column)
      .Set("task_id", finding.task)
      .Set("path", finding.path)
      .Set("message", finding.message);
  out.Set("fix", finding.fix);
  return out;
}

// A set without tasks is no set with errors, and nobody means it: the folder is the wrong one, or its files
// have other names.
Finding NoTasks(const Args& args, const ServerConfig& config) {
  Finding finding;
  finding.severity = Finding::Severity::kWarning;
  finding.id = "no_tasks";
  finding.file = args.positional().empty() ? RulesPlace(FindPlaces(args).load, config) : args.At(0);
  finding.message = "there is no task: nothing would ever run, and serve refuses to start on it";
  finding.fix = "put a rule file there (*.yaml or *.yml), or say with --rules where they are";
  return finding;
}

// `check FILE...` reads just these, with the settings as they are.
Loaded LoadNamed(const Args& args) {
  Places places = FindPlaces(args);
  if (args.positional().empty()) return LoadRules(places.load);
  if (args.positional().size() == 1) {
    places.load.rules_path = args.At(0);
    return LoadRules(places.load);
  }
  std::vector<NamedText> texts;
  for (const std::string& path : args.positional()) {
    Result<std::string> text = ReadFile(path, kYamlMaxBytes);
    if (!text.ok()) {
      Loaded failed;
      Finding finding;
      finding.id = "file_unreadable";
      finding.file = path;
      finding.message = text.error().message();
      failed.findings.push_back(finding);
      return failed;
    }
    texts.push_back({path, *text});
  }
  Result<std::string> settings = ReadFile(places.load.config_path, kYamlMaxBytes);
  return LoadRulesFromText(texts, {places.load.config_path, settings.ok() ? *settings : ""});
}

Result<Instant> NowOf(const Args& args) {
  if (!args.Has("--now")) return SystemClock().Wall();
  Result<CivilDay> day = ParseDay(args.Get("--now"));
  if (day.ok()) return Zone::Utc().Lookup({*day, 0}).first;
  return ParseUtc(args.Get("--now"));
}

}  // namespace

int CheckVerb(const Args& args) {
  Result<Instant> now = NowOf(args);
  if (!now.ok()) return UsageFault(args, StrCat("--now: ", now.error().message()));
  Loaded loaded = LoadNamed(args);
  std::vector<Finding> findings = loaded.findings;
  if (loaded.readable != nullptr) {
    LintOptions options;
    options.now = *now;
    std::vector<Finding> more = Lint(*loaded.readable, options);
    const std::vector<Finding> missing = MissingPrograms(*loaded.readable, FindPlaces(args).data);
    more.insert(more.end(), missing.begin(), missing.end());
    const std::vector<Finding> refused = RefusedAddresses(*loaded.readable);
    more.insert(more.end(), refused.begin(), refused.end());
    PlaceFindings(*loaded.readable, &more);
    findings.insert(findings.end(), more.begin(), more.end());
    if (loaded.set != nullptr && loaded.set->tasks.empty())
      findings.push_back(NoTasks(args, loaded.set->config));
  }
  int counts[3] = {0, 0, 0};
  for (const Finding& finding : findings) ++counts[static_cast<int>(finding.severity)];
  size_t tasks = loaded.readable != nullptr ? loaded.readable->tasks.size() : loaded.tasks_seen;
  if (args.json()) {
    Json list = Json::MakeArray();
    for (const Finding& finding : findings) list.Add(FindingJson(finding));
    Json body = Json::MakeObject();
    body.Set("tasks", tasks)
        .Set("errors", counts[0])
        .Set("warnings", counts[1])
        .Set("hints", counts[2])
        .Set("findings", std::move(list));
    body.Set("zone_data", ZoneDataVersion());
    std::printf("%s\n", body.DumpPretty().c_str());
  } else {
    for (const Finding& finding : findings) std::printf("%s\n", FormatFinding(finding).c_str());
    std::printf("%s: %s, %s, %s (zone data %s)\n", Counted(tasks, "task").c_str(),
                Counted(static_cast<size_t>(counts[0]), "error").c_str(),
                Counted(static_cast<size_t>(counts[1]), "warning").c_str(),
                Counted(static_cast<size_t>(counts[2]), "hint").c_str(), ZoneDataVersion().c_str());
  }
  bool failed = counts[0] > 0 || loaded.readable == nullptr || (args.Has("--strict") && counts[1] > 0);
  return failed ? kExitProblem : kExitFine;
}

}  // namespace duecourse
