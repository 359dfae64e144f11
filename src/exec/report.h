// What a handler says of its own work, as JSON: in the file that
// DUECOURSE_RESULT names, or under "duecourse" in an HTTP answer.
//   {"class": "success|transient|business|unknown|not_ready", "code": "…", "summary": "…", "data": {…},
//   "cost": 0.02}
// All members are optional. It is somebody else's text: bounded, and where it
// is malformed it is not believed at all; the note says why. Pure.
#pragma once

#include <string>
#include <string_view>

#include "run/run.h"

namespace duecourse {

inline constexpr size_t kReportMaxBytes = 64u << 10;
inline constexpr size_t kReportCodeMax = 64;
inline constexpr size_t kReportSummaryMax = 500;

// Sets said, said_success, said_code and summary of the ending, and "data" and "cost" of its detail; or,
// where it cannot be believed, one of detail's "notes", which begins with `where`.
void ApplyReport(const Json& report, std::string_view where, Ending& ending);
void ApplyReportText(std::string_view text, std::string_view where, Ending& ending);
void AddNote(Ending& ending, const std::string& note);

// Removes whatever a handler left under that name, a folder with all that is in it; links are not followed.
// Fine where there is nothing.
Status RemoveLeft(const std::string& path);

}  // namespace duecourse
