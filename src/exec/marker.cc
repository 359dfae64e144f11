#include "exec/marker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/text.h"

namespace duecourse {
namespace {

constexpr size_t kMarkerMaxBytes = 64u << 10;

}  // namespace

std::string AttemptName(const AttemptRef& ref) {
  // Run ids are ours (a letter and hex digits); one with a '/' in it would leave the folder.
  CHECK(!ref.run_id.empty() && ref.run_id.front() != '.');
  CHECK(ref.run_id.find('/') == std::string::npos);
  return StrCat(ref.run_id, ".", ref.fence);
}

std::string MarkerPath(const std::string& data_folder, const AttemptRef& ref) {
  return StrCat(data_folder, "/attempts/", AttemptName(ref));
}

std::string ResultPath(const std::string& data_folder, const AttemptRef& ref) {
  return MarkerPath(data_folder, ref) + ".result";
}

Status Marker::AddLine(const std::string& line) {
  const std::string whole = line + "\n";
  ssize_t n = ::write(fd_.get(), whole.data(), whole.size());
  if (n == static_cast<ssize_t>(whole.size())) return {};
  return Error(StrCat("start marker: cannot write: ", n < 0 ? ErrnoText(errno) : "cut short"));
}

Result<Marker> Marker::Write(const std::string& data_folder, const AttemptRef& ref,
                             const std::string& boot_id) {
  const std::string path = MarkerPath(data_folder, ref);
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return Error(StrCat("start marker ", path, ": ", ErrnoText(errno)));
  Marker marker(std::move(fd));
  Status written = marker.AddLine(StrCat("boot ", boot_id));
  if (!written.ok()) return written.error().Wrap(path);
  return marker;
}

Status Marker::AddProcess(pid_t pid, int64_t start) { return AddLine(StrCat("process ", pid, " ", start)); }

Status Marker::AddScratch(const std::string& folder) { return AddLine(StrCat("scratch ", folder)); }

Result<MarkerFacts> ReadMarker(const std::string& data_folder, const AttemptRef& ref) {
  const std::string path = MarkerPath(data_folder, ref);
  MarkerFacts facts;
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return facts;
    return Error(StrCat(path, ": cannot read: ", ErrnoText(errno)));
  }
  Result<std::string> text = ReadFile(path, kMarkerMaxBytes);
  if (!text.ok()) return text.error();
  facts.there = true;
  std::vector<std::string_view> lines = Split(*text, '\n');
  lines.pop_back();  // empty, or cut off
  for (std::string_view line : lines) {
    std::vector<std::string_view> words = Split(line, ' ');
    if (words.size() == 2 && words[0] == "boot") facts.boot_id = words[1];
    if (words.size() == 2 && words[0] == "scratch") facts.scratch = words[1];
    if (words.size() != 3 || words[0] != "process") continue;
    std::optional<int64_t> pid = ParseInteger(words[1]);
    std::optional<int64_t> start = ParseInteger(words[2]);
    if (!pid.has_value() || !start.has_value()) continue;
    facts.pid = static_cast<pid_t>(*pid);
    facts.start = *start;
  }
  return facts;
}

void RemoveMarker(const std::string& data_folder, const AttemptRef& ref) {
  ::unlink(ResultPath(data_folder, ref).c_str());
  ::unlink(MarkerPath(data_folder, ref).c_str());
}

}  // namespace duecourse
