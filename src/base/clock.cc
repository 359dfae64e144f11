#include "base/clock.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>

#include "base/check.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"

namespace duecourse {
namespace {

int64_t ReadMicros(clockid_t id) {
  timespec now{};
  CHECK(::clock_gettime(id, &now) == 0);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
}

// Where a clock that stood at base stands now when it runs at the rate, in milliseconds rounded down.
int64_t ScaledMillis(int64_t base_us, int64_t now_us, double rate) {
  int64_t at_us = now_us;
  if (rate != 1.0) at_us = base_us + static_cast<int64_t>(static_cast<double>(now_us - base_us) * rate);
  return at_us >= 0 ? at_us / 1000 : -((-at_us + 999) / 1000);
}

}  // namespace

SystemClock::SystemClock(Millis wall_offset, double rate)
    : wall_offset_(wall_offset),
      rate_(rate),
      base_wall_us_(ReadMicros(CLOCK_REALTIME)),
      base_mono_us_(ReadMicros(CLOCK_MONOTONIC)),
      base_boot_us_(ReadMicros(CLOCK_BOOTTIME)) {
  CHECK(rate > 0);
}

Instant SystemClock::Wall() const {
  return Instant{ScaledMillis(base_wall_us_, ReadMicros(CLOCK_REALTIME), rate_)} + wall_offset_;
}

Millis SystemClock::Monotonic() const {
  return Millis{ScaledMillis(base_mono_us_, ReadMicros(CLOCK_MONOTONIC), rate_)};
}

Millis SystemClock::Boot() const {
  return Millis{ScaledMillis(base_boot_us_, ReadMicros(CLOCK_BOOTTIME), rate_)};
}

int64_t Clock::RealMillisUntil(Instant wall) const {
  return std::clamp<int64_t>((wall - Wall()).count, 0, 3'600'000);
}

int64_t SystemClock::RealMillisUntil(Instant wall) const {
  double real = static_cast<double>((wall - Wall()).count) / rate_;
  return static_cast<int64_t>(std::clamp(std::ceil(real), 0.0, 3'600'000.0));
}

std::string HostName() {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

std::string HostZoneName() {
  const char* variable = std::getenv("TZ");
  if (variable != nullptr && *variable != '\0') return StrCat("TZ=", ShowBytes(variable, false));
  char target[1024] = {};
  if (::readlink("/etc/localtime", target, sizeof(target) - 1) > 0) {
    std::string path = target;
    size_t at = path.find("zoneinfo/");
    return at == std::string::npos ? path : path.substr(at + 9);
  }
  return "UTC or unnamed";
}

std::string BootId() {
  // Without /proc nobody can tell this boot from another, so the id matches no stored one: an unfinished
  // attempt of before then counts as unknown, never as surely not started.
  static const std::string id = [] {
    Result<std::string> text = ReadFile("/proc/sys/kernel/random/boot_id", 256);
    if (text.ok() && !Trim(*text).empty()) return std::string(Trim(*text));
    return "unknown-" + SecureToken(8);
  }();
  return id;
}

int64_t MonotonicMicros() { return ReadMicros(CLOCK_MONOTONIC); }

int64_t BootMicros() { return ReadMicros(CLOCK_BOOTTIME); }

}  // namespace duecourse
