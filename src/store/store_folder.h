// The folder of a SQLite store and what lies in it beside the database: the owner lock, the store-id file,
// the ballast. Everything here is done before SQLite is asked to write anything, so a file that is damaged,
// foreign or not the one it was is refused and left as it is.
//
//   store.db, -wal, -shm   the database
//   owner.lock             locked (flock) for as long as a daemon has the store; holding it proves that any
//                          predecessor is dead. Its text says who: pid, node, incarnation, since
//   store-id               the store's id. With it but without store.db the store is gone, and starting empty
//                          would forget which keys are done
//   ballast                space that is given up when the disk is full, so that results can still be stored
//
// The folder is made with mode 0700 where it is not there, files have 0600. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"
#include "store/claim.h"

namespace duecourse {

inline constexpr int64_t kBallastBytes = 4 << 20;
// With less than this free no claim is granted: what runs must still be able to end in the store.
inline constexpr int64_t kLowWaterBytes = 8 << 20;
// The ballast is laid (again) only where this much is free.
inline constexpr int64_t kBallastRoomBytes = 64 << 20;

class StoreFolder {
 public:
  explicit StoreFolder(std::string path) : path_(std::move(path)) {}

  std::string DatabasePath() const { return path_ + "/store.db"; }
  // Makes the folder where asked; refuses a network file system, where a commit is not known to last.
  StoreFault Prepare(bool make, bool allow_unsafe_durability) const;
  // kOwned with who has it. Nothing to do where it is held already and its file is still there.
  StoreFault Lock(const StoreOwner& owner, Instant now);
  void Unlock();
  bool locked() const { return lock_.valid(); }

  // Refuses a folder that is not there, or in which nothing says that a store ever was: a disk that is not
  // mounted looks like that. Reads only.
  StoreFault CheckEverMade() const;
  // For a daemon that had store `store_id` open here and wants it back: refuses a folder that is gone, holds no
  // database, or another store. Reads only.
  StoreFault CheckStill(const std::string& store_id) const;
  // Whether there is a database to open (found) or one is to be made. `init`: a store that is gone may be
  // replaced; a leftover log of it is laid aside.
  StoreFault Inspect(bool init, Instant now, bool& found);
  // The id the folder has on file, or empty.
  Result<std::string> ReadId() const;
  Status WriteId(const std::string& store_id, Instant created_at) const;

  // Remembers which file store.db is.
  void Remember();
  // Whether it still is that, begins as a store does and is no shorter than it was; and whether the lock is
  // still the one we hold. Cheap enough for every commit.
  StoreFault CheckThere();

  // Bytes free to us, or -1 where that cannot be told.
  int64_t FreeBytes() const;
  bool MountedReadOnly() const;
  // Lays the ballast where there is room, or gives it up; true where there was one.
  void LayBallast() const;
  bool DropBallast() const;

 private:
  StoreFault InspectDatabase();
  bool Look();
  std::string HeaderFault() const;
  StoreFault Gone() const;

  std::string path_;
  Fd lock_;
  // The database as it was looked at last, for reading its first bytes. It stays open: closing any descriptor
  // of a file drops all locks that this process holds on it, those of SQLite's connections too.
  Fd database_;
  int64_t size_ = 0;
};

}  // namespace duecourse
