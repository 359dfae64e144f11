// Templates: substitution only; no logic, nesting or functions. "{name}" or
// "{name:%Y%m%d}"; "{{" and "}}" are braces. An unknown or empty value is an
// error when rendered, never an empty string in a key. Pure.
//
// Names are looked up in this order: the built-in ones (TemplateNames), the
// for_each names of the occurrence, vars. {event.field} asks the event. Only
// dates take a format, the one of FormatCivil: those of the business date
// without a time of day, {scheduled_at} with one. {scheduled_at} is UTC with
// or without a format, so that it never repeats when clocks are set back.
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
    std::string literal;  // text before the variable (or the tail, where name is empty)
    std::string name;
    std::string format;  // after ':', may be empty
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
  Instant scheduled_at;      // {scheduled_at}, {window}: the planned due instant
  CivilTime due_local;       // of the due instant in the rule's zone
  bool second_pass = false;  // {window} ends in b
  std::string event_id;      // empty: no event
  const std::vector<std::pair<std::string, std::string>>* event = nullptr;  // fields of the event
  const std::vector<std::pair<std::string, std::string>>* vars = nullptr;
  const std::vector<std::pair<std::string, std::string>>* value =
      nullptr;       // for_each names of this occurrence
  std::string path;  // {path} in `checksum`
};

// The rendered text. Errors name the variable: unknown (with the nearest known name) or empty.
Result<std::string> Render(const Template& text, const TemplateScope& scope);
// The value of one name, by the same rules; for those that look at a template piece by piece.
Result<std::string> RenderPiece(const Template::Piece& piece, const TemplateScope& scope);
// The names that Render knows, besides vars, for_each names and event.*, each with one line for the docs.
const std::vector<std::pair<std::string, std::string>>& TemplateNames();
bool IsTemplateName(std::string_view name);
// Names that differ from one attempt to the next (run_id, attempt, now, random...). They are no template
// names: a key with one would never meet its repetition. The handler has them in its environment.
bool NamesOneAttempt(std::string_view name);

}  // namespace duecourse
