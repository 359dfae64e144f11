#include "time/cron.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace duecourse {
namespace {

Cron Parse(const std::string& expression) {
  Result<Cron> cron = Cron::Parse(expression);
  EXPECT_TRUE(cron.ok()) << (cron.ok() ? "" : cron.error().message());
  return cron.ok() ? *cron : *Cron::Parse("0 0 1 1 *");
}

Instant At(const char* text) { return *ParseUtc(text); }

std::string Next(const char* expression, const char* zone, const char* from, size_t count, DstRule dst = {}) {
  Cron cron = Parse(expression);
  std::vector<std::string> out;
  std::optional<Instant> at = At(from);
  while (out.size() < count && (at = cron.Next(*at, *Zone::Load(zone), dst))) out.push_back(FormatUtc(*at));
  return Join(out, ",");
}

std::string ErrorOf(const std::string& expression) {
  Result<Cron> cron = Cron::Parse(expression);
  return cron.ok() ? "accepted" : cron.error().message();
}

TEST(Cron, WildcardsFollowTheClockAndFixedTimesDoNot) {
  struct Row {
    const char* expression;
    bool wildcard;
  };
  for (const Row& row : {Row{"*/15 * * * *", true}, Row{"30 * * * *", true}, Row{"* 2 * * *", true},
                         Row{"30 0-23 * * *", true}, Row{"*,5 3 * * *", true}, Row{"0-59 3 * * *", true},
                         Row{"* 0 0 * * *", true}, Row{"0 2 * * *", false}, Row{"5,*/10 3 * * *", false},
                         Row{"0 0-22 * * *", false}, Row{"1-59 3 * * *", false}, Row{"0 0 2 * * *", false},
                         Row{"@hourly", true}, Row{"@daily", false}, Row{"0 2 */2 */3 *", false}}) {
    EXPECT_EQ(Parse(row.expression).wildcard(), row.wildcard) << row.expression;
  }
}

// New York 2026: 02:00 to 03:00 is missing on 8 March, 01:00 to 02:00 comes twice on 1 November.
TEST(Cron, GapAndOverlapRulesChangeFixedTimesOnly) {
  using Gap = DstRule::Gap;
  using Overlap = DstRule::Overlap;
  struct Row {
    const char* expression;
    const char* from;
    DstRule dst;
    const char* next;
  };
  for (const Row& row : {
           Row{"30 2 * * *", "2026-03-08T05:00:00Z", {Gap::kAfter, Overlap::kFirst}, "2026-03-08T07:00:00Z"},
           Row{"30 2 * * *", "2026-03-08T05:00:00Z", {Gap::kSkip, Overlap::kFirst}, "2026-03-09T06:30:00Z"},
           Row{"30 1 * * *", "2026-11-01T04:00:00Z", {Gap::kAfter, Overlap::kFirst}, "2026-11-01T05:30:00Z"},
           Row{"30 1 * * *", "2026-11-01T04:00:00Z", {Gap::kAfter, Overlap::kSecond}, "2026-11-01T06:30:00Z"},
           Row{"30 1 * * *", "2026-11-01T04:00:00Z", {Gap::kAfter, Overlap::kBoth}, "2026-11-01T05:30:00Z"},
           Row{"30 1 * * *", "2026-11-01T05:30:00Z", {Gap::kAfter, Overlap::kFirst}, "2026-11-02T06:30:00Z"},
           Row{"30 1 * * *", "2026-11-01T05:30:00Z", {Gap::kAfter, Overlap::kBoth}, "2026-11-01T06:30:00Z"},
           Row{"30 1 * * *", "2026-11-01T06:10:00Z", {Gap::kAfter, Overlap::kFirst}, "2026-11-02T06:30:00Z"},
           Row{"*/30 1 * * *",
               "2026-11-01T05:30:00Z",
               {Gap::kAfter, Overlap::kFirst},
               "2026-11-01T06:00:00Z"},
           Row{"*/30 1 * * *",
               "2026-11-01T04:00:00Z",
               {Gap::kAfter, Overlap::kSecond},
               "2026-11-01T05:00:00Z"},
           Row{"*/30 2 * * *",
               "2026-03-08T05:00:00Z",
               {Gap::kAfter, Overlap::kFirst},
               "2026-03-09T06:00:00Z"},
       }) {
    EXPECT_EQ(Next(row.expression, "America/New_York", row.from, 1, row.dst), row.next) << row.expression;
  }
}

TEST(Cron, SeveralTimesInOneGapMakeOneRun) {
  EXPECT_EQ(Next("0,30,59 2 * * *", "America/New_York", "2026-03-08T05:00:00Z", 2),
            "2026-03-08T07:00:00Z,2026-03-09T06:00:00Z");
  Zone zone = *Zone::Load("America/New_York");
  EXPECT_EQ(Parse("0,30 2,3 * * *").Count(At("2026-03-08T05:00:00Z"), At("2026-03-08T12:00:00Z"), zone), 2);
  EXPECT_EQ(Parse("30 2 * * *").Count(At("2026-03-08T06:59:59Z"), At("2026-03-08T07:00:00Z"), zone), 1);
  EXPECT_EQ(Parse("30 2 * * *").Count(At("2026-03-08T07:00:00Z"), At("2026-03-08T12:00:00Z"), zone), 0);
}

TEST(Cron, ADateThatDoesNotExistOwesNothing) {
  // Samoa went from 29 to 31 December 2011.
  EXPECT_EQ(Next("0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00Z", 3),
            "2011-12-29T22:00:00Z,2011-12-30T22:00:00Z,2011-12-31T22:00:00Z");
  EXPECT_EQ(Next("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", 1), "2012-12-29T22:00:00Z");
  Zone zone = *Zone::Load("Pacific/Apia");
  EXPECT_EQ(Parse("0 12 * * *").Count(At("2011-12-29T00:00:00Z"), At("2012-01-01T00:00:00Z"), zone), 3);
  EXPECT_EQ(FormatUtc(*Parse("0 12 30 12 *").Previous(At("2012-06-01T00:00:00Z"), zone)),
            "2010-12-30T22:00:00Z");
}

TEST(Cron, InstantsAreStrictlyLaterAndStrictlyEarlier) {
  Cron cron = Parse("0 12 * * *");
  Zone utc = Zone::Utc();
  Instant noon = At("2026-05-05T12:00:00Z");
  EXPECT_EQ(cron.Next(noon, utc), noon + Days(1));
  EXPECT_EQ(cron.Next({noon.ms - 1}, utc), noon);
  EXPECT_EQ(cron.Previous(noon, utc), noon - Days(1));
  EXPECT_EQ(cron.Previous({noon.ms + 1}, utc), noon);
  EXPECT_EQ(cron.Count({noon.ms - 1}, noon, utc), 1);
  EXPECT_EQ(cron.Count(noon, noon, utc), 0);
  EXPECT_EQ(cron.Count(noon, {noon.ms - 1}, utc), 0);
}

TEST(Cron, SearchesEndAtTheEdgesOfTheYearsThatArePlannedIn) {
  for (const char* name : {"UTC", "America/New_York", "Pacific/Apia"}) {
    Zone zone = *Zone::Load(name);
    Cron cron = Parse("* * * * *");
    EXPECT_EQ(cron.Next(At("2199-12-31T23:59:00Z"), zone), std::nullopt);
    EXPECT_EQ(FormatUtc(*cron.Next(At("2199-12-31T23:58:59Z"), zone)), "2199-12-31T23:59:00Z");
    EXPECT_EQ(cron.Previous({0}, zone), std::nullopt);
    EXPECT_EQ(cron.Previous({1}, zone), Instant{0});
    EXPECT_EQ(cron.Next({INT64_MIN}, zone), Instant{0});
    EXPECT_EQ(cron.Next({INT64_MAX}, zone), std::nullopt);
    EXPECT_EQ(FormatUtc(*cron.Previous({INT64_MAX}, zone)), "2199-12-31T23:59:00Z");
    EXPECT_EQ(cron.Previous({INT64_MIN}, zone), std::nullopt);
    EXPECT_EQ(cron.Count({INT64_MIN}, {INT64_MAX}, zone), 84'006LL * 1440);
  }
  EXPECT_EQ(Parse("0 0 0 1 1 * 2020").Next(At("2020-01-01T00:00:00Z"), Zone::Utc()), std::nullopt);
  EXPECT_EQ(Parse("0 0 0 1 1 * 2020").Previous(At("2020-01-01T00:00:00Z"), Zone::Utc()), std::nullopt);
}

TEST(Cron, ALeapDayOnAMondayIsFoundAcrossDecades) {
  EXPECT_EQ(Next("0 0 29 2 +MON", "America/New_York", "2044-03-01T00:00:00Z", 2),
            "2072-02-29T05:00:00Z,2112-02-29T05:00:00Z");
  EXPECT_EQ(
      FormatUtc(
          *Parse("0 0 29 2 +MON").Previous(At("2072-02-29T05:00:00Z"), *Zone::Load("America/New_York"))),
      "2044-02-29T05:00:00Z");
}

TEST(Cron, WorkingDaysNearestToADayStayInTheirMonth) {
  struct Row {
    const char* expression;
    const char* from;
    const char* next;
  };
  for (const Row& row : {
           Row{"0 0 1W * *", "2026-07-31T00:00:00Z", "2026-08-03T00:00:00Z"},   // 1 August 2026 is a Saturday
           Row{"0 0 31W * *", "2026-05-02T00:00:00Z", "2026-05-29T00:00:00Z"},  // 31 May 2026 is a Sunday
           Row{"0 0 15W * *", "2026-08-01T00:00:00Z", "2026-08-14T00:00:00Z"},  // a Saturday
           Row{"0 0 16W * *", "2026-08-01T00:00:00Z", "2026-08-17T00:00:00Z"},  // a Sunday
           Row{"0 0 LW * *", "2026-05-02T00:00:00Z", "2026-05-29T00:00:00Z"},
           Row{"0 0 1W,15W * *", "2026-08-03T00:00:00Z", "2026-08-14T00:00:00Z"},
           Row{"0 0 15W * +5", "2026-08-01T00:00:00Z", "2026-08-14T00:00:00Z"},
       }) {
    EXPECT_EQ(Next(row.expression, "UTC", row.from, 1), row.next) << row.expression;
  }
}

TEST(Cron, SundaysOfAllSpellingsAreSundays) {
  const char* sundays = "2026-12-06T00:00:00Z,2026-12-13T00:00:00Z";
  for (const char* weekday :
       {"0", "7", "SUN", "sun", "00", "07", "0-0", "7-7", "SUN-SUN", "0,7", "7-SUN", "+SUN", "0-SUN"}) {
    EXPECT_EQ(Next(StrCat("0 0 * * ", weekday).c_str(), "UTC", "2026-12-01T00:00:00Z", 2), sundays)
        << weekday;
  }
  for (const char* weekday : {"SAT-SUN", "6-7", "6,0", "SAT-7", "6-SUN", "sAt,SuN"}) {
    EXPECT_EQ(Next(StrCat("0 0 * * ", weekday).c_str(), "UTC", "2026-12-01T00:00:00Z", 3),
              "2026-12-05T00:00:00Z,2026-12-06T00:00:00Z,2026-12-12T00:00:00Z")
        << weekday;
  }
}

TEST(Cron, ADayFieldIsRestrictedByAnythingButAStar) {
  struct Row {
    const char* expression;
    bool day;
    bool weekday;
    bool star_step;
  };
  for (const Row& row : {Row{"0 0 * * *", false, false, false}, Row{"0 0 ? * */1", false, false, false},
                         Row{"0 0 */1 * +?", false, false, false}, Row{"0 0 1-31 * 1", true, true, false},
                         Row{"0 0 */2 * 1", true, true, true}, Row{"0 0 1 * */2", true, true, true},
                         Row{"0 0 */2 * +1", true, true, false}, Row{"0 0 */2 * *", true, false, false},
                         Row{"0 0 *,5 * MON", true, true, true}, Row{"0 0 L * *", true, false, false}}) {
    Cron cron = Parse(row.expression);
    EXPECT_EQ(cron.day_restricted(), row.day) << row.expression;
    EXPECT_EQ(cron.weekday_restricted(), row.weekday) << row.expression;
    EXPECT_EQ(cron.day_or_weekday_star_step(), row.star_step) << row.expression;
  }
}

TEST(Cron, WarningsAreDrawnFromWhatIsWritten) {
  struct Row {
    const char* expression;
    bool late_day;
    bool minute_in_hour;
  };
  for (const Row& row :
       {Row{"0 0 31 * *", true, false}, Row{"0 0 29 2 *", true, false}, Row{"0 0 31 1,3 *", false, false},
        Row{"0 0 30 * *", true, false}, Row{"0 0 1-31 * *", false, false}, Row{"0 0 */5 * *", false, false},
        Row{"0 0 15,31 * *", true, false}, Row{"0 0 31W * *", true, false}, Row{"0 0 28 * *", false, false},
        Row{"*/20 2 * * *", false, true}, Row{"*/20 * * * *", false, false}, Row{"0 2 * * *", false, false},
        Row{"* 0 2 * * *", false, true}, Row{"30 0-23 * * *", false, false}}) {
    EXPECT_EQ(Parse(row.expression).names_day_29_to_31(), row.late_day) << row.expression;
    EXPECT_EQ(Parse(row.expression).wildcard_minute_in_named_hour(), row.minute_in_hour) << row.expression;
  }
}

TEST(Cron, ErrorsNameTheFieldAndWhatWouldBeRight) {
  struct Row {
    const char* expression;
    const char* error;
  };
  for (const Row& row : {
           Row{"61 * * * *", "minute \"61\" is out of range; values go from 0 to 59"},
           Row{"5/15 * * * *",
               "minute \"5/15\": a step after one value is read in three ways; write 5-59/15"},
           Row{"0 22-2 * * *", "write two: 22-23,0-2"},
           Row{"*/90 * * * *", "use `every:`"},
           Row{"@every 5m", "write `every: 5m`"},
           Row{"@reboot", "`event:`"},
           Row{"@Daily", "lower case: @daily"},
           Row{"@dayly", "did you mean @daily?"},
           Row{"daily", "did you mean @daily?"},
           Row{"CRON_TZ=UTC 0 0 * * *", "`timezone:`"},
           Row{"0 0 * * * America/New_York", "`timezone:`"},
           Row{"0 0 * * L", "write SATL"},
           Row{"H 2 * * *", "H is reserved"},
           Row{"0 0 30 2 *", "never be due"},
           Row{"0 0 * JANUARY *", "three letters: JAN"},
           Row{"0 0 15w * *", "upper case"},
           Row{"0 0 1", "there are 3 fields; write 5"},
           Row{"0 0 * * 5-0", "write 5-7"},
       }) {
    EXPECT_NE(ErrorOf(row.expression).find(row.error), std::string::npos) << ErrorOf(row.expression);
  }
}

TEST(Cron, HostileTextIsRefusedQuicklyAndShownSafely) {
  std::string commas(10'000, ',');
  EXPECT_NE(ErrorOf(commas + " * * * *").find("more than"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string("0 0 * * \x1b[31m")).find("\\x1b"), std::string::npos);
  EXPECT_NE(ErrorOf(std::string("0 0 * * *\n")), "accepted");
  EXPECT_NE(ErrorOf(std::string("0 0 * * *\0", 10)), "accepted");
  EXPECT_NE(ErrorOf("0 0 * * \xff\xfe"), "accepted");
  EXPECT_NE(ErrorOf("0\xc2\xa0"
                    "0 * * *"),
            "accepted");  // a no-break space
}

TEST(Cron, WordsSayWhatIsDue) {
  struct Row {
    const char* expression;
    const char* words;
  };
  for (const Row& row : {
           Row{"0 2 * * *", "at 02:00 every day"},
           Row{"0 9,17 * * MON-FRI", "at 09:00 and 17:00 on Mondays to Fridays"},
           Row{"*/15 * * * *", "every 15 minutes every day"},
           Row{"0 * * * *", "every hour, on the hour, every day"},
           Row{"0 */2 * * *", "every 2 hours from 00:00 on, every day"},
           Row{"0 9-17 * * 1-5", "every hour from 09:00 to 17:00 on Mondays to Fridays"},
           Row{"*/40 * * * *", "at minutes 0 and 40 of every hour every day"},
           Row{"* 2 * * *", "every minute from 02:00 to 02:59 every day"},
           Row{"0 0 13 * 5", "at 00:00 on the 13th of the month, and also when it is a Friday"},
           Row{"0 0 13 * +5", "at 00:00 on the 13th of the month, but only when it is a Friday"},
           Row{"0 0 L * *", "at 00:00 on the last day of the month"},
           Row{"0 6 15W * *", "at 06:00 on the working day nearest to the 15th of the month"},
           Row{"0 0 * * 5L", "at 00:00 on the last Friday of the month"},
           Row{"0 0 * * 2#2", "at 00:00 on the 2nd Tuesday of the month"},
           Row{"0 0 1,15 1,7 *", "at 00:00 on the 1st and the 15th of January and July"},
           Row{"0 0 * 4-6 *", "at 00:00 every day in April to June"},
           Row{"@weekly", "at 00:00 on Sundays"},
           Row{"*/20 * * * * *", "every 20 seconds every day"},
           Row{"30 30 2 * * *", "at 02:30:30 every day"},
           Row{"0 0 0 1 1 * 2030-2035", "at 00:00 on the 1st of January of the years 2030 to 2035"},
           Row{"10 */7 3 * * *",
               "at second 10 of minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 from 03:00 to 03:56 every day"},
       }) {
    EXPECT_EQ(Parse(row.expression).Words(), row.words) << row.expression;
  }
}

}  // namespace
}  // namespace duecourse
