#include "exec/report.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace duecourse {
namespace {

struct Said {
  bool success = false;
  std::optional<FailureClass> failure;
  std::string code;
  std::string summary;
};

// One line of printable text, at most so many bytes, cut between characters.
std::string Line(std::string_view text, size_t max_bytes) {
  std::string shown = ShowBytes(text.substr(0, max_bytes * 2), false);
  if (shown.size() <= max_bytes) return shown;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;
  return shown.substr(0, end) + "…";
}

Result<Said> ReadSaid(const Json& report) {
  if (!report.is_object()) return Error("it is no JSON object");
  Said said;
  for (const char* name : {"class", "code", "summary"}) {
    if (report.Has(name) && !report.Get(name).is_string()) return Error(StrCat("\"", name, "\" is no text"));
  }
  if (report.Has("cost") && (!report.Get("cost").is_number() || report.Get("cost").AsDouble() < 0)) {
    return Error("\"cost\" is no number of 0 or more");
  }
  if (report.Has("class")) {
    const std::string& name = report.Get("class").AsString();
    for (FailureClass value : {FailureClass::kTransient, FailureClass::kBusiness, FailureClass::kUnknown,
                               FailureClass::kNotReady}) {
      if (name == FailureClassName(value)) said.failure = value;
    }
    said.success = name == "success";
    if (!said.success && !said.failure.has_value()) {
      return Error(StrCat("class \"", Line(name, kReportCodeMax),
                          "\" is none of success, transient, business, unknown, not_ready"));
    }
  }
  said.code = Line(report.Get("code").AsString(), kReportCodeMax);
  said.summary = Line(report.Get("summary").AsString(), kReportSummaryMax);
  return said;
}

}  // namespace

void AddNote(Ending& ending, const std::string& note) {
  Json notes = ending.detail.Get("notes");
  notes.Add(note);
  ending.detail.Set("notes", std::move(notes));
}

void ApplyReport(const Json& report, std::string_view where, Ending& ending) {
  Result<Said> said = ReadSaid(report);
  if (!said.ok()) return AddNote(ending, StrCat(where, " is not believed: ", said.error().message()));
  ending.said = said->failure;
  ending.said_success = said->success;
  ending.said_code = said->code;
  if (!said->summary.empty()) ending.summary = said->summary;
  if (report.Has("data")) ending.detail.Set("data", report.Get("data"));
  if (report.Has("cost")) ending.detail.Set("cost", report.Get("cost"));
}

void ApplyReportText(std::string_view text, std::string_view where, Ending& ending) {
  if (text.size() > kReportMaxBytes) {
    return AddNote(ending, StrCat(where, " is not believed: it is larger than ", kReportMaxBytes, " bytes"));
  }
  Result<Json> report = Json::Parse(text);
  if (!report.ok()) return AddNote(ending, StrCat(where, " is not believed: ", report.error().message()));
  ApplyReport(*report, where, ending);
}

Status RemoveLeft(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? Status(Error(StrCat(path, " cannot be removed: ", error.message()))) : Status();
}

}  // namespace duecourse
