#include "net/http_server.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <future>

#include "base/queue.h"
#include "base/random.h"
#include "base/text.h"
#include "net/http_client.h"
#include "net/test_peer.h"

namespace duecourse {
namespace {

// Says back what arrived, so that a test sees what the handler saw.
void Echo(HttpRequest request, const HttpReply& reply) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body =
      StrCat(request.method, " ", request.target, request.local ? " local" : "", " [", request.body, "]");
  const std::string* tag = FindHeader(request.headers, "x-tag");
  if (tag != nullptr) response.headers.push_back({"X-Tag", *tag});
  reply(std::move(response));
}

class ServerTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeFolders(folder_, 0700).ok()); }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  void Start(HttpServerOptions options = {}, HttpHandler handler = Echo) {
    options.tcp_port = 0;
    options.unix_path = socket_;
    Result<std::unique_ptr<HttpServer>> server = HttpServer::Start(options, std::move(handler));
    ASSERT_TRUE(server.ok()) << server.error().message();
    server_ = std::move(*server);
  }
  std::string Url(const std::string& path) const {
    return StrCat("http://127.0.0.1:", server_->tcp_port(), path);
  }
  // Sends raw bytes and says what comes back until the server closes.
  std::string Exchange(std::string_view bytes, int64_t bound_ms = 5000) {
    RawPeer peer = RawPeer::ConnectTcp(server_->tcp_port());
    peer.Send(bytes);
    std::string answer = peer.ReadToEnd(bound_ms);
    closed_ = peer.closed();
    return answer;
  }
  static int StatusOf(const std::string& answer) {
    return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
  }

  const std::string folder_ = testing::TempDir() + "/srv_" + SecureToken(4);
  const std::string socket_ = folder_ + "/api.sock";
  std::unique_ptr<HttpServer> server_;
  bool closed_ = false;
};

TEST_F(ServerTest, ARequestReachesTheHandlerOverTcpAndOverTheUnixSocket) {
  Start();
  HttpClient client;
  HttpClientCall call;
  call.method = "POST";
  call.url = Url("/a/b?c=%20d");
  call.headers = {{"X-Tag", "t1"}};
  call.body = "hello";
  HttpResult result = client.Call(call);
  EXPECT_EQ(result.status, 200) << result.message;
  EXPECT_EQ(result.body, "POST /a/b?c=%20d [hello]");
  ASSERT_NE(FindHeader(result.headers, "x-tag"), nullptr);
  EXPECT_EQ(*FindHeader(result.headers, "x-tag"), "t1");
  call.url = "http://localhost/local";
  call.unix_socket = socket_;
  EXPECT_EQ(client.Call(call).body, "POST /local local [hello]");
}

TEST_F(ServerTest, TheSocketFileIsItsOwnersAloneAndGoesWithTheServer) {
  Start();
  struct stat info {};
  ASSERT_EQ(::stat(socket_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  server_->Stop();
  EXPECT_NE(::stat(socket_.c_str(), &info), 0);
}

TEST_F(ServerTest, AStaleSocketFileIsReplacedALivingOneIsNot) {
  {
    Result<Fd> left_behind = ListenUnix(socket_);
    ASSERT_TRUE(left_behind.ok());
  }
  EXPECT_TRUE(std::filesystem::exists(socket_));
  Start();
  HttpServerOptions options;
  options.unix_path = socket_;
  Result<std::unique_ptr<HttpServer>> second = HttpServer::Start(options, Echo);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message().find("another process listens there"), std::string::npos);
  HttpClient client;
  HttpClientCall call;
  call.url = "http://x/still";
  call.unix_socket = socket_;
  EXPECT_EQ(client.Call(call).body, "GET /still local []");
}

TEST_F(ServerTest, WhatCannotBeListenedOnIsSaid) {
  struct Row {
    std::string path;
    std::string address;
    int port;
    const char* says;
  };
  ASSERT_TRUE(WriteFileAtomic(folder_ + "/file", "x", false).ok());
  const Row rows[] = {{folder_ + "/file", "127.0.0.1", -1, "is no socket"},
                      {folder_ + "/" + std::string(120, 'x'), "127.0.0.1", -1, "shorter data folder"},
                      {folder_ + "/none/s", "127.0.0.1", -1, "ENOENT"},
                      {"", "0.0.0.0", 0, "only a loopback address"},
                      {"", "example.org", 0, "only a loopback address"},
                      {"", "127.0.0.1", 70'000, "up to 65535"},
                      {"", "127.0.0.1", -1, "needs a socket path or a port"}};
  for (const Row& row : rows) {
    HttpServerOptions options;
    options.unix_path = row.path;
    options.tcp_address = row.address;
    options.tcp_port = row.port;
    Result<std::unique_ptr<HttpServer>> server = HttpServer::Start(options, Echo);
    ASSERT_FALSE(server.ok()) << row.says;
    EXPECT_NE(server.error().message().find(row.says), std::string::npos) << server.error().message();
  }
}

TEST_F(ServerTest, AKeptConnectionServesRequestsInOrder) {
  Start();
  std::string answer = Exchange(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
      "POST /3 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nc\r\n2\r\nde\r\n0\r\n\r\n"
      "HEAD /4 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  size_t first = answer.find("GET /1 []");
  size_t second = answer.find("POST /2 [ab]");
  size_t third = answer.find("POST /3 [cde]");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("Content-Length: 10\r\n\r\n")) << answer;  // HEAD: the length and no body
  EXPECT_TRUE(closed_);
}

TEST_F(ServerTest, DoubtfulFramingIsRefusedAndTheConnectionClosed) {
  Start();
  const std::string host = "Host: x\r\n";
  const std::string many = [] {
    std::string lines;
    for (int i = 0; i < 101; ++i) lines += StrCat("X-", i, ": y\r\n");
    return lines;
  }();
  struct Row {
    std::string bytes;
    int status;
  };
  const Row rows[] = {
      {"GET / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
      {"GET / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", 400},
      {"GET / HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "Content-Length: +1\r\n\r\na", 400},
      {"GET / HTTP/1.1\r\n" + host + "Content-Length: 18446744073709551616\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "Content-Length: 9223372036854775807\r\n\r\n", 413},
      {"GET / HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"GET / HTTP/1.1\nHost: x\n\n", 400},
      {"GET / HTTP/1.1\r\nHost: x\nX: y\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "A: b\r\n folded\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "no colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "A : b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + std::string("A: b\0c\r\n\r\n", 10), 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + host + "\r\n", 400},
      {"GET  / HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /\xC3\xBC HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET /\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n" + host + "\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\n" + host + many + "\r\n", 431},
      {"GET / HTTP/1.1\r\n" + host + "A: " + std::string(17'000, 'x') + "\r\n\r\n", 431},
      {"GET /" + std::string(9000, 'x') + " HTTP/1.1\r\n" + host + "\r\n", 414},
      {"POST / HTTP/1.1\r\n" + host + "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 415},
      {"POST / HTTP/1.1\r\n" + host + "Expect: a-pony\r\nContent-Length: 1\r\n\r\nx", 417},
      {"POST / HTTP/1.1\r\n" + host + "Content-Length: 1048577\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n", 400},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n2;x\n", 400},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\n", 400},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\n", 400},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\n", 400},
      {"GET / HTTP/1.1\nHost: x\n", 400},
      {"POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n200000\r\n" +
           std::string(1'100'000, 'x'),
       413},
  };
  for (const Row& row : rows) {
    std::string answer = Exchange(row.bytes);
    EXPECT_EQ(StatusOf(answer), row.status) << ShowBytes(row.bytes.substr(0, 120), false) << "\n" << answer;
    EXPECT_TRUE(closed_) << ShowBytes(row.bytes.substr(0, 120), false);
    EXPECT_NE(answer.find("\r\nContent-Type: application/json\r\n"), std::string::npos) << answer;
    EXPECT_NE(answer.find("\r\n\r\n{\"message\":\""), std::string::npos) << answer;
  }
}

// The parser wants a chunk's line, and the trailer, whole: they have no length that could be judged
// beforehand.
TEST_F(ServerTest, AChunkLineOrATrailerWithoutEndIsNotKept) {
  Start();
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string line = "X-Y: " + std::string(1000, 'y') + "\r\n";
  struct Row {
    std::string opening;
    std::string again;
  };
  const Row rows[] = {{head + "2;a=", std::string(1000, 'b')}, {head + "2\r\n{}\r\n0\r\n", line}};
  for (const Row& row : rows) {
    RawPeer peer = RawPeer::ConnectTcp(server_->tcp_port());
    ASSERT_TRUE(peer.Send(row.opening));
    int sent = 0;
    while (sent < 100'000 && peer.Send(row.again)) ++sent;  // the server closes long before 100 MB
    EXPECT_LT(sent, 10'000) << row.opening;
  }
  for (const Row& row : rows) {
    std::string much = row.opening;
    while (much.size() < (100u << 10)) much += row.again;
    EXPECT_EQ(StatusOf(Exchange(much)), 413) << row.opening;
    EXPECT_TRUE(closed_);
  }
}

TEST_F(ServerTest, AnEndlessBodyAndOneThatIsTooLargeEndIn413) {
  Start();
  RawPeer peer = RawPeer::ConnectTcp(server_->tcp_port());
  ASSERT_TRUE(peer.Send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  int sent = 0;
  while (sent < 1000 && peer.Send(chunk)) ++sent;  // ends because the server closes, long before 64 MB
  EXPECT_LT(sent, 1000);
}

TEST_F(ServerTest, AClientThatAsksToContinueIsToldTo) {
  Start();
  RawPeer peer = RawPeer::ConnectTcp(server_->tcp_port());
  peer.Send(
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(peer.ReadHead(), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.Send("abc");
  EXPECT_NE(peer.ReadToEnd().find("POST / [abc]"), std::string::npos);
}

TEST_F(ServerTest, SlowDripsAndSilenceAreCutOffAtTheirDeadlines) {
  HttpServerOptions options;
  options.head_deadline = Millis{150};
  options.body_deadline = Millis{150};
  options.idle_deadline = Millis{150};
  Start(options);
  struct Row {
    const char* name;
    std::string begin;
  };
  const Row rows[] = {{"silent from the start", ""},
                      {"head that drips", "GET / HTTP/1.1\r\nX: "},
                      {"body that drips", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"},
                      {"idle after an answer", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"}};
  for (const Row& row : rows) {
    RawPeer peer = RawPeer::ConnectTcp(server_->tcp_port());
    peer.Send(row.begin);
    bool drips = row.begin.find("/1.1\r\n") != std::string::npos && !row.begin.ends_with("Host: x\r\n\r\n");
    int64_t began = MonotonicMicros();
    while (!peer.closed() && MonotonicMicros() - began < 5'000'000) {
      peer.ReadToEnd(10);
      if (drips) peer.Send("x");
    }
    EXPECT_TRUE(peer.closed()) << row.name;
    EXPECT_GE(MonotonicMicros() - began, 100'000) << row.name;
  }
}

TEST_F(ServerTest, RepliesMayComeLaterFromAnotherThreadAndOnlyTheFirstCounts) {
  Queue<std::pair<HttpRequest, HttpReply>> queue(100);
  Start({}, [&queue](HttpRequest request, HttpReply reply) {
    queue.Push({std::move(request), std::move(reply)});
  });
  std::thread worker([&queue] {
    while (auto job = queue.Take()) {
      Echo(job->first, job->second);
      job->second(HttpResponse{500, "text/plain", "second", {}});
    }
  });
  HttpClient client;
  std::vector<std::future<HttpResult>> futures;
  for (int i = 0; i < 100; ++i) {
    auto promise = std::make_shared<std::promise<HttpResult>>();
    futures.push_back(promise->get_future());
    HttpClientCall call;
    call.url = Url(StrCat("/", i));
    client.Start(call, [promise](HttpResult result) { promise->set_value(std::move(result)); });
  }
  for (int i = 0; i < 100; ++i) {
    HttpResult result = futures[static_cast<size_t>(i)].get();
    EXPECT_EQ(result.status, 200) << result.message;
    EXPECT_EQ(result.body, StrCat("GET /", i, " []"));
  }
  queue.Close();
  worker.join();
}

TEST_F(ServerTest, ADroppedReplyIs500AndALateOne504) {
  HttpServerOptions options;
  options.reply_deadline = Millis{100};
  std::vector<HttpReply> kept;
  Start(options, [&kept](const HttpRequest& request, HttpReply reply) {
    if (request.target == "/keep") kept.push_back(std::move(reply));
  });
  HttpClient client;
  HttpClientCall call;
  call.url = Url("/drop");
  EXPECT_EQ(client.Call(call).status, 500);
  call.url = Url("/keep");
  EXPECT_EQ(client.Call(call).status, 504);
  server_.reset();
  ASSERT_EQ(kept.size(), 1u);
  kept[0](HttpResponse{});  // after everything is gone: no effect, no harm
}

TEST_F(ServerTest, StopLetsABusyRequestFinishAndDoesNotWaitForIdleOnes) {
  std::promise<HttpReply> arrived;
  Start({}, [&arrived](const HttpRequest&, HttpReply reply) { arrived.set_value(std::move(reply)); });
  RawPeer idle = RawPeer::ConnectTcp(server_->tcp_port());
  RawPeer busy = RawPeer::ConnectTcp(server_->tcp_port());
  busy.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  HttpReply reply = arrived.get_future().get();
  std::thread stopper([this] { server_->Stop(Seconds(20)); });
  EXPECT_EQ(idle.ReadToEnd(), "");
  EXPECT_TRUE(idle.closed());
  reply(HttpResponse{200, "text/plain", "done", {}});
  EXPECT_NE(busy.ReadToEnd().find("done"), std::string::npos);
  stopper.join();
}

TEST_F(ServerTest, StopGivesUpOnAHandlerThatNeverAnswers) {
  std::promise<void> arrived;
  std::vector<HttpReply> kept;
  Start({}, [&](const HttpRequest&, HttpReply reply) {
    kept.push_back(std::move(reply));
    arrived.set_value();
  });
  RawPeer busy = RawPeer::ConnectTcp(server_->tcp_port());
  busy.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  arrived.get_future().get();
  int64_t began = MonotonicMicros();
  server_->Stop(Millis{50});
  EXPECT_LT(MonotonicMicros() - began, 5'000'000);
  EXPECT_EQ(busy.ReadToEnd(), "");
}

TEST_F(ServerTest, OneConnectionTooManyIsRefusedAndTheOtherListenerStaysOpen) {
  HttpServerOptions options;
  options.max_connections = 3;
  Start(options);
  std::vector<RawPeer> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(RawPeer::ConnectTcp(server_->tcp_port()));
    held.back().Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(StatusOf(held.back().ReadHead()), 200);
  }
  EXPECT_EQ(StatusOf(RawPeer::ConnectTcp(server_->tcp_port()).ReadToEnd()), 503);
  HttpClient client;
  HttpClientCall call;
  call.url = "http://x/";
  call.unix_socket = socket_;
  EXPECT_EQ(client.Call(call).status, 200);
  held.pop_back();
  // The place is free once the server has noticed; each try is an exchange of its own, so this is no blind
  // wait.
  int status = 503;
  for (int i = 0; i < 1000 && status == 503; ++i) status = StatusOf(Exchange("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_EQ(status, 200);
}

TEST_F(ServerTest, AHeaderThatWouldSplitTheAnswerIsOurMistake) {
  EXPECT_DEATH(
      {
        Start({}, [](const HttpRequest&, const HttpReply& reply) {
          HttpResponse response;
          response.headers.push_back({"X", "a\r\nSet-Cookie: b"});
          reply(std::move(response));
        });
        Exchange("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      },
      "IsHeaderSafe");
}

}  // namespace
}  // namespace duecourse
