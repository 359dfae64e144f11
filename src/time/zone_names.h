// The folder of zone files: where it is, which version it holds, and which of
// its names a person may have meant. Reads files; changes nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace duecourse {

// $TZDIR, or /usr/share/zoneinfo. TZ and /etc/localtime are not read anywhere.
std::string ZoneFolder();
// Refuses what is no name of the IANA database whatever files there are: empty, absolute, with dots,
// "localtime", "posixrules", "right/…". The error has no file in it.
Status CheckZoneName(std::string_view name);
// For an error about an unknown name: "; did you mean Asia/Shanghai?" or empty. Offers only names whose file
// is there.
std::string ZoneHint(std::string_view name, const std::string& folder);
// All names listed in the folder (tzdata.zi, else zone1970.tab and zone.tab), sorted, without repeats.
std::vector<std::string> ListedZoneNames(const std::string& folder);

}  // namespace duecourse
