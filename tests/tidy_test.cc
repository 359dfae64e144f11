// Holds the mechanical rules of the conventions: which room may include which, how large things may grow,
// what only one place may call. A finding names the file and the line. The tests at the end prove that each
// rule catches a bad snippet.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <regex>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "support/source_text.h"

namespace duecourse {
namespace {

using Findings = std::vector<std::string>;

// Below each room, what it may include; `base` is below all.
const std::map<std::string, std::set<std::string>>& Below() {
  static const std::map<std::string, std::set<std::string>> table = [] {
    const std::set<std::string> heart = {"base", "time", "rule", "run", "decide"};
    auto with = [&](std::set<std::string> more) {
      more.insert(heart.begin(), heart.end());
      return more;
    };
    return std::map<std::string, std::set<std::string>>{
        {"base", {}},
        {"net", {"base"}},
        {"db", {"base"}},
        {"time", {"base"}},
        {"rule", {"base", "time"}},
        {"run", {"base", "time", "rule"}},
        {"decide", {"base", "time", "rule", "run"}},
        {"store", with({"db"})},
        {"probe", with({"net"})},
        {"exec", with({"net"})},
        {"alert", with({"net"})},
        {"engine", with({"store", "probe", "exec", "alert"})},
        {"sim", with({"store", "probe", "exec", "alert", "engine"})},
        {"web", with({"store", "probe", "exec", "alert", "engine", "net"})},
        {"cli", with({"store", "probe", "exec", "alert", "engine", "sim", "web", "net", "db"})},
    };
  }();
  return table;
}

// The only places where each third-party library is known.
const std::map<std::string, std::set<std::string>>& Libraries() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"nlohmann/", {"src/base/json.cc", "src/rule/schema_test.cc"}},
      {"valijson/", {"src/rule/schema_test.cc"}},
      {"yaml-cpp/", {"src/base/yaml.cc"}},
      {"curl/", {"src/net/http_transfer.h"}},
      {"boost/", {"src/net/http_server.cc", "src/net/http_session.cc"}},
      {"sqlite3.h", {"src/db/sqlite.cc"}},
      {"cctz/", {"src/time/zone.cc", "src/time/zone_data.cc"}},
      {"CLI/", {"src/cli/args.cc"}},
  };
  return table;
}

std::string RoomOf(std::string_view path) {
  std::vector<std::string_view> parts = Split(path, '/');
  return parts.size() >= 3 && parts[0] == "src" ? std::string(parts[1]) : std::string();
}

bool IsTest(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  return path.starts_with("tests/") || name.find("_test.") != std::string_view::npos ||
         name.starts_with("test_") ||
         path.starts_with("src/store/contract");  // the suite that every store passes
}

std::string At(const SourceText& source, size_t offset) {
  return StrCat(source.path, ":", LineOf(source.text, offset), ": ");
}

// Calls `found` with the place and the text of each match.
template <typename Found>
void EachMatch(const std::string& text, const std::regex& pattern, Found found) {
  for (auto it = std::sregex_iterator(text.begin(), text.end(), pattern); it != std::sregex_iterator();
       ++it) {
    found(static_cast<size_t>(it->position(0)), *it);
  }
}

void CheckRooms(const SourceText& source, Findings& out) {
  std::string room = RoomOf(source.path);
  if (room.empty() || IsTest(source.path)) return;
  auto below = Below().find(room);
  if (below == Below().end()) {
    out.push_back(StrCat(source.path, ":1: the room ", room, " is not in the table of tests/tidy_test.cc"));
    return;
  }
  static const std::regex kInclude("#include \"([^\"/]+)/[^\"]+\"");
  EachMatch(source.with_literals, kInclude, [&](size_t at, const std::smatch& match) {
    if (match[1] != room && below->second.count(match[1]) == 0) {
      out.push_back(StrCat(At(source, at), "room ", room, " may not include from ", match[1].str()));
    }
  });
}

void CheckLibraries(const SourceText& source, Findings& out) {
  static const std::set<std::string> kSystem = {"sys", "netinet", "arpa", "linux"};
  static const std::set<std::string> kForTests = {"gtest", "gmock"};
  static const std::regex kInclude("#include <([^>]+)>");
  EachMatch(source.code, kInclude, [&](size_t at, const std::smatch& match) {
    std::string header = match[1];
    for (const auto& [prefix, places] : Libraries()) {
      if (!header.starts_with(prefix)) continue;
      if (places.count(source.path) == 0)
        out.push_back(StrCat(At(source, at), "<", header, "> is for ", *places.begin(), " only"));
      return;
    }
    size_t slash = header.find('/');
    if (slash == std::string::npos) return;
    std::string folder = header.substr(0, slash);
    bool known = kSystem.count(folder) > 0 || (IsTest(source.path) && kForTests.count(folder) > 0);
    if (!known)
      out.push_back(StrCat(At(source, at), "<", header, "> is of no library that this project has chosen"));
  });
}

void CheckSizes(const SourceText& source, Findings& out) {
  const bool test = IsTest(source.path);
  const bool header = source.path.ends_with(".h");
  int limit = test ? 800 : header ? 200 : source.path == "src/decide/decide.cc" ? 250 : 400;
  auto lines = std::count(source.text.begin(), source.text.end(), '\n');
  if (lines > limit)
    out.push_back(StrCat(source.path, ":", lines, ": the file has more than ", limit, " lines"));
  const int longest = test ? 100 : 70;
  for (const FoundFunction& function : FindFunctions(source)) {
    std::string place = StrCat(source.path, ":", function.line, ": ", function.name);
    if (function.lines > longest)
      out.push_back(StrCat(place, " has ", function.lines, " lines, more than ", longest));
    if (function.parameters > 5)
      out.push_back(StrCat(place, " has ", function.parameters, " parameters, more than 5"));
  }
}

struct Ban {
  const char* pattern;
  const char* says;
};

void CheckBans(const SourceText& source, const std::vector<Ban>& bans, Findings& out) {
  for (const Ban& ban : bans) {
    EachMatch(source.code, std::regex(ban.pattern), [&](size_t at, const std::smatch& match) {
      out.push_back(StrCat(At(source, at), "\"", std::string(Trim(match.str())), "\": ", ban.says));
    });
  }
}

void CheckCalls(const SourceText& source, Findings& out) {
  static const std::vector<Ban> kEverywhere = {
      {"\\bnew\\b", "ownership is a value or a unique_ptr (make_unique)"},
      {"\\bdelete\\b(?!\\s*[;\\[]?\\s*$)(?=\\s+[A-Za-z_(\\[]|\\s*\\[)",
       "ownership is a value or a unique_ptr"},
      {"\\b(sleep|usleep|nanosleep|sleep_for|sleep_until)\\s*\\(",
       "nothing sleeps; wait on what you wait for"},
      {"\\b(rand|srand|drand48)\\s*\\(|\\brandom\\s*\\(\\s*\\)|\\b(random_device|mt19937|default_random_"
       "engine)\\b",
       "randomness is an injected Random"},
      {"[:=]\\s*Split\\(\\s*(?!Trim\\b|std::string_view\\b)[A-Z]\\w*(::\\w+)*\\(",
       "its words are views of a text that is gone by then; give the text a name"},
  };
  static const std::vector<Ban> kClocks = {
      {"\\b(clock_gettime|gettimeofday|timespec_get)\\s*\\(", "only base/clock.cc reads a clock"},
      {"\\b(system_clock|steady_clock|high_resolution_clock)::now\\b", "only base/clock.cc reads a clock"},
      {"(^|[^\\w.>])(std::|::)?time\\s*\\(\\s*(nullptr|NULL|0|&)", "only base/clock.cc reads a clock"},
  };
  static const std::vector<Ban> kPure = {
      {"#include "
       "<(thread|mutex|atomic|condition_variable|future|fstream|random|ctime|sys/"
       "socket\\.h|unistd\\.h)>",
       "a pure room has no thread, socket, clock or chance"},
      {"\\b(std::thread|std::mutex|std::atomic|pthread_\\w+|std::async)\\b", "a pure room has no threads"},
      {"\\b(getenv|secure_getenv|setenv)\\s*\\(", "a pure room reads no environment"},
      {"(^|[^\\w.>:])(::)(socket|connect|open|read|write|fork)\\s*\\(",
       "a pure room does no input or output"},
      {"\\b(SystemClock|MonotonicMicros|BootId|RandomSeed|SecureToken|std::cout|std::cerr|printf)\\b",
       "a pure room is values in, values out"},
  };
  static const std::set<std::string> kPureRooms = {"time", "rule", "run", "decide"};
  CheckBans(source, kEverywhere, out);
  if (source.path != "src/base/clock.cc") CheckBans(source, kClocks, out);
  // Where the zone files lie is the machine's business, and TZDIR is how it says so; no time depends on it.
  if (source.path == "src/time/zone_names.cc") return;
  if (kPureRooms.count(RoomOf(source.path)) > 0 && !IsTest(source.path)) CheckBans(source, kPure, out);
}

void CheckSql(const SourceText& source, Findings& out) {
  std::string room = RoomOf(source.path);
  if (room.empty() || room == "store" || room == "db" || IsTest(source.path)) return;
  static const std::regex kSql(
      "\"[^\"\\n]*\\b(SELECT\\s[^\"]*\\sFROM|INSERT INTO|UPDATE \\w+ SET|DELETE FROM|CREATE TABLE|DROP "
      "TABLE|PRAGMA \\w)");
  EachMatch(source.with_literals, kSql, [&](size_t at, const std::smatch&) {
    out.push_back(StrCat(At(source, at), "SQL lives in store/ and db/ only"));
  });
}

void CheckHeader(const SourceText& source, Findings& out) {
  if (!source.path.ends_with(".h") || !source.path.starts_with("src/")) return;
  if (!source.text.starts_with("//")) out.push_back(source.path + ":1: a header opens with what it is for");
  if (source.text.find("#pragma once") == std::string::npos)
    out.push_back(source.path + ":1: #pragma once is missing");
}

// For every text file, not only code. The words are put together here so that this file does not hold them.
void CheckWords(const SourceText& source, Findings& out) {
  static const std::regex kLeftovers(std::string("\\b(TO") + "DO|FIX" + "ME|XX" + "X)\\b");
  static const std::regex kMachines(std::string("(/ho") + "me/\\w+|/Us" + "ers/\\w+|/wo" +
                                    "rk/(main|shared|build)|\\.\\./sha" + "red|/ro" + "ot/\\w+)");
  EachMatch(source.text, kLeftovers, [&](size_t at, const std::smatch& match) {
    out.push_back(StrCat(At(source, at), match.str(), ": finish it, or open an issue"));
  });
  EachMatch(source.text, kMachines, [&](size_t at, const std::smatch& match) {
    out.push_back(StrCat(At(source, at), "\"", match.str(), "\" is a path of somebody's machine"));
  });
}

Findings CheckSource(const std::string& path, const std::string& text) {
  SourceText source = ReadSource(path, text);
  Findings out;
  CheckWords(source, out);
  if (!path.ends_with(".cc") && !path.ends_with(".h")) return out;
  CheckRooms(source, out);
  CheckLibraries(source, out);
  CheckSizes(source, out);
  CheckCalls(source, out);
  CheckSql(source, out);
  CheckHeader(source, out);
  return out;
}

std::vector<std::string> TextFiles() {
  namespace fs = std::filesystem;
  static const std::set<std::string> kEndings = {".cc", ".h",   ".c",     ".md",  ".yaml", ".yml",
                                                 ".sh", ".txt", ".cmake", ".sql", ".json"};
  const fs::path root = DUECOURSE_SOURCE_DIR;
  std::vector<std::string> out = {"dev", ".ci/run", "CMakeLists.txt"};
  for (const char* folder : {"src", "tests", "docs", "examples", "drills", "bench", "cmake"}) {
    if (!fs::exists(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file() && kEndings.count(entry.path().extension().string()) > 0) {
        out.push_back(fs::relative(entry.path(), root).string());
      }
    }
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file() && entry.path().extension() == ".md")
      out.push_back(entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(Tidy, EveryFileKeepsTheConventions) {
  std::vector<std::string> files = TextFiles();
  EXPECT_GT(files.size(), 50u);  // the walk found the repository
  Findings all;
  for (const std::string& path : files) {
    Result<std::string> text = ReadFile(JoinPath(DUECOURSE_SOURCE_DIR, path), 4 << 20);
    ASSERT_TRUE(text.ok()) << text.error().message();
    for (std::string& finding : CheckSource(path, *text)) all.push_back(std::move(finding));
  }
  EXPECT_TRUE(all.empty()) << Join(all, "\n");
}

// The texts of R"sql(…)sql", one that is joined with the text of a name (`)sql" DC_NAME R"sql(`) as one.
std::vector<std::string> SqlTexts(const std::string& text) {
  const std::string source = std::regex_replace(text, std::regex(R"re(\)sql" (DC_\w+) R"sql\()re"), "$1");
  const std::string open = "R\"sql(", close = ")sql\"";
  std::vector<std::string> out;
  for (size_t at = source.find(open); at != std::string::npos; at = source.find(open, at)) {
    at += open.size();
    const size_t end = source.find(close, at);
    out.push_back(source.substr(at, end - at));
    at = end;
  }
  return out;
}

// A limit measured with other statements than the store's would be a limit of something else.
TEST(Tidy, TheBareLoopOfTheBenchMakesTheStoresOwnStatements) {
  std::set<std::string> ours;
  const std::filesystem::path root = DUECOURSE_SOURCE_DIR;
  for (const auto& entry : std::filesystem::directory_iterator(root / "src/store")) {
    Result<std::string> text = ReadFile(entry.path().string(), 4 << 20);
    ASSERT_TRUE(text.ok()) << text.error().message();
    for (std::string& sql : SqlTexts(*text)) ours.insert(std::move(sql));
  }
  Result<std::string> bare = ReadFile((root / "bench/bare_store.cc").string(), 4 << 20);
  ASSERT_TRUE(bare.ok()) << bare.error().message();
  std::vector<std::string> texts = SqlTexts(*bare);
  EXPECT_EQ(texts.size(), 9u);
  for (const std::string& sql : texts) EXPECT_EQ(ours.count(sql), 1u) << "not in src/store:" << sql;
}

std::string Lines(int count, const std::string& line) {
  std::string out;
  for (int i = 0; i < count; ++i) out += line + "\n";
  return out;
}

TEST(Tidy, ABadSnippetIsCaughtAtItsLine) {
  const std::string left = "TO";
  struct Row {
    std::string path;
    std::string text;
    std::string says;  // at least this finding
  };
  const Row rows[] = {
      {"src/base/x.cc", "\n#include \"rule/rule.h\"\n",
       "src/base/x.cc:2: room base may not include from rule"},
      {"src/store/x.cc", "#include \"exec/exec.h\"\n", "room store may not include from exec"},
      {"src/probe/x.cc", "#include \"db/sqlite.h\"\n", "room probe may not include from db"},
      {"src/decide/x.cc", "#include \"engine/engine.h\"\n", "room decide may not include from engine"},
      {"src/sim/x.cc", "#include \"web/api.h\"\n", "room sim may not include from web"},
      {"src/util/x.cc", "int a;\n", "the room util is not in the table"},
      {"src/cli/x.cc", "#include <boost/asio.hpp>\n", "<boost/asio.hpp> is for src/net/http_server.cc only"},
      {"src/base/json.h", "// x\n#pragma once\n#include <nlohmann/json.hpp>\n",
       ":3: <nlohmann/json.hpp> is for"},
      {"src/base/x.cc", "#include <fmt/format.h>\n", "of no library that this project has chosen"},
      {"src/base/x.cc", "#include <gtest/gtest.h>\n", "of no library"},
      {"src/base/x.cc", Lines(401, ""), "more than 400 lines"},
      {"src/base/x.h", "// x\n#pragma once\n" + Lines(200, ""), "more than 200 lines"},
      {"src/decide/decide.cc", Lines(251, ""), "more than 250 lines"},
      {"src/base/x_test.cc", Lines(801, ""), "more than 800 lines"},
      {"src/base/x.cc", "\nvoid Long(int a) {\n" + Lines(70, "  a();") + "}\n",
       "x.cc:2: Long has 72 lines, more than 70"},
      {"src/base/x.cc", "struct S {\n  int F() const {\n" + Lines(70, "") + "  }\n};\n",
       "x.cc:2: F has 72 lines"},
      {"src/base/x.cc", "X::X(int a)\n    : a_(a) {\n" + Lines(70, "") + "}\n", "X::X has 72 lines"},
      {"src/base/x_test.cc", "TEST(A, B) {\n" + Lines(99, "") + "}\n",
       "TEST(A, B) has 101 lines, more than 100"},
      {"src/base/x.cc", "int F(int a, int b, std::map<int, int> c, int d, int e, int f) {\n}\n",
       "F has 6 parameters"},
      {"src/run/x.cc", "auto t = std::chrono::system_clock::now();\n", "only base/clock.cc reads a clock"},
      {"src/exec/x.cc", "int64_t t = ::time(nullptr);\n", "only base/clock.cc reads a clock"},
      {"src/exec/x.cc", "clock_gettime(CLOCK_REALTIME, &t);\n", "only base/clock.cc reads a clock"},
      {"src/exec/x_test.cc", "std::this_thread::sleep_for(a);\n", "nothing sleeps"},
      {"src/exec/x.cc", "usleep(5);\n", "nothing sleeps"},
      {"src/exec/x.cc", "for (std::string_view word : Split(AsciiLower(name), '_')) {\n", "words are views"},
      {"src/sim/x.cc", "std::mt19937 engine;\n", "randomness is an injected Random"},
      {"src/decide/x.cc", "#include <thread>\n", "a pure room has no thread"},
      {"src/rule/x.cc", "const char* a = getenv(\"A\");\n", "a pure room reads no environment"},
      {"src/time/x.cc", "int fd = ::open(path, 0);\n", "a pure room does no input or output"},
      {"src/run/x.cc", "SystemClock clock;\n", "values in, values out"},
      {"src/base/x.cc", "auto* a = new Thing();\n", "ownership is"},
      {"src/base/x.cc", "void F() {\n  delete thing;\n}\n", "x.cc:2: \"delete\": ownership is"},
      {"src/base/x.cc", "void F() {\n  delete[] thing;\n}\n", "ownership is"},
      {"src/engine/x.cc", "const char* k = \"SELECT a FROM run\";\n", "SQL lives in store/ and db/ only"},
      {"src/cli/x.cc", "const char* k =\n    \"UPDATE run SET state = 1\";\n", "x.cc:2: SQL lives"},
      {"src/base/x.h", "#pragma once\n", "a header opens with what it is for"},
      {"src/base/x.h", "// x\n", "#pragma once is missing"},
      {"docs/x.md", "one\n" + left + "DO: two\n", "docs/x.md:2: "},
      {"examples/x.yaml", std::string("path: /ho") + "me/anna/x\n", "a path of somebody's machine"},
  };
  for (const Row& row : rows) {
    std::string findings = Join(CheckSource(row.path, row.text), "\n");
    EXPECT_NE(findings.find(row.says), std::string::npos)
        << row.path << ": " << row.text.substr(0, 80) << "\ngot: " << findings;
  }
}

TEST(Tidy, GoodCodeIsLeftAlone) {
  struct Row {
    std::string path;
    std::string text;
  };
  const Row rows[] = {
      {"src/base/x.cc",
       "// new things sleep(1) and time(nullptr)\nconst char* a = \"new delete usleep(1)\";\n"},
      {"src/base/x.cc", "for (std::string_view word : Split(Trim(text), ' ')) Use(word);\n"},
      {"src/base/x.cc", "struct S {\n  S(const S&) = delete;\n  S& operator=(const S&) = delete;\n};\n"},
      {"src/base/x.cc", "int renew = 1;\nrun.time(0);\nstart_time(now);\nint n = 1'000'000;\n"},
      {"src/base/x.cc", "void F() {\n" + Lines(68, "  a();") + "}\n"},
      {"src/base/x.cc", "namespace a {\n" + Lines(100, "int F() { return 1; }") + "}\n"},
      {"src/base/x.cc", "constexpr Row kRows[] = {\n" + Lines(100, "    {F(1), 2},") + "};\n"},
      {"src/base/x.cc", "class A(\"x\") B {\n" + Lines(100, "  int F();") + "};\n"},
      {"src/base/x.cc",
       "const char* k = R\"(new { delete )\";\nint F(int a, int b, int c, int d, std::map<int, int> e) "
       "{\n}\n"},
      {"src/base/x.cc", "#define M(x) \\\n  do {       \\\n  } while (0)\nint F() {\n  return 1;\n}\n"},
      {"src/base/clock.cc", "clock_gettime(CLOCK_REALTIME, &t);\n"},
      {"src/store/x.cc", "#include \"db/sqlite.h\"\nconst char* k = \"SELECT a FROM run\";\n"},
      {"src/decide/x_test.cc", "#include \"engine/engine.h\"\n#include <gtest/gtest.h>\n"},
      {"src/cli/x.cc", "Say(\"UPDATE your rules; SELECT one\");\n"},
      {"src/net/http_server.cc",
       "#include <boost/asio/post.hpp>\n#include <sys/socket.h>\n#include <vector>\n"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Join(CheckSource(row.path, row.text), "\n"), "") << row.text.substr(0, 80);
  }
}

}  // namespace
}  // namespace duecourse
