// The daemon's log: JSON lines, written as they come, so that nothing is lost in
// a buffer at kill -9. Values are escaped (no raw control byte reaches the file)
// and known secrets are replaced by ***. Any thread may call, the engine's too:
// where nobody reads (a stopped terminal, a log shipper that hangs) lines are
// lost, and the first that goes through again says how many (`log_lines_lost`).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"

namespace duecourse {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

class Log {
 public:
  // Writes to fd (not owned). The clock must outlive the log.
  Log(const Clock& clock, int fd, LogLevel least) : clock_(clock), fd_(fd), least_(least) {}
  LogLevel least() const { return least_; }
  // {"time":…,"level":…,"event":…, fields…}
  void Write(LogLevel level, std::string_view event, Json fields = Json::MakeObject());
  void Debug(std::string_view event, Json fields = Json::MakeObject()) { Write(LogLevel::kDebug, event, std::move(fields)); }
  void Info(std::string_view event, Json fields = Json::MakeObject()) { Write(LogLevel::kInfo, event, std::move(fields)); }
  void Warning(std::string_view event, Json fields = Json::MakeObject()) { Write(LogLevel::kWarning, event, std::move(fields)); }
  void Problem(std::string_view event, Json fields = Json::MakeObject()) { Write(LogLevel::kError, event, std::move(fields)); }

 private:
  std::string LineOf(LogLevel level, std::string_view event, const Json& fields) const;
  bool WriteLine(std::string_view line) REQUIRES(mutex_);
  bool AwaitRoom() REQUIRES(mutex_);

  const Clock& clock_;
  int fd_;
  LogLevel least_;
  Mutex mutex_;
  int64_t second_us_ GUARDED_BY(mutex_) = 0;    // when the second began that the patience is for
  int64_t patience_us_ GUARDED_BY(mutex_) = 0;  // how much longer a slow reader is waited for in it
  bool cut_ GUARDED_BY(mutex_) = false;         // only a part of the last line went out
  int64_t lost_ GUARDED_BY(mutex_) = 0;         // lines, since one last went out
};

// A value read through {env: NAME} or {file: PATH}. Redact replaces every registered secret of six bytes or more by "***"
// in text that leaves the program. Any thread.
void RegisterSecret(const std::string& value);
std::string Redact(std::string text);
// The same for a piece that was cut out of a longer text: where its begin or end was cut, what may be the rest of
// a secret (four bytes or more) goes too.
struct CutEnds {
  bool begin = false;
  bool end = false;
};
std::string RedactPiece(std::string text, CutEnds cut);

}  // namespace duecourse
