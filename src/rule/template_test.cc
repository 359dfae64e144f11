#include "rule/template.h"

#include <gtest/gtest.h>

namespace duecourse {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

const Fields& Vars() {
  static const Fields fields = {{"channel_id", "ops"}, {"nothing", ""}};
  return fields;
}
const Fields& Value() {
  static const Fields fields = {{"channel", "app"}};
  return fields;
}

// order_sync, due 2025-06-02 02:00 in Shanghai, for the day before.
TemplateScope Scope() {
  TemplateScope scope;
  scope.task = "order_sync";
  scope.business_date = FromYmd({2025, 6, 1});
  scope.scheduled_at = *ParseUtc("2025-06-01T18:00:00Z");
  scope.due_local = {FromYmd({2025, 6, 2}), 2 * 3600};
  scope.vars = &Vars();
  scope.value = &Value();
  return scope;
}

std::string Rendered(const std::string& text, const TemplateScope& scope) {
  const Result<Template> parsed = Template::Parse(text);
  if (!parsed.ok()) return "parse: " + parsed.error().message();
  const Result<std::string> value = Render(*parsed, scope);
  return value.ok() ? *value : "render: " + value.error().message();
}

TEST(Template, EveryNameRendersAsTheReferenceSays) {
  const struct {
    const char* text;
    const char* expected;
  } rows[] = {
      {"plain", "plain"},
      {"{task}", "order_sync"},
      {"{business_date}", "2025-06-01"},
      {"{date}", "2025-06-01"},
      {"{target_date}", "20250601"},
      {"order_sync:{target_date}:{window}", "order_sync:20250601:0200"},
      {"{scheduled_at}", "2025-06-01T18:00:00Z"},
      {"{channel_id}/{channel}", "ops/app"},
      {"{business_date:%Y%m%d}", "20250601"},
      {"{target_date:%d.%m.%Y}", "01.06.2025"},
      {"{scheduled_at:%Y%m%dT%H%M}", "20250601T1800"},  // UTC, though it is 02:00 of the next day in Shanghai
      {"{year} {month} {day}", "2025 06 01"},
      {"{business_month}", "2025-06"},
      {"{iso_week}", "2025-W22"},
      {"{iso_week_number}", "22"},
      {"{business_date:%G-W%V}", "2025-W22"},
      {"{{\"date\": \"{date}\"}}", "{\"date\": \"2025-06-01\"}"},
      {"a}}b{{c", "a}b{c"},
  };
  for (const auto& row : rows) EXPECT_EQ(Rendered(row.text, Scope()), row.expected) << row.text;
}

TEST(Template, TheWindowNameHasSecondsOnlyWhereThereAreAnyAndMarksASecondPass) {
  TemplateScope scope = Scope();
  scope.due_local.second = 90 * 60;
  EXPECT_EQ(Rendered("{window}", scope), "0130");
  scope.second_pass = true;
  EXPECT_EQ(Rendered("{window}", scope), "0130b");
  scope.second_pass = false;
  scope.due_local.second += 15;
  EXPECT_EQ(Rendered("{window}", scope), "013015");
}

TEST(Template, AWeekBelongsToItsIsoYear) {
  TemplateScope scope = Scope();
  const struct {
    YearMonthDay day;
    const char* week;
  } rows[] = {{{2025, 12, 22}, "2025-W52"}, {{2025, 12, 29}, "2026-W01"}, {{2026, 1, 4}, "2026-W01"},
              {{2026, 12, 28}, "2026-W53"}, {{2027, 1, 3}, "2026-W53"},   {{2027, 1, 4}, "2027-W01"}};
  for (const auto& row : rows) {
    scope.business_date = FromYmd(row.day);
    EXPECT_EQ(Rendered("{iso_week}", scope), row.week);
  }
}

TEST(Template, AnUnknownOrEmptyValueIsAnErrorThatNamesTheVariable) {
  const struct {
    const char* text;
    const char* part;
  } rows[] = {
      {"b:{busines_date}", "unknown variable {busines_date}; did you mean {business_date}?"},
      {"{chanel}", "did you mean {channel}?"},
      {"{channel_idd}", "did you mean {channel_id}?"},
      {"{zzz}", "unknown variable {zzz}; known are task, business_date"},
      {"{nothing}", "{nothing} is empty"},
      {"{event_id}", "{event_id} is empty"},
      {"{event.order}", "{event.order}: no event"},
      {"{path}", "{path} is known in `checksum`"},
      {"{run_id}", "{run_id} differs from attempt to attempt"},
  };
  for (const auto& row : rows) {
    const std::string text = Rendered(row.text, Scope());
    EXPECT_EQ(text.find("render: "), 0u) << text;
    EXPECT_NE(text.find(row.part), std::string::npos) << row.text << " -> " << text;
  }
}

TEST(Template, AnEventGivesItsIdAndItsFields) {
  const Fields event = {{"id", "o-17"}, {"note", ""}};
  TemplateScope scope = Scope();
  scope.event_id = "e-1";
  scope.event = &event;
  EXPECT_EQ(Rendered("{event_id}:{event.id}", scope), "e-1:o-17");
  EXPECT_NE(Rendered("{event.note}", scope).find("{event.note} is empty"), std::string::npos);
  EXPECT_NE(Rendered("{event.amount}", scope).find("no field \"amount\""), std::string::npos);
}

TEST(Template, AMistakeInTheTextIsNamedWithItsPosition) {
  const struct {
    const char* text;
    const char* part;
  } rows[] = {
      {"c:{business_date", "at character 3: the brace is not closed: \"{business_date\""},
      {"a}b", "at character 2: a closing brace without an opening one"},
      {"x{}", "at character 2: nothing between the braces"},
      {"{:%Y}", "at character 1: nothing between the braces"},
      {"{a{b}}", "at character 3: a brace inside a brace"},
      {"{ \"date\": 1 }", "write {{ and }} for braces themselves"},
      {"{business date}", "is no name"},
      {"{business_date:}", "nothing after the colon"},
      {"{business_date:%Q}", "at character 1: {business_date:%Q}: "},
      {"{business_date:%H}", "no time of day"},
      {"{window:%H}", "{window} takes no format; business_date, date, target_date and scheduled_at do"},
      {"{busines_date:%Y}", "did you mean {business_date:%Y}?"},
  };
  for (const auto& row : rows) {
    const std::string text = Rendered(row.text, Scope());
    EXPECT_EQ(text.find("parse: "), 0u) << text;
    EXPECT_NE(text.find(row.part), std::string::npos) << row.text << " -> " << text;
  }
}

TEST(Template, APercentSignAndATextAfterItAreNoTimeOfDay) {
  EXPECT_EQ(Rendered("{business_date:%%H}", Scope()), "%H");
}

TEST(Template, ItKnowsWhatItUses) {
  const Template text = *Template::Parse("a{{{task}}}:{date:%Y}");
  EXPECT_TRUE(text.Uses("task"));
  EXPECT_TRUE(text.Uses("date"));
  EXPECT_FALSE(text.Uses("a"));
  EXPECT_FALSE(text.constant());
  EXPECT_TRUE(Template::Parse("a{{b}}")->constant());
  EXPECT_TRUE(Template().constant());
  EXPECT_TRUE(Template().empty());
}

TEST(Template, NamesOfAnAttemptAreKnownAndAreNoTemplateNames) {
  for (const char* name : {"run_id", "attempt", "attempt_id", "now", "random"}) {
    EXPECT_TRUE(NamesOneAttempt(name)) << name;
    EXPECT_FALSE(IsTemplateName(name)) << name;
  }
  EXPECT_FALSE(NamesOneAttempt("business_date"));
  for (const auto& [name, words] : TemplateNames()) {
    EXPECT_TRUE(IsTemplateName(name));
    EXPECT_FALSE(words.empty());
  }
}

}  // namespace
}  // namespace duecourse
