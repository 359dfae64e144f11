// Every row of tests/cases/cron is a test: what independent libraries agree on, our rule at clock changes,
// cases from public bug reports, what must be refused, and odd expressions that are valid.
#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "base/text.h"
#include "time/bulk.h"
#include "time/cron.h"

namespace duecourse {
namespace {

using Row = std::map<std::string, std::string>;

std::string Untabbed(std::string text) {
  for (size_t at = text.find("\\t"); at != std::string::npos; at = text.find("\\t", at))
    text.replace(at, 2, "\t");
  return text;
}

// The rows of one file, by the names of its first line.
std::vector<Row> ReadRows(const std::string& file) {
  constexpr size_t kMaxBytes = 4u << 20;
  Result<std::string> text = ReadFile(StrCat(DUECOURSE_SOURCE_DIR, "/tests/cases/cron/", file), kMaxBytes);
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().message());
  std::vector<Row> rows;
  if (!text.ok()) return rows;
  std::vector<std::string_view> lines = Split(*text, '\n');
  std::vector<std::string_view> names = Split(lines[0], '\t');
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    std::vector<std::string_view> cells = Split(lines[i], '\t');
    Row row;
    for (size_t c = 0; c < names.size() && c < cells.size(); ++c)
      row[std::string(names[c])] = std::string(cells[c]);
    row["expr"] = Untabbed(row["expr"]);
    rows.push_back(std::move(row));
  }
  return rows;
}

// The next `count` instants, or why there are none.
std::string Answer(const Row& row, size_t count) {
  Result<Cron> cron = Cron::Parse(row.at("expr"));
  if (!cron.ok()) return cron.error().message();
  Result<Zone> zone = Zone::Load(row.at("tz"));
  if (!zone.ok()) return zone.error().message();
  Result<Instant> from = ParseUtc(row.at("from"));
  if (!from.ok()) return from.error().message();
  std::vector<std::string> out;
  std::optional<Instant> at = *from;
  while (out.size() < count && (at = cron->Next(*at, *zone))) out.push_back(FormatUtc(*at));
  return Join(out, ",");
}

// Five instants are asked for where a row lists fewer, so that a schedule which ends is seen to end.
size_t Asked(const Row& row) {
  auto n = row.find("n");
  return n == row.end() ? 5 : static_cast<size_t>(ParseInteger(n->second).value_or(5));
}

void ExpectRows(const std::string& file, const std::string& expected_column, size_t all_rows) {
  std::vector<Row> rows = ReadRows(file);
  EXPECT_EQ(rows.size(), all_rows) << file << " is not whole";
  for (const Row& row : rows) {
    EXPECT_EQ(Answer(row, Asked(row)), row.at(expected_column))
        << file << " " << row.at("id") << ": " << row.at("expr") << " in " << row.at("tz") << " from "
        << row.at("from");
  }
}

TEST(CronCases, AnswersWhereIndependentLibrariesAgreeAreOurs) { ExpectRows("agree.tsv", "expected", 6241); }

TEST(CronCases, GapsAndOverlapsFollowTheRule) { ExpectRows("dst.tsv", "expected", 1026); }

TEST(CronCases, PublicBugReportsDoNotApply) { ExpectRows("bugs.tsv", "expected", 67); }

TEST(CronCases, OddButValidExpressionsAreUnderstood) { ExpectRows("valid-odd.tsv", "expected", 77); }

TEST(CronCases, AnswersThatDependOnZoneDataAreThoseOfItsVersion) {
  if (ZoneDataVersion() >= "2026f" && ZoneDataVersion() != "unknown") {
    ExpectRows("tzdata.tsv", "expected_with_tzdata_2026f", 118);
    return;
  }
  // Older zone data says one or the other, according to which changes it has already.
  std::vector<Row> rows = ReadRows("tzdata.tsv");
  EXPECT_EQ(rows.size(), 118u);
  for (const Row& row : rows) {
    const std::string answer = Answer(row, Asked(row));
    EXPECT_TRUE(answer == row.at("expected_with_tzdata_2026f") ||
                answer == row.at("answer_with_older_tzdata"))
        << row.at("id") << " with zone data " << ZoneDataVersion() << ": " << answer;
  }
}

TEST(CronCases, InvalidExpressionsAreRefusedWithTheFieldAndAHint) {
  std::vector<Row> rows = ReadRows("invalid.tsv");
  EXPECT_EQ(rows.size(), 182u);
  for (const Row& row : rows) {
    Result<Cron> cron = Cron::Parse(row.at("expr"));
    // Whether years are over depends on today, which a parser does not know; asked from a day after them,
    // there is none.
    if (row.at("reason").starts_with("the year is over")) {
      ASSERT_TRUE(cron.ok());
      EXPECT_EQ(cron->Next(*ParseUtc("2026-12-01T00:00:00Z"), Zone::Utc()), std::nullopt) << row.at("expr");
      std::string line = NextLine(row.at("expr") + "\tUTC\t2026-12-01T00:00:00Z\t5");
      EXPECT_TRUE(line.starts_with("error: ")) << line;
      continue;
    }
    ASSERT_FALSE(cron.ok()) << row.at("id") << " " << row.at("expr") << ": " << row.at("reason");
    EXPECT_TRUE(cron.error().message().starts_with("cron \"")) << cron.error().message();
  }
}

}  // namespace
}  // namespace duecourse
