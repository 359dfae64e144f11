#include "cli/report.h"

#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/text.h"

namespace duecourse {

int Fail(const Args& args, int code, const std::string& message, Json more) {
  if (args.json()) {
    Json body = more.is_object() ? std::move(more) : Json::MakeObject();
    body.Set("message", message).Set("exit_code", code);
    std::fprintf(stderr, "%s\n", body.Dump().c_str());
    return code;
  }
  std::fprintf(stderr, "%s\n", ShowBytes(message, true).c_str());
  for (const Json& line : more.Get("errors").AsArray())
    std::fprintf(stderr, "%s\n", ShowBytes(line.AsString(), true).c_str());
  return code;
}

int UsageFault(const Args& args, const std::string& message) { return Fail(args, kExitUsage, message); }

bool SayIfIdle(const Args& args, const std::string& with, const std::vector<const char*>& options) {
  for (const char* option : options) {
    if (!args.Has(option)) continue;
    UsageFault(args, StrCat(option, " means nothing with ", with, ": leave it out"));
    return true;
  }
  return false;
}

int FailWith(const Args& args, int code, const std::string& message, const std::vector<Finding>& findings) {
  Json errors = Json::MakeArray();
  for (const Finding& finding : findings) errors.Add(FormatFinding(finding));
  return Fail(args, code, message, Json::MakeObject().Set("errors", std::move(errors)));
}

void Tell(const Args& args, const std::string& text) {
  if (args.json()) {
    std::fprintf(stderr, "%s\n", Json::MakeObject().Set("note", text).Dump().c_str());
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
}

bool AsksForJson(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return false;
    if (word == "--output=json" || word == "-ojson") return true;
    if ((word == "--output" || word == "-o") && i + 1 < argc && std::strcmp(argv[i + 1], "json") == 0)
      return true;
  }
  return false;
}

}  // namespace duecourse
