#include "net/http_client.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <future>

#include "base/random.h"
#include "base/text.h"
#include "net/test_peer.h"

namespace duecourse {
namespace {

std::string Answer(int status, std::string_view body, std::string_view headers = "") {
  return StrCat("HTTP/1.1 ", status, " X\r\nContent-Length: ", body.size(), "\r\n", headers, "\r\n", body);
}

HttpClientCall To(const std::string& url, Millis timeout = Seconds(5)) {
  HttpClientCall call;
  call.url = url;
  call.timeout = timeout;
  return call;
}

TEST(HttpClient, AnAnswerComesWithItsStatusHeadersAndBody) {
  std::string seen;
  RawServer server([&seen](RawPeer& peer) {
    seen = peer.ReadUntil([](const std::string& got) { return got.ends_with("{\"a\":1}"); });
    peer.Send("HTTP/1.1 100 Continue\r\nIgnored: yes\r\n\r\n");
    peer.Send(Answer(503, "later", "Retry-After: 7\r\nX-Empty:\r\n"));
  });
  HttpClient client;
  HttpClientCall call = To(server.Url("/x?y=z"));
  call.method = "POST";
  call.headers = {{"Content-Type", "application/json"}, {"Idempotency-Key", "k:1"}, {"X-None", ""}};
  call.body = "{\"a\":1}";
  HttpResult result = client.Call(call);
  EXPECT_EQ(result.error, HttpError::kNone) << result.message;
  EXPECT_TRUE(result.sent);
  EXPECT_EQ(result.status, 503);
  EXPECT_EQ(result.body, "later");
  ASSERT_NE(FindHeader(result.headers, "retry-after"), nullptr);
  EXPECT_EQ(*FindHeader(result.headers, "retry-after"), "7");
  EXPECT_EQ(FindHeader(result.headers, "ignored"), nullptr);
  EXPECT_TRUE(seen.starts_with("POST /x?y=z HTTP/1.1\r\n")) << seen;
  for (const char* part : {"Content-Type: application/json\r\n", "Idempotency-Key: k:1\r\n",
                           "X-None:", "Content-Length: 7\r\n"}) {
    EXPECT_NE(seen.find(part), std::string::npos) << part << "\n" << seen;
  }
  EXPECT_EQ(seen.find("Expect:"), std::string::npos);
  EXPECT_EQ(seen.find("Accept-Encoding:"), std::string::npos);
}

TEST(HttpClient, EveryMethodIsSentAsItIsWritten) {
  std::string seen;
  RawServer server([&seen](RawPeer& peer) {
    seen = peer.ReadHead();
    peer.Send(Answer(200, ""));
  });
  HttpClient client;
  for (const char* method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    HttpClientCall call = To(server.Url());
    call.method = method;
    HttpResult result = client.Call(call);
    EXPECT_EQ(result.status, 200) << method << " " << result.message;
    EXPECT_TRUE(seen.starts_with(StrCat(method, " / "))) << seen;
  }
}

TEST(HttpClient, WhetherTheRequestLeftTellsUnansweredFromUnsent) {
  RawServer mute([&mute](RawPeer& peer) {
    while (mute.Holding(peer)) {
    }
  });
  RawServer closes([](RawPeer& peer) { peer.ReadHead(); });
  RawServer breaks_off([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
  });
  RawServer no_tls([](RawPeer& peer) {
    peer.ReadUntil([](const std::string& got) { return !got.empty(); });
    peer.Send(Answer(400, "speak plainly"));
  });
  RawServer no_http([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send("SSH-2.0-OpenSSH_9.2\r\n");
  });
  int closed_port = 0;
  {
    RawServer gone([](RawPeer&) {});
    closed_port = gone.port();
  }
  struct Row {
    const char* name;
    std::string url;
    HttpError error;
    bool sent;
    int status;
  };
  const Row rows[] = {
      {"mute", mute.Url(), HttpError::kTimeout, true, 0},
      {"closes", closes.Url(), HttpError::kBroken, true, 0},
      {"breaks off", breaks_off.Url(), HttpError::kBroken, true, 200},
      {"no http", no_http.Url(), HttpError::kBroken, true, 0},
      {"refused", StrCat("http://127.0.0.1:", closed_port, "/"), HttpError::kConnect, false, 0},
      {"no name", "http://no-such-host.invalid/", HttpError::kResolve, false, 0},
      {"no tls", StrCat("https://127.0.0.1:", no_tls.port(), "/"), HttpError::kTls, false, 0},
      {"scheme", "file:///etc/passwd", HttpError::kBadCall, false, 0},
      {"scheme", "gopher://127.0.0.1/", HttpError::kBadCall, false, 0},
      {"space", "http://127.0.0.1/a b", HttpError::kBadCall, false, 0},
      {"no host", "http://", HttpError::kBadCall, false, 0},
  };
  HttpClient client;
  for (const Row& row : rows) {
    HttpClientCall call = To(row.url, row.error == HttpError::kTimeout ? Millis{300} : Seconds(30));
    call.method = "POST";
    HttpResult result = client.Call(call);
    EXPECT_EQ(HttpErrorName(result.error), std::string(HttpErrorName(row.error)))
        << row.name << ": " << result.message;
    EXPECT_EQ(result.sent, row.sent) << row.name;
    EXPECT_EQ(result.status, row.status) << row.name;
    EXPECT_FALSE(result.message.empty()) << row.name;
  }
  HttpClientCall call = To("http://x/");
  call.unix_socket = "/no/such.sock";
  EXPECT_EQ(client.Call(call).error, HttpError::kConnect);
  call = To("http://x/");
  call.headers = {{"A", "b\r\nHost: evil"}};
  EXPECT_EQ(client.Call(call).error, HttpError::kBadCall);
}

TEST(HttpClient, AMuteUnixSocketIsATimeoutLikeAnyOther) {
  std::string path = testing::TempDir() + "/mute_" + SecureToken(4);
  Result<Fd> listener = ListenUnix(path);
  ASSERT_TRUE(listener.ok());
  HttpClient client;
  HttpClientCall call = To("http://daemon/healthz", Millis{150});
  call.unix_socket = path;
  HttpResult result = client.Call(call);
  EXPECT_EQ(result.error, HttpError::kTimeout) << result.message;
  EXPECT_TRUE(result.sent);  // into the kernel's queue, from where a late reader may still take it
  RemoveSocketFile(path, InodeOf(path));
}

TEST(HttpClient, ADrippingAnswerEndsAtTheTimeout) {
  RawServer server([&server](RawPeer& peer) {
    peer.ReadHead();
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (server.Holding(peer)) peer.Send("x");
  });
  HttpClient client;
  HttpResult result = client.Call(To(server.Url(), Millis{200}));
  EXPECT_EQ(result.error, HttpError::kTimeout);
  EXPECT_TRUE(result.sent);
  EXPECT_GE(result.elapsed, Millis{190});
  EXPECT_LT(result.elapsed, Millis{3000});
}

TEST(HttpClient, WhatIsTooLargeIsCutOff) {
  RawServer endless([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (peer.Send("400\r\n" + std::string(1024, 'x') + "\r\n")) {
    }
  });
  RawServer headers([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send("HTTP/1.1 200 OK\r\n");
    while (peer.Send("X: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  RawServer interim([](RawPeer& peer) {
    peer.ReadHead();
    while (peer.Send("HTTP/1.1 102 Processing\r\n\r\n")) {
    }
  });
  HttpClient client;
  HttpClientCall call = To(endless.Url());
  call.max_response_bytes = 5000;
  HttpResult result = client.Call(call);
  EXPECT_EQ(result.error, HttpError::kTooLarge);
  EXPECT_EQ(result.body.size(), 5000u);
  EXPECT_EQ(result.status, 200);
  EXPECT_EQ(client.Call(To(headers.Url())).error, HttpError::kTooLarge);
  EXPECT_EQ(client.Call(To(interim.Url())).error, HttpError::kTooLarge);
  RawServer exact([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send(Answer(200, std::string(5000, 'y')));
  });
  call.url = exact.Url();
  EXPECT_EQ(client.Call(call).error, HttpError::kNone);
}

TEST(HttpClient, AnAnswerIsWholeOrAnError) {
  struct Row {
    const char* answer;
    HttpError error;
  };
  const Row rows[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", HttpError::kBroken},
      {"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nContent-Length: 3\r\n\r\nabcd", HttpError::kBroken},
      {"HTTP/1.1 200 OK\r\nContent-Length: 3, 4\r\n\r\nabcd", HttpError::kBroken},
      {"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabcd", HttpError::kBroken},
      {"HTTP/1.1 200 OK\r\nContent-Length: 4x\r\n\r\nabcd", HttpError::kBroken},
      {"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nabcd", HttpError::kBroken},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nabcd", HttpError::kBroken},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", HttpError::kBroken},
      {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", HttpError::kNone},
      {"HTTP/1.1 200 OK\r\nContent-Length: 04\r\nContent-Length: 4\r\n\r\nabcd", HttpError::kNone},
      {"HTTP/1.1 102 Wait\r\nContent-Length: 3\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd",
       HttpError::kNone},
  };
  HttpClient client;
  for (const Row& row : rows) {
    RawServer server([&row](RawPeer& peer) {
      peer.ReadHead();
      peer.Send(row.answer);
    });
    HttpResult result = client.Call(To(server.Url()));
    EXPECT_EQ(HttpErrorName(result.error), std::string(HttpErrorName(row.error))) << row.answer << "\n"
                                                                                  << result.message;
    EXPECT_TRUE(result.sent);
    EXPECT_EQ(result.error == HttpError::kNone, result.body == "abcd" && result.status == 200) << row.answer;
  }
}

TEST(HttpClient, ATrailerIsBoundedAndIsNoHeader) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n";
  RawServer endless([&chunked](RawPeer& peer) {
    peer.ReadHead();
    peer.Send(chunked);
    while (peer.Send("X: " + std::string(1000, 'x') + "\r\n")) {
    }
  });
  RawServer short_one([&chunked](RawPeer& peer) {
    peer.ReadHead();
    peer.Send(chunked + "Retry-After: 7\r\n\r\n");
  });
  HttpClient client;
  EXPECT_EQ(client.Call(To(endless.Url())).error, HttpError::kTooLarge);
  HttpResult result = client.Call(To(short_one.Url()));
  EXPECT_EQ(result.error, HttpError::kNone) << result.message;
  EXPECT_EQ(result.body, "ok");
  EXPECT_EQ(FindHeader(result.headers, "retry-after"), nullptr);
}

TEST(HttpClient, ALongBodyIsReadOnWhereThatIsAsked) {
  RawServer server([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send(Answer(200, std::string(5000, 'y')));
  });
  HttpClient client;
  HttpClientCall call = To(server.Url());
  call.max_response_bytes = 100;
  call.max_read_bytes = 5000;
  HttpResult result = client.Call(call);
  EXPECT_EQ(result.error, HttpError::kNone) << result.message;
  EXPECT_EQ(result.body.size(), 100u);
  EXPECT_EQ(result.body_bytes, 5000u);
  call.max_read_bytes = 4999;
  result = client.Call(call);
  EXPECT_EQ(result.error, HttpError::kTooLarge);
  EXPECT_EQ(result.message, "the answer's body is larger than 4999 bytes");
}

TEST(HttpClient, RedirectsAreFollowedOnlyWhereAllowedAndOnlySoFar) {
  std::string last;
  RawServer server([&last](RawPeer& peer) {
    last = peer.ReadHead();
    if (last.starts_with("GET /end ")) {
      peer.Send(Answer(200, "end"));
    } else if (last.starts_with("GET /once ")) {
      peer.Send(Answer(302, "", "Location: /end\r\nConnection: close\r\n"));
    } else if (last.starts_with("GET /file ")) {
      peer.Send(Answer(302, "", "Location: file:///etc/passwd\r\nConnection: close\r\n"));
    } else {
      peer.Send(Answer(302, "", "Location: /loop\r\nConnection: close\r\n"));
    }
  });
  HttpClient client;
  HttpResult result = client.Call(To(server.Url("/once")));
  EXPECT_EQ(result.status, 302);
  EXPECT_EQ(*FindHeader(result.headers, "location"), "/end");
  HttpClientCall call = To(server.Url("/once"));
  call.max_redirects = 3;
  EXPECT_EQ(client.Call(call).body, "end");
  call.url = server.Url("/loop");
  result = client.Call(call);
  EXPECT_EQ(result.error, HttpError::kRedirectLoop) << result.message;
  EXPECT_TRUE(result.sent);
  call.url = server.Url("/file");
  EXPECT_EQ(client.Call(call).error, HttpError::kBadCall);
}

TEST(HttpClient, ARedirectThatBringsUserAndPasswordIsNotFollowed) {
  std::vector<std::string> heads;
  std::string target;
  RawServer server([&](RawPeer& peer) {
    heads.push_back(peer.ReadHead());
    if (heads.back().starts_with("GET /end ")) {
      peer.Send(Answer(200, "end"));
    } else {
      peer.Send(Answer(302, "", "Location: " + target + "\r\nConnection: close\r\n"));
    }
  });
  HttpClient client;
  target = server.Url("/end");
  target.insert(target.find("//") + 2, "eve:pw@");
  HttpClientCall call = To(server.Url("/once"));
  call.max_redirects = 3;
  HttpResult result = client.Call(call);
  EXPECT_EQ(result.error, HttpError::kForbidden) << result.message;
  EXPECT_NE(result.message.find("user and a password"), std::string::npos) << result.message;
  ASSERT_EQ(heads.size(), 1u);

  // The call's own are its writer's, and are sent.
  target = "/end";
  call.url = server.Url("/once?mail=a@b");
  call.url.insert(call.url.find("//") + 2, "ann:s%40fe@");
  result = client.Call(call);
  EXPECT_EQ(result.body, "end") << result.message;
  ASSERT_EQ(heads.size(), 3u);
  EXPECT_NE(heads[1].find("GET /once?mail=a@b "), std::string::npos) << heads[1];
  EXPECT_NE(heads[1].find("Authorization: Basic YW5uOnNAZmU="), std::string::npos) << heads[1];
}

TEST(HttpClient, NoProxyIsTakenFromTheEnvironment) {
  RawServer server([](RawPeer& peer) {
    peer.ReadHead();
    peer.Send(Answer(200, "direct"));
  });
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  ::setenv("all_proxy", "http://127.0.0.1:1", 1);
  HttpClient client;
  EXPECT_EQ(client.Call(To(server.Url())).body, "direct");
  ::unsetenv("http_proxy");
  ::unsetenv("all_proxy");
}

// A kept connection that the server closes meanwhile: the library would send the request again on a new one.
TEST(HttpClient, APostIsNeverSentTwice) {
  std::atomic<int> posts = 0;
  RawServer server([&posts](RawPeer& peer) {
    while (true) {
      std::string head = peer.ReadHead();
      if (head.starts_with("GET ")) {
        peer.Send(Answer(200, "kept"));
        continue;
      }
      if (head.starts_with("POST ")) ++posts;
      return;  // closes without an answer
    }
  });
  HttpClient client;
  EXPECT_EQ(client.Call(To(server.Url())).status, 200);
  HttpClientCall call = To(server.Url());
  call.method = "POST";
  HttpResult result = client.Call(call);
  EXPECT_EQ(result.error, HttpError::kBroken) << result.message;
  EXPECT_TRUE(result.sent);
  EXPECT_EQ(posts, 1);
}

TEST(HttpClient, ACallIsCancelledById) {
  std::promise<void> arrived;
  RawServer server([&](RawPeer& peer) {
    peer.ReadHead();
    arrived.set_value();
    while (server.Holding(peer)) {
    }
  });
  HttpClient client;
  std::promise<HttpResult> ended;
  uint64_t id = client.Start(To(server.Url(), Seconds(60)),
                             [&](HttpResult result) { ended.set_value(std::move(result)); });
  arrived.get_future().get();
  client.Cancel(id);
  HttpResult result = ended.get_future().get();
  EXPECT_EQ(result.error, HttpError::kCancelled);
  EXPECT_TRUE(result.sent);
  client.Cancel(id);       // ended already
  client.Cancel(1 << 20);  // never was
}

TEST(HttpClient, HundredsOfCallsAreInFlightAtOnceAndEachEndsOnce) {
  constexpr int kCalls = 300;
  std::atomic<int> waiting = 0;
  // Nobody is answered before all have arrived, so fewer in flight would never end.
  RawServer server([&](RawPeer& peer) {
    peer.ReadHead();
    ++waiting;
    while (waiting < kCalls && server.Holding(peer)) {
    }
    peer.Send(Answer(200, "ok"));
  });
  HttpClient client;
  std::atomic<int> good = 0;
  std::atomic<int> ended = 0;
  std::promise<void> all;
  for (int i = 0; i < kCalls; ++i) {
    HttpClientCall call = To(server.Url(), Seconds(60));
    call.method = "POST";
    client.Start(call, [&](HttpResult result) {
      if (result.status == 200 && result.body == "ok") ++good;
      if (++ended == kCalls) all.set_value();
    });
  }
  all.get_future().get();
  EXPECT_EQ(good, kCalls);
  EXPECT_EQ(server.connections(), kCalls);
}

TEST(HttpClient, BeyondTheLimitCallsWaitAndTheirTimeoutCounts) {
  std::atomic<int> open = 0;
  std::atomic<int> most = 0;
  RawServer server([&](RawPeer& peer) {
    int now = ++open;
    if (now > most) most = now;
    peer.ReadHead();
    --open;
    peer.Send(Answer(200, "", "Connection: close\r\n"));
  });
  HttpClientOptions options;
  options.max_connections = 4;
  HttpClient client(options);
  std::vector<std::future<HttpResult>> results;
  for (int i = 0; i < 40; ++i) {
    auto promise = std::make_shared<std::promise<HttpResult>>();
    results.push_back(promise->get_future());
    client.Start(To(server.Url(), Seconds(30)),
                 [promise](HttpResult result) { promise->set_value(std::move(result)); });
  }
  for (auto& result : results) EXPECT_EQ(result.get().status, 200);
  EXPECT_LE(most, 4);
}

TEST(HttpClient, ItsEndEndsEveryCallOnce) {
  RawServer mute([&mute](RawPeer& peer) {
    while (mute.Holding(peer)) {
    }
  });
  std::atomic<int> cancelled = 0;
  {
    HttpClient client;
    for (int i = 0; i < 20; ++i) {
      client.Start(To(mute.Url(), Seconds(60)), [&](HttpResult result) {
        if (result.error == HttpError::kCancelled) ++cancelled;
      });
    }
  }
  EXPECT_EQ(cancelled, 20);
}

}  // namespace
}  // namespace duecourse
