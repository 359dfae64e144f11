#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/random.h"

namespace duecourse {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeFolders(folder_, 0700).ok()); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string In(const std::string& name) const { return JoinPath(folder_, name); }

  const std::string folder_ = testing::TempDir() + "/file_test_" + SecureToken(6);
};

TEST_F(FileTest, WhatIsWrittenIsRead) {
  ASSERT_TRUE(WriteFileAtomic(In("a"), "one\0two", true).ok());
  EXPECT_EQ(*ReadFile(In("a"), 100), "one");
  std::string large(300'000, 'x');
  ASSERT_TRUE(WriteFileAtomic(In("a"), large, false).ok());
  EXPECT_EQ(*ReadFile(In("a"), 300'000), large);
  EXPECT_EQ(ListFiles(folder_, {""})->size(), 1u);  // nothing is left beside it
}

TEST_F(FileTest, ANewFileIsPrivateAndAnOldOneKeepsItsMode) {
  ASSERT_TRUE(WriteFileAtomic(In("a"), "x", false).ok());
  struct stat info {};
  ASSERT_EQ(::stat(In("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(::chmod(In("a").c_str(), 0644), 0);
  ASSERT_TRUE(WriteFileAtomic(In("a"), "y", false).ok());
  ASSERT_EQ(::stat(In("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);
}

TEST_F(FileTest, OnlyRegularFilesWithinTheLimitAreRead) {
  ASSERT_TRUE(WriteFileAtomic(In("five"), "12345", false).ok());
  EXPECT_TRUE(ReadFile(In("five"), 5).ok());
  struct Row {
    std::string path;
    size_t limit;
    const char* says;
  };
  ASSERT_EQ(::mkfifo(In("fifo").c_str(), 0600), 0);
  const Row rows[] = {{In("five"), 4, "larger than the 4 bytes"},
                      {In("fifo"), 100, "is a FIFO"},
                      {folder_, 100, "is a folder"},
                      {"/dev/zero", 100, "is a device"},
                      {In("none"), 100, "(ENOENT)"}};
  for (const Row& row : rows) {
    Result<std::string> content = ReadFile(row.path, row.limit);
    ASSERT_FALSE(content.ok()) << row.path;
    EXPECT_NE(content.error().message().find(row.says), std::string::npos) << content.error().message();
    EXPECT_NE(content.error().message().find(row.path), std::string::npos);
  }
}

TEST_F(FileTest, AFileThatHidesItsSizeIsReadToItsEndAndCapped) {
  Result<std::string> status = ReadFile("/proc/self/status", 1 << 20);
  ASSERT_TRUE(status.ok());
  EXPECT_GT(status->size(), 100u);
  EXPECT_FALSE(ReadFile("/proc/self/status", 10).ok());
}

TEST_F(FileTest, AFailedWriteLeavesTheOldContent) {
  ASSERT_TRUE(MakeFolders(In("taken"), 0700).ok());
  EXPECT_FALSE(WriteFileAtomic(In("taken"), "x", true).ok());
  EXPECT_FALSE(WriteFileAtomic(In("no/such/folder"), "x", true).ok());
  EXPECT_TRUE(FolderExists(In("taken")));
  EXPECT_EQ(ListFiles(folder_, {""})->size(), 0u);
}

TEST_F(FileTest, ListingIsSortedAndLeavesOutWhatIsHiddenOrNoFile) {
  for (const char* name : {"b.yaml", "a.yml", "c.txt", ".d.yaml"}) {
    ASSERT_TRUE(WriteFileAtomic(In(name), "", false).ok());
  }
  ASSERT_TRUE(MakeFolders(In("e.yaml"), 0700).ok());
  ASSERT_EQ(::symlink("b.yaml", In("f.yaml").c_str()), 0);
  ASSERT_EQ(::mkfifo(In("g.yaml").c_str(), 0600), 0);
  EXPECT_EQ(*ListFiles(folder_, {".yaml", ".yml"}),
            (std::vector<std::string>{In("a.yml"), In("b.yaml"), In("f.yaml")}));
  EXPECT_FALSE(ListFiles(In("none"), {".yaml"}).ok());
}

TEST_F(FileTest, FoldersAreMadeWithTheirParentsAndTwiceIsFine) {
  ASSERT_TRUE(MakeFolders(In("x/y/z"), 0700).ok());
  ASSERT_TRUE(MakeFolders(In("x/y/z"), 0700).ok());
  EXPECT_TRUE(FolderExists(In("x/y/z")));
  ASSERT_TRUE(WriteFileAtomic(In("file"), "", false).ok());
  EXPECT_FALSE(MakeFolders(In("file"), 0700).ok());
  EXPECT_FALSE(MakeFolders(In("file/below"), 0700).ok());
}

TEST(Path, IsJoinedAndTakenApartLexically) {
  EXPECT_EQ(JoinPath("/a", "b"), "/a/b");
  EXPECT_EQ(JoinPath("/a/", "b"), "/a/b");
  EXPECT_EQ(JoinPath("/a", "/b"), "/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(AbsolutePath("/a/./b/../c//d"), "/a/c/d");
  EXPECT_EQ(AbsolutePath("/../.."), "/");
  EXPECT_EQ(AbsolutePath("x"), JoinPath(std::filesystem::current_path().string(), "x"));
  EXPECT_EQ(ParentFolder("/a/b"), "/a");
  EXPECT_EQ(ParentFolder("/a/b/"), "/a");
  EXPECT_EQ(ParentFolder("/a"), "/");
  EXPECT_EQ(ParentFolder("a"), ".");
  EXPECT_EQ(ErrnoText(ENOENT), "No such file or directory (ENOENT)");
}

TEST(Fd, ClosesItselfAndMoves) {
  int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  {
    Fd first(raw);
    Fd second(std::move(first));
    EXPECT_FALSE(first.valid());
    EXPECT_EQ(second.get(), raw);
  }
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
}

}  // namespace
}  // namespace duecourse
