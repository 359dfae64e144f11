// HTTP agents through the executor, against servers on loopback.
#include "exec/http_answer.h"
#include "exec/test_harness.h"
#include "net/http_server.h"
#include "net/test_peer.h"

namespace duecourse {
namespace {

class HttpTest : public ExecutorTest {
 protected:
  // Answers every request alike and remembers the last.
  void Serve(HttpResponse response) {
    Serve([this, response](HttpRequest request, HttpReply reply) {
      {
        MutexLock lock(mutex_);
        last_ = request;
      }
      reply(response);
    });
  }
  void Serve(HttpHandler handler) {
    HttpServerOptions options;
    options.tcp_port = 0;
    options.max_connections = 1000;
    Result<std::unique_ptr<HttpServer>> server = HttpServer::Start(options, std::move(handler));
    ASSERT_TRUE(server.ok()) << server.error().message();
    server_ = std::move(server).value();
  }
  HttpRequest last() {
    MutexLock lock(mutex_);
    return last_;
  }
  std::string Url(const std::string& path = "/run") const {
    return StrCat("http://127.0.0.1:", server_->tcp_port(), path);
  }
  StartRequest Request(const std::string& run, const std::string& url,
                       ExecutionRule rule = HttpRule()) const {
    StartRequest request = RequestOf(run, std::move(rule));
    request.method = "POST";
    request.url = url;
    return request;
  }
  static ExecutionRule HttpRule() {
    ExecutionRule rule;
    rule.kind = ExecutionRule::Kind::kHttp;
    rule.timeout = Seconds(30);
    return rule;
  }
  static HttpResponse Answer(int status, const std::string& body = "", std::vector<HttpHeader> headers = {}) {
    HttpResponse response;
    response.status = status;
    response.body = body;
    response.headers = std::move(headers);
    return response;
  }

  Mutex mutex_;
  HttpRequest last_ GUARDED_BY(mutex_);
  // Of handlers that answer later; before the server, whose threads use it until they end.
  Mutex held_mutex_;
  std::vector<HttpReply> held_ GUARDED_BY(held_mutex_);
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpTest, TheAgentGetsTheContextAsBodyAndHeaders) {
  Serve(Answer(200, R"({"answer":"done"})"));
  Ending ending = Run(Request("r1", Url("/run?x=1")));
  EXPECT_EQ(ending.kind, Ending::Kind::kHttp);
  EXPECT_EQ(ending.code, 200);
  EXPECT_TRUE(ending.http_expect_met);
  EXPECT_TRUE(ending.request_sent);
  HttpRequest request = last();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/run?x=1");
  Result<Json> body = Json::Parse(request.body);
  ASSERT_TRUE(body.ok()) << request.body;
  EXPECT_EQ(body->Get("task").AsString(), "task-r1");
  EXPECT_EQ(body->Get("run_id").AsString(), "r1");
  EXPECT_EQ(body->Get("key").AsString(), "key-r1");
  EXPECT_EQ(body->Get("fence").AsString(), "1");
  auto header = [&](const char* name) {
    const std::string* value = FindHeader(request.headers, name);
    return value == nullptr ? std::string("(none)") : *value;
  };
  EXPECT_EQ(header("Idempotency-Key"), "key-r1");
  EXPECT_EQ(header("X-Duecourse-Fence"), "1");
  EXPECT_EQ(header("X-Duecourse-Run-Id"), "r1");
  EXPECT_EQ(header("X-Duecourse-Timezone"), "Asia/Shanghai");
  EXPECT_EQ(header("Content-Type"), "application/json");
  EXPECT_EQ(header("traceparent"), TraceParent({"r1", 1, 1}, options_.store_id));
  EXPECT_EQ(OutputOf("r1").out, R"({"answer":"done"})");
  EXPECT_EQ(sink_.Started("r1"), "POST 127.0.0.1");
}

TEST_F(HttpTest, WhatTheRuleWritesComesFirst) {
  Serve(Answer(200));
  ::setenv("DC_TEST_TOKEN", "canary-token", 1);
  StartRequest request = Request("r1", Url());
  request.body = "plain";
  request.headers = {
      {"Content-Type", "text/plain"}, {"idempotency-key", "mine"}, {"X-Duecourse-Fence", "99"}};
  request.secret_headers = {{"Authorization", {"DC_TEST_TOKEN", ""}}};
  Ending ending = Run(std::move(request));
  ::unsetenv("DC_TEST_TOKEN");
  EXPECT_TRUE(ending.http_expect_met) << ending.summary;
  int fences = 0, keys = 0;
  for (const HttpHeader& header : last().headers) {
    if (AsciiLower(header.name) == "x-duecourse-fence") fences += header.value == "1" ? 1 : 100;
    if (AsciiLower(header.name) == "idempotency-key") keys += header.value == "mine" ? 1 : 100;
  }
  EXPECT_EQ(fences, 1);
  EXPECT_EQ(keys, 1);
  EXPECT_EQ(last().body, "plain");
  EXPECT_EQ(*FindHeader(last().headers, "authorization"), "canary-token");
  EXPECT_EQ(ending.detail.Dump().find("canary"), std::string::npos);
}

TEST_F(HttpTest, AGetHasNoBodyOfOurs) {
  Serve(Answer(204));
  StartRequest request = Request("r1", Url());
  request.method = "GET";
  EXPECT_TRUE(Run(std::move(request)).http_expect_met);
  EXPECT_EQ(last().body, "");
}

TEST(TraceParent, IsOneTraceARunAndOneSpanAnAttempt) {
  const std::string first = TraceParent({"r1", 1, 1}, "s"), second = TraceParent({"r1", 2, 2}, "s");
  EXPECT_EQ(first.size(), 55u);
  EXPECT_EQ(first.substr(0, 36), second.substr(0, 36));
  EXPECT_NE(first.substr(36, 16), second.substr(36, 16));
  EXPECT_NE(first.substr(3, 32), TraceParent({"r2", 1, 1}, "s").substr(3, 32));
}

// 45 "Success" whose body says it failed, or says nothing (as far as `expect` goes)
TEST(ExpectFault, SuccessIsWhatExpectSays) {
  struct Row {
    std::vector<int> status;
    std::vector<std::pair<std::string, Json>> json;
    int answered;
    const char* body;
    const char* fault;
  };
  const Row rows[] = {
      {{}, {}, 200, "", ""},
      {{}, {}, 204, "", ""},
      {{}, {}, 202, "", "the status 202 is not one that is expected"},
      {{202}, {}, 202, "", "the status 202 is not one that is expected"},
      {{}, {}, 301, "", "the status 301 is not one that is expected"},
      {{200, 409}, {}, 409, "", ""},
      {{200}, {}, 204, "", "the status 204 is not one that is expected"},
      {{}, {{"/status", "done"}}, 200, R"({"status":"done"})", ""},
      {{}, {{"/status", "done"}}, 200, R"({"status":"error"})", R"(/status is "error", expected is "done")"},
      {{},
       {{"/failed", false}},
       200,
       R"({"answer":1})",
       "its body has no /failed, which was expected to be false"},
      {{}, {{"/n", 1}}, 200, R"({"n":1.0})", ""},
      {{}, {{"/a/0/b", Json()}}, 200, R"({"a":[{"b":null}]})", ""},
      {{}, {{"/n", 1}}, 200, R"({"n":"1"})", R"(/n is "1", expected is 1)"},
  };
  for (const Row& row : rows) {
    HttpExpect expect;
    expect.status = row.status;
    expect.json = row.json;
    EXPECT_EQ(ExpectFault(expect, row.answered, row.body), row.fault) << row.answered << " " << row.body;
  }
  HttpExpect json;
  json.json = {{"/x", 1}};
  EXPECT_TRUE(ExpectFault(json, 200, "<html>").starts_with("its body is not JSON: "));
}

TEST_F(HttpTest, StatusesAreToldWithTheAnswersFirstLine) {
  struct Row {
    int status;
    const char* body;
    const char* summary;
  };
  const Row rows[] = {{500, "model overloaded\nsecond line", "http 500: model overloaded"},
                      {404, "", ""},
                      {202, "accepted", ""},
                      {302, "elsewhere", "http 302: elsewhere"}};
  int n = 0;
  for (const Row& row : rows) {
    Serve(Answer(row.status, row.body));
    Ending ending = Run(Request(StrCat("r", ++n), Url()));
    EXPECT_EQ(ending.kind, Ending::Kind::kHttp);
    EXPECT_EQ(ending.code, row.status);
    EXPECT_FALSE(ending.http_expect_met) << row.status;
    EXPECT_EQ(ending.summary, row.summary);
  }
}

TEST_F(HttpTest, RetryAfterIsTakenUpToADay) {
  struct Row {
    const char* value;
    std::optional<Millis> wait;
  };
  const Row rows[] = {{"120", Seconds(120)}, {"99999999", Hours(24)}, {"soon", std::nullopt}};
  int n = 0;
  for (const Row& row : rows) {
    Serve(Answer(429, "", {{"Retry-After", row.value}}));
    EXPECT_EQ(Run(Request(StrCat("r", ++n), Url())).retry_after, row.wait) << row.value;
  }
}

TEST_F(HttpTest, AnAgentReportsUnderItsOwnName) {
  Serve(Answer(
      200,
      R"({"answer":"","duecourse":{"class":"business","code":"EMPTY","summary":"no answer","cost":0.5}})"));
  Ending ending = Run(Request("r1", Url()));
  EXPECT_EQ(ending.said, FailureClass::kBusiness);
  EXPECT_EQ(ending.said_code, "EMPTY");
  EXPECT_EQ(ending.summary, "no answer");
  EXPECT_EQ(ending.detail.Get("cost").AsDouble(), 0.5);
  Serve(Answer(200, R"({"duecourse":"great"})"));
  Ending bad = Run(Request("r2", Url()));
  EXPECT_FALSE(bad.said.has_value());
  EXPECT_TRUE(bad.http_expect_met);
  EXPECT_EQ(bad.detail.Get("notes").AsArray().size(), 1u);
}

TEST_F(HttpTest, WhetherTheRequestLeftIsTold) {
  // Nobody listens.
  int free_port = 0;
  { Result<Fd> fd = ListenLoopback("127.0.0.1", 0, free_port); }
  Ending refused = Run(Request("r1", StrCat("http://127.0.0.1:", free_port, "/")));
  EXPECT_EQ(refused.kind, Ending::Kind::kNetwork);
  EXPECT_FALSE(refused.request_sent);
  EXPECT_NE(refused.summary.find("nothing was sent"), std::string::npos) << refused.summary;
  // Somebody takes the request and goes.
  RawServer broken([](RawPeer& peer) { peer.ReadHead(); });
  Ending cut = Run(Request("r2", broken.Url()));
  EXPECT_EQ(cut.kind, Ending::Kind::kNetwork);
  EXPECT_TRUE(cut.request_sent);
  // Somebody takes the request and says nothing.
  RawServer silent([](RawPeer& peer) { peer.ReadToEnd(20'000); });
  ExecutionRule rule = HttpRule();
  rule.timeout = Millis{400};
  Ending hung = Run(Request("r3", silent.Url(), rule));
  EXPECT_EQ(hung.kind, Ending::Kind::kTimeout);
  EXPECT_TRUE(hung.request_sent);
  EXPECT_EQ(hung.summary, "127.0.0.1 was asked and did not answer within 400ms");
}

TEST_F(HttpTest, AnAnswerOfAnySizeIsCutAndStillRead) {
  Serve(Answer(200, std::string(3u << 20, 'x')));
  ExecutionRule rule = HttpRule();
  rule.output_max = 1000;
  Ending ending = Run(Request("r1", Url(), rule));
  EXPECT_EQ(ending.kind, Ending::Kind::kHttp);
  EXPECT_EQ(ending.code, 200);
  EXPECT_TRUE(ending.http_expect_met);
  EXPECT_NE(ending.detail.Dump().find("the answer has 3145728 bytes, of which the first 1048576"),
            std::string::npos)
      << ending.detail.Dump();
  EXPECT_EQ(OutputOf("r1").out.size(), 1000u);
  rule.http.expect.json = {{"/status", "done"}};
  Ending unread = Run(Request("r2", Url(), rule));
  EXPECT_FALSE(unread.http_expect_met);
  EXPECT_NE(unread.summary.find("too large to be read as JSON: 3145728 bytes"), std::string::npos)
      << unread.summary;
}

// Its status came, and yet nobody knows what it was going to say.
TEST_F(HttpTest, AnAnswerThatBreaksALimitOrItsFramingIsNoSuccess) {
  struct Row {
    const char* name;
    const char* begin;
    const char* endless;  // sent until the other side has gone; empty: once is all
    const char* told;
  };
  const std::string large(64u << 10, 'x');
  // Long ones: newer versions of the library also bound their number, at 5000.
  const std::string header = StrCat("X: ", std::string(200, 'y'), "\r\n");
  const Row rows[] = {
      {"headers without end", "HTTP/1.1 200 OK\r\n", header.c_str(), "the answer's headers have more than"},
      {"a trailer without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n",
       header.c_str(), "the answer's headers have more than"},
      {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "",
       "it has two lengths, Content-Length 3 and 4"},
      {"cut off", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc", "", "no whole answer"},
      {"a body without end", "HTTP/1.1 200 OK\r\n\r\n", large.c_str(), "body is larger than 67108864 bytes"},
  };
  int n = 0;
  for (const Row& row : rows) {
    RawServer server([&row](RawPeer& peer) {
      peer.ReadHead();
      peer.Send(row.begin);
      const std::string more = row.endless;
      while (!more.empty() && peer.Send(more)) {
      }
    });
    Ending ending = Run(Request(StrCat("r", ++n), server.Url()));
    EXPECT_EQ(ending.kind, Ending::Kind::kNetwork) << row.name << ": " << ending.summary;
    EXPECT_TRUE(ending.request_sent) << row.name;
    EXPECT_FALSE(ending.http_expect_met) << row.name;
    EXPECT_NE(ending.summary.find("began to answer with http 200"), std::string::npos) << ending.summary;
    EXPECT_NE(ending.summary.find(row.told), std::string::npos) << row.name << ": " << ending.summary;
  }
  RawServer silent([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc");
    peer.ReadToEnd(20'000);
  });
  ExecutionRule rule = HttpRule();
  rule.timeout = Millis{400};
  Ending half = Run(Request("r9", silent.Url(), rule));
  EXPECT_EQ(half.kind, Ending::Kind::kTimeout);
  EXPECT_EQ(half.summary, "127.0.0.1 began to answer and had not finished within 400ms");
}

TEST_F(HttpTest, AddressesThatAreNotAllowedAreTheRulesFault) {
  for (const char* url :
       {"http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://[fe80::1]/"}) {
    Ending ending = Run(Request(StrCat("r", Sha256Hex(url)), url));
    EXPECT_EQ(ending.kind, Ending::Kind::kExit) << url << ending.summary;
    EXPECT_EQ(ending.code, 78) << url;
    EXPECT_EQ(ending.said_code, "address_denied") << url << ending.summary;
  }
  options_.http_allow = {"public"};
  executor_.reset();
  Serve(Answer(200));
  EXPECT_EQ(Run(Request("r9", Url())).said_code, "address_denied");
}

TEST_F(HttpTest, AnAllowListThatCannotBeReadCallsNothingAndSaysSoOnce) {
  options_.http_allow = {"what is this?"};
  Serve(Answer(200));
  Ending ending = Run(Request("r1", Url()));
  EXPECT_EQ(ending.code, 78) << ending.summary;
  EXPECT_EQ(ending.said_code, "http_allow");
  EXPECT_EQ(ending.summary.find("http_allow"), ending.summary.rfind("http_allow")) << ending.summary;
  EXPECT_NE(ending.summary.find("\"what is this?\" is no host name"), std::string::npos) << ending.summary;
}

TEST_F(HttpTest, ARequestThatCannotBeMadeIsTheRulesFault) {
  EXPECT_EQ(Run(Request("r1", "ftp://127.0.0.1/")).said_code, "request_unusable");
  StartRequest header = Request("r2", "http://127.0.0.1:1/");
  header.headers = {{"X-Line", "a\r\nInjected: b"}};
  EXPECT_EQ(Run(std::move(header)).said_code, "request_unusable");
  StartRequest secret = Request("r3", "http://127.0.0.1:1/");
  secret.secret_headers = {{"Authorization", {"DC_TEST_NOT_SET", ""}}};
  Ending ending = Run(std::move(secret));
  EXPECT_EQ(ending.said_code, "request_unusable");
  EXPECT_NE(ending.summary.find("DC_TEST_NOT_SET"), std::string::npos) << ending.summary;
}

TEST_F(HttpTest, ACancelledRequestIsDropped) {
  Serve([&](HttpRequest, HttpReply reply) {
    MutexLock lock(held_mutex_);
    held_.push_back(std::move(reply));
  });
  executor().Start(Request("r1", Url()));
  EXPECT_EQ(sink_.Started("r1"), "POST 127.0.0.1");
  executor().Kill({"r1", 1, 1}, KillWhy::kCancelled);
  Ending ending = sink_.Ended("r1");
  EXPECT_EQ(ending.kind, Ending::Kind::kKilled);
  EXPECT_EQ(ending.detail.Get("kill").Get("why").AsString(), "cancelled");
}

TEST_F(HttpTest, HundredsHangOnOneThreadAndDelayNobody) {
  Serve([&](HttpRequest request, HttpReply reply) {
    if (request.target == "/now") return reply(Answer(200, "now"));
    MutexLock lock(held_mutex_);
    held_.push_back(std::move(reply));
  });
  constexpr int kCount = 400;
  for (int i = 0; i < kCount; ++i) executor().Start(Request(StrCat("h", i), Url("/hang")));
  EXPECT_EQ(Run(Request("r1", Url("/now"))).code, 200);
  EXPECT_FALSE(sink_.HasEnded("h0"));
  const int64_t until = MonotonicMicros() + kTestPatienceMs * 1000;
  size_t waiting = 0;
  while (waiting < kCount && MonotonicMicros() < until) {
    MutexLock lock(held_mutex_);
    waiting = held_.size();
  }
  ASSERT_EQ(waiting, size_t{kCount});
  {
    MutexLock lock(held_mutex_);
    for (HttpReply& reply : held_) reply(Answer(200, "late"));
  }
  ASSERT_TRUE(sink_.EndedCount(kCount + 1));
  for (int i = 0; i < kCount; i += 37) EXPECT_TRUE(sink_.Ended(StrCat("h", i)).http_expect_met);
}

TEST_F(HttpTest, WhoFindsNoSlotWaitsItsTurn) {
  options_.http_slots = 1;
  Serve([&](HttpRequest request, HttpReply reply) {
    if (request.target == "/now") return reply(Answer(200));
    MutexLock lock(held_mutex_);
    held_.push_back(std::move(reply));
  });
  executor().Start(Request("r1", Url("/hang")));
  for (int i = 2; i <= 4; ++i) executor().Start(Request(StrCat("r", i), Url("/now")));
  executor().Kill({"r3", 1, 1}, KillWhy::kWindowEnd);
  EXPECT_EQ(sink_.Ended("r3").kind, Ending::Kind::kNotStarted);
  EXPECT_EQ(sink_.Ended("r3").summary,
            "not started: its window ended while it waited for the only HTTP slot");
  const int64_t until = MonotonicMicros() + kTestPatienceMs * 1000;
  for (bool asked = false; !asked && MonotonicMicros() < until;) {
    MutexLock lock(held_mutex_);
    asked = !held_.empty();
  }
  {
    MutexLock lock(held_mutex_);
    ASSERT_EQ(held_.size(), 1u);
    held_[0](Answer(200));
  }
  ASSERT_TRUE(sink_.EndedCount(4));
  EXPECT_EQ(sink_.order(), (std::vector<std::string>{"r3", "r1", "r2", "r4"}));
}

// 12, for agents: no marker, nothing sent.
TEST_F(HttpTest, ASentRequestHasAMarker) {
  Serve(Answer(200));
  Run(Request("r1", Url()));
  Run(Request("r2", "ftp://127.0.0.1/"));
  executor_.reset();
  executor().Inspect({"r1", 1, 1}, true);
  executor().Inspect({"r2", 1, 1}, true);
  EXPECT_EQ(sink_.Inspected("r1").found, Inspection::Found::kGone);
  EXPECT_EQ(sink_.Inspected("r2").found, Inspection::Found::kNotStarted);
}

}  // namespace
}  // namespace duecourse
