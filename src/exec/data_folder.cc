#include "exec/data_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace duecourse {

DataFolder::DataFolder(std::string path) : path_(std::move(path)) {
  struct stat info {};
  known_ = ::stat(path_.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

Status DataFolder::Remake(const std::string& name) const {
  Fd folder(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!folder.valid() || ::fstat(folder.get(), &info) != 0)
    return Error(StrCat("the data folder ", path_, " cannot be entered: ", ErrnoText(errno)), errno);
  if (!known_ || info.st_dev != device_ || info.st_ino != inode_) {
    return Error(StrCat("the data folder ", path_,
                        " is not the one this daemon was started on; nothing is made in it"));
  }
  if (::mkdirat(folder.get(), name.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return Error(StrCat(path_, "/", name, " is missing and cannot be made: ", ErrnoText(errno)), errno);
}

}  // namespace duecourse
