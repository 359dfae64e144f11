// Probes observe preconditions off the engine's thread: files, HTTP answers,
// commands. (Flags and other tasks' runs are known to the engine itself.) Each
// has a total deadline, a size cap and its own words for each way of failing; a
// check that failed is never a yes. One observation at a time for the same
// thing: requests that share `share_key` while one is under way get its answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "decide/facts.h"

namespace duecourse {

inline constexpr size_t kProbeMaxBody = 64u << 10;     // of an HTTP answer or a command's output
inline constexpr int64_t kProbeMaxFileBytes = int64_t{8} << 30;  // read for rows and checksums, deadline permitting

// Rendered for one run; holds no template.
struct ProbeRequest {
  uint64_t ticket = 0;
  std::shared_ptr<const RuleBody> rule;    // keeps `condition` alive
  const Precondition* condition = nullptr; // its type is kFile, kHttp or kCommand
  std::string share_key;                   // everything that decides the answer, rendered
  std::string path;                        // kFile: absolute
  std::string first_line;
  std::string checksum;                    // hex, or an absolute path
  std::optional<Instant> modified_after;
  std::string url;                         // kHttp
  std::vector<std::pair<std::string, std::string>> headers;  // secrets are resolved by the prober, see `secrets`
  std::string body;
  std::vector<std::string> argv;           // kCommand
  std::string folder;                      // of the rule file: a command's working folder
  Millis timeout = Seconds(10);
};

struct ProbeAnswer {
  uint64_t ticket = 0;
  PreconditionFact::Answer answer = PreconditionFact::Answer::kCheckFailed;
  std::string code;      // "met" "missing" "too_old" "unstable" "content_wrong" "timed_out" "too_slow" "redirect_loop" "too_big" "dns" "status" "condition_false" "exit" "unreadable" "connect"…
  std::string text;      // a clause for people: "in/2025-06-01.csv is not there"
  Instant at;            // wall clock when observed
};

class Prober {
 public:
  virtual ~Prober() = default;
  // Never blocks. The answer comes through the sink given at construction, on any thread.
  virtual void Start(ProbeRequest request) = 0;
};
using ProbeSink = std::function<void(ProbeAnswer)>;

struct ProbeOptions {
  std::vector<std::string> file_roots;   // folders that may be read; empty: any
  std::vector<std::string> http_allow;
  int threads = 4;                       // for files; HTTP has one thread for all
};
std::unique_ptr<Prober> NewProber(ProbeOptions options, const Clock& clock, ProbeSink sink);

}  // namespace duecourse
