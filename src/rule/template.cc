#include "rule/template.h"

#include <algorithm>

#include "base/text.h"

namespace duecourse {
namespace {

using Piece = Template::Piece;

std::string TwoDigits(int n) { return n < 10 ? StrCat("0", n) : std::to_string(n); }

std::string Formatted(std::string_view format, CivilTime time) {
  Result<std::string> text = FormatCivil(format, time);
  CHECK(text.ok());  // Parse has tried the format.
  return *std::move(text);
}

CivilTime UtcTime(Instant instant) {
  constexpr int64_t kDayMs = 86'400'000;
  int64_t day = instant.ms / kDayMs;
  if (instant.ms % kDayMs < 0) --day;
  return {CivilDay{static_cast<int32_t>(day)}, static_cast<int32_t>((instant.ms - day * kDayMs) / 1000)};
}

std::string WindowText(const TemplateScope& scope) {
  const int32_t second = scope.due_local.second;
  std::string text = Formatted(second % 60 == 0 ? "%H%M" : "%H%M%S", scope.due_local);
  if (scope.second_pass) text += 'b';
  return text;
}

std::string IsoWeekText(CivilDay day) {
  const IsoWeek week = IsoWeekOf(day);
  return StrCat(week.year, "-W", TwoDigits(week.week));
}

// Which formats a name takes.
enum class Shape { kText, kDate, kInstant };

struct Builtin {
  const char* name;
  Shape shape;
  std::string (*render)(const TemplateScope& scope);
  const char* words;
};

const Builtin kBuiltins[] = {
    {"task", Shape::kText, [](const TemplateScope& s) { return s.task; }, "the task's id"},
    {"business_date", Shape::kDate, [](const TemplateScope& s) { return FormatDay(s.business_date); },
     "the day the work is for: 2025-06-01; takes a format: {business_date:%Y%m%d}"},
    {"date", Shape::kDate, [](const TemplateScope& s) { return FormatDay(s.business_date); },
     "the same as {business_date}"},
    {"target_date", Shape::kDate,
     [](const TemplateScope& s) {
       return Formatted("%Y%m%d", {s.business_date, 0});
     },
     "the business date as 20250601"},
    {"window", Shape::kText, WindowText,
     "the due time in the rule's zone: 0200, with seconds where there are any (020015); 0130b in the second "
     "pass of a "
     "repeated hour"},
    {"scheduled_at", Shape::kInstant, [](const TemplateScope& s) { return FormatUtc(s.scheduled_at); },
     "the due instant in UTC: 2025-05-31T18:00:00Z; a format is UTC too: {scheduled_at:%Y%m%dT%H%M}"},
    {"year", Shape::kText,
     [](const TemplateScope& s) {
       return Formatted("%Y", {s.business_date, 0});
     },
     "the business date's calendar year: 2025"},
    {"month", Shape::kText,
     [](const TemplateScope& s) {
       return Formatted("%m", {s.business_date, 0});
     },
     "the business date's month: 06"},
    {"day", Shape::kText,
     [](const TemplateScope& s) {
       return Formatted("%d", {s.business_date, 0});
     },
     "the business date's day of the month: 01"},
    {"business_month", Shape::kText,
     [](const TemplateScope& s) {
       return Formatted("%Y-%m", {s.business_date, 0});
     },
     "the business date's month with its year: 2025-06"},
    {"iso_week", Shape::kText, [](const TemplateScope& s) { return IsoWeekText(s.business_date); },
     "the business date's ISO week with its ISO year: 2025-W22"},
    {"iso_week_number", Shape::kText,
     [](const TemplateScope& s) { return TwoDigits(IsoWeekOf(s.business_date).week); },
     "the ISO week alone: 22; it goes with the ISO year (%G), not with {year}"},
    {"event_id", Shape::kText, [](const TemplateScope& s) { return s.event_id; }, "the id of the event"},
    {"path", Shape::kText, [](const TemplateScope& s) { return s.path; },
     "in `checksum` only: the path of the file that is checked"},
};

const char* const kOneAttemptNames[] = {
    "run_id", "attempt", "attempt_id", "attempts",   "fence",       "nonce",
    "now",    "today",   "time",       "random",     "timestamp",   "uuid",
    "node",   "node_id", "host",       "pid",        "hostname",    "retry",
    "lease",  "rand",    "started_at", "start_time", "incarnation", "attempt_number",
};

const Builtin* FindBuiltin(std::string_view name) {
  for (const Builtin& builtin : kBuiltins) {
    if (name == builtin.name) return &builtin;
  }
  return nullptr;
}

bool IsNameText(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

Error At(size_t position, const std::string& message) {
  return Error(StrCat("at character ", position + 1, ": ", message));
}

Status CheckFormat(std::string_view name, std::string_view format, size_t position) {
  const std::string shown = StrCat("{", name, ":", format, "}");
  const Builtin* builtin = FindBuiltin(name);
  if (builtin == nullptr || builtin->shape == Shape::kText) {
    const auto near = Nearest(name, {"business_date", "date", "target_date", "scheduled_at"});
    const std::string hint = near ? StrCat("did you mean {", *near, ":", format, "}?")
                                  : "business_date, date, target_date and scheduled_at do";
    return At(position, StrCat(shown, ": {", name, "} takes no format; ", hint));
  }
  if (format.empty())
    return At(position,
              StrCat(shown, ": nothing after the colon; write {", name, "} or {", name, ":%Y%m%d}"));
  const Result<std::string> tried = FormatCivil(format, CivilTime{});
  if (!tried.ok()) return At(position, StrCat(shown, ": ", tried.error().message()));
  if (builtin->shape == Shape::kInstant) return Status();
  for (size_t i = 0; i + 1 < format.size(); ++i) {
    if (format[i] != '%') continue;
    const char letter = format[++i];
    if (letter == 'H' || letter == 'M' || letter == 'S') {
      return At(position, StrCat(shown, ": a business date has no time of day (%", std::string(1, letter),
                                 "); {window} is the due time, {scheduled_at:...} the due instant"));
    }
  }
  return Status();
}

// The variable between the braces that begin at `open`.
Result<Piece> ParseVariable(std::string_view text, size_t open) {
  const size_t close = text.find_first_of("{}", open + 1);
  if (close == std::string_view::npos) {
    return At(open, StrCat("the brace is not closed: \"", text.substr(open, 40),
                           "\"; write {name}, or {{ for a brace itself"));
  }
  if (text[close] == '{') {
    return At(close, "a brace inside a brace: templates do not nest; write {name}, or {{ for a brace itself");
  }
  const std::string_view inside = text.substr(open + 1, close - open - 1);
  Piece piece;
  piece.name = std::string(inside.substr(0, inside.find(':')));
  if (piece.name.empty())
    return At(open, "nothing between the braces; write {name}, or {{ for a brace itself");
  if (!IsNameText(piece.name)) {
    return At(open, StrCat("\"", ShowBytes(piece.name, false),
                           "\" is no name (letters, digits, _ - .); write {{ and }} for braces themselves"));
  }
  if (inside.size() == piece.name.size()) return piece;
  piece.format = std::string(inside.substr(piece.name.size() + 1));
  const Status status = CheckFormat(piece.name, piece.format, open);
  if (!status.ok()) return status.error();
  return piece;
}

const std::string* FindField(const std::vector<std::pair<std::string, std::string>>* fields,
                             std::string_view name) {
  if (fields == nullptr) return nullptr;
  for (const auto& field : *fields) {
    if (field.first == name) return &field.second;
  }
  return nullptr;
}

Error Unknown(const std::string& name, const TemplateScope& scope) {
  if (NamesOneAttempt(name)) {
    return Error(StrCat("{", name,
                        "} differs from attempt to attempt, so it is no template name; the handler finds "
                        "such values in DUECOURSE_*"));
  }
  std::vector<std::string> known;
  for (const Builtin& builtin : kBuiltins) known.push_back(builtin.name);
  for (const auto* fields : {scope.value, scope.vars}) {
    if (fields == nullptr) continue;
    for (const auto& field : *fields) known.push_back(field.first);
  }
  const auto near = Nearest(name, known);
  return Error(
      StrCat("unknown variable {", name, "}",
             near ? StrCat("; did you mean {", *near, "}?") : StrCat("; known are ", Join(known, ", "))));
}

}  // namespace

Result<Template> Template::Parse(std::string_view text) {
  Template result;
  result.text_ = std::string(text);
  std::string literal;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      literal += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      literal += c;
      ++i;
      continue;
    }
    if (c == '}') return At(i, "a closing brace without an opening one; write }} for a brace itself");
    Result<Piece> piece = ParseVariable(text, i);
    if (!piece.ok()) return piece.error();
    i = text.find('}', i);
    piece->literal = std::move(literal);
    literal.clear();
    result.pieces_.push_back(*std::move(piece));
  }
  if (!literal.empty()) result.pieces_.push_back({std::move(literal), "", ""});
  return result;
}

bool Template::Uses(std::string_view name) const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [name](const Piece& piece) { return piece.name == name; });
}

bool Template::constant() const {
  return std::all_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) { return piece.name.empty(); });
}

Result<std::string> RenderPiece(const Piece& piece, const TemplateScope& scope) {
  constexpr std::string_view kEventPrefix = "event.";
  const std::string& name = piece.name;
  std::string value;
  if (const Builtin* builtin = FindBuiltin(name)) {
    if (piece.format.empty()) {
      value = builtin->render(scope);
    } else {
      value = Formatted(piece.format, builtin->shape == Shape::kInstant ? UtcTime(scope.scheduled_at)
                                                                        : CivilTime{scope.business_date, 0});
    }
    if (value.empty() && name == "event_id")
      return Error("{event_id} is empty: no event started this occurrence");
    if (value.empty() && name == "path")
      return Error("{path} is known in `checksum` of a file precondition only");
  } else if (std::string_view(name).substr(0, kEventPrefix.size()) == kEventPrefix) {
    if (scope.event == nullptr) return Error(StrCat("{", name, "}: no event started this occurrence"));
    const std::string* field = FindField(scope.event, std::string_view(name).substr(kEventPrefix.size()));
    if (field == nullptr)
      return Error(StrCat("the event has no field \"", name.substr(kEventPrefix.size()), "\""));
    value = *field;
  } else if (const std::string* of_value = FindField(scope.value, name)) {
    value = *of_value;
  } else if (const std::string* of_vars = FindField(scope.vars, name)) {
    value = *of_vars;
  } else {
    return Unknown(name, scope);
  }
  if (value.empty()) return Error(StrCat("{", name, "} is empty"));
  return value;
}

Result<std::string> Render(const Template& text, const TemplateScope& scope) {
  std::string out;
  for (const Piece& piece : text.pieces()) {
    out += piece.literal;
    if (piece.name.empty()) continue;
    Result<std::string> value = RenderPiece(piece, scope);
    if (!value.ok()) return value.error();
    out += *value;
  }
  return out;
}

const std::vector<std::pair<std::string, std::string>>& TemplateNames() {
  static const std::vector<std::pair<std::string, std::string>> names = [] {
    std::vector<std::pair<std::string, std::string>> result;
    for (const Builtin& builtin : kBuiltins) result.push_back({builtin.name, builtin.words});
    return result;
  }();
  return names;
}

bool IsTemplateName(std::string_view name) { return FindBuiltin(name) != nullptr; }

bool NamesOneAttempt(std::string_view name) {
  return std::any_of(std::begin(kOneAttemptNames), std::end(kOneAttemptNames),
                     [name](const char* known) { return name == known; });
}

}  // namespace duecourse
