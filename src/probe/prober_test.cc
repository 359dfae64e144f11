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

constexpr Millis kFast{300};

std::string Http(int status, const std::string& body, const std::string& headers = "") {
  return StrCat("HTTP/1.1 ", status, " x\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n",
                headers, "\r\n", body);
}

class ProberTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeFolders(folder_, 0700).ok()); }
  void TearDown() override {
    prober_.reset();
    std::filesystem::remove_all(folder_);
  }
  Prober& prober() {
    if (prober_ == nullptr) prober_ = NewProber(options_, clock_, answers_.Sink());
    return *prober_;
  }
  ProbeAnswer Get(const Precondition& condition, const std::string& url, Millis timeout = Seconds(20)) {
    ProbeRequest request = RequestFor(condition, timeout);
    request.url = url;
    request.folder = folder_;
    request.share_key = url;
    return Ask(prober(), answers_, std::move(request));
  }
  static Precondition HttpCondition() {
    Precondition condition;
    condition.type = Precondition::Type::kHttp;
    return condition;
  }
  static Precondition UpCondition() {
    Precondition condition = HttpCondition();
    condition.http.expect.json = {{"/status", Json("UP")}};
    return condition;
  }
  ProbeRequest CommandRequest(const std::vector<std::string>& argv, Millis timeout = Seconds(20)) {
    Precondition condition;
    condition.type = Precondition::Type::kCommand;
    ProbeRequest request = RequestFor(condition, timeout);
    request.argv = argv;
    request.folder = folder_;
    request.share_key = Join(argv, "\x1f");
    return request;
  }
  ProbeRequest FileRequest(const std::string& path, Millis timeout = Seconds(20)) {
    Precondition condition;
    condition.type = Precondition::Type::kFile;
    ProbeRequest request = RequestFor(condition, timeout);
    request.path = path;
    request.folder = folder_;
    request.share_key = path;
    return request;
  }

  const std::string folder_ = testing::TempDir() + "/prober_test_" + SecureToken(6);
  SystemClock clock_;
  Answers answers_;
  ProbeOptions options_;
  std::unique_ptr<Prober> prober_;
};

// What a server does with each connection.
struct Mode {
  const char* name;
  std::function<void(RawPeer&, const RawServer&)> act;
  const char* brief;
  const char* text;  // part of it
};

void Hold(RawPeer& peer, const RawServer& server) {
  while (server.Holding(peer)) continue;
}
// A byte each 10 ms, as Holding waits that long.
void Drip(RawPeer& peer, const RawServer& server, const std::string& bytes) {
  for (size_t i = 0; i < bytes.size() && server.Holding(peer); ++i) peer.Send(bytes.substr(i, 1));
  Hold(peer, server);
}

const std::vector<Mode>& Modes() {
  static const std::vector<Mode> modes = {
      {"accepts and says nothing", Hold, "failed timed_out", "check timed out after 300ms: no answer came"},
      {"a byte now and then",
       [](RawPeer& peer, const RawServer& server) { Drip(peer, server, Http(200, std::string(9999, 'x'))); },
       "failed too_slow", "too slow: the answer had begun but was not complete after 300ms"},
      {"the head at once, the body never",
       [](RawPeer& peer, const RawServer& server) {
         peer.ReadHead();
         peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{");
         Hold(peer, server);
       },
       "failed too_slow", "too slow"},
      {"redirects for ever",
       [](RawPeer& peer, const RawServer&) {
         peer.ReadHead();
         peer.Send(Http(302, "", "Location: /again\r\n"));
       },
       "failed redirect_loop", "redirect loop: more than 5 redirects"},
      {"an endless body",
       [](RawPeer& peer, const RawServer&) {
         peer.ReadHead();
         if (peer.Send("HTTP/1.1 200 OK\r\n\r\n")) {
           while (peer.Send(std::string(8192, 'x'))) continue;
         }
       },
       "failed too_big", "too big: the answer's body is larger than 65536 bytes"},
      {"500",
       [](RawPeer& peer, const RawServer&) {
         peer.ReadHead();
         peer.Send(Http(500, "boom"));
       },
       "no status", "status 500, wanted 200"},
      {"200 but DOWN",
       [](RawPeer& peer, const RawServer&) {
         peer.ReadHead();
         peer.Send(Http(200, R"({"status":"DOWN"})"));
       },
       "no condition_false", R"(condition false: /status is "DOWN", wanted "UP")"},
      {"no JSON",
       [](RawPeer& peer, const RawServer&) {
         peer.ReadHead();
         peer.Send(Http(200, "<html>UP</html>"));
       },
       "failed not_json", "the body is no JSON"},
      {"closes in the middle",
       [](RawPeer& peer, const RawServer&) {
         peer.ReadHead();
         peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
       },
       "failed broken", "no usable answer: "},
      {"speaks no HTTP",
       [](RawPeer& peer, const RawServer&) {
         peer.ReadHead();
         peer.Send("SSH-2.0-x\r\n");
       },
       "failed broken", "no usable answer: "},
      {"UP",
       [](RawPeer& peer, const RawServer&) {
         peer.ReadHead();
         peer.Send(Http(200, R"({"status":"UP"})"));
       },
       "yes met", "status 200, as expected"},
  };
  return modes;
}

TEST_F(ProberTest, Scenario53EachWayOfFailingHasItsOwnWordsAndEndsInTime) {
  for (const Mode& mode : Modes()) {
    const RawServer* self = nullptr;
    std::atomic<bool> ready = false;
    RawServer server([&](RawPeer& peer) {
      while (!ready) continue;
      mode.act(peer, *self);
    });
    self = &server;
    ready = true;
    // The time counts where it should run out; elsewhere a busy machine must not matter.
    const std::string brief = mode.brief;
    const bool timed = brief == "failed timed_out" || brief == "failed too_slow";
    const int64_t begun_us = MonotonicMicros();
    const ProbeAnswer answer = Get(UpCondition(), server.Url("/healthz"), timed ? kFast : Seconds(20));
    EXPECT_EQ(Brief(answer), brief) << mode.name << ": " << answer.text;
    EXPECT_NE(answer.text.find(mode.text), std::string::npos) << mode.name << ": " << answer.text;
    if (timed) {
      EXPECT_GE(MonotonicMicros() - begun_us, 290'000) << mode.name;
      EXPECT_LT(MonotonicMicros() - begun_us, 5'000'000) << mode.name;
    }
  }
}

TEST_F(ProberTest, AHostThatCannotBeFoundOrReachedIsNamedAsThat) {
  ProbeAnswer answer = Get(HttpCondition(), "http://no-such-host.invalid/", kFast);
  EXPECT_EQ(Brief(answer), "failed dns") << answer.text;
  EXPECT_TRUE(answer.text.starts_with("DNS: ")) << answer.text;
  int port = 0;
  {
    RawServer gone([](RawPeer&) {});
    port = gone.port();
  }
  answer = Get(HttpCondition(), StrCat("http://127.0.0.1:", port, "/"));
  EXPECT_EQ(Brief(answer), "failed connect") << answer.text;
  for (const char* url :
       {"ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "http://a b/", ""}) {
    EXPECT_EQ(Brief(Get(HttpCondition(), url)), "failed bad_call") << url;
  }
}

TEST_F(ProberTest, AnAnswerIsHeldAgainstStatusAndValues) {
  struct Row {
    std::vector<int> status;
    std::vector<std::pair<std::string, Json>> json;
    const char* brief;
    const char* text;
  };
  const Row rows[] = {
      {{}, {}, "no status", "status 503, wanted 200"},
      {{503}, {}, "yes met", "status 503"},
      {{200, 204}, {}, "no status", "status 503, wanted 200 or 204"},
      {{503}, {{"/n", Json(1)}}, "yes met", "status 503, as expected"},
      {{503}, {{"/n", Json(1.0)}}, "yes met", "status 503, as expected"},
      {{503}, {{"/n", Json("1")}}, "no condition_false", "condition false: /n is 1, wanted \"1\""},
      {{503}, {{"/list/1/x", Json(true)}}, "yes met", "status 503, as expected"},
      {{503}, {{"/none", Json()}}, "no condition_false", "condition false: /none is not there, wanted null"},
      {{503},
       {{"/n", Json(2)}, {"/s", Json("b")}},
       "no condition_false",
       "condition false: /n is 1, wanted 2; condition false: /s is \"a\\u001b\", wanted \"b\""},
  };
  RawServer server([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send(Http(503, R"({"n":1,"s":"a\u001b","list":[0,{"x":true}]})"));
  });
  int n = 0;
  for (const Row& row : rows) {
    Precondition condition = HttpCondition();
    condition.http.expect.status = row.status;
    condition.http.expect.json = row.json;
    const ProbeAnswer answer = Get(condition, server.Url(StrCat("/", ++n)));
    EXPECT_EQ(Brief(answer), row.brief) << answer.text;
    EXPECT_EQ(answer.text, row.text);
  }
}

TEST_F(ProberTest, ABodyOfExactlyTheLimitIsRead) {
  std::string body = R"({"status":"UP"})";
  body.resize(kProbeMaxBody, ' ');
  std::string* sent = &body;
  RawServer server([&sent](RawPeer& peer) {
    peer.ReadHead();
    peer.Send(Http(200, *sent));
  });
  EXPECT_EQ(Brief(Get(UpCondition(), server.Url("/a"))), "yes met");
  body += ' ';
  EXPECT_EQ(Brief(Get(UpCondition(), server.Url("/b"))), "failed too_big");
}

TEST_F(ProberTest, RedirectsAreFollowedAFewTimesButNotWithASecretNorToAForbiddenPlace) {
  ASSERT_EQ(::setenv("PROBER_TEST_TOKEN", "canary-probe-token", 1), 0);
  std::atomic<int> asked = 0;
  std::string last;
  RawServer server([&](RawPeer& peer) {
    ++asked;
    last = peer.ReadHead();
    if (last.find("/final ") != std::string::npos) {
      peer.Send(Http(200, "{}"));
    } else if (last.find("/away ") != std::string::npos) {
      peer.Send(Http(302, "", "Location: http://169.254.169.254/latest\r\n"));
    } else if (last.find("/scheme ") != std::string::npos) {
      peer.Send(Http(302, "", "Location: file:///etc/passwd\r\n"));
    } else {
      peer.Send(Http(302, "", "Location: /final\r\n"));
    }
  });
  EXPECT_EQ(Brief(Get(HttpCondition(), server.Url("/start"))), "yes met");
  EXPECT_EQ(asked, 2);
  Precondition with_secret = HttpCondition();
  TextOrSecret token;
  token.secret = SecretRef{"PROBER_TEST_TOKEN", ""};
  with_secret.http.headers = {{"X-Token", token}};
  ProbeAnswer answer = Get(with_secret, server.Url("/start"));
  EXPECT_EQ(Brief(answer), "no status") << answer.text;
  EXPECT_EQ(answer.text, "status 302, wanted 200");
  EXPECT_EQ(asked, 3);
  EXPECT_NE(last.find("X-Token: canary-probe-token\r\n"), std::string::npos) << last;
  EXPECT_EQ(Redact("canary-probe-token"), "***");
  answer = Get(HttpCondition(), server.Url("/away"));
  EXPECT_EQ(Brief(answer), "failed forbidden") << answer.text;
  EXPECT_NE(answer.text.find("169.254.169.254"), std::string::npos) << answer.text;
  EXPECT_EQ(Brief(Get(HttpCondition(), server.Url("/scheme"))), "failed bad_call");
  // A rule that expects the redirect itself gets it.
  Precondition expects = HttpCondition();
  expects.http.expect.status = {302};
  EXPECT_EQ(Brief(Get(expects, server.Url("/start"))), "yes met");
}

TEST_F(ProberTest, OnlyListedPrivateAddressesAreReached) {
  options_.http_allow = {"public"};
  RawServer server([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send(Http(200, ""));
  });
  const std::string port = StrCat(server.port());
  for (const char* host :
       {"127.0.0.1", "localhost", "0", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]"}) {
    const ProbeAnswer answer = Get(HttpCondition(), StrCat("http://", host, ":", port, "/"));
    EXPECT_EQ(answer.answer, PreconditionFact::Answer::kCheckFailed) << host;
    EXPECT_EQ(answer.code, "forbidden") << host << " " << answer.text;
  }
  EXPECT_EQ(server.connections(), 0);
  prober_.reset();
  options_.http_allow = {"what is this?"};
  const ProbeAnswer answer = Get(HttpCondition(), server.Url());
  EXPECT_EQ(Brief(answer), "failed forbidden");
  EXPECT_TRUE(answer.text.starts_with("http_allow: \"what is this?\"")) << answer.text;
}

TEST_F(ProberTest, MethodHeadersAndBodyAreSentAndAMissingSecretIsAFailedCheck) {
  std::string seen;
  RawServer server([&](RawPeer& peer) {
    seen = peer.ReadUntil([](const std::string& got) { return got.ends_with("{\"q\":1}"); });
    peer.Send(Http(200, ""));
  });
  Precondition condition = HttpCondition();
  condition.http.method = "POST";
  ProbeRequest request = RequestFor(condition);
  request.url = server.Url("/q");
  request.body = R"({"q":1})";
  request.headers = {{"X-One", "1"}};
  EXPECT_EQ(Brief(Ask(prober(), answers_, request)), "yes met");
  EXPECT_TRUE(seen.starts_with("POST /q HTTP/1.1\r\n")) << seen;
  EXPECT_NE(seen.find("X-One: 1\r\n"), std::string::npos);
  TextOrSecret secret;
  secret.secret = SecretRef{"", "no-such-file"};
  condition.http.headers = {{"X-Token", secret}};
  const ProbeAnswer answer = Get(condition, server.Url());
  EXPECT_EQ(Brief(answer), "failed secret");
  EXPECT_NE(answer.text.find("no-such-file"), std::string::npos) << answer.text;
}

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
