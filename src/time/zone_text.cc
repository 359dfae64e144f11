#include <array>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"
#include "time/zone.h"
#include "time/zone_data.h"
#include "time/zone_names.h"

namespace duecourse {

Status CheckZoneData() {
  std::string folder = ZoneFolder();
  std::string cure = "; install the package tzdata, or set TZDIR to the folder that has the zone files";
  if (!FolderExists(folder))
    return Error(StrCat("no time-zone data: the folder ", folder, " does not exist", cure));
  std::vector<std::string> names = ListedZoneNames(folder);
  for (std::string_view usual : {"Etc/UTC", "Europe/London", "America/New_York", "Asia/Shanghai"}) {
    names.insert(names.begin(), std::string(usual));
  }
  std::string last_error;
  for (const std::string& name : names) {
    if (!FileExists(JoinPath(folder, name))) continue;
    Result<Zone> zone = Zone::Load(name);
    if (zone.ok()) return Status();
    last_error = StrCat(" (", zone.error().message(), ")");
  }
  return Error(StrCat("no usable time-zone data in ", folder, last_error, cure));
}

std::string FormatLocal(Instant instant, const Zone& zone) {
  LocalTime local = zone.ToLocal(instant);
  int32_t size = local.offset < 0 ? -local.offset : local.offset;
  int32_t second = local.civil.second;
  int64_t millis = instant.ms - FloorSecond(instant) * 1000;
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "T%02d:%02d:%02d", second / 3600, second / 60 % 60,
                second % 60);
  std::string out = FormatDay(local.civil.day) + buffer.data();
  if (millis != 0) {
    std::snprintf(buffer.data(), buffer.size(), ".%03d", static_cast<int>(millis));
    out += buffer.data();
  }
  std::snprintf(buffer.data(), buffer.size(), "%c%02d:%02d", local.offset < 0 ? '-' : '+', size / 3600,
                size / 60 % 60);
  out += buffer.data();
  if (size % 60 != 0) {
    std::snprintf(buffer.data(), buffer.size(), ":%02d", size % 60);
    out += buffer.data();
  }
  return out;
}

}  // namespace duecourse
