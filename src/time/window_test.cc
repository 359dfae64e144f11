#include "time/window.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace duecourse {
namespace {

constexpr Millis kDefault = Hours(24);

struct Row {
  const char* start;   // "" = the due instant
  const char* end;     // "" = none
  int length_minutes;  // 0 = none
  const char* due;
  const char* expected;  // opens, ends, day, and "*" where the due instant lies outside
};

std::string Show(const Row& row, const char* zone) {
  WindowSpec spec;
  if (*row.start != '\0') spec.start = *ParseTimeOfDay(row.start);
  if (*row.end != '\0') spec.end = *ParseTimeOfDay(row.end);
  if (row.length_minutes != 0) spec.length = Minutes(row.length_minutes);
  Instant due = *ParseUtc(row.due);
  Window window = WindowFor(spec, due, *Zone::Load(zone), kDefault);
  EXPECT_EQ(window.Contains(due), window.contains_due) << row.due;
  EXPECT_LT(window.opens, window.ends) << row.due;
  return StrCat(FormatUtc(window.opens), " ", FormatUtc(window.ends), " ", FormatDay(window.day),
                window.contains_due ? "" : " *");
}

void Expect(const char* zone, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(Show(row, zone), row.expected)
        << zone << " " << row.start << "-" << row.end << " due " << row.due;
  }
}

TEST(Window, EdgesAreWallClockOfTheDayItOpens) {
  Expect("Asia/Shanghai", {
                              {"02:00", "05:00", 0, "2025-05-31T18:00:00Z",
                               "2025-05-31T18:00:00Z 2025-05-31T21:00:00Z 2025-06-01"},
                              {"02:00", "05:00", 0, "2025-05-31T20:59:59Z",
                               "2025-05-31T18:00:00Z 2025-05-31T21:00:00Z 2025-06-01"},
                              {"02:00", "05:00", 0, "2025-05-31T21:00:00Z",
                               "2025-06-01T18:00:00Z 2025-06-01T21:00:00Z 2025-06-02 *"},
                              {"02:00", "05:00", 0, "2025-05-31T17:59:00Z",
                               "2025-05-31T18:00:00Z 2025-05-31T21:00:00Z 2025-06-01 *"},
                              {"09:00", "12:00", 0, "2025-06-01T01:00:00Z",
                               "2025-06-01T01:00:00Z 2025-06-01T04:00:00Z 2025-06-01"},
                          });
}

TEST(Window, AnEndAtOrBeforeTheStartIsTheNextDay) {
  Expect("Asia/Shanghai", {
                              {"22:00", "05:00", 0, "2025-06-01T14:00:00Z",
                               "2025-06-01T14:00:00Z 2025-06-01T21:00:00Z 2025-06-01"},
                              {"22:00", "05:00", 0, "2025-06-01T17:00:00Z",
                               "2025-06-01T14:00:00Z 2025-06-01T21:00:00Z 2025-06-01"},
                              {"22:00", "05:00", 0, "2025-06-01T21:00:00Z",
                               "2025-06-02T14:00:00Z 2025-06-02T21:00:00Z 2025-06-02 *"},
                              {"22:00", "00:00", 0, "2025-06-01T15:00:00Z",
                               "2025-06-01T14:00:00Z 2025-06-01T16:00:00Z 2025-06-01"},
                              {"02:00", "02:00", 0, "2025-06-01T17:59:59Z",
                               "2025-05-31T18:00:00Z 2025-06-01T18:00:00Z 2025-06-01"},
                              {"02:00", "02:00", 0, "2025-06-01T18:00:00Z",
                               "2025-06-01T18:00:00Z 2025-06-02T18:00:00Z 2025-06-02"},
                          });
}

TEST(Window, WithoutAStartTheDueInstantOpensIt) {
  Expect("Asia/Shanghai",
         {
             {"", "05:00", 0, "2025-05-31T18:00:00Z", "2025-05-31T18:00:00Z 2025-05-31T21:00:00Z 2025-06-01"},
             {"", "02:00", 0, "2025-05-31T18:00:00Z", "2025-05-31T18:00:00Z 2025-06-01T18:00:00Z 2025-06-01"},
             {"", "01:00", 0, "2025-05-31T18:00:00Z", "2025-05-31T18:00:00Z 2025-06-01T17:00:00Z 2025-06-01"},
             {"", "", 240, "2025-05-31T18:00:00Z", "2025-05-31T18:00:00Z 2025-05-31T22:00:00Z 2025-06-01"},
             {"", "", 0, "2025-05-31T18:00:00Z", "2025-05-31T18:00:00Z 2025-06-01T18:00:00Z 2025-06-01"},
         });
}

TEST(Window, ALengthCountsFromTheDueInstant) {
  Expect(
      "UTC",
      {
          {"01:00", "", 240, "2025-06-01T02:00:00Z", "2025-06-01T01:00:00Z 2025-06-01T06:00:00Z 2025-06-01"},
          {"03:00", "", 240, "2025-06-01T02:00:00Z",
           "2025-06-01T03:00:00Z 2025-06-01T06:00:00Z 2025-06-01 *"},
          {"22:00", "", 240, "2025-06-01T01:00:00Z", "2025-05-31T22:00:00Z 2025-06-01T05:00:00Z 2025-05-31"},
          {"09:00", "", 0, "2025-06-01T02:00:00Z", "2025-06-01T09:00:00Z 2025-06-02T09:00:00Z 2025-06-01 *"},
          {"01:00", "", 0, "2025-06-01T02:00:00Z", "2025-06-01T01:00:00Z 2025-06-02T02:00:00Z 2025-06-01"},
      });
}

// New York 2026: 02:00 to 03:00 is missing on 8 March.
TEST(Window, AnEdgeInAGapMovesToTheGapsEnd) {
  Expect("America/New_York",
         {
             {"02:30", "05:00", 0, "2026-03-08T07:00:00Z",
              "2026-03-08T07:00:00Z 2026-03-08T09:00:00Z 2026-03-08"},
             {"01:00", "02:30", 0, "2026-03-08T06:30:00Z",
              "2026-03-08T06:00:00Z 2026-03-08T07:00:00Z 2026-03-08"},
             {"", "02:30", 0, "2026-03-08T06:30:00Z", "2026-03-08T06:30:00Z 2026-03-08T07:00:00Z 2026-03-08"},
             {"22:00", "02:30", 0, "2026-03-08T06:59:00Z",
              "2026-03-08T03:00:00Z 2026-03-08T07:00:00Z 2026-03-07"},
         });
}

TEST(Window, AWindowThatAGapSwallowsIsPassedOver) {
  const char* next_day = "2026-03-09T06:10:00Z 2026-03-09T06:40:00Z 2026-03-09 *";
  Expect("America/New_York", {{"02:10", "02:40", 0, "2026-03-08T07:00:00Z", next_day},
                              {"02:10", "02:40", 0, "2026-03-08T06:30:00Z", next_day}});
}

// 01:00 to 02:00 comes twice on 1 November.
TEST(Window, InAnOverlapTheOpeningTakesTheFirstPassAndTheClosingTheSecond) {
  Expect("America/New_York",
         {
             {"01:30", "05:00", 0, "2026-11-01T05:30:00Z",
              "2026-11-01T05:30:00Z 2026-11-01T10:00:00Z 2026-11-01"},
             {"00:00", "01:30", 0, "2026-11-01T06:15:00Z",
              "2026-11-01T04:00:00Z 2026-11-01T06:30:00Z 2026-11-01"},
             {"01:15", "01:45", 0, "2026-11-01T06:00:00Z",
              "2026-11-01T05:15:00Z 2026-11-01T06:45:00Z 2026-11-01"},
             {"", "01:45", 0, "2026-11-01T06:30:00Z", "2026-11-01T06:30:00Z 2026-11-01T06:45:00Z 2026-11-01"},
             {"01:30", "01:30", 0, "2026-11-01T06:00:00Z",
              "2026-11-01T05:30:00Z 2026-11-02T06:30:00Z 2026-11-01"},
         });
}

// Samoa had no 30 December 2011.
TEST(Window, NoWindowOpensOnADateThatDoesNotExist) {
  Expect("Pacific/Apia", {
                             {"22:00", "05:00", 0, "2011-12-30T09:00:00Z",
                              "2011-12-30T08:00:00Z 2011-12-30T10:00:00Z 2011-12-29"},
                             {"22:00", "05:00", 0, "2011-12-30T10:00:00Z",
                              "2011-12-31T08:00:00Z 2011-12-31T15:00:00Z 2011-12-31 *"},
                         });
}

}  // namespace
}  // namespace duecourse
