#include "rule/reader.h"

#include <algorithm>

#include "base/text.h"
#include "rule/secret.h"

namespace duecourse {
namespace {

constexpr size_t kShownBytes = 60;

std::string_view LastPart(std::string_view path) {
  size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// What is wrong with a number that ParseInteger refuses, and what would be right.
FaultText NumberFault(std::string_view text, const std::string& shown) {
  std::string_view digits = text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
  if (digits.size() > 1 && digits.front() == '0' && AllDigits(digits)) {
    std::string_view decimal = digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
    return {"bad_number", StrCat("expected a whole number, got ", shown, ", which some read as octal"),
            StrCat("write ", decimal)};
  }
  if (text.find('_') != std::string_view::npos) {
    std::string plain(text);
    plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
    if (AllDigits(plain)) {
      return {"bad_number", StrCat("expected a whole number, got ", shown),
              StrCat("write ", plain.substr(0, 20))};
    }
  }
  return {"bad_number", StrCat("expected a whole number, got ", shown), "write decimal digits only, like 5"};
}

FaultText BooleanFault(std::string_view text, const std::string& shown) {
  std::string lower = AsciiLower(text);
  bool yes = lower == "yes" || lower == "on" || lower == "y" || lower == "true" || lower == "1";
  bool no = lower == "no" || lower == "off" || lower == "n" || lower == "false" || lower == "0";
  std::string fix = yes ? "write true" : no ? "write false" : "write true or false";
  return {"bad_boolean", StrCat("expected true or false, got ", shown), fix};
}

}  // namespace

std::string_view KindName(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "text";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "";
}

std::string ShowValue(const YamlNode& node, std::string_view path) {
  if (node.kind != YamlNode::Kind::kScalar) return std::string(KindName(node));
  if (NamesSecret(LastPart(path)) || HoldsSecret(node.scalar)) return "a value that is not shown";
  if (node.scalar.empty()) return "an empty text";
  std::string text = node.scalar;
  if (text.size() > kShownBytes) {
    size_t end = kShownBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = StrCat(text.substr(0, end), "… (", text.size(), " bytes)");
  }
  return ShowBytes(text, false);
}

std::string JoinKey(std::string_view path, std::string_view key) {
  std::string safe = ShowBytes(key.substr(0, 100), false);
  return path.empty() ? safe : StrCat(path, ".", safe);
}

std::string JoinIndex(std::string_view path, size_t index) { return StrCat(path, "[", index, "]"); }

Finding Reader::MakeFinding(YamlPlace place, const std::string& path, FaultText text) const {
  Finding finding;
  finding.id = text.id;
  finding.file = file_;
  finding.line = place.line;
  finding.column = place.column;
  finding.task = task_;
  finding.path = path;
  finding.message = std::move(text.message);
  finding.fix = std::move(text.fix);
  return finding;
}

void Reader::Fault(YamlPlace place, const std::string& path, FaultText text) {
  ++faults_;
  findings_.Add(MakeFinding(place, path, std::move(text)));
}

void Reader::Warn(const Field& field, FaultText text) {
  Finding finding = MakeFinding(field.node->place, field.path, std::move(text));
  finding.severity = Finding::Severity::kWarning;
  findings_.Add(std::move(finding));
}

void Reader::Missing(YamlPlace place, const std::string& path, std::string what, std::string fix) {
  if (unsure_) return;
  Fault(place, path, {"missing_key", std::move(what), std::move(fix)});
}

const std::string* Reader::Scalar(const Field& field, const char* wanted) {
  if (!field) return nullptr;
  if (field.node->kind != YamlNode::Kind::kScalar) {
    Fault(field, {"wrong_type", StrCat("expected ", wanted, ", got ", KindName(*field.node)), ""});
    return nullptr;
  }
  // Where a secret stood; it has its finding already.
  if (field.node->scalar == kHiddenValue) return nullptr;
  return &field.node->scalar;
}

bool Reader::Text(const Field& field, std::string* out, size_t bytes_max) {
  const std::string* text = Scalar(field, "text");
  if (text == nullptr) return false;
  if (text->empty()) {
    Fault(field, {"empty_value", "this text is empty", "write a value, or leave the key out"});
    return false;
  }
  if (text->size() > bytes_max) {
    Fault(field, {"too_long",
                  StrCat("this text has ", text->size(), " bytes; at most ", bytes_max, " are allowed"), ""});
    return false;
  }
  *out = *text;
  return true;
}

bool Reader::Name(const Field& field, std::string* out) {
  std::string text;
  if (!Text(field, &text, 128)) return false;
  bool clean = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (!clean) {
    Fault(field, {"bad_name",
                  StrCat("a name holds letters, digits, '.', '_' and '-' only, got ",
                         ShowValue(*field.node, field.path)),
                  ""});
    return false;
  }
  *out = std::move(text);
  return true;
}

bool Reader::Boolean(const Field& field, bool* out) {
  const std::string* text = Scalar(field, "true or false");
  if (text == nullptr) return false;
  if (*text != "true" && *text != "false") {
    Fault(field, BooleanFault(*text, ShowValue(*field.node, field.path)));
    return false;
  }
  *out = *text == "true";
  return true;
}

bool Reader::Integer(const Field& field, int64_t low, int64_t high, int64_t* out) {
  const std::string* text = Scalar(field, "a whole number");
  if (text == nullptr) return false;
  std::optional<int64_t> value = ParseInteger(*text);
  if (!value) {
    Fault(field, NumberFault(*text, ShowValue(*field.node, field.path)));
    return false;
  }
  if (*value < low || *value > high) {
    Fault(field,
          {"out_of_range", StrCat("expected a number from ", low, " to ", high, ", got ", *value), ""});
    return false;
  }
  *out = *value;
  return true;
}

bool Reader::Integer(const Field& field, int64_t low, int64_t high, int* out) {
  int64_t value = 0;
  if (!Integer(field, low, high, &value)) return false;
  *out = static_cast<int>(value);
  return true;
}

bool Reader::Bytes(const Field& field, int64_t low, int64_t high, int64_t* out) {
  struct Unit {
    const char* name;
    int64_t bytes;
  };
  static constexpr std::array<Unit, 7> kUnits = {{{"KiB", 1 << 10},
                                                  {"MiB", 1 << 20},
                                                  {"GiB", 1 << 30},
                                                  {"kB", 1000},
                                                  {"MB", 1000'000},
                                                  {"GB", 1000'000'000},
                                                  {"B", 1}}};
  const std::string* text = Scalar(field, "a size");
  if (text == nullptr) return false;
  std::string_view number = *text;
  int64_t unit = 1;
  for (const Unit& candidate : kUnits) {
    if (!number.ends_with(candidate.name)) continue;
    number.remove_suffix(std::string_view(candidate.name).size());
    unit = candidate.bytes;
    break;
  }
  std::optional<int64_t> value = ParseInteger(Trim(number));
  if (!value || *value < 0) {
    Fault(field, {"bad_size", StrCat("expected a size, got ", ShowValue(*field.node, field.path)),
                  "write one like 4096, 64KiB or 10MB"});
    return false;
  }
  if (*value > high / unit || *value * unit < low) {
    Fault(field,
          {"out_of_range", StrCat("expected a size from ", low, " to ", high, " bytes, got ", *text), ""});
    return false;
  }
  *out = *value * unit;
  return true;
}

// "5m or 5h": what a number without its unit may have meant; only what would be taken is told.
static std::string UnitsThatFit(int64_t number, Millis low, Millis high) {
  std::vector<std::string> fitting;
  for (const char* unit : {"s", "m", "h", "d"}) {
    if (*unit == 'd' && !fitting.empty()) break;  // rarely meant where hours would do
    const std::string text = StrCat(number, unit);
    const Result<Millis> span = ParseMillis(text);
    if (span.ok() && *span >= low && *span <= high) fitting.push_back(text);
  }
  if (fitting.size() < 2) return fitting.empty() ? "" : fitting.front();
  const std::string last = fitting.back();
  fitting.pop_back();
  return StrCat(Join(fitting, ", "), " or ", last);
}

bool Reader::Duration(const Field& field, Millis low, Millis high, Millis* out) {
  const std::string* text = Scalar(field, "a length of time");
  if (text == nullptr) return false;
  if (*text == "0" && low.count <= 0) {  // zero is the same in every unit
    *out = Millis{0};
    return true;
  }
  const auto out_of_range = [&] {
    Fault(field, {"out_of_range",
                  StrCat("expected a length of time from ", FormatMillis(low), " to ", FormatMillis(high),
                         ", got ", *text),
                  ""});
    return false;
  };
  if (const std::optional<int64_t> number = ParseInteger(*text)) {
    const std::string units = UnitsThatFit(*number, low, high);
    if (units.empty()) return out_of_range();
    Fault(field, {"bad_duration", StrCat("expected a length of time with its unit, got ", *text),
                  StrCat("write ", units)});
    return false;
  }
  Result<Millis> span = ParseMillis(*text);
  if (!span.ok()) {
    bool hide = NamesSecret(LastPart(field.path)) || HoldsSecret(*text) || text->size() > kShownBytes;
    Fault(field, {"bad_duration",
                  hide ? StrCat("expected a length of time, got ", ShowValue(*field.node, field.path))
                       : span.error().message(),
                  hide ? "write one like 30s, 5m, 1h30m or 2d, at most 3650d" : ""});
    return false;
  }
  if (*span < low || *span > high) return out_of_range();
  *out = *span;
  return true;
}

bool Reader::TimeOfDay(const Field& field, int32_t* out) {
  const std::string* text = Scalar(field, "a time of day");
  if (text == nullptr) return false;
  Result<int32_t> time = ParseTimeOfDay(*text);
  if (time.ok()) {
    *out = *time;
    return true;
  }
  FaultText fault{"bad_time", StrCat("expected HH:MM, got ", ShowValue(*field.node, field.path)),
                  "write one like \"22:00\""};
  if (std::optional<int64_t> number = ParseInteger(*text); number && *number >= 0 && *number < 1440) {
    // What 22:00 becomes in tools that read it as a number of base 60.
    fault.fix = StrCat("write \"", FormatTimeOfDay(static_cast<int32_t>(*number) * 60),
                       "\" if minutes since midnight were meant");
  } else if (*text == "24:00") {
    fault.fix = "write \"00:00\"; an end at or before its start is on the next day";
  }
  Fault(field, std::move(fault));
  return false;
}

bool Reader::Day(const Field& field, CivilDay* out) {
  const std::string* text = Scalar(field, "a date");
  if (text == nullptr) return false;
  Result<CivilDay> day = ParseDay(*text);
  if (!day.ok()) {
    Fault(field, {"bad_date", StrCat("expected a date that exists, got ", ShowValue(*field.node, field.path)),
                  "write one like 2026-02-28"});
    return false;
  }
  *out = *day;
  return true;
}

bool Reader::Utc(const Field& field, Instant* out) {
  const std::string* text = Scalar(field, "an instant");
  if (text == nullptr) return false;
  Result<Instant> instant = ParseUtc(*text);
  if (!instant.ok()) {
    Fault(field, {"bad_instant",
                  StrCat("expected an instant with its offset, got ", ShowValue(*field.node, field.path)),
                  "write one like 2026-03-01T02:00:00Z"});
    return false;
  }
  *out = *instant;
  return true;
}

bool Reader::TemplateText(const Field& field, Template* out, size_t bytes_max) {
  std::string text;
  if (!Text(field, &text, bytes_max)) return false;
  Result<Template> parsed = Template::Parse(text);
  if (!parsed.ok()) {
    bool hide = NamesSecret(LastPart(field.path)) || HoldsSecret(text);
    Fault(field, {"bad_template", hide ? "this template cannot be read" : parsed.error().message(),
                  hide ? "write {name}; {{ and }} stand for braces" : ""});
    return false;
  }
  *out = *std::move(parsed);
  return true;
}

std::optional<size_t> Reader::ChooseIndex(const Field& field, const std::vector<std::string>& names) {
  const std::string* text = Scalar(field, "a word");
  if (text == nullptr) return std::nullopt;
  auto at = std::find(names.begin(), names.end(), *text);
  if (at != names.end()) return static_cast<size_t>(at - names.begin());
  std::optional<std::string> nearest = Nearest(*text, names);
  Fault(field,
        {"bad_choice", StrCat("expected ", Join(names, ", "), "; got ", ShowValue(*field.node, field.path)),
         nearest ? StrCat("write ", *nearest) : ""});
  return std::nullopt;
}

std::vector<Field> Reader::Items(const Field& field) {
  std::vector<Field> items;
  if (!field) return items;
  if (field.node->kind != YamlNode::Kind::kSequence) {
    items.push_back(field);
    return items;
  }
  if (field.node->items.size() > kEntriesMax) {
    Fault(field, {"too_many",
                  StrCat("this list has ", field.node->items.size(), " entries; at most ", kEntriesMax,
                         " are allowed"),
                  ""});
    return items;
  }
  for (size_t i = 0; i < field.node->items.size(); ++i)
    items.push_back({&field.node->items[i], JoinIndex(field.path, i)});
  return items;
}

std::vector<std::pair<std::string, Field>> Reader::Members(const Field& field) {
  std::vector<std::pair<std::string, Field>> members;
  if (!field || !IsMap(field)) return members;
  if (field.node->members.size() > kEntriesMax) {
    Fault(field, {"too_many",
                  StrCat("this map has ", field.node->members.size(), " entries; at most ", kEntriesMax,
                         " are allowed"),
                  ""});
    return members;
  }
  for (const auto& member : field.node->members) {
    members.emplace_back(member.first.scalar,
                         Field{&member.second, JoinKey(field.path, member.first.scalar)});
  }
  return members;
}

}  // namespace duecourse
