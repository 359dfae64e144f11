// The command line as one table of verbs: parsed, completed and explained from
// the same rows. Exit codes: 0 fine, 1 a problem was found, 2 usage, 3 refused
// by a decision.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace duecourse {

inline constexpr int kExitFine = 0;
inline constexpr int kExitProblem = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitRefused = 3;
inline constexpr int kExitSignalled = 128;  // and the signal's number: a try that was interrupted

struct OptionSpec {
  const char* name;  // "--force"
  bool takes_value;
  const char* help;
};

class Args {
 public:
  bool Has(const std::string& name) const { return values_.contains(name); }
  std::string Get(const std::string& name, const std::string& fallback = "") const;
  const std::vector<std::string>& positional() const { return positional_; }
  // Positional number n, or empty.
  std::string At(size_t n) const { return n < positional_.size() ? positional_[n] : std::string(); }
  bool json() const { return Get("--output") == "json"; }

  std::map<std::string, std::string> values_;  // filled by ParseArgs
  std::vector<std::string> positional_;
};

struct Verb {
  const char* name;
  const char* usage;  // "TASK [DATE]"
  const char* help;   // one line
  size_t positional_least;
  size_t positional_most;
  std::vector<OptionSpec> options;  // besides the common ones
  int (*run)(const Args& args);
};
const std::vector<Verb>& Verbs();
// --config --rules --data --socket --output, understood by every verb.
const std::vector<OptionSpec>& CommonOptions();

// Runs the program; the whole of main.
int RunCommandLine(int argc, char** argv);

}  // namespace duecourse
