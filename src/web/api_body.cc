// The bodies of POST and the parameters of GET: one table each says which there are, of which type and how
// long. What is not in it is refused before anybody acts on, or believes the answer to, a question that was
// meant otherwise.
#include <algorithm>

#include "base/text.h"
#include "web/api.h"

namespace duecourse {
namespace {

struct Member {
  const char* name;
  size_t bytes_max;  // of a text; 0: true or false
  bool required = false;
};

constexpr size_t kByMax = 128;
constexpr size_t kReasonMax = 4u << 10;
constexpr size_t kValueMax = 1u << 10;
constexpr size_t kNameMax = 256;
constexpr size_t kTimeMax = 64;

constexpr Member kBy = {"by", kByMax, true};
constexpr Member kReason = {"reason", kReasonMax};
constexpr Member kRunId = {"run_id", kTimeMax, true};

struct Body {
  const char* path;  // one that ends in / is the beginning of several
  std::vector<Member> members;
};

const std::vector<Body>& Bodies() {
  static const std::vector<Body> kBodies = {
      {"/api/v1/trigger",
       {kBy,
        kReason,
        {"task", kNameMax, true},
        {"value", kValueMax},
        {"date", kTimeMax},
        {"at", kTimeMax},
        {"extra", 0},
        {"force", 0}}},
      {"/api/v1/cancel", {kBy, kReason, kRunId}},
      {"/api/v1/flags",
       {kBy,
        kReason,
        {"name", kNameMax, true},
        {"date", kTimeMax},
        {"value", kValueMax},
        {"ttl", kTimeMax},
        {"remove", 0}}},
      {"/api/v1/pause", {kBy, kReason, {"scope", kValueMax, true}}},
      {"/api/v1/resume", {kBy, kReason, {"scope", kValueMax, true}, {"catch_up", 0}}},
      {"/api/v1/manual/", {kBy, kReason, kRunId, {"supersede", 0}, {"force", 0}}},
      {"/api/v1/reload", {kBy, kReason, {"dry_run", 0}, {"confirm", 0}}},
      {"/api/v1/alerts/test", {kBy, kReason, {"owner", kNameMax, true}, {"level", kTimeMax}}},
  };
  return kBodies;
}

const char* TypeOf(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "true or false";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a text";
  return value.is_array() ? "a list" : "an object";
}

std::string MemberFault(const Member& member, const Json& value) {
  const bool text = member.bytes_max > 0;
  if (text ? !value.is_string() : !value.is_bool()) {
    return StrCat("\"", member.name, "\" must be ", text ? "a text" : "true or false", ", not ",
                  TypeOf(value));
  }
  if (text && value.AsString().size() > member.bytes_max) {
    return StrCat("\"", member.name, "\" has ", value.AsString().size(), " bytes; at most ", member.bytes_max,
                  " are taken");
  }
  // They come back on other people's terminals, and a reason may have lines.
  const bool lines = member.name == std::string_view("reason");
  if (text && ShowBytes(value.AsString(), lines) != value.AsString()) {
    return StrCat("\"", member.name, "\" holds control characters");
  }
  if (member.required && value.AsString().empty()) return StrCat("\"", member.name, "\" is empty");
  return "";
}

}  // namespace

std::string ParameterFault(const ApiQuery& query) {
  static const std::vector<std::pair<std::string_view, std::vector<std::string>>> kParameters = {
      {"/api/v1/why", {"task", "date"}},
      {"/api/v1/runs", {"task", "state", "date", "key", "from", "to", "limit"}},
      {"/api/v1/decisions", {"task", "run", "from", "to", "after", "limit"}},
      {"/api/v1/alerts", {"task", "from", "limit"}},
      {"/api/v1/audit", {"task", "run", "limit"}},
      {"/output", {"attempt", "raw"}},
  };
  const auto known = std::find_if(kParameters.begin(), kParameters.end(), [&query](const auto& path) {
    return path.first == "/output" ? query.path.ends_with(path.first) : query.path == path.first;
  });
  const std::vector<std::string> names =
      known == kParameters.end() ? std::vector<std::string>() : known->second;
  for (const auto& [name, value] : query.params) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return StrCat("there is no parameter \"", ShowBytes(name.substr(0, kNameMax), false), "\" here; ",
                  names.empty() ? "none is known" : StrCat("known are ", Join(names, ", ")));
  }
  return "";
}

std::string BodyFault(const ApiQuery& query) {
  const auto& bodies = Bodies();
  auto body = std::find_if(bodies.begin(), bodies.end(), [&](const Body& known) {
    const std::string_view path = known.path;
    return path.ends_with('/') ? query.path.starts_with(path) : query.path == path;
  });
  if (body == bodies.end()) return "";  // no path of ours; the router says so
  if (!query.params.empty())
    return StrCat("\"", ShowBytes(query.params.front().first.substr(0, kNameMax), false),
                  "\" is in the address; what is asked for stands in the body");
  for (const auto& [name, value] : query.body.AsObject()) {
    auto member = std::find_if(body->members.begin(), body->members.end(),
                               [&name = name](const Member& known) { return name == known.name; });
    if (member == body->members.end()) {
      std::vector<std::string> names;
      for (const Member& known : body->members) names.emplace_back(known.name);
      return StrCat("there is no member \"", ShowBytes(name.substr(0, kNameMax), false),
                    "\" here; known are ", Join(names, ", "));
    }
    if (std::string fault = MemberFault(*member, value); !fault.empty()) return fault;
  }
  for (const Member& member : body->members) {
    if (member.required && !query.body.Has(member.name)) return StrCat("\"", member.name, "\" is missing");
  }
  return "";
}

}  // namespace duecourse
