#include "web/local_text.h"

#include <string_view>

namespace duecourse {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// How many bytes at the front are "2026-12-01T08:00:00Z" or "…:00.123Z"; 0 where none are.
size_t InstantLength(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00";
  if (text.size() <= kShape.size()) return 0;
  size_t end = 0;
  for (; end < kShape.size(); ++end) {
    if (kShape[end] == '0' ? !IsDigit(text[end]) : text[end] != kShape[end]) return 0;
  }
  if (text[end] == '.')
    for (++end; end < text.size() && IsDigit(text[end]);) ++end;
  return end < text.size() && text[end] == 'Z' ? end + 1 : 0;
}

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\t'; }

bool BeginsWord(std::string_view text, size_t at) {
  return at == 0 || IsBlank(text[at - 1]) || (text[at - 1] == '(' && (at == 1 || IsBlank(text[at - 2])));
}

// A sentence goes on after a word with a blank, or with one of its own signs and a blank.
bool EndsWord(std::string_view text, size_t at) {
  constexpr std::string_view kSigns = ",;:.)";
  while (at < text.size() && kSigns.find(text[at]) != std::string_view::npos) ++at;
  return at == text.size() || IsBlank(text[at]);
}

}  // namespace

std::string LocalInstants(const std::string& text, const Zone& zone) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = BeginsWord(text, i) ? InstantLength(std::string_view(text).substr(i)) : 0;
    if (length == 0 || !EndsWord(text, i + length)) {
      out += text[i++];
      continue;
    }
    const std::string word = text.substr(i, length);
    const Result<Instant> instant = ParseUtc(word);
    out += instant.ok() ? FormatLocal(*instant, zone) : word;
    i += length;
  }
  return out;
}

}  // namespace duecourse
