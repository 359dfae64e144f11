// duecourse schema, completion, version: texts that need no daemon and no rules.
#include <cstdio>

#include "base/text.h"
#include "cli/client.h"
#include "cli/complete.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "db/sqlite.h"
#include "rule/lint.h"
#include "web/version.h"

namespace duecourse {
namespace {

// What may follow the verb, where that is one of a few words; a blank after each.
std::string SecondWords(const Verb& verb) {
  static const std::pair<const char*, const char*> kSecond[] = {{"manual", "list claim resolve rerun skip "},
                                                                {"flag", "set unset list "},
                                                                {"alert", "list test "},
                                                                {"schema", "rules settings "},
                                                                {"completion", "bash zsh fish "},
                                                                {"doctor", "repeated missed catchup "}};
  for (const auto& [name, second] : kSecond) {
    if (std::string(verb.name) == name) return second;
  }
  return "";
}

std::string Words(const Verb& verb) {
  std::string words;
  for (const std::vector<OptionSpec>& list : {verb.options, CommonOptions()}) {
    for (const OptionSpec& option : list) {
      std::string name = option.name;
      words += StrCat(name.substr(0, name.find(',')), " ");
    }
  }
  words += SecondWords(verb);
  words.pop_back();
  return words;
}

void Bash() {
  std::printf(
      "_duecourse() {\n  local word=\"${COMP_WORDS[COMP_CWORD]}\"\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    "
      "COMPREPLY=($(compgen -W \"");
  for (const Verb& verb : Verbs()) std::printf("%s ", verb.name);
  std::printf(
      "\" -- \"$word\"))\n    return\n  fi\n  local names\n"
      "  names=\"$(\"${COMP_WORDS[0]/#\\~/$HOME}\" completion words -- "
      "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\" 2>/dev/null)\"\n  case \"${COMP_WORDS[1]}\" in\n");
  for (const Verb& verb : Verbs())
    std::printf("    %s) COMPREPLY=($(compgen -W \"%s $names\" -- \"$word\")) ;;\n", verb.name,
                Words(verb).c_str());
  std::printf("  esac\n}\ncomplete -o default -F _duecourse duecourse\n");
}

void Zsh() {
  std::printf("#compdef duecourse\n_duecourse() {\n  if (( CURRENT == 2 )); then\n    local -a verbs=(\n");
  for (const Verb& verb : Verbs()) {
    std::string help = verb.help;
    for (size_t at = help.find('\''); at != std::string::npos; at = help.find('\'', at + 4))
      help.replace(at, 1, "'\\''");
    std::printf("      '%s:%s'\n", verb.name, help.c_str());
  }
  std::printf(
      "    )\n    _describe verb verbs\n    return\n  fi\n  local -a names\n"
      "  names=(${(f)\"$(${~words[1]} completion words -- \"${(@)words[2,CURRENT-1]}\" 2>/dev/null)\"})\n"
      "  case $words[2] in\n");
  for (const Verb& verb : Verbs())
    std::printf("    %s) compadd -- %s $names ;;\n", verb.name, Words(verb).c_str());
  std::printf("  esac\n  _files\n}\n_duecourse \"$@\"\n");
}

void Fish() {
  for (const Verb& verb : Verbs()) {
    std::string help = verb.help;
    for (size_t at = help.find('\''); at != std::string::npos; at = help.find('\'', at + 2))
      help.replace(at, 1, "\\'");
    std::printf("complete -c duecourse -n __fish_use_subcommand -a %s -d '%s'\n", verb.name, help.c_str());
    for (const std::vector<OptionSpec>& list : {verb.options, CommonOptions()}) {
      for (const OptionSpec& option : list) {
        std::string name = std::string(option.name).substr(2);
        std::printf("complete -c duecourse -n '__fish_seen_subcommand_from %s' -l %s%s\n", verb.name,
                    name.substr(0, name.find(',')).c_str(), option.takes_value ? " -r" : "");
      }
    }
    if (std::string second = SecondWords(verb); !second.empty())
      std::printf("complete -c duecourse -n '__fish_seen_subcommand_from %s' -a '%s'\n", verb.name,
                  second.c_str());
  }
  std::printf(
      "complete -c duecourse -n 'not __fish_use_subcommand' "
      "-a '(duecourse completion words -- (commandline -opc)[2..-1] 2>/dev/null)'\n");
}

}  // namespace

int SchemaVerb(const Args& args) {
  std::string which = args.At(0).empty() ? "rules" : args.At(0);
  if (which != "rules" && which != "settings") return UsageFault(args, "schema rules or schema settings");
  std::printf("%s\n", (which == "rules" ? RuleSchema() : ConfigSchema()).c_str());
  return kExitFine;
}

int CompletionVerb(const Args& args) {
  if (args.At(0) == "words") {
    const std::vector<std::string>& words = args.positional();
    for (const std::string& word : CompletionsAfter({words.begin() + 1, words.end()}))
      std::printf("%s\n", word.c_str());
    return kExitFine;
  }
  if (args.positional().size() > 1) return UsageFault(args, StrCat("too much: ", args.At(1)));
  if (args.At(0) == "bash") {
    Bash();
  } else if (args.At(0) == "zsh") {
    Zsh();
  } else if (args.At(0) == "fish") {
    Fish();
  } else {
    return UsageFault(args, "completion bash, zsh or fish");
  }
  return kExitFine;
}

int VersionVerb(const Args& args) {
  if (args.json()) {
    std::printf("%s\n", Json::MakeObject()
                            .Set("version", kVersion)
                            .Set("zone_data", ZoneDataVersion())
                            .Set("sqlite", SqliteVersion())
                            .DumpPretty()
                            .c_str());
  } else {
    std::printf("duecourse %s, zone data %s, SQLite %s\n", kVersion, ZoneDataVersion().c_str(),
                SqliteVersion().c_str());
  }
  return kExitFine;
}

}  // namespace duecourse
