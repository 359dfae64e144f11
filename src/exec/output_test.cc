#include "exec/output.h"

#include <gtest/gtest.h>

#include "exec/test_harness.h"

namespace duecourse {
namespace {

class OutputTest : public ::testing::Test {
 protected:
  void Store(const std::string& run, int attempt, const std::string& out, Instant keep_until) {
    Capture captured_out(10), captured_err(10);
    captured_out.Add(out);
    Status stored = StoreOutput({folder_.path(), run, attempt, captured_out, captured_err, keep_until});
    ASSERT_TRUE(stored.ok()) << stored.error().message();
  }
  CapturedOutput Read(const std::string& run, int attempt) {
    Result<CapturedOutput> output = ReadOutput(folder_.path(), run, attempt);
    EXPECT_TRUE(output.ok());
    return output.ok() ? *output : CapturedOutput();
  }
  static Instant At(const char* text) { return ParseUtc(text).value(); }

  TestFolder folder_;
};

TEST_F(OutputTest, ComesBackAsItWas) {
  const std::string bytes("a\0\xff", 3);
  Store("r1", 2, bytes, At("2026-03-01T00:00:00Z"));
  CapturedOutput output = Read("r1", 2);
  EXPECT_TRUE(output.stored);
  EXPECT_EQ(output.out, bytes);
  EXPECT_EQ(output.out_sha256, Sha256Hex(bytes));
  EXPECT_EQ(output.err, "");
  EXPECT_EQ(output.err_sha256, Sha256Hex(""));
}

TEST_F(OutputTest, SaysWhereBytesAreMissing) {
  Store("r1", 1, "0123456789abc", At("2026-03-01T00:00:00Z"));
  CapturedOutput output = Read("r1", 1);
  EXPECT_EQ(output.out, "0123489abc");
  EXPECT_EQ(output.out_head, 5);
  EXPECT_EQ(output.out_dropped, 3);
  EXPECT_EQ(output.out_bytes, 13);
}

// Registered secrets stay registered, so they are the test's own.
TEST_F(OutputTest, ASecretIsMaskedWhereverItLies) {
  RegisterSecret("hunter22");
  Store("r1", 1, "a hunter2", At("2026-03-01T00:00:00Z"));
  EXPECT_EQ(Read("r1", 1).out, "a hunter2") << "no secret";
  struct Row {
    const char* written;
    const char* kept;  // of ten bytes: five of the begin, five of the end
  };
  const Row rows[] = {{"hunter22", "***"},                // over the border, and nothing was dropped
                      {"x hunter22", "x ***"},            //
                      {"xhunter22-----", "x***-----"},    // the head keeps its begin
                      {"12345...hunter22", "12345***"},   // the tail keeps its end
                      {"12345.....hunter22.", "12345***."}};
  int attempt = 2;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.written);
    Store("r1", attempt, row.written, At("2026-03-01T00:00:00Z"));
    CapturedOutput output = Read("r1", attempt++);
    EXPECT_EQ(output.out, row.kept);
    EXPECT_EQ(output.out_bytes, static_cast<int64_t>(std::string(row.written).size()));
    EXPECT_EQ(output.out_sha256, Sha256Hex(row.written)) << "the hash is of what was written";
  }
}

TEST_F(OutputTest, NothingWrittenStoresNothing) {
  Store("r1", 1, "", At("2026-03-01T00:00:00Z"));
  EXPECT_FALSE(FolderExists(folder_ / "output"));
  EXPECT_FALSE(Read("r1", 1).stored);
}

TEST_F(OutputTest, ARunIdThatIsAPathIsRefused) {
  for (const char* run : {"", "../r1", "a/b", "."})
    EXPECT_FALSE(ReadOutput(folder_.path(), run, 1).ok()) << run;
}

TEST_F(OutputTest, OneThatWasCutOffIsAnErrorAndNoShortOutput) {
  Store("r1", 1, "0123456789", At("2026-03-01T00:00:00Z"));
  const std::string path = folder_ / "output/r1/r1.1";
  const uint64_t size = std::filesystem::file_size(path);
  for (uint64_t left : {size - 1, size - 11, uint64_t{5}, uint64_t{0}}) {
    std::filesystem::resize_file(path, left);
    EXPECT_FALSE(ReadOutput(folder_.path(), "r1", 1).ok()) << left;
  }
}

TEST_F(OutputTest, GoesWhenItsDayIsOver) {
  Store("r1", 1, "x", At("2026-03-01T10:00:00Z"));
  Store("r1", 2, "x", At("2026-03-03T10:00:00Z"));
  Store("r2", 1, "x", At("2026-03-01T23:59:59Z"));
  EXPECT_EQ(PruneOutputs(folder_.path(), At("2026-03-01T23:59:59Z")), 0);
  EXPECT_TRUE(Read("r1", 1).stored);
  EXPECT_EQ(PruneOutputs(folder_.path(), At("2026-03-02T00:00:00Z")), 2);
  EXPECT_FALSE(Read("r1", 1).stored);
  EXPECT_TRUE(Read("r1", 2).stored);
  EXPECT_EQ(PruneOutputs(folder_.path(), At("2026-03-02T00:00:00Z")), 0);
  EXPECT_EQ(PruneOutputs(folder_.path(), At("2026-03-10T00:00:00Z")), 1);
  EXPECT_FALSE(Read("r1", 2).stored);
}

TEST_F(OutputTest, ManyGoInBoundedSteps) {
  constexpr int kCount = 2500;
  for (int i = 0; i < kCount; ++i)
    Store(StrCat("r0123456789abcdef0123", i), 1, "x", At("2026-03-01T10:00:00Z"));
  const Instant later = At("2026-04-01T00:00:00Z");
  EXPECT_EQ(PruneOutputs(folder_.path(), later), kPruneMax);
  EXPECT_EQ(PruneOutputs(folder_.path(), later), kPruneMax);
  EXPECT_EQ(PruneOutputs(folder_.path(), later), kCount - 2 * kPruneMax);
  EXPECT_EQ(PruneOutputs(folder_.path(), later), 0);
  for (int i = 0; i < kCount; i += 99) EXPECT_FALSE(Read(StrCat("r0123456789abcdef0123", i), 1).stored);
}

TEST_F(OutputTest, ALineThatIsNotOursRemovesNothing) {
  Store("r1", 1, "x", At("2026-03-01T10:00:00Z"));
  ASSERT_TRUE(WriteFileAtomic(folder_ / "precious.json", "x", false).ok());
  ASSERT_TRUE(
      WriteFileAtomic(folder_ / "output/keep/2026-02-01", "../ 1\n.. precious\nr1\n\nr1 1", false).ok());
  PruneOutputs(folder_.path(), At("2026-02-20T00:00:00Z"));
  EXPECT_TRUE(FileExists(folder_ / "precious.json"));
}

}  // namespace
}  // namespace duecourse
