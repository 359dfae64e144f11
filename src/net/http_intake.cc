#include "net/http_intake.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace duecourse {

bool HttpIntake::Fail(Fault fault, std::string text) {
  if (fault_ == Fault::kNone) {
    fault_ = fault;
    fault_text_ = std::move(text);
  }
  return false;
}

bool HttpIntake::TakeLength(std::string_view value) {
  // One that repeats itself is one (RFC 9110, 8.6); it may do so in one line too.
  for (std::string_view part : Split(value, ',')) {
    part = Trim(part);
    const bool digits =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) {
      return Fail(Fault::kBroken, StrCat("its Content-Length \"", ShowBytes(part.substr(0, 40), false),
                                         "\" is no number of bytes"));
    }
    part.remove_prefix(std::min(part.find_first_not_of('0'), part.size() - 1));
    if (!length_.empty() && length_ != part) {
      return Fail(Fault::kBroken, StrCat("it has two lengths, Content-Length ", length_.substr(0, 20),
                                         " and ", part.substr(0, 20)));
    }
    length_ = part;
  }
  return true;
}

bool HttpIntake::TakeLine(std::string_view line) {
  if (fault_ != Fault::kNone) return false;
  header_bytes_ += line.size();
  if (header_bytes_ > kHttpMaxAnswerHeaderBytes) {
    return Fail(Fault::kTooLarge, StrCat("the answer's headers have more than ", kHttpMaxAnswerHeaderBytes,
                                         " bytes, or no end"));
  }
  if (!in_head_ && line.starts_with("HTTP/")) {  // what an interim answer or a redirect said is over
    in_head_ = true;
    headers_.clear();
    length_.clear();
    return true;
  }
  if (!in_head_) return true;  // the trailer
  if (Trim(line).empty()) {
    in_head_ = false;
    return true;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  headers_.push_back({std::string(Trim(line.substr(0, colon))), std::string(Trim(line.substr(colon + 1)))});
  const HttpHeader& header = headers_.back();
  return AsciiLower(header.name) != "content-length" || TakeLength(header.value);
}

bool HttpIntake::TakeBody(std::string_view piece) {
  if (fault_ != Fault::kNone) return false;
  body_.append(piece.substr(0, keep_ - std::min(body_.size(), keep_)));
  body_bytes_ += piece.size();
  if (body_bytes_ <= read_) return true;
  return Fail(Fault::kTooLarge, StrCat("the answer's body is larger than ", read_, " bytes"));
}

}  // namespace duecourse
