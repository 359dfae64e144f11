#include "time/zone_names.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "time/zone.h"

namespace duecourse {
namespace {

constexpr std::string_view kDefaultFolder = "/usr/share/zoneinfo";
constexpr size_t kMaxNameBytes = 64;
constexpr size_t kMaxListBytes = 4u << 20;  // tzdata.zi has 110 KB

struct WellKnown {
  std::string_view wrong;  // in lower case
  std::string_view right;
};

// What people write that is no IANA name: capitals and companies' cities without a zone of their own,
// abbreviations, and the names other systems use. Spaces count as underscores.
constexpr std::array<WellKnown, 60> kWellKnown = {{
    {"asia/beijing", "Asia/Shanghai"},
    {"beijing", "Asia/Shanghai"},
    {"asia/peking", "Asia/Shanghai"},
    {"asia/shenzhen", "Asia/Shanghai"},
    {"asia/guangzhou", "Asia/Shanghai"},
    {"asia/hangzhou", "Asia/Shanghai"},
    {"asia/chengdu", "Asia/Shanghai"},
    {"china", "Asia/Shanghai"},
    {"china_standard_time", "Asia/Shanghai"},
    {"cst", "Asia/Shanghai or America/Chicago"},
    {"asia/mumbai", "Asia/Kolkata"},
    {"asia/bombay", "Asia/Kolkata"},
    {"asia/delhi", "Asia/Kolkata"},
    {"asia/new_delhi", "Asia/Kolkata"},
    {"asia/bangalore", "Asia/Kolkata"},
    {"asia/bengaluru", "Asia/Kolkata"},
    {"asia/chennai", "Asia/Kolkata"},
    {"india", "Asia/Kolkata"},
    {"ist", "Asia/Kolkata, Asia/Jerusalem or Europe/Dublin"},
    {"asia/osaka", "Asia/Tokyo"},
    {"asia/kyoto", "Asia/Tokyo"},
    {"jst", "Asia/Tokyo"},
    {"kst", "Asia/Seoul"},
    {"asia/hanoi", "Asia/Ho_Chi_Minh"},
    {"asia/abu_dhabi", "Asia/Dubai"},
    {"asia/islamabad", "Asia/Karachi"},
    {"america/washington", "America/New_York"},
    {"america/boston", "America/New_York"},
    {"america/miami", "America/New_York"},
    {"america/atlanta", "America/New_York"},
    {"america/philadelphia", "America/New_York"},
    {"us/new_york", "America/New_York"},
    {"et", "America/New_York"},
    {"edt", "America/New_York"},
    {"eastern", "America/New_York"},
    {"eastern_standard_time", "America/New_York"},
    {"america/dallas", "America/Chicago"},
    {"america/houston", "America/Chicago"},
    {"america/austin", "America/Chicago"},
    {"cdt", "America/Chicago"},
    {"america/san_francisco", "America/Los_Angeles"},
    {"america/seattle", "America/Los_Angeles"},
    {"america/las_vegas", "America/Los_Angeles"},
    {"us/los_angeles", "America/Los_Angeles"},
    {"pt", "America/Los_Angeles"},
    {"pst", "America/Los_Angeles"},
    {"pdt", "America/Los_Angeles"},
    {"mdt", "America/Denver"},
    {"america/montreal", "America/Toronto"},
    {"america/ottawa", "America/Toronto"},
    {"america/rio_de_janeiro", "America/Sao_Paulo"},
    {"america/brasilia", "America/Sao_Paulo"},
    {"europe/frankfurt", "Europe/Berlin"},
    {"europe/munich", "Europe/Berlin"},
    {"europe/hamburg", "Europe/Berlin"},
    {"europe/geneva", "Europe/Zurich"},
    {"europe/barcelona", "Europe/Madrid"},
    {"europe/milan", "Europe/Rome"},
    {"bst", "Europe/London"},
    {"cest", "Europe/Berlin or another city of the zone"},
}};

// Lower case, with underscores for spaces: the form in which names are compared.
std::string Folded(std::string_view name) {
  std::string out = AsciiLower(name);
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

std::string_view LastPart(std::string_view name) {
  size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

// "UTC+8", "GMT-03:00", "+08:00": whole hours have a fixed zone, whose sign is turned round.
std::optional<std::string> OffsetHint(std::string_view name) {
  std::string folded = Folded(name);
  std::string_view rest = folded;
  for (std::string_view prefix : {std::string_view("utc"), std::string_view("gmt")}) {
    if (rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
  }
  if (rest.size() < 2 || (rest[0] != '+' && rest[0] != '-')) return std::nullopt;
  bool east = rest[0] == '+';
  rest.remove_prefix(1);
  std::string_view hours = rest.substr(0, rest.find(':'));
  std::string_view minutes =
      rest.size() > hours.size() ? rest.substr(hours.size() + 1) : std::string_view("00");
  if (hours.size() > 1 && hours[0] == '0') hours.remove_prefix(1);
  std::optional<int64_t> value = ParseInteger(hours);
  if (!value || *value < 1 || *value > (east ? 14 : 12) || minutes != "00") return std::nullopt;
  return StrCat("Etc/GMT", east ? "-" : "+", *value);
}

// "EST5", "JST-9", "PST8PDT7": zones as POSIX writes them in TZ, where a plain number is west.
std::optional<std::string> PosixHint(std::string_view folded) {
  struct Abbreviation {
    std::string_view letters;
    std::string_view zone;
  };
  constexpr Abbreviation kKnown[] = {
      {"est", "America/New_York"},    {"cst", "America/Chicago"},    {"mst", "America/Denver"},
      {"pst", "America/Los_Angeles"}, {"akst", "America/Anchorage"}, {"hst", "Pacific/Honolulu"},
      {"cet", "Europe/Berlin"},       {"eet", "Europe/Athens"},      {"wet", "Europe/Lisbon"},
      {"msk", "Europe/Moscow"},       {"ist", "Asia/Kolkata"},       {"jst", "Asia/Tokyo"},
      {"kst", "Asia/Seoul"},          {"aest", "Australia/Sydney"}};
  const size_t letters = folded.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  if (letters < 3 || letters > 5) return std::nullopt;
  std::string_view rest = folded.substr(letters);
  const bool east = rest.starts_with('-');
  if (east || rest.starts_with('+')) rest.remove_prefix(1);
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::optional<int64_t> hours = ParseInteger(rest.substr(0, digits));
  if (!hours || *hours > (east ? 14 : 12)) return std::nullopt;
  const std::string fixed = *hours == 0 ? "UTC" : StrCat("Etc/GMT", east ? "-" : "+", *hours);
  for (const Abbreviation& known : kKnown) {
    if (known.letters == folded.substr(0, letters))
      return StrCat(known.zone, ", or ", fixed, " where clocks never change");
  }
  return digits == rest.size() ? StrCat("the zone of a city, or ", fixed) : std::string("the zone of a city");
}

void AddTabNames(const std::string& path, std::vector<std::string>& names) {
  Result<std::string> text = ReadFile(path, kMaxListBytes);
  if (!text.ok()) return;
  for (std::string_view line : Split(*text, '\n')) {
    if (line.starts_with('#')) continue;
    std::vector<std::string_view> columns = Split(line, '\t');
    if (columns.size() >= 3) names.emplace_back(columns[2]);
  }
}

// "Z Africa/Algiers …" is a zone, "L Asia/Shanghai PRC" a link from its second name.
void AddRuleNames(const std::string& path, std::vector<std::string>& names) {
  Result<std::string> text = ReadFile(path, kMaxListBytes);
  if (!text.ok()) return;
  for (std::string_view line : Split(*text, '\n')) {
    bool zone = line.starts_with("Z ");
    if (!zone && !line.starts_with("L ")) continue;
    std::vector<std::string_view> words = Split(line, ' ');
    size_t at = zone ? 1 : 2;
    if (words.size() > at) names.emplace_back(words[at]);
  }
}

}  // namespace

std::string ZoneFolder() {
  const char* folder = std::getenv("TZDIR");
  return folder != nullptr && *folder != '\0' ? folder : std::string(kDefaultFolder);
}

Status CheckZoneName(std::string_view name) {
  std::string shown = StrCat("time zone \"", ShowBytes(name.substr(0, kMaxNameBytes), false), "\"");
  if (name.empty()) return Error("the time zone is empty; write an IANA name such as Europe/London or UTC");
  if (name == "localtime" || name == "local" || name == "Local") {
    return Error(
        StrCat(shown, ": the zone of the machine is never used; write an IANA name such as Europe/London"));
  }
  bool plain = name.size() <= kMaxNameBytes && name.find("//") == std::string_view::npos;
  for (char c : name) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    plain = plain && (letter || (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '-' || c == '+');
  }
  bool framed = name.front() != '/' && name.front() != '+' && name.front() != '-' && name.back() != '/';
  bool special =
      name == "posixrules" || name == "Factory" || name.starts_with("right/") || name.starts_with("posix/");
  if (plain && framed && !special) return Status();
  return Error(StrCat(shown, " is no IANA name; write one such as Europe/London or UTC"));
}

std::vector<std::string> ListedZoneNames(const std::string& folder) {
  std::vector<std::string> names;
  AddRuleNames(JoinPath(folder, "tzdata.zi"), names);
  if (names.empty()) {
    AddTabNames(JoinPath(folder, "zone1970.tab"), names);
    AddTabNames(JoinPath(folder, "zone.tab"), names);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string ZoneHint(std::string_view name, const std::string& folder) {
  auto hint = [](std::string_view right) { return StrCat("; did you mean ", right, "?"); };
  std::string folded = Folded(name.substr(0, kMaxNameBytes));
  for (const WellKnown& known : kWellKnown) {
    if (known.wrong == folded) return hint(known.right);
  }
  if (std::optional<std::string> fixed = OffsetHint(name)) {
    return StrCat("; did you mean ", *fixed, " (its sign is turned round), or the zone of a city?");
  }
  if (std::optional<std::string> posix = PosixHint(folded)) return hint(*posix);
  std::vector<std::string> names;
  for (std::string& listed : ListedZoneNames(folder)) {
    if (CheckZoneName(listed).ok() && FileExists(JoinPath(folder, listed)))
      names.push_back(std::move(listed));
  }
  for (const std::string& listed : names) {
    if (Folded(listed) == folded) return hint(listed);
  }
  for (const std::string& listed : names) {
    if (Folded(LastPart(listed)) == LastPart(folded)) return hint(listed);
  }
  std::optional<std::string> near = Nearest(folded, names);
  return near ? hint(*near) : "";
}

std::string ZoneDataVersion() {
  constexpr std::string_view kMark = "# version ";
  Result<std::string> text = ReadFile(JoinPath(ZoneFolder(), "tzdata.zi"), kMaxListBytes);
  if (!text.ok() || !text->starts_with(kMark)) return "unknown";
  std::string_view line = std::string_view(*text).substr(0, text->find('\n'));
  std::string version = ShowBytes(Trim(line.substr(kMark.size())).substr(0, 32), false);
  return version.empty() ? "unknown" : version;
}

}  // namespace duecourse
