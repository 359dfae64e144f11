#include "base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/test_folder.h"
#include "base/text.h"

namespace duecourse {
namespace {

class FixedClock : public Clock {
 public:
  Instant Wall() const override { return *ParseUtc("2026-12-01T00:01:00.25Z"); }
  Millis Monotonic() const override { return {}; }
  Millis Boot() const override { return {}; }
};

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    read_ = Fd(ends[0]);
    write_ = Fd(ends[1]);
  }
  std::string Written() {
    std::string out;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 1; n > 0;) {
      n = ::read(read_.get(), buffer.data(), buffer.size());
      if (n > 0) out.append(buffer.data(), static_cast<size_t>(n));
    }
    return out;
  }
  FixedClock clock_;
  Fd read_;
  Fd write_;
};

TEST_F(LogTest, ALineIsJsonWithTimeLevelEventAndFields) {
  Log log(clock_, write_.get(), LogLevel::kInfo);
  log.Debug("hidden");
  log.Warning("clock_stepped", Json().Set("by_ms", 3600000).Set("text", "a\nb\x1b"));
  EXPECT_EQ(Written(),
            "{\"time\":\"2026-12-01T00:01:00.250Z\",\"level\":\"warning\",\"event\":\"clock_stepped\",\"by_"
            "ms\":3600000,"
            "\"text\":\"a\\nb\\u001b\"}\n");
}

TEST_F(LogTest, ASecretNeverReachesTheFileInAnySpelling) {
  RegisterSecret("s3cr\"et\nvalue");
  RegisterSecret("short");  // five bytes: too common a text to replace
  RegisterSecret("token-abc");
  RegisterSecret("token-abc-longer");
  Log log(clock_, write_.get(), LogLevel::kInfo);
  log.Info(
      "x",
      Json().Set("a", "pre s3cr\"et\nvalue post").Set("b", Json().Add("token-abc-longer")).Set("c", "short"));
  std::string line = Written();
  EXPECT_EQ(line.find("s3cr"), std::string::npos) << line;
  EXPECT_EQ(line.find("-longer"), std::string::npos) << line;
  EXPECT_NE(line.find("pre *** post"), std::string::npos) << line;
  EXPECT_NE(line.find("\"short\""), std::string::npos) << line;
  EXPECT_EQ(Redact("url?key=token-abc&x"), "url?key=***&x");
}

// As of a terminal that was stopped, or a log shipper that hangs: its end of the pipe blocks.
TEST_F(LogTest, ALogThatNobodyReadsStopsNobodyAndSaysWhatWasLost) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  read_ = Fd(ends[0]);
  write_ = Fd(ends[1]);
  ASSERT_EQ(::fcntl(read_.get(), F_SETFL, O_NONBLOCK), 0);
  Log log(clock_, write_.get(), LogLevel::kInfo);
  constexpr int kLines = 100;
  const std::string text(50'000, 'x');  // a pipe takes 64 KiB: the second is cut
  for (int i = 0; i < kLines; ++i) log.Info("line", Json().Set("n", i).Set("text", text));
  std::vector<std::string> lines;
  auto take = [&] {
    const std::string written = Written();
    for (std::string_view line : Split(written, '\n')) lines.emplace_back(line);
  };
  take();
  ASSERT_EQ(lines.size(), 2u);
  lines.clear();
  log.Info("after");
  take();
  ASSERT_EQ(lines.size(), 4u);  // the rest of the cut one is never written: a new line ends it
  EXPECT_EQ(lines[0], "");
  EXPECT_NE(lines[1].find(StrCat("\"log_lines_lost\",\"lines\":", kLines - 1)), std::string::npos)
      << lines[1];
  EXPECT_NE(lines[2].find("\"after\""), std::string::npos);
  lines.clear();
  log.Info("again");
  take();
  EXPECT_EQ(lines.size(), 2u);
}

// One line after the other is read, so that there is room again and again, but never for long.
TEST_F(LogTest, ASlowReaderSlowsNobodyDown) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  read_ = Fd(ends[0]);
  write_ = Fd(ends[1]);
  Log log(clock_, write_.get(), LogLevel::kInfo);
  const std::string text(4'000, 'x');
  const int64_t begin_us = MonotonicMicros();
  std::array<char, 4096> page{};
  for (int i = 0; i < 100; ++i) {
    for (int line = 0; line < 3; ++line) log.Info("line", Json().Set("text", text));
    ASSERT_GT(::read(read_.get(), page.data(), page.size()), 0);
  }
  // A tenth of the time at most, and not 100 ms for each line that is lost, which were twenty seconds.
  EXPECT_LT(MonotonicMicros() - begin_us, 10'000'000);
}

TEST_F(LogTest, LinesOfManyThreadsNeverMix) {
  const TestFolder scratch;
  const std::string path = scratch.path() + "/lines";
  Fd file(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  Log log(clock_, file.get(), LogLevel::kInfo);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log, t] {
      for (int i = 0; i < 200; ++i)
        log.Info("line", Json().Set("pad", std::string(static_cast<size_t>(100 + t), 'x')));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string content = *ReadFile(path, 1 << 20);
  ::unlink(path.c_str());
  std::vector<std::string_view> lines = Split(Trim(content), '\n');
  EXPECT_EQ(lines.size(), 800u);
  for (std::string_view line : lines) EXPECT_TRUE(Json::Parse(line).ok()) << line;
}

TEST_F(LogTest, AReaderThatStandsStillDoesNotStopTheWriter) {
  Log log(clock_, write_.get(), LogLevel::kInfo);
  for (int i = 0; i < 3; ++i) log.Info("big", Json().Set("pad", std::string(60'000, 'x')));
  EXPECT_GE(Written().size(), 60'000u);
}

}  // namespace
}  // namespace duecourse
