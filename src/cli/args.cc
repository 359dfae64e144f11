#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/file.h"
#include "base/text.h"
#include "cli/report.h"
#include "web/version.h"

namespace duecourse {

std::string Args::Get(const std::string& name, const std::string& fallback) const {
  auto it = values_.find(name);
  return it == values_.end() ? fallback : it->second;
}

const std::vector<OptionSpec>& CommonOptions() {
  static const std::vector<OptionSpec> kOptions = {
      {"--config", true, "settings file (default ./duecourse.yaml)"},
      {"--rules", true, "rule file or folder (default: what the settings say, else rules/)"},
      {"--data", true, "data folder (default: what the settings say, else data/)"},
      {"--socket", true, "the daemon's socket (default: daemon.sock in the data folder)"},
      {"--output,-o", true, "table or json"},
  };
  return kOptions;
}

namespace {

// "--output,-o" -> "--output"
std::string LongName(const char* name) { return std::string(name).substr(0, std::string(name).find(',')); }

struct Parsed {
  std::map<std::string, std::string> values;
  std::map<std::string, bool> flags;
  std::vector<std::string> positional;
};

void Describe(CLI::App& app, const Verb& verb, Parsed& parsed) {
  auto add = [&](const OptionSpec& option) {
    std::string name = LongName(option.name);
    if (option.takes_value) {
      app.add_option(option.name, parsed.values[name], option.help);
    } else {
      app.add_flag(option.name, parsed.flags[name], option.help);
    }
  };
  for (const OptionSpec& option : verb.options) add(option);
  for (const OptionSpec& option : CommonOptions()) add(option);
  CLI::Option* words = app.add_option("args", parsed.positional, verb.usage);
  words->expected(static_cast<int>(verb.positional_least), static_cast<int>(verb.positional_most));
  if (verb.positional_most == 0) app.remove_option(words);
}

Args Collect(CLI::App& app, const Parsed& parsed) {
  Args args;
  for (const auto& [name, value] : parsed.values) {
    if (app.count(name) > 0) args.values_[name] = value;
  }
  for (const auto& [name, value] : parsed.flags) {
    if (value) args.values_[name] = "true";
  }
  args.positional_ = parsed.positional;
  return args;
}

int Usage(const Args& args, const Verb& verb, const std::string& problem) {
  return UsageFault(args, StrCat("duecourse ", verb.name, ": ", problem, "\nusage: duecourse ", verb.name,
                                 " ", verb.usage, "\nmore: duecourse ", verb.name, " --help"));
}

// What is known of words that could not be parsed: how the fault is to be said.
Args Unparsed(int argc, const char* const* argv) {
  Args args;
  if (AsksForJson(argc, argv)) args.values_["--output"] = "json";
  return args;
}

// Made of the table, as the parser's own words for it ("[args(0x)]") mean nothing to people.
void Explain(const Verb& verb) {
  std::printf("duecourse %s: %s\nusage: duecourse %s %s\n", verb.name, verb.help, verb.name, verb.usage);
  auto list = [](const char* title, const std::vector<OptionSpec>& options) {
    if (!options.empty()) std::printf("\n%s\n", title);
    for (const OptionSpec& option : options)
      std::printf("  %-20s %s\n", StrCat(option.name, option.takes_value ? " VALUE" : "").c_str(),
                  option.help);
  };
  list("options:", verb.options);
  list("options of every verb:", CommonOptions());
}

int RunVerb(const Verb& verb, int argc, char** argv) {
  CLI::App app(StrCat(verb.help, "\nusage: duecourse ", verb.name, " ", verb.usage),
               StrCat("duecourse ", verb.name));
  Parsed parsed;
  Describe(app, verb, parsed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    Explain(verb);
    return kExitFine;
  } catch (const CLI::ParseError& error) {
    return Usage(Unparsed(argc, argv), verb, error.what());
  }
  Args args = Collect(app, parsed);
  if (args.positional().size() < verb.positional_least)
    return Usage(args, verb, StrCat("too little was said: ", verb.usage, " is needed"));
  if (args.positional().size() > verb.positional_most)
    return Usage(args, verb, StrCat("too much: ", args.positional().back()));
  std::string output = args.Get("--output", "table");
  if (output != "table" && output != "json") return Usage(args, verb, "--output is table or json");
  return verb.run(args);
}

// Options of every verb may stand before it: they are moved behind. The words as they are where something
// else stands there.
std::vector<char*> VerbFirst(int argc, char** argv) {
  std::vector<char*> words(argv, argv + argc);
  size_t verb = 1;
  while (verb < words.size() && words[verb][0] == '-') {
    const std::string word = words[verb];
    const std::string name = word.substr(0, word.find('='));
    const bool common =
        std::any_of(CommonOptions().begin(), CommonOptions().end(), [&name](const auto& option) {
          return name == LongName(option.name) || (name == "-o" && LongName(option.name) == "--output");
        });
    if (!common) return words;
    verb += word.size() > name.size() ? 1 : 2;
  }
  if (verb < words.size())
    std::rotate(words.begin() + 1, words.begin() + static_cast<std::ptrdiff_t>(verb),
                words.begin() + static_cast<std::ptrdiff_t>(verb) + 1);
  return words;
}

void Overview() {
  std::printf("duecourse %s: scheduled tasks that run when they should, once, and explain themselves.\n\n",
              kVersion);
  for (const Verb& verb : Verbs()) {
    std::printf("  %-11s %s\n", verb.name, verb.help);
  }
  std::printf(
      "\nduecourse VERB --help says more. Exit codes: 0 fine, 1 problem, 2 usage, 3 refused by a "
      "decision.\n");
}

}  // namespace

static int RunWords(int argc, char** argv) {
  if (argc < 2) {
    Overview();
    return kExitUsage;
  }
  std::string word = argv[1];
  if (word == "--help" || word == "-h" || word == "help") {
    for (const Verb& verb : Verbs()) {
      if (argc < 3 || std::string(argv[2]) != verb.name) continue;
      Explain(verb);
      return kExitFine;
    }
    Overview();
    return kExitFine;
  }
  if (word == "--version") word = "version";
  std::vector<std::string> names;
  for (const Verb& verb : Verbs()) {
    if (word == verb.name) return RunVerb(verb, argc - 1, argv + 1);
    names.emplace_back(verb.name);
  }
  std::optional<std::string> nearest = Nearest(word, names);
  return UsageFault(Unparsed(argc, argv), StrCat("duecourse: there is no verb ", word,
                                                 nearest ? StrCat("; did you mean ", *nearest, "?") : ""));
}

// An answer that could not be written is no answer, whatever was done.
int RunCommandLine(int argc, char** given) {
  std::vector<char*> words = VerbFirst(argc, given);
  const int code = RunWords(argc, words.data());
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  if (code != kExitFine || (flushed && std::ferror(stdout) == 0)) return code;
  return Fail(Unparsed(argc, words.data()), kExitProblem,
              StrCat("the answer could not be written to standard output",
                     flushed ? "" : StrCat(": ", ErrnoText(error))));
}

}  // namespace duecourse
