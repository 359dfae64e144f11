// What may be asked over TCP, where nobody is known.
#include <gtest/gtest.h>

#include "web/api.h"
#include "web/test_backend.h"

namespace duecourse {
namespace {

// Counts what reaches the daemon.
class CountingBackend : public EmptyBackend {
 public:
  void Ask(Request, std::function<void(Answer)> reply) override { Count(reply); }
  void Reload(ReloadOrder, std::function<void(Answer)> reply) override { Count(reply); }
  void TestAlert(TestOrder, std::function<void(Answer)> reply) override { Count(reply); }
  Result<std::unique_ptr<StoreReader>> NewReader() override {
    ++reached;
    return Error("no reader here");
  }
  int reached = 0;

 private:
  void Count(const std::function<void(Answer)>& reply) {
    ++reached;
    reply({});
  }
};

TEST(Tcp, AnswersHealthAndMetricsAndNothingElse) {
  struct Row {
    const char* method;
    const char* target;
    int status;
  };
  const Row rows[] = {{"GET", "/healthz", 200},
                      {"GET", "/metrics", 200},
                      {"POST", "/metrics", 403},
                      {"GET", "/api/v1/version", 403},
                      {"GET", "/api/v1/runs", 403},
                      {"GET", "/%61pi/v1/why?task=a", 403},
                      {"POST", "/api/v1/trigger", 403},
                      {"POST", "/api/v1/pause", 403},
                      {"POST", "/api/v1/reload", 403},
                      {"POST", "/api/v1/alerts/test", 403},
                      {"POST", "/api/v1/manual/rerun", 403}};
  CountingBackend backend;
  Api api(backend);
  for (const Row& row : rows) {
    HttpRequest request;
    request.method = row.method;
    request.target = row.target;
    request.body = row.method == std::string("POST") ? R"({"by":"x","task":"a","scope":"all"})" : "";
    int status = 0;
    api.Handle(request, [&](const HttpResponse& response) { status = response.status; });
    EXPECT_EQ(status, row.status) << row.method << " " << row.target;
  }
  EXPECT_EQ(backend.reached, 0);
  HttpRequest local;
  local.method = "POST";
  local.target = "/api/v1/pause";
  local.body = R"({"by":"x","scope":"all"})";
  local.local = true;
  api.Handle(local, [](const HttpResponse&) {});
  EXPECT_EQ(backend.reached, 1);
}

}  // namespace
}  // namespace duecourse
