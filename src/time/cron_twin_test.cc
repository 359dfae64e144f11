// A slow twin of the cron engine: it writes random expressions together with what they mean in plain sets,
// walks every second or minute of a stretch of time, and applies the rule of docs/reference/cron.md as it
// reads. Next, Previous and Count must say the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/random.h"
#include "base/text.h"
#include "time/cron.h"

namespace duecourse {
namespace {

constexpr int64_t kSecond = 1000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kDay = 1440 * kMinute;

// One field as text and as the values it names.
struct TwinField {
  std::string text;
  std::set<int> values;
};

using DayTest = std::function<bool(const YearMonthDay&)>;

struct TwinCron {
  std::string text;
  bool has_seconds = false;
  bool wildcard = false;
  std::set<int> seconds = {0};
  std::set<int> minutes, hours, months;
  DayTest day_due;
};

std::string AnyCase(Random& random, std::string name) {
  for (char& c : name) {
    if (random.Between(0, 1) == 0 && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

// A list of one to three items, each *, */n, a, a-b or a-b/n.
TwinField RandomField(Random& random, int low, int high) {
  TwinField field;
  int64_t items = random.Between(0, 3) == 0 ? random.Between(2, 3) : 1;
  for (int64_t i = 0; i < items; ++i) {
    int a = static_cast<int>(random.Between(low, high));
    int b = static_cast<int>(random.Between(a, high));
    int step = static_cast<int>(random.Between(1, std::max(1, (high - low) / 2)));
    int64_t kind = random.Between(0, 5);
    if (kind <= 1) a = low, b = high;
    if (kind >= 4) b = a;
    bool stepped = kind == 1 || kind == 3;
    std::string base = kind <= 1 ? "*" : kind >= 4 ? std::to_string(a) : StrCat(a, "-", b);
    field.text += StrCat(i > 0 ? "," : "", base, stepped ? StrCat("/", step) : "");
    for (int value = a; value <= b; value += stepped ? step : 1) field.values.insert(value);
  }
  return field;
}

bool Wild(const TwinField& field, int size) {
  return field.text.front() == '*' || static_cast<int>(field.values.size()) == size;
}

// The working day nearest to a day, found by looking at one after the other.
int NearestWorkday(int year, int month, int day) {
  int length = DaysInMonth(year, month);
  auto works = [&](int d) {
    if (d < 1 || d > length) return false;
    int weekday = WeekdayOf(FromYmd({year, month, d}));
    return weekday != 0 && weekday != 6;
  };
  // A Saturday looks back first and a Sunday forward; at an end of the month only one way is open.
  for (int distance = 0; distance <= 2; ++distance) {
    if (works(day - distance)) return day - distance;
    if (works(day + distance)) return day + distance;
  }
  ADD_FAILURE() << "no working day near " << day;
  return day;
}

DayTest RandomDays(Random& random, std::string& text) {
  int64_t kind = random.Between(0, 9);
  if (kind <= 2) {
    text = kind == 0 ? "?" : "*";
    return nullptr;
  }
  if (kind == 3) {
    int before = static_cast<int>(random.Between(0, 5));
    text = before == 0 ? "L" : StrCat("L-", before);
    return [before](const YearMonthDay& d) { return d.day + before == DaysInMonth(d.year, d.month); };
  }
  if (kind == 4) {
    int day = static_cast<int>(random.Between(1, 32));
    text = day == 32 ? "LW" : StrCat(day, "W");
    return [day](const YearMonthDay& d) {
      int length = DaysInMonth(d.year, d.month);
      int wanted = day == 32 ? length : day;
      return wanted <= length && d.day == NearestWorkday(d.year, d.month, wanted);
    };
  }
  TwinField field = RandomField(random, 1, 31);
  bool with_last = random.Between(0, 4) == 0;
  text = field.text + (with_last ? ",L" : "");
  if (text == "*" || text == "*/1") return nullptr;
  std::set<int> days = field.values;
  return [days, with_last](const YearMonthDay& d) {
    return days.count(d.day) != 0 || (with_last && d.day == DaysInMonth(d.year, d.month));
  };
}

DayTest RandomWeekdays(Random& random, std::string& text) {
  static const std::vector<std::string> kNames = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "7"};
  int64_t kind = random.Between(0, 9);
  if (kind <= 4) {
    text = kind == 0 ? "?" : "*";
    return nullptr;
  }
  int weekday = static_cast<int>(random.Between(0, 7));
  std::string name = random.Between(0, 1) == 0 ? std::to_string(weekday)
                                               : AnyCase(random, kNames[static_cast<size_t>(weekday)]);
  weekday %= 7;
  auto is_weekday = [weekday](const YearMonthDay& d) { return WeekdayOf(FromYmd(d)) == weekday; };
  if (kind == 5) {
    int nth = static_cast<int>(random.Between(1, 5));
    text = StrCat(name, "#", nth);
    return [=](const YearMonthDay& d) { return is_weekday(d) && (d.day - 1) / 7 + 1 == nth; };
  }
  if (kind == 6) {
    text = name + (random.Between(0, 1) == 0 ? "L" : "#L");
    return [=](const YearMonthDay& d) { return is_weekday(d) && d.day + 7 > DaysInMonth(d.year, d.month); };
  }
  TwinField field = RandomField(random, 0, 6);
  bool to_sunday = random.Between(0, 3) == 0;
  text = to_sunday ? "FRI-SUN" : field.text;
  if (text == "*" || text == "*/1") return nullptr;
  std::set<int> days = to_sunday ? std::set<int>{5, 6, 0} : field.values;
  return [days](const YearMonthDay& d) { return days.count(WeekdayOf(FromYmd(d))) != 0; };
}

TwinCron RandomCron(Random& random) {
  TwinCron twin;
  TwinField minute = RandomField(random, 0, 59);
  TwinField hour = RandomField(random, 0, 23);
  TwinField month = {"*", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  if (random.Between(0, 3) == 0) month = RandomField(random, 1, 12);
  // Hours in which clocks change are drawn more often than the others.
  if (random.Between(0, 2) == 0) {
    int named = static_cast<int>(random.Between(0, 3));
    hour = {std::to_string(named), {named}};
  }
  twin.minutes = minute.values;
  twin.hours = hour.values;
  twin.months = month.values;
  twin.wildcard = Wild(minute, 60) || Wild(hour, 24);
  std::string day_text, weekday_text;
  DayTest day = RandomDays(random, day_text);
  DayTest weekday = RandomWeekdays(random, weekday_text);
  bool both = random.Between(0, 3) == 0;
  twin.text = Join({minute.text, hour.text, day_text, month.text, (both ? "+" : "") + weekday_text}, " ");
  if (random.Between(0, 4) == 0) {
    TwinField second = RandomField(random, 0, 59);
    twin.has_seconds = true;
    twin.seconds = second.values;
    twin.wildcard = twin.wildcard || Wild(second, 60);
    twin.text = second.text + " " + twin.text;
  }
  twin.day_due = [day, weekday, both](const YearMonthDay& d) {
    if (!day && !weekday) return true;
    if (!day) return weekday(d);
    if (!weekday) return day(d);
    return both ? day(d) && weekday(d) : day(d) || weekday(d);
  };
  return twin;
}

// Is this reading of a wall named? The day's answer is kept, since walks stay on a day for long.
class Named {
 public:
  explicit Named(const TwinCron& twin) : twin_(twin) {}
  bool operator()(CivilTime civil) {
    if (civil.day != day_ || !known_) {
      YearMonthDay ymd = ToYmd(civil.day);
      day_ = civil.day;
      day_named_ = twin_.months.count(ymd.month) != 0 && twin_.day_due(ymd);
      known_ = true;
    }
    if (!day_named_) return false;
    return twin_.hours.count(civil.second / 3600) != 0 && twin_.minutes.count(civil.second / 60 % 60) != 0 &&
           twin_.seconds.count(civil.second % 60) != 0;
  }

 private:
  const TwinCron& twin_;
  CivilDay day_;
  bool day_named_ = false;
  bool known_ = false;
};

CivilTime Following(CivilTime civil) {
  if (civil.second == 86'399) return {civil.day + 1, 0};
  return {civil.day, civil.second + 1};
}

bool DateHappens(CivilDay day, const Zone& zone) {
  for (int32_t second = 0; second < 86'400; second += 60) {
    if (zone.Lookup({day, second}).kind != CivilLookup::Kind::kGap) return true;
  }
  return false;
}

// Does the clock leap to `at`, over a named reading of a date that happens?
bool NamedInGap(Instant at, const Zone& zone, Named& named) {
  LocalTime before = zone.ToLocal({at.ms - kSecond});
  LocalTime after = zone.ToLocal(at);
  if (after.offset <= before.offset) return false;
  for (CivilTime reading = Following(before.civil); reading < after.civil; reading = Following(reading)) {
    if (named(reading) && DateHappens(reading.day, zone)) return true;
  }
  return false;
}

bool Due(Instant at, const Zone& zone, const TwinCron& twin, DstRule dst, Named& named) {
  CivilTime reading = zone.ToLocal(at).civil;
  if (named(reading)) {
    if (twin.wildcard || dst.overlap == DstRule::Overlap::kBoth) return true;
    CivilLookup passes = zone.Lookup(reading);
    if (at == (dst.overlap == DstRule::Overlap::kFirst ? passes.first : passes.second)) return true;
  }
  return !twin.wildcard && dst.gap == DstRule::Gap::kAfter && NamedInGap(at, zone, named);
}

// Every due instant of [begin, end), walked at a pace that meets each reading and each clock change.
std::vector<Instant> Walk(Instant begin, Instant end, const Zone& zone, const TwinCron& twin, DstRule dst) {
  std::vector<Instant> due;
  Named named(twin);
  int64_t pace = twin.has_seconds ? kSecond : kMinute;
  for (Instant at = begin; at < end; at.ms += pace) {
    if (Due(at, zone, twin, dst, named)) due.push_back(at);
  }
  return due;
}

struct Case {
  TwinCron twin;
  Cron cron;
  Zone zone;
  DstRule dst;
  std::vector<Instant> due;
  std::string text;
};

void CheckCase(const Case& c, Random& random, Instant begin, Instant end) {
  Instant before{begin.ms - 1};
  std::vector<Instant> next;
  for (std::optional<Instant> at = c.cron.Next(before, c.zone, c.dst);
       at && *at < end && next.size() <= c.due.size(); at = c.cron.Next(*at, c.zone, c.dst)) {
    next.push_back(*at);
  }
  ASSERT_EQ(next.size(), c.due.size()) << c.text;
  for (size_t i = 0; i < next.size(); ++i) ASSERT_EQ(FormatUtc(next[i]), FormatUtc(c.due[i])) << c.text;
  std::vector<Instant> back;
  for (std::optional<Instant> at = c.cron.Previous(end, c.zone, c.dst);
       at && *at >= begin && back.size() <= c.due.size(); at = c.cron.Previous(*at, c.zone, c.dst)) {
    back.push_back(*at);
  }
  std::reverse(back.begin(), back.end());
  ASSERT_EQ(back.size(), c.due.size()) << c.text;
  for (size_t i = 0; i < back.size(); ++i) ASSERT_EQ(FormatUtc(back[i]), FormatUtc(c.due[i])) << c.text;
  for (int i = 0; i < 20; ++i) {
    Instant after{random.Between(begin.ms, end.ms - 1)};
    Instant until{random.Between(after.ms, end.ms - 1)};
    auto first = std::upper_bound(c.due.begin(), c.due.end(), after);
    auto last = std::upper_bound(c.due.begin(), c.due.end(), until);
    ASSERT_EQ(c.cron.Count(after, until, c.zone, c.dst), last - first)
        << c.text << " after " << FormatUtc(after) << " until " << FormatUtc(until);
    if (first != c.due.end()) {
      ASSERT_EQ(c.cron.Next(after, c.zone, c.dst), *first) << c.text << " after " << FormatUtc(after);
    }
    auto earlier = std::lower_bound(c.due.begin(), c.due.end(), after);
    if (earlier != c.due.begin()) {
      ASSERT_EQ(c.cron.Previous(after, c.zone, c.dst), *(earlier - 1))
          << c.text << " before " << FormatUtc(after);
    }
  }
}

constexpr const char* kZones[] = {
    "America/New_York",     "Europe/London",    "Australia/Lord_Howe", "Pacific/Apia",    "America/Sao_Paulo",
    "Pacific/Kiritimati",   "Antarctica/Troll", "Africa/Casablanca",   "Asia/Gaza",       "America/St_Johns",
    "America/Godthab",      "America/Havana",   "Asia/Tehran",         "Pacific/Chatham", "UTC",
    "Asia/Shanghai",        "Europe/Dublin",    "Asia/Amman",          "Africa/Cairo",    "Pacific/Kwajalein",
    "America/Scoresbysund", "Antarctica/Casey", "Asia/Pyongyang",      "America/Caracas", "Asia/Kathmandu"};

// A stretch of the given length, most often around a change of the zone's clock. Whole minutes of UTC.
Instant RandomBegin(Random& random, const Zone& zone, int64_t length_ms) {
  int64_t at = random.Between(0, 130LL * 365 * kDay);
  if (random.Between(0, 4) != 0) {
    if (std::optional<Instant> change = zone.NextTransition({at})) {
      at = std::max<int64_t>(0, change->ms - random.Between(0, length_ms));
    }
  }
  return {at / kMinute * kMinute};
}

void RunTwin(uint64_t seed, int cases, int64_t days, int64_t days_with_seconds) {
  Random random(seed);
  int done = 0;
  for (int i = 0; done < cases && !testing::Test::HasFatalFailure(); ++i) {
    TwinCron twin = RandomCron(random);
    Result<Cron> cron = Cron::Parse(twin.text);
    if (!cron.ok()) {
      // The only reason left to refuse what is written here: days that never come.
      ASSERT_NE(cron.error().message().find("never be due"), std::string::npos) << cron.error().message();
      continue;
    }
    ASSERT_EQ(cron->wildcard(), twin.wildcard) << twin.text;
    DstRule dst;
    if (random.Between(0, 2) == 0) {
      dst.gap = random.Between(0, 1) == 0 ? DstRule::Gap::kAfter : DstRule::Gap::kSkip;
      dst.overlap = static_cast<DstRule::Overlap>(random.Between(0, 2));
    }
    Zone zone = *Zone::Load(kZones[static_cast<size_t>(random.Between(0, std::size(kZones) - 1))]);
    int64_t length = (twin.has_seconds ? days_with_seconds : days) * kDay;
    Instant begin = RandomBegin(random, zone, length);
    Instant end{begin.ms + length};
    Case c{twin, *cron, zone, dst, Walk(begin, end, zone, twin, dst), ""};
    c.text = StrCat("\"", twin.text, "\" in ", zone.name(), " from ", FormatUtc(begin), " gap ",
                    static_cast<int>(dst.gap), " overlap ", static_cast<int>(dst.overlap), " seed ", seed);
    CheckCase(c, random, begin, end);
    ++done;
  }
}

TEST(CronTwin, AgreesOverShortStretchesAroundClockChanges) { RunTwin(1, 3000, 6, 1); }

TEST(CronTwin, AgreesOverYears) { RunTwin(2, 60, 500, 2); }

// Offsets that are no whole minutes: until 1972 Monrovia was 44:30 behind UTC.
TEST(CronTwin, AgreesWhereTheOffsetHasSeconds) {
  Random random(3);
  Zone zone = *Zone::Load("Africa/Monrovia");
  Instant begin = *ParseUtc("1972-01-06T12:00:00Z");
  Instant end = *ParseUtc("1972-01-07T12:00:00Z");
  for (int i = 0; i < 40; ++i) {
    TwinCron twin = RandomCron(random);
    twin.has_seconds = true;  // walk every second
    Result<Cron> cron = Cron::Parse(twin.text);
    if (!cron.ok()) continue;
    Case c{twin, *cron, zone, {}, Walk(begin, end, zone, twin, {}), twin.text};
    CheckCase(c, random, begin, end);
  }
}

TEST(CronTwin, CountsAgreeWithEnumerationOverALongTime) {
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    TwinCron twin = RandomCron(random);
    Result<Cron> cron = Cron::Parse(twin.text);
    if (!cron.ok()) continue;
    Zone zone = *Zone::Load(kZones[static_cast<size_t>(random.Between(0, std::size(kZones) - 1))]);
    Instant begin{random.Between(0, 200LL * 365 * kDay)};
    Instant end{begin.ms + random.Between(0, 400 * kDay)};
    int64_t count = 0;
    constexpr int64_t kMost = 20'000;
    Instant last = begin;
    for (std::optional<Instant> at = cron->Next(begin, zone); at && *at <= end && count < kMost;
         at = cron->Next(*at, zone)) {
      ++count;
      last = *at;
    }
    EXPECT_EQ(cron->Count(begin, count == kMost ? last : end, zone), count)
        << twin.text << " " << zone.name() << " " << FormatUtc(begin);
  }
}

}  // namespace
}  // namespace duecourse
