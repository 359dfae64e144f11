#include "rule/parse_config.h"

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/network.h"
#include "base/text.h"
#include "rule/keys.h"
#include "rule/parse.h"
#include "rule/reader.h"
#include "rule/secret.h"
#include "rule/tree.h"

namespace duecourse {
namespace {

constexpr int kYearMin = 1970;
constexpr int kYearMax = 2199;
constexpr size_t kDaysListedMax = 100'000;

std::string SamePlace(std::string_view key) { return std::string(key); }
constexpr TreeTable kConfigTable = {ConfigKeysAt, SamePlace};

// What is wrong with an entry of file_roots; empty where nothing is. Whether the folder is there is seen when
// a file is asked for: rules are checked on other machines too.
std::string FolderFault(std::string_view text) {
  const char* wrong = nullptr;
  if (Trim(text).empty()) wrong = "is empty; write the folder, e.g. /data";
  if (text.find("://") != std::string_view::npos)
    wrong = "is a URL; write a folder of this machine, e.g. /data";
  if (text.starts_with('~')) wrong = "is not expanded; write the folder from / on, e.g. /srv/data";
  if (text.find('$') != std::string_view::npos || text.find('{') != std::string_view::npos)
    wrong = "takes no variables; write the folder itself, e.g. /data";
  if (text.find('*') != std::string_view::npos || text.find('?') != std::string_view::npos)
    wrong = "is a pattern; write the folder that holds them all, e.g. /data: everything below it may be read";
  return wrong == nullptr ? "" : StrCat("\"", ShowBytes(text, false), "\" ", wrong);
}

class ConfigParser {
 public:
  ConfigParser(const ConfigSource& source, Reader& reader, ServerConfig& config)
      : source_(source), reader_(reader), config_(config), parts_(reader, kept_) {}

  void Parse(const MapView& root) {
    reader_.Text(root.Get("rules"), &config_.rules);
    reader_.Text(root.Get("data"), &config_.data);
    reader_.Name(root.Get("node_id"), &config_.node_id);
    for (const auto& [name, field] : Named(root.Get("channels"))) ParseChannel(name, field);
    for (const auto& [name, field] : Named(root.Get("owners"))) ParseOwner(name, field);
    for (const auto& [name, field] : Named(root.Get("calendars"))) ParseCalendar(name, field);
    for (const auto& [name, field] : Named(root.Get("pools"))) ParsePool(name, field);
    for (const auto& [name, field] : reader_.Members(root.Get("flags"))) ParseFlag(name, field);
    for (const Field& item : reader_.Items(root.Get("maintenance"))) ParseMaintenance(item);
    config_.file_roots = Listed(root.Get("file_roots"), FolderFault);
    config_.http_allow = Listed(root.Get("http_allow"), AllowEntryFault);
    reader_.Duration(root.Get("drain_timeout"), Millis{0}, Hours(24), &config_.drain_timeout);
    reader_.Duration(root.Get("retention"), Days(1), Days(3650), &config_.retention);
    reader_.Boolean(root.Get("allow_unsafe_durability"), &config_.allow_unsafe_durability);
    reader_.Integer(root.Get("command_slots"), 1, 100'000, &config_.command_slots);
    reader_.Integer(root.Get("http_slots"), 1, 100'000, &config_.http_slots);
    if (Field field = root.Get("templates")) parts_.KeepUnsupported(field, "templates of rules");
    if (Field field = root.Get("connections")) parts_.KeepUnsupported(field, "connections");
    config_.unsupported = std::move(kept_.unsupported);
    Sort();
  }

 private:
  // Members whose names are names of ours.
  std::vector<std::pair<std::string, Field>> Named(const Field& field) {
    auto members = reader_.Members(field);
    auto refused = [&](const std::pair<std::string, Field>& member) {
      YamlNode name = MakeScalar(member.second.node->place, member.first);
      std::string unused;
      return !reader_.Name({&name, member.second.path}, &unused);
    };
    members.erase(std::remove_if(members.begin(), members.end(), refused), members.end());
    return members;
  }
  std::vector<std::string> Texts(const Field& field) {
    std::vector<std::string> texts;
    for (const Field& item : reader_.Items(field)) {
      std::string text;
      if (reader_.Text(item, &text)) texts.push_back(std::move(text));
    }
    return texts;
  }

  // A list of texts, each of which must be one that can be meant.
  std::vector<std::string> Listed(const Field& field, std::string (*fault_of)(std::string_view)) {
    std::vector<std::string> texts;
    for (const Field& item : reader_.Items(field)) {
      std::string text;
      if (!reader_.Text(item, &text)) continue;
      std::string fault = fault_of(text);
      if (!fault.empty()) {
        bool hide = HoldsSecret(text);
        reader_.Fault(item, {"bad_value", hide ? "this entry cannot be read" : fault, ""});
      }
      texts.push_back(std::move(text));
    }
    return texts;
  }

  void ParseChannel(const std::string& name, const Field& field) {
    ChannelConfig channel;
    channel.name = name;
    MapView map(reader_, field);
    if (!map) return;
    reader_.Duration(map.Get("timeout"), Millis{100}, Minutes(10), &channel.timeout);
    Field command = map.Get("command");
    Field webhook = map.Get("webhook");
    bool later = false;
    for (const char* kind : {"slack", "dingtalk", "wecom", "feishu", "email"}) {
      if (Field given = map.Get(kind)) {
        parts_.KeepUnsupported(given, StrCat(kind, " channels"));
        later = true;
      }
    }
    if (command && webhook) {
      reader_.Fault(webhook,
                    {"conflict", "a channel is a command or a webhook, not both", "write two channels"});
    } else if (command) {
      ReadChannelCommand(command, &channel);
    } else if (webhook) {
      ReadWebhook(webhook, &channel);
    } else if (!later) {
      reader_.Missing(field.node->place, field.path, "nothing says how this channel sends",
                      "write command: [program, …] or webhook: {url: …}");
    }
    config_.channels.push_back(std::move(channel));
  }
  void ReadChannelCommand(const Field& command, ChannelConfig* channel) {
    for (const Template& part : parts_.ReadCommand(command)) {
      if (!part.constant()) {
        reader_.Fault(command, {"bad_template", "a channel's command takes no {variables}",
                                "the alert comes on standard input and in DUECOURSE_ALERT_*"});
        return;
      }
      Result<std::string> text = Render(part, TemplateScope{});
      channel->command.push_back(text.ok() ? *text : part.text());
    }
  }
  void ReadWebhook(const Field& webhook, ChannelConfig* channel) {
    channel->kind = ChannelConfig::Kind::kWebhook;
    Field url = webhook;
    if (webhook.node->kind != YamlNode::Kind::kScalar) {
      MapView map(reader_, webhook);
      url = map.Get("url");
      if (map && !url) {
        reader_.Missing(webhook.node->place, webhook.path, "url is missing", "write url: https://host/path");
      }
      parts_.ReadHeaders(map.Get("headers"), &channel->headers);
    }
    if (url && url.node->kind == YamlNode::Kind::kMap) {
      TextOrSecret secret;
      if (parts_.ReadValue(url, kTextMax, &secret)) channel->url_secret = secret.secret;
      return;
    }
    Template text;
    if (!parts_.ReadUrl(url, &text)) return;
    if (!text.constant()) {
      reader_.Fault(url,
                    {"bad_template", "a channel's url takes no {variables}", "the alert is in the body"});
    }
    channel->url = text.text();
  }

  void ParseOwner(const std::string& name, const Field& field) {
    OwnerConfig owner;
    owner.name = name;
    MapView map(reader_, field);
    for (auto level = kAlertLevelNames.rbegin(); level != kAlertLevelNames.rend(); ++level) {
      Field list = map.Get(level->name);
      if (!list) continue;
      std::vector<std::string> names;
      for (const Field& item : reader_.Items(list)) {
        std::string channel;
        if (!reader_.Name(item, &channel)) continue;
        RequireChannel(item, channel);
        names.push_back(std::move(channel));
      }
      owner.channels.emplace_back(level->value, std::move(names));
    }
    config_.owners.emplace_back(name, std::move(owner));
  }
  void RequireChannel(const Field& item, const std::string& name) {
    std::vector<std::string> known;
    for (const ChannelConfig& channel : config_.channels) known.push_back(channel.name);
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    std::optional<std::string> nearest = Nearest(name, known);
    reader_.Fault(item, {"unknown_channel", StrCat("there is no channel ", name),
                         nearest ? StrCat("did you mean ", *nearest, "?") : "write it under channels"});
  }

  void ParseCalendar(const std::string& name, const Field& field) {
    Calendar calendar;
    MapView map(reader_, field);
    Field ics = map.Get("ics");
    if (ics) ReadIcs(ics, &calendar);
    calendar.name = name;
    if (Field weekend = map.Get("weekend")) {
      unsigned bits = 0;
      for (const Field& item : reader_.Items(weekend)) {
        int day = 0;
        if (reader_.Choose(item, kWeekdayNames, &day)) bits |= 1u << day;
      }
      calendar.weekend = static_cast<uint8_t>(bits);
    }
    ReadDays(map.Get("holidays"), &calendar.holidays);
    ReadDays(map.Get("workdays"), &calendar.workdays);
    Field covers = map.Get("covers");
    if (covers) calendar.covers.clear();
    for (const Field& item : reader_.Items(covers)) {
      int year = 0;
      if (reader_.Integer(item, kYearMin, kYearMax, &year)) calendar.covers.insert(year);
    }
    // A list of days says nothing of years that it has none of.
    if (!covers && !ics) {
      for (CivilDay day : calendar.holidays) calendar.covers.insert(ToYmd(day).year);
      for (CivilDay day : calendar.workdays) calendar.covers.insert(ToYmd(day).year);
    }
    config_.calendars.emplace_back(name, std::move(calendar));
  }
  void ReadIcs(const Field& field, Calendar* calendar) {
    std::string path;
    if (!reader_.Text(field, &path, 4096)) return;
    Result<std::string> text = source_.read_file(JoinPath(config_.folder, path));
    if (!text.ok()) {
      reader_.Fault(field, {"file_unreadable", text.error().message(), ""});
      return;
    }
    Result<Calendar> parsed = ParseIcs(*text);
    if (parsed.ok()) {
      *calendar = *std::move(parsed);
    } else {
      reader_.Fault(field,
                    {"calendar_invalid", StrCat(ShowBytes(path, false), ": ", parsed.error().message()), ""});
    }
  }
  void ReadDays(const Field& field, std::set<CivilDay>* out) {
    if (!field) return;
    if (field.node->kind == YamlNode::Kind::kSequence && field.node->items.size() > kDaysListedMax) {
      reader_.Fault(field, {"too_many", StrCat("a calendar lists at most ", kDaysListedMax, " days"), ""});
      return;
    }
    // Longer than the lists that Items allows.
    for (size_t i = 0; i < field.node->items.size(); ++i) {
      CivilDay day;
      if (reader_.Day({&field.node->items[i], JoinIndex(field.path, i)}, &day)) out->insert(day);
    }
    if (field.node->kind == YamlNode::Kind::kSequence) return;
    CivilDay day;
    if (reader_.Day(field, &day)) out->insert(day);
  }

  void ParsePool(const std::string& name, const Field& field) {
    PoolConfig pool;
    pool.name = name;
    if (field.node->kind == YamlNode::Kind::kScalar) {
      reader_.Integer(field, 1, 100'000, &pool.max_concurrency);
    } else {
      MapView map(reader_, field);
      reader_.Integer(map.Get("max_concurrency"), 1, 100'000, &pool.max_concurrency);
      for (const char* key : {"rate", "min_interval", "weight"}) {
        if (Field given = map.Get(key)) parts_.KeepUnsupported(given, StrCat(key, " of pools"));
      }
      if (map && map.field().node->members.empty()) {
        reader_.Missing(field.node->place, field.path, "this pool has no limit", "write max_concurrency: 4");
      }
    }
    config_.pools.push_back(std::move(pool));
  }

  void ParseFlag(const std::string& name, const Field& field) {
    FlagConfig flag;
    YamlNode key = MakeScalar(field.node->place, name);
    if (!reader_.Text({&key, field.path}, &flag.name, 200)) return;
    reader_.Text(field.node->kind == YamlNode::Kind::kMap ? MapView(reader_, field).Get("set_by") : field,
                 &flag.set_by);
    config_.flags.push_back(std::move(flag));
  }

  void ParseMaintenance(const Field& item) {
    MaintenanceConfig out;
    MapView map(reader_, item);
    if (!map) return;
    reader_.Text(map.Get("name"), &out.name, 128);
    reader_.Text(map.Get("why"), &out.why);
    out.tasks = Texts(map.Get("tasks"));
    Instant instant;
    Field from = map.Get("from");
    Field until = map.Get("until");
    if (reader_.Utc(from, &instant)) out.from = instant;
    if (reader_.Utc(until, &instant)) out.until = instant;
    if (out.from && out.until && *out.until <= *out.from) {
      reader_.Fault(until, {"out_of_range", "it ends before it begins", "write an instant after from"});
    }
    Field cron = map.Get("cron");
    if (cron) ReadMaintenanceCron(map, &out);
    if (cron && (from || until)) {
      reader_.Fault(cron, {"conflict", "from and until name one stretch, cron many", "keep one of them"});
    } else if (!cron && (!from || !until)) {
      reader_.Missing(item.node->place, item.path, "nothing says when this maintenance is",
                      "write from and until, or cron, timezone and length");
    }
    config_.maintenance.push_back(std::move(out));
  }
  void ReadMaintenanceCron(const MapView& map, MaintenanceConfig* out) {
    std::string text;
    std::string zone_name;
    const YamlPlace place = map.field().node->place;
    if (!map.Has("timezone"))
      reader_.Missing(place, map.field().path, "timezone is missing", "write timezone: UTC");
    if (!map.Has("length")) reader_.Missing(place, map.field().path, "length is missing", "write length: 2h");
    reader_.Duration(map.Get("length"), Seconds(1), Days(31), &out->length);
    Field cron = map.Get("cron");
    Field timezone = map.Get("timezone");
    if (!reader_.Text(cron, &text) || !reader_.Text(timezone, &zone_name, 100)) return;
    Result<Cron> parsed = Cron::Parse(text);
    Result<Zone> zone = Zone::Load(zone_name);
    if (!parsed.ok()) reader_.Fault(cron, {"cron_invalid", parsed.error().message(), ""});
    if (!zone.ok()) reader_.Fault(timezone, {"timezone_unknown", zone.error().message(), ""});
    if (!parsed.ok() || !zone.ok()) return;
    Schedule schedule;
    schedule.kind = CronSchedule{*parsed, {}};
    schedule.zone = *zone;
    out->cron = std::move(schedule);
  }

  // The order in which names were written has no meaning.
  void Sort() {
    auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    auto by_first = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::sort(config_.channels.begin(), config_.channels.end(), by_name);
    std::sort(config_.pools.begin(), config_.pools.end(), by_name);
    std::sort(config_.flags.begin(), config_.flags.end(), by_name);
    std::sort(config_.owners.begin(), config_.owners.end(), by_first);
    std::sort(config_.calendars.begin(), config_.calendars.end(), by_first);
  }

  const ConfigSource& source_;
  Reader& reader_;
  ServerConfig& config_;
  RuleBody kept_;  // takes what RuleParts keeps for later
  RuleParts parts_;
};

}  // namespace

ServerConfig ParseConfig(const ConfigSource& source, FindingList& findings) {
  ServerConfig config;
  config.file = source.path;
  config.folder = ParentFolder(source.path);
  Reader reader(source.path, findings);
  YamlText text = ParseYaml(source.text);
  for (const YamlFault& fault : text.faults)
    reader.Fault(fault.place, "", {"yaml_invalid", fault.message, ""});
  if (text.documents.empty() || text.documents.front().kind == YamlNode::Kind::kNull) return config;
  YamlNode& root = text.documents.front();
  if (text.documents.size() > 1) {
    reader.Fault(text.documents[1].place, "",
                 {"wrong_type", "settings are one document", "leave the line --- out"});
  }
  CheckTree(root, kConfigTable, reader);
  MapView map(reader, {&root, ""});
  ConfigParser(source, reader, config).Parse(map);
  return config;
}

}  // namespace duecourse
