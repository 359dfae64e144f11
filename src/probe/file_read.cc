// The parts of a file check that touch files: what is opened, and what reading it finds.
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include "base/sha256.h"
#include "base/text.h"
#include "probe/file.h"

namespace duecourse {
namespace {

OpenFault Fault(const char* code, std::string text) { return {false, code, std::move(text)}; }

const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "something else";
}

std::string RealPath(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? "" : std::string(real.get());
}

bool Beneath(const std::string& real, const std::vector<std::string>& roots) {
  return std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
    const std::string real_root = RealPath(root);
    if (real_root.empty()) return false;
    return real_root == "/" ||
           (real.starts_with(real_root) && real.size() > real_root.size() && real[real_root.size()] == '/');
  });
}

// Where the path leads no further than the folder it names. Links in that folder's own name are the rule's
// choice, or of whoever set the machine up.
bool InItsFolder(const std::string& path, const std::string& real) {
  return Beneath(real, {path.substr(0, path.rfind('/') + 1)});
}

OpenFault BoundsFault(const std::string& path, const std::string& name, const FileBounds& bounds,
                      OpenedFile* out) {
  const bool named = !bounds.roots.empty();
  out->may_quote = Beneath(out->real, named ? bounds.roots : bounds.homes);
  if (out->may_quote || (!named && InItsFolder(path, out->real))) return {};
  if (named) {
    return Fault("forbidden", StrCat(name, " leads to ", Quote(out->real), ", which is outside file_roots"));
  }
  return Fault("forbidden", StrCat(name, " is a link out of its folder, to ", Quote(out->real),
                                   "; duecourse.yaml names no file_roots that would allow it"));
}

// Opens a path that has no link in it, as realpath just said; one that has one by now is refused by the
// kernel. O_NONBLOCK because a FIFO may have taken the file's place.
int OpenWithoutLinks(const std::string& real) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  open_how how{};
  how.flags = kFlags;
  how.resolve = RESOLVE_NO_SYMLINKS;
  const long fd = ::syscall(SYS_openat2, AT_FDCWD, real.c_str(), &how, sizeof how);
  // Kernels before 5.6 and some sandboxes do not know openat2. Then only the last part of the path is held to
  // it.
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return ::open(real.c_str(), kFlags | O_NOFOLLOW);
  return static_cast<int>(fd);
}

OpenFault ResolveFault(const std::string& path, const std::string& name, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    OpenFault fault = Fault("missing", StrCat(name, " is not there"));
    fault.missing = true;
    std::array<char, PATH_MAX> target{};
    const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
    if (n > 0) {
      fault.text =
          StrCat(name, " is a link to ", Quote(std::string_view(target.data(), static_cast<size_t>(n))),
                 ", which is not there");
    }
    return fault;
  }
  if (error == ELOOP)
    return Fault("unresolved", StrCat(name, " cannot be resolved: its links go round in a circle"));
  if (error == EACCES) return Fault("unreadable", StrCat(name, " cannot be read: permission denied"));
  return Fault("unreadable", StrCat(name, " cannot be read: ", ErrnoText(error)));
}

std::string_view WithoutMark(std::string_view line) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  return line;
}

// Counts rows and gathers the first line as pieces of the file come by.
class LineCounter {
 public:
  void Add(std::string_view piece) {
    while (!piece.empty()) {
      const size_t end = piece.find('\n');
      const std::string_view part = piece.substr(0, end);
      if (blank_) blank_ = part.find_first_not_of(" \t\r") == std::string_view::npos;
      if (!first_over_) first_ += part.substr(0, kFirstLineMax - std::min(first_.size(), kFirstLineMax));
      if (end == std::string_view::npos) return;
      if (!blank_) ++rows_;
      blank_ = true;
      first_over_ = true;
      piece.remove_prefix(end + 1);
    }
  }
  bool first_over() const { return first_over_ || first_.size() >= kFirstLineMax; }
  int64_t rows() const { return rows_ + (blank_ ? 0 : 1); }
  std::string first() const {
    std::string_view line = WithoutMark(first_);
    while (line.ends_with('\r')) line.remove_suffix(1);
    return std::string(line);
  }

 private:
  std::string first_;
  bool first_over_ = false;
  bool blank_ = true;
  int64_t rows_ = 0;
};

}  // namespace

OpenFault OpenRegular(const std::string& path, const std::string& name, const FileBounds& bounds,
                      OpenedFile* out) {
  out->real = RealPath(path);
  if (out->real.empty()) return ResolveFault(path, name, errno);
  if (OpenFault outside = BoundsFault(path, name, bounds, out); !outside.code.empty()) return outside;
  struct stat before {};
  if (::stat(out->real.c_str(), &before) != 0) return ResolveFault(path, name, errno);
  if (!S_ISREG(before.st_mode)) {
    return Fault("not_regular", StrCat(name, " is ", KindOf(before.st_mode), ", not a regular file"));
  }
  out->fd = Fd(OpenWithoutLinks(out->real));
  if (!out->fd.valid() && errno == ELOOP) {
    return Fault("unresolved", StrCat(name, " was replaced by a link while it was looked at"));
  }
  if (!out->fd.valid()) return ResolveFault(path, name, errno);
  struct statfs system {};
  if (::fstat(out->fd.get(), &out->info) != 0 || ::fstatfs(out->fd.get(), &system) != 0) {
    return ResolveFault(path, name, errno);
  }
  if (!S_ISREG(out->info.st_mode)) {
    return Fault("not_regular", StrCat(name, " is ", KindOf(out->info.st_mode), ", not a regular file"));
  }
  if (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC) {
    return Fault("not_regular", StrCat(name, " is a file of the kernel, no data"));
  }
  return {};
}

bool ReadContent(const OpenedFile& file, Reading reading, const std::atomic<bool>& cancelled,
                 FileContent* out, std::string* fault) {
  constexpr size_t kPiece = 256u << 10;
  const bool head_only = reading == Reading::kHead;
  std::string buffer(head_only ? kFirstLineMax : kPiece, '\0');
  Sha256 hash;
  LineCounter lines;
  off_t at = 0;
  while (true) {
    if (cancelled) return false;
    const ssize_t n = ::pread(file.fd.get(), buffer.data(), buffer.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      *fault = ErrnoText(errno);
      return false;
    }
    if (n == 0) break;
    at += n;
    if (file.progress != nullptr) *file.progress += n;
    // It grows under our hands: what is beyond the size it had is not looked at; the check after the reading
    // tells.
    if (at > file.info.st_size && !head_only) break;
    const std::string_view piece(buffer.data(), static_cast<size_t>(n));
    lines.Add(piece);
    if (reading == Reading::kWholeWithSum) hash.Add(piece);
    if (head_only && lines.first_over()) break;
  }
  out->first_line = lines.first();
  out->rows = lines.rows();
  if (reading == Reading::kWholeWithSum) out->sha256 = hash.Hex();
  return true;
}

bool FirstLineFits(const std::string& line, const std::string& wanted) {
  if (line == wanted) return true;
  if (wanted.empty()) return false;
  const auto in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  for (size_t at = line.find(wanted); at != std::string::npos; at = line.find(wanted, at + 1)) {
    const size_t end = at + wanted.size();
    const bool starts = at == 0 || !in_word(line[at - 1]) || !in_word(wanted.front());
    const bool stops = end == line.size() || !in_word(line[end]) || !in_word(wanted.back());
    if (starts && stops) return true;
  }
  return false;
}

std::string FirstLineFault(const OpenedFile& file, const std::string& line, const std::string& wanted) {
  if (!file.may_quote) {
    return StrCat("first line is not what was asked for, ", Quote(wanted),
                  " (what it is, is told only of files under file_roots)");
  }
  const std::string shown = line.empty() ? "(empty)" : Shown(line, kFirstLineShown);
  const bool one_word = line.find_first_of(" \t,;|") == std::string::npos;
  if (one_word && wanted.find_first_of(" \t,;|") == std::string::npos)
    return StrCat("first line ", shown, " != ", Quote(wanted));
  return StrCat("first line ", shown, " has no ", Quote(wanted), " in it",
                line.find(wanted) == std::string::npos ? "" : " as a word of its own");
}

bool IsSha256(std::string_view text) {
  constexpr size_t kDigits = 64;
  return text.size() == kDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
         });
}

std::string ChecksumFor(const std::string& text, const std::string& file_name) {
  constexpr size_t kDigits = 64;
  std::string only;
  size_t found = 0;
  for (std::string_view line : Split(text, '\n')) {
    line = Trim(WithoutMark(line));
    std::string_view digits;
    std::string_view name;
    if (line.starts_with("SHA256 (") && line.rfind(") = ") != std::string_view::npos) {
      const size_t close = line.rfind(") = ");
      name = line.substr(8, close - 8);
      digits = line.substr(close + 4);
    } else {
      digits = line.substr(0, kDigits);
      name = Trim(line.substr(digits.size()));
      if (name.starts_with('*')) name.remove_prefix(1);
    }
    if (!IsSha256(digits)) continue;
    const std::string_view base =
        name.substr(name.rfind('/') == std::string_view::npos ? 0 : name.rfind('/') + 1);
    if (base == file_name) return AsciiLower(digits);
    ++found;
    only = AsciiLower(digits);
    // A sum that names another file is none for ours.
    if (!base.empty()) only.clear();
  }
  return found == 1 ? only : "";
}

}  // namespace duecourse
