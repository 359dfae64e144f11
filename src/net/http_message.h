// What client and server share: headers as they stand in a message, in order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace duecourse {

struct HttpHeader {
  std::string name;
  std::string value;
};

// The first header of that name, case aside; nullptr where there is none.
const std::string* FindHeader(const std::vector<HttpHeader>& headers, std::string_view name);
// A name is an RFC 9110 token, a value has no control characters: nothing can end the header early.
bool IsHeaderSafe(const HttpHeader& header);
bool IsHttpToken(std::string_view text);

}  // namespace duecourse
