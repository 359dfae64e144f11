#include "store/store_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>

#include "base/access.h"
#include "base/text.h"
#include "store/schema.h"
#include "store/sqlite_fault.h"

namespace duecourse {
namespace {

constexpr size_t kSmallFileMax = 4096;
constexpr size_t kHeaderBytes = 100;         // of a SQLite database
constexpr size_t kApplicationIdOffset = 68;  // big-endian, in that header
constexpr int kLockTries = 10;

// File systems that other machines serve (linux/magic.h and the file systems' own sources): locks and syncs
// there are promises of somebody else.
struct NetworkKind {
  uint32_t magic;
  const char* name;
};
constexpr NetworkKind kNetwork[] = {{0x6969, "NFS"},      {0x517B, "SMB"},        {0xFF534D42, "CIFS"},
                                    {0xFE534D42, "SMB2"}, {0x01021997, "9P"},     {0x5346414F, "AFS"},
                                    {0x00C36400, "Ceph"}, {0x0BD00BD0, "Lustre"}, {0x73757245, "Coda"},
                                    {0x47504653, "GPFS"}, {0x013111A8, "IBRIX"}};

StoreFault::Kind KindOfErrno(int error) {
  if (error == EROFS || error == EACCES || error == EPERM) return StoreFault::Kind::kReadOnly;
  if (error == ENOSPC || error == EDQUOT) return StoreFault::Kind::kFull;
  return StoreFault::Kind::kIo;
}

StoreFault FromErrno(const std::string& path, const char* what, int error) {
  return MakeFault(KindOfErrno(error),
                   StrCat(path, ": cannot ", what, ": ", ErrnoText(error),
                          ". The daemon needs a local folder that it may write, of its own"));
}

bool Exists(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

// "name value" lines.
std::string FieldOf(std::string_view text, std::string_view name) {
  for (std::string_view line : Split(text, '\n')) {
    if (line.size() > name.size() && line.substr(0, name.size()) == name && line[name.size()] == ' ') {
      return ShowBytes(line.substr(name.size() + 1).substr(0, 200), false);
    }
  }
  return "unknown";
}

// The lock's file may be removed by somebody between our open and our lock; then we would lock a name that is
// no longer there.
bool SameFile(int fd, const std::string& path) {
  struct stat ours {};
  struct stat there {};
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &there) == 0 && ours.st_dev == there.st_dev &&
         ours.st_ino == there.st_ino;
}

StoreFault OwnedBy(const std::string& path) {
  Result<std::string> text = ReadFile(path, kSmallFileMax);
  std::string said = text.ok() ? *text : "";
  std::string pid = FieldOf(said, "pid");
  return MakeFault(StoreFault::Kind::kOwned,
                   StrCat(path, ": another daemon has this store open: pid ", pid, ", node ",
                          FieldOf(said, "node"), ", since ", FieldOf(said, "since"),
                          ". Stop it first (kill -TERM ", pid, "), or give this one another --data folder"));
}

}  // namespace

StoreFault StoreFolder::Prepare(bool make, bool allow_unsafe_durability) const {
  if (make) {
    if (Status made = MakeFolders(path_, 0700); !made.ok()) {
      return MakeFault(StoreFault::Kind::kIo, StrCat("no folder for the store: ", made.error().message()));
    }
  }
  struct statfs info {};
  if (statfs(path_.c_str(), &info) != 0) return FromErrno(path_, "look at its file system", errno);
  for (const NetworkKind& kind : kNetwork) {
    if (static_cast<uint32_t>(info.f_type) != kind.magic || allow_unsafe_durability) continue;
    return MakeFault(
        StoreFault::Kind::kOther,
        StrCat(path_, ": is on a network file system (", kind.name,
               "), where a commit is not known to last and a lock not known to hold, so a task could "
               "run twice. Use a local disk, or set allow_unsafe_durability: true"));
  }
  return {};
}

StoreFault StoreFolder::Lock(const StoreOwner& owner, Instant now) {
  const std::string path = path_ + "/owner.lock";
  if (lock_.valid() && SameFile(lock_.get(), path)) return {};
  for (int i = 0; i < kLockTries; ++i) {
    Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return FromErrno(path, "open the owner lock", errno);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return OwnedBy(path);
      if (errno == EINTR) continue;
      return FromErrno(path, "lock", errno);
    }
    if (!SameFile(fd.get(), path)) continue;
    std::string text = StrCat("pid ", getpid(), "\nnode ", owner.node, "\nincarnation ", owner.incarnation,
                              "\nsince ", FormatUtc(now), "\n");
    bool said = ftruncate(fd.get(), 0) == 0 &&
                pwrite(fd.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    if (!said) return FromErrno(path, "write", errno);
    lock_ = std::move(fd);
    return {};
  }
  return MakeFault(StoreFault::Kind::kIo, StrCat(path, ": is removed again and again by somebody else"));
}

void StoreFolder::Unlock() { lock_.Reset(); }

StoreFault StoreFolder::CheckEverMade() const {
  const std::string database = DatabasePath();
  if (Exists(database) || Exists(database + "-wal") || Exists(path_ + "/store-id")) return {};
  // What may not be looked at is not known to be missing.
  if (const std::string denied = WhyDenied(path_, R_OK | W_OK | X_OK); !denied.empty()) {
    return MakeFault(
        StoreFault::Kind::kReadOnly,
        StrCat(path_, ": permission denied: ", denied,
               ". Start the daemon as the user whose store it is, or give this one another --data "
               "folder"));
  }
  return MakeFault(
      StoreFault::Kind::kVanished,
      StrCat(path_, ": holds no store, and nothing is started empty by itself: `duecourse serve --init` makes ",
             "a new store here; if there was one, its disk is not mounted or --data names another folder"));
}

StoreFault StoreFolder::CheckStill(const std::string& store_id) const {
  if (!Exists(DatabasePath())) return Gone();
  Result<std::string> id = ReadId();
  if (!id.ok()) return MakeFault(StoreFault::Kind::kVanished, id.error().message());
  if (id->empty() || *id == store_id) return {};
  return MakeFault(StoreFault::Kind::kVanished,
                   StrCat(path_, ": holds store ", *id, ", but the daemon works with store ", store_id,
                          ": another folder was put here. Nothing starts; put the right one back"));
}

StoreFault StoreFolder::Inspect(bool init, Instant now, bool& found) {
  const std::string database = DatabasePath();
  found = Exists(database);
  if (found) return InspectDatabase();
  const std::string log = database + "-wal";
  bool was_here = Exists(path_ + "/store-id") || Exists(log);
  if (!was_here) return {};
  if (!init) {
    Result<std::string> id = ReadId();
    return MakeFault(
        StoreFault::Kind::kVanished,
        StrCat(database, ": is gone, but store ", id.ok() && !id->empty() ? *id : "(id unreadable)",
               " was here. Starting empty would forget which keys are done, and run them again. "
               "Restore it (cp BACKUP ",
               database,
               "), or start a new store with `duecourse serve --init`: it is in force from then on, "
               "and windows already open owe nothing"));
  }
  if (Exists(log)) {
    std::string aside = StrCat(log, ".old-", now.ms);
    if (rename(log.c_str(), aside.c_str()) != 0) return FromErrno(log, "lay aside", errno);
  }
  return {};
}

// False, with errno, where it cannot be opened.
bool StoreFolder::Look() {
  const std::string database = DatabasePath();
  if (database_.valid() && SameFile(database_.get(), database)) return true;
  Fd fd(open(database.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return false;
  database_ = std::move(fd);
  return true;
}

// What is wrong with the first bytes; empty where nothing is.
std::string StoreFolder::HeaderFault() const {
  unsigned char header[kHeaderBytes] = {};
  ssize_t got = pread(database_.get(), header, sizeof header, 0);
  if (got < 0) return StrCat("cannot be read: ", ErrnoText(errno));
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  bool is_sqlite = got == static_cast<ssize_t>(kHeaderBytes) &&
                   std::equal(kMagic.begin(), kMagic.end(), header,
                              [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; });
  if (!is_sqlite) return "is no SQLite database: damaged at its beginning, or another program's file";
  int64_t id = 0;
  for (size_t i = 0; i < 4; ++i) id = id << 8 | header[kApplicationIdOffset + i];
  return id == kApplicationId ? "" : "is a database of another application, not a store of duecourse";
}

StoreFault StoreFolder::InspectDatabase() {
  const std::string database = DatabasePath();
  if (!Look()) return FromErrno(database, "open", errno);
  struct stat info {};
  if (fstat(database_.get(), &info) != 0) return FromErrno(database, "look at", errno);
  auto refuse = [&](const std::string& what) {
    return MakeFault(StoreFault::Kind::kCorrupt, StrCat(database, ": ", what, ". ", RecoverySteps(database)));
  };
  if (!S_ISREG(info.st_mode)) return refuse("is no regular file");
  if (info.st_size == 0) return refuse("is empty (0 bytes); a store never is");
  std::string fault = HeaderFault();
  return fault.empty() ? StoreFault() : refuse(fault);
}

Result<std::string> StoreFolder::ReadId() const {
  const std::string path = path_ + "/store-id";
  if (!Exists(path)) return std::string();
  Result<std::string> text = ReadFile(path, kSmallFileMax);
  if (!text.ok()) return text.error();
  std::string id = FieldOf(*text, "store");
  if (id == "unknown")
    return Error(StrCat(path, ": holds no line `store ID`; remove it if store.db is yours"));
  return id;
}

Status StoreFolder::WriteId(const std::string& store_id, Instant created_at) const {
  return WriteFileAtomic(path_ + "/store-id",
                         StrCat("store ", store_id, "\ncreated ", FormatUtc(created_at), "\n"), true);
}

void StoreFolder::Remember() {
  struct stat info {};
  size_ = Look() && fstat(database_.get(), &info) == 0 ? info.st_size : 0;
}

StoreFault StoreFolder::Gone() const {
  const bool folder = Exists(path_);
  const std::string what = folder ? DatabasePath() : path_;
  return MakeFault(
      StoreFault::Kind::kVanished,
      StrCat(what, folder && Exists(what) ? ": is another file than the one in use" : ": is gone",
             ": deleted, moved, replaced or unmounted while the daemon used it. Nothing starts; put it back, or ",
             "restore a backup (cp BACKUP ", DatabasePath(), ")"));
}

StoreFault StoreFolder::CheckThere() {
  auto reopened = [](StoreFault fault) {
    fault.reopen = true;
    return fault;
  };
  const std::string database = DatabasePath();
  struct stat info {};
  if (!database_.valid() || !SameFile(database_.get(), database) || fstat(database_.get(), &info) != 0) {
    return reopened(Gone());
  }
  // Without its file the lock keeps nobody out.
  const std::string lock = path_ + "/owner.lock";
  if (!lock_.valid() || !SameFile(lock_.get(), lock)) {
    return reopened(MakeFault(StoreFault::Kind::kVanished,
                              StrCat(lock, ": was removed or replaced while the daemon held it. Nothing starts "
                                           "until it holds it again; leave that file alone")));
  }
  std::string fault = HeaderFault();
  if (fault.empty() && info.st_size < size_) {
    fault = StrCat("was cut from ", size_, " to ", info.st_size, " bytes");
  }
  if (fault.empty()) {
    size_ = info.st_size;
    return {};
  }
  return reopened(MakeFault(StoreFault::Kind::kCorrupt,
                            StrCat(database, ": ", fault, ", and that while the daemon used it. Nothing starts. ",
                                   RecoverySteps(database))));
}

int64_t StoreFolder::FreeBytes() const {
  struct statvfs info {};
  if (statvfs(path_.c_str(), &info) != 0) return -1;
  return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
}

bool StoreFolder::MountedReadOnly() const {
  struct statvfs info {};
  return statvfs(path_.c_str(), &info) == 0 && (info.f_flag & ST_RDONLY) != 0;
}

void StoreFolder::LayBallast() const {
  const std::string path = path_ + "/ballast";
  if (Exists(path) || FreeBytes() < kBallastRoomBytes) return;
  Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  // Half a ballast is none.
  if (fd.valid() && posix_fallocate(fd.get(), 0, kBallastBytes) != 0) unlink(path.c_str());
}

bool StoreFolder::DropBallast() const { return unlink((path_ + "/ballast").c_str()) == 0; }

}  // namespace duecourse
