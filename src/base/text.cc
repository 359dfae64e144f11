#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <limits>

namespace duecourse {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// How many bytes at the front are plain ASCII, eight at a time.
size_t AsciiPrefix(std::string_view bytes) {
  size_t i = 0;
  while (i + 8 <= bytes.size()) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    if ((word & 0x8080'8080'8080'8080u) != 0) break;
    i += 8;
  }
  while (i < bytes.size() && static_cast<unsigned char>(bytes[i]) < 0x80) ++i;
  return i;
}

void AppendEscape(std::string& out, char32_t code) {
  if (code == '\n') {
    out += "\\n";
  } else if (code == '\t') {
    out += "\\t";
  } else if (code == '\r') {
    out += "\\r";
  } else {
    std::array<char, 16> buffer{};
    std::snprintf(buffer.data(), buffer.size(), code < 0x80 ? "\\x%02x" : "\\u%04x",
                  static_cast<unsigned>(code));
    out += buffer.data();
  }
}

// Insertions, deletions, replacements and swaps of neighbours, without case. Words here are short.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      char x = Lower(a[i - 1]);
      char y = Lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (x == y ? 0u : 1u)});
      if (i > 1 && j > 1 && x == Lower(b[j - 2]) && y == Lower(a[i - 2])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  for (size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator, start)) {
    parts.push_back(text.substr(start, at - start));
    start = at + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string AsciiLower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), Lower);
  return out;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > 19 || (text.front() == '0' && (text.size() > 1 || negative)))
    return std::nullopt;
  int64_t value = 0;  // kept negative, since the smallest int64 has no positive twin
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    if (__builtin_mul_overflow(value, int64_t{10}, &value)) return std::nullopt;
    if (__builtin_sub_overflow(value, static_cast<int64_t>(c - '0'), &value)) return std::nullopt;
  }
  if (negative) return value;
  if (value == std::numeric_limits<int64_t>::min()) return std::nullopt;
  return -value;
}

Utf8Character NextUtf8(std::string_view bytes) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {0, 1, false};
  // The second byte's range excludes overlong forms, surrogates and what lies beyond U+10FFFF.
  unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  char32_t code = first & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (i >= bytes.size() || byte(i) < low || byte(i) > high) return {0, i, false};
    code = (code << 6) | (byte(i) & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {code, length, true};
}

bool IsControlCharacter(char32_t code) {
  if (code < 0x20 || (code >= 0x7F && code <= 0x9F)) return true;
  if (code < 0x61C) return false;
  return code == 0x61C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

bool IsValidUtf8(std::string_view bytes) {
  while (true) {
    bytes.remove_prefix(AsciiPrefix(bytes));
    if (bytes.empty()) return true;
    Utf8Character next = NextUtf8(bytes);
    if (!next.valid) return false;
    bytes.remove_prefix(next.length);
  }
}

std::string ShowBytes(std::string_view bytes, bool keep_lines) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    Utf8Character next = NextUtf8(bytes);
    bool kept_line = keep_lines && (next.code == '\n' || next.code == '\t');
    if (!next.valid) {
      out += kReplacement;
    } else if (IsControlCharacter(next.code) && !kept_line) {
      AppendEscape(out, next.code);
    } else {
      out += bytes.substr(0, next.length);
    }
    bytes.remove_prefix(next.length);
  }
  return out;
}

std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 100;
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  const std::string* best = nullptr;
  size_t best_distance = std::clamp<size_t>(word.size() / 3, 1, 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    size_t distance = EditDistance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

}  // namespace duecourse
