#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "alert/channel.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "net/test_peer.h"

namespace duecourse {
namespace {

AlertMessage Message(const std::string& id, const std::string& level, const std::string& text = "it failed") {
  AlertMessage message;
  message.id = id;
  message.level = level;
  message.title = StrCat(level, " t 2025-06-01: ", text);
  message.text = StrCat(message.title, "\nwhat     ", text, "\n");
  Json json = Json::MakeObject();
  json.Set("id", id)
      .Set("level", level)
      .Set("event", "failure")
      .Set("task", "t")
      .Set("run", "r1")
      .Set("key", "k1");
  json.Set("title", message.title).Set("text", message.text).Set("body", Json::MakeObject());
  message.json = json.Dump();
  return message;
}

ChannelConfig Command(const std::string& name, const std::string& script, Millis timeout = Seconds(20)) {
  ChannelConfig channel;
  channel.name = name;
  channel.kind = ChannelConfig::Kind::kCommand;
  channel.command = {"sh", "-c", script};
  channel.timeout = timeout;
  return channel;
}

ChannelConfig Webhook(const std::string& name, const std::string& url, Millis timeout = Seconds(20)) {
  ChannelConfig channel;
  channel.name = name;
  channel.kind = ChannelConfig::Kind::kWebhook;
  channel.url = url;
  channel.timeout = timeout;
  return channel;
}

std::string Answer(int status, const std::string& body, const std::string& headers = "") {
  return StrCat("HTTP/1.1 ", status, " x\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n",
                headers, "\r\n", body);
}

// The head and the body of a request with a Content-Length.
std::string ReadRequest(RawPeer& peer) {
  return peer.ReadUntil([](const std::string& got) {
    const size_t head = got.find("\r\n\r\n");
    const size_t length = got.find("Content-Length: ");
    return head != std::string::npos && length != std::string::npos &&
           got.size() >= head + 4 + std::strtoul(got.c_str() + length + 16, nullptr, 10);
  });
}

// Collects results; waits for them with a bound.
class Results {
 public:
  std::function<void(SendResult)> Sink() {
    return [this](SendResult result) {
      MutexLock lock(mutex_);
      results_.push_back(std::move(result));
      arrived_.NotifyAll();
    };
  }
  // The n-th result (from 1); one with an empty id where it did not come in time.
  SendResult At(size_t n) {
    constexpr int64_t kPatienceMs = 30'000;
    MutexLock lock(mutex_);
    while (results_.size() < n && arrived_.WaitFor(mutex_, kPatienceMs)) continue;
    return results_.size() < n ? SendResult() : results_[n - 1];
  }
  size_t count() {
    MutexLock lock(mutex_);
    return results_.size();
  }

 private:
  Mutex mutex_;
  CondVar arrived_;
  std::vector<SendResult> results_ GUARDED_BY(mutex_);
};

class AlertSenderTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeFolders(folder_, 0700).ok()); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<AlertSender> NewSender() { return NewAlertSender(clock_, folder_, "s1", results_.Sink()); }
  std::string Read(const std::string& name) {
    Result<std::string> text = ReadFile(JoinPath(folder_, name), 1 << 20);
    return text.ok() ? *text : "";
  }
  // One delivery over a webhook, without a sender around it.
  Delivery Post(const ChannelConfig& channel, const AlertMessage& message) {
    HttpClient http;
    ChannelTools tools;
    tools.folder = folder_;
    tools.call = [&http](HttpClientCall call) { return http.Call(std::move(call)); };
    tools.now = clock_.Wall();
    return SendByWebhook(channel, message, tools);
  }

  const std::string folder_ = testing::TempDir() + "/alert_sender_test_" + SecureToken(6);
  SystemClock clock_;
  Results results_;
};

TEST_F(AlertSenderTest, ACommandGetsTheAlertAsJsonAndInVariables) {
  auto sender = NewSender();
  const AlertMessage message = Message("a1", "P2", "über\nzwei");
  sender->Send(
      message,
      {Command("script", "cat > json; env | grep ^DUECOURSE_ALERT_ | sort > variables; pwd > where")});
  const SendResult result = results_.At(1);
  EXPECT_TRUE(result.taken) << result.error;
  EXPECT_EQ(result.channel, "script");
  EXPECT_EQ(Read("json"), message.json);
  EXPECT_EQ(Read("where"), std::filesystem::canonical(folder_).string() + "\n");
  const std::string variables = Read("variables");
  for (const char* line :
       {"DUECOURSE_ALERT_EVENT=failure\n", "DUECOURSE_ALERT_ID=a1\n", "DUECOURSE_ALERT_KEY=k1\n",
        "DUECOURSE_ALERT_LEVEL=P2\n", "DUECOURSE_ALERT_RUN_ID=r1\n", "DUECOURSE_ALERT_TASK=t\n",
        "DUECOURSE_ALERT_TITLE=P2 t 2025-06-01: über\n", "DUECOURSE_ALERT_TEXT=P2 t"}) {
    EXPECT_NE(variables.find(line), std::string::npos) << line << variables;
  }
}

// A machine that has no more threads is just what an alert may be about.
TEST_F(AlertSenderTest, TheFirstAlertNeedsNoThreadThatWasNotThereBefore) {
  const auto threads = [] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) count += entry.exists();
    return count;
  };
  auto sender = NewSender();
  RawServer server([](RawPeer& peer) {
    ReadRequest(peer);
    peer.Send(Answer(200, ""));
  });
  const int with_server = threads();
  sender->Send(Message("a1", "P1"), {Command("script", "true")});
  EXPECT_TRUE(results_.At(1).taken);
  sender->Send(Message("a2", "P2"), {Webhook("hook", server.Url("/"))});
  EXPECT_TRUE(results_.At(2).taken);
  EXPECT_LE(threads(), with_server);
}

TEST_F(AlertSenderTest, ACommandThatFailsSaysHow) {
  RegisterSecret("canary-of-a-command");
  struct Row {
    ChannelConfig channel;
    const char* error;
  };
  ChannelConfig missing = Command("c", "");
  missing.command = {"no-such-program"};
  const Row rows[] = {
      {Command("c", "echo one; echo 'no route to the pager' >&2; exit 3"),
       "c: exit 3: no route to the pager"},
      {Command("c", "kill -9 $$"), "c: killed by signal 9"},
      {Command("c", "tail -f /dev/null", Millis{200}), "c: still running after 200ms"},
      {Command("c", "printf '\\033[2J'; exit 1"), "c: exit 1: \\x1b[2J"},
      {Command("c", "echo token canary-of-a-command; exit 1"), "c: exit 1: token ***"},
      {missing, "c: command not found: no-such-program (looked in "},
  };
  auto sender = NewSender();
  size_t n = 0;
  for (const Row& row : rows) {
    sender->Send(Message("a", "P2"), {row.channel});
    const SendResult result = results_.At(++n);
    EXPECT_FALSE(result.taken);
    EXPECT_TRUE(result.error.starts_with(row.error)) << result.error;
  }
}

TEST_F(AlertSenderTest, AWebhookPostsTheJsonWithItsHeadersAndSecrets) {
  ASSERT_TRUE(WriteFileAtomic(JoinPath(folder_, "token"), "canary-webhook-token\n", false).ok());
  std::string request;
  RawServer server([&](RawPeer& peer) {
    request = ReadRequest(peer);
    peer.Send(Answer(200, "ok"));
  });
  ChannelConfig channel = Webhook("hook", server.Url("/x"));
  TextOrSecret secret;
  secret.secret = SecretRef{"", "token"};
  TextOrSecret plain;
  plain.text = *Template::Parse("two {{words}}");
  channel.headers = {{"X-Token", secret}, {"X-Plain", plain}, {"content-type", plain}};
  const AlertMessage message = Message("a1", "P2");
  const Delivery delivery = Post(channel, message);
  EXPECT_TRUE(delivery.taken) << delivery.error;
  EXPECT_TRUE(request.starts_with("POST /x HTTP/1.1\r\n")) << request;
  for (const char* line :
       {"X-Token: canary-webhook-token\r\n", "X-Plain: two {words}\r\n", "content-type: two {words}\r\n"}) {
    EXPECT_NE(request.find(line), std::string::npos) << request;
  }
  EXPECT_EQ(request.find("application/json"), std::string::npos);  // the rule's own type replaces ours
  EXPECT_TRUE(request.ends_with("\r\n\r\n" + message.json)) << request;
  EXPECT_EQ(Redact("canary-webhook-token"), "***");
}

TEST_F(AlertSenderTest, AWebhookWhoseAddressIsASecretIsCalledAndNeverNamed) {
  std::string request;
  RawServer server([&](RawPeer& peer) {
    request = ReadRequest(peer);
    peer.Send(Answer(500, "token was canary-in-the-url"));
  });
  ChannelConfig channel = Webhook("robot", "");
  channel.url_secret = SecretRef{"ALERT_TEST_URL", ""};
  const std::string url = server.Url("/send?access_token=canary-in-the-url");
  ASSERT_EQ(::setenv("ALERT_TEST_URL", url.c_str(), 1), 0);
  Delivery delivery = Post(channel, Message("a1", "P2"));
  EXPECT_TRUE(request.starts_with("POST /send?access_token=canary-in-the-url HTTP/1.1\r\n")) << request;
  EXPECT_EQ(delivery.error, "status 500: token was ***");
  channel.url_secret = SecretRef{"ALERT_TEST_NOT_SET", ""};
  delivery = Post(channel, Message("a1", "P2"));
  EXPECT_TRUE(delivery.error.starts_with("url: secret {env: ALERT_TEST_NOT_SET}")) << delivery.error;
}

TEST_F(AlertSenderTest, AWebhookIsTakenOnlyWhereStatusAndBodyAgree) {
  struct Row {
    int status;
    const char* body;
    const char* error;  // nullptr: taken
  };
  const Row rows[] = {
      {200, "", nullptr},
      {204, "", nullptr},
      {202, "accepted", nullptr},
      {200, R"({"errcode":0,"errmsg":"ok"})", nullptr},
      {200, R"({"code":0,"msg":"success"})", nullptr},
      {200, R"({"code":200})", nullptr},
      {200, R"({"ok":true,"error":null})", nullptr},
      {200, R"([1])", nullptr},
      {200, R"({"errcode":1})", "status 200, but the answer says errcode 1"},
      {200, R"({"errcode":310000,"errmsg":"sign not match"})",
       "status 200, but the answer says errcode 310000: sign not match"},
      {200, R"({"errcode":"40035"})", "status 200, but the answer says errcode \"40035\""},
      {200, R"({"code":19001,"msg":"param invalid"})",
       "status 200, but the answer says code 19001: param invalid"},
      {200, R"({"ok":false,"error":"channel_not_found"})",
       "status 200, but the answer says error \"channel_not_found\""},
      {200, R"({"success":false})", "status 200, but the answer says success false"},
      {200, R"({"error":"no such room"})", "status 200, but the answer says error \"no such room\""},
      {500, "boom\nbang", "status 500: boom\\nbang"},
      {302, "", "status 302: "},
      {404, R"({"errcode":0})", "status 404: "},
  };
  for (const Row& row : rows) {
    RawServer server([&row](RawPeer& peer) {
      ReadRequest(peer);
      peer.Send(Answer(row.status, row.status == 204 ? "" : row.body, "Location: /elsewhere\r\n"));
    });
    const Delivery delivery = Post(Webhook("hook", server.Url()), Message("a", "P2"));
    EXPECT_EQ(delivery.taken, row.error == nullptr) << row.body << delivery.error;
    EXPECT_TRUE(delivery.error.starts_with(row.error == nullptr ? "" : row.error)) << delivery.error;
    EXPECT_EQ(server.connections(), 1) << row.body;
  }
}

TEST_F(AlertSenderTest, WhereTheAnswerIsTooLargeToBeJudgedTheStatusDecides) {
  for (const int status : {200, 500}) {
    RawServer server([status](RawPeer& peer) {
      ReadRequest(peer);
      peer.Send(Answer(status, std::string(100'000, 'x')));
    });
    const Delivery delivery = Post(Webhook("hook", server.Url()), Message("a", "P2"));
    EXPECT_EQ(delivery.taken, status == 200) << delivery.error;
    EXPECT_EQ(delivery.error.empty(), status == 200) << delivery.error;
    EXPECT_EQ(server.connections(), 1);
  }
}

TEST_F(AlertSenderTest, AWebhookThatCannotBeReachedOrIsSilentSaysSo) {
  RawServer mute([&mute](RawPeer& peer) {
    while (mute.Holding(peer)) continue;
  });
  Delivery delivery = Post(Webhook("hook", mute.Url(), Millis{300}), Message("a", "P2"));
  EXPECT_FALSE(delivery.taken);
  EXPECT_TRUE(delivery.error.starts_with("timeout: ")) << delivery.error;
  int port = 0;
  {
    RawServer gone([](RawPeer&) {});
    port = gone.port();
  }
  delivery = Post(Webhook("hook", StrCat("http://127.0.0.1:", port, "/")), Message("a", "P2"));
  EXPECT_TRUE(delivery.error.starts_with("connect: ")) << delivery.error;
  ChannelConfig secret_missing = Webhook("hook", mute.Url());
  TextOrSecret secret;
  secret.secret = SecretRef{"ALERT_TEST_NOT_SET", ""};
  secret_missing.headers = {{"X-Token", secret}};
  delivery = Post(secret_missing, Message("a", "P2"));
  EXPECT_EQ(delivery.error,
            "header X-Token: secret {env: ALERT_TEST_NOT_SET}: the variable is not set where the daemon was "
            "started");
}

TEST_F(AlertSenderTest, ChannelsAreTriedInOrderUntilOneTakesIt) {
  auto sender = NewSender();
  sender->Send(Message("a1", "P2"),
               {Command("first", "echo 1 >> tried; exit 1"), Command("second", "echo 2 >> tried"),
                Command("third", "echo 3 >> tried")});
  SendResult result = results_.At(1);
  EXPECT_EQ(result.id, "a1");
  EXPECT_TRUE(result.taken);
  EXPECT_EQ(result.channel, "second");
  EXPECT_EQ(Read("tried"), "1\n2\n");

  sender->Send(Message("a2", "P2"), {Command("first", "exit 1"), Command("second", "echo busy; exit 2")});
  result = results_.At(2);
  EXPECT_FALSE(result.taken);
  EXPECT_EQ(result.error, "first: exit 1; second: exit 2: busy");
  EXPECT_FALSE(result.retry_after.has_value());

  sender->Send(Message("a3", "P2"), {});
  EXPECT_EQ(results_.At(3).error, "no channel is configured for it");
}

TEST_F(AlertSenderTest, ASinkThatFailsAndThenTakesGetsTheSameAlertAgain) {
  std::atomic<int> asked = 0;
  std::vector<std::string> bodies;
  RawServer server([&](RawPeer& peer) {
    const std::string request = ReadRequest(peer);
    bodies.push_back(request.substr(request.find("\r\n\r\n")));
    peer.Send(++asked < 3 ? Answer(503, "later") : Answer(200, "ok"));
  });
  auto sender = NewSender();
  // The engine sends again after each result; the id stays.
  for (size_t n = 1; n <= 3; ++n) {
    sender->Send(Message("a1", "P2"), {Webhook("hook", server.Url())});
    EXPECT_EQ(results_.At(n).taken, n == 3) << n;
    EXPECT_EQ(results_.At(n).id, "a1");
  }
  ASSERT_EQ(bodies.size(), 3u);
  EXPECT_EQ(bodies[0], bodies[2]);
}

TEST_F(AlertSenderTest, AChannelThatAsksForAPauseIsLeftAloneAtMostTenMinutes) {
  RawServer server([](RawPeer& peer) {
    ReadRequest(peer);
    peer.Send(Answer(429, "slow down", "Retry-After: 315360000\r\n"));
  });
  auto sender = NewSender();
  sender->Send(Message("a1", "P2"), {Webhook("hook", server.Url())});
  SendResult result = results_.At(1);
  ASSERT_TRUE(result.retry_after.has_value()) << result.error;
  EXPECT_EQ(*result.retry_after, Minutes(10));
  // Another alert does not disturb it, and goes to the next channel.
  sender->Send(Message("a2", "P1"), {Webhook("hook", server.Url()), Command("pager", "true")});
  result = results_.At(2);
  EXPECT_EQ(result.channel, "pager");
  EXPECT_EQ(server.connections(), 1);
  sender->Send(Message("a3", "P2"), {Webhook("hook", server.Url()), Command("pager", "exit 1")});
  result = results_.At(3);
  EXPECT_TRUE(result.error.starts_with("hook: asked us to stay away for another 9m5")) << result.error;
  EXPECT_FALSE(result.retry_after.has_value());  // the pager did not ask for a pause
}

TEST_F(AlertSenderTest, AP1IsNotHeldUpByOthersThatHang) {
  RawServer mute([&mute](RawPeer& peer) {
    while (mute.Holding(peer)) continue;
  });
  auto sender = NewSender();
  for (int i = 0; i < 20; ++i)
    sender->Send(Message(StrCat("low", i), "P2"), {Webhook("mute", mute.Url(), Minutes(5))});
  // All threads that may take a P2 hang in one; the one for P1 stays free.
  const int64_t patience_us = MonotonicMicros() + 30'000'000;
  while (mute.connections() < 2 && MonotonicMicros() < patience_us) continue;
  const int64_t settled_us = MonotonicMicros() + 50'000;
  while (MonotonicMicros() < settled_us) continue;
  EXPECT_EQ(mute.connections(), 2);
  sender->Send(Message("urgent", "P1"), {Command("pager", "true")});
  const SendResult result = results_.At(1);
  EXPECT_EQ(result.id, "urgent");
  EXPECT_TRUE(result.taken);
  EXPECT_EQ(results_.count(), 1u);
}

TEST_F(AlertSenderTest, TheEndOfTheDaemonWaitsForNoChannel) {
  RawServer mute([&mute](RawPeer& peer) {
    while (mute.Holding(peer)) continue;
  });
  auto sender = NewSender();
  sender->Send(Message("a1", "P2"), {Webhook("mute", mute.Url(), Minutes(5))});
  sender->Send(Message("a2", "P2"), {Command("slow", "tail -f /dev/null", Minutes(5))});
  sender->Send(Message("a3", "P1"),
               {Command("slow", "tail -f /dev/null", Minutes(5)), Command("never", "touch tried")});
  const int64_t begun = MonotonicMicros();
  sender.reset();
  EXPECT_LT(MonotonicMicros() - begun, 20'000'000);
  EXPECT_EQ(results_.count(), 0u);  // none was taken, none failed: the next daemon sends them
  EXPECT_FALSE(FileExists(JoinPath(folder_, "tried")));
}

TEST_F(AlertSenderTest, NoSecretLeavesOverAChannel) {
  RegisterSecret("canary-in-a-message");
  auto sender = NewSender();
  sender->Send(Message("a1", "P2", "failed with canary-in-a-message"),
               {Command("script", "cat > json; env > variables")});
  EXPECT_TRUE(results_.At(1).taken);
  EXPECT_EQ(Read("json").find("canary"), std::string::npos);
  EXPECT_EQ(Read("variables").find("canary"), std::string::npos);
  EXPECT_NE(Read("json").find("failed with ***"), std::string::npos);
}

TEST(AlertRetryTest, ThePauseDoublesUpToTenMinutes) {
  const Millis rows[] = {Seconds(5),  Seconds(5),  Seconds(10),  Seconds(20),
                         Seconds(40), Seconds(80), Seconds(160), Seconds(320)};
  for (int tries = 0; tries < 8; ++tries) EXPECT_EQ(AlertRetryDelay(tries), rows[tries]) << tries;
  EXPECT_EQ(AlertRetryDelay(8), Minutes(10));
  EXPECT_EQ(AlertRetryDelay(1'000'000'000), Minutes(10));
}

}  // namespace
}  // namespace duecourse
