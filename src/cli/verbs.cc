#include "cli/verbs.h"

namespace duecourse {
namespace {

// Usage lines and options here are the reference: --help and completion are made of them.

const OptionSpec kBy = {"--by", true, "who asks (default: your login name)"};
const OptionSpec kReason = {"--reason", true, "why; kept in the audit log"};
const OptionSpec kValue = {"--value", true, "which value of a task that fans out, e.g. channel=app"};

std::vector<Verb> ServingVerbs() {
  return {
      {"serve",
       "[--init] [--confirm] [--tcp PORT]",
       "run the daemon in the foreground",
       0,
       0,
       {{"--init", false,
         "first start: make a store where there is none (windows already open owe nothing); one that is "
         "there is kept"},
        {"--confirm", false, "rules with far fewer tasks than the store's active version are meant"},
        {"--tcp", true, "also listen on this loopback port"},
        {"--log-level", true, "debug, info, warning or error (default info)"},
        {"--clock-offset", true, "for tests: add this to the wall clock, e.g. 36h or -2d"},
        {"--clock-at", true, "for tests: the wall clock shows this instant at the start"},
        {"--clock-rate", true, "for tests: how many seconds pass in one real second"}},
       ServeVerb},
      {"check",
       "[FILE...]",
       "hold rules against the launch checklist",
       0,
       1000,
       {{"--strict", false, "warnings fail too"}, {"--now", true, "judge as of this instant or day"}},
       CheckVerb},
      {"show",
       "[TASK]",
       "list tasks, or print one rule",
       0,
       1,
       {{"--effective", false, "with every default and where each line came from"}},
       ShowVerb},
      {"next",
       "[TASK] [--count N]",
       "when tasks are due, without a daemon",
       0,
       1,
       {{"--cron", true, "an expression, in place of a task"},
        {"--timezone", true, "its zone"},
        {"--from", true, "instant or day to look from, exclusive (default now)"},
        {"--count", true, "how many in all, or of each value of TASK (default 5)"},
        {"--stdin", false, "lines of expr<TAB>timezone<TAB>from<TAB>count; one line of instants for each"}},
       NextVerb},
  };
}

std::vector<Verb> ReadingVerbs() {
  return {
      {"why",
       "TASK [DATE]",
       "what happened, what it waits for and why, what happens next",
       1,
       2,
       {},
       WhyVerb},
      {"decisions",
       "[TASK]",
       "the decision log",
       0,
       1,
       {{"--from", true, "instant or day"},
        {"--to", true, "instant or day"},
        {"--run", true, "of one run"},
        {"--limit", true, "rows (default 500)"}},
       DecisionsVerb},
      {"runs",
       "[TASK]",
       "runs, newest first",
       0,
       1,
       {{"--state", true, "only this state"},
        {"--date", true, "only this business date"},
        {"--key", true, "only this key"},
        {"--from", true, "due from"},
        {"--to", true, "due before"},
        {"--limit", true, "rows (default 100)"}},
       RunsVerb},
      {"audit",
       "[TASK]",
       "who did what by hand, and why",
       0,
       1,
       {{"--run", true, "of one run"},
        {"--from", true, "instant or day"},
        {"--to", true, "instant or day, exclusive"},
        {"--limit", true, "rows looked at, newest first (default 1000)"}},
       AuditVerb},
      {"logs",
       "RUN",
       "an attempt's output",
       1,
       1,
       {{"--attempt", true, "which attempt (default the newest)"},
        {"--raw", true, "out or err: the bytes themselves"}},
       LogsVerb},
      {"run",
       "FILE",
       "try a rule once in the foreground; nothing is stored",
       1,
       1,
       {{"--date", true, "business date to try"}, kValue},
       RunVerbOnce},
  };
}

std::vector<Verb> StartingVerbs() {
  return {
      {"trigger",
       "TASK",
       "start an occurrence by hand",
       1,
       1,
       {kValue,
        {"--date", true, "business date"},
        {"--at", true, "due instant"},
        {"--extra", false, "a run beside the schedule, with a key of its own (#m1)"},
        {"--force", false, "override time, readiness, breaker and maintenance; needs --reason"},
        kBy,
        kReason},
       TriggerVerb},
      {"cancel", "RUN", "end a run", 1, 1, {kBy, kReason}, CancelVerb},
      {"flag",
       "set NAME | unset NAME | list",
       "flags that preconditions ask for",
       1,
       2,
       {{"--date", true, "business date"},
        {"--undated", false, "a flag without a date"},
        {"--value", true, "its value (default true)"},
        {"--ttl", true, "it expires after, e.g. 2m"},
        kBy,
        kReason},
       FlagVerb},
  };
}

std::vector<Verb> HoldingVerbs() {
  return {
      {"pause",
       "[TASK]",
       "hold back a task, a label or all",
       0,
       1,
       {{"--label", true, "NAME=VALUE"}, {"--all", false, "every task"}, kBy, kReason},
       PauseVerb},
      {"resume",
       "[TASK]",
       "end a pause",
       0,
       1,
       {{"--label", true, "NAME=VALUE"},
        {"--all", false, "every task"},
        {"--catch-up", false, "keep the newest that came due meanwhile"},
        kBy,
        kReason},
       ResumeVerb},
      {"manual",
       "list | claim RUN | resolve RUN | rerun RUN | skip RUN",
       "runs that wait for a person: claim says who looks into it, resolve that it is done, rerun starts it "
       "again, "
       "skip that it is not needed",
       1,
       2,
       {{"--supersede", false, "rerun of a finished run, under a new key"},
        {"--force", false, "rerun: also over maintenance, breaker and what is not ready"},
        {"--limit", true, "list: rows (default 100)"},
        kBy,
        {"--reason", true, "why; required but for list, kept in the audit log"}},
       ManualVerb},
      {"reload",
       "",
       "read the rules again, all or nothing",
       0,
       0,
       {{"--dry-run", false, "only say what would change"},
        {"--confirm", false, "a set with far fewer tasks is meant"},
        kBy,
        kReason},
       ReloadVerb},
  };
}

std::vector<Verb> OtherVerbs() {
  return {
      {"doctor",
       "[repeated KEY | missed TASK DATE | catchup TASK DATE]",
       "look for what is wrong",
       0,
       3,
       {},
       DoctorVerb},
      {"alert",
       "list [TASK] | test OWNER",
       "alerts that were told, and whether they reach you",
       1,
       2,
       {{"--level", true, "P1, P2 or P3 (default P2)"}, {"--limit", true, "list: rows (default 100)"}, kBy},
       AlertVerb},
      {"schema", "[rules | settings]", "JSON Schema for editors", 0, 1, {}, SchemaVerb},
      {"completion",
       "bash | zsh | fish | words -- WORD...",
       "completion for a shell; words: what its script asks for",
       1,
       1000,
       {},
       CompletionVerb},
      {"version", "", "version of the program, zone data and libraries", 0, 0, {}, VersionVerb},
  };
}

}  // namespace

const std::vector<Verb>& Verbs() {
  static const std::vector<Verb> kVerbs = [] {
    std::vector<Verb> all;
    for (auto* part : {ServingVerbs, ReadingVerbs, StartingVerbs, HoldingVerbs, OtherVerbs}) {
      std::vector<Verb> verbs = part();
      all.insert(all.end(), verbs.begin(), verbs.end());
    }
    return all;
  }();
  return kVerbs;
}

}  // namespace duecourse
