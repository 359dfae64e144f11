#include <algorithm>

#include "base/text.h"
#include "time/calendar.h"

namespace duecourse {
namespace {

constexpr size_t kMaxBytes = 16u << 20;
constexpr size_t kMaxEvents = 100'000;
constexpr int kMaxEventDays = 366;
constexpr int kMaxNesting = 8;

Error AtLine(int line, std::string_view what) { return Error(StrCat("line ", line, ": ", what)); }

// One content line, unfolded: "DTSTART;VALUE=DATE:20250101".
struct Property {
  std::string name;             // upper case
  std::string_view parameters;  // "VALUE=DATE"
  std::string_view value;
};

// Hands out lines with their continuations (lines that begin with a blank) joined. The text must outlive it.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  bool Next(std::string_view& line) {
    if (rest_.empty()) return false;
    number_ = next_number_;
    line = Take();
    if (rest_.empty() || !Continues()) return true;
    joined_ = std::string(line);
    while (!rest_.empty() && Continues()) joined_ += Take().substr(1);
    line = joined_;
    return true;
  }
  int number() const { return number_; }

 private:
  bool Continues() const { return rest_.front() == ' ' || rest_.front() == '\t'; }
  std::string_view Take() {
    size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++next_number_;
    return line;
  }

  std::string_view rest_;
  std::string joined_;
  int number_ = 0;
  int next_number_ = 1;
};

std::optional<Property> SplitProperty(std::string_view line) {
  // A colon may stand in a quoted parameter.
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] != ':' || quoted) continue;
    std::string_view head = line.substr(0, i);
    size_t semicolon = head.find(';');
    std::string_view parameters = semicolon == std::string_view::npos ? "" : head.substr(semicolon + 1);
    std::string name(head.substr(0, semicolon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return Property{name, parameters, line.substr(i + 1)};
  }
  return std::nullopt;
}

// "20250101", or nothing.
std::optional<CivilDay> DateOf(std::string_view value) {
  if (value.size() != 8) return std::nullopt;
  Result<CivilDay> day = ParseDay(StrCat(value.substr(0, 4), "-", value.substr(4, 2), "-", value.substr(6)));
  if (!day.ok()) return std::nullopt;
  return *day;
}

// Whole days of "P3D", "P1W"; nothing for anything else.
std::optional<int> DaysOf(std::string_view duration) {
  if (duration.starts_with('+')) duration.remove_prefix(1);
  if (duration.size() < 3 || duration.size() > 6 || duration.front() != 'P') return std::nullopt;
  char unit = duration.back();
  std::optional<int64_t> count = ParseInteger(duration.substr(1, duration.size() - 2));
  if (!count || *count < 1 || (unit != 'D' && unit != 'W')) return std::nullopt;
  return static_cast<int>(*count) * (unit == 'W' ? 7 : 1);
}

bool IsTimed(const Property& property) { return property.value.find('T') != std::string_view::npos; }

struct Event {
  int line = 0;
  std::optional<CivilDay> start;
  std::optional<CivilDay> end;
  std::optional<int> days;
  bool timed = false;
  bool repeats = false;
  bool cancelled = false;
  bool workday = false;
};

// Notes what a property says about the event; properties that say nothing about days are passed over.
Status Note(const Property& property, int line, Event& event) {
  std::string value = AsciiLower(Trim(property.value));
  if (property.name == "DTSTART" || property.name == "DTEND") {
    event.timed = event.timed || IsTimed(property);
    if (event.timed) return Status();
    std::optional<CivilDay> day = DateOf(Trim(property.value));
    if (!day) {
      return AtLine(line, StrCat(property.name, " \"", ShowBytes(property.value.substr(0, 40), false),
                                 "\" is no date; write it like 20250601"));
    }
    (property.name == "DTSTART" ? event.start : event.end) = day;
  } else if (property.name == "DURATION") {
    event.days = DaysOf(Trim(property.value));
    if (!event.days && value.find('t') == std::string::npos) {
      return AtLine(line, StrCat("DURATION \"", ShowBytes(property.value.substr(0, 40), false),
                                 "\" is no number of days; write it like P1D or P1W"));
    }
  } else if (property.name == "RRULE" || property.name == "RDATE") {
    event.repeats = true;
  } else if (property.name == "STATUS") {
    event.cancelled = value == "cancelled";
  } else if (property.name == "CATEGORIES") {
    for (std::string_view category : Split(value, ','))
      event.workday = event.workday || Trim(category) == "workday";
  }
  return Status();
}

// Adds the event's days to the calendar. Timed and cancelled events are no holidays.
Status Add(const Event& event, Calendar& calendar) {
  if (event.timed || event.cancelled) return Status();
  if (!event.start) return AtLine(event.line, "the event has no DTSTART");
  if (event.repeats) {
    return AtLine(event.line,
                  "the event repeats (RRULE or RDATE), and holidays are not worked out here; "
                  "write one event for each date, or export the calendar with its repetitions written out");
  }
  int days = event.days.value_or(1);
  if (event.end) days = std::max(1, event.end->days - event.start->days);
  if (event.end && *event.end < *event.start) return AtLine(event.line, "the event ends before it starts");
  if (days > kMaxEventDays)
    return AtLine(event.line, StrCat("the event lasts over ", kMaxEventDays, " days"));
  for (int i = 0; i < days; ++i)
    (event.workday ? calendar.workdays : calendar.holidays).insert(*event.start + i);
  calendar.covers.insert(ToYmd(*event.start).year);
  return Status();
}

// Walks the components; only what stands directly in a VEVENT counts (its alarms do not, nor do time zones).
class IcsReader {
 public:
  Status Line(std::string_view line, int number) {
    if (Trim(line).empty()) return Status();
    std::optional<Property> property = SplitProperty(line);
    if (!property) return AtLine(number, "there is no \":\"; every line of an .ics file is NAME:VALUE");
    if (open_.empty() && (property->name != "BEGIN" || Component(*property) != "vcalendar")) {
      return AtLine(number, "this is no .ics file; it begins with BEGIN:VCALENDAR");
    }
    if (property->name == "BEGIN") return Begin(*property, number);
    if (property->name == "END") return End(*property, number);
    return in_event() ? Note(*property, number, event_) : Status();
  }
  Result<Calendar> Finish() {
    if (events_ == 0 && open_.empty())
      return Error("there is no VEVENT in it, so it says nothing about holidays");
    if (!open_.empty())
      return Error(StrCat("the file is cut off: END:", ShowBytes(open_.back(), false), " is missing"));
    if (calendar_.covers.empty())
      return Error("there is no all-day VEVENT in it, so it says nothing about holidays");
    // A year between two others is known too, even where nothing happens in it.
    for (int year = *calendar_.covers.begin(); year < *calendar_.covers.rbegin(); ++year)
      calendar_.covers.insert(year);
    return std::move(calendar_);
  }

 private:
  static std::string Component(const Property& property) { return AsciiLower(Trim(property.value)); }
  bool in_event() const { return open_.size() == 2 && open_.back() == "vevent"; }
  Status Begin(const Property& property, int number) {
    if (open_.size() >= kMaxNesting) return AtLine(number, "components are nested too deeply");
    open_.push_back(Component(property).substr(0, 40));
    if (!in_event()) return Status();
    if (++events_ > kMaxEvents) return AtLine(number, StrCat("there are more than ", kMaxEvents, " events"));
    event_ = Event{};
    event_.line = number;
    return Status();
  }
  Status End(const Property& property, int number) {
    if (open_.back() != Component(property)) {
      return AtLine(number, StrCat("END:", ShowBytes(property.value.substr(0, 40), false),
                                   " closes what is not open; ", ShowBytes(open_.back(), false), " is"));
    }
    bool event = in_event();
    open_.pop_back();
    return event ? Add(event_, calendar_) : Status();
  }

  Calendar calendar_;
  std::vector<std::string> open_;  // lower-case names of the components around
  Event event_;
  size_t events_ = 0;
};

}  // namespace

Result<Calendar> ParseIcs(std::string_view text) {
  if (text.size() > kMaxBytes) return Error(StrCat("the .ics file is larger than ", kMaxBytes, " bytes"));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  LineReader lines(text);
  IcsReader reader;
  std::string_view line;
  while (lines.Next(line)) {
    Status read = reader.Line(line, lines.number());
    if (!read.ok()) return read.error();
  }
  return reader.Finish();
}

}  // namespace duecourse
