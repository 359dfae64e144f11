#include "rule/secret.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"

namespace duecourse {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameCharacter(char c) { return IsUpper(c) || IsLower(c) || IsDigit(c) || c == '_' || c == '-'; }

// "x-apiKey" -> x, api, key.
std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words(1);
  for (size_t i = 0; i < name.size(); ++i) {
    char c = name[i];
    if (!IsUpper(c) && !IsLower(c) && !IsDigit(c)) {
      if (!words.back().empty()) words.emplace_back();
      continue;
    }
    bool hump = IsUpper(c) && i > 0 && IsLower(name[i - 1]);
    if (hump && !words.back().empty()) words.emplace_back();
    words.back() += AsciiLower(std::string_view(&name[i], 1));
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

template <size_t N>
bool OneOf(const std::string& word, const std::array<const char*, N>& list) {
  return std::any_of(list.begin(), list.end(), [&](const char* entry) { return word == entry; });
}

// A value that is only looked up when it is used: a variable of a template or of a shell.
bool IsVariable(std::string_view value) {
  while (!value.empty() && (value.front() == '"' || value.front() == '\'')) value.remove_prefix(1);
  return value.empty() || value.front() == '$' || value.front() == '{' || value.front() == '<' ||
         value.front() == '*' || value.front() == ' ' || value.front() == '&';
}

// scheme://user:password@host
bool HasUrlPassword(std::string_view text) {
  for (size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
    std::string_view rest = text.substr(at + 3);
    rest = rest.substr(0, rest.find_first_of("/?# \t\n\"'"));
    size_t sign = rest.rfind('@');
    if (sign == std::string_view::npos) continue;
    std::string_view user = rest.substr(0, sign);
    size_t colon = user.find(':');
    if (colon != std::string_view::npos && !IsVariable(user.substr(colon + 1))) return true;
  }
  return false;
}

// Prefixes that issuers give their tokens so that they can be found, with the length of what must follow.
bool HasKnownToken(std::string_view text) {
  struct Form {
    const char* prefix;
    size_t follows;
  };
  static constexpr std::array<Form, 11> kForms = {{{"sk-", 20},
                                                   {"ghp_", 30},
                                                   {"gho_", 30},
                                                   {"github_pat_", 30},
                                                   {"glpat-", 20},
                                                   {"xoxb-", 20},
                                                   {"xoxp-", 20},
                                                   {"AKIA", 16},
                                                   {"AIza", 30},
                                                   {"LTAI", 16},
                                                   {"eyJhbGciOi", 20}}};
  for (const Form& form : kForms) {
    std::string_view prefix = form.prefix;
    for (size_t at = text.find(prefix); at != std::string_view::npos; at = text.find(prefix, at + 1)) {
      if (at > 0 && IsNameCharacter(text[at - 1])) continue;
      size_t end = at + prefix.size();
      while (end < text.size() && (IsNameCharacter(text[end]) || text[end] == '.')) ++end;
      if (end - at - prefix.size() >= form.follows) return true;
    }
  }
  return text.find("-----BEGIN ") != std::string_view::npos &&
         text.find("PRIVATE KEY-----") != std::string_view::npos;
}

// "--password=x", "TOKEN=x make", "?api_key=x".
bool HasAssignment(std::string_view text) {
  for (size_t at = text.find('='); at != std::string_view::npos; at = text.find('=', at + 1)) {
    size_t begin = at;
    while (begin > 0 && IsNameCharacter(text[begin - 1])) --begin;
    if (begin == at || !NamesSecret(text.substr(begin, at - begin))) continue;
    if (!IsVariable(text.substr(at + 1))) return true;
  }
  return false;
}

// "Authorization: Bearer x", in a shell line or an argument.
bool HasAuthorization(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return false;
  std::string lower = AsciiLower(text);
  constexpr std::string_view kHeader = "authorization:";
  for (size_t at = lower.find(kHeader); at != std::string::npos; at = lower.find(kHeader, at + 1)) {
    std::string_view value = Trim(text.substr(at + kHeader.size()));
    size_t space = value.find(' ');
    std::string scheme = AsciiLower(value.substr(0, space));
    bool has_scheme =
        space != std::string_view::npos && (scheme == "bearer" || scheme == "basic" || scheme == "token");
    if (!IsVariable(has_scheme ? value.substr(space + 1) : value)) return true;
  }
  return false;
}

}  // namespace

bool NamesSecret(std::string_view name) {
  static constexpr std::array<const char*, 11> kLast = {"password", "passwd", "pwd",          "passphrase",
                                                        "secret",   "token",  "apikey",       "credential",
                                                        "cookie",   "bearer", "authorization"};
  static constexpr std::array<const char*, 6> kKeyOf = {"api",    "access",  "private",
                                                        "secret", "signing", "encryption"};
  if (name.empty() || name.size() > 200) return false;
  std::vector<std::string> words = WordsOf(name);
  if (words.empty()) return false;
  const std::string& last = words.back();
  if (OneOf(last, kLast) || last == "credentials") return true;
  if (words.size() < 2) return false;
  return last == "pass" || (last == "key" && OneOf(words[words.size() - 2], kKeyOf));
}

bool HoldsSecret(std::string_view text) {
  return HasUrlPassword(text) || HasKnownToken(text) || HasAssignment(text) || HasAuthorization(text);
}

bool IntroducesSecret(std::string_view argument) {
  return argument.size() > 2 && argument.front() == '-' && argument.find('=') == std::string_view::npos &&
         NamesSecret(argument);
}

std::string EnvironmentNameFault(std::string_view name) {
  if (name.empty()) return "the name of an environment variable is empty";
  bool clean = !IsDigit(name.front()) &&
               std::all_of(name.begin(), name.end(), [](char c) { return IsNameCharacter(c) && c != '-'; });
  if (!clean)
    return "the name of an environment variable holds letters, digits and _ only, and begins with no digit";
  if (name.starts_with("LD_") || name == "GLIBC_TUNABLES" || name == "GCONV_PATH") {
    return "this variable changes how programs are loaded and may not be set by a rule";
  }
  if (name.starts_with("DUECOURSE_"))
    return "names that begin with DUECOURSE_ are set for every attempt already";
  if (name.size() > 128) return "the name of an environment variable is longer than 128 bytes";
  return "";
}

}  // namespace duecourse
