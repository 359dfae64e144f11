// duecourse.yaml, from its text to the model. Faults go to the list, all of them.
#pragma once

#include <functional>
#include <string>

#include "rule/finding.h"

namespace duecourse {

struct ConfigSource {
  std::string path;  // stands in the findings; relative names in it count from its folder
  std::string text;
  std::function<Result<std::string>(const std::string& path)> read_file;  // for .ics calendars
};
ServerConfig ParseConfig(const ConfigSource& source, FindingList& findings);

}  // namespace duecourse
