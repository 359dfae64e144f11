#include <algorithm>
#include <utility>

#include "base/text.h"
#include "rule/parse.h"
#include "rule/secret.h"

namespace duecourse {
namespace {

bool IsHeaderName(std::string_view name) {
  return !name.empty() && name.size() <= 200 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

// Words that the line would need a shell, or our guess, to take apart.
constexpr std::string_view kShellCharacters = "\"'\\|&;<>$`*?~#()\n";

// A JSON text as a template: its own braces doubled, those inside its texts kept as the author wrote them.
std::string JsonTemplate(const Json& json) {
  if (json.is_object()) {
    std::vector<std::string> members;
    for (const Json::Member& member : json.AsObject()) {
      members.push_back(StrCat(Json(member.first).Dump(), ": ", JsonTemplate(member.second)));
    }
    return StrCat("{{", Join(members, ", "), "}}");
  }
  if (json.is_array()) {
    std::vector<std::string> items;
    for (const Json& item : json.AsArray()) items.push_back(JsonTemplate(item));
    return StrCat("[", Join(items, ", "), "]");
  }
  return json.Dump();
}

// Such a value, filled in between quotes, would end the JSON text it stands in.
bool BreaksJson(std::string_view value) {
  return value.find_first_of("\"\\\n\t\r") != std::string_view::npos;
}

}  // namespace

bool RuleParts::ReadValue(const Field& field, size_t bytes_max, TextOrSecret* out) {
  if (!field) return false;
  if (field.node->kind != YamlNode::Kind::kMap) {
    // An empty value is one, for an environment variable.
    if (field.node->kind == YamlNode::Kind::kScalar && field.node->scalar.empty()) return true;
    return reader_.TemplateText(field, &out->text, bytes_max);
  }
  SecretRef secret;
  for (const auto& [key, value] : reader_.Members(field)) {
    if (key == "env") {
      std::string name;
      if (!reader_.Text(value, &name, 200)) return false;
      std::string fault = EnvironmentNameFault(name);
      if (!fault.empty()) {
        reader_.Fault(value, {"env_name", fault, "name the variable that holds the secret"});
        return false;
      }
      secret.env = name;
    } else if (key == "file") {
      if (!reader_.Text(value, &secret.file)) return false;
    } else {
      reader_.Fault(value,
                    {"unknown_key", StrCat("unknown key \"", ShowBytes(key.substr(0, 60), false), "\""),
                     "a secret is {env: NAME} or {file: PATH}"});
      return false;
    }
  }
  if (secret.env.empty() == secret.file.empty()) {
    reader_.Fault(field, {"bad_value", "a secret comes from one place", "write {env: NAME} or {file: PATH}"});
    return false;
  }
  out->secret = std::move(secret);
  return true;
}

std::vector<Template> RuleParts::ReadCommand(const Field& field) {
  std::vector<Template> argv;
  if (!field) return argv;
  if (field.node->kind == YamlNode::Kind::kSequence) {
    if (field.node->items.empty()) {
      reader_.Fault(field, {"empty_value", "the command is empty", "write [program, argument, …]"});
    }
    for (const Field& item : reader_.Items(field)) {
      Template part;
      bool empty_argument =
          item.node->kind == YamlNode::Kind::kScalar && item.node->scalar.empty() && !argv.empty();
      if (empty_argument || reader_.TemplateText(item, &part, kScriptMax)) argv.push_back(std::move(part));
    }
    return argv;
  }
  std::string line;
  if (!reader_.Text(field, &line)) return argv;
  if (line.find_first_of(kShellCharacters) != std::string::npos) {
    reader_.Fault(
        field, {"bad_value", "a command is no shell line; this one holds characters that a shell would read",
                "write [program, argument, …], or shell in place of command"});
    return argv;
  }
  for (std::string_view word : Split(line, ' ')) {
    if (Trim(word).empty()) continue;
    Result<Template> part = Template::Parse(Trim(word));
    if (!part.ok()) {
      reader_.Fault(field, {"bad_template", part.error().message(), "write [program, argument, …]"});
      return argv;
    }
    argv.push_back(*std::move(part));
  }
  return argv;
}

bool RuleParts::ReadUrl(const Field& field, Template* out) {
  if (!reader_.TemplateText(field, out, 8192)) return false;
  if (out->text().starts_with("http://") || out->text().starts_with("https://")) return true;
  reader_.Fault(
      field, {"bad_value", "a URL begins with http:// or https://, written out", "write https://host/path"});
  return false;
}

void RuleParts::ReadHeaders(const Field& field, std::vector<std::pair<std::string, TextOrSecret>>* out) {
  for (const auto& [name, value] : reader_.Members(field)) {
    if (!IsHeaderName(name)) {
      reader_.Fault(value,
                    {"bad_name", "the name of a header holds letters, digits, '-', '_' and '.' only", ""});
      continue;
    }
    TextOrSecret text;
    if (!ReadValue(value, 8192, &text)) continue;
    if (text.text.text().find_first_of("\r\n") != std::string::npos) {
      reader_.Fault(value, {"bad_value", "a header stands on one line", ""});
      continue;
    }
    out->emplace_back(name, std::move(text));
  }
  std::sort(out->begin(), out->end(), [](const auto& a, const auto& b) { return a.first < b.first; });
}

void RuleParts::ReadHttp(const MapView& http, HttpCall* out) {
  std::string method;
  Field verb = http.Get("method");
  if (reader_.Text(verb, &method, 20)) {
    static const std::vector<std::string> known = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"};
    if (std::find(known.begin(), known.end(), method) != known.end()) {
      out->method = method;
    } else {
      reader_.Fault(verb, {"bad_choice",
                           StrCat("expected ", Join(known, ", "), "; got ", ShowValue(*verb.node, "")), ""});
    }
  }
  ReadUrl(http.Get("url"), &out->url);
  ReadHeaders(http.Get("headers"), &out->headers);
  ReadBody(http.Get("body"), out);
  ReadExpect(MapView(reader_, http.Get("expect")), &out->expect);
  if (Field async = http.Get("async")) KeepUnsupported(async, "asynchronous agents (async)");
  if (Field poll = http.Get("poll")) KeepUnsupported(poll, "asynchronous agents (poll)");
}

// Text, a secret, or a map or list that is sent as JSON.
void RuleParts::ReadBody(const Field& field, HttpCall* out) {
  if (!field) return;
  bool reference = field.node->kind == YamlNode::Kind::kMap && field.node->members.size() == 1 &&
                   (field.node->Find("env") != nullptr || field.node->Find("file") != nullptr);
  TextOrSecret body;
  if (field.node->kind == YamlNode::Kind::kScalar || reference) {
    if (ReadValue(field, kScriptMax, &body)) out->body = std::move(body);
    return;
  }
  Result<Template> text = Template::Parse(JsonTemplate(ToJson(*field.node)));
  if (!text.ok()) {
    reader_.Fault(field,
                  {"bad_template", text.error().message(), "write {name}; {{ and }} stand for braces"});
    return;
  }
  auto refuse_breaking = [&](const Fields& fields) {
    for (const auto& [name, value] : fields) {
      if (!text->Uses(name) || !BreaksJson(value)) continue;
      reader_.Fault(field, {"bad_value",
                            StrCat("{", name,
                                   "} holds a quote, a backslash or a line end, which would break this JSON"),
                            "write the body as text"});
    }
  };
  refuse_breaking(body_.vars);
  for (const ForEachValue& value : body_.for_each) refuse_breaking(value.fields);
  body.text = *std::move(text);
  out->body = std::move(body);
  auto is_type = [](const auto& header) { return AsciiLower(header.first) == "content-type"; };
  if (std::any_of(out->headers.begin(), out->headers.end(), is_type)) return;
  TextOrSecret type;
  type.text = *Template::Parse("application/json");
  out->headers.emplace_back("Content-Type", std::move(type));
  std::sort(out->headers.begin(), out->headers.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

void RuleParts::ReadExpect(const MapView& expect, HttpExpect* out) {
  for (const Field& item : reader_.Items(expect.Get("status"))) {
    int status = 0;
    if (reader_.Integer(item, 100, 599, &status)) out->status.push_back(status);
  }
  std::sort(out->status.begin(), out->status.end());
  out->status.erase(std::unique(out->status.begin(), out->status.end()), out->status.end());
  for (const auto& [pointer, value] : reader_.Members(expect.Get("json"))) {
    if (!pointer.empty() && pointer.front() != '/') {
      reader_.Fault(value, {"bad_value",
                            StrCat("expected a JSON pointer, got ", ShowBytes(pointer.substr(0, 60), false)),
                            StrCat("write /", ShowBytes(pointer.substr(0, 60), false))});
      continue;
    }
    out->json.emplace_back(pointer, ToJson(*value.node));
  }
  std::sort(out->json.begin(), out->json.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

}  // namespace duecourse
