#include "base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"

namespace duecourse {
namespace {

const Json& NullJson() {
  static const Json null;
  return null;
}

// Builds our value from the library's events. A container is finished on the stack and then moved into its
// parent.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Put(Json()); }
  bool boolean(bool v) override { return Put(Json(v)); }
  bool number_integer(number_integer_t v) override { return Put(Json(int64_t{v})); }
  // Beyond int64 a whole number is kept as the nearest double.
  bool number_unsigned(number_unsigned_t v) override {
    if (v > static_cast<uint64_t>(INT64_MAX)) return Put(Json(static_cast<double>(v)));
    return Put(Json(static_cast<int64_t>(v)));
  }
  bool number_float(number_float_t v, const string_t&) override { return Put(Json(v)); }
  bool string(string_t& v) override { return Put(Json(std::move(v))); }
  bool binary(binary_t&) override { return Fail("binary data"); }
  bool key(string_t& v) override {
    stack_.back().name = std::move(v);
    return true;
  }
  bool start_object(std::size_t) override { return Open(true); }
  bool start_array(std::size_t) override { return Open(false); }
  bool end_object() override {
    Frame frame = Close();
    if (const std::string* name = DuplicateName(frame.members); name != nullptr) {
      return Fail(
          StrCat("the name \"", ShowBytes(name->substr(0, 100), false), "\" appears twice in one object"));
    }
    return Put(Json(std::move(frame.members)));
  }
  bool end_array() override { return Put(Json(Close().items)); }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception&) override {
    constexpr size_t kShown = 40;
    size_t cut = token.size() > kShown ? token.size() - kShown : 0;
    return Fail(StrCat("it stops being JSON at byte ", position, ", near \"",
                       ShowBytes(token.substr(cut), false), "\""));
  }

  Json Take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }

 private:
  struct Frame {
    bool object = false;
    std::string name;  // of the member whose value comes next
    Json::Object members;
    Json::Array items;
  };

  bool Fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;
  }
  bool Open(bool object) {
    if (stack_.size() >= static_cast<size_t>(kJsonMaxDepth)) {
      return Fail(StrCat("it is nested deeper than ", kJsonMaxDepth, " levels"));
    }
    stack_.emplace_back();
    stack_.back().object = object;
    return true;
  }
  Frame Close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    return frame;
  }
  bool Put(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (stack_.back().object) {
      stack_.back().members.emplace_back(std::move(stack_.back().name), std::move(value));
    } else {
      stack_.back().items.push_back(std::move(value));
    }
    return true;
  }
  static const std::string* DuplicateName(const Json::Object& members) {
    constexpr size_t kFew = 8;
    if (members.size() <= kFew) {
      for (size_t i = 0; i < members.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
          if (members[i].first == members[j].first) return &members[i].first;
        }
      }
      return nullptr;
    }
    std::vector<const std::string*> names;
    names.reserve(members.size());
    for (const Json::Member& member : members) names.push_back(&member.first);
    std::sort(names.begin(), names.end(), [](const std::string* a, const std::string* b) { return *a < *b; });
    auto same = [](const std::string* a, const std::string* b) { return *a == *b; };
    auto found = std::adjacent_find(names.begin(), names.end(), same);
    return found == names.end() ? nullptr : *found;
  }

  std::vector<Frame> stack_;
  Json root_;
  std::string problem_;
};

void AppendUnicodeEscape(std::string& out, char32_t code) {
  std::array<char, 8> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "\\u%04x", static_cast<unsigned>(code));
  out += buffer.data();
}

void AppendEscaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      AppendUnicodeEscape(out, static_cast<unsigned char>(c));
  }
}

// Besides what JSON asks for, characters that would steer a terminal or reorder text are escaped: logs are
// read there.
void AppendString(std::string& out, std::string_view text) {
  out += '"';
  size_t plain_from = 0;
  size_t i = 0;
  auto flush = [&] { out.append(text, plain_from, i - plain_from); };
  while (i < text.size()) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\') {
      ++i;
      continue;
    }
    size_t length = 1;
    if (byte < 0x80) {
      flush();
      AppendEscaped(out, text[i]);
    } else {
      Utf8Character next = NextUtf8(text.substr(i));
      length = next.length;
      if (next.valid && !IsControlCharacter(next.code)) {
        i += length;
        continue;
      }
      flush();
      if (next.valid) {
        AppendUnicodeEscape(out, next.code);
      } else {
        out += "\xEF\xBF\xBD";
      }
    }
    i += length;
    plain_from = i;
  }
  flush();
  out += '"';
}

void AppendDouble(std::string& out, double value) {
  if (!std::isfinite(value)) {  // JSON has no spelling for it
    out += "null";
    return;
  }
  std::array<char, 40> buffer{};
  std::to_chars_result end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string_view digits(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));
  out += digits;
  // So that it is read back as a double and not as an integer.
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void AppendInteger(std::string& out, int64_t value) {
  std::array<char, 24> buffer{};
  std::to_chars_result end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  out.append(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));
}

void NewLine(std::string& out, int indent) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent) * 2, ' ');
}

// indent < 0: everything on one line.
void Append(std::string& out, const Json& value, int indent) {
  const int inner = indent < 0 ? -1 : indent + 1;
  if (value.is_object()) {
    out += '{';
    bool first = true;
    for (const Json::Member& member : value.AsObject()) {
      if (!first) out += ',';
      first = false;
      NewLine(out, inner);
      AppendString(out, member.first);
      out += indent < 0 ? ":" : ": ";
      Append(out, member.second, inner);
    }
    if (!first) NewLine(out, indent);
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    bool first = true;
    for (const Json& item : value.AsArray()) {
      if (!first) out += ',';
      first = false;
      NewLine(out, inner);
      Append(out, item, inner);
    }
    if (!first) NewLine(out, indent);
    out += ']';
  } else if (value.is_string()) {
    AppendString(out, value.AsString());
  } else if (value.is_integer()) {
    AppendInteger(out, value.AsInteger());
  } else if (value.is_number()) {
    AppendDouble(out, value.AsDouble());
  } else if (value.is_bool()) {
    out += value.AsBool() ? "true" : "false";
  } else {
    out += "null";
  }
}

// "~1" is "/", "~0" is "~"; nothing where another sign follows the tilde.
std::optional<std::string> PointerToken(std::string_view token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out += token[i];
      continue;
    }
    ++i;
    if (i == token.size() || (token[i] != '0' && token[i] != '1')) return std::nullopt;
    out += token[i] == '0' ? '~' : '/';
  }
  return out;
}

}  // namespace

bool Json::AsBool(bool fallback) const {
  const bool* v = std::get_if<bool>(&value_);
  return v != nullptr ? *v : fallback;
}

int64_t Json::AsInteger(int64_t fallback) const {
  const int64_t* v = std::get_if<int64_t>(&value_);
  return v != nullptr ? *v : fallback;
}

double Json::AsDouble(double fallback) const {
  if (const int64_t* v = std::get_if<int64_t>(&value_); v != nullptr) return static_cast<double>(*v);
  const double* v = std::get_if<double>(&value_);
  return v != nullptr ? *v : fallback;
}

const std::string& Json::AsString() const {
  static const std::string empty;
  const std::string* v = std::get_if<std::string>(&value_);
  return v != nullptr ? *v : empty;
}

const Json::Array& Json::AsArray() const {
  static const Array empty;
  const Array* v = std::get_if<Array>(&value_);
  return v != nullptr ? *v : empty;
}

const Json::Object& Json::AsObject() const {
  static const Object empty;
  const Object* v = std::get_if<Object>(&value_);
  return v != nullptr ? *v : empty;
}

const Json& Json::Get(std::string_view name) const {
  for (const Member& member : AsObject()) {
    if (member.first == name) return member.second;
  }
  return NullJson();
}

bool Json::Has(std::string_view name) const {
  const Object& members = AsObject();
  return std::any_of(members.begin(), members.end(), [&](const Member& m) { return m.first == name; });
}

Json& Json::Set(std::string_view name, Json value) {
  if (is_null()) value_ = Object{};
  CHECK(is_object());
  auto& members = std::get<Object>(value_);
  for (Member& member : members) {
    if (member.first == name) {
      member.second = std::move(value);
      return *this;
    }
  }
  members.emplace_back(std::string(name), std::move(value));
  return *this;
}

Json& Json::Add(Json value) {
  if (is_null()) value_ = Array{};
  CHECK(is_array());
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

const Json* Json::Pointer(std::string_view pointer) const {
  if (pointer.empty()) return this;
  if (pointer.front() != '/') return nullptr;
  const Json* at = this;
  for (std::string_view part : Split(pointer.substr(1), '/')) {
    std::optional<std::string> token = PointerToken(part);
    if (!token) return nullptr;
    if (at->is_object()) {
      if (!at->Has(*token)) return nullptr;
      at = &at->Get(*token);
    } else {
      std::optional<int64_t> index = ParseInteger(*token);
      const Array& items = at->AsArray();
      if (!index || *index < 0 || static_cast<size_t>(*index) >= items.size()) return nullptr;
      at = &items[static_cast<size_t>(*index)];
    }
  }
  return at;
}

std::string Json::Dump() const {
  std::string out;
  Append(out, *this, -1);
  return out;
}

std::string Json::DumpPretty() const {
  std::string out;
  Append(out, *this, 0);
  return out;
}

Result<Json> Json::Parse(std::string_view text) {
  if (Trim(text).empty()) return Error("this is not valid JSON: it is empty");
  Reader reader;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) {
    return Error("this is not valid JSON: " + (reader.problem().empty() ? "unknown" : reader.problem()));
  }
  return reader.Take();
}

}  // namespace duecourse
