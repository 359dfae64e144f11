#include "base/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace duecourse {
namespace {

TEST(Sha256Test, PiecesOfAnySizeGiveTheHashOfTheWhole) {
  std::string whole;
  for (int i = 0; i < 1000; ++i) whole += static_cast<char>(i * 7);
  for (size_t piece : {1u, 3u, 55u, 56u, 63u, 64u, 65u, 128u, 999u}) {
    Sha256 hash;
    std::string_view left = whole;
    while (!left.empty()) {
      const size_t taken = std::min(piece, left.size());
      hash.Add(left.substr(0, taken));
      left.remove_prefix(taken);
      // Asking in between changes nothing.
      EXPECT_EQ(hash.Hex(), Sha256Hex(std::string_view(whole).substr(0, whole.size() - left.size())));
    }
    EXPECT_EQ(hash.Hex(), Sha256Hex(whole)) << piece;
  }
}

TEST(Sha256Test, TheEdgesOfABlockArePadded) {
  // As coreutils' sha256sum says.
  EXPECT_EQ(Sha256Hex(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(Sha256Hex(std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(Sha256Hex(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

}  // namespace
}  // namespace duecourse
