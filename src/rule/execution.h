// How the work is done and how its ending is read. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rule/precondition.h"

namespace duecourse {

// Classes of failure (docs/concepts): what may follow differs for each.
enum class FailureClass { kNone, kTransient, kBusiness, kUnknown, kNotReady };
const char* FailureClassName(FailureClass value);

// `execution.errors`: extends the default classes of exits and statuses. The first match wins.
struct ErrorRule {
  enum class Kind { kExit, kStatus, kSignal, kOutput };
  Kind kind = Kind::kExit;
  std::vector<std::pair<int, int>> ranges;  // kExit, kStatus, kSignal: inclusive
  std::string contains;                     // kOutput: plain text in the tail of either stream
  FailureClass as = FailureClass::kUnknown;
  friend bool operator==(const ErrorRule&, const ErrorRule&) = default;
};

// For tests, drills and benches: ends at once (or after `after`) as it says, without a process.
struct NoopExecution {
  Millis after;
  int exit_code = 0;
  friend bool operator==(const NoopExecution&, const NoopExecution&) = default;
};

struct ExecutionRule {
  enum class Kind { kNone, kCommand, kShell, kHttp, kNoop };
  enum class OnTimeout { kFailAndNotify, kManual };
  Kind kind = Kind::kNone;
  std::vector<Template> command;  // argv; each a whole argument
  std::string shell;              // /bin/sh -c text, no templates: values come by environment
  HttpCall http;
  NoopExecution noop;
  std::vector<std::pair<std::string, TextOrSecret>> env;
  std::string cwd;  // as written; relative to the rule file
  int umask_bits = 022;
  std::string user;
  Millis timeout = Minutes(30);
  std::optional<Millis> expected;
  Millis kill_grace = Seconds(10);
  OnTimeout on_timeout = OnTimeout::kFailAndNotify;
  bool keep_background = false;   // background_children: keep
  int64_t output_max = 64 << 10;  // bytes kept of each stream
  Millis output_keep = Days(30);
  std::vector<ErrorRule> errors;
  bool kill_at_window_end = false;
  bool stop_on_store_loss = false;  // on_store_loss: stop
  friend bool operator==(const ExecutionRule&, const ExecutionRule&) = default;
};

}  // namespace duecourse
