// Seeded randomness with the same numbers on every machine (xoshiro256**
// seeded by splitmix64; the standard library's distributions are not portable).
// Not for secrets: those come from SecureToken.
#pragma once

#include <cstdint>
#include <string>

namespace duecourse {

class Random {
 public:
  explicit Random(uint64_t seed);
  uint64_t Next();
  // Uniform in [low, high], both included. CHECKs low <= high.
  int64_t Between(int64_t low, int64_t high);

 private:
  uint64_t state_[4];
};

// A seed from the kernel, for daemons.
uint64_t RandomSeed();
// n_bytes from the kernel as lower-case hex.
std::string SecureToken(int n_bytes);

}  // namespace duecourse
