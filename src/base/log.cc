#include "base/log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/mutex.h"

namespace duecourse {
namespace {

constexpr size_t kShortestSecret = 6;

const char* LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

// The secrets of this process. They are process-wide on purpose: text that leaves the program must be clean
// whichever part of it made the text and whichever part read the secret.
struct Secrets {
  Mutex mutex;
  std::vector<std::string> needles GUARDED_BY(mutex);  // longest first, so that none hides a part of another
};

Secrets& KnownSecrets() {
  static Secrets secrets;
  return secrets;
}

void AddNeedle(Secrets& secrets, const std::string& needle) REQUIRES(secrets.mutex) {
  std::vector<std::string>& needles = secrets.needles;
  if (std::find(needles.begin(), needles.end(), needle) != needles.end()) return;
  needles.push_back(needle);
  std::stable_sort(needles.begin(), needles.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

// One write(2) for one line. A full pipe is waited for a moment and then the line is lost: the log never
// stops the daemon.
void WriteLine(int fd, std::string_view line) {
  constexpr int kPatienceMs = 100;
  while (!line.empty()) {
    ssize_t n = ::write(fd, line.data(), line.size());
    if (n >= 0) {
      line.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd wait{fd, POLLOUT, 0};
      if (::poll(&wait, 1, kPatienceMs) == 0) return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace

void Log::Write(LogLevel level, std::string_view event, Json fields) {
  if (level < least_) return;
  Json line = Json::MakeObject();
  line.Set("time", FormatUtc(clock_.Wall())).Set("level", LevelName(level)).Set("event", event);
  for (const Json::Member& field : fields.AsObject()) line.Set(field.first, field.second);
  WriteLine(fd_, Redact(line.Dump()) + "\n");
}

void RegisterSecret(const std::string& value) {
  if (value.size() < kShortestSecret) return;
  // As it stands inside a JSON string too, where quotes and controls look different.
  std::string dumped = Json(value).Dump();
  std::string escaped = dumped.substr(1, dumped.size() - 2);
  Secrets& secrets = KnownSecrets();
  MutexLock lock(secrets.mutex);
  AddNeedle(secrets, value);
  AddNeedle(secrets, escaped);
}

std::string Redact(std::string text) {
  Secrets& secrets = KnownSecrets();
  MutexLock lock(secrets.mutex);
  for (const std::string& needle : secrets.needles) {
    for (size_t at = text.find(needle); at != std::string::npos; at = text.find(needle, at + 3)) {
      text.replace(at, needle.size(), "***");
    }
  }
  return text;
}

std::string RedactPiece(std::string text, CutEnds cut) {
  constexpr size_t kShortestRest = 4;
  text = Redact(std::move(text));
  Secrets& secrets = KnownSecrets();
  MutexLock lock(secrets.mutex);
  size_t begin = 0;
  size_t end = 0;
  for (const std::string& needle : secrets.needles) {
    const std::string_view whole = needle;
    for (size_t size = std::min(whole.size() - 1, text.size()); size >= kShortestRest; --size) {
      if (cut.begin && size > begin && text.starts_with(whole.substr(whole.size() - size))) begin = size;
      if (cut.end && size > end && text.ends_with(whole.substr(0, size))) end = size;
    }
  }
  if (end > 0) text.replace(text.size() - end, end, "***");
  if (begin > 0) text.replace(0, std::min(begin, text.size()), "***");
  return text;
}

}  // namespace duecourse
