// Talking to the daemon over its socket, and finding it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
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
// The same for whoever has less patience.
DaemonAnswer GetWithin(const Args& args, Millis patience, const std::string& path,
                       const std::vector<std::pair<std::string, std::string>>& params);
DaemonAnswer Post(const Args& args, const std::string& path, const Json& body);
// 0, 1, 2 or 3 for what the daemon said; prints its message or, with -o json, its body: on standard output
// where it is fine, else as cli/report.h says.
int Finish(const Args& args, const DaemonAnswer& answer);
// Prints the problem of an answer that is not fine; true where it is fine.
bool Good(const Args& args, const DaemonAnswer& answer, int* exit_code);

// {"by": who asks, "reason": …}: --by, else the login name.
Json WhoAndWhy(const Args& args);

// The errors among what was found in reading.
std::vector<Finding> ErrorsOf(const Loaded& loaded);

// Says, beside the `shown` rows of a list, that the daemon has more than were asked for.
void NoteMore(const Args& args, const DaemonAnswer& answer, size_t shown);

// A table with a header line; columns as wide as needed.
std::string Table(const std::vector<std::vector<std::string>>& rows);

}  // namespace duecourse
