// Judges the head of a request (request line and headers, with the empty line that ends it) before a parser
// sees it. Parsers forgive what another program in the chain may read differently, and that is how requests
// are smuggled; here every doubt is a refusal. Pure; RFC 9112 and GUARANTEES 7.2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace duecourse {

struct HttpHead {
  int refusal = 0;    // the status to refuse with, or 0
  std::string fault;  // why, for the client
  std::optional<int64_t> content_length;
  bool chunked = false;
  bool expects_continue = false;
};

HttpHead JudgeHead(std::string_view head, int max_lines);

}  // namespace duecourse
