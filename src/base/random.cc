#include "base/random.h"

#include <sys/random.h>

#include <array>
#include <bit>
#include <cerrno>

#include "base/check.h"

namespace duecourse {
namespace {

void FillFromKernel(void* out, size_t size) {
  auto* bytes = static_cast<unsigned char*>(out);
  while (size > 0) {
    ssize_t n = ::getrandom(bytes, size, 0);
    if (n < 0) {
      CHECK(errno == EINTR);
      continue;
    }
    bytes += n;
    size -= static_cast<size_t>(n);
  }
}

}  // namespace

Random::Random(uint64_t seed) {
  for (uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15u;
    uint64_t mixed = seed;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    word = mixed ^ (mixed >> 31);
  }
}

uint64_t Random::Next() {
  uint64_t out = std::rotl(state_[1] * 5, 7) * 9;
  uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return out;
}

int64_t Random::Between(int64_t low, int64_t high) {
  CHECK(low <= high);
  uint64_t size = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  if (size == 0) return static_cast<int64_t>(Next());  // all of int64
  // Numbers past the last whole multiple of size are drawn again, so that no result is likelier than another.
  uint64_t limit = UINT64_MAX - UINT64_MAX % size;
  uint64_t drawn = Next();
  while (drawn >= limit) drawn = Next();
  return static_cast<int64_t>(static_cast<uint64_t>(low) + drawn % size);
}

uint64_t RandomSeed() {
  uint64_t seed = 0;
  FillFromKernel(&seed, sizeof seed);
  return seed;
}

std::string SecureToken(int n_bytes) {
  CHECK(n_bytes >= 0);
  std::string bytes(static_cast<size_t>(n_bytes), '\0');
  FillFromKernel(bytes.data(), bytes.size());
  std::string hex;
  for (char c : bytes) {
    hex += "0123456789abcdef"[(static_cast<unsigned char>(c) >> 4) & 0xF];
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 0xF];
  }
  return hex;
}

}  // namespace duecourse
