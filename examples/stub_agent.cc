// A small agent on loopback for the demo: /digest answers 500 to its first two calls and then succeeds,
// /invoice always answers 422 (the input is wrong: trying again would not help). It prints what it was asked,
// with the key and the fence. Usage: stub_agent PORT; ends when its standard input is closed.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "net/http_server.h"

namespace duecourse {
namespace {

std::string HeaderOf(const HttpRequest& request, const std::string& name) {
  const std::string* value = FindHeader(request.headers, name);
  return value == nullptr ? "-" : *value;
}

HttpResponse Answer(const HttpRequest& request, std::atomic<int>& digests) {
  HttpResponse response;
  if (request.target == "/digest") {
    response.status = digests.fetch_add(1) < 2 ? 500 : 200;
    response.body = response.status == 200 ? R"({"sent": true})" : R"({"error": "the model is overloaded"})";
  } else if (request.target == "/invoice") {
    response.status = 422;
    response.body = R"({"error": "customer 17 has no tax number"})";
  } else {
    response.status = 404;
  }
  std::printf("agent: %s %s -> %d (key %s, fence %s)\n", request.method.c_str(), request.target.c_str(),
              response.status, HeaderOf(request, "Idempotency-Key").c_str(),
              HeaderOf(request, "X-Duecourse-Fence").c_str());
  std::fflush(stdout);
  return response;
}

}  // namespace
}  // namespace duecourse

int main(int argc, char** argv) {
  std::atomic<int> digests{0};
  duecourse::HttpServerOptions options;
  options.tcp_port = argc > 1 ? std::atoi(argv[1]) : 0;
  auto server = duecourse::HttpServer::Start(
      options, [&digests](duecourse::HttpRequest request, duecourse::HttpReply reply) {
        reply(duecourse::Answer(request, digests));
      });
  if (!server.ok()) {
    std::fprintf(stderr, "stub agent: %s\n", server.error().message().c_str());
    return 1;
  }
  std::printf("agent: listening on 127.0.0.1:%d\n", (*server)->tcp_port());
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
