#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "rule/lint_parts.h"

namespace duecourse {
namespace {

constexpr auto kError = Finding::Severity::kError;
constexpr auto kWarning = Finding::Severity::kWarning;
const char* const kKeyPath = "idempotency.business_key";
const char* const kLaterFix =
    "remove it, or wait for the version that brings it; `serve` refuses a set that asks for it";

std::string Quoted(const Template& key) { return StrCat("\"", ShowBytes(key.text(), false), "\""); }

// A rule that is due once in its life needs no time in its key.
bool DueOnce(const RuleBody& rule) {
  const auto* listed = std::get_if<AtSchedule>(&ScheduleOf(rule, 0).kind);
  return listed != nullptr && listed->at.size() <= 1;
}

// A name of the key that differs between two attempts of one occurrence, unless the rule itself gives it a
// value.
const std::string* OneAttemptName(const RuleBody& rule) {
  const auto known = [&rule](const std::string& name) {
    const auto names_it = [&name](const std::pair<std::string, std::string>& field) {
      return field.first == name;
    };
    return std::any_of(rule.vars.begin(), rule.vars.end(), names_it) ||
           (!rule.for_each.empty() &&
            std::any_of(rule.for_each[0].fields.begin(), rule.for_each[0].fields.end(), names_it));
  };
  for (const Template::Piece& piece : rule.business_key.pieces()) {
    if (NamesOneAttempt(piece.name) && !known(piece.name)) return &piece.name;
  }
  return nullptr;
}

void LintConstant(LintContext* context, const LintGroup& group, const KeyFields& fields) {
  const RuleBody& rule = group.rule();
  if (fields.event || fields.instant || fields.AnyDate() || DueOnce(rule)) return;
  // A name that there is none of may be a date misspelt; LintTemplates tells it, and nothing else is known.
  if (KeyPattern(rule.business_key, group.first(), 0).empty()) return;
  const std::string fix =
      StrCat("name the day in it, such as ", ShowBytes(rule.business_key.text(), false), ":{business_date}");
  if (!fields.AnyTime()) {
    return context->Add(kError, group,
                        {"key_constant", kKeyPath,
                         StrCat("the key ", Quoted(rule.business_key),
                                " has no time in it: after the first success the task never runs again"),
                         fix});
  }
  context->Add(
      kError, group,
      {"key_constant", kKeyPath,
       StrCat("the key ", Quoted(rule.business_key),
              " names a time of day and no day: from the second day on every occurrence is already done"),
       fix});
}

void LintYears(LintContext* context, const LintGroup& group, const KeyFields& fields) {
  const Template& key = group.rule().business_key;
  if (fields.instant || fields.event || fields.WholeDate()) return;
  if (fields.week && fields.year && !fields.iso_year) {
    context->Add(
        kWarning, group,
        {"key_iso_week", kKeyPath,
         StrCat(
             "the key ", Quoted(key),
             " mixes the calendar year with the ISO week: 2025-12-29 renders 2025-W01 though it belongs to "
             "2026-W01, so it meets the key of 2025-01-01..05"),
         "use {iso_week}, or %G with %V"});
  } else if (fields.iso_year && !fields.week && !fields.year) {
    context->Add(kWarning, group,
                 {"key_iso_week", kKeyPath,
                  StrCat("the key ", Quoted(key),
                         " has the ISO year (%G) without the ISO week: 2025-12-29 renders 2026"),
                  "use %Y with months and days, %G with %V only"});
  } else if (fields.AnyDate() && !fields.year && !fields.iso_year) {
    context->Add(kWarning, group,
                 {"key_no_year", kKeyPath,
                  StrCat("the key ", Quoted(key),
                         " has no year: it returns, and what comes then is already done (keys are kept ",
                         FormatMillis(group.rule().keep), ")"),
                  "use {business_date}, {business_month} or {iso_week}"});
  }
}

// Whether the key is one at all, tried at one instant: what of it varies with the time has no other length or
// signs at another. A name that there is none of is LintTemplates'.
void LintRendered(LintContext* context, const LintGroup& group) {
  const RuleBody& rule = group.rule();
  if (rule.business_key.empty() || !HasSchedule(rule)) return;
  const Task& longest =
      **std::max_element(group.tasks.begin(), group.tasks.end(),
                         [](const Task* a, const Task* b) { return a->id.size() < b->id.size(); });
  for (size_t value = 0; value < ValueCount(rule); ++value) {
    Occurrence sample;
    sample.due = Instant{context->options.now.ms / 1000 * 1000};
    sample.business_date = ScheduleOf(rule, value).zone.ToLocal(sample.due).civil.day;
    if (!Render(rule.business_key, ScopeOf(longest, value, sample)).ok()) return;
    const Result<std::string> key = RenderKey(longest, value, sample);
    if (key.ok()) continue;
    return context->AddAt(
        kError, longest,
        {"key_invalid", kKeyPath,
         StrCat("no occurrence", rule.for_each.empty() ? "" : " of ", ShowBytes(ValueId(rule, value), false),
                " can have its key, so each would be a ",
                "person's at once (key_error): ", key.error().message()),
         "write it shorter and of printable characters; look at what its names stand for"});
  }
}

struct Owner {
  const Task* task;
  size_t value;
  size_t others = 0;  // further tasks with the same key
  const Task* second = nullptr;
  const Task* last = nullptr;
};

}  // namespace

void LintUnsupported(LintContext* context) {
  for (const UnsupportedKey& key : context->set.config.unsupported) {
    Finding finding;
    finding.id = "not_supported_yet";
    finding.file = context->set.config.file;
    finding.line = key.line;
    finding.column = key.column;
    finding.path = key.path;
    finding.message = StrCat("not supported yet: ", key.what);
    finding.fix = kLaterFix;
    context->findings.push_back(std::move(finding));
  }
  for (const LintGroup& group : context->groups) {
    for (const UnsupportedKey& key : group.rule().unsupported) {
      context->Add(kError, group,
                   {"not_supported_yet", key.path, StrCat("not supported yet: ", key.what), kLaterFix});
      Finding& finding = context->findings.back();
      if (key.line > 0) finding.line = key.line;
      finding.column = key.column;
    }
  }
}

void LintKeys(LintContext* context) {
  for (const LintGroup& group : context->groups) {
    const RuleBody& rule = group.rule();
    if (const std::string* name = OneAttemptName(rule)) {
      context->Add(
          kError, group,
          {"key_too_fine", kKeyPath,
           StrCat("the key ", Quoted(rule.business_key), " contains {", *name,
                  "}, which differs from attempt to attempt: a repetition would never meet the first"),
           "name what the result is: {business_date}, {window}, {scheduled_at}"});
      continue;
    }
    const KeyFields fields = FieldsOf(rule.business_key, rule);
    LintConstant(context, group, fields);
    LintYears(context, group, fields);
    LintRendered(context, group);
  }
}

void LintSharedKeys(LintContext* context) {
  std::unordered_map<std::string, size_t> index;
  std::vector<Owner> owners;  // in the set's order, so that the answer is always the same
  for (const Task& task : context->set.tasks) {
    const RuleBody& rule = task.rule();
    if (!rule.enabled || rule.business_key.empty()) continue;
    bool told = false;
    for (size_t value = 0; value < ValueCount(rule); ++value) {
      const std::string pattern = KeyPattern(rule.business_key, task, value);
      if (pattern.empty()) break;
      const auto [at, is_new] = index.emplace(pattern, owners.size());
      if (is_new) {
        owners.push_back({&task, value});
        continue;
      }
      Owner& owner = owners[at->second];
      if (owner.task != &task) {
        if (owner.last == &task) continue;
        owner.last = &task;
        if (owner.second == nullptr) owner.second = &task;
        ++owner.others;
      } else if (!told) {
        told = true;
        context->AddAt(
            kError, task,
            {"key_shared_by_values", kKeyPath,
             StrCat(ValueId(rule, owner.value), " and ", ValueId(rule, value), " have the same key ",
                    Quoted(rule.business_key), ": only the first of them would ever run"),
             "put the for_each names into the key"});
      }
    }
  }
  for (const Owner& owner : owners) {
    if (owner.second == nullptr) continue;
    const Template& key = owner.second->rule().business_key;
    const std::string more = owner.others == 1 ? "" : StrCat(" (and ", owner.others - 1, " more)");
    context->AddAt(kError, *owner.second,
                   {"key_shared", kKeyPath,
                    StrCat("tasks ", owner.task->id, " and ", owner.second->id, more, " have the same key ",
                           Quoted(key), ": whichever comes second is already done and never runs"),
                    "put {task} into the key, or a word of its own"});
  }
}

}  // namespace duecourse
