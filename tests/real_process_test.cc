// Scenarios 26, 27, 28, 60, 61, 62: what becomes of real processes, their output, environment, folder and
// descriptors.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "daemon.h"
#include "net/listen.h"

namespace duecourse {
namespace {

// Rules that are only triggered by hand: due once a year.
std::string ByHand(const std::string& id, const std::string& more) {
  return StrCat("task_id: ", id, "\ntrigger: {cron: \"0 0 1 1 *\", timezone: UTC}\n", more);
}

// Triggers an extra run and waits for its end; the run, or null.
Json TriggerAndWait(TestDaemon& daemon, const std::string& task) {
  Json asked = daemon.Ask({"trigger", task, "--extra", "--by", "tester", "--reason", "scenario"});
  std::string id = asked.Get("run_id").AsString();
  EXPECT_NE(id, "") << asked.Dump() << daemon.Tell(task);
  Json run;
  EXPECT_TRUE(Eventually([&] {
    run = daemon.Get(StrCat("/api/v1/runs/", id));
    const std::string& state = run.Get("state").AsString();
    return state == "success" || state == "manual_required" || state == "skipped";
  })) << daemon.Tell(task);
  return run;
}

std::string RawOutput(TestDaemon& daemon, const Json& run, const std::string& which) {
  return daemon.Cli({"logs", run.Get("run_id").AsString(), "--raw", which}).out;
}

TEST(Scenario26, TheRunEndsWhenItsCommandEndsAlthoughAChildHoldsThePipe) {
  TestDaemon daemon;
  daemon.Rules(
      ByHand("start-db",
             "execution: {shell: '(sleep 600) & echo started', timeout: 60s, background_children: keep}\n"),
      "a.yaml");
  daemon.Rules(
      ByHand(
          "start-db2",
          "execution: {shell: '(while :; do echo noise; sleep 0.1; done) & echo started', timeout: 60s}\n"),
      "b.yaml");
  ASSERT_TRUE(daemon.Start()) << daemon.log();

  Json kept = TriggerAndWait(daemon, "start-db");
  EXPECT_EQ(kept.Get("state").AsString(), "success") << daemon.Tell("start-db");
  Json attempt = kept.Get("attempt_list").AsArray().at(0);
  EXPECT_LT(attempt.Get("took_ms").AsInteger(), 3'000);
  EXPECT_EQ(RawOutput(daemon, kept, "out"), "started\n");
  std::vector<pid_t> left = ProcessesWith(StrCat("DUECOURSE_RUN_ID=", kept.Get("run_id").AsString()));
  EXPECT_FALSE(left.empty());
  EXPECT_EQ(attempt.Get("detail").Get("processes_kept").AsArray().size(), 1u) << attempt.Dump();
  EXPECT_TRUE(attempt.Get("detail").Get("closed_after_exit").AsBool()) << attempt.Dump();

  Json ended = TriggerAndWait(daemon, "start-db2");
  EXPECT_EQ(ended.Get("state").AsString(), "success") << daemon.Tell("start-db2");
  attempt = ended.Get("attempt_list").AsArray().at(0);
  EXPECT_LT(attempt.Get("took_ms").AsInteger(), 6'000);
  // Noise may come before it: the command's child and its echo are two processes that write at will.
  const std::string noise = RawOutput(daemon, ended, "out");
  EXPECT_TRUE(noise.starts_with("started\n") || noise.starts_with("noise\nstarted\n")) << noise;
  EXPECT_TRUE(attempt.Get("detail").Get("closed_after_exit").AsBool()) << attempt.Dump();
  EXPECT_TRUE(attempt.Get("detail").Get("processes_kept").AsArray().empty()) << attempt.Dump();
  EXPECT_NE(daemon.Cli({"logs", ended.Get("run_id").AsString()}).out.find("closed after exit"),
            std::string::npos);
  EXPECT_TRUE(Eventually(
      [&] { return ProcessesWith(StrCat("DUECOURSE_RUN_ID=", ended.Get("run_id").AsString())).empty(); },
      5'000));
  for (pid_t pid : left) ::kill(pid, SIGKILL);
}

TEST(Scenario27, OutputIsBytesAndTheExitCodeAloneDecides) {
  const std::string kBytes("ok \xe2\x28\xa1 \x80 \0 \x1b[31m \xe4\xb8\xad\xe6\x96\x87\n", 24);
  TestDaemon daemon;
  WriteText(daemon / "bytes.bin", kBytes);
  daemon.Rules(ByHand("bytes", StrCat("execution: {command: [cat, ", daemon / "bytes.bin", "]}\n")));
  std::vector<std::string> hashes;
  for (const char* lang : {"LANG=C", "LANG=zh_CN.GBK", ""}) {
    TestDaemon::Launch launch;
    launch.only_env = true;
    launch.env = {"PATH=/usr/bin:/bin"};
    if (*lang != '\0') launch.env.emplace_back(lang);
    ASSERT_TRUE(daemon.Start(launch)) << daemon.log();
    Json run = TriggerAndWait(daemon, "bytes");
    EXPECT_EQ(run.Get("state").AsString(), "success") << lang << daemon.Tell("bytes");
    EXPECT_EQ(RawOutput(daemon, run, "out"), kBytes) << lang;
    Json shown = daemon.Get(StrCat("/api/v1/runs/", run.Get("run_id").AsString(), "/output"));
    ASSERT_TRUE(shown.is_object()) << lang;
    const std::string& text = shown.Get("stdout").Get("text").AsString();
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_NE(text.find("\\x1b[31m"), std::string::npos) << text;
    EXPECT_NE(text.find("\\x00"), std::string::npos) << text;
    EXPECT_NE(text.find("\xe4\xb8\xad\xe6\x96\x87"), std::string::npos) << text;
    EXPECT_NE(text.find("\xef\xbf\xbd"), std::string::npos) << "no mark for what is no UTF-8: " << text;
    hashes.push_back(shown.Get("stdout").Get("sha256").AsString());
    EXPECT_EQ(daemon.Cli({"logs", run.Get("run_id").AsString()}).out.find('\x1b'), std::string::npos);
    EXPECT_EQ(daemon.Stop(), 0) << daemon.log();
  }
  EXPECT_EQ(hashes[0], Sha256Hex(kBytes));
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[1], hashes[2]);
  EXPECT_EQ(daemon.log().find('\x1b'), std::string::npos);
}

TEST(Scenario28, AVerboseCommandNeverBlocksAndItsLastLinesAreKept) {
  TestDaemon daemon;
  daemon.Rules(ByHand("chatty",
                      "execution:\n  timeout: 60s\n  output: {max: 1MiB}\n"
                      "  shell: \"head -c 50000000 /dev/zero | tr '\\\\0' x; echo; echo LAST; head -c "
                      "5000000 /dev/zero >&2; exit 3\"\n"));
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  Json run = TriggerAndWait(daemon, "chatty");
  EXPECT_EQ(run.Get("state").AsString(), "manual_required") << daemon.Tell("chatty");
  Json attempt = run.Get("attempt_list").AsArray().at(0);
  EXPECT_EQ(attempt.Get("outcome").AsString(), "failed");
  EXPECT_EQ(attempt.Get("code").AsString(), "exit 3") << attempt.Dump();
  EXPECT_LT(attempt.Get("took_ms").AsInteger(), 10'000);
  std::string out = RawOutput(daemon, run, "out");
  EXPECT_LE(out.size(), (1u << 20) + 200);
  EXPECT_NE(out.find("\nLAST\n"), std::string::npos);
  Json shown = daemon.Get(StrCat("/api/v1/runs/", run.Get("run_id").AsString(), "/output"));
  EXPECT_EQ(shown.Get("stdout").Get("bytes").AsInteger(), 50'000'006);
  EXPECT_NEAR(static_cast<double>(shown.Get("stdout").Get("dropped").AsInteger()), 49e6, 0.6e6);
  EXPECT_EQ(shown.Get("stderr").Get("bytes").AsInteger(), 5'000'000);
  EXPECT_LE(RawOutput(daemon, run, "err").size(), (1u << 20) + 200);
  EXPECT_NE(daemon.Cli({"logs", run.Get("run_id").AsString()}).out.find("dropped between head and tail"),
            std::string::npos);
}

// What differs from run to run by its nature.
std::string WithoutRunAndTimes(const std::string& listing) {
  std::string out;
  for (const std::string& line : Lines(listing)) {
    bool varies = false;
    for (const char* name : {"DUECOURSE_RUN_ID=", "DUECOURSE_SCHEDULED",
                             "DUECOURSE_DEADLINE=", "DUECOURSE_KEY=", "DUECOURSE_RESULT="}) {
      varies = varies || line.starts_with(name);
    }
    if (!varies) out += line + "\n";
  }
  return out;
}

TEST(Scenario60, TheEnvironmentIsTheSameHoweverTheDaemonWasStarted) {
  TestDaemon daemon;
  WriteText(daemon / "bin/mytool", "#!/bin/sh\necho mytool 1.0\n");
  ASSERT_EQ(::chmod((daemon / "bin/mytool").c_str(), 0755), 0);
  daemon.Rules(ByHand("envdump", StrCat("execution: {shell: 'env | sort; mytool --version', env: {PATH: '",
                                        daemon / "bin", ":/usr/bin:/bin'}}\n")));
  std::vector<TestDaemon::Launch> launches(3);
  launches[0].only_env = true;
  for (int i = 0; i < 60; ++i) launches[0].env.push_back(StrCat("LOGIN_VARIABLE_", i, "=value"));
  launches[0].env.insert(launches[0].env.end(), {"PATH=/usr/bin:/bin", "DUECOURSE_DB_PASSWORD=hunter2",
                                                 "TZ=Asia/Tokyo", "HOME=/nonexistent"});
  launches[1].only_env = true;
  launches[2].only_env = true;
  launches[2].env = {"PATH=/usr/sbin:/sbin", "INVOCATION_ID=5", "NOTIFY_SOCKET=/none"};
  launches[2].folder = "/";
  std::vector<std::string> listings;
  for (const TestDaemon::Launch& launch : launches) {
    ASSERT_TRUE(daemon.Start(launch)) << daemon.log();
    Json run = TriggerAndWait(daemon, "envdump");
    EXPECT_EQ(run.Get("state").AsString(), "success") << daemon.Tell("envdump");
    listings.push_back(WithoutRunAndTimes(RawOutput(daemon, run, "out")));
    EXPECT_EQ(daemon.Stop(), 0);
  }
  EXPECT_EQ(listings[0], listings[1]);
  EXPECT_EQ(listings[1], listings[2]);
  EXPECT_NE(listings[0].find("mytool 1.0"), std::string::npos) << listings[0];
  for (const char* stranger : {"hunter2", "LOGIN_VARIABLE", "Tokyo", "NOTIFY_SOCKET"}) {
    EXPECT_EQ(listings[0].find(stranger), std::string::npos) << listings[0];
  }
  for (const char* known : {"DUECOURSE_ATTEMPT=1", "DUECOURSE_BUSINESS_DATE=", "DUECOURSE_FENCE=1",
                            "DUECOURSE_TASK=envdump", "LANG=", "HOME="}) {
    EXPECT_NE(listings[0].find(known), std::string::npos) << known << " is not in\n" << listings[0];
  }

  ASSERT_EQ(::unlink((daemon / "bin/mytool").c_str()), 0);
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  Json run = TriggerAndWait(daemon, "envdump");
  EXPECT_EQ(run.Get("state").AsString(), "manual_required") << daemon.Tell("envdump");
  ASSERT_EQ(run.Get("attempt_list").AsArray().size(), 1u) << run.DumpPretty() << daemon.Tell("envdump");
  Json attempt = run.Get("attempt_list").AsArray().at(0);
  EXPECT_EQ(attempt.Get("class").AsString(), "business");
  EXPECT_EQ(attempt.Get("code").AsString(), "exit 127");
  EXPECT_NE(attempt.Get("summary").AsString().find("mytool"), std::string::npos) << attempt.Dump();
}

TEST(Scenario61, ACommandRunsInTheFolderOfItsRuleNeverInTheDaemons) {
  TestDaemon daemon;
  for (const char* folder : {"rules/data", "start1/data", "start2/data"})
    ASSERT_TRUE(MakeFolders(daemon / folder, 0755).ok());
  daemon.Rules(ByHand("a", "execution: {shell: 'pwd; touch was-here', cwd: data}\n"), "a.yaml");
  daemon.Rules(ByHand("c", "execution: {shell: pwd}\n"), "c.yaml");
  std::vector<std::string> folders_of_c;
  for (const char* start : {"start1", "start2"}) {
    TestDaemon::Launch launch;
    launch.folder = daemon / start;
    ASSERT_TRUE(daemon.Start(launch)) << daemon.log();
    EXPECT_EQ(RawOutput(daemon, TriggerAndWait(daemon, "a"), "out"), (daemon / "rules/data") + "\n");
    folders_of_c.push_back(RawOutput(daemon, TriggerAndWait(daemon, "c"), "out"));
    EXPECT_EQ(daemon.Stop(), 0);
  }
  EXPECT_EQ(folders_of_c[0], daemon.data() + "/tasks/c\n");
  EXPECT_EQ(folders_of_c[0], folders_of_c[1]);

  ASSERT_TRUE(daemon.Start()) << daemon.log();
  ASSERT_EQ(::unlink((daemon / "rules/data/was-here").c_str()), 0);
  ASSERT_EQ(::rmdir((daemon / "rules/data").c_str()), 0);
  Json run = TriggerAndWait(daemon, "a");
  EXPECT_EQ(run.Get("state").AsString(), "manual_required") << daemon.Tell("a");
  Json attempt = run.Get("attempt_list").AsArray().at(0);
  EXPECT_EQ(attempt.Get("class").AsString(), "business") << attempt.Dump();
  EXPECT_NE(attempt.Get("summary").AsString().find("rules/data"), std::string::npos) << attempt.Dump();
  EXPECT_FALSE(FileExists(daemon / "start1/data/was-here"));
  EXPECT_FALSE(FileExists(daemon / "data/was-here"));
  EXPECT_EQ(daemon.Stop(), 0);

  // A rule whose folder is missing neither passes the check nor starts.
  ASSERT_TRUE(MakeFolders(daemon / "rules/data", 0755).ok());
  daemon.Rules(ByHand("b", "execution: {shell: pwd, cwd: /no/such}\n"), "b.yaml");
  ProgramResult check = daemon.Cli({"check"});
  EXPECT_EQ(check.code, 1);
  EXPECT_NE(check.out.find("/no/such does not exist"), std::string::npos) << check.out;
  EXPECT_EQ(daemon.StartRefused({}), 1);
  EXPECT_NE(daemon.log().find("/no/such"), std::string::npos);
}

TEST(Scenario62, AChildHoldsNothingOfTheDaemonsAndANewOneStartsAtOnce) {
  constexpr int kKeepers = 50;
  int port = 0;
  ASSERT_TRUE(ListenLoopback("127.0.0.1", 0, port).ok());  // closed again: a port that is free
  TestDaemon daemon;
  std::string rules;
  for (int i = 1; i <= kKeepers; ++i) {
    if (i > 1) rules += "---\n";
    rules += ByHand(StrCat("keeper", i),
                    "execution: {shell: 'ls -l /proc/self/fd; (sleep 500 </dev/null >/dev/null 2>&1 &)', "
                    "background_children: keep}\n");
  }
  daemon.Rules(rules);
  TestDaemon::Launch launch;
  launch.more = {StrCat("--tcp=", port)};
  ASSERT_TRUE(daemon.Start(launch)) << daemon.log();
  std::vector<std::string> ids;
  for (int i = 1; i <= kKeepers; ++i) {
    Json asked = daemon.Ask({"trigger", StrCat("keeper", i), "--extra", "--by", "tester", "--reason", "62"});
    ids.push_back(asked.Get("run_id").AsString());
    EXPECT_TRUE(daemon.Get("/api/v1/tasks").is_object());
  }
  std::vector<pid_t> sleepers;
  for (const std::string& id : ids) {
    ASSERT_TRUE(Eventually([&] {
      return daemon.Get(StrCat("/api/v1/runs/", id)).Get("state").AsString() == "success";
    })) << id;
    Json output = daemon.Get(StrCat("/api/v1/runs/", id, "/output"));
    for (const std::string& line : Lines(output.Get("stdout").Get("text").AsString())) {
      if (line.find(" -> ") == std::string::npos) continue;
      bool standard = line.find(" 0 -> /dev/null") != std::string::npos ||
                      line.find(" 1 -> pipe:") != std::string::npos ||
                      line.find(" 2 -> pipe:") != std::string::npos ||
                      line.find("/proc/") != std::string::npos;
      EXPECT_TRUE(standard) << line;
    }
    std::vector<pid_t> kept = ProcessesWith(StrCat("DUECOURSE_RUN_ID=", id));
    sleepers.insert(sleepers.end(), kept.begin(), kept.end());
  }
  EXPECT_EQ(sleepers.size(), static_cast<size_t>(kKeepers));
  for (int i = 0; i < 10; ++i) {
    daemon.Kill();
    ASSERT_TRUE(daemon.Start(launch)) << "start " << i << "\n" << daemon.log();
  }
  for (pid_t pid : sleepers) {
    EXPECT_TRUE(Alive(pid)) << pid;
    ::kill(pid, SIGKILL);
  }
}

TEST(Signals, WhatNobodyNeedsEndsNoDaemonAndIsAsUsualForItsCommands) {
  TestDaemon daemon;
  daemon.Rules(ByHand("plain", "execution: {shell: 'grep SigIgn /proc/self/status'}\n"));
  ASSERT_TRUE(daemon.Start()) << daemon.log();
  for (int signal : {SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGRTMIN, SIGRTMAX})
    daemon.program().Signal(signal);
  Json run = TriggerAndWait(daemon, "plain");
  EXPECT_EQ(run.Get("state").AsString(), "success") << daemon.log();
  const std::string out = RawOutput(daemon, run, "out");
  const uint64_t ignored = std::stoull(out.substr(out.find('\t') + 1), nullptr, 16);
  EXPECT_EQ(ignored, 0u) << out;
  EXPECT_EQ(daemon.Stop(), 0) << daemon.log();
}

}  // namespace
}  // namespace duecourse
