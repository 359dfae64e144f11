#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/text.h"

namespace duecourse {
namespace {

Error FileError(const std::string& path, std::string_view what, int error) {
  return Error(StrCat(path, ": ", what, ": ", ErrnoText(error)), error);
}

std::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

bool EndsWithAny(std::string_view name, const std::vector<std::string>& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const std::string& s) { return name.ends_with(s); });
}

// 0, or the errno of the write that failed.
int WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    content.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

// A rename is lasting only once its folder is synced.
int SyncFolder(const std::string& folder) {
  Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return errno;
  return 0;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

void Fd::Reset() {
  // Linux frees the descriptor even where close reports EINTR, so it is never repeated.
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  // O_NONBLOCK: opening a FIFO without a writer would wait for ever.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return FileError(path, "cannot open", errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return FileError(path, "cannot read", errno);
  if (!S_ISREG(info.st_mode))
    return Error(StrCat(path, ": is ", KindOf(info.st_mode), "; a regular file is needed"));
  Error too_large(StrCat(path, ": is larger than the ", max_bytes, " bytes allowed"));
  if (static_cast<uint64_t>(info.st_size) > max_bytes) return too_large;
  // The size is a hint only: the file may grow meanwhile, and files in /proc say 0.
  std::string content(static_cast<size_t>(info.st_size), '\0');
  size_t filled = 0;
  while (true) {
    if (filled == content.size()) content.resize(std::min(max_bytes + 1, std::max<size_t>(4096, filled * 2)));
    if (filled > max_bytes) return too_large;
    ssize_t n = ::read(fd.get(), content.data() + filled, content.size() - filled);
    if (n < 0) {
      if (errno == EINTR) continue;
      return FileError(path, "cannot read", errno);
    }
    if (n == 0) break;
    filled += static_cast<size_t>(n);
  }
  content.resize(filled);
  return content;
}

Status WriteFileAtomic(const std::string& path, std::string_view content, bool sync) {
  std::string temporary = path + ".tmp-XXXXXX";
  Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return FileError(path, "cannot write beside it", errno);
  auto fail = [&](std::string_view what, int error) {
    ::unlink(temporary.c_str());
    return FileError(path, what, error);
  };
  struct stat former {};
  if (::stat(path.c_str(), &former) == 0 && ::fchmod(fd.get(), former.st_mode & 07777) != 0) {
    return fail("cannot keep its mode", errno);
  }
  if (int error = WriteAll(fd.get(), content); error != 0) return fail("cannot write", error);
  if (sync && ::fdatasync(fd.get()) != 0) return fail("cannot sync", errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail("cannot replace", errno);
  if (sync) {
    if (int error = SyncFolder(ParentFolder(path)); error != 0)
      return FileError(path, "cannot sync its folder", error);
  }
  return {};
}

Result<std::vector<std::string>> ListFiles(const std::string& folder,
                                           const std::vector<std::string>& suffixes) {
  struct CloseFolder {
    void operator()(DIR* handle) const { ::closedir(handle); }
  };
  std::unique_ptr<DIR, CloseFolder> handle(::opendir(folder.c_str()));
  if (!handle) return FileError(folder, "cannot list", errno);
  std::vector<std::string> paths;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(handle.get());
    if (entry == nullptr) {
      if (errno != 0) return FileError(folder, "cannot list", errno);
      break;
    }
    std::string_view name = entry->d_name;
    if (name.front() == '.' || !EndsWithAny(name, suffixes)) continue;
    std::string path = JoinPath(folder, name);
    if (FileExists(path)) paths.push_back(std::move(path));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Status MakeFolders(const std::string& path, int mode) {
  if (path.empty()) return Error("the path of a folder is empty");
  for (size_t end = path.find('/', 1); true; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), static_cast<mode_t>(mode)) != 0 && errno != EEXIST) {
      int error = errno;
      if (!FolderExists(part)) return FileError(part, "cannot make this folder", error);
    }
    if (end == std::string::npos) break;
  }
  if (!FolderExists(path)) return Error(StrCat(path, ": is there but is no folder"));
  return {};
}

bool FileExists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool FolderExists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string JoinPath(std::string_view base, std::string_view path) {
  if (base.empty() || path.starts_with('/')) return std::string(path);
  if (path.empty()) return std::string(base);
  return StrCat(base, base.ends_with('/') ? "" : "/", path);
}

std::string AbsolutePath(const std::string& path) {
  std::string whole = path;
  if (!path.starts_with('/')) {
    std::array<char, PATH_MAX> buffer{};
    if (::getcwd(buffer.data(), buffer.size()) == nullptr) return path;
    whole = JoinPath(buffer.data(), path);
  }
  std::vector<std::string> parts;
  for (std::string_view part : Split(whole, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else {
      parts.emplace_back(part);
    }
  }
  return "/" + Join(parts, "/");
}

std::string ParentFolder(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  while (slash > 0 && path[slash - 1] == '/') --slash;
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

std::string ErrnoText(int error) {
  // The np forms do not depend on the locale and are safe from any thread.
  const char* name = ::strerrorname_np(error);
  const char* words = ::strerrordesc_np(error);
  if (name == nullptr || words == nullptr) return StrCat("error ", error);
  return StrCat(words, " (", name, ")");
}

}  // namespace duecourse
