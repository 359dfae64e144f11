#include "base/text.h"
#include "rule/choices.h"
#include "rule/print.h"
#include "rule/print_parts.h"

namespace duecourse {
namespace {

std::string TextList(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  for (const std::string& text : texts) items.push_back(YamlScalar(text));
  return FlowList(items);
}

template <typename Days>
std::string DayList(const Days& days) {
  std::vector<std::string> items;
  for (CivilDay day : days) items.push_back(FormatDay(day));
  return FlowList(items);
}

PrintNode ChannelTree(const ChannelConfig& channel) {
  TreePrinter tree(true);
  if (channel.kind == ChannelConfig::Kind::kCommand) {
    if (!channel.command.empty()) tree.Put("command", TextList(channel.command), false);
  } else {
    TreePrinter webhook(true);
    TextOrSecret url;
    url.secret = channel.url_secret;
    webhook.Put("url", channel.url_secret ? ValueYaml(url) : YamlScalar(channel.url), false);
    for (const auto& [name, value] : channel.headers)
      MapAt(MapAt(webhook.map(), "headers"), name) = ScalarNode(ValueYaml(value));
    tree.Put("webhook", webhook.Take());
  }
  tree.Put("timeout", FormatMillis(channel.timeout), channel.timeout == Seconds(10));
  return tree.Take();
}

PrintNode CalendarTree(const Calendar& calendar) {
  TreePrinter tree(true);
  tree.Put("weekend", DaysYaml(calendar.weekend), calendar.weekend == Calendar().weekend);
  if (!calendar.holidays.empty()) tree.Put("holidays", DayList(calendar.holidays), false);
  if (!calendar.workdays.empty()) tree.Put("workdays", DayList(calendar.workdays), false);
  std::vector<std::string> years;
  for (int year : calendar.covers) years.push_back(StrCat(year));
  if (!years.empty()) tree.Put("covers", FlowList(years), false);
  return tree.Take();
}

PrintNode MaintenanceTree(const MaintenanceConfig& maintenance) {
  TreePrinter tree(true);
  if (!maintenance.name.empty()) tree.Put("name", YamlScalar(maintenance.name), false);
  if (!maintenance.why.empty()) tree.Put("why", YamlScalar(maintenance.why), false);
  if (maintenance.from) tree.Put("from", QuoteYaml(FormatUtc(*maintenance.from)), false);
  if (maintenance.until) tree.Put("until", QuoteYaml(FormatUtc(*maintenance.until)), false);
  if (maintenance.cron) {
    if (const auto* cron = std::get_if<CronSchedule>(&maintenance.cron->kind))
      tree.Put("cron", QuoteYaml(cron->cron.expression()), false);
    tree.Put("timezone", YamlScalar(maintenance.cron->zone.name()), false);
    tree.Put("length", FormatMillis(maintenance.length), false);
  }
  if (!maintenance.tasks.empty()) tree.Put("tasks", TextList(maintenance.tasks), false);
  return tree.Take();
}

void PutMaps(const ServerConfig& config, TreePrinter* tree) {
  for (const auto& [name, owner] : config.owners) {
    for (const auto& [level, channels] : owner.channels) {
      MapAt(MapAt(MapAt(tree->map(), "owners"), name), NameOf(kAlertLevelNames, level)) =
          ScalarNode(TextList(channels));
    }
  }
  for (const ChannelConfig& channel : config.channels)
    MapAt(MapAt(tree->map(), "channels"), channel.name) = ChannelTree(channel);
  for (const auto& [name, calendar] : config.calendars)
    MapAt(MapAt(tree->map(), "calendars"), name) = CalendarTree(calendar);
  for (const PoolConfig& pool : config.pools) {
    MapAt(MapAt(MapAt(tree->map(), "pools"), pool.name), "max_concurrency") =
        ScalarNode(StrCat(pool.max_concurrency));
  }
  for (const FlagConfig& flag : config.flags)
    MapAt(MapAt(tree->map(), "flags"), flag.name) = ScalarNode(YamlScalar(flag.set_by));
}

}  // namespace

PrintNode ConfigTree(const ServerConfig& config) {
  const ServerConfig plain;
  TreePrinter tree(true);
  tree.Put("rules", YamlScalar(config.rules), config.rules == plain.rules);
  tree.Put("data", YamlScalar(config.data), config.data == plain.data);
  if (!config.node_id.empty()) tree.Put("node_id", YamlScalar(config.node_id), false);
  PutMaps(config, &tree);
  PrintNode maintenance;
  maintenance.kind = PrintNode::Kind::kList;
  for (const MaintenanceConfig& entry : config.maintenance)
    maintenance.items.push_back(MaintenanceTree(entry));
  tree.Put("maintenance", std::move(maintenance));
  if (!config.file_roots.empty()) tree.Put("file_roots", TextList(config.file_roots), false);
  if (!config.http_allow.empty()) tree.Put("http_allow", TextList(config.http_allow), false);
  tree.Put("drain_timeout", FormatMillis(config.drain_timeout), config.drain_timeout == plain.drain_timeout);
  tree.Put("retention", FormatMillis(config.retention), config.retention == plain.retention);
  tree.Put("command_slots", StrCat(config.command_slots), config.command_slots == plain.command_slots);
  tree.Put("http_slots", StrCat(config.http_slots), config.http_slots == plain.http_slots);
  tree.Put("allow_unsafe_durability", config.allow_unsafe_durability ? "true" : "false",
           !config.allow_unsafe_durability);
  PrintNode whole = tree.Take();
  for (const UnsupportedKey& key : config.unsupported) InsertAt(whole, key.path, key.text);
  return whole;
}

}  // namespace duecourse
