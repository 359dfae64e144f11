// Where each value of a rule stands in its file, under its canonical path
// ("trigger.cron", however it was written). Read again from the text, so that
// a set of a hundred thousand rules carries no places.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "rule/ruleset.h"

namespace duecourse {

class Origins {
 public:
  // Empty where the text does not hold the task.
  static Origins Of(std::string_view text, const std::string& task_id);

  // Nothing (line 0) where the path is not written.
  YamlPlace Find(const std::string& path) const;
  // The place of the path, or of the nearest block around it that is written.
  YamlPlace FindAround(const std::string& path) const;
  bool empty() const { return places_.empty(); }

 private:
  friend void PlaceInText(std::string_view, const std::string&, std::vector<Finding>*);
  static Origins OfRule(const YamlNode& name, const YamlNode& rule);

  std::map<std::string, YamlPlace> places_;
};

// Findings of lint stand at their task's first line; these move each to the key it is about: where it is
// written, else at the block around it, else at the rule. Every file is read once more, rule by rule; one
// that has changed since it was loaded is left alone, as are findings without a task or with a column of
// their own.
void PlaceFindings(const RuleSet& set, std::vector<Finding>* findings);
// The same for one text that is known as `file`.
void PlaceInText(std::string_view text, const std::string& file, std::vector<Finding>* findings);

}  // namespace duecourse
