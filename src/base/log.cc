#include "base/log.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text.h"

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

}  // namespace

std::string Log::LineOf(LogLevel level, std::string_view event, const Json& fields) const {
  Json line = Json::MakeObject();
  line.Set("time", FormatUtc(clock_.Wall())).Set("level", LevelName(level)).Set("event", event);
  for (const Json::Member& field : fields.AsObject()) line.Set(field.first, field.second);
  return Redact(line.Dump()) + "\n";
}

// A burst may fill the pipe of one who reads; but where he is slow for long, lines are lost, not the writers'
// time.
bool Log::AwaitRoom() {
  constexpr int64_t kSecondUs = 1'000'000;
  constexpr int64_t kPatienceUs = 100'000;
  const int64_t begin_us = MonotonicMicros();
  if (second_us_ == 0 || begin_us - second_us_ >= kSecondUs) {
    second_us_ = begin_us;
    patience_us_ = kPatienceUs;
  }
  pollfd room{fd_, POLLOUT, 0};
  const int ready = ::poll(&room, 1, static_cast<int>(patience_us_ / 1000));
  patience_us_ = std::max<int64_t>(0, patience_us_ - (MonotonicMicros() - begin_us));
  return ready != 0;
}

// False where there was no room for all of it. The descriptor may be shared with others, so it stays blocking
// (O_NONBLOCK would be theirs, too); a piece of PIPE_BUF does not block where poll(2) says that there is
// room.
bool Log::WriteLine(std::string_view line) {
  const size_t size = line.size();
  while (!line.empty()) {
    const bool room = AwaitRoom();
    const ssize_t n = room ? ::write(fd_, line.data(), std::min<size_t>(line.size(), PIPE_BUF)) : -1;
    if (n < 0 && room && errno == EINTR) continue;
    if (n < 0) {
      cut_ = cut_ || line.size() < size;
      return false;
    }
    line.remove_prefix(static_cast<size_t>(n));
  }
  cut_ = false;
  return true;
}

void Log::Write(LogLevel level, std::string_view event, Json fields) {
  if (level < least_) return;
  std::string line = LineOf(level, event, fields);
  MutexLock lock(mutex_);
  if (lost_ > 0) {
    Json lost =
        Json::MakeObject()
            .Set("lines", lost_)
            .Set("why",
                 "the log could not be written, or nobody read it; what happened meanwhile is in the store");
    line = StrCat(cut_ ? "\n" : "", LineOf(LogLevel::kWarning, "log_lines_lost", lost), line);
  }
  lost_ = WriteLine(line) ? 0 : lost_ + 1;
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
