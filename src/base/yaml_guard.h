// The parts of the YAML reader that need no library: what is refused before a byte of the text is parsed,
// where things stand, and what a tree weighs. Used by yaml.cc alone; one thread, one reading.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"

namespace duecourse {

// Faults in the order of the text, and no more than a person can use.
class YamlFaults {
 public:
  void Add(YamlPlace place, std::string message);
  std::vector<YamlFault> Take();
  bool empty() const { return list_.empty(); }

 private:
  std::vector<YamlFault> list_;
};

// Line starts, to turn byte columns into characters and to look at a line again for an error's words. The
// text must outlive this.
class YamlLines {
 public:
  explicit YamlLines(std::string_view text);
  std::string_view Line(size_t index) const;  // from 0, without its end; empty where there is none
  std::string_view From(size_t line, size_t column) const;  // the text from there to its end
  // From a line and a byte column, both from 0. Calls come in the order of the text, so that a long line
  // stays cheap.
  YamlPlace Place(size_t line, size_t column);

 private:
  std::string_view text_;
  std::vector<size_t> starts_;
  size_t line_ = 0;
  size_t bytes_ = 0;
  size_t characters_ = 0;
};

// What has to hold before the library sees the text: its size, UTF-8, no invisible characters.
void CheckYamlBytes(std::string_view text, YamlFaults& faults);
// Characters that a value may not hold either when they are written as escapes ("\x1b").
bool IsYamlForbidden(char32_t code);
std::string CodePoint(char32_t code);  // "U+001B"
inline constexpr std::string_view kYamlOpenQuote = "a quote is opened here or above and never closed";
// The library's words for a fault say what its scanner missed; these say what to look at.
std::string YamlSyntaxMessage(const std::string& raw, std::string_view line, std::string_view line_before);

// The text begins with a quoted scalar, perhaps behind an anchor, whose closing quote is missing. The library
// takes such a scalar at the end of a text for complete.
bool YamlQuoteIsOpen(std::string_view text);

size_t YamlCost(const YamlNode& node);   // bytes in memory, roughly
size_t YamlCount(const YamlNode& node);  // nodes, itself included
int YamlHeight(const YamlNode& node);    // levels, itself included

}  // namespace duecourse
