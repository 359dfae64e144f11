// The parts that Lint is made of; internal to this room. Each part looks at one
// of the eight questions and adds findings. Bodies that are alike are kept once
// by the loader, so a part that asks about the body alone works per group and
// its finding stands at the first task, naming how many more share it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rule/lint.h"
#include "rule/occurrence.h"

namespace duecourse {

// How far ahead is looked, and how many occurrences of one rule are tried at most.
inline constexpr Millis kLintHorizon = Days(400);
inline constexpr int kLintTried = 2'000;

struct LintGroup {
  std::vector<const Task*> tasks;  // in the set's order; at least one
  const Task& first() const { return *tasks.front(); }
  const RuleBody& rule() const { return tasks.front()->rule(); }
};

// What a finding says; the place is added by LintContext.
struct LintText {
  const char* id;
  std::string path;
  std::string message;
  std::string fix;
};

struct LintContext {
  LintContext(const RuleSet& a_set, const LintOptions& a_options);

  const RuleSet& set;
  const LintOptions& options;
  std::vector<LintGroup> groups;
  std::vector<Finding> findings;
  std::map<std::string, std::string> tried_keys;  // lint_unique: answers of rules that differ in names only

  // At the first task of the group; the message says how many more it is true of.
  void Add(Finding::Severity severity, const LintGroup& group, LintText text);
  void AddAt(Finding::Severity severity, const Task& task, LintText text);
  std::vector<std::string> TaskIds() const;
};

// A schedule that could be read. (In a set with errors of reading a schedule may be empty.)
bool HasSchedule(const RuleBody& rule);

// The times and names that a key distinguishes.
struct KeyFields {
  bool year = false;  // calendar year
  bool iso_year = false;
  bool month = false;
  bool day = false;  // of the month
  bool day_of_year = false;
  bool week = false;  // ISO week
  bool weekday = false;
  bool hour = false;
  bool minute = false;
  bool second = false;
  bool utc = false;      // some of them are of {scheduled_at}, so they are not the business date's
  bool window = false;   // {window}
  bool instant = false;  // {scheduled_at} whole
  bool event = false;
  bool values = false;  // some for_each name
  // A whole date of whatever calendar.
  bool WholeDate() const;
  bool AnyDate() const { return year || iso_year || month || day || day_of_year || week || weekday; }
  bool AnyTime() const { return AnyDate() || hour || minute || second || window || instant || event; }
};
KeyFields FieldsOf(const Template& key, const RuleBody& rule);
// The key with names filled in and times left open, equal for two keys exactly where they render alike at all
// times. Empty where a name is unknown. A part of a date is a mark and its format letter; what is no date
// (the due time, an event's field) is its name between two whole marks. The marks are control characters,
// which no key may contain.
inline constexpr char kBusinessMark = '\x01';
inline constexpr char kUtcMark = '\x02';
inline constexpr char kWholeMark = '\x03';
std::string KeyPattern(const Template& key, const Task& task, size_t value);
// The pattern of a flag's name without the dates it renders and the separators beside them, so that who sets it
// and who asks for it meet: "etl.finished_{business_date}" is "etl.finished".
std::string UndatedName(const std::string& pattern);
bool RendersDate(const std::string& pattern);

void LintUnsupported(LintContext* context);   // keys of a later version
void LintTemplates(LintContext* context);     // names in keys, arguments, paths
void LintKeys(LintContext* context);          // 3, 4: from the key's fields
void LintSharedKeys(LintContext* context);    // 3: between tasks and values
void LintUniqueKeys(LintContext* context);    // 3: by trying (thorough)
void LintWritten(LintContext* context);       // 3, 6: what an elaborate rule must write
void LintSources(LintContext* context);       // 2: upstream tasks and flags, nothing waits for itself
void LintUpstreamDays(LintContext* context);  // 2: an upstream that does not run that day (thorough)
void LintSchedules(LintContext* context);     // days, windows, what is past (thorough)
void LintClockChanges(LintContext* context);  // DST (thorough)
void LintCalendars(LintContext* context);     // years that a calendar lacks (thorough)
void LintRetries(LintContext* context);       // 5, 7 (thorough)
void LintPeople(LintContext* context);        // 6, 8, hints (thorough)

}  // namespace duecourse
