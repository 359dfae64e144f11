#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "rule/defaults.h"
#include "rule/parse.h"

namespace duecourse {
namespace {

constexpr int kRetriesMax = 1000;

// "09:00-18:00"
std::optional<AvoidHours> ParseAvoid(std::string_view text) {
  std::vector<std::string_view> ends = Split(text, '-');
  if (ends.size() != 2) return std::nullopt;
  Result<int32_t> start = ParseTimeOfDay(Trim(ends[0]));
  Result<int32_t> end = ParseTimeOfDay(Trim(ends[1]));
  if (!start.ok() || !end.ok() || *start == *end) return std::nullopt;
  return AvoidHours{*start, *end};
}

// "2", "1.5": at most 100, with at most three digits after the point.
std::optional<double> ParseFactor(std::string_view text) {
  size_t point = text.find('.');
  std::optional<int64_t> whole = ParseInteger(text.substr(0, point));
  if (!whole || *whole < 1 || *whole > 100) return std::nullopt;
  double value = static_cast<double>(*whole);
  if (point == std::string_view::npos) return value;
  std::string_view digits = text.substr(point + 1);
  if (digits.empty() || digits.size() > 3) return std::nullopt;
  double scale = 0.1;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value += (c - '0') * scale;
    scale /= 10;
  }
  return value;
}

std::vector<Millis> Expand(Millis initial, double factor, Millis longest, int count) {
  std::vector<Millis> delays;
  double next = static_cast<double>(initial.count);
  for (int i = 0; i < count; ++i) {
    next = std::min(next, static_cast<double>(longest.count));
    delays.push_back({static_cast<int64_t>(std::llround(next))});
    next *= factor;
  }
  return delays;
}

}  // namespace

void RuleParts::ParseRetry(const MapView& retry) {
  RetryRule& out = body_.retry;
  if (!retry) return;
  out.written = true;
  ReadWhy(retry, "retry");
  MapView immediate(reader_, retry.Get("immediate"));
  ReadWhy(immediate, "retry.immediate");
  if (immediate.Has("interval")) out.immediate_max = 1;
  reader_.Integer(immediate.Get("max_attempts"), 0, kRetriesMax, &out.immediate_max);
  reader_.Duration(immediate.Get("interval"), Millis{0}, Days(1), &out.immediate_interval);
  ParseBackoff(MapView(reader_, retry.Get("backoff")));
  Field then = retry.Get("then");
  reader_.Choose(then, kThenNames, &out.then_manual);
  ParseCatchup(MapView(reader_, retry.Get("catchup")));
  if (out.then_manual && out.catchup) {
    reader_.Fault(then, {"conflict", "then: manual calls a person after the ladder, but catchup goes on",
                         "keep one of them"});
  }
  reader_.Integer(retry.Get("max_total_attempts"), 1, 100'000, &out.max_total_attempts);
  MapView breaker(reader_, retry.Get("breaker"));
  reader_.Integer(breaker.Get("failures"), 1, 100'000, &out.breaker_failures);
  reader_.Duration(breaker.Get("cooldown"), Seconds(1), Days(365), &out.breaker_cooldown);
  reader_.Choose(breaker.Get("then"), kBreakerThenNames, &out.breaker_manual);
}

void RuleParts::ParseBackoff(const MapView& backoff) {
  RetryRule& out = body_.retry;
  ReadWhy(backoff, "retry.backoff");
  Field count_field = backoff.Get("max_attempts");
  int count = 0;
  bool counted = reader_.Integer(count_field, 0, kRetriesMax, &count);
  Field intervals = backoff.Get("intervals");
  Field initial = backoff.Get("initial");
  if (intervals && (initial || backoff.Has("factor") || backoff.Has("max"))) {
    reader_.Fault(intervals,
                  {"conflict", "intervals and initial, factor, max are two ways of saying the delays",
                   "keep one of them"});
  } else if (intervals) {
    for (const Field& item : reader_.Items(intervals)) {
      Millis delay;
      if (reader_.Duration(item, Millis{0}, Days(30), &delay)) out.backoff.push_back(delay);
    }
    if (counted && static_cast<size_t>(count) < out.backoff.size()) {
      reader_.Fault(count_field,
                    {"conflict", StrCat(out.backoff.size(), " intervals for ", count, " retries"),
                     StrCat("write max_attempts: ", out.backoff.size(), ", or leave it out")});
    }
    // Fewer intervals than retries: the last one is used again.
    while (counted && !out.backoff.empty() && out.backoff.size() < static_cast<size_t>(count)) {
      out.backoff.push_back(out.backoff.back());
    }
  } else if (initial) {
    Millis first;
    Millis longest = Days(30);
    double factor = 2;
    bool first_read = reader_.Duration(initial, Millis{1}, Days(30), &first);
    Field factor_field = backoff.Get("factor");
    if (const std::string* text = reader_.Scalar(factor_field, "a number"); text != nullptr) {
      std::optional<double> value = ParseFactor(*text);
      if (!value) {
        reader_.Fault(factor_field, {"bad_number",
                                     StrCat("expected a factor from 1 to 100, got ",
                                            ShowValue(*factor_field.node, factor_field.path)),
                                     "write one like 2 or 1.5"});
      }
      factor = value.value_or(2);
    }
    reader_.Duration(backoff.Get("max"), Millis{1}, Days(30), &longest);
    if (!count_field) {
      reader_.Missing(initial.node->place, "retry.backoff.max_attempts",
                      "nothing says how many retries there are", "write max_attempts: 3");
    }
    if (counted && first_read) out.backoff = Expand(first, factor, longest, count);
  } else if (count > 0) {
    reader_.Missing(count_field.node->place, "retry.backoff.intervals",
                    "nothing says how long each retry waits",
                    "write intervals: [1m, 2m, 4m], or initial: 1m");
  }
  out.jitter = DefaultJitter(out);
  reader_.Duration(backoff.Get("jitter"), Millis{0}, Hours(1), &out.jitter);
}

void RuleParts::ParseCatchup(const MapView& catchup) {
  RetryRule& out = body_.retry;
  ReadWhy(catchup, "retry.catchup");
  // A block that says how to catch up means it; `enabled: false` keeps what it says for later.
  for (const char* key : {"check_interval", "max_times", "max_delay", "only_if_data_ready", "avoid"}) {
    if (catchup.Has(key)) out.catchup = true;
  }
  reader_.Boolean(catchup.Get("enabled"), &out.catchup);
  reader_.Duration(catchup.Get("check_interval"), Seconds(1), Days(30), &out.catchup_interval);
  int times = 0;
  if (reader_.Integer(catchup.Get("max_times"), 1, 100'000, &times)) out.catchup_max_times = times;
  Millis delay;
  if (reader_.Duration(catchup.Get("max_delay"), Seconds(1), Days(3650), &delay)) out.max_delay = delay;
  reader_.Boolean(catchup.Get("only_if_data_ready"), &out.only_if_data_ready);
  for (const Field& item : reader_.Items(catchup.Get("avoid"))) {
    const std::string* text = reader_.Scalar(item, "hours of the day");
    if (text == nullptr) continue;
    if (std::optional<AvoidHours> hours = ParseAvoid(*text)) {
      out.avoid.push_back(*hours);
    } else {
      reader_.Fault(item,
                    {"bad_time", StrCat("expected hours of the day, got ", ShowValue(*item.node, item.path)),
                     "write them like \"09:00-18:00\""});
    }
  }
}

}  // namespace duecourse
