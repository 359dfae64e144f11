#include "probe/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "probe/test_prober.h"

namespace duecourse {
namespace {

class FileProbeTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeFolders(folder_ + "/in", 0700).ok()); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string In(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomic(In(name), text, false).ok());
  }
  void SetModified(const std::string& name, const std::string& utc) {
    const Instant at = *ParseUtc(utc);
    const timespec times[2] = {{0, UTIME_OMIT}, {at.ms / 1000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, In(name).c_str(), times, 0), 0);
  }
  FileCheck Check(const std::string& name) const {
    FileCheck check;
    check.path = In(name);
    check.folder = folder_;
    check.bounds.homes = {folder_};
    check.name = ShortName(check.path, folder_);
    check.time = {*ParseUtc("2026-03-02T08:00:00Z"), MonotonicMicros(), 1.0};
    return check;
  }
  std::string Ask(const FileCheck& check) {
    const std::atomic<bool> cancelled = false;
    const Observation found = CheckFile(check, steady_, cancelled);
    return StrCat(AnswerName(found.answer), " ", found.code, ": ", found.text);
  }

  const std::string folder_ =
      std::filesystem::canonical(testing::TempDir()).string() + "/file_probe_" + SecureToken(6);
  SteadyFiles steady_;
};

TEST_F(FileProbeTest, WhatIsNoReadableRegularFileIsNamed) {
  Write("target", "x");
  ASSERT_EQ(::mkfifo(In("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("loop", In("loop").c_str()), 0);
  ASSERT_EQ(::symlink("gone", In("dangling").c_str()), 0);
  ASSERT_EQ(::symlink("/dev/zero", In("zero").c_str()), 0);
  struct Row {
    const char* name;
    const char* found;
  };
  const Row rows[] = {
      {"none.csv", "no missing: none.csv is not there"},
      {"target/below", "no missing: target/below is not there"},
      {"dangling", "no missing: dangling is a link to gone, which is not there"},
      {"in", "failed not_regular: in is a folder, not a regular file"},
      {"fifo", "failed not_regular: fifo is a FIFO, not a regular file"},
      {"zero", "failed not_regular: zero is a device, not a regular file"},
      {"loop", "failed unresolved: loop cannot be resolved: its links go round in a circle"},
  };
  for (const Row& row : rows) {
    FileCheck check = Check(row.name);
    check.bounds.roots = {"/"};
    EXPECT_EQ(Ask(check), row.found);
  }
  FileCheck check = Check("none.csv");
  check.must_exist = false;
  EXPECT_EQ(Ask(check), "yes met: none.csv is not there and need not be");
  for (const char* path : {"/proc/self/environ", "/proc/self/status"}) {
    check.path = path;
    check.name = path;
    EXPECT_EQ(Ask(check), StrCat("failed not_regular: ", path, " is a file of the kernel, no data"));
  }
}

TEST_F(FileProbeTest, AFileWithoutPermissionSaysSo) {
  Write("secret", "x");
  ASSERT_EQ(::chmod(In("secret").c_str(), 0), 0);
  // Root may read everything, so this thread becomes somebody else for the file system; for others that is a
  // no-op.
  const int former = ::setfsuid(65534);
  const std::string found = Ask(Check("secret"));
  ::setfsuid(static_cast<uid_t>(former));
  EXPECT_EQ(found, "failed unreadable: secret cannot be read: permission denied");
}

TEST_F(FileProbeTest, LinksAreFollowedButNeverOutOfTheRoots) {
  Write("in/today.csv", "x\n");
  Write("outside.csv", "x\n");
  ASSERT_EQ(::symlink("today.csv", In("in/latest.csv").c_str()), 0);
  ASSERT_EQ(::symlink("../outside.csv", In("in/escape.csv").c_str()), 0);
  ASSERT_EQ(::symlink("in", In("alias").c_str()), 0);
  struct Row {
    const char* name;
    const char* starts;
  };
  const Row rows[] = {
      {"in/today.csv", "yes met"},         {"in/latest.csv", "yes met"},
      {"alias/today.csv", "yes met"},      {"in/escape.csv", "failed forbidden: in/escape.csv leads to "},
      {"outside.csv", "failed forbidden"}, {"in/../outside.csv", "failed forbidden"}};
  for (const Row& row : rows) {
    FileCheck check = Check(row.name);
    check.bounds.roots = {In("in"), "/no/such/root"};
    EXPECT_TRUE(Ask(check).starts_with(row.starts)) << Ask(check);
    check.bounds.roots = {In("alias")};  // a root may be a link itself
    EXPECT_TRUE(Ask(check).starts_with(row.starts)) << Ask(check);
    check.bounds.roots = {};
    EXPECT_TRUE(Ask(check).starts_with("yes met")) << Ask(check);
  }
  // A root's name is no prefix of its neighbour's.
  ASSERT_TRUE(MakeFolders(In("in2"), 0700).ok());
  Write("in2/x", "x");
  FileCheck check = Check("in2/x");
  check.bounds.roots = {In("in")};
  EXPECT_TRUE(Ask(check).starts_with("failed forbidden")) << Ask(check);
}

TEST_F(FileProbeTest, WithoutRootsALinkLeadsNowhereElseAndLittleIsTold) {
  ASSERT_TRUE(MakeFolders(In("settings/in"), 0700).ok());
  ASSERT_TRUE(MakeFolders(In("drop/archive"), 0700).ok());
  Write("shadow", "root:*:20228:0:99999:7:::\n");
  Write("settings/own.csv", "own\n");
  Write("drop/today.csv", "2026-03-01\n");
  Write("drop/archive/old.csv", "2026-03-01\n");
  const std::pair<const char*, const char*> links[] = {
      {"../shadow", "drop/evil.csv"},           {"archive/old.csv", "drop/latest.csv"},
      {"../../drop", "settings/in/drop"},       {"../../shadow", "settings/in/evil.csv"},
      {"../own.csv", "settings/in/latest.csv"}, {"../drop", "settings/feed"}};
  for (const auto& link : links) ASSERT_EQ(::symlink(link.first, In(link.second).c_str()), 0);
  struct Row {
    const char* name;
    const char* found;
  };
  const Row rows[] = {
      {"drop/evil.csv", "failed forbidden: drop/evil.csv is a link out of its folder, to "},
      {"settings/in/evil.csv", "failed forbidden: "},
      {"drop/today.csv", "invalid content_wrong: drop/today.csv: first line is not what was asked for, zz ("},
      {"drop/latest.csv", "invalid content_wrong: drop/latest.csv: first line is not what was asked for"},
      {"settings/feed/today.csv", "invalid content_wrong: settings/feed/today.csv: first line is not what"},
      {"settings/in/drop/evil.csv", "failed forbidden: "},
      {"settings/own.csv", "invalid content_wrong: settings/own.csv: first line own != zz"},
      {"settings/in/latest.csv", "invalid content_wrong: settings/in/latest.csv: first line own != zz"},
  };
  for (const Row& row : rows) {
    FileCheck check = Check(row.name);
    check.bounds.homes = {In("settings")};
    check.first_line = "zz";
    const std::string found = Ask(check);
    EXPECT_TRUE(found.starts_with(row.found)) << found;
    EXPECT_EQ(found.find("root:"), std::string::npos) << found;
    EXPECT_EQ(found.find("2026-03-01"), std::string::npos) << found;
  }
  FileCheck check = Check("drop/today.csv");
  check.bounds.homes = {};
  check.checksum = Sha256Hex("other");
  EXPECT_EQ(Ask(check), "invalid content_wrong: drop/today.csv: checksum is not the one that was asked for");
  check.first_line = "2026-03-01";
  check.checksum = Sha256Hex("2026-03-01\n");
  EXPECT_TRUE(Ask(check).starts_with("yes met")) << Ask(check);
  Write("long.csv", std::string(500, 'x'));
  check = Check("long.csv");
  check.first_line = "zz";
  EXPECT_LT(Ask(check).size(), 200u) << Ask(check);
}

TEST_F(FileProbeTest, ContentIsHeldAgainstAllThatIsAsked) {
  const std::string text =
      "\xEF\xBB\xBF"
      "date,2026-03-02,orders\r\na\r\nb\r\n\r\nc";
  Write("in/o.csv", text);
  const std::string sum = Sha256Hex(text);
  struct Row {
    const char* asks;
    void (*set)(FileCheck&);
    const char* found;  // the start of it; nullptr: yes
  };
  const Row rows[] = {
      {"nothing", [](FileCheck&) {}, nullptr},
      {"enough rows, blank ones do not count", [](FileCheck& c) { c.min_rows = 4; }, nullptr},
      {"too few rows", [](FileCheck& c) { c.min_rows = 5; }, "in/o.csv: too few rows: 4 < 5"},
      {"enough bytes", [](FileCheck& c) { c.min_bytes = 36; }, nullptr},
      {"too few bytes", [](FileCheck& c) { c.min_bytes = 1024; }, "in/o.csv: too small: 36 bytes < 1024"},
      {"the whole first line", [](FileCheck& c) { c.first_line = "date,2026-03-02,orders"; }, nullptr},
      {"a word of it", [](FileCheck& c) { c.first_line = "2026-03-02"; }, nullptr},
      {"no word of it", [](FileCheck& c) { c.first_line = "order"; },
       "in/o.csv: first line date,2026-03-02,orders has no order in it as a word of its own"},
      {"yesterday's", [](FileCheck& c) { c.first_line = "2026-03-03"; },
       "in/o.csv: first line date,2026-03-02,orders has no 2026-03-03 in it"},
      {"all that failed",
       [](FileCheck& c) {
         c.first_line = "2026-03-03";
         c.min_bytes = 99;
         c.min_rows = 9;
       },
       "in/o.csv: too small: 36 bytes < 99; first line date,2026-03-02,orders has no 2026-03-03 in it; too "
       "few rows: 4 "
       "< 9"},
  };
  for (const Row& row : rows) {
    FileCheck check = Check("in/o.csv");
    row.set(check);
    const std::string found = Ask(check);
    const std::string wanted = row.found == nullptr ? "yes met: in/o.csv: 36 bytes, modified "
                                                    : StrCat("invalid content_wrong: ", row.found);
    EXPECT_TRUE(found.starts_with(wanted)) << row.asks << ": " << found;
  }
  FileCheck check = Check("in/o.csv");
  check.checksum = sum;
  EXPECT_TRUE(Ask(check).ends_with(StrCat(", 4 rows, sha256 ", sum.substr(0, 12)))) << Ask(check);
  check.checksum = StrCat("sha256:", sum);
  EXPECT_TRUE(Ask(check).starts_with("yes met"));
  check.checksum = Sha256Hex("other");
  EXPECT_EQ(Ask(check),
            StrCat("invalid content_wrong: in/o.csv: checksum ", sum, " != ", Sha256Hex("other")));
  check.checksum = "d41d8cd98f00b204e9800998ecf8427e";
  EXPECT_TRUE(Ask(check).starts_with("failed bad_checksum: ")) << Ask(check);
}

TEST_F(FileProbeTest, AnEmptyFileHasNoRowAndAnEmptyFirstLine) {
  Write("e", "");
  FileCheck check = Check("e");
  EXPECT_TRUE(Ask(check).starts_with("yes met: e: 0 bytes"));
  check.first_line = "x";
  check.min_rows = 1;
  EXPECT_EQ(Ask(check), "invalid content_wrong: e: first line (empty) != x; too few rows: 0 < 1");
}

TEST_F(FileProbeTest, TheChecksumFileMustBeThereAndNameOurFile) {
  Write("in/o.csv", "abc");
  const std::string sum = Sha256Hex("abc");
  const std::string other = Sha256Hex("abcd");
  FileCheck check = Check("in/o.csv");
  check.checksum = In("in/o.csv.sha256");
  EXPECT_EQ(Ask(check), "no checksum_missing: checksum file in/o.csv.sha256 is not there");
  struct Row {
    std::string text;
    const char* starts;
  };
  const Row rows[] = {
      {sum, "yes met"},
      {AsciiLower(sum) + "\r\n", "yes met"},
      {sum + "  o.csv\n", "yes met"},
      {sum + " *o.csv\n", "yes met"},
      {sum + "  ./in/o.csv\n", "yes met"},
      {StrCat("SHA256 (o.csv) = ", sum, "\n"), "yes met"},
      {StrCat(other, "  a.csv\n", sum, "  o.csv\n"), "yes met"},
      {other + "  o.csv\n", "invalid content_wrong: in/o.csv: checksum "},
      {sum + "  a.csv\n", "invalid content_wrong: checksum file in/o.csv.sha256 holds no SHA-256 for o.csv"},
      {StrCat(other, "\n", sum, "\n"), "invalid content_wrong: checksum file"},
      {"", "invalid content_wrong: checksum file"},
      {"not a sum\n", "invalid content_wrong: checksum file"},
  };
  for (const Row& row : rows) {
    Write("in/o.csv.sha256", row.text);
    EXPECT_TRUE(Ask(check).starts_with(row.starts)) << row.text << Ask(check);
  }
  check.bounds.roots = {In("in")};
  check.checksum = "/etc/hostname";
  EXPECT_TRUE(Ask(check).starts_with("failed forbidden: checksum file")) << Ask(check);
}

TEST_F(FileProbeTest, Scenario58AStaleFileIsNotReadyAndATouchedOneIsInvalid) {
  Write("in/latest.csv", "2026-03-01\nrow\n");
  SetModified("in/latest.csv", "2026-03-01T01:10:00Z");
  FileCheck check = Check("in/latest.csv");
  check.zone = *Zone::Load("Asia/Shanghai");
  check.modified_after = *ParseUtc("2026-03-01T16:00:00Z");
  check.first_line = "2026-03-02";
  EXPECT_EQ(Ask(check),
            "no too_old: in/latest.csv was last modified 2026-03-01T09:10:00+08:00, needed "
            "2026-03-02T00:00:00+08:00 or later; first line 2026-03-01 != 2026-03-02");
  SetModified("in/latest.csv", "2026-03-01T16:00:00Z");
  EXPECT_EQ(Ask(check), "invalid content_wrong: in/latest.csv: first line 2026-03-01 != 2026-03-02");
  Write("in/latest.csv", "2026-03-02\nrow\n");
  SetModified("in/latest.csv", "2026-03-02T01:10:00Z");
  EXPECT_EQ(Ask(check), "yes met: in/latest.csv: 15 bytes, modified 2026-03-02T09:10:00+08:00");
}

TEST_F(FileProbeTest, AFileIsStableOnlyAfterTwoLooksThatFarApart) {
  Write("in/o.csv", "abc\n");
  FileCheck check = Check("in/o.csv");
  check.stable_for = Seconds(20);
  // Under a clock that runs a million times faster 20 s are over in 20 us.
  const auto wait = [] {
    const int64_t until_us = MonotonicMicros() + 100;
    while (MonotonicMicros() < until_us) continue;
  };
  EXPECT_TRUE(
      Ask(check).starts_with("no unstable: in/o.csv has been seen unchanged only since 2026-03-02T08:00:"))
      << Ask(check);
  EXPECT_TRUE(Ask(check).starts_with("no unstable"));
  check.time.rate = 1e6;
  wait();
  EXPECT_TRUE(Ask(check).starts_with("yes met")) << Ask(check);
  // Any change of size, time or inode begins anew.
  check.time.rate = 1.0;
  struct stat before {};
  ASSERT_EQ(::stat(In("in/o.csv").c_str(), &before), 0);
  std::filesystem::resize_file(In("in/o.csv"), 3);
  EXPECT_TRUE(Ask(check).starts_with("no unstable")) << "size";
  check.time.rate = 1e6;
  wait();
  EXPECT_TRUE(Ask(check).starts_with("yes met"));
  check.time.rate = 1.0;
  SetModified("in/o.csv", "2026-03-02T00:00:00Z");
  EXPECT_TRUE(Ask(check).starts_with("no unstable")) << "time";
  std::filesystem::copy_file(In("in/o.csv"), In("in/new"));
  SetModified("in/new", "2026-03-02T00:00:00Z");
  std::filesystem::rename(In("in/new"), In("in/o.csv"));
  EXPECT_TRUE(Ask(check).starts_with("no unstable")) << "inode";
}

TEST(SteadyFilesTest, SinceWhenAFileHasBeenAsItIsCountsFromTheEndOfTheFirstLook) {
  SteadyFiles steady;
  struct stat info {};
  info.st_size = 1;
  EXPECT_EQ(steady.See("a", info, 100, 150), 150);
  EXPECT_EQ(steady.See("a", info, 200, 250), 150);
  EXPECT_EQ(steady.See("b", info, 300, 350), 350);
  info.st_size = 2;
  EXPECT_EQ(steady.See("a", info, 400, 450), 450);
  steady.Forget("a");
  EXPECT_EQ(steady.See("a", info, 500, 550), 550);
  // The memory is bounded; what was not looked at for longest goes first.
  for (size_t i = 0; i < SteadyFiles::kPathsMax; ++i) steady.See(StrCat("p", i), info, 1000, 1001);
  EXPECT_EQ(steady.See("p5", info, 2000, 2001), 1001);
  EXPECT_EQ(steady.See("b", info, 2000, 2001), 2001);
}

TEST_F(FileProbeTest, AFileThatChangesWhileItIsReadIsNotReady) {
  Write("in/o.csv", std::string(1 << 20, 'x'));
  OpenedFile file;
  ASSERT_EQ(OpenRegular(In("in/o.csv"), "o", {}, &file).code, "");
  FileContent content;
  std::string fault;
  const std::atomic<bool> cancelled = true;
  EXPECT_FALSE(ReadContent(file, Reading::kWhole, cancelled, &content, &fault));
  // The change has to fall between two looks of one check, so a writer races it until it does.
  FileCheck check = Check("in/o.csv");
  check.min_rows = 1;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i)
      std::filesystem::resize_file(In("in/o.csv"), (1u << 20) + static_cast<unsigned>(i % 2));
  });
  std::string found;
  for (int i = 0; i < 2000 && !found.starts_with("no unstable"); ++i) found = Ask(check);
  stop = true;
  writer.join();
  EXPECT_EQ(found, "no unstable: in/o.csv changed while it was read");
}

TEST_F(FileProbeTest, WhatAFileHoldsIsShownSafely) {
  Write("evil\n\x1b[2J.csv", "\x1b]0;owned\x07\nnext");
  FileCheck check = Check("evil\n\x1b[2J.csv");
  check.first_line = "x";
  EXPECT_EQ(Ask(check),
            "invalid content_wrong: evil\\n\\x1b[2J.csv: first line \\x1b]0;owned\\x07 has no x in it");
  Write("long", std::string(1 << 20, 'y'));
  check = Check("long");
  check.first_line = "x";
  EXPECT_LT(Ask(check).size(), 300u);
}

TEST(FirstLineTest, ItIsTheWantedTextOrHasItAsAWord) {
  struct Row {
    const char* line;
    const char* wanted;
    bool fits;
  };
  const Row rows[] = {{"a", "a", true},
                      {"", "a", false},
                      {"2026-03-02", "2026-03-02", true},
                      {"x,2026-03-02", "2026-03-02", true},
                      {"2026-03-021", "2026-03-02", false},
                      {"12026-03-02", "2026-03-02", false},
                      {"2026-03-021 2026-03-02", "2026-03-02", true},
                      {"orders_2026", "orders", false},
                      {"(orders)", "orders", true},
                      {"a(b)c", "(b)", true},
                      {"éa", "a", false}};
  for (const Row& row : rows) EXPECT_EQ(FirstLineFits(row.line, row.wanted), row.fits) << row.line;
}

}  // namespace
}  // namespace duecourse
