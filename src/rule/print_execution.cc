#include <array>
#include <cstdio>

#include "base/text.h"
#include "rule/choices.h"
#include "rule/defaults.h"
#include "rule/print.h"
#include "rule/print_parts.h"

namespace duecourse {
namespace {

// 64KiB where it is a whole number of them, else bytes.
std::string SizeYaml(int64_t bytes) {
  constexpr int64_t kKib = 1 << 10;
  constexpr int64_t kMib = 1 << 20;
  if (bytes > 0 && bytes % kMib == 0) return StrCat(bytes / kMib, "MiB");
  if (bytes > 0 && bytes % kKib == 0) return StrCat(bytes / kKib, "KiB");
  return StrCat(bytes);
}

PrintNode ErrorTree(const ErrorRule& rule) {
  std::string found;
  if (rule.kind == ErrorRule::Kind::kOutput) {
    found = YamlScalar(rule.contains);
  } else {
    std::vector<std::string> ranges;
    for (const auto& [from, to] : rule.ranges)
      ranges.push_back(from == to ? StrCat(from) : StrCat(from, "-", to));
    found = FlowList(ranges);
  }
  return ScalarNode(
      StrCat("{", NameOf(kErrorKindNames, rule.kind), ": ", found, ", as: ", FailureClassName(rule.as), "}"));
}

void PutKind(const ExecutionRule& execution, bool effective, TreePrinter* tree) {
  switch (execution.kind) {
    case ExecutionRule::Kind::kNone:
      return;
    case ExecutionRule::Kind::kCommand: {
      std::vector<std::string> argv;
      for (const Template& part : execution.command) argv.push_back(YamlScalar(part.text()));
      return tree->Put("command", FlowList(argv), false);
    }
    case ExecutionRule::Kind::kShell:
      return tree->Put("shell", TextNode(execution.shell));
    case ExecutionRule::Kind::kHttp: {
      TreePrinter http(effective);
      PutHttp(execution.http, kDefaultAgentMethod, &http);
      return tree->Put("http", http.Take());
    }
    case ExecutionRule::Kind::kNoop: {
      TreePrinter noop(effective);
      noop.Put("after", FormatMillis(execution.noop.after), execution.noop.after == Millis{});
      noop.Put("exit", StrCat(execution.noop.exit_code), execution.noop.exit_code == 0);
      PrintNode node = noop.Take();
      if (node.empty()) return tree->Put("noop", "{}", false);
      return tree->Put("noop", std::move(node));
    }
  }
}

}  // namespace

std::string ValueYaml(const TextOrSecret& value) {
  if (!value.secret) return YamlScalar(value.text.text());
  bool by_env = !value.secret->env.empty();
  return StrCat("{", by_env ? "env" : "file", ": ",
                YamlScalar(by_env ? value.secret->env : value.secret->file), "}");
}

void PutHttp(const HttpCall& call, const char* default_method, TreePrinter* tree) {
  tree->Put("method", call.method, call.method == default_method);
  tree->Put("url", YamlScalar(call.url.text()), false);
  for (const auto& [name, value] : call.headers)
    MapAt(MapAt(tree->map(), "headers"), name) = ScalarNode(ValueYaml(value));
  if (call.body) {
    tree->Put("body",
              call.body->secret ? ScalarNode(ValueYaml(*call.body)) : TextNode(call.body->text.text()));
  }
  if (!call.expect.status.empty()) {
    std::vector<std::string> statuses;
    for (int status : call.expect.status) statuses.push_back(StrCat(status));
    MapAt(MapAt(tree->map(), "expect"), "status") = ScalarNode(FlowList(statuses));
  }
  for (const auto& [pointer, value] : call.expect.json) {
    MapAt(MapAt(MapAt(tree->map(), "expect"), "json"), pointer) = ScalarNode(JsonFlow(value));
  }
}

PrintNode ExecutionTree(const ExecutionRule& execution, bool effective) {
  const ExecutionRule plain;
  TreePrinter tree(effective);
  PutKind(execution, effective, &tree);
  for (const auto& [name, value] : execution.env)
    MapAt(MapAt(tree.map(), "env"), name) = ScalarNode(ValueYaml(value));
  if (!execution.cwd.empty()) tree.Put("cwd", YamlScalar(execution.cwd), false);
  std::array<char, 16> umask{};
  std::snprintf(umask.data(), umask.size(), "\"%03o\"", static_cast<unsigned>(execution.umask_bits));
  tree.Put("umask", umask.data(), execution.umask_bits == plain.umask_bits);
  if (!execution.user.empty()) tree.Put("user", YamlScalar(execution.user), false);
  tree.Put("timeout", FormatMillis(execution.timeout), execution.timeout == plain.timeout);
  if (execution.expected) tree.Put("expected", FormatMillis(*execution.expected), false);
  tree.Put("kill_grace", FormatMillis(execution.kill_grace), execution.kill_grace == plain.kill_grace);
  tree.Put("on_timeout", NameOf(kOnTimeoutNames, execution.on_timeout),
           execution.on_timeout == plain.on_timeout);
  tree.Put("background_children", NameOf(kBackgroundNames, execution.keep_background),
           !execution.keep_background);
  TreePrinter output(effective);
  output.Put("max", SizeYaml(execution.output_max), execution.output_max == plain.output_max);
  output.Put("keep", FormatMillis(execution.output_keep), execution.output_keep == plain.output_keep);
  tree.Put("output", output.Take());
  PrintNode errors;
  errors.kind = PrintNode::Kind::kList;
  for (const ErrorRule& rule : execution.errors) errors.items.push_back(ErrorTree(rule));
  tree.Put("errors", std::move(errors));
  tree.Put("kill_at_window_end", execution.kill_at_window_end ? "true" : "false",
           !execution.kill_at_window_end);
  tree.Put("on_store_loss", NameOf(kStoreLossNames, execution.stop_on_store_loss),
           !execution.stop_on_store_loss);
  return tree.Take();
}

}  // namespace duecourse
