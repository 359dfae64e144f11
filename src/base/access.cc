#include "base/access.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"

namespace duecourse {

static std::string UserName(uid_t user) {
  std::array<char, 16384> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, room.data(), room.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return StrCat("uid ", static_cast<int64_t>(user));
}

std::string WhyDenied(const std::string& path, int rights) {
  if (::faccessat(AT_FDCWD, path.c_str(), rights, AT_EACCESS) == 0 || errno != EACCES) return "";
  // What can be looked at and lets nobody further: the path itself, or the nearest folder above it.
  std::string barrier = path;
  struct stat info {};
  while (::stat(barrier.c_str(), &info) != 0) {
    const std::string above = ParentFolder(barrier);
    if (above == barrier || above.empty()) return StrCat(path, " may not be used by ", UserName(::geteuid()));
    barrier = above;
  }
  std::array<char, 16> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(info.st_mode & 07777));
  return StrCat(barrier, " belongs to ", UserName(info.st_uid), " (mode ", mode.data(), ") and you are ",
                UserName(::geteuid()));
}

}  // namespace duecourse
