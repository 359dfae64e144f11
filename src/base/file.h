// Files and folders, the few things the daemon does with them. All calls block; none is for the engine's thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace duecourse {

// A file descriptor that closes itself. Movable.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { Reset(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void Reset();

 private:
  int fd_ = -1;
};

// The whole file; refuses anything that is no regular file (a FIFO or device never blocks us) or larger than max_bytes.
Result<std::string> ReadFile(const std::string& path, size_t max_bytes);
// Written beside, synced, renamed: readers see the old or the new content, never half. An existing file keeps its mode, a
// new one has 0600.
Status WriteFileAtomic(const std::string& path, std::string_view content, bool sync);
// Paths (folder joined with name) of the regular files directly in the folder whose names end in one of the suffixes,
// sorted; hidden names are left out, links to regular files are not.
Result<std::vector<std::string>> ListFiles(const std::string& folder, const std::vector<std::string>& suffixes);
Status MakeFolders(const std::string& path, int mode);  // like mkdir -p
bool FileExists(const std::string& path);  // a regular file, or a link to one
bool FolderExists(const std::string& path);
std::string JoinPath(std::string_view base, std::string_view path);  // path itself where it is absolute
std::string AbsolutePath(const std::string& path);                  // lexical, from the current folder
std::string ParentFolder(std::string_view path);
std::string ErrnoText(int error);  // "No such file or directory (ENOENT)"

}  // namespace duecourse
