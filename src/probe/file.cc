#include "probe/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "base/text.h"

namespace duecourse {
namespace {

using Answer = PreconditionFact::Answer;

constexpr size_t kChecksumFileMax = 1u << 20;

Observation Found(Answer answer, std::string code, std::string text) {
  return {answer, std::move(code), std::move(text)};
}

Observation OfFault(const OpenFault& fault) {
  return Found(fault.missing ? Answer::kNo : Answer::kCheckFailed, fault.code, fault.text);
}

Instant ModifiedAt(const struct stat& info) {
  return Instant{} + Seconds(info.st_mtim.tv_sec) + Millis{info.st_mtim.tv_nsec / 1'000'000};
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// Whether what stands at the path now is the file that was opened, and as it was then.
bool StillTheSame(const OpenedFile& file) {
  struct stat open_now {};
  struct stat at_path {};
  return ::fstat(file.fd.get(), &open_now) == 0 && ::stat(file.real.c_str(), &at_path) == 0 &&
         SameFile(open_now, file.info) && SameFile(at_path, file.info);
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// What keeps it from being ready although it is there; empty where nothing does.
std::vector<std::string> Unready(const FileCheck& check, const OpenedFile& file, int64_t since_us,
                                 int64_t now_us, std::string* code) {
  std::vector<std::string> reasons;
  const Instant modified = ModifiedAt(file.info);
  if (check.modified_after.has_value() && modified < *check.modified_after) {
    *code = "too_old";
    reasons.push_back(StrCat("was last modified ", FormatLocal(modified, check.zone), ", needed ",
                             FormatLocal(*check.modified_after, check.zone), " or later"));
  }
  const Millis steady = check.time.Since(since_us, now_us);
  if (check.stable_for > Millis{0} && steady < check.stable_for) {
    if (code->empty()) *code = "unstable";
    reasons.push_back(StrCat("has been seen unchanged only since ",
                             FormatLocal(check.time.At(since_us), check.zone), ", needed ",
                             FormatMillis(check.stable_for)));
  }
  return reasons;
}

// The checksum that is wanted; where there is none, `fault` says why.
std::string WantedChecksum(const FileCheck& check, const std::atomic<bool>& cancelled, Observation* fault) {
  const std::string bare = check.checksum.starts_with("sha256:") ? check.checksum.substr(7) : check.checksum;
  if (IsSha256(bare)) return AsciiLower(bare);
  if (!check.checksum.starts_with('/')) {
    *fault =
        Found(Answer::kCheckFailed, "bad_checksum",
              StrCat("checksum ", Quote(check.checksum), " is neither a SHA-256 (64 hex digits) nor a path"));
    return "";
  }
  const std::string name = StrCat("checksum file ", ShortName(check.checksum, check.folder));
  OpenedFile file;
  OpenFault open = OpenRegular(check.checksum, name, check.bounds, &file);
  if (!open.code.empty()) {
    *fault = OfFault(open);
    if (open.missing) fault->code = "checksum_missing";
    return "";
  }
  std::string text(kChecksumFileMax, '\0');
  const ssize_t n = cancelled ? -1 : ::pread(file.fd.get(), text.data(), text.size(), 0);
  text.resize(n < 0 ? 0 : static_cast<size_t>(n));
  std::string sum = ChecksumFor(text, BaseName(check.path));
  if (sum.empty()) {
    *fault = Found(Answer::kInvalid, "content_wrong",
                   StrCat(name, " holds no SHA-256 for ", BaseName(check.path)));
  }
  return sum;
}

// Everything about the content that is not as it should be.
std::vector<std::string> Wrong(const FileCheck& check, const OpenedFile& file, const FileContent& content,
                               const std::string& wanted_sum, bool whole) {
  std::vector<std::string> wrong;
  if (check.min_bytes.has_value() && file.info.st_size < *check.min_bytes) {
    wrong.push_back(StrCat("too small: ", file.info.st_size, " bytes < ", *check.min_bytes));
  }
  if (!check.first_line.empty() && !FirstLineFits(content.first_line, check.first_line)) {
    wrong.push_back(FirstLineFault(file, content.first_line, check.first_line));
  }
  if (!whole) return wrong;
  if (check.min_rows.has_value() && content.rows < *check.min_rows) {
    wrong.push_back(StrCat("too few rows: ", content.rows, " < ", *check.min_rows));
  }
  if (!wanted_sum.empty() && content.sha256 != wanted_sum) {
    wrong.push_back(file.may_quote ? StrCat("checksum ", content.sha256, " != ", wanted_sum)
                                   : "checksum is not the one that was asked for");
  }
  return wrong;
}

Observation CheckContent(const FileCheck& check, const OpenedFile& file, const std::string& wanted_sum,
                         SteadyFiles& steady, const std::atomic<bool>& cancelled) {
  const Reading reading = !wanted_sum.empty()          ? Reading::kWholeWithSum
                          : check.min_rows.has_value() ? Reading::kWhole
                                                       : Reading::kHead;
  const bool whole = reading != Reading::kHead;
  FileContent content;
  if (whole && file.info.st_size > kProbeMaxFileBytes) {
    return Found(Answer::kCheckFailed, "too_big",
                 StrCat(check.name, " has ", file.info.st_size, " bytes; rows and checksums are read up to ",
                        kProbeMaxFileBytes));
  }
  if (whole || !check.first_line.empty()) {
    std::string fault;
    if (!ReadContent(file, reading, cancelled, &content, &fault)) {
      return Found(Answer::kCheckFailed, "unreadable", StrCat(check.name, " cannot be read: ", fault));
    }
  }
  if (!StillTheSame(file)) {
    steady.Forget(check.path);
    return Found(Answer::kNo, "unstable", StrCat(check.name, " changed while it was read"));
  }
  const std::vector<std::string> wrong = Wrong(check, file, content, wanted_sum, whole);
  if (!wrong.empty())
    return Found(Answer::kInvalid, "content_wrong", StrCat(check.name, ": ", Join(wrong, "; ")));
  std::string text = StrCat(check.name, ": ", file.info.st_size, " bytes, modified ",
                            FormatLocal(ModifiedAt(file.info), check.zone));
  if (whole) text += StrCat(", ", content.rows, " rows");
  if (!wanted_sum.empty()) text += StrCat(", sha256 ", wanted_sum.substr(0, 12));
  return Found(Answer::kYes, "met", std::move(text));
}

}  // namespace

std::string ShortName(const std::string& path, const std::string& folder) {
  const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
  constexpr size_t kPathShown = 400;
  return Shown(path.starts_with(prefix) ? path.substr(prefix.size()) : path, kPathShown);
}

Observation CheckFile(const FileCheck& check, SteadyFiles& steady, const std::atomic<bool>& cancelled) {
  const int64_t begin_us = MonotonicMicros();
  OpenedFile file;
  file.progress = check.progress.get();
  const OpenFault open = OpenRegular(check.path, check.name, check.bounds, &file);
  if (open.missing) steady.Forget(check.path);
  if (open.missing && !check.must_exist) {
    return Found(Answer::kYes, "met", StrCat(check.name, " is not there and need not be"));
  }
  if (!open.code.empty()) return OfFault(open);
  const int64_t since_us = steady.See(check.path, file.info, begin_us, MonotonicMicros());
  std::string code;
  std::vector<std::string> reasons = Unready(check, file, since_us, begin_us, &code);
  if (!reasons.empty()) {
    // What can be seen at small cost is said along with it: whoever reads it wants to know all of it.
    FileContent head;
    std::string fault;
    if (check.first_line.empty() || ReadContent(file, Reading::kHead, cancelled, &head, &fault)) {
      for (std::string& more : Wrong(check, file, head, "", false)) reasons.push_back(std::move(more));
    }
    return Found(Answer::kNo, code, StrCat(check.name, " ", Join(reasons, "; ")));
  }
  std::string wanted_sum;
  if (!check.checksum.empty()) {
    Observation fault;
    wanted_sum = WantedChecksum(check, cancelled, &fault);
    if (wanted_sum.empty()) return fault;
  }
  return CheckContent(check, file, wanted_sum, steady, cancelled);
}

}  // namespace duecourse
