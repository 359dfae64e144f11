#include "net/http_message.h"

#include <algorithm>

#include "base/text.h"

namespace duecourse {

const std::string* FindHeader(const std::vector<HttpHeader>& headers, std::string_view name) {
  std::string wanted = AsciiLower(name);
  for (const HttpHeader& header : headers) {
    if (header.name.size() == wanted.size() && AsciiLower(header.name) == wanted) return &header.value;
  }
  return nullptr;
}

bool IsHttpToken(std::string_view text) {
  constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kSigns.find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

bool IsHeaderSafe(const HttpHeader& header) {
  auto is_control = [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F; };
  return IsHttpToken(header.name) && std::none_of(header.value.begin(), header.value.end(), is_control);
}

}  // namespace duecourse
