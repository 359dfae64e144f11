#include "base/text.h"
#include "rule/lint_parts.h"

namespace duecourse {
namespace {

constexpr std::string_view kEventPrefix = "event.";

// The built-in names as formats of the business date; {scheduled_at} is treated apart.
std::string FormatOfName(const Template::Piece& piece) {
  if (!piece.format.empty()) return piece.format;
  static const std::pair<const char*, const char*> names[] = {
      {"business_date", "%Y-%m-%d"},
      {"date", "%Y-%m-%d"},
      {"target_date", "%Y%m%d"},
      {"year", "%Y"},
      {"month", "%m"},
      {"day", "%d"},
      {"business_month", "%Y-%m"},
      {"iso_week", "%G-W%V"},
      {"iso_week_number", "%V"},
  };
  for (const auto& [name, format] : names) {
    if (piece.name == name) return format;
  }
  return "";
}

const std::string* FindField(const Fields& fields, const std::string& name) {
  for (const auto& field : fields) {
    if (field.first == name) return &field.second;
  }
  return nullptr;
}

void AddLetter(char letter, KeyFields* fields) {
  switch (letter) {
    case 'Y':
    case 'y':
      fields->year = true;
      break;
    case 'G':
      fields->iso_year = true;
      break;
    case 'm':
    case 'b':
      fields->month = true;
      break;
    case 'd':
      fields->day = true;
      break;
    case 'j':
      fields->day_of_year = true;
      break;
    case 'V':
      fields->week = true;
      break;
    case 'u':
    case 'a':
      fields->weekday = true;
      break;
    case 'H':
      fields->hour = true;
      break;
    case 'M':
      fields->minute = true;
      break;
    case 'S':
      fields->second = true;
      break;
    default:
      break;
  }
}

void AddPattern(std::string_view format, char mark, std::string* out) {
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] == '%' && i + 1 < format.size()) {
      ++i;
      if (format[i] != '%') *out += mark;
    }
    *out += format[i];
  }
}

}  // namespace

bool KeyFields::WholeDate() const {
  return (year && month && day) || (year && day_of_year) || (iso_year && week && weekday);
}

KeyFields FieldsOf(const Template& key, const RuleBody& rule) {
  KeyFields fields;
  for (const Template::Piece& piece : key.pieces()) {
    if (piece.name == "scheduled_at" && piece.format.empty()) {
      fields.instant = true;
    } else if (piece.name == "window") {
      fields.window = true;
    } else if (piece.name == "event_id" || piece.name.compare(0, kEventPrefix.size(), kEventPrefix) == 0) {
      fields.event = true;
    } else if (IsTemplateName(piece.name)) {
      const std::string format = FormatOfName(piece);
      for (size_t i = 0; i + 1 < format.size(); ++i) {
        if (format[i] == '%') AddLetter(format[++i], &fields);
      }
      if (piece.name == "scheduled_at") fields.utc = true;
    } else if (!rule.for_each.empty() && FindField(rule.for_each[0].fields, piece.name) != nullptr) {
      fields.values = true;
    }
  }
  return fields;
}

std::string KeyPattern(const Template& key, const Task& task, size_t value) {
  const RuleBody& rule = task.rule();
  std::string pattern;
  for (const Template::Piece& piece : key.pieces()) {
    pattern += piece.literal;
    if (piece.name.empty()) continue;
    if (piece.name == "task") {
      pattern += task.id;
    } else if (const std::string format = FormatOfName(piece);
               !format.empty() && IsTemplateName(piece.name)) {
      AddPattern(format, piece.name == "scheduled_at" ? kUtcMark : kBusinessMark, &pattern);
    } else if (IsTemplateName(piece.name) || piece.name.compare(0, kEventPrefix.size(), kEventPrefix) == 0) {
      pattern += kWholeMark + piece.name + kWholeMark;
    } else {
      const std::string* text =
          rule.for_each.empty() ? nullptr : FindField(rule.for_each[value].fields, piece.name);
      if (text == nullptr) text = FindField(rule.vars, piece.name);
      if (text == nullptr) return "";
      pattern += *text;
    }
  }
  return pattern;
}

}  // namespace duecourse
