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
  auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1; };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? digit(text[i + 1]) : -1;
    const int low = high >= 0 ? digit(text[i + 2]) : -1;
    out.push_back(low >= 0 ? static_cast<char>(high * 16 + low) : text[i]);
    if (low >= 0) i += 2;
  }
  return out;
}

HttpUrlParts SplitHttpUrl(const std::string& url) {
  HttpUrlParts parts{url, "", ""};
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) return parts;
  const size_t begin = scheme + 3;
  const std::string_view authority = std::string_view(url).substr(begin, url.find_first_of("/?#\\", begin) - begin);
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return parts;
  const std::string_view login = authority.substr(0, at);
  const size_t colon = login.find(':');
  parts.user = PercentDecoded(login.substr(0, colon));
  if (colon != std::string_view::npos) parts.password = PercentDecoded(login.substr(colon + 1));
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
