#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "rule/defaults.h"
#include "rule/parse.h"
#include "rule/secret.h"

namespace duecourse {
namespace {

struct SignalName {
  const char* name;
  int number;
};
constexpr std::array<SignalName, 13> kSignals = {{{"SIGHUP", SIGHUP},
                                                  {"SIGINT", SIGINT},
                                                  {"SIGQUIT", SIGQUIT},
                                                  {"SIGILL", SIGILL},
                                                  {"SIGABRT", SIGABRT},
                                                  {"SIGFPE", SIGFPE},
                                                  {"SIGKILL", SIGKILL},
                                                  {"SIGUSR1", SIGUSR1},
                                                  {"SIGSEGV", SIGSEGV},
                                                  {"SIGUSR2", SIGUSR2},
                                                  {"SIGPIPE", SIGPIPE},
                                                  {"SIGALRM", SIGALRM},
                                                  {"SIGTERM", SIGTERM}}};

// "7", "64-68", "SIGSEGV"
std::optional<std::pair<int, int>> ParseRange(std::string_view text, int low, int high) {
  for (const SignalName& signal : kSignals) {
    if (text == signal.name && high < 100) return std::pair(signal.number, signal.number);
  }
  std::vector<std::string_view> ends = Split(text, '-');
  if (ends.size() > 2) return std::nullopt;
  std::optional<int64_t> from = ParseInteger(Trim(ends.front()));
  std::optional<int64_t> to = ParseInteger(Trim(ends.back()));
  if (!from || !to || *from < low || *to > high || *from > *to) return std::nullopt;
  return std::pair(static_cast<int>(*from), static_cast<int>(*to));
}

// 022, 0o022 or "022": the one number that people write in octal.
std::optional<int> ParseUmask(std::string_view text) {
  if (text.starts_with("0o")) text.remove_prefix(2);
  if (text.empty() || text.size() > 4) return std::nullopt;
  int bits = 0;
  for (char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    bits = bits * 8 + (c - '0');
  }
  if (bits > 0777) return std::nullopt;
  return bits;
}

}  // namespace

void RuleParts::ParseExecution(const MapView& execution) {
  if (!execution) return;
  ExecutionRule& out = body_.execution;
  ParseKind(execution);
  ParseEnvironment(execution.Get("env"));
  reader_.Text(execution.Get("cwd"), &out.cwd, 4096);
  Field umask = execution.Get("umask");
  if (const std::string* text = reader_.Scalar(umask, "an octal mode"); text != nullptr) {
    std::optional<int> bits = ParseUmask(*text);
    if (bits) out.umask_bits = *bits;
    if (!bits) {
      reader_.Fault(umask,
                    {"bad_number", StrCat("expected an octal mode, got ", ShowValue(*umask.node, umask.path)),
                     "write one like 022"});
    }
  }
  reader_.Name(execution.Get("user"), &out.user);
  reader_.Duration(execution.Get("timeout"), Millis{1}, Days(365), &out.timeout);
  Millis span;
  if (reader_.Duration(execution.Get("expected"), Millis{1}, Days(365), &span)) out.expected = span;
  reader_.Duration(execution.Get("kill_grace"), Millis{0}, Hours(1), &out.kill_grace);
  reader_.Choose(execution.Get("on_timeout"), kOnTimeoutNames, &out.on_timeout);
  reader_.Choose(execution.Get("background_children"), kBackgroundNames, &out.keep_background);
  MapView output(reader_, execution.Get("output"));
  reader_.Bytes(output.Get("max"), 0, int64_t{256} << 20, &out.output_max);
  reader_.Duration(output.Get("keep"), Hours(1), Days(3650), &out.output_keep);
  ParseErrors(execution.Get("errors"));
  reader_.Boolean(execution.Get("kill_at_window_end"), &out.kill_at_window_end);
  reader_.Choose(execution.Get("on_store_loss"), kStoreLossNames, &out.stop_on_store_loss);
  if (Field budget = execution.Get("budget")) KeepUnsupported(budget, "budgets");
}

void RuleParts::ParseKind(const MapView& execution) {
  ExecutionRule& out = body_.execution;
  std::vector<Field> kinds;
  for (const char* key : {"command", "shell", "http", "noop"}) {
    if (Field field = execution.Get(key)) kinds.push_back(field);
  }
  if (kinds.size() > 1) {
    reader_.Fault(kinds[1], {"conflict",
                             StrCat(kinds[0].path, " at line ", kinds[0].node->place.line,
                                    " says already what this rule does"),
                             "keep one of command, shell, http and noop"});
  }
  if (Field command = execution.Get("command")) {
    out.kind = ExecutionRule::Kind::kCommand;
    out.command = ReadCommand(command);
  } else if (Field shell = execution.Get("shell")) {
    out.kind = ExecutionRule::Kind::kShell;
    reader_.Text(shell, &out.shell, kScriptMax);
  } else if (Field http = execution.Get("http")) {
    out.kind = ExecutionRule::Kind::kHttp;
    out.http.method = kDefaultAgentMethod;
    MapView call(reader_, http);
    if (call && !call.Has("url"))
      reader_.Missing(http.node->place, http.path, "url is missing", "write url: https://host/path");
    ReadHttp(call, &out.http);
  } else if (Field noop = execution.Get("noop")) {
    out.kind = ExecutionRule::Kind::kNoop;
    MapView map(reader_, noop);
    reader_.Duration(map.Get("after"), Millis{0}, Days(30), &out.noop.after);
    reader_.Integer(map.Get("exit"), 0, 255, &out.noop.exit_code);
  }
}

void RuleParts::ParseEnvironment(const Field& env) {
  for (const auto& [name, value] : reader_.Members(env)) {
    std::string fault = EnvironmentNameFault(name);
    if (!fault.empty()) {
      reader_.Fault(value, {"env_name", fault, ""});
      continue;
    }
    TextOrSecret text;
    if (!ReadValue(value, kScriptMax, &text)) continue;
    if (name == "PATH" && (text.secret || !text.text.constant())) {
      reader_.Fault(
          value, {"env_name", "PATH takes a plain value: what runs must not depend on anything that changes",
                  "write the folders out"});
      continue;
    }
    body_.execution.env.emplace_back(name, std::move(text));
  }
  std::sort(body_.execution.env.begin(), body_.execution.env.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

void RuleParts::ParseErrors(const Field& errors) {
  for (const Field& item : reader_.Items(errors)) {
    ErrorRule rule;
    MapView map(reader_, item);
    if (map && ParseErrorRule(map, &rule)) body_.execution.errors.push_back(std::move(rule));
  }
}

bool RuleParts::ParseErrorRule(const MapView& map, ErrorRule* out) {
  const Field& whole = map.field();
  std::vector<Field> kinds;
  for (const auto& kind : kErrorKindNames) {
    if (Field field = map.Get(kind.name)) {
      kinds.push_back(field);
      out->kind = kind.value;
    }
  }
  if (kinds.size() != 1) {
    reader_.Fault(whole, {"bad_value", "each entry says one thing to look for",
                          "write {exit: [3, 64-68], as: business}, or status, signal, output"});
    return false;
  }
  if (!map.Has("as")) {
    reader_.Missing(whole.node->place, whole.path, "nothing says what this failure counts as",
                    "write as: transient, business, unknown or not_ready");
    return false;
  }
  if (!reader_.Choose(map.Get("as"), kFailureClassNames, &out->as)) return false;
  if (out->kind == ErrorRule::Kind::kOutput) return reader_.Text(kinds[0], &out->contains);

  int low = out->kind == ErrorRule::Kind::kStatus ? 100 : 1;
  int high = out->kind == ErrorRule::Kind::kStatus ? 599 : out->kind == ErrorRule::Kind::kExit ? 255 : 64;
  for (const Field& item : reader_.Items(kinds[0])) {
    const std::string* text = reader_.Scalar(item, "a number");
    if (text == nullptr) return false;
    std::optional<std::pair<int, int>> range = ParseRange(*text, low, high);
    if (!range) {
      reader_.Fault(item, {"bad_number",
                           StrCat("expected a number or a range from ", low, " to ", high, ", got ",
                                  ShowValue(*item.node, item.path)),
                           "write one like 3 or 64-68"});
      return false;
    }
    out->ranges.push_back(*range);
  }
  return true;
}

}  // namespace duecourse
