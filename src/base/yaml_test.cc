#include "base/yaml.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"

namespace duecourse {
namespace {

using std::string_literals::operator""s;

std::string Repeat(std::string_view piece, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += piece;
  return out;
}

// One line a fault: "2:3 message".
std::string FaultText(const std::vector<YamlFault>& faults) {
  std::string out;
  for (const YamlFault& fault : faults)
    out += StrCat(fault.place.line, ":", fault.place.column, " ", fault.message, "\n");
  return out;
}

TEST(Yaml, ATreeKnowsItsKindsQuotesAndPlaces) {
  YamlText text = ParseYaml("a: 08:30\nb: \"no\"\nc:\n  - 1\n  - {d: ~}\ne: |\n  one\n  two\nf:\ng: ''\n");
  ASSERT_TRUE(text.faults.empty()) << FaultText(text.faults);
  ASSERT_EQ(text.documents.size(), 1u);
  const YamlNode& root = text.documents[0];
  ASSERT_EQ(root.kind, YamlNode::Kind::kMap);
  EXPECT_EQ(root.Find("a")->scalar, "08:30");
  EXPECT_FALSE(root.Find("a")->quoted);
  EXPECT_EQ(root.Find("a")->place.column, 4);
  EXPECT_EQ(root.Find("b")->scalar, "no");
  EXPECT_TRUE(root.Find("b")->quoted);
  const YamlNode& list = *root.Find("c");
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[0].scalar, "1");
  EXPECT_EQ(list.items[1].Find("d")->kind, YamlNode::Kind::kNull);
  EXPECT_EQ(list.items[1].place.line, 5);
  EXPECT_TRUE(root.Find("e")->quoted);
  EXPECT_EQ(root.Find("e")->scalar, "one\ntwo\n");
  EXPECT_EQ(root.Find("f")->kind, YamlNode::Kind::kNull);
  EXPECT_EQ(root.Find("f")->place.line, 9);  // where the key is, not where the next thing is
  EXPECT_EQ(root.Find("g")->kind, YamlNode::Kind::kScalar);
  EXPECT_EQ(root.Find("none"), nullptr);
}

TEST(Yaml, ColumnsCountCharactersNotBytes) {
  YamlText text = ParseYaml("{Zürich: 调休, x: y}\n");
  ASSERT_TRUE(text.faults.empty());
  EXPECT_EQ(text.documents[0].members[0].second.place.column, 10);
  EXPECT_EQ(text.documents[0].members[1].first.place.column, 14);
}

TEST(Yaml, SeveralDocumentsAndLineEndsAndAMarkAtTheFrontAreFine) {
  YamlText text = ParseYaml("\xEF\xBB\xBF# first\r\na: 1\r\n---\r\nb: 2\r\n...\r\n---\r\n- c\r\n");
  ASSERT_TRUE(text.faults.empty()) << FaultText(text.faults);
  ASSERT_EQ(text.documents.size(), 3u);
  EXPECT_EQ(text.documents[0].Find("a")->scalar, "1");
  EXPECT_EQ(text.documents[1].Find("b")->place.line, 4);
  EXPECT_EQ(text.documents[2].items[0].scalar, "c");
  EXPECT_TRUE(ParseYaml("").documents.empty());
  EXPECT_TRUE(ParseYaml("# only a comment\n").documents.empty());
}

TEST(Yaml, AnAliasIsCopiedOut) {
  YamlText text = ParseYaml("a: &x {p: [1, 2]}\nb: *x\nc: [*x, *x]\n");
  ASSERT_TRUE(text.faults.empty()) << FaultText(text.faults);
  const YamlNode& root = text.documents[0];
  EXPECT_EQ(root.Find("b")->Find("p")->items[1].scalar, "2");
  EXPECT_EQ(root.Find("b")->place.line, 2);
  EXPECT_EQ(root.Find("c")->items[1].Find("p")->items.size(), 2u);
}

TEST(Yaml, WhatIsRefusedNamesItsPlaceAndTheCure) {
  struct Row {
    std::string text;
    std::string says;
  };
  const Row rows[] = {
      {"a: 1\nb: 2\na: 3\n", "3:1 the key \"a\" is already at line 1, column 1"},
      {"x: {k: 1, \"k\": 2}\n", "1:11 the key \"k\" is already at line 1, column 5"},
      {"a: !!python/object:os.system x\n", "1:4 tags (tag:yaml.org,2002:python/object:os.system)"},
      {"a: !mine 1\n", "1:4 tags (!mine)"},
      {"a: ! 12\n", "1:4 tags (!)"},
      {"a: !!map {b: 1}\n", "1:4 tags ("},
      {"a: &x\n  - *x\n", "2:5 this alias stands inside the value it names"},
      {"a: *nowhere\n", "1:4 this alias names an anchor"},
      {"cron: * * * * *\n", "1:8 a text that begins with * must stand in quotes"},
      {"b: &b {c: 1}\na:\n  <<: *b\n", "3:3 merge keys (<<)"},
      {"? [1, 2]\n: x\n", "1:3 a key must be plain text"},
      {"~: x\n", "1:1 a key is missing"},
      {"a: \"x\\0y\"\n", "1:4 this text holds the control character U+0000"},
      {"a: \"\\e[31m\"\n", "1:4 this text holds the control character U+001B"},
      {"a: \"\\u202e\"\n", "1:4 this text holds the control character U+202E"},
      {"a: x\0y\n"s, "1:5 the invisible character U+0000"},
      {"a: 1\nb: \x1b[0m\n", "2:4 the invisible character U+001B"},
      {"a: x\xE2\x80\xAEy\n", "1:5 the invisible character U+202E"},
      {"a: \xEF\xBB\xBFy\n", "1:4 the invisible character U+FEFF"},
      {"a: ü\nb: \xFF\n", "2:4 these bytes are not UTF-8"},
      {"\xFF\xFE"
       "a\0"s,
       "1:1 the text is UTF-16"},
      {"a\0:\0 \0"s, "1:1 the text is UTF-16"},
      {"a:\n\tb: 1\n", "2:3 a tab stands"},
      {"a:\n  b: 1\n\tc: 1\n", "a tab stands in the indentation"},
      {"a: 1\n b: 2\n", "2:3 "},
      {"a: b: c\n", "1:5 a \":\" with a value may not stand here"},
      {"a: [1, 2\nb: 3\n", "2:"},
      {"a: \"open\n", "1:4 a quote is opened"},
      {"a: 'it''s open\n", "1:4 a quote is opened"},
      {"a: &x \"open\\\"\n", "1:4 a quote is opened"},
      {"a: \"open", "1:9 a quote is opened"},
      {"a: @x\n", "1:4 no value may begin with this character"},
      {"]\n", "1:1 this bracket closes nothing"},
      {"a: 1\n...\nb: 2\n", "3:1 text follows the end of the document"},
      {"{a: 1} x\n", "1:8 text follows the end of the document"},
      {"%TAG ! tag:x,2000:\n---\na: !b c\n", "3:4 tags ("},
  };
  for (const Row& row : rows) {
    std::string faults = FaultText(ParseYaml(row.text).faults);
    EXPECT_NE(faults.find(row.says), std::string::npos)
        << ShowBytes(row.text, false) << "\nwanted " << row.says << "\ngot " << faults;
  }
}

TEST(Yaml, AllFaultsOfOneReadingAreReportedTogether) {
  YamlText text = ParseYaml("a: !x 1\na: 2\nb: {<<: {c: 1}}\nd: \"\\0\"\n");
  EXPECT_EQ(text.faults.size(), 4u) << FaultText(text.faults);
  EXPECT_EQ(ParseYaml(Repeat("a: 1\n", 1000)).faults.size(), kYamlMaxFaults);
}

// The inputs that made a plain reader hang, crash or eat the machine's memory. Each is refused in well under
// a second.
TEST(Yaml, HostileInputIsRefusedQuickly) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    std::string alias = StrCat("*a", i - 1, ", ");
    bomb += StrCat("a", i, ": &a", i, " [", Repeat(alias, 9), "*a", i - 1, "]\n");
  }
  std::string wide = "a: &a \"" + std::string(500'000, 'x') + "\"\nb: [" + Repeat("*a, ", 50) + "1]\n";
  std::string staircase;
  for (int i = 0; i < 1000; ++i) staircase += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  struct Row {
    const char* name;
    std::string text;
    const char* says;
  };
  const Row rows[] = {
      {"alias bomb", bomb, "anchors and aliases stand for more than"},
      {"wide aliases", wide, "anchors and aliases stand for more than"},
      {"many aliases", "a: &a 1\nb: [" + Repeat("*a, ", 200) + "1]\n", "more than 100 aliases"},
      {"deep by alias",
       "a: &a " + Repeat("[", 20) + Repeat("]", 20) + "\nb: " + Repeat("[", 20) + "*a" + Repeat("]", 20),
       "deeper"},
      {"nested maps", Repeat("{a: ", 30'000) + "1" + Repeat("}", 30'000), "nested deeper than 32"},
      {"nested lists", Repeat("[", 100'000), "nested deeper than 32"},
      {"nested dashes", Repeat("- ", 30'000) + "x", "nested deeper than 32"},
      {"nested questions", Repeat("? ", 30'000) + "x", "nested deeper than 32"},
      {"staircase", staircase, "nested deeper than 32"},
      {"20 MB", "a: " + std::string(20'000'000, 'x'), "at most 16777216 are read"},
      {"2 MB scalar", "a: " + std::string(2'000'000, 'x'), "at most 1048576 are allowed"},
      {"2 MB block", "a: |\n" + Repeat("  0123456789\n", 160'000), "at most 1048576 are allowed"},
      {"many values", "[" + Repeat("1,", 600'000) + "1]", "more than 500000 values"},
  };
  for (const Row& row : rows) {
    int64_t before = MonotonicMicros();
    std::string faults = FaultText(ParseYaml(row.text).faults);
    EXPECT_LT(MonotonicMicros() - before, 20'000'000)
        << row.name;  // what these did elsewhere has no end at all
    EXPECT_NE(faults.find(row.says), std::string::npos) << row.name << ": " << faults.substr(0, 300);
  }
}

struct Recorder : YamlSink {
  void Document(YamlNode node) override { documents.push_back(std::move(node)); }
  void Item(const std::string& list_key, YamlNode key, YamlNode node) override {
    items.push_back(StrCat(list_key, "/", key.scalar, "/", node.scalar,
                           node.members.empty() ? "" : node.members[0].second.scalar));
  }
  std::vector<YamlNode> documents;
  std::vector<std::string> items;
};

TEST(Yaml, EntriesOfAListOrMapAreHandedOverAndDropped) {
  Recorder sink;
  std::vector<YamlFault> faults = StreamYaml(
      "version: 1\ntasks:\n  - {id: a}\n  - {id: b}\n---\nTASK_RULES:\n  x: {id: c}\n  y: {id: d}\nother:\n  "
      "tasks: [1]\n"
      "---\nt: &t [e, f]\ntasks: *t\n",
      {"tasks", "TASK_RULES"}, sink);
  ASSERT_TRUE(faults.empty()) << FaultText(faults);
  EXPECT_EQ(sink.items, (std::vector<std::string>{"tasks//a", "tasks//b", "TASK_RULES/x/c", "TASK_RULES/y/d",
                                                  "tasks//e", "tasks//f"}));
  ASSERT_EQ(sink.documents.size(), 3u);
  EXPECT_EQ(sink.documents[0].Find("version")->scalar, "1");
  EXPECT_EQ(sink.documents[0].Find("tasks")->kind, YamlNode::Kind::kSequence);
  EXPECT_TRUE(sink.documents[0].Find("tasks")->items.empty());
  EXPECT_EQ(sink.documents[1].Find("other")->Find("tasks")->items.size(), 1u);  // only at the top
  EXPECT_TRUE(sink.documents[2].Find("tasks")->items.empty());
}

TEST(Yaml, StreamedEntriesAreStillCheckedForDuplicatesAndAnchors) {
  Recorder sink;
  std::string faults = FaultText(StreamYaml("tasks:\n  a: 1\n  b: 2\n  a: 3\n", {"tasks"}, sink));
  EXPECT_NE(faults.find("4:3 the key \"a\" is already at line 2, column 3"), std::string::npos) << faults;
  faults = FaultText(StreamYaml("tasks: &all\n  - 1\nb: *all\n", {"tasks"}, sink));
  EXPECT_NE(faults.find("an anchor may not stand on a whole list"), std::string::npos) << faults;
}

TEST(Yaml, ALargeListStreamsPastWhatMayStandInMemory) {
  std::string text = "tasks:\n";
  for (int i = 0; i < 120'000; ++i) text += StrCat("  - {id: t", i, ", cron: \"* * * * *\"}\n");
  Recorder sink;
  std::vector<YamlFault> faults = StreamYaml(text, {"tasks"}, sink);
  EXPECT_TRUE(faults.empty()) << FaultText(faults);
  EXPECT_EQ(sink.items.size(), 120'000u);
}

}  // namespace
}  // namespace duecourse
