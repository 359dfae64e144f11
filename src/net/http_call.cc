#include <algorithm>
#include <array>

#include "base/text.h"
#include "net/http_client.h"

namespace duecourse {

const char* HttpErrorName(HttpError error) {
  static constexpr std::array<const char*, 12> kNames = {"none",   "bad_call",  "resolve",   "connect",
                                                         "tls",    "timeout",   "too_large", "redirect_loop",
                                                         "broken", "cancelled", "other",     "forbidden"};
  return kNames[static_cast<size_t>(error)];
}

static std::string PercentDecoded(std::string_view text) {
  auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const int lower = c | 32;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? digit(text[i + 1]) : -1;
    const int low = high >= 0 ? digit(text[i + 2]) : -1;
    out.push_back(low >= 0 ? static_cast<char>(high * 16 + low) : text[i]);
    if (low >= 0) i += 2;
  }
  return out;
}

// RFC 4648, section 4.
static std::string Base64(std::string_view bytes) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t there = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < there ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out.push_back(k <= there ? kDigits[group >> (18 - 6 * k) & 63] : '=');
  }
  return out;
}

HttpUrlParts SplitHttpUrl(const std::string& url) {
  HttpUrlParts parts{url, ""};
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return parts;
  const size_t begin = scheme + 3;
  const std::string_view authority = std::string_view(url).substr(begin, url.find_first_of("/?#\\", begin) - begin);
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return parts;
  const std::string_view login = authority.substr(0, at);
  const size_t colon = login.find(':');
  const std::string user = PercentDecoded(login.substr(0, colon));
  const std::string password = colon == std::string_view::npos ? "" : PercentDecoded(login.substr(colon + 1));
  parts.login = "Basic " + Base64(StrCat(user, ":", password));
  parts.bare = url.substr(0, begin) + url.substr(begin + at + 1);
  return parts;
}

std::string HttpClientCallFault(const HttpClientCall& call) {
  if (!call.url.starts_with("http://") && !call.url.starts_with("https://")) {
    return "the url does not begin with http:// or https://";
  }
  if (std::any_of(call.url.begin(), call.url.end(),
                  [](char c) { return static_cast<unsigned char>(c) <= 0x20; })) {
    return "the url has a space or control character in it";
  }
  if (!IsHttpToken(call.method)) return "the method is no word";
  for (const HttpHeader& header : call.headers) {
    if (!IsHeaderSafe(header))
      return StrCat("the header \"", ShowBytes(header.name, false), "\" has characters not allowed");
  }
  return {};
}

}  // namespace duecourse
