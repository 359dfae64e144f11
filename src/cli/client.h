// Talking to the daemon over its socket, and finding it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/args.h"
#include "rule/ruleset.h"

namespace duecourse {

// Where things are, from options and settings. Only the settings' paths are read; rules are not.
struct Places {
  LoadRequest load;
  std::string data;    // absolute
  std::string socket;  // absolute
};
Places FindPlaces(const Args& args);

struct DaemonAnswer {
  int status = 0;  // 0: the daemon was not reached
  Json body;
  std::string raw;      // as it came
  std::string message;  // for people
};
DaemonAnswer Get(const Args& args, const std::string& path,
                 const std::vector<std::pair<std::string, std::string>>& params = {});
DaemonAnswer Post(const Args& args, const std::string& path, const Json& body);
// 0, 1, 2 or 3 for what the daemon said; prints its message (stderr unless fine) or, with -o json, its body.
int Finish(const Args& args, const DaemonAnswer& answer);
// Prints the problem of an answer that is not fine; true where it is fine.
bool Good(const Args& args, const DaemonAnswer& answer, int* exit_code);

// {"by": who asks, "reason": …}: --by, else the login name.
Json WhoAndWhy(const Args& args);

// Loads rules and prints every error of reading; null where there are any.
Loaded LoadFor(const Args& args);

// A table with a header line; columns as wide as needed.
std::string Table(const std::vector<std::vector<std::string>>& rows);

}  // namespace duecourse
