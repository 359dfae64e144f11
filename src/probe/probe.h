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

inline constexpr size_t kProbeMaxBody = 64u << 10;  // of an HTTP answer or a command's output
// Read for rows and checksums, deadline permitting.
inline constexpr int64_t kProbeMaxFileBytes = 8'589'934'592;

// Rendered for one run; holds no template.
struct ProbeRequest {
  uint64_t ticket = 0;
  std::shared_ptr<const RuleBody> rule;     // keeps `condition` alive
  const Precondition* condition = nullptr;  // its type is kFile, kHttp or kCommand
  std::string share_key;                    // everything that decides the answer, rendered
  std::string path;                         // kFile: absolute
  std::string first_line;
  std::string checksum;  // hex, or an absolute path
  std::optional<Instant> modified_after;
  std::string url;  // kHttp
  // Of the condition's headers those that are no secrets. Secret ones, and a secret body, are read by the
  // prober.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::vector<std::string> argv;  // kCommand
  std::string folder;             // of the rule file: a command's working folder
  Millis timeout = Seconds(10);
};

// Codes of answers, stable outside names (docs/reference/preconditions.md says what to do about each):
//   all        met timed_out
//   file       missing too_old unstable content_wrong checksum_missing bad_checksum forbidden not_regular
//              unreadable unresolved too_big
//   http       too_slow redirect_loop too_big dns connect tls forbidden broken bad_call status not_json
//              condition_false secret
//   command    exit killed not_started
struct ProbeAnswer {
  uint64_t ticket = 0;
  PreconditionFact::Answer answer = PreconditionFact::Answer::kCheckFailed;
  std::string code;
  std::string text;  // a clause for people: "in/2025-06-01.csv is not there"; safe to show
  Instant at;        // wall clock when observed
};

class Prober {
 public:
  virtual ~Prober() = default;
  // Never blocks. The answer comes through the sink given at construction, on any thread.
  virtual void Start(ProbeRequest request) = 0;
};
using ProbeSink = std::function<void(ProbeAnswer)>;

struct ProbeOptions {
  std::vector<std::string> file_roots;  // folders that may be read; empty: as probe/file.h says
  std::string settings_folder;          // where duecourse.yaml stands; empty: there is none
  std::string store_id;                 // of the daemon that looks; commands get it as DUECOURSE_STORE_ID
  std::vector<std::string>
      http_allow;     // as AddressGuard reads them; empty: loopback, beside public addresses
  int threads = 4;    // usually, for files; commands have four of their own, HTTP has one for all
  double rate = 1.0;  // of the clock: timeouts are waited for in real time, divided by it
};
std::unique_ptr<Prober> NewProber(ProbeOptions options, const Clock& clock, ProbeSink sink);

}  // namespace duecourse
