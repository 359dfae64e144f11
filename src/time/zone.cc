#include "time/zone.h"

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>
#include <cctz/zone_info_source.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/file.h"
#include "base/mutex.h"
#include "base/text.h"
#include "time/zone_data.h"
#include "time/zone_names.h"

namespace duecourse {
namespace {

using CctzTime = cctz::time_point<cctz::seconds>;

constexpr size_t kMaxZoneFileBytes = 1u << 20;  // the largest of the database has 4 KB
constexpr size_t kMaxSteps = 20'000;            // no zone changes twice a week for 230 years

struct LoadedData : Zone::Data {
  cctz::time_zone source;
};

// The bytes of one zone file, already read and checked.
class BytesSource : public cctz::ZoneInfoSource {
 public:
  explicit BytesSource(std::string bytes) : bytes_(std::move(bytes)) {}
  std::size_t Read(void* target, std::size_t size) override {
    size_t count = std::min(size, bytes_.size() - at_);
    std::memcpy(target, bytes_.data() + at_, count);
    at_ += count;
    return count;
  }
  int Skip(std::size_t offset) override {
    at_ += std::min(offset, bytes_.size() - at_);
    return 0;
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

// The zone library caches by name for ever, failures too. So it is given "<number>!<path>", with a new number
// for each reading: a repaired file can be read again, and another folder is another zone.
std::unique_ptr<cctz::ZoneInfoSource> OpenZoneFile(
    const std::string& name,
    const std::function<std::unique_ptr<cctz::ZoneInfoSource>(const std::string&)>& fallback) {
  size_t mark = name.find('!');
  if (mark == std::string::npos) return fallback(name);
  Result<std::string> bytes = ReadFile(name.substr(mark + 1), kMaxZoneFileBytes);
  if (!bytes.ok()) return nullptr;
  return std::make_unique<BytesSource>(std::move(bytes).value());
}

CctzTime ToCctz(int64_t second) { return CctzTime(cctz::seconds(second)); }
int64_t FromCctz(CctzTime time) { return time.time_since_epoch().count(); }

int32_t OffsetAt(const cctz::time_zone& zone, int64_t second) { return zone.lookup(ToCctz(second)).offset; }

// The first change of offset after the second and before the limit. Changes of abbreviation alone are passed
// over.
std::optional<int64_t> NextChange(const cctz::time_zone& zone, int64_t second, int64_t limit) {
  int32_t offset = OffsetAt(zone, second);
  cctz::time_zone::civil_transition change;
  int64_t at = second;
  for (size_t i = 0; i < kMaxSteps && zone.next_transition(ToCctz(at), &change); ++i) {
    int64_t next = FromCctz(zone.lookup(change.to).trans);
    if (next <= at || next >= limit) break;
    at = next;
    if (OffsetAt(zone, at) != offset) return at;
  }
  return std::nullopt;
}

// False where the zone changes more often, or is further from UTC, than any zone can be.
bool FillSteps(const cctz::time_zone& zone, Zone::Data& data) {
  data.AddStep(kTableBegin, OffsetAt(zone, kTableBegin));
  int64_t at = kTableBegin;
  while (std::optional<int64_t> change = NextChange(zone, at, kTableEnd)) {
    at = *change;
    data.AddStep(at, OffsetAt(zone, at));
    if (data.steps() > kMaxSteps || std::abs(data.offsets.back()) > kMaxOffsetSeconds) return false;
  }
  data.Close();
  return true;
}

constexpr size_t kHeaderBytes = 44;

// How long the data after a header is, by its counts (RFC 9636); times are 4 bytes in the first block,
// then 8.
uint64_t BlockBytes(std::string_view header, uint64_t time_bytes) {
  auto count = [&](size_t index) {
    uint64_t value = 0;
    for (size_t i = 0; i < 4; ++i)
      value = value << 8 | static_cast<unsigned char>(header[20 + index * 4 + i]);
    return value;
  };
  uint64_t indicators = count(0) + count(1);
  uint64_t leap_seconds = count(2) * (time_bytes + 4);
  return indicators + leap_seconds + count(3) * (time_bytes + 1) + count(4) * 6 + count(5);
}

// What is wrong with the bytes of a zone file, or nothing. The zone library checks the rest; but it believes
// the counts in the headers, and would take gigabytes for a damaged one.
std::string_view Damage(std::string_view bytes) {
  if (bytes.empty()) return "is empty";
  if (!bytes.starts_with("TZif") || bytes.size() < kHeaderBytes) return "is no zone file or is damaged";
  // Version 1 holds no rule for the time after its table: from 2037 on its answers would be an hour off.
  if (bytes[4] == '\0') return "is a zone file of version 1, which says nothing about the years from 2037 on";
  uint64_t second = kHeaderBytes + BlockBytes(bytes, 4);
  if (second + kHeaderBytes > bytes.size()) return "is damaged: it is cut off";
  std::string_view rest = bytes.substr(second);
  if (!rest.starts_with("TZif")) return "is damaged";
  if (kHeaderBytes + BlockBytes(rest, 8) > rest.size()) return "is damaged: it is cut off";
  return "";
}

Result<std::unique_ptr<LoadedData>> ReadZone(const std::string& name, const std::string& path,
                                             uint64_t number) {
  std::string what = StrCat("time zone ", name, ": ", path, " ");
  constexpr std::string_view kCure = "; reinstall the package tzdata";
  Result<std::string> bytes = ReadFile(path, kMaxZoneFileBytes);
  if (!bytes.ok()) return Error(StrCat("time zone ", name, ": ", bytes.error().message(), kCure));
  std::string_view damage = Damage(*bytes);
  if (!damage.empty()) return Error(StrCat(what, damage, kCure));
  auto data = std::make_unique<LoadedData>();
  data->name = name;
  // The result must be looked at: where loading fails, the library leaves UTC in the object.
  if (!cctz::load_time_zone(StrCat(number, "!", path), &data->source) || !FillSteps(data->source, *data)) {
    return Error(StrCat(what, "is damaged", kCure));
  }
  return data;
}

// Loaded zones, by path. They live as long as the process, so that a Zone may be a bare pointer.
struct Registry {
  Mutex mutex;
  std::map<std::string, std::unique_ptr<const LoadedData>> zones GUARDED_BY(mutex);
  uint64_t readings GUARDED_BY(mutex) = 0;
};

Registry& Zones() {
  static Registry registry;
  return registry;
}

std::unique_ptr<const LoadedData> MakeUtc() {
  auto data = std::make_unique<LoadedData>();
  data->name = "UTC";
  data->source = cctz::utc_time_zone();
  data->AddStep(kTableBegin, 0);
  data->Close();
  return data;
}

const LoadedData& UtcData() {
  static const std::unique_ptr<const LoadedData> data = MakeUtc();
  return *data;
}

Error UnknownZone(const std::string& name, const std::string& folder) {
  if (!FolderExists(folder)) {
    return Error(
        StrCat("no time-zone data: the folder ", folder,
               " does not exist; install the package tzdata, or set TZDIR to the folder that has it"));
  }
  return Error(StrCat("unknown time zone \"", ShowBytes(name.substr(0, 64), false), "\": not in ", folder,
                      " (zone data ", ZoneDataVersion(), ")", ZoneHint(name, folder)));
}

}  // namespace

Result<Zone> Zone::Load(const std::string& name) {
  if (name == "UTC") return Utc();
  std::string folder = ZoneFolder();
  std::string path = JoinPath(folder, name);
  Registry& registry = Zones();
  uint64_t number = 0;
  {
    MutexLock lock(registry.mutex);
    auto found = registry.zones.find(path);
    if (found != registry.zones.end()) return Zone(found->second.get());
    number = ++registry.readings;
  }
  Status named = CheckZoneName(name);
  if (!named.ok()) return Error(named.error().message() + ZoneHint(name, folder));
  if (!FileExists(path)) return UnknownZone(name, folder);
  Result<std::unique_ptr<LoadedData>> data = ReadZone(name, path, number);
  if (!data.ok()) return data.error();
  MutexLock lock(registry.mutex);
  // Where another thread was first, its copy stays and this one is dropped.
  auto stored = registry.zones.emplace(path, std::move(data).value());
  return Zone(stored.first->second.get());
}

Zone Zone::Utc() { return Zone(&UtcData()); }

const std::string& Zone::name() const { return data_->name; }

LocalTime Zone::ToLocal(Instant instant) const {
  int64_t second = FloorSecond(instant);
  int32_t offset = Data::Covers(second) ? data_->offsets[data_->IndexAt(second)]
                                        : OffsetAt(static_cast<const LoadedData*>(data_)->source, second);
  return {CivilOf(second + offset), offset};
}

CivilLookup Zone::Lookup(CivilTime civil) const {
  if (std::optional<CivilLookup> found = data_->Find(ReadingOf(civil))) return *found;
  const cctz::time_zone& source = static_cast<const LoadedData*>(data_)->source;
  cctz::time_zone::civil_lookup found = source.lookup(cctz::civil_second(1970, 1, 1) + ReadingOf(civil));
  Instant transition = AtSecond(FromCctz(found.trans));
  if (found.kind == cctz::time_zone::civil_lookup::SKIPPED) {
    return {CivilLookup::Kind::kGap, transition, transition, transition};
  }
  bool twice = found.kind == cctz::time_zone::civil_lookup::REPEATED;
  return {twice ? CivilLookup::Kind::kOverlap : CivilLookup::Kind::kUnique, AtSecond(FromCctz(found.pre)),
          transition, AtSecond(FromCctz(found.post))};
}

ZoneSpan Zone::SpanAt(Instant instant) const {
  const cctz::time_zone& source = static_cast<const LoadedData*>(data_)->source;
  int64_t second = FloorSecond(instant);
  if (Data::Covers(second)) {
    size_t step = data_->IndexAt(second);
    return {AtSecond(data_->begins[step]), AtSecond(data_->begins[step + 1]), data_->offsets[step]};
  }
  // Outside the table: from here to the next change, or a day.
  std::optional<int64_t> change = NextChange(source, second, second + kDaySeconds);
  return {AtSecond(second), AtSecond(change.value_or(second + kDaySeconds)), OffsetAt(source, second)};
}

std::optional<Instant> Zone::NextTransition(Instant after) const {
  int64_t second = FloorSecond(after);
  if (second < kTableBegin) {
    std::optional<int64_t> change =
        NextChange(static_cast<const LoadedData*>(data_)->source, second, kTableEnd);
    if (!change) return std::nullopt;
    return AtSecond(*change);
  }
  if (second >= kTableEnd) return std::nullopt;
  size_t next = data_->IndexAt(second) + 1;
  if (next >= data_->steps()) return std::nullopt;
  return AtSecond(data_->begins[next]);
}

}  // namespace duecourse

namespace cctz_extension {
// Chosen when the program is linked, and never assigned.
ZoneInfoSourceFactory zone_info_source_factory = &duecourse::OpenZoneFile;
}  // namespace cctz_extension
