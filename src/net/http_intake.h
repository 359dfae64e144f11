// What a client takes of an answer while it comes in, piece by piece: its headers and its body, each within a
// bound, and what is wrong with either. A broken answer is broken for good, whatever its status says: the
// caller must end the call. Pure; one thread at a time.
//
// RFC 9112: a message with two lengths has none that can be trusted (6.3, item 5), and what follows the last
// chunk (7.1.2) is counted with the headers but never taken for one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_message.h"

namespace duecourse {

inline constexpr size_t kHttpMaxAnswerHeaderBytes = 256u << 10;

class HttpIntake {
 public:
  // keep: of the body, from its beginning. read: of the body in all; what is between is counted and let go.
  HttpIntake(size_t keep, size_t read) : keep_(keep), read_(read < keep ? keep : read) {}

  // One line with its end, as it came: a status line, a header, the empty line after them, a line of the
  // trailer. False: the answer is unusable, and so it stays.
  bool TakeLine(std::string_view line);
  // The same of a piece of the body.
  bool TakeBody(std::string_view piece);

  enum class Fault { kNone, kTooLarge, kBroken };
  Fault fault() const { return fault_; }
  const std::string& fault_text() const { return fault_text_; }  // for people
  bool any_line() const { return header_bytes_ > 0; }
  size_t body_bytes() const { return body_bytes_; }  // of all that came
  // Of the last answer of the call: interim ones and redirects come before it.
  std::vector<HttpHeader>& headers() { return headers_; }
  std::string& body() { return body_; }

 private:
  bool Fail(Fault fault, std::string text);
  bool TakeLength(std::string_view value);

  size_t keep_;
  size_t read_;
  Fault fault_ = Fault::kNone;
  std::string fault_text_;
  size_t header_bytes_ = 0;  // of all answers of the call
  size_t body_bytes_ = 0;
  bool in_head_ = false;
  std::string length_;  // what Content-Length said
  std::vector<HttpHeader> headers_;
  std::string body_;
};

}  // namespace duecourse
