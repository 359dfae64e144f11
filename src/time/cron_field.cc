#include "time/cron_field.h"

#include <array>
#include <optional>

#include "base/text.h"

namespace duecourse {
namespace {

struct FieldSpec {
  std::string_view name;
  int low;
  int high;
  int longest_step;  // a longer one names the first value only, which is not what its writer meant
};

constexpr std::array<FieldSpec, 7> kFields = {{{"second", 0, 59, 59},
                                               {"minute", 0, 59, 59},
                                               {"hour", 0, 23, 23},
                                               {"day", 1, 31, 31},
                                               {"month", 1, 12, 12},
                                               {"weekday", 0, 7, 6},
                                               {"year", 1970, 2199, 229}}};
constexpr std::array<std::string_view, 12> kMonthNames = {"jan", "feb", "mar", "apr", "may", "jun",
                                                          "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdayNames = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr size_t kMaxDigits = 4;

template <size_t kSize>
std::optional<int> NameIndex(const std::array<std::string_view, kSize>& names, std::string_view text) {
  std::string lower = AsciiLower(text);
  for (size_t i = 0; i < kSize; ++i) {
    if (names[i] == lower) return static_cast<int>(i);
  }
  return std::nullopt;
}

bool AllDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool HasLetters(std::string_view text) {
  for (char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  }
  return false;
}

// Reads the items of one field; each method answers nothing, or what is wrong and what would be right.
class FieldReader {
 public:
  using Fault = std::optional<std::string>;

  explicit FieldReader(CronFieldKind kind) : kind_(kind), spec_(kFields[static_cast<size_t>(kind)]) {}

  Fault Item(std::string_view item);
  CronField& field() { return field_; }
  const FieldSpec& spec() const { return spec_; }

 private:
  bool is_day() const { return kind_ == CronFieldKind::kDay; }
  bool is_weekday() const { return kind_ == CronFieldKind::kWeekday; }
  Fault DayModifier(std::string_view item, bool& taken);
  Fault WeekdayModifier(std::string_view item, bool& taken);
  Fault Misplaced(std::string_view item) const;
  Fault Step(std::string_view text, int& step) const;
  Fault Range(std::string_view text, int& low, int& high) const;
  Fault Value(std::string_view text, int& value) const;
  Fault BadName(std::string_view text) const;
  void Mark(int value);

  CronFieldKind kind_;
  const FieldSpec& spec_;
  CronField field_;
};

std::string Shown(std::string_view text) { return StrCat("\"", ShowBytes(text.substr(0, 24), false), "\""); }

FieldReader::Fault FieldReader::BadName(std::string_view text) const {
  std::string_view three = text.substr(0, 3);
  bool month = NameIndex(kMonthNames, three).has_value();
  bool weekday = NameIndex(kWeekdayNames, three).has_value();
  bool named_field = kind_ == CronFieldKind::kMonth || is_weekday();
  if (text.size() > 3 && ((month && kind_ == CronFieldKind::kMonth) || (weekday && is_weekday()))) {
    return StrCat(Shown(text), " is too long for a name; names have three letters: ", three);
  }
  if (text.size() == 3 && month)
    return StrCat(Shown(text), " is a month; months stand in the month field only");
  if (text.size() == 3 && weekday)
    return StrCat(Shown(text), " is a weekday; weekdays stand in the last field only");
  if (kind_ == CronFieldKind::kMonth) return StrCat(Shown(text), " is no month; write 1 to 12 or JAN to DEC");
  if (is_weekday()) return StrCat(Shown(text), " is no weekday; write 0 to 7 or SUN to SAT");
  return StrCat(Shown(text), " is no number", named_field ? "" : "; this field takes numbers only");
}

FieldReader::Fault FieldReader::Value(std::string_view text, int& value) const {
  if (!AllDigits(text)) {
    if (kind_ == CronFieldKind::kMonth) {
      if (std::optional<int> index = NameIndex(kMonthNames, text)) {
        value = *index + 1;
        return std::nullopt;
      }
    }
    if (is_weekday()) {
      if (std::optional<int> index = NameIndex(kWeekdayNames, text)) {
        value = *index;
        return std::nullopt;
      }
    }
    return BadName(text);
  }
  if (text.size() > kMaxDigits) return StrCat(Shown(text), " has too many digits; four are the most");
  value = static_cast<int>(std::stoi(std::string(text)));
  if (value < spec_.low || value > spec_.high) {
    return StrCat(Shown(text), " is out of range; values go from ", spec_.low, " to ", spec_.high);
  }
  return std::nullopt;
}

FieldReader::Fault FieldReader::Step(std::string_view text, int& step) const {
  if (!AllDigits(text)) return StrCat("the step ", Shown(text), " is no number; write it like */5");
  if (text.size() > kMaxDigits)
    return StrCat("the step ", Shown(text), " has too many digits; four are the most");
  step = std::stoi(std::string(text));
  if (step == 0) return "a step of 0 never gets on; write */1 for every value";
  if (step > spec_.longest_step) {
    std::string why =
        StrCat("the step ", step, " is longer than the field, which starts again with each turn; ");
    if (kind_ == CronFieldKind::kSecond || kind_ == CronFieldKind::kMinute) {
      return why + "for an interval of elapsed time use `every:` instead of cron";
    }
    return why + StrCat("at most ", spec_.longest_step);
  }
  return std::nullopt;
}

FieldReader::Fault FieldReader::Range(std::string_view text, int& low, int& high) const {
  size_t dash = text.find('-');
  std::string_view left = text.substr(0, dash);
  std::string_view right = dash == std::string_view::npos ? left : text.substr(dash + 1);
  if (left.empty() || right.empty())
    return StrCat("the range ", Shown(text), " lacks an end; write it like 1-5");
  if (left == "*" || right == "*")
    return StrCat(Shown(text), " mixes * with a range; write * or a range like 1-5");
  if (Fault fault = Value(left, low)) return fault;
  if (Fault fault = Value(right, high)) return fault;
  // A range may end in SUN, which is then the end of the week. Sunday to Sunday is one day.
  if (is_weekday() && high == 0 && low > 0 && !AllDigits(right)) high = 7;
  if (low > high) {
    std::string hint = is_weekday() && high == 0
                           ? StrCat("write ", low, "-7")
                           : StrCat("write two: ", low, "-", spec_.high, ",", spec_.low, "-", high);
    return StrCat("the range ", Shown(text), " runs backwards; ", hint);
  }
  return std::nullopt;
}

void FieldReader::Mark(int value) {
  if (is_weekday()) value %= 7;
  if (kind_ == CronFieldKind::kYear) value -= spec_.low;
  field_.bits[value / 64] |= uint64_t{1} << (value % 64);
}

// L, L-n, LW and nW.
FieldReader::Fault FieldReader::DayModifier(std::string_view item, bool& taken) {
  taken = item.front() == 'L' || item.back() == 'W' || item.front() == 'W';
  if (!taken) return std::nullopt;
  if (item == "L") {
    field_.last_minus |= 1;
  } else if (item == "LW") {
    field_.nearest_weekday |= 1;
  } else if (item.starts_with("L-") && AllDigits(item.substr(2)) && item.size() <= 4) {
    int before = std::stoi(std::string(item.substr(2)));
    if (before < 1 || before > 30) return StrCat(Shown(item), ": write L-1 to L-30, or L for the last day");
    field_.last_minus |= 1u << before;
  } else if (item.back() == 'W' && AllDigits(item.substr(0, item.size() - 1))) {
    int day = 0;
    if (Fault fault = Value(item.substr(0, item.size() - 1), day)) return fault;
    field_.nearest_weekday |= 1u << day;
    if (day >= 29) field_.late_days |= 1u << day;
  } else {
    return StrCat(Shown(item), " is not understood; days know L, L-3, LW and 15W, each alone or in a list");
  }
  return std::nullopt;
}

// d#n, d#L and dL, where d is a number or a name.
FieldReader::Fault FieldReader::WeekdayModifier(std::string_view item, bool& taken) {
  size_t hash = item.find('#');
  taken = hash != std::string_view::npos || item.back() == 'L';
  if (!taken) return std::nullopt;
  if (item == "L")
    return "a bare L means Saturday to some and Sunday to others; write SATL for the last Saturday";
  std::string_view day =
      hash == std::string_view::npos ? item.substr(0, item.size() - 1) : item.substr(0, hash);
  std::string_view which = hash == std::string_view::npos ? "L" : item.substr(hash + 1);
  std::string usage =
      StrCat(Shown(item), " is not understood; write 5#2 for the second Friday, 5L for the last");
  if (day.find_first_of("-*/") != std::string_view::npos || day.empty()) return usage;
  int weekday = 0;
  if (Fault fault = Value(day, weekday)) return fault;
  weekday %= 7;
  if (which == "L") {
    field_.last_weekdays = static_cast<uint8_t>(field_.last_weekdays | (1u << weekday));
  } else if (which.size() == 1 && which[0] >= '1' && which[0] <= '5') {
    field_.nth_weekdays |= uint64_t{1} << (weekday * 5 + (which[0] - '1'));
  } else {
    return StrCat(usage, "; the number after # goes from 1 to 5");
  }
  return std::nullopt;
}

// What is a mistake in any field, told before the numbers are read.
FieldReader::Fault FieldReader::Misplaced(std::string_view item) const {
  if (item.empty()) return "there is nothing between two commas, or at an end of the list";
  if (item.front() == 'H')
    return "H is reserved; write a number, or `spread:` to spread the starts of many tasks";
  if (item.find('?') != std::string_view::npos) {
    return is_day() || is_weekday() ? "? stands alone, in place of *"
                                    : "? stands in a day field only; write *";
  }
  if (item.find('+') != std::string_view::npos) {
    return "+ stands once, before the weekday field, and asks for both day fields: 0 0 13 * +FRI";
  }
  constexpr std::string_view kAllowed = "0123456789*-/#";
  for (char c : item) {
    if (!HasLetters(std::string_view(&c, 1)) && kAllowed.find(c) == std::string_view::npos) {
      return StrCat("the character ", Shown(std::string_view(&c, 1)), " has no meaning here");
    }
  }
  bool lower = item.back() == 'l' || item.back() == 'w' || item == "lw" || item.starts_with("l-");
  bool number = item.size() > 1 && AllDigits(item.substr(0, item.size() - 1));
  bool alone = item == "l" || item == "lw" || item.starts_with("l-") || item == "w";
  if ((is_day() || is_weekday()) && lower && (number || alone)) {
    return StrCat(Shown(item), ": L and W are written in upper case");
  }
  if (!is_weekday() && item.find('#') != std::string_view::npos) {
    return StrCat(Shown(item), ": # stands in the weekday field only, like MON#2");
  }
  if (!is_day() && !is_weekday() && (item == "L" || item == "W" || item.ends_with("W") || item == "LW")) {
    return StrCat(Shown(item), ": L and W stand in the day fields only");
  }
  return std::nullopt;
}

FieldReader::Fault FieldReader::Item(std::string_view item) {
  if (Fault fault = Misplaced(item)) return fault;
  bool taken = false;
  if (is_day()) {
    Fault fault = DayModifier(item, taken);
    if (taken) return fault;
  }
  if (is_weekday()) {
    Fault fault = WeekdayModifier(item, taken);
    if (taken) return fault;
  }
  size_t slash = item.find('/');
  std::string_view base = item.substr(0, slash);
  bool stepped = slash != std::string_view::npos;
  int step = 1;
  if (base.empty()) return StrCat("the step ", Shown(item), " has no base; write *", item);
  if (stepped) {
    if (Fault fault = Step(item.substr(slash + 1), step)) return fault;
  }
  int low = spec_.low;
  int high = is_weekday() ? 6 : spec_.high;
  if (base != "*") {
    if (Fault fault = Range(base, low, high)) return fault;
    bool single = base.find('-') == std::string_view::npos;
    if (stepped && single) {
      return StrCat(Shown(item), ": a step after one value is read in three ways; write ", low, "-",
                    spec_.high, "/", step);
    }
    for (int day = low; is_day() && low >= 29 && day <= high; ++day) field_.late_days |= 1u << day;
  }
  for (int value = low; value <= high; value += step) Mark(value);
  return std::nullopt;
}

bool AllSet(const CronField& field, CronFieldKind kind) {
  const FieldSpec& spec = kFields[static_cast<size_t>(kind)];
  int base = kind == CronFieldKind::kYear ? spec.low : 0;
  int high = kind == CronFieldKind::kWeekday ? 6 : spec.high;
  for (int value = spec.low - base; value <= high - base; ++value) {
    if (((field.bits[value / 64] >> (value % 64)) & 1) == 0) return false;
  }
  return true;
}

bool IsStar(std::string_view text) {
  if (!text.starts_with("*/")) return text == "*";
  std::string_view step = text.substr(2);
  return step.find_first_not_of('0') == step.size() - 1 && step.ends_with('1');
}

}  // namespace

std::string_view CronFieldName(CronFieldKind kind) { return kFields[static_cast<size_t>(kind)].name; }

Result<CronField> ParseCronField(std::string_view text, CronFieldKind kind) {
  FieldReader reader(kind);
  bool is_day_field = kind == CronFieldKind::kDay || kind == CronFieldKind::kWeekday;
  std::string_view read = text == "?" && is_day_field ? "*" : text;
  for (std::string_view item : Split(read, ',')) {
    if (std::optional<std::string> fault = reader.Item(item)) {
      bool names_it = fault->starts_with(Shown(text));
      return Error(StrCat(CronFieldName(kind), " ", names_it ? "" : StrCat(Shown(text), ": "), *fault));
    }
  }
  CronField& field = reader.field();
  field.star = IsStar(read);
  field.begins_with_star = read.front() == '*';
  field.full = AllSet(field, kind);
  return field;
}

}  // namespace duecourse
