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
