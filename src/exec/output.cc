#include "exec/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

namespace duecourse {
namespace {

constexpr size_t kOutputMaxBytes = size_t{2} << 30;
constexpr size_t kPruneChunkBytes = 32u << 10;  // of lines read at a time from the end of a day's list

bool IsRunId(std::string_view run_id) {
  return !run_id.empty() && run_id.front() != '.' && run_id.find_first_of("/ \n") == std::string_view::npos;
}

std::string ShardFolder(const std::string& data_folder, std::string_view run_id) {
  CHECK(IsRunId(run_id));
  return StrCat(data_folder, "/output/", run_id.substr(run_id.size() - std::min<size_t>(2, run_id.size())));
}

std::string OutputPath(const std::string& data_folder, std::string_view run_id, int64_t attempt) {
  return StrCat(ShardFolder(data_folder, run_id), "/", run_id, ".", attempt);
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

// mkdir of it and of the folder above it, where they are not there yet. Never of the data folder: one that
// was moved away must be missed, not made anew.
Status MakeFolder(const std::string& path) {
  auto make = [](const std::string& folder) {
    return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
  };
  int error = make(path);
  if (error == ENOENT) error = make(ParentFolder(path));
  if (error == 0) error = make(path);
  return error == 0 ? Status() : Status(Error(StrCat(path, ": ", ErrnoText(error))));
}

// What is kept, without the secrets that this process knows: a handler may print the password it was given.
struct Clean {
  std::string bytes;
  size_t head = 0;
};

Clean CleanOf(const Capture& capture) {
  std::string kept = capture.Kept();
  const size_t head = static_cast<size_t>(capture.head_size());
  if (capture.dropped() == 0) return {Redact(std::move(kept)), head};
  Clean clean;
  clean.bytes = RedactPiece(kept.substr(0, head), {false, true});
  clean.head = clean.bytes.size();
  clean.bytes += RedactPiece(kept.substr(head), {true, false});
  return clean;
}

Json FactsOf(const Capture& capture, const Clean& clean) {
  return CaptureFacts(capture).Set("kept", clean.bytes.size()).Set("head", std::min(clean.head, clean.bytes.size()));
}

void RemoveOutput(const std::string& data_folder, std::string_view line) {
  std::vector<std::string_view> words = Split(line, ' ');
  if (words.size() != 2 || !IsRunId(words[0])) return;  // no line of ours
  std::optional<int64_t> attempt = ParseInteger(words[1]);
  if (attempt.has_value()) ::unlink(OutputPath(data_folder, words[0], *attempt).c_str());
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
  Status made = MakeFolder(ShardFolder(output.data_folder, output.run_id));
  if (made.ok()) made = MakeFolder(KeepFolder(output.data_folder));
  if (!made.ok()) return made.error().Wrap("output");
  // The line that lets it go comes first: a crash in between leaves a line too many, never an output for
  // ever.
  const std::string line = StrCat(output.run_id, " ", output.attempt, "\n");
  Status written =
      WriteBytes(StrCat(KeepFolder(output.data_folder), "/", UtcDay(output.keep_until)), O_APPEND, line);
  if (!written.ok()) return written.error().Wrap("output");
  Json facts = Json::MakeObject();
  const Clean out = CleanOf(output.out);
  const Clean err = CleanOf(output.err);
  facts.Set("out", FactsOf(output.out, out)).Set("err", FactsOf(output.err, err));
  facts.Set("keep_until", FormatUtc(output.keep_until));
  written = WriteBytes(OutputPath(output.data_folder, output.run_id, output.attempt), O_TRUNC,
                       StrCat(facts.Dump(), "\n", out.bytes, err.bytes));
  return written.ok() ? Status() : Status(written.error().Wrap("output"));
}

Result<CapturedOutput> ReadOutput(const std::string& data_folder, const std::string& run_id, int attempt) {
  CapturedOutput output;
  if (!IsRunId(run_id)) return Error(StrCat("output: \"", run_id, "\" is no run id"));
  const std::string path = OutputPath(data_folder, run_id, attempt);
  if (!FileExists(path)) return output;
  Result<std::string> text = ReadFile(path, kOutputMaxBytes);
  if (!text.ok()) return text.error().Wrap("output");
  const size_t line = text->find('\n');
  if (line == std::string::npos) return Error(StrCat("output ", path, ": it is cut off in its first line"));
  Result<Json> facts = Json::Parse(std::string_view(*text).substr(0, line));
  if (!facts.ok()) return facts.error().Wrap(StrCat("output ", path));
  const Json& out = facts->Get("out");
  const Json& err = facts->Get("err");
  const size_t out_kept = static_cast<size_t>(std::max<int64_t>(0, out.Get("kept").AsInteger()));
  const size_t err_kept = static_cast<size_t>(std::max<int64_t>(0, err.Get("kept").AsInteger()));
  if (text->size() - line - 1 != out_kept + err_kept) {
    return Error(StrCat("output ", path, ": it is cut off; ", out_kept + err_kept,
                        " bytes were to follow its first line"));
  }
  output.stored = true;
  output.out = text->substr(line + 1, out_kept);
  output.err = text->substr(line + 1 + out_kept);
  output.out_bytes = out.Get("bytes").AsInteger();
  output.err_bytes = err.Get("bytes").AsInteger();
  output.out_dropped = out.Get("dropped").AsInteger();
  output.err_dropped = err.Get("dropped").AsInteger();
  output.out_head = out.Get("head").AsInteger();
  output.err_head = err.Get("head").AsInteger();
  output.out_sha256 = out.Get("sha256").AsString();
  output.err_sha256 = err.Get("sha256").AsString();
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
