// Small text work that every room needs. No locale, no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace duecourse {

template <typename T>
inline std::string_view AsText(const T& value)
  requires std::is_convertible_v<T, std::string_view>
{
  return value;
}
template <typename T>
inline std::string AsText(T value)
  requires std::is_arithmetic_v<T>
{
  return std::to_string(value);
}
// StrCat("run ", id, " attempt ", 3)
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  std::string out;
  ((out += AsText(parts)), ...);
  return out;
}

std::string_view Trim(std::string_view text);  // spaces, tabs, line ends
std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string AsciiLower(std::string_view text);
// Whole text as a decimal integer in int64, else nothing. No sign '+', no spaces, no leading zeros but "0".
std::optional<int64_t> ParseInteger(std::string_view text);

// The character at the front of non-empty bytes. Where they are no UTF-8 (overlong, surrogate, cut off, beyond U+10FFFF),
// valid is false and length is how many bytes one U+FFFD stands for.
struct Utf8Character {
  char32_t code = 0;
  size_t length = 1;
  bool valid = false;
};
Utf8Character NextUtf8(std::string_view bytes);
// Characters that change what a reader sees instead of being seen: C0 and C1 controls, DEL, bidi marks and overrides,
// line and paragraph separators, a byte-order mark.
bool IsControlCharacter(char32_t code);
bool IsValidUtf8(std::string_view bytes);
// Bytes made safe to show: invalid UTF-8 becomes U+FFFD, control characters (NUL, escape, bidi overrides) become
// visible escapes such as \x1b; newline and tab stay when keep_lines is true.
std::string ShowBytes(std::string_view bytes, bool keep_lines);

// The candidate nearest to word, if near enough to be a misspelling of it; for "did you mean".
std::optional<std::string> Nearest(std::string_view word, const std::vector<std::string>& candidates);

// Hex of SHA-256, for content hashes.
std::string Sha256Hex(std::string_view bytes);

}  // namespace duecourse
