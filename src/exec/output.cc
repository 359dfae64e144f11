#include "exec/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace duecourse {
namespace {

constexpr size_t kFactsMaxBytes = 64u << 10;
constexpr size_t kStreamMaxBytes = size_t{1} << 30;
constexpr size_t kPruneChunkBytes = 32u << 10;  // of lines read at a time from the end of a day's list

std::string RunFolder(const std::string& data_folder, const std::string& run_id) {
  CHECK(!run_id.empty() && run_id.find('/') == std::string::npos && run_id.front() != '.');
  return StrCat(data_folder, "/output/", run_id);
}

std::string KeepFolder(const std::string& data_folder) { return StrCat(data_folder, "/output/keep"); }

std::string UtcDay(Instant instant) { return FormatUtc(instant).substr(0, 10); }

Status WriteBytes(const std::string& path, int flags, std::string_view bytes) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  if (!fd.valid()) return Error(StrCat(path, ": ", ErrnoText(errno)));
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error(StrCat(path, ": cannot write: ", ErrnoText(errno)));
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

// mkdir, where it is not there yet.
Status MakeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno != ENOENT) return Error(StrCat(path, ": ", ErrnoText(errno)));
  return MakeFolders(path, 0700);
}

Result<std::string> ReadStream(const std::string& path, const Json& facts) {
  if (facts.Get("kept").AsInteger() == 0) return std::string();
  return ReadFile(path, kStreamMaxBytes);
}

void RemoveOutput(const std::string& data_folder, std::string_view line) {
  std::vector<std::string_view> words = Split(line, ' ');
  if (words.size() != 2 || words[0].empty() || words[0].find('/') != std::string_view::npos ||
      words[0].front() == '.' || !ParseInteger(words[1]).has_value()) {
    return;  // no line of ours
  }
  const std::string folder = RunFolder(data_folder, std::string(words[0]));
  for (const char* suffix : {".json", ".out", ".err"})
    ::unlink(StrCat(folder, "/", words[1], suffix).c_str());
  ::rmdir(folder.c_str());  // refused while another attempt's output is in it
}

// Takes up to `most` lines from the end of the list, removes their outputs and cuts them off; the list goes
// with its last. From the end, so that what is done is remembered by the file's own length.
int PruneDay(const std::string& data_folder, const std::string& path, int most) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return 0;
  const off_t begin = std::max<off_t>(0, info.st_size - static_cast<off_t>(kPruneChunkBytes));
  std::string chunk(static_cast<size_t>(info.st_size - begin), '\0');
  if (::pread(fd.get(), chunk.data(), chunk.size(), begin) != static_cast<ssize_t>(chunk.size())) return 0;
  int removed = 0;
  size_t end = chunk.size();
  while (end > 0 && removed < most) {
    const size_t line_end = chunk[end - 1] == '\n' ? end - 1 : end;
    const size_t before = line_end == 0 ? std::string::npos : chunk.rfind('\n', line_end - 1);
    if (before == std::string::npos && begin > 0) break;  // the line begins before the chunk
    const size_t line_begin = before == std::string::npos ? 0 : before + 1;
    RemoveOutput(data_folder, std::string_view(chunk).substr(line_begin, line_end - line_begin));
    ++removed;
    end = line_begin;
  }
  const off_t left = begin + static_cast<off_t>(end);
  if (left == 0) {
    ::unlink(path.c_str());
  } else if (::ftruncate(fd.get(), left) != 0) {
    return 0;
  }
  return removed;
}

}  // namespace

Json CaptureFacts(const Capture& capture) {
  return Json::MakeObject()
      .Set("bytes", capture.total())
      .Set("kept", capture.total() - capture.dropped())
      .Set("dropped", capture.dropped())
      .Set("head", capture.head_size())
      .Set("sha256", capture.Sha256());
}

Status StoreOutput(const OutputToStore& output) {
  if (output.out.total() == 0 && output.err.total() == 0) return {};
  const std::string folder = RunFolder(output.data_folder, output.run_id);
  Status made = MakeFolder(folder);
  if (made.ok()) made = MakeFolder(KeepFolder(output.data_folder));
  if (!made.ok()) return made.error().Wrap("output");
  // The line that lets it go comes first: a crash in between leaves a line too many, never an output for
  // ever.
  const std::string line = StrCat(output.run_id, " ", output.attempt, "\n");
  const std::string day = StrCat(KeepFolder(output.data_folder), "/", UtcDay(output.keep_until));
  Status written = WriteBytes(day, O_APPEND, line);
  const std::string base = StrCat(folder, "/", output.attempt);
  if (written.ok() && output.out.total() > 0) written = WriteBytes(base + ".out", O_TRUNC, output.out.Kept());
  if (written.ok() && output.err.total() > 0) written = WriteBytes(base + ".err", O_TRUNC, output.err.Kept());
  if (!written.ok()) return written.error().Wrap("output");
  Json facts = Json::MakeObject();
  facts.Set("out", CaptureFacts(output.out)).Set("err", CaptureFacts(output.err));
  facts.Set("keep_until", FormatUtc(output.keep_until));
  const std::string temporary = base + ".json.new";
  written = WriteBytes(temporary, O_TRUNC, facts.Dump() + "\n");
  if (written.ok() && ::rename(temporary.c_str(), (base + ".json").c_str()) != 0) {
    written = Error(StrCat(base, ".json: ", ErrnoText(errno)));
  }
  return written.ok() ? Status() : Status(written.error().Wrap("output"));
}

Result<CapturedOutput> ReadOutput(const std::string& data_folder, const std::string& run_id, int attempt) {
  CapturedOutput output;
  if (run_id.empty() || run_id.front() == '.' || run_id.find('/') != std::string::npos) {
    return Error(StrCat("output: \"", run_id, "\" is no run id"));
  }
  const std::string base = StrCat(RunFolder(data_folder, run_id), "/", attempt);
  if (!FileExists(base + ".json")) return output;
  Result<std::string> text = ReadFile(base + ".json", kFactsMaxBytes);
  if (!text.ok()) return text.error().Wrap("output");
  Result<Json> facts = Json::Parse(Trim(*text));
  if (!facts.ok()) return facts.error().Wrap(StrCat("output ", base, ".json"));
  Result<std::string> out = ReadStream(base + ".out", facts->Get("out"));
  if (!out.ok()) return out.error().Wrap("output");
  Result<std::string> err = ReadStream(base + ".err", facts->Get("err"));
  if (!err.ok()) return err.error().Wrap("output");
  output.stored = true;
  output.out = std::move(out).value();
  output.err = std::move(err).value();
  const auto read = [&](const char* stream, int64_t& bytes, int64_t& dropped, int64_t& head) {
    const Json& of = facts->Get(stream);
    bytes = of.Get("bytes").AsInteger();
    dropped = of.Get("dropped").AsInteger();
    head = of.Get("head").AsInteger();
    return of.Get("sha256").AsString();
  };
  output.out_sha256 = read("out", output.out_bytes, output.out_dropped, output.out_head);
  output.err_sha256 = read("err", output.err_bytes, output.err_dropped, output.err_head);
  return output;
}

int PruneOutputs(const std::string& data_folder, Instant now) {
  Result<std::vector<std::string>> days = ListFiles(KeepFolder(data_folder), {""});
  if (!days.ok()) return 0;  // nothing was ever stored
  const std::string today = UtcDay(now);
  int removed = 0;
  for (const std::string& path : *days) {
    if (path.substr(path.rfind('/') + 1) >= today) break;  // sorted by day
    while (removed < kPruneMax) {
      const int n = PruneDay(data_folder, path, kPruneMax - removed);
      if (n == 0) break;
      removed += n;
    }
    if (removed >= kPruneMax) break;
  }
  return removed;
}

}  // namespace duecourse
