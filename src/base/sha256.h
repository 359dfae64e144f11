// SHA-256 after FIPS 180-4, for content that comes in pieces. For content
// hashes; nothing secret depends on its timing. A value; one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace duecourse {

class Sha256 {
 public:
  Sha256();
  void Add(std::string_view bytes);
  // Lower-case hex of all that was added. Adding may go on afterwards.
  std::string Hex() const;

 private:
  static constexpr size_t kBlock = 64;
  std::array<uint32_t, 8> state_;
  std::array<unsigned char, kBlock> rest_{};  // bytes that do not fill a block yet
  size_t rest_size_ = 0;
  uint64_t size_ = 0;  // bytes added in all
};

}  // namespace duecourse
