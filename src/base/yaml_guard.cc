#include "base/yaml_guard.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"

namespace duecourse {
namespace {

void CheckCharacters(std::string_view text, YamlFaults& faults) {
  int line = 1;
  int column = 1;
  while (!text.empty() && faults.empty()) {
    Utf8Character next = NextUtf8(text);
    if (!next.valid) {
      faults.Add({line, column}, "these bytes are not UTF-8; save the file as UTF-8");
    } else if (IsYamlForbidden(next.code)) {
      faults.Add({line, column},
                 StrCat("the invisible character ", CodePoint(next.code), " may not stand here; delete it"));
    }
    ++column;
    if (next.code == '\n') {
      ++line;
      column = 1;
    }
    text.remove_prefix(next.length);
  }
}

}  // namespace

void YamlFaults::Add(YamlPlace place, std::string message) {
  if (list_.size() < kYamlMaxFaults) list_.push_back({place, std::move(message)});
}

std::vector<YamlFault> YamlFaults::Take() {
  auto before = [](const YamlFault& a, const YamlFault& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  };
  std::stable_sort(list_.begin(), list_.end(), before);
  return std::move(list_);
}

YamlLines::YamlLines(std::string_view text) : text_(text) {
  starts_.push_back(0);
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    starts_.push_back(at + 1);
  }
}

std::string_view YamlLines::Line(size_t index) const {
  if (index >= starts_.size()) return {};
  size_t end = index + 1 < starts_.size() ? starts_[index + 1] - 1 : text_.size();
  return text_.substr(starts_[index], end - starts_[index]);
}

std::string_view YamlLines::From(size_t line, size_t column) const {
  if (line >= starts_.size()) return {};
  return text_.substr(std::min(text_.size(), starts_[line] + column));
}

YamlPlace YamlLines::Place(size_t line, size_t column) {
  if (line != line_ || column < bytes_) {
    line_ = line;
    bytes_ = 0;
    characters_ = 0;
  }
  std::string_view whole = Line(line);
  for (size_t end = std::min(column, whole.size()); bytes_ < end; ++bytes_) {
    bool continues = (static_cast<unsigned char>(whole[bytes_]) & 0xC0) == 0x80;
    if (!continues) ++characters_;
  }
  return {static_cast<int>(line) + 1, static_cast<int>(characters_) + 1};
}

std::string CodePoint(char32_t code) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "U+%04X", static_cast<unsigned>(code));
  return buffer.data();
}

bool IsYamlForbidden(char32_t code) {
  return IsControlCharacter(code) && code != '\n' && code != '\t' && code != '\r';
}

void CheckYamlBytes(std::string_view text, YamlFaults& faults) {
  if (text.size() > kYamlMaxBytes) {
    return faults.Add({},
                      StrCat("the text has ", text.size(), " bytes; at most ", kYamlMaxBytes, " are read"));
  }
  bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
               (text.size() >= 2 && (text[0] == '\0') != (text[1] == '\0'));
  if (utf16) return faults.Add({1, 1}, "the text is UTF-16 or UTF-32; save the file as UTF-8");
  CheckCharacters(text, faults);
}

std::string YamlSyntaxMessage(const std::string& raw, std::string_view line, std::string_view line_before) {
  auto tab_indented = [](std::string_view l) {
    size_t text_from = l.find_first_not_of(" \t\r");
    return text_from != std::string_view::npos && l.substr(0, text_from).find('\t') != std::string_view::npos;
  };
  if (tab_indented(line) || tab_indented(line_before))
    return "a tab stands in the indentation; YAML takes spaces only";
  struct Row {
    std::string_view raw;
    std::string_view says;
  };
  constexpr std::string_view kMisplaced =
      "this line does not belong to the block above it; look at the indentation, and at a missing \":\" or "
      "\"- \"";
  constexpr std::array<Row, 11> kRows = {{
      {"end of map not found", kMisplaced},
      {"end of sequence not found", kMisplaced},
      {"illegal map value", "a \":\" with a value may not stand here; quote the text if it belongs to it"},
      {"the referenced anchor is not defined",
       "this alias names an anchor (&name) that is not above it; a text that begins with *, such as a cron "
       "expression, must stand in quotes"},
      {"alias not found after *",
       "a text that begins with * must stand in quotes, such as cron: \"* * * * *\" (bare, it is an alias)"},
      {"end of sequence flow not found", "a \"[\" has no \"]\""},
      {"end of map flow not found", "a \"{\" has no \"}\""},
      {"illegal flow end", "this bracket closes nothing"},
      {"illegal EOF in scalar", kYamlOpenQuote},
      {"illegal block entry", "a \"- \" may not stand here; it belongs at the front of a line"},
      {"unknown token", "no value may begin with this character; quote the text"},
  }};
  for (const Row& row : kRows) {
    if (raw.find(row.raw) != std::string::npos) return std::string(row.says);
  }
  return raw;
}

bool YamlQuoteIsOpen(std::string_view text) {
  if (text.starts_with('&')) {
    text.remove_prefix(std::min(text.size(), text.find_first_of(" \t\r\n")));
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
  }
  if (text.empty() || (text.front() != '"' && text.front() != '\'')) return false;
  const char quote = text.front();
  for (size_t i = 1; i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!doubled) return false;
      ++i;
    }
  }
  return true;
}

size_t YamlCost(const YamlNode& node) {
  size_t cost = sizeof(YamlNode) + node.scalar.size();
  for (const YamlNode& item : node.items) cost += YamlCost(item);
  for (const auto& member : node.members) cost += YamlCost(member.first) + YamlCost(member.second);
  return cost;
}

size_t YamlCount(const YamlNode& node) {
  size_t count = 1;
  for (const YamlNode& item : node.items) count += YamlCount(item);
  for (const auto& member : node.members) count += YamlCount(member.first) + YamlCount(member.second);
  return count;
}

int YamlHeight(const YamlNode& node) {
  int height = 0;
  for (const YamlNode& item : node.items) height = std::max(height, YamlHeight(item));
  for (const auto& member : node.members) height = std::max(height, YamlHeight(member.second));
  return height + 1;
}

}  // namespace duecourse
