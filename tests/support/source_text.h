// C++ source as the tidy test sees it: comments and the contents of literals blanked out, so that words are
// looked for only where they are code, and functions found by counting braces. No compiler: it understands
// the style of this repository, not all of C++.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace duecourse {

struct SourceText {
  std::string path;  // from the repository's root
  std::string text;
  std::string code;           // same length and lines; comments, strings and characters are spaces
  std::string with_literals;  // same, but literals stay; comments are spaces
};

namespace source_text_internal {

inline bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the piece that begins at `at` (a comment or literal) ends; `at` itself where none begins there.
inline size_t CommentEnd(std::string_view text, size_t at) {
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text.substr(at, 2) == "/*") {
    size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  return at;
}

inline size_t LiteralEnd(std::string_view text, size_t at) {
  bool word_before = at > 0 && IsWordChar(text[at - 1]);
  if (text.substr(at, 2) == "R\"" && !word_before) {
    size_t open = text.find('(', at);
    if (open == std::string_view::npos) return at;
    std::string close = ")" + std::string(text.substr(at + 2, open - at - 2)) + "\"";
    size_t end = text.find(close, open);
    return end == std::string_view::npos ? text.size() : end + close.size();
  }
  char quote = text[at];
  if (quote != '"' && quote != '\'') return at;
  if (quote == '\'' && word_before) return at;  // a digit separator
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

inline void Blank(std::string& text, size_t from, size_t to) {
  for (size_t i = from; i < to && i < text.size(); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

}  // namespace source_text_internal

inline SourceText ReadSource(std::string path, std::string text) {
  SourceText out{std::move(path), text, text, text};
  for (size_t at = 0; at < text.size();) {
    size_t end = source_text_internal::CommentEnd(text, at);
    if (end > at) {
      source_text_internal::Blank(out.with_literals, at, end);
      source_text_internal::Blank(out.code, at, end);
    } else {
      end = source_text_internal::LiteralEnd(text, at);
      // The quotes stay, so that an argument is still seen to be there.
      if (end > at) source_text_internal::Blank(out.code, at + 1, end - 1);
    }
    at = std::max(end, at + 1);
  }
  return out;
}

inline int LineOf(std::string_view text, size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

struct FoundFunction {
  std::string name;
  int line = 0;        // of the opening brace
  int lines = 0;       // from the opening to the closing brace, both counted
  int parameters = 0;  // -1: not known (the rest of a constructor's initialisers)
};

namespace source_text_internal {

enum class Scope { kOuter, kFunction, kOther };

inline std::string_view TrimLeft(std::string_view text) {
  size_t from = text.find_first_not_of(" \t\r\n");
  return from == std::string_view::npos ? std::string_view() : text.substr(from);
}

// Past `template <...>`, so that "class" in it is not taken for a class.
inline std::string_view SkipTemplate(std::string_view head) {
  head = TrimLeft(head);
  while (head.starts_with("template")) {
    size_t at = head.find('<');
    int depth = 0;
    for (; at < head.size(); ++at) {
      if (head[at] == '<') ++depth;
      if (head[at] == '>' && --depth == 0) break;
    }
    head = TrimLeft(head.substr(std::min(head.size(), at + 1)));
  }
  return head;
}

// Preprocessor lines belong to no statement.
inline std::string WithoutDirectives(std::string_view head) {
  std::string out;
  while (!head.empty()) {
    size_t end = std::min(head.find('\n'), head.size() - 1) + 1;
    std::string_view line = head.substr(0, end);
    if (!TrimLeft(line).starts_with('#')) out += line;
    head.remove_prefix(end);
  }
  return out;
}

inline Scope ScopeOf(std::string_view head) {
  for (std::string_view word : {"namespace", "class ", "struct ", "union ", "enum ", "extern", "export "}) {
    if (head.starts_with(word) && !(word == "struct " && head.find(") {") != std::string_view::npos))
      return Scope::kOuter;
  }
  size_t open = head.find('(');
  if (open == std::string_view::npos) return Scope::kOther;
  size_t equals = head.find('=');
  bool initialises = equals < open && head.find("operator") == std::string_view::npos;
  return initialises ? Scope::kOther : Scope::kFunction;
}

inline int CountParameters(std::string_view head) {
  if (head.starts_with(',')) return -1;
  size_t open = head.find('(');
  if (head.substr(0, open).ends_with("operator")) open = head.find('(', open + 1);
  if (open == std::string_view::npos) return 0;
  int depth = 0;
  int commas = 0;
  bool any = false;
  for (size_t i = open; i < head.size(); ++i) {
    char c = head[i];
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
    if (depth == 0) break;
    if (c == ',' && depth == 1) ++commas;
    if (i > open && !std::isspace(static_cast<unsigned char>(c))) any = true;
  }
  return any ? commas + 1 : 0;
}

inline std::string NameOf(std::string_view head) {
  std::string_view before = head.substr(0, head.find('('));
  while (!before.empty() && !IsWordChar(before.back())) before.remove_suffix(1);
  size_t from = before.size();
  while (from > 0 && (IsWordChar(before[from - 1]) || before[from - 1] == ':' || before[from - 1] == '~'))
    --from;
  std::string name(before.substr(from));
  if (name.starts_with("TEST")) name = std::string(head.substr(0, head.find(')') + 1));
  return name;
}

}  // namespace source_text_internal

inline std::vector<FoundFunction> FindFunctions(const SourceText& source) {
  namespace in = source_text_internal;
  std::vector<FoundFunction> found;
  std::string_view code = source.code;
  std::vector<in::Scope> scopes;
  size_t head_from = 0;
  size_t function_open = 0;
  int inside = 0;  // braces open inside a function, its own included
  int parens = 0;  // a brace inside parentheses opens no scope of ours
  std::string head;
  for (size_t i = 0; i < code.size(); ++i) {
    char c = code[i];
    if (inside > 0) {
      if (c == '{') ++inside;
      if (c == '}' && --inside == 0) {
        int first = LineOf(code, function_open);
        found.push_back({in::NameOf(head), first, LineOf(code, i) - first + 1, in::CountParameters(head)});
        head_from = i + 1;
      }
      continue;
    }
    if (c == '(') ++parens;
    if (c == ')') --parens;
    if (parens > 0) continue;
    if (c == '{') {
      head = in::WithoutDirectives(code.substr(head_from, i - head_from));
      head = std::string(in::SkipTemplate(head));
      in::Scope scope = in::ScopeOf(head);
      if (scope == in::Scope::kFunction) {
        inside = 1;
        function_open = i;
      } else {
        scopes.push_back(scope);
      }
      head_from = i + 1;
    } else if (c == '}') {
      if (!scopes.empty()) scopes.pop_back();
      head_from = i + 1;
    } else if (c == ';') {
      head_from = i + 1;
    } else if (c == ':' &&
               code.substr(head_from, i - head_from).find_first_not_of(" \t\n") != std::string_view::npos) {
      // An access label is no part of what follows it.
      std::string_view label = in::TrimLeft(code.substr(head_from, i - head_from));
      if (label == "public" || label == "private" || label == "protected") head_from = i + 1;
    }
  }
  return found;
}

}  // namespace duecourse
