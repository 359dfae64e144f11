// HTTP preconditions: what of an answer is a yes, a no, or a check that failed.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "base/file.h"
#include "base/log.h"
#include "net/test_peer.h"
#include "probe/test_prober.h"

namespace duecourse {
namespace {

// What a server does with each connection.
struct Mode {
  const char* name;
  std::function<void(RawPeer&, const RawServer&)> act;
  const char* brief;
  const char* text;  // part of it
};

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

}  // namespace
}  // namespace duecourse
