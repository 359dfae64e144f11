#include <algorithm>
#include <utility>

#include "base/text.h"
#include "rule/defaults.h"
#include "rule/parse.h"

namespace duecourse {
namespace {

constexpr uint8_t kEveryDay = 0x7f;

// "mon" or "Monday" as its number; nothing where it is no weekday.
std::optional<int> WeekdayNamed(std::string_view text) {
  std::string lower = AsciiLower(Trim(text));
  static constexpr std::array<const char*, 7> kLong = {"sunday",   "monday", "tuesday", "wednesday",
                                                       "thursday", "friday", "saturday"};
  for (const auto& day : kWeekdayNames) {
    if (lower == day.name || lower == kLong[static_cast<size_t>(day.value)]) return day.value;
  }
  return std::nullopt;
}

// "mon", "mon-fri", "fri-mon" as bits; nothing where it is neither.
std::optional<uint8_t> WeekdaysNamed(std::string_view text) {
  std::vector<std::string_view> ends = Split(text, '-');
  if (ends.size() > 2) return std::nullopt;
  std::optional<int> from = WeekdayNamed(ends.front());
  std::optional<int> to = WeekdayNamed(ends.back());
  if (!from || !to) return std::nullopt;
  unsigned bits = 0;
  for (int day = *from;; day = (day + 1) % 7) {
    bits |= 1u << day;
    if (day == *to) break;
  }
  return static_cast<uint8_t>(bits);
}

bool ParseOffset(std::string_view text, int* days) {
  bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  if (!text.ends_with('d')) return false;
  text.remove_suffix(1);
  std::optional<int64_t> number = ParseInteger(text);
  if (!number || *number < 0 || *number > 3650) return false;
  *days = static_cast<int>(minus ? -*number : *number);
  return true;
}

// A local time "2026-06-01 09:00" or "2026-06-01T09:00:30".
std::optional<CivilTime> ParseLocal(std::string_view text) {
  size_t gap = text.find_first_of(" T");
  if (gap == std::string_view::npos) return std::nullopt;
  Result<CivilDay> day = ParseDay(text.substr(0, gap));
  Result<int32_t> time = ParseTimeOfDay(Trim(text.substr(gap + 1)));
  if (!day.ok() || !time.ok()) return std::nullopt;
  return CivilTime{*day, *time};
}

}  // namespace

void RuleParts::ParseTrigger(const MapView& trigger) {
  if (!trigger) return;
  if (Field event = trigger.Get("event")) KeepUnsupported(event, "event triggers");
  if (Field external = trigger.Get("external")) KeepUnsupported(external, "external triggers");
  if (Field spread = trigger.Get("spread")) KeepUnsupported(spread, "spread");
  if (Field run_on = trigger.Get("run_on")) KeepUnsupported(run_on, "run_on");
  ParseSchedule(trigger);
  ParseBusinessDate(trigger.Get("business_date"));
  ParseWindow(trigger);
  ParseDays(trigger);
  ParsePreconditions(trigger.Get("preconditions"));
  ParseLimits(trigger);
}

bool RuleParts::ParseZone(const MapView& trigger, Zone* zone) {
  Field field = trigger.Get("timezone");
  if (!field) {
    reader_.Missing(trigger.field().node->place, "trigger.timezone", "a rule always names its time zone",
                    "write timezone: Asia/Shanghai, or UTC; the host's zone is never used");
    return false;
  }
  std::string name;
  if (!reader_.Text(field, &name, 100)) return false;
  if (name == "{zone}") {
    body_.trigger.zone_by_value = true;
    auto lacks = [](const ForEachValue& value) {
      return std::none_of(value.fields.begin(), value.fields.end(),
                          [](const auto& f) { return f.first == "zone"; });
    };
    if (body_.for_each.empty() || std::any_of(body_.for_each.begin(), body_.for_each.end(), lacks)) {
      reader_.Fault(field, {"timezone_unknown", "{zone} needs a zone in every value of for_each",
                            "write for_each: [{user: u1, zone: Asia/Tokyo}]"});
      return false;
    }
    return true;
  }
  Result<Zone> loaded = Zone::Load(name);
  if (!loaded.ok()) {
    reader_.Fault(field, {"timezone_unknown", loaded.error().message(), ""});
    return false;
  }
  *zone = *loaded;
  return true;
}

void RuleParts::ParseSchedule(const MapView& trigger) {
  Zone zone = Zone::Utc();
  bool zone_known = ParseZone(trigger, &zone);
  std::vector<Field> sources;
  for (const char* key : {"cron", "every", "at"}) {
    if (Field field = trigger.Get(key)) sources.push_back(field);
  }
  if (sources.size() > 1) {
    reader_.Fault(sources[1], {"conflict",
                               StrCat(sources[0].path, " at line ", sources[0].node->place.line,
                                      " says already when the rule is due"),
                               "keep one of cron, every and at"});
  }
  if (sources.empty() && !trigger.Has("event") && !trigger.Has("external")) {
    reader_.Missing(trigger.field().node->place, "trigger.cron", "nothing says when this rule is due",
                    "write cron, every or at");
  }
  Schedule schedule;
  if (zone_known) schedule.zone = zone;
  Field cron = trigger.Get("cron");
  Field dialect = trigger.Get("dialect");
  Field dst = trigger.Get("dst");
  std::string word;
  static constexpr std::array<Choice<bool>, 2> kDialects = {{{"unix", false}, {"quartz", true}}};
  bool quartz = false;
  reader_.Choose(dialect, kDialects, &quartz);
  if (quartz) {
    KeepUnsupported(dialect, "the quartz dialect of cron");
    if (cron) KeepUnsupported(cron, "the quartz dialect of cron");
  } else if (reader_.Text(cron, &word, 100'000)) {
    Result<Cron> parsed = Cron::Parse(word);
    if (parsed.ok()) {
      CronSchedule by_cron{*parsed, {}};
      MapView rule(reader_, dst);
      reader_.Choose(rule.Get("gap"), kGapNames, &by_cron.dst.gap);
      body_.trigger.dst_gap_written = rule.Has("gap");
      reader_.Choose(rule.Get("overlap"), kOverlapNames, &by_cron.dst.overlap);
      schedule.kind = std::move(by_cron);
    } else {
      reader_.Fault(cron, {"cron_invalid", parsed.error().message(), ""});
    }
  }
  SetSchedule(trigger, std::move(schedule));
}

// The two kinds without cron, and what belongs to one kind only.
void RuleParts::SetSchedule(const MapView& trigger, Schedule schedule) {
  Field anchor = trigger.Get("anchor");
  Field every = trigger.Get("every");
  if (Field dst = trigger.Get("dst"); dst && !trigger.Has("cron")) {
    reader_.Fault(dst, {"conflict", "dst changes what cron does when clocks change; there is no cron here",
                        "leave dst out"});
  }
  if (anchor && !every) {
    reader_.Fault(anchor, {"conflict", "anchor belongs to every, which is not here",
                           "leave anchor out, or write every"});
  }
  if (every) {
    EverySchedule by_time;
    if (reader_.Duration(every, Seconds(1), Days(3650), &by_time.every)) {
      bool anchored = reader_.Utc(anchor, &by_time.anchor);
      if (!anchor && by_time.every >= Days(1)) {
        reader_.Missing(every.node->place, "trigger.anchor",
                        "from one day up, every needs an anchor to count from",
                        "write anchor: 2026-03-01T02:00:00Z");
      }
      if (anchored || !anchor) schedule.kind = by_time;
    }
  } else if (Field at = trigger.Get("at")) {
    AtSchedule by_list;
    ParseAt(at, &by_list);
    schedule.kind = std::move(by_list);
  }
  body_.trigger.schedule = schedule;
  if (!body_.trigger.zone_by_value) return;
  for (ForEachValue& value : body_.for_each) {
    for (const auto& [name, text] : value.fields) {
      if (name != "zone") continue;
      Result<Zone> zone = Zone::Load(text);
      if (!zone.ok()) {
        reader_.Fault(trigger.Get("timezone"),
                      {"timezone_unknown", zone.error().message(), "mend it in for_each"});
        continue;
      }
      value.schedule = schedule;
      value.schedule->zone = *zone;
    }
  }
}

void RuleParts::ParseAt(const Field& field, AtSchedule* out) {
  for (const Field& item : reader_.Items(field)) {
    std::string text;
    if (!reader_.Text(item, &text, 100)) continue;
    if (std::optional<CivilTime> time = ParseLocal(text)) {
      out->at.push_back(*time);
      continue;
    }
    bool has_offset = ParseUtc(text).ok();
    reader_.Fault(
        item, {"bad_date",
               has_offset ? "this is a local time of the rule's timezone; it takes no offset"
                          : StrCat("expected a date and time that exist, got ", ShowValue(*item.node, "")),
               "write one like \"2026-06-01 09:00\""});
  }
  std::sort(out->at.begin(), out->at.end());
  out->at.erase(std::unique(out->at.begin(), out->at.end()), out->at.end());
}

void RuleParts::ParseBusinessDate(const Field& field) {
  if (!field) return;
  BusinessDateRule& date = body_.trigger.business_date;
  if (field.node->kind == YamlNode::Kind::kScalar && !ParseOffset(field.node->scalar, &date.offset_days)) {
    reader_.Choose(field, kBusinessDateNames, &date.kind);
    return;
  }
  Field offset = field.node->kind == YamlNode::Kind::kScalar ? field : MapView(reader_, field).Get("offset");
  const std::string* text = reader_.Scalar(offset, "a number of days");
  if (text == nullptr) return;
  if (!ParseOffset(*text, &date.offset_days)) {
    reader_.Fault(
        offset, {"bad_value", StrCat("expected a number of days, got ", ShowValue(*offset.node, offset.path)),
                 "write one like -2d"});
    return;
  }
  // One meaning, one form: what has a name of its own is kept under it.
  date.kind = date.offset_days == 0    ? BusinessDateRule::Kind::kSameDay
              : date.offset_days == -1 ? BusinessDateRule::Kind::kPreviousDay
                                       : BusinessDateRule::Kind::kOffset;
  if (date.kind != BusinessDateRule::Kind::kOffset) date.offset_days = 0;
}

void RuleParts::ParseWindow(const MapView& trigger) {
  WindowSpec& window = body_.trigger.window;
  int32_t second = 0;
  if (reader_.TimeOfDay(trigger.Get("window_start"), &second)) window.start = second;
  Field end = trigger.Get("window_end");
  body_.trigger.window_end_written = static_cast<bool>(end);
  if (end && end.node->kind == YamlNode::Kind::kScalar && end.node->scalar.starts_with('+')) {
    YamlNode rest = *end.node;
    rest.scalar.erase(0, 1);
    Millis length;
    if (reader_.Duration({&rest, end.path}, Seconds(1), Days(3650), &length)) window.length = length;
  } else if (end && end.node->kind == YamlNode::Kind::kScalar && ParseMillis(end.node->scalar).ok()) {
    reader_.Fault(end,
                  {"bad_time", StrCat("expected HH:MM or a length from the due time, got ", end.node->scalar),
                   StrCat("write +", end.node->scalar)});
  } else if (reader_.TimeOfDay(end, &second)) {
    window.end = second;
  }
  ReadWhy(MapView(reader_, trigger.Get("window")), "window");
  reader_.Choose(trigger.Get("on_window_end"), kOnWindowEndNames, &body_.trigger.on_window_end);
  reader_.Choose(trigger.Get("missed"), kMissedNames, &body_.trigger.missed);
}

void RuleParts::ParseDays(const MapView& trigger) {
  Field days = trigger.Get("days");
  unsigned bits = 0;
  bool workdays = false;
  for (const Field& item : reader_.Items(days)) {
    const std::string* text = reader_.Scalar(item, "a day of the week");
    if (text == nullptr) continue;
    if (*text == "workdays") {
      workdays = true;
    } else if (std::optional<uint8_t> named = WeekdaysNamed(*text)) {
      bits |= *named;
    } else {
      reader_.Fault(item,
                    {"bad_value", StrCat("expected days of the week, got ", ShowValue(*item.node, item.path)),
                     "write mon-fri, [mon, wed], or workdays"});
    }
  }
  if (days && bits == 0 && days.node->kind == YamlNode::Kind::kSequence && days.node->items.empty()) {
    reader_.Fault(days, {"empty_value", "no day is left on which this rule may run",
                         "name the days, or leave the key out"});
  }
  body_.trigger.days = bits == 0 ? kEveryDay : static_cast<uint8_t>(bits);
  CivilDay until;
  if (reader_.Day(trigger.Get("until"), &until)) body_.trigger.until = until;
  reader_.Name(trigger.Get("calendar"), &body_.trigger.calendar);
  Field weekend = trigger.Get("allow_weekend");
  bool allowed = true;
  reader_.Boolean(weekend, &allowed);
  if (weekend && allowed && (workdays || !body_.trigger.calendar.empty())) {
    reader_.Fault(weekend, {"conflict", "this rule keeps to working days, so it cannot allow weekends too",
                            "leave allow_weekend out; made-up working days stand in the calendar"});
  }
  body_.trigger.workdays_only = workdays || !allowed;
  reader_.Choose(trigger.Get("on_excluded"), kOnExcludedNames, &body_.trigger.on_excluded);
}

void RuleParts::ParseLimits(const MapView& trigger) {
  TriggerRule& out = body_.trigger;
  reader_.Duration(trigger.Get("check_interval"), Seconds(1), Days(1), &out.check_interval);
  reader_.Duration(trigger.Get("min_interval"), Millis{0}, Days(365), &out.min_interval);
  reader_.Integer(trigger.Get("max_concurrency"), 1, 100'000, &out.max_concurrency);
  reader_.Boolean(trigger.Get("in_order"), &out.in_order);
  std::vector<Field> pools = reader_.Items(trigger.Get("pools"));
  auto is_map = [](const Field& item) { return item.node->kind == YamlNode::Kind::kMap; };
  if (std::any_of(pools.begin(), pools.end(), is_map)) {
    KeepUnsupported(trigger.Get("pools"), "weights of pools");
    pools.clear();
  }
  for (const Field& item : pools) {
    std::string name;
    if (!reader_.Name(item, &name)) continue;
    if (std::find(out.pools.begin(), out.pools.end(), name) != out.pools.end()) {
      reader_.Fault(item, {"duplicate_value", StrCat("pool ", name, " is named twice"), "keep one of them"});
      continue;
    }
    out.pools.push_back(std::move(name));
  }
  MapView lease(reader_, trigger.Get("lease"));
  reader_.Duration(lease.Get("ttl"), Seconds(2), Days(7), &out.lease_ttl);
  out.lease_heartbeat = DefaultHeartbeat(out.lease_ttl);
  Field heartbeat = lease.Get("heartbeat");
  if (reader_.Duration(heartbeat, Millis{100}, Days(7), &out.lease_heartbeat) &&
      out.lease_heartbeat.count * 2 > out.lease_ttl.count) {
    reader_.Fault(heartbeat,
                  {"out_of_range",
                   StrCat("a heartbeat every ", FormatMillis(out.lease_heartbeat), " lets a lease of ",
                          FormatMillis(out.lease_ttl), " end at the first one lost"),
                   StrCat("write ", FormatMillis(DefaultHeartbeat(out.lease_ttl)), " or less")});
  }
}

}  // namespace duecourse
