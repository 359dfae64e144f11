#include "net/retry_after.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

#include "base/text.h"

namespace duecourse {
namespace {

// Two or four digits at a place; -1 where they are none.
int Digits(std::string_view text, size_t at, size_t count) {
  int value = 0;
  for (char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the one form of a date that senders may write today.
std::optional<Instant> ParseHttpDate(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  constexpr std::string_view kForm = "Sun, 06 Nov 1994 08:49:37 GMT";
  if (text.size() != kForm.size() || !text.ends_with(" GMT")) return std::nullopt;
  for (size_t i : {3u, 4u, 7u, 11u, 16u, 19u, 22u}) {
    if (text[i] != kForm[i]) return std::nullopt;
  }
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(8, 3));
  std::tm parts{};
  parts.tm_mday = Digits(text, 5, 2);
  parts.tm_mon = static_cast<int>(month - kMonths.begin());
  parts.tm_year = Digits(text, 12, 4) - 1900;
  parts.tm_hour = Digits(text, 17, 2);
  parts.tm_min = Digits(text, 20, 2);
  parts.tm_sec = Digits(text, 23, 2);
  const bool sound = month != kMonths.end() && parts.tm_mday >= 1 && parts.tm_mday <= 31 &&
                     parts.tm_year >= 0 && parts.tm_hour >= 0 && parts.tm_hour < 24 && parts.tm_min >= 0 &&
                     parts.tm_min < 60 && parts.tm_sec >= 0 && parts.tm_sec <= 60;
  if (!sound) return std::nullopt;
  return Instant{} + Seconds(::timegm(&parts));
}

}  // namespace

std::optional<Millis> RetryAfterOf(const std::vector<HttpHeader>& headers, Instant now) {
  const std::string* header = FindHeader(headers, "Retry-After");
  if (header == nullptr) return std::nullopt;
  const std::string_view text = Trim(*header);
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) {
    // More digits than a number can hold mean "very long", not "unreadable".
    constexpr size_t kMostDigits = 12;
    int64_t seconds = 0;
    for (char c : text.substr(0, kMostDigits)) seconds = seconds * 10 + (c - '0');
    return Seconds(seconds);
  }
  const std::optional<Instant> date = ParseHttpDate(text);
  if (!date.has_value()) return std::nullopt;
  return std::max(Millis{0}, *date - now);
}

}  // namespace duecourse
