#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/log.h"
#include "base/process.h"
#include "base/random.h"
#include "net/test_peer.h"
#include "probe/test_prober.h"

namespace duecourse {
namespace {

TEST_F(ProberTest, OneLookAtATimeForTheSameThingAndAllWhoWaitGetItsAnswer) {
  std::atomic<int> open = 0;
  std::atomic<int> most = 0;
  std::atomic<bool> go = false;
  RawServer server([&](RawPeer& peer) {
    most = std::max(most.load(), ++open);
    peer.ReadHead();
    while (!go && server.Holding(peer)) continue;
    --open;
    peer.Send(Http(200, "{}"));
  });
  Precondition condition = HttpCondition();
  for (uint64_t ticket = 1; ticket <= 50; ++ticket) {
    ProbeRequest request = RequestFor(condition);
    request.ticket = ticket;
    request.url = server.Url("/same");
    request.share_key = "same";
    prober().Start(std::move(request));
  }
  // Something else is looked at meanwhile.
  EXPECT_EQ(Brief(Ask(prober(), answers_, CommandRequest({"true"}))), "yes met");
  go = true;
  const std::vector<ProbeAnswer> all = answers_.Await(51);
  ASSERT_EQ(all.size(), 51u);
  std::set<uint64_t> tickets;
  for (const ProbeAnswer& answer : all) {
    tickets.insert(answer.ticket);
    EXPECT_EQ(Brief(answer), "yes met");
  }
  EXPECT_EQ(tickets.size(), 51u);
  EXPECT_EQ(most, 1);
  EXPECT_EQ(server.connections(), 1);
  // Afterwards it is looked at anew.
  EXPECT_EQ(Brief(Get(condition, server.Url("/same"))), "yes met");
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(ProberTest, ConditionsThatDifferAreNotShared) {
  RawServer server([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send(Http(404, ""));
  });
  Precondition wants_404 = HttpCondition();
  wants_404.http.expect.status = {404};
  for (const Precondition& condition : {HttpCondition(), wants_404}) {
    ProbeRequest request = RequestFor(condition);
    request.url = server.Url("/same");
    request.share_key = "same";
    prober().Start(std::move(request));
  }
  std::set<std::string> briefs;
  for (const ProbeAnswer& answer : answers_.Await(2)) briefs.insert(Brief(answer));
  EXPECT_EQ(briefs, (std::set<std::string>{"no status", "yes met"}));
}

TEST_F(ProberTest, CommandsAnswerByTheirExit) {
  struct Row {
    const char* script;
    const char* brief;
    const char* text;
  };
  const Row rows[] = {
      {"echo ready", "yes met", "sh says yes: ready"},
      {"exit 0", "yes met", "sh says yes"},
      {"echo 3 files missing; exit 1", "no exit", "sh says no (exit 1): 3 files missing"},
      {"echo one; echo 'no route' >&2; exit 2", "failed exit", "sh failed: exit 2: no route"},
      {"kill -SEGV $$", "failed killed", "sh failed: killed by signal 11"},
      {"printf '\\033[2J\\n'; exit 1", "no exit", "sh says no (exit 1): \\x1b[2J"},
  };
  for (const Row& row : rows) {
    const ProbeAnswer answer = Ask(prober(), answers_, CommandRequest({"sh", "-c", row.script}));
    EXPECT_EQ(Brief(answer), row.brief) << row.script;
    EXPECT_EQ(answer.text, row.text) << row.script;
  }
  ProbeAnswer answer = Ask(prober(), answers_, CommandRequest({"no-such-check"}));
  EXPECT_EQ(Brief(answer), "failed not_started");
  EXPECT_TRUE(answer.text.starts_with("command not found: no-such-check")) << answer.text;
  answer = Ask(prober(), answers_, CommandRequest({"sh", "-c", "echo starting; tail -f /dev/null"}, kFast));
  EXPECT_EQ(Brief(answer), "failed timed_out");
  EXPECT_EQ(answer.text, "check timed out after 300ms: sh was still running: starting");
}

// Whether it still runs; a process that was killed may be on its way out for an instant.
bool Runs(pid_t pid) {
  const std::optional<ProcessStat> stat = ReadProcessStat(pid);
  return stat.has_value() && (stat->state == 'S' || stat->state == 'D');
}

TEST_F(ProberTest, WhatACommandLeavesBehindEndsWithItAndWithTheDaemon) {
  const std::string file = folder_ + "/pid";
  const auto script = [&file](const char* end) {
    return StrCat("setsid sh -c 'echo $$ > ", file, ".new; mv ", file, ".new ", file,
                  "; exec tail -f /dev/null' & while [ ! -s ", file, " ]; do :; done; ", end);
  };
  const auto pid = [&file] {
    const int64_t until = MonotonicMicros() + 20'000'000;
    while (!FileExists(file) && MonotonicMicros() < until) continue;
    const pid_t read = static_cast<pid_t>(ParseInteger(Trim(*ReadFile(file, 100))).value_or(0));
    std::filesystem::remove(file);
    return read;
  };
  EXPECT_EQ(Brief(Ask(prober(), answers_, CommandRequest({"sh", "-c", script("exit 1")}))), "no exit");
  EXPECT_FALSE(Runs(pid()));
  prober().Start(CommandRequest({"sh", "-c", script("exec tail -f /dev/null")}, Minutes(5)));
  const pid_t left = pid();
  ASSERT_GT(left, 0);
  prober_.reset();
  EXPECT_FALSE(Runs(left));
}

TEST_F(ProberTest, ATimeoutIsWaitedForAtTheRateOfTheClock) {
  options_.rate = 100;
  const int64_t begun_us = MonotonicMicros();
  const ProbeAnswer answer = Ask(prober(), answers_, CommandRequest({"tail", "-f", "/dev/null"}, Minutes(1)));
  EXPECT_EQ(answer.text, "check timed out after 60s: tail was still running");
  EXPECT_GE(MonotonicMicros() - begun_us, 590'000);
  EXPECT_LT(MonotonicMicros() - begun_us, 20'000'000);
}

// A file system that answers nothing, like a network mount whose server is gone.
class DeadMount {
 public:
  explicit DeadMount(std::string folder)
      : folder_(std::move(folder)), device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
    const std::string options = StrCat("fd=", device_.get(), ",rootmode=40000,user_id=0,group_id=0");
    mounted_ = device_.valid() &&
               ::mount("dead", folder_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
  }
  ~DeadMount() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  void Revive() { device_.Reset(); }  // all that hangs fails at once

 private:
  const std::string folder_;
  Fd device_;
  bool mounted_ = false;
};

TEST_F(ProberTest, ADeadMountStallsNobodyElse) {
  const std::string dead = folder_ + "/dead";
  ASSERT_TRUE(MakeFolders(dead, 0700).ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ + "/good", "x", false).ok());
  DeadMount mount(dead);
  if (!mount.mounted()) GTEST_SKIP() << "no FUSE here, or no right to mount";
  options_.threads = 2;
  for (int i = 0; i < 5; ++i) prober().Start(FileRequest(StrCat(dead, "/", i), Seconds(1)));
  EXPECT_EQ(Brief(Ask(prober(), answers_, FileRequest(folder_ + "/good"))), "yes met");
  for (const ProbeAnswer& answer : answers_.Await(6)) {
    if (answer.code == "met") continue;
    EXPECT_EQ(Brief(answer), "failed timed_out");
    EXPECT_TRUE(answer.text.starts_with("check timed out after 1s: dead/")) << answer.text;
  }
  // The same again is not begun while it hangs, and is answered at once.
  const ProbeAnswer again = Ask(prober(), answers_, FileRequest(dead + "/0", Minutes(5)));
  EXPECT_EQ(Brief(again), "failed timed_out");
  EXPECT_TRUE(again.text.ends_with(" still hangs")) << again.text;
  mount.Revive();
}

// A file without an end in sight: its bytes are holes, so it costs no disk.
TEST_F(ProberTest, AFileThatIsOnlyLargeIsNotCalledDead) {
  const std::string path = folder_ + "/large.csv";
  ASSERT_TRUE(WriteFileAtomic(path, "head\n", false).ok());
  ASSERT_EQ(::truncate(path.c_str(), kProbeMaxFileBytes), 0);
  ProbeRequest request = FileRequest(path, Millis{150});
  request.checksum = std::string(64, '0');
  const ProbeAnswer answer = Ask(prober(), answers_, std::move(request));
  EXPECT_EQ(Brief(answer), "failed timed_out");
  EXPECT_TRUE(answer.text.starts_with("check timed out after 150ms: large.csv was still being read ("))
      << answer.text;
}

TEST_F(ProberTest, TheEndComesInTimeWhateverIsUnderWay) {
  RawServer mute([&mute](RawPeer& peer) { Hold(peer, mute); });
  ProbeRequest request = RequestFor(HttpCondition(), Minutes(5));
  request.url = mute.Url();
  prober().Start(std::move(request));
  prober().Start(CommandRequest({"tail", "-f", "/dev/null"}, Minutes(5)));
  const int64_t begun_us = MonotonicMicros();
  prober_.reset();
  EXPECT_LT(MonotonicMicros() - begun_us, 20'000'000);
  EXPECT_EQ(answers_.count(), 0u);
}

TEST_F(ProberTest, AHundredChecksThatHangLeaveTheOthersAlone) {
  RawServer mute([&mute](RawPeer& peer) { Hold(peer, mute); });
  for (int i = 0; i < 100; ++i) {
    ProbeRequest request = RequestFor(HttpCondition(), Minutes(5));
    request.url = mute.Url(StrCat("/", i));
    request.share_key = request.url;
    prober().Start(std::move(request));
  }
  for (int i = 0; i < 10; ++i)
    prober().Start(CommandRequest({"tail", "-f", "/dev/null", StrCat(i)}, Minutes(5)));
  RawServer up([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send(Http(200, "{}"));
  });
  EXPECT_EQ(Brief(Get(HttpCondition(), up.Url())), "yes met");
  EXPECT_EQ(Brief(Ask(prober(), answers_, CommandRequest({"true"}))), "yes met");
}

}  // namespace
}  // namespace duecourse
