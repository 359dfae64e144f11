// Time zones of the IANA database. The host's zone is never used: a zone is
// always loaded by name, and a name that cannot be loaded is an error that says
// where it was looked for and what may have been meant. A Zone is a small value
// (a pointer to immutable, process-lifetime data); any thread may use it. A zone
// stays as it was loaded: newer zone files need a restart, and ZoneDataVersion
// says what is installed now. $TZDIR names another folder; TZ and /etc/localtime
// are never read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "time/civil.h"

namespace duecourse {

struct LocalTime {
  CivilTime civil;
  int32_t offset = 0;  // seconds east of UTC
};

struct CivilLookup {
  enum class Kind { kUnique, kGap, kOverlap };
  Kind kind = Kind::kUnique;
  // kUnique: all three alike. kGap: `transition` is the first instant after the gap. kOverlap: first and
  // second pass.
  Instant first;
  Instant transition;
  Instant second;
};

// An interval of constant offset [begin, end).
struct ZoneSpan {
  Instant begin;
  Instant end;
  int32_t offset = 0;
};

class Zone {
 public:
  // Errors: unknown name (with the nearest known one), missing or damaged zone data (with the folder that was
  // read).
  static Result<Zone> Load(const std::string& name);
  static Zone Utc();

  const std::string& name() const;
  LocalTime ToLocal(Instant instant) const;
  CivilLookup Lookup(CivilTime civil) const;
  // The stretch of constant offset that contains the instant, cut at 1969-12-30 and 2200-01-03 (a day's worth
  // outside).
  ZoneSpan SpanAt(Instant instant) const;
  // The next change of offset strictly after the instant, if there is one before 2200-01-03.
  std::optional<Instant> NextTransition(Instant after) const;

  friend bool operator==(const Zone& a, const Zone& b) { return a.data_ == b.data_; }
  struct Data;  // time/zone_data.h, for code that walks the offsets
  const Data& data() const { return *data_; }

 private:
  explicit Zone(const Data* data) : data_(data) {}
  const Data* data_;
};

// "2026f", read from the installed zone data; "unknown" where it carries no version.
std::string ZoneDataVersion();
// Refuses where there is no usable zone data at all; the text says what to install.
Status CheckZoneData();
// "2026-03-08T03:00:00-04:00"
std::string FormatLocal(Instant instant, const Zone& zone);

}  // namespace duecourse
