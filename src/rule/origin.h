// Where each value of a rule stands in its file, under its canonical path
// ("trigger.cron", however it was written). Read again from the text, so that
// a set of a hundred thousand rules carries no places.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/yaml.h"

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
  std::map<std::string, YamlPlace> places_;
};

}  // namespace duecourse
