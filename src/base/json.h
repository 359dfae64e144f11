// A JSON value of our own, so that no header of ours pulls in a library.
// Objects keep the order in which members were added. Reading never throws and
// refuses invalid UTF-8, duplicate names and nesting beyond kJsonMaxDepth;
// writing makes any bytes valid (invalid UTF-8 becomes U+FFFD).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "base/result.h"

namespace duecourse {

inline constexpr int kJsonMaxDepth = 64;

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;  // null
  Json(bool v) : value_(v) {}                                // NOLINT(google-explicit-constructor)
  Json(int v) : value_(static_cast<int64_t>(v)) {}           // NOLINT(google-explicit-constructor)
  Json(int64_t v) : value_(v) {}                             // NOLINT(google-explicit-constructor)
  Json(size_t v) : value_(static_cast<int64_t>(v)) {}        // NOLINT(google-explicit-constructor)
  Json(double v) : value_(v) {}                              // NOLINT(google-explicit-constructor)
  Json(const char* v) : value_(std::string(v)) {}            // NOLINT(google-explicit-constructor)
  Json(std::string_view v) : value_(std::string(v)) {}       // NOLINT(google-explicit-constructor)
  Json(std::string v) : value_(std::move(v)) {}              // NOLINT(google-explicit-constructor)
  Json(Array v) : value_(std::move(v)) {}                    // NOLINT(google-explicit-constructor)
  Json(Object v) : value_(std::move(v)) {}                   // NOLINT(google-explicit-constructor)
  static Json MakeArray() { return Json(Array{}); }
  static Json MakeObject() { return Json(Object{}); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // The value, or the fallback where the kind is another.
  bool AsBool(bool fallback = false) const;
  int64_t AsInteger(int64_t fallback = 0) const;
  double AsDouble(double fallback = 0) const;
  const std::string& AsString() const;  // empty where it is no string
  const Array& AsArray() const;         // empty where it is no array
  const Object& AsObject() const;       // empty where it is no object

  // Object access. Get answers a null value where the member is missing or this is no object.
  const Json& Get(std::string_view name) const;
  bool Has(std::string_view name) const;
  Json& Set(std::string_view name, Json value);  // replaces; turns null into an object; returns *this
  Json& Add(Json value);                         // appends; turns null into an array; returns *this
  // RFC 6901 ("/status/code", "" is the whole), or nullptr.
  const Json* Pointer(std::string_view pointer) const;

  std::string Dump() const;                 // one line
  std::string DumpPretty() const;           // two spaces a level
  static Result<Json> Parse(std::string_view text);

  friend bool operator==(const Json&, const Json&) = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

}  // namespace duecourse
