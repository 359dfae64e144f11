#include "alert/shown.h"

#include <algorithm>

namespace duecourse {

std::string ShellQuoted(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
  };
  if (!word.empty() && word[0] != '-' && std::all_of(word.begin(), word.end(), plain))
    return std::string(word);
  std::string out = "'";
  for (char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string ShellWord(std::string_view word) { return ShellQuoted(Shown(word, kShownWord)); }

}  // namespace duecourse
