#include "net/http_head.h"

#include <algorithm>

#include "base/text.h"
#include "net/http_message.h"

namespace duecourse {
namespace {

constexpr size_t kMaxTarget = 8u << 10;

struct Judge {
  HttpHead head;
  bool old = false;  // HTTP/1.0
  int hosts = 0;
  bool has_length = false;

  // Keeps the first refusal.
  void Refuse(int status, std::string fault) {
    if (head.refusal != 0) return;
    head.refusal = status;
    head.fault = std::move(fault);
  }
  void RequestLine(std::string_view line);
  void Header(std::string_view line);
  void Known(const std::string& name, std::string_view value);
  void Whole();
};

void Judge::RequestLine(std::string_view line) {
  std::vector<std::string_view> parts = Split(line, ' ');
  if (parts.size() != 3 || !IsHttpToken(parts[0])) return Refuse(400, "the request line is malformed");
  if (parts[1].size() > kMaxTarget) return Refuse(414, "the address is too long");
  auto is_plain = [](char c) { return c > 0x20 && c < 0x7F; };
  if (parts[1].empty() || !std::all_of(parts[1].begin(), parts[1].end(), is_plain)) {
    return Refuse(400, "the address has characters that must be percent-encoded");
  }
  old = parts[2] == "HTTP/1.0";
  if (!old && parts[2] != "HTTP/1.1") Refuse(505, "only HTTP/1.1 and HTTP/1.0 are spoken here");
}

void Judge::Header(std::string_view line) {
  if (line.starts_with(' ') || line.starts_with('\t'))
    return Refuse(400, "a header is folded over two lines");
  size_t colon = line.find(':');
  if (colon == std::string_view::npos) return Refuse(400, "a header has no colon");
  std::string_view name = line.substr(0, colon);
  if (!IsHttpToken(name)) return Refuse(400, "a header's name is malformed");
  Known(AsciiLower(name), Trim(line.substr(colon + 1)));
}

void Judge::Known(const std::string& name, std::string_view value) {
  std::string lower = AsciiLower(value);
  if (name == "host") {
    ++hosts;
  } else if (name == "content-length") {
    if (has_length) return Refuse(400, "Content-Length stands twice");
    has_length = true;
    head.content_length = ParseInteger(value);
    if (!head.content_length || *head.content_length < 0) Refuse(400, "Content-Length is no length");
  } else if (name == "transfer-encoding") {
    if (head.chunked || lower != "chunked")
      return Refuse(400, "only Transfer-Encoding: chunked is understood");
    head.chunked = true;
  } else if (name == "content-encoding") {
    if (lower != "identity") Refuse(415, "encoded bodies are not accepted; send it plain");
  } else if (name == "expect") {
    if (lower != "100-continue") return Refuse(417, "this expectation is not met here");
    head.expects_continue = true;
  }
}

void Judge::Whole() {
  if (head.chunked && has_length) Refuse(400, "both Content-Length and Transfer-Encoding are given");
  if (head.chunked && old) Refuse(400, "HTTP/1.0 has no Transfer-Encoding");
  if (hosts > 1 || (hosts == 0 && !old)) Refuse(400, "exactly one Host header is needed");
}

// The first line of rest, taken off it; nothing where it does not end in CR LF alone or has other controls in
// it.
std::optional<std::string_view> TakeLine(std::string_view& rest) {
  size_t end = 0;
  while (end < rest.size()) {
    auto byte = static_cast<unsigned char>(rest[end]);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7F) break;
    ++end;
  }
  if (rest.substr(end, 2) != "\r\n") return std::nullopt;
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line;
}

}  // namespace

HttpHead JudgeHead(std::string_view head, int max_lines) {
  Judge judge;
  for (int lines = 0;; ++lines) {
    std::optional<std::string_view> line = TakeLine(head);
    if (!line) {
      judge.Refuse(400, "a control character, or a line that does not end in CR LF");
      break;
    }
    if (line->empty() && lines > 0) break;
    if (lines > max_lines) {
      judge.Refuse(431, StrCat("more than ", max_lines, " headers"));
      break;
    }
    if (lines == 0) {
      judge.RequestLine(*line);
    } else {
      judge.Header(*line);
    }
  }
  judge.Whole();
  return judge.head;
}

}  // namespace duecourse
