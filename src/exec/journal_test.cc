#include "exec/journal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>

#include "exec/test_harness.h"

namespace duecourse {
namespace {

using Started = StartJournal::Facts::Started;

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() : log_(clock_, 2, LogLevel::kError) {
    EXPECT_TRUE(MakeFolders(folder_ / "attempts", 0700).ok());
  }
  std::unique_ptr<StartJournal> Open(const std::string& boot = "boot-1") {
    return std::make_unique<StartJournal>(folder_.path(), boot, log_);
  }
  std::vector<std::string> Files() {
    Result<std::vector<std::string>> files = ListFiles(folder_ / "attempts", {""});
    return files.ok() ? *files : std::vector<std::string>();
  }

  SystemClock clock_;
  Log log_;
  TestFolder folder_;
  const AttemptRef one_{"r1", 3, 2};
  const AttemptRef two_{"r2", 1, 1};
};

TEST_F(JournalTest, TheNextDaemonKnowsWhatStarted) {
  auto former = Open();
  ASSERT_TRUE(former->Start(one_, "/tmp/scratch").ok());
  ASSERT_TRUE(former->Process(one_, 4711, {123456, 123457}).ok());
  ASSERT_TRUE(former->Start(two_, "").ok());
  auto next = Open();  // the former one was killed: nothing was closed
  StartJournal::Facts facts = next->Look(one_);
  EXPECT_EQ(facts.started, Started::kYes);
  EXPECT_EQ(facts.pid, 4711);
  EXPECT_EQ(facts.birth.earliest, 123456);
  EXPECT_EQ(facts.birth.latest, 123457);
  EXPECT_EQ(facts.scratch, "/tmp/scratch");
  EXPECT_EQ(next->Look(two_).started, Started::kYes);
  EXPECT_EQ(next->Look(two_).pid, 0);
  EXPECT_EQ(next->Look({"r1", 4, 3}).started, Started::kNever);
  EXPECT_EQ(next->Look({"r3", 1, 1}).started, Started::kNever);
  auto third = Open();
  EXPECT_EQ(third->Look(one_).pid, 4711);
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(JournalTest, AJournalThatSomebodyRemovedIsWrittenAgain) {
  auto former = Open();
  ASSERT_TRUE(former->Start(one_, "").ok());
  std::filesystem::remove_all(folder_ / "attempts");
  ASSERT_TRUE(former->Start(two_, "").ok());
  auto next = Open();
  EXPECT_EQ(next->Look(one_).started, Started::kYes);
  EXPECT_EQ(next->Look(two_).started, Started::kYes);
  EXPECT_EQ(next->Look({"r3", 1, 1}).started, Started::kNever);
}

TEST_F(JournalTest, AnEndedMarkerIsGone) {
  auto former = Open();
  ASSERT_TRUE(former->Start(one_, "").ok());
  former->End({one_});
  former->End({two_});
  EXPECT_EQ(Open()->Look(one_).started, Started::kNever);
}

TEST_F(JournalTest, WithoutMarkersOfThisBootAbsenceProvesNothing) {
  EXPECT_EQ(Open("boot-1")->Look(two_).started,
            Started::kPerhaps);  // the very first daemon has nothing to ask about
  ASSERT_TRUE(Open("boot-1")->Start(one_, "").ok());
  EXPECT_EQ(Open("boot-2")->Look(one_).started, Started::kPerhaps);
  std::filesystem::remove_all(folder_ / "attempts");
  ASSERT_TRUE(MakeFolders(folder_ / "attempts", 0700).ok());
  EXPECT_EQ(Open("boot-2")->Look(one_).started, Started::kPerhaps);
}

TEST_F(JournalTest, AFileThatCannotBeReadMakesAbsenceProveNothing) {
  ASSERT_TRUE(Open()->Start(one_, "").ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ / "attempts/starts-9", "boot boot-1\n", false).ok());
  std::filesystem::resize_file(folder_ / "attempts/starts-9", uint64_t{300} << 20);  // more than is ever read
  EXPECT_EQ(Open()->Look(two_).started, Started::kPerhaps);
}

TEST_F(JournalTest, WhatPerhapsStartedIsNotForgottenByTheNextDaemon) {
  ASSERT_EQ(Open()->Look(one_).started, Started::kPerhaps);
  auto next = Open();
  EXPECT_EQ(next->Look(one_).started, Started::kYes);
  EXPECT_EQ(next->Look(two_).started, Started::kNever);
}

TEST_F(JournalTest, ALineThatWasCutOffCountsAsAbsent) {
  const std::string text = "boot boot-1\nstart r1 3\nprocess r1 3 4711 12 13\nstart r2 1\nprocess r2 1 47";
  ASSERT_TRUE(WriteFileAtomic(folder_ / "attempts/starts-1", text, false).ok());
  auto journal = Open();
  EXPECT_EQ(journal->Look(one_).pid, 4711);
  EXPECT_EQ(journal->Look(two_).started, Started::kYes);
  EXPECT_EQ(journal->Look(two_).pid, 0);
}

TEST_F(JournalTest, WhatIsNoMarkerIsPassedOver) {
  constexpr char kText[] = "boot boot-1\n\nstart\nstart r1 3 4 5\nnonsense r1 3\n\0\0\0\nstart r2 1\n";
  const std::string text(kText, sizeof kText - 1);
  ASSERT_TRUE(WriteFileAtomic(folder_ / "attempts/starts-1", text, false).ok());
  auto journal = Open();
  EXPECT_EQ(journal->Look(one_).started, Started::kNever);
}

TEST_F(JournalTest, GrowsNoFurtherThanWhatIsOpenNeeds) {
  auto journal = Open();
  ASSERT_TRUE(journal->Start(one_, "").ok());
  ASSERT_TRUE(journal->Process(one_, 4711, {12, 12}).ok());
  for (int i = 0; i < 150'000; ++i) {
    const AttemptRef ref{StrCat("r0123456789abcdef", i), 1, 1};
    ASSERT_TRUE(journal->Start(ref, "").ok());
    ASSERT_TRUE(journal->Process(ref, 1, {1, 1}).ok());
    journal->End({ref});
  }
  ASSERT_EQ(Files().size(), 1u);
  EXPECT_LE(std::filesystem::file_size(Files()[0]), kJournalMaxBytes + 1000);
  EXPECT_EQ(Open()->Look(one_).pid, 4711);
}

TEST_F(JournalTest, AFullDiskIsAnErrorAndTheNextLineIsWholeAgain) {
  auto journal = Open();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = std::filesystem::file_size(Files()[0]) + 4;
  ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  Status refused = journal->Start(one_, "");
  Status refused_too = journal->Start(one_, "");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(refused.ok());
  EXPECT_FALSE(refused_too.ok());
  EXPECT_NE(refused.error().message().find("start marker"), std::string::npos);
  EXPECT_TRUE(journal->Start(two_, "").ok());
  auto next = Open();
  EXPECT_EQ(next->Look(one_).started, Started::kNever);
  EXPECT_EQ(next->Look(two_).started, Started::kYes);
}

TEST_F(JournalTest, WithoutAFolderNothingStarts) {
  std::filesystem::remove_all(folder_ / "attempts");
  ASSERT_TRUE(WriteFileAtomic(folder_ / "attempts", "in its place", false).ok());
  auto journal = Open();
  EXPECT_FALSE(journal->Start(one_, "").ok());
  std::filesystem::remove(folder_ / "attempts");
  EXPECT_TRUE(journal->Start(one_, "").ok());  // made again
  EXPECT_TRUE(FolderExists(folder_ / "attempts"));
}

}  // namespace
}  // namespace duecourse
