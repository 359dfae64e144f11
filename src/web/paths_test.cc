// The page of the API, the router and the page of the metrics name the same things.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "web/api.h"
#include "web/test_backend.h"

namespace duecourse {
namespace {

std::string Text(const std::string& path) {
  Result<std::string> text = ReadFile(StrCat(DUECOURSE_SOURCE_DIR, "/", path), 1 << 20);
  EXPECT_TRUE(text.ok()) << path;
  return text.ok() ? *text : "";
}

std::set<std::string> Matches(const std::string& text, const std::string& pattern) {
  std::set<std::string> found;
  const std::regex expression(pattern);
  for (auto it = std::sregex_iterator(text.begin(), text.end(), expression); it != std::sregex_iterator();
       ++it)
    found.insert((*it)[1]);
  return found;
}

// The paths in the first column of the table that this heading begins. A word without a slash in front is a
// sibling of the path before it.
std::set<std::string> Documented(const std::string& method) {
  std::set<std::string> paths;
  bool inside = false;
  const std::string page = Text("docs/reference/api.md");
  for (std::string_view line : Split(page, '\n')) {
    if (line.starts_with("| " + method + " |")) inside = true;
    if (!inside || !line.starts_with("| `")) {
      if (line.empty()) inside = false;
      continue;
    }
    const std::string cell(line.substr(0, line.find(" |", 2)));
    static const std::regex kTick("`([^`]+)`");
    std::string last;
    for (auto it = std::sregex_iterator(cell.begin(), cell.end(), kTick); it != std::sregex_iterator();
         ++it) {
      std::string path = (*it)[1].str().substr(0, (*it)[1].str().find('?'));
      if (path[0] != '/') path = StrCat(last.substr(0, last.rfind('/') + 1), path);
      last = path;
      paths.insert(path);
    }
  }
  return paths;
}

HttpResponse Asked(Api& api, const std::string& method, const std::string& target) {
  HttpRequest request;
  request.method = method;
  request.target = target;
  request.local = true;
  request.body = method == "POST" ? R"({"by": "ann", "run_id": "r1"})" : "";
  auto answers = std::make_shared<Queue<HttpResponse>>(1);
  api.Handle(request, [answers](HttpResponse response) { answers->Push(std::move(response)); });
  constexpr int64_t kPatienceMs = 20'000;
  std::vector<HttpResponse> got = answers->TakeAll(kPatienceMs);
  return got.empty() ? HttpResponse() : got.front();
}

TEST(ApiPaths, EveryDocumentedPathAnswers) {
  EmptyBackend backend;
  Api api(backend);
  for (const char* method : {"GET", "POST"}) {
    const std::set<std::string> paths = Documented(method);
    EXPECT_GE(paths.size(), 9u) << "the test has lost the page's table of " << method;
    for (const std::string& path : paths) {
      const HttpResponse response = Asked(api, method, path);
      EXPECT_NE(response.status, 0) << method << " " << path;
      EXPECT_EQ(response.body.find("no such path"), std::string::npos) << method << " " << path;
    }
  }
  for (const char* method : {"GET", "POST"})
    EXPECT_EQ(Asked(api, method, "/api/v1/doctor").status, 404) << method;
}

TEST(ApiPaths, EveryDocumentedParameterIsTakenAndAnyOtherIsNamed) {
  EmptyBackend backend;
  Api api(backend);
  const std::set<std::string> pages = Matches(Text("docs/reference/api.md"), "`(/api/v1/[^`]*\\?[^`]*)`");
  EXPECT_GE(pages.size(), 6u) << "the test has lost the page's table";
  for (const std::string& page : pages) {
    const std::string path = page.substr(0, page.find('?'));
    for (const std::string& name : Matches(page, "[?&]([a-z]+)="))
      EXPECT_EQ(Asked(api, "GET", StrCat(path, "?", name, "=1")).body.find("no parameter"), std::string::npos)
          << path << " " << name;
  }
  for (const std::string& path : Documented("GET")) {
    if (path == "/healthz" || path == "/metrics") continue;  // whoever watches may add its own
    const HttpResponse other = Asked(api, "GET", path + "?tsak=a");
    EXPECT_EQ(other.status, 400) << path;
    EXPECT_NE(other.body.find("no parameter \\\"tsak\\\" here"), std::string::npos) << path << other.body;
  }
  const HttpResponse post = Asked(api, "POST", "/api/v1/pause?scope=all");
  EXPECT_EQ(post.status, 400);
  EXPECT_NE(post.body.find("stands in the body"), std::string::npos) << post.body;
}

TEST(ApiPaths, EveryRoutedPathIsDocumented) {
  std::set<std::string> told = Documented("GET");
  told.merge(Documented("POST"));
  std::set<std::string> routed;
  for (const char* file : {"api.cc", "api_read.cc", "api_act.cc"})
    routed.merge(Matches(Text(StrCat("src/web/", file)), "\"(/(?:api/v1/[a-z_/]+|healthz|metrics))\""));
  EXPECT_GE(routed.size(), 18u) << "the pattern has lost the code";
  for (const std::string& path : routed) {
    // What ends in a slash begins longer ones.
    const bool known = path.ends_with('/')
                           ? told.lower_bound(path) != told.end() && told.lower_bound(path)->starts_with(path)
                           : told.count(path) > 0;
    EXPECT_TRUE(known) << path << " is not in docs/reference/api.md";
  }
}

TEST(MetricsPage, NamesTheSeriesThatThereAre) {
  EmptyBackend backend;
  const std::string page = Text("docs/operating.md");
  const std::set<std::string> told = Matches(page, "`(duecourse_[a-z_]+)(?:\\{[a-z,]+\\})?`");
  const std::set<std::string> served = Matches(MetricsText(backend), "# TYPE (duecourse_[a-z_]+) ");
  EXPECT_GE(served.size(), 10u);
  EXPECT_EQ(told, served);
}

}  // namespace
}  // namespace duecourse
