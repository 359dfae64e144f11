// The words of an alert: one failure as a line, and the whole as JSON and as plain text.
#include "alert/alert.h"
#include "alert/shown.h"
#include "base/text.h"

namespace duecourse {
namespace {

// "what   attempt 3 failed", the names in one column.
void AddLine(std::string& text, std::string_view name, const std::string& value) {
  constexpr size_t kColumn = 9;
  if (value.empty()) return;
  text += name;
  text.append(name.size() < kColumn ? kColumn - name.size() : 1, ' ');
  text += value;
  text += '\n';
}

std::string Text(const std::string& id, const std::string& title, const Json& body) {
  std::string text = title + "\n";
  AddLine(text, "what", body.Get("what").AsString());
  AddLine(text, "next", body.Get("next").AsString());
  AddLine(text, "run", body.Get("run_id").AsString());
  AddLine(text, "value", body.Get("value").AsString());
  AddLine(text, "key", body.Get("key").AsString());
  if (body.Has("due")) {
    AddLine(text, "due",
            StrCat(body.Get("due").AsString(), " (", body.Get("zone").AsString(), "), for ",
                   body.Get("date").AsString()));
  }
  if (body.Has("state")) {
    AddLine(text, "state",
            StrCat(body.Get("state").AsString(), " (", body.Get("reason").AsString(), "), ",
                   body.Get("attempts").AsInteger(),
                   body.Get("attempts").AsInteger() == 1 ? " attempt" : " attempts"));
  }
  AddLine(text, "why", body.Get("why").AsString());
  const Json::Array& failures = body.Get("last_failures").AsArray();
  if (!failures.empty()) text += "last failures\n";
  for (const Json& line : failures) text += StrCat("  ", line.AsString(), "\n");
  const Json::Array& todo = body.Get("todo").AsArray();
  if (!todo.empty()) text += "what to do\n";
  for (const Json& step : todo) text += StrCat("  ", step.AsString(), "\n");
  AddLine(text, "alert", StrCat(id, " at ", body.Get("at").AsString()));
  return text;
}

}  // namespace

std::string FailureLine(const Attempt& attempt, const Zone& zone) {
  std::string out = StrCat("attempt ", attempt.number, " (", TriggerKindName(attempt.kind), ") at ",
                           FormatLocal(attempt.claimed_at, zone), ": ");
  const std::string code = attempt.code.empty() ? OutcomeName(attempt.outcome) : attempt.code;
  out += code;
  // The summary often opens with the code; it is not said twice.
  if (attempt.summary.starts_with(code)) {
    out += attempt.summary.substr(code.size());
  } else if (!attempt.summary.empty()) {
    out += StrCat(": ", attempt.summary);
  }
  return Shown(out, kShownLine);
}

AlertMessage MessageOf(const std::string& id, AlertLevel level, const std::string& title,
                       const std::string& body) {
  // A body that cannot be read (the row was edited) still makes a message: the title says what matters.
  Result<Json> parsed = Json::Parse(body);
  const Json content = parsed.ok() ? *parsed : Json::MakeObject();
  AlertMessage message;
  message.id = id;
  message.level = AlertLevelName(level);
  message.title = Shown(title, kShownTitle + kShownLine);
  message.text = ShowBytes(Text(id, message.title, content), true);
  Json whole = Json::MakeObject();
  whole.Set("id", id).Set("level", message.level).Set("event", content.Get("event"));
  whole.Set("task", content.Get("task").AsString()).Set("run", content.Get("run_id").AsString());
  whole.Set("key", content.Get("key").AsString()).Set("title", message.title).Set("text", message.text);
  whole.Set("body", content);
  message.json = whole.Dump();
  return message;
}

}  // namespace duecourse
