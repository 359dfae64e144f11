// Files and folders: what is read, what is refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test_folder.h"
#include "rule/test_rules.h"

namespace duecourse {
namespace {

class LoadFiles : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeFolders(root_ + "/rules", 0700).ok()); }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(MakeFolders(ParentFolder(root_ + "/" + name), 0700).ok());
    ASSERT_TRUE(WriteFileAtomic(root_ + "/" + name, text, false).ok());
  }
  static std::string Rule(const std::string& id, const std::string& more = "") {
    return "task_id: " + id + "\ncron: \"0 8 * * *\"\ntimezone: UTC\nnoop: {}\n" + more;
  }
  Loaded Load(const std::string& rules = "") {
    LoadRequest request;
    request.config_path = root_ + "/duecourse.yaml";
    request.rules_path = rules.empty() ? "" : root_ + "/" + rules;
    return LoadRules(request);
  }
  void ExpectFinding(const Loaded& loaded, const std::string& words) {
    EXPECT_EQ(loaded.set, nullptr);
    EXPECT_NE(FindingsText(loaded).find(words), std::string::npos) << words << "\nnot in\n"
                                                                   << FindingsText(loaded);
  }

 private:
  const TestFolder folder_;

 protected:
  const std::string root_ = folder_.path();
};

TEST_F(LoadFiles, AFolderIsReadWithItsSubfoldersInTheOrderOfNames) {
  Write("rules/b.yaml", Rule("b"));
  Write("rules/a.yml", Rule("a"));
  Write("rules/team/c.yaml", Rule("c"));
  Write("rules/.hidden.yaml", "not: [yaml");
  Write("rules/notes.txt", "nothing");
  Loaded loaded = Load();
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  ASSERT_EQ(loaded.set->files.size(), 3u);
  EXPECT_TRUE(loaded.set->files[0].path.ends_with("rules/a.yml"));
  EXPECT_TRUE(loaded.set->files[2].path.ends_with("rules/team/c.yaml"));
  EXPECT_EQ(loaded.set->files[2].folder, root_ + "/rules/team");
  EXPECT_EQ(loaded.set->tasks.size(), 3u);
  EXPECT_EQ(loaded.set->Find("c")->file, 2u);
  EXPECT_EQ(loaded.tasks_seen, 3u);
}

TEST_F(LoadFiles, TheSettingsSayWhereTheRulesAre) {
  Write("duecourse.yaml", "rules: tasks.yaml\nretention: 10d\n");
  Write("tasks.yaml", Rule("a"));
  Loaded loaded = Load();
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  EXPECT_EQ(loaded.set->config.retention, Days(10));
  EXPECT_EQ(loaded.set->tasks.size(), 1u);
  Write("duecourse.yaml", "rules: .\n");
  ::rmdir((root_ + "/rules").c_str());
  loaded = Load();
  ASSERT_NE(loaded.set, nullptr) << "settings beside the rules are no rule: " << FindingsText(loaded);
}

TEST_F(LoadFiles, SettingsMayBeAbsentOnlyWhereTheyWereNotNamed) {
  Write("rules/a.yaml", Rule("a"));
  EXPECT_NE(Load().set, nullptr);
  LoadRequest request;
  request.config_path = root_ + "/other.yaml";
  request.config_named = true;
  ExpectFinding(LoadRules(request), "other.yaml: error: cannot open: No such file or directory");
}

TEST_F(LoadFiles, AllFaultsOfAllFilesAreToldAtOnceAndNothingIsUsed) {
  Write("duecourse.yaml", "retenton: 5d\n");
  Write("rules/a.yaml", Rule("a", "timeout: 5\nenabled: yes\n"));
  Write("rules/b.yaml", "task_id: b\ncron: [\n");
  Write("rules/c.yaml", Rule("c"));
  Loaded loaded = Load();
  EXPECT_EQ(loaded.set, nullptr);
  EXPECT_EQ(loaded.readable->tasks.size(), 1u) << "check may still look at what can be read";
  ASSERT_EQ(loaded.findings.size(), 4u) << FindingsText(loaded);
  EXPECT_TRUE(loaded.findings[0].file.ends_with("duecourse.yaml"));
  EXPECT_EQ(loaded.findings[1].line, 5);
  EXPECT_EQ(loaded.findings[2].line, 6);
  EXPECT_TRUE(loaded.findings[3].file.ends_with("b.yaml"));
}

TEST_F(LoadFiles, IdsAreUniqueOverAllFilesWhateverTheirCase) {
  Write("rules/a.yaml", Rule("orders"));
  Write("rules/b.yaml", Rule("orders"));
  Write("rules/c.yaml", Rule("Orders"));
  Loaded loaded = Load();
  ExpectFinding(loaded, StrCat("there is already a task orders, at ", root_, "/rules/a.yaml:1"));
  ExpectFinding(loaded, StrCat("Orders differs from orders, at ", root_, "/rules/a.yaml:1, in case only"));
  EXPECT_EQ(loaded.findings.size(), 2u);
}

TEST_F(LoadFiles, WhatIsNoRegularFileIsRefusedAndNeverWaitedFor) {
  Write("rules/a.yaml", Rule("a"));
  Write("outside.yaml", Rule("outside"));
  std::string rules = root_ + "/rules/";
  ASSERT_EQ(::mkfifo((rules + "fifo.yaml").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir((rules + "folder.yaml").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("../outside.yaml", (rules + "link.yaml").c_str()), 0);
  ASSERT_EQ(::symlink("/proc/self/environ", (rules + "proc.yaml").c_str()), 0);
  ASSERT_EQ(::symlink("/dev/zero", (rules + "zero.yaml").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", (rules + "broken.yaml").c_str()), 0);
  ASSERT_EQ(::symlink(".", (rules + "loop").c_str()), 0);
  ASSERT_EQ(::symlink("a.yaml", (rules + "same.yaml").c_str()), 0);
  Loaded loaded = Load();
  ExpectFinding(loaded, "fifo.yaml: error: is a FIFO; a regular file is needed");
  ExpectFinding(loaded, "folder.yaml: error: this is a folder");
  ExpectFinding(loaded, "link.yaml: error: this link leads out of the rules folder");
  ExpectFinding(loaded, "proc.yaml: error: this link leads out");
  ExpectFinding(loaded, "zero.yaml: error: this link leads out");
  ExpectFinding(loaded, "broken.yaml: error: this link leads nowhere");
  ExpectFinding(loaded, "folders of rules lie at most 8 deep");
  EXPECT_EQ(FindingsText(loaded).find("environ="), std::string::npos);
}

TEST_F(LoadFiles, FilesOfTheKernelAreRefusedHoweverTheyAreNamed) {
  for (const char* path :
       {"/proc/self/environ", "/dev/null", "/proc/../proc/self/maps", "/sys/power/state"}) {
    if (std::string_view(path).starts_with("/sys") && ::access(path, F_OK) != 0)
      continue;  // not in every root
    LoadRequest request;
    request.rules_path = path;
    Loaded loaded = LoadRules(request);
    EXPECT_EQ(loaded.set, nullptr);
    EXPECT_NE(FindingsText(loaded).find("files of the kernel"), std::string::npos)
        << path << FindingsText(loaded);
  }
}

TEST_F(LoadFiles, AMissingRulesFolderIsAFault) { ExpectFinding(Load("absent"), "No such file or directory"); }

TEST_F(LoadFiles, AFileOfMoreThan16MiBIsRefused) {
  Write("rules/a.yaml", Rule("a") + "# " + std::string(16u << 20, 'x'));
  ExpectFinding(Load(), "is larger than the 16777216 bytes allowed");
}

// Scenario 61: relative to the rule file, looked up at load, no fall-back.
TEST_F(LoadFiles, Scenario61WorkingDirectoriesCountFromTheRuleFile) {
  ASSERT_TRUE(MakeFolders(root_ + "/rules/one/data", 0700).ok());
  Write("rules/one/a.yaml", Rule("a", "cwd: data\n"));
  Write("rules/one/c.yaml", Rule("c", "cwd: /tmp\n"));
  Loaded loaded = Load();
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  EXPECT_EQ(loaded.set->Find("a")->rule().execution.cwd, "data");
  // The same text in another folder names another directory, which is not there.
  Write("rules/two/b.yaml", Rule("b", "cwd: data\n"));
  Write("rules/two/d.yaml", Rule("d", "cwd: /no/such\n"));
  loaded = Load();
  ExpectFinding(loaded, StrCat("b.yaml:5:6: error: b: execution.cwd: the working directory ", root_,
                               "/rules/two/data does not exist"));
  ExpectFinding(loaded, "the working directory /no/such does not exist");
  EXPECT_EQ(loaded.findings.size(), 2u) << FindingsText(loaded);
  Write("rules/two/e.yaml", Rule("e", "cwd: b.yaml\n"));
  ExpectFinding(Load(), StrCat("the working directory ", root_, "/rules/two/b.yaml is no folder"));
}

TEST_F(LoadFiles, TenThousandAlikeRulesShareOneBody) {
  std::string text = "tasks:\n";
  for (int i = 0; i < 10'000; ++i) {
    text += StrCat("  - {task_id: agent-", i,
                   ", cron: \"*/5 * * * *\", timezone: Asia/Shanghai, command: [/bin/true]}\n");
  }
  Write("rules/many.yaml", text);
  Loaded loaded = Load();
  ASSERT_NE(loaded.set, nullptr) << FindingsText(loaded);
  ASSERT_EQ(loaded.set->tasks.size(), 10'000u);
  EXPECT_EQ(loaded.set->tasks.front().body, loaded.set->tasks.back().body);
  EXPECT_EQ(loaded.set->tasks.front().body.use_count(), 10'000);
}

TEST_F(LoadFiles, AnOpenQuoteIsToldBeforeWhatOnlyFollowsFromIt) {
  Write("rules/a.yaml", "task_id: t\ncron: \"30 2 * * *\ntimezone: UTC\ncommand: [echo]\n");
  const Loaded loaded = Load();
  ASSERT_GT(loaded.findings.size(), 1u);
  EXPECT_EQ(loaded.findings.front().id, "yaml_invalid") << FindingsText(loaded);
  EXPECT_EQ(loaded.findings.front().line, 2);
}

}  // namespace
}  // namespace duecourse
