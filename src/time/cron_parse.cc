#include <array>
#include <bit>
#include <vector>

#include "base/text.h"
#include "time/cron.h"
#include "time/cron_field.h"
#include "time/cron_readings.h"

namespace duecourse {

// Fills a Cron from its fields.
class CronParser {
 public:
  static Result<Cron> Parse(std::string_view expression);

 private:
  static Status Fill(Cron& cron, const std::vector<std::string_view>& fields);
  static void SetTraits(Cron& cron, const std::array<CronField, 7>& fields);
};

namespace {

constexpr size_t kMaxBytes = 4096;

struct Nickname {
  std::string_view name;
  std::string_view fields;
};
constexpr std::array<Nickname, 7> kNicknames = {{{"@yearly", "0 0 1 1 *"},
                                                 {"@annually", "0 0 1 1 *"},
                                                 {"@monthly", "0 0 1 * *"},
                                                 {"@weekly", "0 0 * * 0"},
                                                 {"@daily", "0 0 * * *"},
                                                 {"@midnight", "0 0 * * *"},
                                                 {"@hourly", "0 * * * *"}}};
constexpr std::string_view kNicknameList =
    "@yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly";

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = at;
    while (end < text.size() && !IsBlank(text[end])) ++end;
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// The five fields of a nickname, or what is wrong with it.
Result<std::string_view> ExpandNickname(std::string_view text) {
  for (const Nickname& nickname : kNicknames) {
    if (nickname.name == text) return nickname.fields;
  }
  std::string lower = AsciiLower(text);
  if (lower.starts_with("@every")) {
    std::vector<std::string_view> words = Words(text);
    return Error(StrCat("@every is an interval, not a calendar time; write `every: ",
                        words.size() == 2 ? ShowBytes(words[1].substr(0, 20), false) : "5m",
                        "` in place of cron"));
  }
  if (lower == "@reboot") {
    return Error(
        "@reboot is no calendar time; for a regular interval there is `every:`, and `event:` starts on an "
        "event");
  }
  for (const Nickname& nickname : kNicknames) {
    if (nickname.name == lower) return Error(StrCat("nicknames are written in lower case: ", nickname.name));
  }
  std::vector<std::string> names;
  for (const Nickname& nickname : kNicknames) names.emplace_back(nickname.name);
  if (std::optional<std::string> near = Nearest(lower, names))
    return Error(StrCat("did you mean ", *near, "?"));
  return Error(StrCat("this is no nickname, which stands alone; there are ", kNicknameList));
}

// Spellings of other systems, told apart so that the hint fits. Nothing where it looks like fields.
std::optional<std::string> Foreign(std::string_view text) {
  std::string lower = AsciiLower(text);
  if (lower.starts_with("cron_tz=") || lower.starts_with("tz=")) {
    return "a time zone does not belong into the expression; write it under `timezone:`";
  }
  if (lower.starts_with("rate(")) return "rate(...) is an interval; write `every: 5m` in place of cron";
  if (lower.starts_with("cron(")) return "write the fields alone, without cron(...)";
  if (lower.starts_with("every")) return "for an interval write `every: 5m` in place of cron";
  for (const Nickname& nickname : kNicknames) {
    if (nickname.name.substr(1) == lower) return StrCat("did you mean ", nickname.name, "?");
  }
  if (text.find('@') != std::string_view::npos)
    return StrCat("a nickname stands alone; there are ", kNicknameList);
  return std::nullopt;
}

// Blanks are spaces and tabs; everything else must be printable ASCII. Look-alikes of other scripts are told
// by place.
std::optional<std::string> StrayByte(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '\t' || (c >= 0x20 && c < 0x7f)) continue;
    size_t length = c < 0x80 ? 1 : NextUtf8(text.substr(i)).length;
    return StrCat("the character \"", ShowBytes(text.substr(i, length), false), "\" at position ", i + 1,
                  " is not allowed; digits, * and blanks are plain ASCII");
  }
  return std::nullopt;
}

// The complaint about a number of fields that is none of 5, 6, 7.
std::string FieldCount(size_t count) {
  return StrCat("there ", count == 1 ? "is " : "are ", count, count == 1 ? " field" : " fields",
                "; write 5 (minute hour day month weekday), 6 (second first) or 7 (second first, year last)");
}

// "America/New_York", which sits where a sixth field would.
bool LooksLikeZone(std::string_view word) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  size_t slash = word.find('/');
  bool place = slash != std::string_view::npos && slash > 0 && slash + 1 < word.size() &&
               letter(word[slash - 1]) && letter(word[slash + 1]);
  return word == "UTC" || place;
}

}  // namespace

void CronParser::SetTraits(Cron& cron, const std::array<CronField, 7>& fields) {
  auto field = [&](CronFieldKind kind) -> const CronField& { return fields[static_cast<size_t>(kind)]; };
  auto wild = [&](CronFieldKind kind) { return field(kind).begins_with_star || field(kind).full; };
  const CronField& day = field(CronFieldKind::kDay);
  const CronField& weekday = field(CronFieldKind::kWeekday);
  bool wild_second = wild(CronFieldKind::kSecond);  // without a field there is one value, 0
  bool wild_minute = wild(CronFieldKind::kMinute);
  bool wild_hour = wild(CronFieldKind::kHour);
  cron.wildcard_ = wild_second || wild_minute || wild_hour;
  cron.named_hour_ = (wild_second || wild_minute) && !wild_hour;
  cron.day_star_ = day.star;
  cron.weekday_star_ = weekday.star;
  bool both = !day.star && !weekday.star && !cron.and_days_;
  cron.star_step_ = both && (day.begins_with_star || weekday.begins_with_star);
  for (int month = 1; month <= 12; ++month) {
    int length = DaysInMonth(2001, month);  // no leap year: 29 February is a day that most years lack
    if (((cron.months_ >> month) & 1) != 0 && (uint64_t{day.late_days} >> (length + 1)) != 0)
      cron.names_late_day_ = true;
  }
}

Status CronParser::Fill(Cron& cron, const std::vector<std::string_view>& words) {
  if (words.size() < 5 || words.size() > 7) return Error(FieldCount(words.size()));
  cron.has_seconds_ = words.size() > 5;
  if (LooksLikeZone(words.back())) {
    return Error(StrCat("\"", ShowBytes(words.back().substr(0, 40), false),
                        "\" looks like a time zone; write it under `timezone:`"));
  }
  std::array<CronField, 7> fields;
  for (size_t i = 0; i < words.size(); ++i) {
    CronFieldKind kind = static_cast<CronFieldKind>(cron.has_seconds_ ? i : i + 1);
    std::string_view text = words[i];
    if (kind == CronFieldKind::kWeekday && text.size() > 1 && text.front() == '+') {
      cron.and_days_ = true;
      text.remove_prefix(1);
    }
    Result<CronField> field = ParseCronField(text, kind);
    if (!field.ok()) return field.error();
    fields[static_cast<size_t>(kind)] = *field;
  }
  auto bits = [&](CronFieldKind kind) { return fields[static_cast<size_t>(kind)].bits[0]; };
  if (cron.has_seconds_) cron.seconds_ = bits(CronFieldKind::kSecond);
  cron.minutes_ = bits(CronFieldKind::kMinute);
  cron.hours_ = static_cast<uint32_t>(bits(CronFieldKind::kHour));
  cron.months_ = static_cast<uint16_t>(bits(CronFieldKind::kMonth));
  const CronField& day = fields[static_cast<size_t>(CronFieldKind::kDay)];
  cron.days_ = static_cast<uint32_t>(day.bits[0]);
  cron.last_minus_ = day.last_minus;
  cron.nearest_weekday_ = day.nearest_weekday;
  const CronField& weekday = fields[static_cast<size_t>(CronFieldKind::kWeekday)];
  cron.weekdays_ = static_cast<uint8_t>(weekday.bits[0]);
  cron.nth_weekdays_ = weekday.nth_weekdays;
  cron.last_weekdays_ = weekday.last_weekdays;
  const CronField& year = fields[static_cast<size_t>(CronFieldKind::kYear)];
  cron.has_years_ = words.size() == 7 && !year.full;
  for (size_t i = 0; i < 4; ++i) cron.years_[i] = year.bits[i];
  SetTraits(cron, fields);
  return Status();
}

Result<Cron> CronParser::Parse(std::string_view expression) {
  auto fail = [&](const std::string& why) {
    return Error(StrCat("cron \"", ShowBytes(expression.substr(0, 80), false), "\": ", why));
  };
  if (expression.size() > kMaxBytes) return fail(StrCat("it has more than ", kMaxBytes, " bytes"));
  std::string_view text = TrimBlanks(expression);
  if (text.empty()) return fail("it is empty; write five fields: minute hour day month weekday");
  if (std::optional<std::string> stray = StrayByte(text)) return fail(*stray);
  std::string_view fields = text;
  if (text.front() == '@') {
    Result<std::string_view> expanded = ExpandNickname(text);
    if (!expanded.ok()) return fail(expanded.error().message());
    fields = *expanded;
  } else if (std::optional<std::string> foreign = Foreign(text)) {
    return fail(*foreign);
  }
  Cron cron;
  Status filled = Fill(cron, Words(fields));
  if (!filled.ok()) return fail(filled.error().message());
  cron.expression_ = std::string(text);
  if (!CronReadings(cron).AnyDay()) {
    return fail("it can never be due: no month and year it names has such a day");
  }
  return cron;
}

Result<Cron> Cron::Parse(std::string_view expression) { return CronParser::Parse(expression); }

}  // namespace duecourse
