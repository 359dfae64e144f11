#include <algorithm>

#include "base/text.h"
#include "rule/clock_change.h"
#include "rule/defaults.h"
#include "rule/lint_parts.h"

namespace duecourse {
namespace {

constexpr auto kWarning = Finding::Severity::kWarning;
constexpr auto kHint = Finding::Severity::kHint;
constexpr int kCapMax = 100;      // attempts of one run that need no second look
constexpr int kDaysCounted = 35;  // for the bound of attempts a day
constexpr int kRetriesLow = 3;
constexpr int kRetriesHigh = 5;
constexpr int kHeartbeatsLow = 3;  // in one ttl
constexpr Millis kLeaseLong = Minutes(5);

int Ladder(const RetryRule& retry) { return retry.immediate_max + static_cast<int>(retry.backoff.size()); }

std::string Times(int64_t count, const char* one, const char* many) {
  return StrCat(count, " ", count == 1 ? one : many);
}

void LintLadder(LintContext* context, const LintGroup& group) {
  const RetryRule& retry = group.rule().retry;
  const int ladder = Ladder(retry);
  const int cap = retry.max_total_attempts;
  if (cap < 1 + ladder) {
    context->Add(kWarning, group,
                 {"cap_below_ladder", "retry.max_total_attempts",
                  StrCat("max_total_attempts: ", cap, " ends the run before its ",
                         Times(ladder, "retry", "retries"), " of the ladder are used"),
                  StrCat("write at least ", 1 + ladder, ", or fewer retries")});
  } else if (retry.catchup && cap == 1 + ladder) {
    context->Add(
        kWarning, group,
        {"catchup_no_room", "retry.max_total_attempts",
         StrCat("max_total_attempts: ", cap, " is used up by the ladder, so catch-up never executes"),
         StrCat("write at least ", 2 + ladder)});
  }
  if (cap > kCapMax) {
    context->Add(kWarning, group,
                 {"cap_high", "retry.max_total_attempts",
                  StrCat("up to ", cap, " attempts of one run: hardly a bound, if each costs something"),
                  StrCat("write at most ", kCapMax, ", with a longer interval")});
  }
  if (ladder > 0 && (ladder < kRetriesLow || ladder > kRetriesHigh)) {
    context->Add(kHint, group,
                 {"retry_count", "retry",
                  StrCat(Times(ladder, "retry", "retries"),
                         " in the ladder; 3 to 5 outlast a short fault without piling up"),
                  "retry: standard is four, over seven minutes"});
  }
  if (!retry.backoff.empty() && retry.jitter == Millis{}) {
    context->Add(
        kHint, group,
        {"no_jitter", "retry.backoff.jitter",
         "no jitter: tasks that failed together come back together, at a service that is just recovering",
         "leave jitter out (0 to 1 s is drawn), or write one"});
  }
}

// Executions that fit between the ladder's end and the last instant at which catch-up may start, if each
// fails at once.
int64_t CatchupsThatFit(const RetryRule& retry, const Occurrence& occurrence) {
  Millis ladder = Millis{retry.immediate_interval.count * retry.immediate_max};
  for (Millis step : retry.backoff) ladder = ladder + step;
  const Instant first = std::max(occurrence.starts, occurrence.window.opens) + ladder;
  const Millis left = occurrence.start_limit - first - Millis{1};  // The end is exclusive.
  return left.count < 0 ? 0 : left.count / retry.catchup_interval.count;
}

struct CatchupRoom {
  int64_t fit;      // before the end
  int64_t allowed;  // by the cap, after the ladder
  Instant end;
};

// Without max_times "as many as fit" is what people read; a cap that nobody wrote must not end it in silence.
// A written cap is a decision.
void LintCatchupCap(LintContext* context, const LintGroup& group, const CatchupRoom& room) {
  const RuleBody& rule = group.rule();
  const int cap = rule.retry.max_total_attempts;
  if (cap != DefaultMaxTotalAttempts(rule) || room.allowed == 0 || room.fit <= room.allowed) return;
  const int64_t all = 1 + Ladder(rule.retry) + room.fit;
  context->Add(kWarning, group,
               {"catchup_capped", "retry.max_total_attempts",
                StrCat("catch-up every ", FormatMillis(rule.retry.catchup_interval), " fits ", room.fit,
                       " times before ", FormatUtc(room.end), ", but the cap of ", cap,
                       " attempts (the default) leaves it ", room.allowed,
                       ": after those it ends, and a person is called, however long the window is still open"),
                StrCat("write max_total_attempts: ", all, " for all of them, or max_times: ", room.allowed,
                       " where that is enough")});
}

void LintCatchup(LintContext* context, const LintGroup& group, const Occurrence& next) {
  const RetryRule& retry = group.rule().retry;
  if (!retry.catchup || retry.catchup_interval <= Millis{}) return;
  const int64_t fit = CatchupsThatFit(retry, next);
  const int64_t allowed = std::max(0, retry.max_total_attempts - 1 - Ladder(retry));
  if (!retry.catchup_max_times) return LintCatchupCap(context, group, {fit, allowed, next.start_limit});
  const int wanted = *retry.catchup_max_times;
  if (fit < wanted) {
    context->Add(
        kWarning, group,
        {"max_times_unreachable", "retry.catchup.max_times",
         StrCat("max_times: ", wanted, " cannot be reached: every ", FormatMillis(retry.catchup_interval),
                " at most ", fit, " fit before ", FormatUtc(next.start_limit),
                next.start_limit < next.window.ends ? " (max_delay)" : " (the window's end)"),
         StrCat("write max_times: ", fit, ", a shorter check_interval or a later end")});
  } else if (allowed < wanted && allowed > 0) {
    context->Add(
        kWarning, group,
        {"max_times_unreachable", "retry.catchup.max_times",
         StrCat("max_times: ", wanted, " cannot be reached: max_total_attempts: ", retry.max_total_attempts,
                " leaves ", allowed, " after the ladder"),
         StrCat("write max_total_attempts: ", 1 + Ladder(retry) + wanted, ", or max_times: ", allowed)});
  }
}

void LintLease(LintContext* context, const LintGroup& group) {
  const TriggerRule& trigger = group.rule().trigger;
  if (trigger.lease_heartbeat.count * kHeartbeatsLow > trigger.lease_ttl.count) {
    context->Add(kWarning, group,
                 {"lease_heartbeats", "lease.heartbeat",
                  StrCat("a lease of ", FormatMillis(trigger.lease_ttl), " with a heartbeat every ",
                         FormatMillis(trigger.lease_heartbeat), " is lost after fewer than ", kHeartbeatsLow,
                         " that fail"),
                  "leave heartbeat out (a quarter of the ttl), or write a third of the ttl or less"});
  }
  if (trigger.lease_ttl > kLeaseLong) {
    context->Add(
        kWarning, group,
        {"lease_long", "lease.ttl",
         StrCat("a crash is noticed only when the lease of ", FormatMillis(trigger.lease_ttl), " ends"),
         "the lease is renewed while the work lives, so it need not cover it: 60s does"});
  }
}

// The most occurrences on one local day.
int64_t OccurrencesADay(const RuleBody& rule, size_t value, Instant now) {
  const Zone& zone = ScheduleOf(rule, value).zone;
  const std::optional<Instant> next = NextDue(rule, value, now);
  if (!next) return 0;
  const CivilDay first = zone.ToLocal(*next).civil.day;
  int64_t most = 0;
  for (int i = 0; i < kDaysCounted; ++i) {
    const Instant from = InstantOf({first + i, 0}, zone) - Millis{1};
    const Instant to = InstantOf({first + (i + 1), 0}, zone) - Millis{1};
    most = std::max(most, CountDue(rule, value, from, to));
  }
  return most;
}

void LintCost(LintContext* context, const LintGroup& group) {
  const RuleBody& rule = group.rule();
  const int64_t occurrences = OccurrencesADay(rule, 0, context->options.now);
  if (occurrences == 0) return;
  const auto values = static_cast<int64_t>(ValueCount(rule));
  const int cap = rule.retry.max_total_attempts;
  const std::string bound = StrCat("at most ", Times(occurrences * values * cap, "attempt", "attempts"),
                                   " a day: ", Times(occurrences, "occurrence", "occurrences"),
                                   values > 1 ? StrCat(" of ", values, " values") : "",
                                   ", each tried at most ", Times(cap, "time", "times"));
  if (rule.key_written || rule.trigger.window_end_written || rule.Elaborate()) {
    context->Add(
        kHint, group,
        {"cost_bound", "retry.max_total_attempts", bound, "lower max_total_attempts if that is too much"});
    return;
  }
  const char* const lost =
      rule.on_lost == OnLost::kRerun ? "one attempt (and one more if it was lost)" : "one attempt";
  context->Add(kHint, group,
               {"defaults", "trigger",
                StrCat("as nothing more is written: it may start until the next one is due, within 24 h; ",
                       lost, ", no retry; the key is ", rule.business_key.text(),
                       "; what is missed while the daemon is off stays missed; ", bound),
                "write window_end, retry and business_key where that is not enough"});
}

void LintKeep(LintContext* context, const LintGroup& group, const Occurrence& next) {
  const RuleBody& rule = group.rule();
  const Millis length = next.window.ends - next.window.opens;
  if (rule.keep >= length) return;
  context->Add(kWarning, group,
               {"keep_short", "idempotency.keep",
                StrCat("the key is kept ", FormatMillis(rule.keep), ", shorter than its window of ",
                       FormatMillis(length), ": what is done could be done again in the same window"),
                "keep it longer than the window; 400d is the default"});
}

}  // namespace

void LintRetries(LintContext* context) {
  for (const LintGroup& group : context->groups) {
    const RuleBody& rule = group.rule();
    LintLadder(context, group);
    LintLease(context, group);
    if (!HasSchedule(rule)) continue;
    LintCost(context, group);
    const std::optional<Instant> due = NextDue(rule, 0, context->options.now);
    if (!due) continue;
    const Occurrence next = OccurrenceAt(group.first(), 0, *due, context->set.config);
    LintCatchup(context, group, next);
    LintKeep(context, group, next);
  }
}

}  // namespace duecourse
