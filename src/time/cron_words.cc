// An expression in one English sentence, made from its bits, so that spellings
// of one meaning read alike.
#include <array>
#include <bit>
#include <vector>

#include "base/text.h"
#include "time/cron.h"

namespace duecourse {

class CronWords {
 public:
  explicit CronWords(const Cron& cron) : cron_(cron) {}
  std::string Sentence() const;

 private:
  std::string Times() const;
  std::string ListedTimes() const;
  std::string SecondPhrase() const;
  std::string MinutePhrase() const;
  std::string MinuteClause() const;
  std::string HourClause() const;
  std::string Days() const;
  std::vector<std::string> MonthDays() const;
  std::string WeekdayPhrase(bool condition) const;
  std::string Months() const;
  std::string Years() const;
  bool all_hours() const { return std::popcount(cron_.hours_) == 24; }
  bool all_minutes() const { return std::popcount(cron_.minutes_) == 60; }
  bool all_months() const { return std::popcount(cron_.months_) == 12; }

  const Cron& cron_;
};

namespace {

constexpr int kMostTimes = 6;       // times of day that are listed one by one
constexpr size_t kMostPieces = 12;  // pieces of a list before it is only counted
constexpr std::array<std::string_view, 7> kWeekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 13> kMonths = {
    "",     "January", "February",  "March",   "April",    "May",     "June",
    "July", "August",  "September", "October", "November", "December"};

std::string Two(int value) { return StrCat(value < 10 ? "0" : "", value); }

std::string Ordinal(int n) {
  bool teen = n % 100 >= 11 && n % 100 <= 13;
  std::string_view end = teen ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
  return StrCat(n, end);
}

// "a", "a and b", "a, b and c".
std::string Listed(const std::vector<std::string>& pieces, std::string_view last = " and ") {
  std::string out;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) out += i + 1 == pieces.size() ? last : ", ";
    out += pieces[i];
  }
  return out;
}

struct Run {
  int first;
  int last;
};

// The bits as runs of neighbours; two neighbours stay apart, since "1 to 2" reads worse than "1 and 2".
std::vector<Run> RunsOf(uint64_t bits) {
  std::vector<Run> runs;
  while (bits != 0) {
    int first = std::countr_zero(bits);
    int length = std::countr_one(bits >> first);
    if (length < 3) {
      for (int i = 0; i < length; ++i) runs.push_back({first + i, first + i});
    } else {
      runs.push_back({first, first + length - 1});
    }
    bits &= first + length >= 64 ? 0 : ~uint64_t{0} << (first + length);
  }
  return runs;
}

template <typename Name>
std::vector<std::string> Pieces(uint64_t bits, Name name) {
  std::vector<std::string> pieces;
  for (const Run& run : RunsOf(bits)) {
    pieces.push_back(run.first == run.last ? name(run.first)
                                           : StrCat(name(run.first), " to ", name(run.last)));
  }
  return pieces;
}

std::string Plain(int value) { return std::to_string(value); }

// n where the bits are 0, n, 2n … and go on evenly over the end of the field; else 0.
int EvenStep(uint64_t bits, int size) {
  int count = std::popcount(bits);
  if (count < 2 || size % count != 0 || (bits & 1) == 0) return 0;
  int step = size / count;
  for (int value = 0; value < size; value += step) {
    if (((bits >> value) & 1) == 0) return 0;
  }
  return step;
}

// "every minute", "every 15 minutes", "at minutes 10, 20 and 45".
std::string UnitPhrase(uint64_t bits, std::string_view unit) {
  int step = EvenStep(bits, 60);
  if (step == 1) return StrCat("every ", unit);
  if (step > 1) return StrCat("every ", step, " ", unit, "s");
  if (std::popcount(bits) == 1) return StrCat("at ", unit, " ", std::countr_zero(bits));
  std::vector<std::string> pieces = Pieces(bits, Plain);
  if (pieces.size() > kMostPieces) return StrCat("at ", std::popcount(bits), " ", unit, "s");
  return StrCat("at ", unit, "s ", Listed(pieces));
}

}  // namespace

std::string CronWords::SecondPhrase() const { return UnitPhrase(cron_.seconds_, "second"); }
std::string CronWords::MinutePhrase() const { return UnitPhrase(cron_.minutes_, "minute"); }

// The times one by one, where they are few.
std::string CronWords::ListedTimes() const {
  std::vector<std::string> times;
  for (uint64_t h = cron_.hours_; h != 0; h &= h - 1) {
    for (uint64_t m = cron_.minutes_; m != 0; m &= m - 1) {
      for (uint64_t s = cron_.seconds_; s != 0; s &= s - 1) {
        int second = std::countr_zero(h) * 3600 + std::countr_zero(m) * 60 + std::countr_zero(s);
        times.push_back(FormatTimeOfDay(second));
      }
    }
  }
  return StrCat("at ", Listed(times));
}

// The minutes in which the seconds lie.
std::string CronWords::MinuteClause() const {
  int step = EvenStep(cron_.minutes_, 60);
  if (step == 1) return "";
  if (step > 1) return StrCat(" of every ", Ordinal(step), " minute");
  std::vector<std::string> pieces = Pieces(cron_.minutes_, Plain);
  if (pieces.size() > kMostPieces) return StrCat(" of ", std::popcount(cron_.minutes_), " minutes");
  return StrCat(std::popcount(cron_.minutes_) == 1 ? " of minute " : " of minutes ", Listed(pieces));
}

// The hours in which the minutes lie; empty for all of them.
std::string CronWords::HourClause() const {
  if (all_hours()) return "";
  std::vector<Run> runs = RunsOf(cron_.hours_);
  int last_minute = 63 - std::countl_zero(cron_.minutes_);
  int first_minute = std::countr_zero(cron_.minutes_);
  if (runs.size() == 1) {
    return StrCat(" from ", Two(runs[0].first), ":", Two(first_minute), " to ", Two(runs[0].last), ":",
                  Two(last_minute));
  }
  int step = EvenStep(cron_.hours_, 24);
  if (step > 1) return StrCat(" of every ", Ordinal(step), " hour (00, ", Two(step), ", …)");
  return StrCat(" in the hours ", Listed(Pieces(cron_.hours_, Two)));
}

std::string CronWords::Times() const {
  bool on_the_minute = cron_.seconds_ == 1;
  int times = std::popcount(cron_.hours_) * std::popcount(cron_.minutes_) * std::popcount(cron_.seconds_);
  bool hourly = on_the_minute && cron_.minutes_ == 1;
  if (hourly && all_hours()) return "every hour, on the hour,";
  if (hourly && RunsOf(cron_.hours_).size() == 1 && times >= 3) return StrCat("every hour", HourClause());
  if (times <= kMostTimes) return ListedTimes();
  if (hourly && EvenStep(cron_.hours_, 24) > 1)
    return StrCat("every ", EvenStep(cron_.hours_, 24), " hours from 00:00 on,");
  if (on_the_minute) {
    bool fixed_minutes = EvenStep(cron_.minutes_, 60) == 0;
    return MinutePhrase() + (all_hours() && fixed_minutes ? " of every hour" : HourClause());
  }
  bool fixed_seconds = EvenStep(cron_.seconds_, 60) == 0;
  if (all_minutes()) return SecondPhrase() + (fixed_seconds ? " of every minute" : "") + HourClause();
  return SecondPhrase() + MinuteClause() + (all_hours() ? " of every hour" : HourClause());
}

// "the 1st to 7th", "the last day", "the weekday nearest to the 15th".
std::vector<std::string> CronWords::MonthDays() const {
  std::vector<std::string> pieces;
  for (const Run& run : RunsOf(cron_.days_)) {
    pieces.push_back(run.first == run.last
                         ? StrCat("the ", Ordinal(run.first))
                         : StrCat("the ", Ordinal(run.first), " to the ", Ordinal(run.last)));
  }
  for (uint32_t left = cron_.nearest_weekday_; left != 0; left &= left - 1) {
    int day = std::countr_zero(left);
    pieces.push_back(day == 0 ? "the last working day (Monday to Friday)"
                              : StrCat("the working day nearest to the ", Ordinal(day)));
  }
  for (uint32_t left = cron_.last_minus_; left != 0; left &= left - 1) {
    int before = std::countr_zero(left);
    pieces.push_back(before == 0   ? "the last day"
                     : before == 1 ? "the last day but one"
                                   : StrCat("the day ", before, " days before the last"));
  }
  return pieces;
}

// "Mondays and Fridays" where they stand alone, "a Monday or a Friday" as a condition on a date.
std::string CronWords::WeekdayPhrase(bool condition) const {
  auto name = [](int day) { return kWeekdays[static_cast<size_t>(day)]; };
  std::vector<std::string> pieces;
  for (const Run& run : RunsOf(cron_.weekdays_)) {
    std::string_view plural = condition ? "" : "s";
    std::string first = StrCat(condition && run.first == run.last ? "a " : "", name(run.first), plural);
    pieces.push_back(run.first == run.last ? first : StrCat(first, " to ", name(run.last), plural));
  }
  for (uint64_t left = cron_.nth_weekdays_; left != 0; left &= left - 1) {
    int bit = std::countr_zero(left);
    pieces.push_back(StrCat("the ", Ordinal(bit % 5 + 1), " ", name(bit / 5), " of the month"));
  }
  for (uint32_t left = cron_.last_weekdays_; left != 0; left &= left - 1) {
    pieces.push_back(StrCat("the last ", name(std::countr_zero(left)), " of the month"));
  }
  return Listed(pieces, condition ? " or " : " and ");
}

std::string CronWords::Days() const {
  std::string in = all_months() ? "" : StrCat(" in ", Months());
  if (cron_.day_star_ && cron_.weekday_star_) return StrCat("every day", in);
  if (cron_.day_star_) return StrCat("on ", WeekdayPhrase(false), in);
  std::string days = StrCat("on ", Listed(MonthDays()), " of ");
  if (cron_.weekday_star_) return StrCat(days, all_months() ? "the month" : Months());
  std::string join = cron_.and_days_ ? "the month, but only when it is " : "the month, and also when it is ";
  return StrCat(in.empty() ? "" : StrCat(in.substr(1), ", "), days, join, WeekdayPhrase(true));
}

std::string CronWords::Months() const {
  return Listed(Pieces(cron_.months_, [](int n) { return std::string(kMonths[static_cast<size_t>(n)]); }));
}

std::string CronWords::Years() const {
  if (!cron_.has_years_) return "";
  constexpr int kFirst = 1970;
  std::vector<std::string> pieces;
  int count = 0;
  auto named = [&](int bit) { return bit < 256 && ((cron_.years_[bit / 64] >> (bit % 64)) & 1) != 0; };
  for (int bit = 0; bit < 256; ++bit) {
    if (!named(bit)) continue;
    int last = bit;
    while (named(last + 1)) ++last;
    count += last - bit + 1;
    if (last - bit == 1) pieces.push_back(std::to_string(kFirst + bit));
    pieces.push_back(last - bit > 1 ? StrCat(kFirst + bit, " to ", kFirst + last)
                                    : std::to_string(kFirst + last));
    bit = last;
  }
  if (pieces.size() > kMostPieces) return StrCat(" of ", count, " years from ", pieces.front(), " on");
  return StrCat(" of the year", count == 1 ? " " : "s ", Listed(pieces));
}

std::string CronWords::Sentence() const { return StrCat(Times(), " ", Days(), Years()); }

std::string Cron::Words() const { return CronWords(*this).Sentence(); }

}  // namespace duecourse
