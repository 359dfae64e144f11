// duecourse.yaml: the server's own settings. Plain data; immutable after loading.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rule/rule.h"
#include "time/calendar.h"

namespace duecourse {

struct PoolConfig {
  std::string name;
  int max_concurrency = 1;
};
struct ChannelConfig {
  enum class Kind { kCommand, kWebhook };
  std::string name;
  Kind kind = Kind::kCommand;
  std::vector<std::string> command;     // the alert comes as JSON on standard input and in DUECOURSE_ALERT_*
  std::string url;                      // webhook: POST of the JSON
  std::optional<SecretRef> url_secret;  // in place of url, where the URL itself is the secret
  std::vector<std::pair<std::string, TextOrSecret>> headers;
  Millis timeout = Seconds(10);
};
struct OwnerConfig {
  std::string name;
  std::vector<std::pair<AlertLevel, std::vector<std::string>>>
      channels;  // by level, names of channels in order of trying
};
struct FlagConfig {
  std::string name;    // template text; dates left out
  std::string set_by;  // who sets it: a sentence
};
// No automatic start inside. Either one stretch of instants or a daily stretch in a zone.
struct MaintenanceConfig {
  std::string name;
  std::string why;
  std::optional<Instant> from;
  std::optional<Instant> until;
  std::optional<Schedule> cron;  // begins when due, lasts `length`
  Millis length;
  std::vector<std::string> tasks;  // empty: all
};

struct ServerConfig {
  std::string file;             // where it was read; empty: defaults
  std::string folder = ".";     // paths are relative to it
  std::string rules = "rules";  // folder or file, as written
  std::string data = "data";
  std::string node_id;  // a label; default the host name
  std::vector<std::pair<std::string, OwnerConfig>> owners;
  std::vector<ChannelConfig> channels;
  std::vector<std::pair<std::string, Calendar>> calendars;
  std::vector<PoolConfig> pools;
  std::vector<FlagConfig> flags;
  std::vector<MaintenanceConfig> maintenance;
  std::vector<std::string> file_roots;  // folders that file preconditions may read; empty: as probe/file.h says
  std::vector<std::string>
      http_allow;  // hosts or networks that may be called although private; loopback is listed by default
  Millis drain_timeout = Seconds(60);
  Millis retention = Days(90);  // of history, never of a live key
  bool allow_unsafe_durability = false;
  int command_slots = 256;  // commands running at once on this machine
  int http_slots = 512;
  std::vector<UnsupportedKey> unsupported;  // keys of later issues, as in RuleBody

  const Calendar* FindCalendar(const std::string& name) const;
  const PoolConfig* FindPool(const std::string& name) const;
};

}  // namespace duecourse
