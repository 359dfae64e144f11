// duecourse next: when tasks or expressions are due, without a daemon.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <tuple>

#include "base/clock.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/find.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "rule/occurrence.h"
#include "time/bulk.h"

namespace duecourse {
namespace {

int Bulk() {
  std::ios::sync_with_stdio(false);
  std::string line;
  std::string out;
  constexpr size_t kFlushBytes = 1u << 16;
  while (std::getline(std::cin, line)) {
    out += NextLine(line);
    out += '\n';
    if (out.size() < kFlushBytes) continue;
    std::fwrite(out.data(), 1, out.size(), stdout);
    out.clear();
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
  return kExitFine;
}

int OfExpression(const Args& args, Instant from, int64_t count) {
  if (!args.Has("--timezone"))
    return UsageFault(args, "--cron needs --timezone: the zone of this machine is never used");
  Result<Cron> cron = Cron::Parse(args.Get("--cron"));
  Result<Zone> zone = Zone::Load(args.Get("--timezone"));
  if (!cron.ok() || !zone.ok())
    return Fail(args, kExitProblem, (cron.ok() ? zone.error() : cron.error()).message());
  Json list = Json::MakeArray();
  std::optional<Instant> due = cron->Next(from, *zone);
  for (int64_t i = 0; i < count && due; ++i, due = cron->Next(*due, *zone)) {
    list.Add(Json::MakeObject().Set("due", FormatUtc(*due)).Set("due_local", FormatLocal(*due, *zone)));
    if (!args.json()) std::printf("%s  %s\n", FormatUtc(*due).c_str(), FormatLocal(*due, *zone).c_str());
  }
  if (list.AsArray().empty())
    Tell(args, StrCat("nothing is due after ", FormatUtc(from), ": the years of this expression are over"));
  if (args.json()) {
    Json body = Json::MakeObject();
    body.Set("cron", cron->expression())
        .Set("words", cron->Words())
        .Set("timezone", zone->name())
        .Set("zone_data", ZoneDataVersion());
    std::printf("%s\n", body.Set("next", std::move(list)).DumpPretty().c_str());
  }
  return kExitFine;
}

struct DueLine {
  Instant due;
  std::string task;
  std::string value;
  std::string local;
  Instant opens;
  Instant ends;
  std::string window;
  std::string key;
  std::string note;
};

void LinesOf(const Task& task, const RuleSet& set, Instant from, int64_t count, std::vector<DueLine>& out) {
  for (size_t v = 0; v < ValueCount(task.rule()); ++v) {
    const Zone& zone = ScheduleOf(task.rule(), v).zone;
    std::optional<Instant> due = NextDue(task.rule(), v, from);
    for (int64_t i = 0; i < count && due; ++i, due = NextDue(task.rule(), v, *due)) {
      Occurrence occurrence = OccurrenceAt(task, v, *due, set.config);
      Result<std::string> key = RenderKey(task, v, occurrence);
      DueLine line;
      line.due = *due;
      line.task = task.id;
      line.value = ValueId(task.rule(), v);
      line.local = FormatLocal(*due, zone);
      line.opens = occurrence.window.opens;
      line.ends = occurrence.window.ends;
      line.window = FormatLocal(occurrence.window.ends, zone);
      line.key = key.ok() ? *key : key.error().message();
      line.note = occurrence.day == Occurrence::Day::kOpen ? occurrence.gap_detail : occurrence.day_detail;
      out.push_back(std::move(line));
    }
  }
}

int OfRules(const Args& args, Instant from, int64_t count) {
  Loaded loaded = LoadRules(FindPlaces(args).load);
  const std::vector<Finding> errors = ErrorsOf(loaded);
  const std::shared_ptr<const RuleSet> set = loaded.set != nullptr ? loaded.set : loaded.readable;
  if (set == nullptr || (set->tasks.empty() && loaded.set == nullptr))
    return FailWith(args, kExitProblem, "the rules cannot be read:", errors);
  if (!args.At(0).empty() && set->Find(args.At(0)) == nullptr)
    return FailWith(args, kExitProblem, StrCat("there is no task ", args.At(0), " in the rules"), errors);
  // A file that cannot be read is told and hides no other.
  for (const Finding& finding : errors) Tell(args, FormatFinding(finding));
  if (const Task* task = set->Find(args.At(0)); task != nullptr && !task->rule().enabled)
    Tell(args, StrCat(task->id,
                      " is not enabled: nothing of it starts at these times until its rule says "
                      "enabled: true"));
  std::vector<DueLine> lines;
  for (const Task& task : set->tasks) {
    if (args.At(0).empty() ? task.rule().enabled : task.id == args.At(0))
      LinesOf(task, *set, from, count, lines);
  }
  std::sort(lines.begin(), lines.end(), [](const DueLine& a, const DueLine& b) {
    return std::tie(a.due, a.task, a.value) < std::tie(b.due, b.task, b.value);
  });
  if (args.At(0).empty() && lines.size() > static_cast<size_t>(count))
    lines.resize(static_cast<size_t>(count));
  if (lines.empty() && !args.At(0).empty())
    Tell(args, StrCat("nothing of ", args.At(0), " is due by its schedule after ", FormatUtc(from)));
  Json list = Json::MakeArray();
  std::vector<std::vector<std::string>> rows = {{"DUE", "TASK", "UNTIL", "KEY", ""}};
  for (const DueLine& line : lines) {
    Json item = Json::MakeObject();
    item.Set("due", FormatUtc(line.due))
        .Set("due_local", line.local)
        .Set("task_id", line.task)
        .Set("value", line.value);
    item.Set("window_opens", FormatUtc(line.opens)).Set("window_ends", FormatUtc(line.ends));
    list.Add(item.Set("window_ends_local", line.window).Set("key", line.key).Set("note", line.note));
    rows.push_back({line.local, line.value.empty() ? line.task : StrCat(line.task, " ", line.value),
                    line.window, line.key, line.note});
  }
  if (args.json()) {
    std::printf("%s\n", Json::MakeObject()
                            .Set("zone_data", ZoneDataVersion())
                            .Set("next", std::move(list))
                            .DumpPretty()
                            .c_str());
  } else {
    std::printf("%s", Table(rows).c_str());
  }
  return kExitFine;
}

}  // namespace

int NextVerb(const Args& args) {
  const bool bulk = args.Has("--stdin");
  if (!args.At(0).empty() && (bulk || args.Has("--cron")))
    return UsageFault(args, StrCat("TASK or ", bulk ? "--stdin" : "--cron", ", not both"));
  if (bulk && SayIfIdle(args, "--stdin", {"--cron", "--timezone", "--from", "--count"})) return kExitUsage;
  if (bulk) return Bulk();
  if (!args.Has("--cron") && args.Has("--timezone"))
    return UsageFault(args, "--timezone is of --cron: a task has the zone of its rule");
  Instant from = SystemClock().Wall();
  if (args.Has("--from")) {
    Result<Instant> parsed = InstantOrDay(args.Get("--from"));
    if (!parsed.ok()) return UsageFault(args, StrCat("--from: ", parsed.error().message()));
    from = *parsed;
  }
  std::optional<int64_t> count = ParseInteger(args.Get("--count", "5"));
  if (!count || *count < 1 || *count > 100'000)
    return UsageFault(args, "--count must be a number from 1 to 100000");
  return args.Has("--cron") ? OfExpression(args, from, *count) : OfRules(args, from, *count);
}

}  // namespace duecourse
