// Ending -> outcome, class, code and one line for people. The table of classes is DESIGN's: sysexits(3) for
// commands, RFC 9110 and 6585 for statuses. The order of authority: the handler's own word, the rule's
// `errors`, the table.
#include "base/text.h"
#include "run/run.h"

namespace duecourse {
namespace {

struct ExitRow {
  int code;
  FailureClass as;
  const char* text;
};
constexpr ExitRow kExits[] = {
    {64, FailureClass::kBusiness, "called with wrong arguments"},
    {65, FailureClass::kBusiness, "bad input data"},
    {66, FailureClass::kBusiness, "an input cannot be opened"},
    {67, FailureClass::kBusiness, "unknown user"},
    {68, FailureClass::kBusiness, "unknown host"},
    {69, FailureClass::kNotReady, "it says that something it needs is not ready"},
    {70, FailureClass::kBusiness, "an internal error of the program"},
    {71, FailureClass::kTransient, "an error of the operating system"},
    {72, FailureClass::kBusiness, "a system file is missing or bad"},
    {73, FailureClass::kBusiness, "an output cannot be created"},
    {74, FailureClass::kTransient, "an input or output error"},
    {75, FailureClass::kTransient, "a temporary failure, as it says"},
    {76, FailureClass::kBusiness, "the other side broke the protocol"},
    {77, FailureClass::kBusiness, "permission denied"},
    {78, FailureClass::kBusiness, "a wrong configuration"},
    {126, FailureClass::kBusiness,
     "found, but it cannot be executed: look at its mode, its first line and the mount's noexec"},
    {127, FailureClass::kBusiness,
     "command not found: look at its spelling, its path and the PATH that the rule gives it"},
};

struct SignalRow {
  int number;
  const char* name;
};
constexpr SignalRow kSignals[] = {{1, "SIGHUP"},   {2, "SIGINT"},   {3, "SIGQUIT"},  {4, "SIGILL"},
                                  {6, "SIGABRT"},  {7, "SIGBUS"},   {8, "SIGFPE"},   {9, "SIGKILL"},
                                  {11, "SIGSEGV"}, {13, "SIGPIPE"}, {14, "SIGALRM"}, {15, "SIGTERM"},
                                  {24, "SIGXCPU"}, {25, "SIGXFSZ"}, {31, "SIGSYS"}};

// A shell that saw a child end by signal n exits with 128 + n.
constexpr int kShellSignalBase = 128;
constexpr int kSignalMax = 64;

std::string SignalText(int number) {
  for (const SignalRow& row : kSignals) {
    if (row.number == number) return StrCat("signal ", number, " (", row.name, ")");
  }
  return StrCat("signal ", number);
}

const ExitRow* FindExit(int code) {
  for (const ExitRow& row : kExits) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

std::string ExitText(int code) {
  if (code == 0) return "exit 0";
  if (const ExitRow* row = FindExit(code)) return StrCat("exit ", code, ": ", row->text);
  const int inside = code - kShellSignalBase;
  if (inside > 0 && inside <= kSignalMax) {
    return StrCat("exit ", code, ": as a shell says it, a program inside was ended by ", SignalText(inside));
  }
  return StrCat("exit ", code);
}

FailureClass StatusClass(int status) {
  if (status == 408 || status == 425 || status == 429) return FailureClass::kTransient;
  if (status >= 500 && status <= 599) return FailureClass::kTransient;
  // Accepted, and nothing will say when it is done: doing it again could do it twice, so a person looks at
  // the rule.
  if (status == 202) return FailureClass::kBusiness;
  if (status >= 300 && status <= 499) return FailureClass::kBusiness;
  return FailureClass::kUnknown;
}

std::string StatusText(int status) {
  if (status == 202)
    return "http 202: accepted, but nothing says when it is done: asynchronous agents are not supported; let "
           "it "
           "answer 200 when its work is done";
  if (status >= 200 && status <= 299)
    return StrCat("http ", status, ": the answer is not what `expect` asks for");
  if (status == 429) return "http 429: too many requests";
  return StrCat("http ", status);
}

// What the table says of an ending that was the handler's own.
FailureClass TableClass(const Ending& ending) {
  if (ending.kind == Ending::Kind::kSignal) return FailureClass::kTransient;
  if (ending.kind == Ending::Kind::kHttp) return StatusClass(ending.code);
  const ExitRow* row = FindExit(ending.code);
  return row != nullptr ? row->as : FailureClass::kUnknown;
}

bool InRanges(const ErrorRule& rule, int code) {
  for (const auto& range : rule.ranges) {
    if (range.first <= code && code <= range.second) return true;
  }
  return false;
}

bool Matches(const ErrorRule& rule, const Ending& ending) {
  switch (rule.kind) {
    case ErrorRule::Kind::kExit:
      return ending.kind == Ending::Kind::kExit && InRanges(rule, ending.code);
    case ErrorRule::Kind::kStatus:
      return ending.kind == Ending::Kind::kHttp && InRanges(rule, ending.code);
    case ErrorRule::Kind::kSignal:
      return ending.kind == Ending::Kind::kSignal && InRanges(rule, ending.code);
    case ErrorRule::Kind::kOutput:
      return !rule.contains.empty() && ending.output_tail.find(rule.contains) != std::string::npos;
  }
  return false;
}

bool SaidFailure(const Ending& ending) {
  return ending.said.has_value() && *ending.said != FailureClass::kNone;
}

// Exit 0, or the answer that `expect` asks for; or another exit whose handler said that the work is done. A
// handler that was killed or an answer that is not the expected one is no success, whatever was said.
bool Succeeded(const Ending& ending) {
  if (SaidFailure(ending)) return false;
  if (ending.kind == Ending::Kind::kExit) return ending.code == 0 || ending.said_success;
  return ending.kind == Ending::Kind::kHttp && ending.http_expect_met && ending.code != 202;
}

FailureClass ClassOf(const ExecutionRule& rule, const Ending& ending) {
  if (SaidFailure(ending)) return *ending.said;
  for (const ErrorRule& error : rule.errors) {
    if (Matches(error, ending)) return error.as;
  }
  return TableClass(ending);
}

// The handler ended by itself: it exited, was killed by somebody, or answered.
Classified Own(const ExecutionRule& rule, const Ending& ending) {
  Classified result;
  if (Succeeded(ending)) {
    result.outcome = Outcome::kSuccess;
  } else {
    result.failure_class = ClassOf(rule, ending);
    result.outcome = result.failure_class == FailureClass::kNotReady ? Outcome::kNotReady : Outcome::kFailed;
  }
  switch (ending.kind) {
    case Ending::Kind::kSignal:
      result.code = StrCat("killed ", ending.code);
      result.summary = StrCat("ended by ", SignalText(ending.code));
      break;
    case Ending::Kind::kHttp:
      result.code = StrCat("http ", ending.code);
      result.summary = result.outcome == Outcome::kSuccess ? result.code : StatusText(ending.code);
      if (result.outcome != Outcome::kSuccess && (ending.code == 429 || ending.code == 503)) {
        result.retry_after = ending.retry_after;
      }
      break;
    default:
      result.code = StrCat("exit ", ending.code);
      result.summary = ExitText(ending.code);
      break;
  }
  return result;
}

// A handler that reported and then hung is believed in the class, except that what ran to its limit was
// ready.
FailureClass TimedOutClass(const Ending& ending) {
  if (!SaidFailure(ending) || *ending.said == FailureClass::kNotReady) return FailureClass::kTransient;
  return *ending.said;
}

Classified Base(const ExecutionRule& rule, const Ending& ending) {
  switch (ending.kind) {
    case Ending::Kind::kExit:
    case Ending::Kind::kSignal:
    case Ending::Kind::kHttp:
      return Own(rule, ending);
    case Ending::Kind::kTimeout:
      return {Outcome::kTimedOut,
              TimedOutClass(ending),
              "timeout",
              StrCat("ended after its time-out of ", FormatMillis(rule.timeout)),
              {}};
    case Ending::Kind::kNetwork:
      if (!ending.request_sent) {
        return {Outcome::kFailed,
                FailureClass::kTransient,
                "network",
                "the agent could not be reached; nothing was sent",
                {}};
      }
      return {Outcome::kTimedOut,
              FailureClass::kTransient,
              "network",
              "the request was sent and not answered",
              {}};
    case Ending::Kind::kNotStarted:
      return {Outcome::kNotStarted, FailureClass::kNone, "not_started", "it was not started", {}};
    case Ending::Kind::kKilled:
      return {Outcome::kLost,
              FailureClass::kNone,
              "stopped",
              "stopped by Duecourse before it ended; how far it came is unknown",
              {}};
    case Ending::Kind::kUnknown:
      return {Outcome::kLost, FailureClass::kNone, "lost", "nobody knows how it ended", {}};
  }
  return {};
}

}  // namespace

Classified Classify(const ExecutionRule& rule, const Ending& ending) {
  Classified result = Base(rule, ending);
  // A summary that says no more than the code would leave "exit 127" unexplained.
  if (!ending.summary.empty() && ending.summary != result.code) result.summary = ending.summary;
  if (!ending.said_code.empty()) result.code = ending.said_code;
  return result;
}

}  // namespace duecourse
