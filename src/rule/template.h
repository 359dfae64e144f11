// Templates: substitution only; no logic, nesting or functions. "{name}" or
// "{name:%Y%m%d}"; "{{" and "}}" are braces. An unknown or empty value is an
// error when rendered, never an empty string in a key. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "time/civil.h"
#include "time/zone.h"

namespace duecourse {

class Template {
 public:
  struct Piece {
    std::string literal;   // text before the variable (or the tail, where name is empty)
    std::string name;
    std::string format;    // after ':', may be empty
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  Template() = default;
  // Errors: an unclosed or stray brace, an empty name, a bad format; the position in the text is named.
  static Result<Template> Parse(std::string_view text);

  const std::string& text() const { return text_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  bool empty() const { return text_.empty(); }
  bool Uses(std::string_view name) const;
  bool constant() const;  // no variable at all
  friend bool operator==(const Template& a, const Template& b) { return a.text_ == b.text_; }

 private:
  std::string text_;
  std::vector<Piece> pieces_;
};

// What a template may name. Built from an occurrence by rule/occurrence.h.
struct TemplateScope {
  std::string task;
  CivilDay business_date;
  Instant scheduled_at;             // {scheduled_at}, {window}: the planned due instant
  CivilTime due_local;              // of the due instant in the rule's zone
  bool second_pass = false;         // {window} ends in b
  std::string event_id;             // empty: no event
  const std::vector<std::pair<std::string, std::string>>* vars = nullptr;
  const std::vector<std::pair<std::string, std::string>>* value = nullptr;  // for_each names of this occurrence
  std::string path;                 // {path} in `checksum`
};

// The rendered text. Errors name the variable: unknown (with the nearest known name) or empty.
Result<std::string> Render(const Template& text, const TemplateScope& scope);
// The names that Render knows, besides vars and for_each names: task business_date date target_date window scheduled_at
// event_id path iso_week business_month run_id... each with one line for the docs.
const std::vector<std::pair<std::string, std::string>>& TemplateNames();

}  // namespace duecourse
