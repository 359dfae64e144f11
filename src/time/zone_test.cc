#include "time/zone.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/random.h"
#include "base/test_folder.h"
#include "base/text.h"
#include "time/zone_data.h"
#include "time/zone_names.h"

namespace duecourse {
namespace {

// Sets a variable for one test and puts the former value back.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* former = getenv(name);
    if (former != nullptr) former_ = former;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (former_) {
      setenv(name_, former_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> former_;
};

class Folder : public TestFolder {
 public:
  void Write(const std::string& name, const std::string& bytes) const {
    const std::string file = *this / name;
    ASSERT_TRUE(MakeFolders(ParentFolder(file), 0700).ok());
    ASSERT_TRUE(WriteFileAtomic(file, bytes, false).ok());
  }
};

std::string ZoneBytes(const std::string& name) { return *ReadFile(ZoneFolder() + "/" + name, 1u << 20); }

Zone Load(const std::string& name) {
  Result<Zone> zone = Zone::Load(name);
  EXPECT_TRUE(zone.ok()) << (zone.ok() ? "" : zone.error().message());
  return zone.ok() ? *zone : Zone::Utc();
}

std::string LoadError(const std::string& name) {
  Result<Zone> zone = Zone::Load(name);
  return zone.ok() ? "loaded" : zone.error().message();
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Zone, OffsetsAreThoseOfTheRules) {
  struct Row {
    const char* zone;
    const char* instant;
    const char* local;
  };
  for (const Row& row : {
           Row{"America/New_York", "2026-03-08T06:59:59Z", "2026-03-08T01:59:59-05:00"},
           Row{"America/New_York", "2026-03-08T07:00:00Z", "2026-03-08T03:00:00-04:00"},
           Row{"America/New_York", "2026-11-01T05:59:59Z", "2026-11-01T01:59:59-04:00"},
           Row{"America/New_York", "2026-11-01T06:00:00Z", "2026-11-01T01:00:00-05:00"},
           Row{"America/New_York", "2100-07-01T12:00:00Z", "2100-07-01T08:00:00-04:00"},
           Row{"America/New_York", "2500-07-01T12:00:00Z", "2500-07-01T08:00:00-04:00"},
           Row{"America/New_York", "1950-07-01T12:00:00Z", "1950-07-01T08:00:00-04:00"},
           Row{"Asia/Shanghai", "2026-06-01T18:00:00Z", "2026-06-02T02:00:00+08:00"},
           Row{"Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29T23:59:59-10:00"},
           Row{"Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31T00:00:00+14:00"},
           Row{"Australia/Lord_Howe", "2026-04-04T15:00:00Z", "2026-04-05T01:30:00+10:30"},
           Row{"Africa/Monrovia", "1971-06-01T00:00:00Z", "1971-05-31T23:15:30-00:44:30"},
           Row{"UTC", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00+00:00"},
       }) {
    EXPECT_EQ(FormatLocal(*ParseUtc(row.instant), Load(row.zone)), row.local) << row.zone;
  }
  EXPECT_EQ(FormatLocal({1'767'225'600'007}, Load("Asia/Kathmandu")), "2026-01-01T05:45:00.007+05:45");
}

// The C library reads the same files with code of its own.
TEST(Zone, EveryListedZoneAgreesWithTheCLibraryUntil2199) {
  Variable dir("TZDIR", ZoneFolder());
  Random random(5);
  int zones = 0;
  for (const std::string& name : ListedZoneNames(ZoneFolder())) {
    if (!CheckZoneName(name).ok() || !FileExists(ZoneFolder() + "/" + name)) continue;
    Zone zone = Load(name);
    Variable host("TZ", ":" + name);
    tzset();
    for (int i = 0; i < 60; ++i) {
      int64_t second = random.Between(0, kLastSecond);
      if (std::optional<Instant> change = zone.NextTransition({second * 1000}); change && i % 2 == 0) {
        second = change->ms / 1000 + random.Between(-2, 2);
      }
      time_t seconds = second;
      struct tm local {};
      localtime_r(&seconds, &local);
      ASSERT_EQ(zone.ToLocal({second * 1000}).offset, local.tm_gmtoff)
          << name << " " << FormatUtc({second * 1000});
    }
    ++zones;
  }
  tzset();
  EXPECT_GT(zones, 300);
}

TEST(Zone, ALookupAndALocalTimeAreEachOthersInverse) {
  Random random(6);
  for (const char* name :
       {"America/New_York", "Pacific/Apia", "Africa/Casablanca", "Asia/Gaza", "Antarctica/Troll", "UTC"}) {
    Zone zone = Load(name);
    for (int i = 0; i < 5000; ++i) {
      Instant at{random.Between(-100'000'000, kLastSecond) * 1000};
      if (std::optional<Instant> change = zone.NextTransition(at); change && i % 2 == 0) {
        at.ms = change->ms + random.Between(-9000, 9000) * 1000;
      }
      CivilLookup lookup = zone.Lookup(zone.ToLocal(at).civil);
      ASSERT_NE(lookup.kind, CivilLookup::Kind::kGap) << name << " " << FormatUtc(at);
      ASSERT_TRUE(at == lookup.first || at == lookup.second) << name << " " << FormatUtc(at);
      ASSERT_EQ(lookup.first == lookup.second, lookup.kind == CivilLookup::Kind::kUnique);
      ZoneSpan span = zone.SpanAt(at);
      ASSERT_TRUE(span.begin <= at && at < span.end);
      ASSERT_EQ(span.offset, zone.ToLocal(at).offset);
    }
  }
}

TEST(Zone, GapsAndOverlapsAreToldWithTheirInstants) {
  Zone zone = Load("America/New_York");
  auto lookup = [&](const char* day, const char* time) {
    return zone.Lookup({*ParseDay(day), *ParseTimeOfDay(time)});
  };
  CivilLookup gap = lookup("2026-03-08", "02:30");
  EXPECT_EQ(gap.kind, CivilLookup::Kind::kGap);
  EXPECT_EQ(FormatUtc(gap.transition), "2026-03-08T07:00:00Z");
  EXPECT_EQ(lookup("2026-03-08", "03:00").kind, CivilLookup::Kind::kUnique);
  EXPECT_EQ(lookup("2026-03-08", "01:59:59").kind, CivilLookup::Kind::kUnique);
  CivilLookup overlap = lookup("2026-11-01", "01:30");
  EXPECT_EQ(overlap.kind, CivilLookup::Kind::kOverlap);
  EXPECT_EQ(FormatUtc(overlap.first), "2026-11-01T05:30:00Z");
  EXPECT_EQ(FormatUtc(overlap.transition), "2026-11-01T06:00:00Z");
  EXPECT_EQ(FormatUtc(overlap.second), "2026-11-01T06:30:00Z");
  EXPECT_EQ(lookup("2026-11-01", "02:00").kind, CivilLookup::Kind::kUnique);
  EXPECT_EQ(FormatUtc(lookup("2400-07-01", "12:00").first), "2400-07-01T16:00:00Z");
  EXPECT_EQ(lookup("1960-04-24", "02:30").kind, CivilLookup::Kind::kGap);
}

TEST(Zone, TransitionsAreChangesOfOffset) {
  Zone zone = Load("America/New_York");
  EXPECT_EQ(FormatUtc(*zone.NextTransition(*ParseUtc("2026-01-01T00:00:00Z"))), "2026-03-08T07:00:00Z");
  EXPECT_EQ(FormatUtc(*zone.NextTransition(*ParseUtc("2026-03-08T07:00:00Z"))), "2026-11-01T06:00:00Z");
  EXPECT_EQ(FormatUtc(*zone.NextTransition(*ParseUtc("2026-03-08T06:59:59.999Z"))), "2026-03-08T07:00:00Z");
  EXPECT_EQ(FormatUtc(*zone.NextTransition(*ParseUtc("1960-01-01T00:00:00Z"))), "1960-04-24T07:00:00Z");
  // In August 1945 only the name of the zone changed.
  EXPECT_EQ(FormatUtc(*zone.NextTransition(*ParseUtc("1945-01-01T00:00:00Z"))), "1945-09-30T06:00:00Z");
  EXPECT_EQ(Zone::Utc().NextTransition({0}), std::nullopt);
  EXPECT_EQ(Load("Asia/Shanghai").NextTransition(*ParseUtc("2000-01-01T00:00:00Z")), std::nullopt);
}

TEST(Zone, InstantsOfAnyAgeAreAnsweredWithoutOverflow) {
  for (const char* name : {"UTC", "America/New_York"}) {
    Zone zone = Load(name);
    for (Instant at : {Instant{INT64_MIN}, Instant{INT64_MAX}, kNever, Instant{-1}}) {
      ZoneSpan span = zone.SpanAt(at);
      EXPECT_LT(span.begin, span.end);
      EXPECT_FALSE(FormatLocal(at, zone).empty());
      zone.NextTransition(at);
    }
  }
  EXPECT_EQ(FormatLocal(kNever, Zone::Utc()), "9999-12-31T23:59:59+00:00");
}

TEST(Zone, TheSameNameIsTheSameZoneFromAnyThread) {
  std::vector<std::thread> threads;
  std::vector<std::optional<Zone>> zones(8);
  for (size_t i = 0; i < zones.size(); ++i)
    threads.emplace_back([&zones, i] { zones[i] = *Zone::Load("Europe/Vienna"); });
  for (std::thread& thread : threads) thread.join();
  for (const std::optional<Zone>& zone : zones) EXPECT_EQ(*zone, *zones[0]);
  EXPECT_FALSE(Load("Europe/Vienna") == Load("Europe/Berlin"));
  EXPECT_EQ(Load("UTC"), Zone::Utc());
  EXPECT_EQ(Load("Europe/Vienna").name(), "Europe/Vienna");
}

TEST(Zone, TheHostsZoneHasNoInfluence) {
  Variable host("TZ", "Asia/Tokyo");
  tzset();
  EXPECT_EQ(FormatLocal(*ParseUtc("2026-01-01T00:00:00Z"), Load("UTC")), "2026-01-01T00:00:00+00:00");
  EXPECT_EQ(FormatLocal(*ParseUtc("2026-01-01T00:00:00Z"), Load("Etc/UTC")), "2026-01-01T00:00:00+00:00");
  for (const char* name : {"localtime", "", "local"}) EXPECT_NE(LoadError(name), "loaded") << name;
  EXPECT_TRUE(Has(LoadError("localtime"), "the zone of the machine is never used"));
}

TEST(Zone, WrongNamesAreErrorsWithTheFolderAndTheNameThatWasMeant) {
  struct Row {
    const char* name;
    const char* meant;
  };
  for (const Row& row :
       {Row{"Asia/Beijing", "Asia/Shanghai"}, Row{"asia/shanghai", "Asia/Shanghai"},
        Row{"Shanghai", "Asia/Shanghai"}, Row{"New York", "America/New_York"}, Row{"UTC+8", "Etc/GMT-8"},
        Row{"GMT-03:00", "Etc/GMT+3"}, Row{"utc", "UTC"}, Row{"Europe/Lodon", "Europe/London"},
        Row{"EDT", "America/New_York"}, Row{"America/San_Francisco", "America/Los_Angeles"},
        Row{"EST5", "America/New_York, or Etc/GMT+5"}, Row{"JST-9", "Asia/Tokyo, or Etc/GMT-9"},
        Row{"CET-1CEST", "Europe/Berlin, or Etc/GMT-1"}, Row{"XYZ3", "the zone of a city, or Etc/GMT+3"}}) {
    EXPECT_TRUE(Has(LoadError(row.name), StrCat("did you mean ", row.meant)))
        << row.name << ": " << LoadError(row.name);
  }
  EXPECT_TRUE(Has(LoadError("Mars/Olympus"), ZoneFolder())) << LoadError("Mars/Olympus");
  EXPECT_FALSE(Has(LoadError("Mars/Olympus"), "did you mean"));
}

TEST(Zone, PathsAndSpecialFilesAreNoZones) {
  for (const char* name :
       {"/etc/localtime", "../../etc/passwd", "right/Europe/London", "posixrules", "Factory", "zone.tab",
        "file:/etc/localtime", "Fixed/UTC+08:00:00", "leapseconds", "Europe", "Europe/", "Europe//London",
        "Europe/London\n", "tzdata.zi", "+VERSION"}) {
    EXPECT_NE(LoadError(name), "loaded") << name;
  }
  EXPECT_NE(LoadError(std::string("Europe/London\0x", 15)), "loaded");
  EXPECT_NE(LoadError(std::string(100'000, 'x')), "loaded");
}

TEST(Zone, ADamagedFileIsAnErrorAndNeverUtc) {
  Folder folder;
  std::string whole = ZoneBytes("Europe/London");
  folder.Write("Test/Empty", "");
  folder.Write("Test/Text", "this is not a zone");
  folder.Write("Test/Whole", whole);
  std::string old = whole;
  old[4] = '\0';
  folder.Write("Test/Version1", old);
  for (size_t cut = 1; cut < whole.size(); cut += 97)
    folder.Write(StrCat("Test/Cut", cut), whole.substr(0, cut));
  Variable dir("TZDIR", folder.path());
  EXPECT_EQ(LoadError("Test/Whole"), "loaded");
  EXPECT_TRUE(Has(LoadError("Test/Empty"), folder.path() + "/Test/Empty is empty"))
      << LoadError("Test/Empty");
  EXPECT_TRUE(Has(LoadError("Test/Text"), "is damaged")) << LoadError("Test/Text");
  EXPECT_TRUE(Has(LoadError("Test/Version1"), "version 1")) << LoadError("Test/Version1");
  for (size_t cut = 1; cut < whole.size(); cut += 97) {
    EXPECT_TRUE(Has(LoadError(StrCat("Test/Cut", cut)), "damaged"))
        << cut << LoadError(StrCat("Test/Cut", cut));
  }
  EXPECT_TRUE(Has(LoadError("Europe/London"), folder.path())) << LoadError("Europe/London");
}

TEST(Zone, BytesTurnedAroundNeverCrash) {
  std::string whole = ZoneBytes("Africa/Abidjan");
  std::string larger = ZoneBytes("America/New_York");
  Folder folder;
  Variable dir("TZDIR", folder.path());
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = i % 2 == 0 ? whole : larger;
    for (int n = 0; n < 4; ++n) {
      bytes[static_cast<size_t>(random.Between(5, static_cast<int64_t>(bytes.size()) - 1))] =
          static_cast<char>(random.Between(0, 255));
    }
    std::string name = StrCat("Turned/", i);
    folder.Write(name, bytes);
    Result<Zone> zone = Zone::Load(name);
    if (zone.ok()) zone->ToLocal({random.Between(0, kLastSecond) * 1000});
  }
}

TEST(Zone, ARepairedFileLoadsWithoutARestart) {
  std::string whole = ZoneBytes("Europe/London");
  Folder folder;
  folder.Write("Europe/London", "TZif");
  Variable dir("TZDIR", folder.path());
  EXPECT_NE(LoadError("Europe/London"), "loaded");
  folder.Write("Europe/London", whole);
  EXPECT_EQ(LoadError("Europe/London"), "loaded");
}

TEST(ZoneData, TheVersionIsReadFromTheFolderInUse) {
  Folder folder;
  Variable dir("TZDIR", folder.path());
  EXPECT_EQ(ZoneDataVersion(), "unknown");
  folder.Write("tzdata.zi", "# version 2031b\n# redo posix_only\n");
  EXPECT_EQ(ZoneDataVersion(), "2031b");
  folder.Write("tzdata.zi", "Z Africa/Algiers 0:12:12 - LMT\n");
  EXPECT_EQ(ZoneDataVersion(), "unknown");
}

TEST(ZoneData, NoUsableDataIsRefusedWithWhatToInstall) {
  EXPECT_TRUE(CheckZoneData().ok());
  std::string whole = ZoneBytes("Etc/UTC");
  Folder folder;
  Variable dir("TZDIR", folder.path());
  ASSERT_FALSE(CheckZoneData().ok());
  EXPECT_TRUE(Has(CheckZoneData().error().message(), "install the package tzdata"));
  EXPECT_TRUE(Has(CheckZoneData().error().message(), folder.path()));
  folder.Write("Etc/UTC", "");
  EXPECT_FALSE(CheckZoneData().ok());
  folder.Write("Etc/UTC", whole);
  EXPECT_TRUE(CheckZoneData().ok());
  Variable gone("TZDIR", folder.path() + "/gone");
  EXPECT_TRUE(Has(CheckZoneData().error().message(), "does not exist"));
  EXPECT_TRUE(Has(LoadError("Europe/London"), "does not exist"));
  EXPECT_EQ(LoadError("UTC"), "loaded");
}

}  // namespace
}  // namespace duecourse
