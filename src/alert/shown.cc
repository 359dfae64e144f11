#include "alert/shown.h"

#include <algorithm>

namespace duecourse {

std::string ShellWord(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=@%+,").find(c) != std::string_view::npos;
  };
  const std::string shown = Shown(word, kShownWord);
  if (!shown.empty() && shown[0] != '-' && std::all_of(shown.begin(), shown.end(), plain)) return shown;
  std::string out = "'";
  for (char c : shown) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace duecourse
