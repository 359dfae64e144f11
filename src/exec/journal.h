// The start markers of attempts: one file, attempts/starts-N below the data
// folder, that grows by a line before anything of an attempt can run and by
// another once its process has an id. (A file for each attempt would cost a
// hundred times as much: creating files waits for the file system's journal.)
//
// Nothing is synced. A marker is believed only within the boot in which it was
// written, and within a boot the page cache forgets nothing, whatever becomes
// of the daemon. So, in the same boot: no marker = certainly never started.
//
// Lines: "boot ID" (the first), "start RUN FENCE", "scratch RUN FENCE FOLDER",
// "process RUN FENCE PID EARLIEST LATEST", "end RUN FENCE". A line that was cut off, or
// that is none of these, counts as absent. The next daemon, or a file that has
// grown to kJournalMaxBytes, takes what has no end over into a new file; so it does where somebody removed
// the file, or its folder.
//
// Any thread may call; all calls block, so none is for the engine's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "base/mutex.h"
#include "exec/data_folder.h"
#include "exec/exec.h"
#include "exec/process.h"

namespace duecourse {

inline constexpr size_t kJournalMaxBytes = 8u << 20;

// "r0123.7": names the attempt in file names, tables and logs.
std::string AttemptName(const AttemptRef& ref);
// DUECOURSE_RESULT of an attempt that runs as the daemon's own user.
std::string ResultPath(const std::string& data_folder, const AttemptRef& ref);

class StartJournal {
 public:
  // Reads what former daemons of this boot left. Where files cannot be read or written it says so in the log,
  // and what depends on it fails or is not believed.
  StartJournal(std::string data_folder, std::string boot_id, Log& log);
  StartJournal(const StartJournal&) = delete;
  StartJournal& operator=(const StartJournal&) = delete;

  // Fails where it cannot be written; then nothing may be started.
  Status Start(const AttemptRef& ref, const std::string& scratch);
  Status Process(const AttemptRef& ref, pid_t pid, ProcessBirth birth);
  // These attempts need their markers no more. Fine where they have none.
  void End(const std::vector<AttemptRef>& refs);

  struct Facts {
    enum class Started {
      kNever,
      kPerhaps,
      kYes
    };  // kPerhaps: no marker, but the markers of this boot are not all there
    Started started = Started::kPerhaps;
    pid_t pid = 0;  // 0: none was noted
    ProcessBirth birth;
    std::string scratch;
  };
  // An attempt that perhaps started gets a marker by being asked about, so that no later daemon comes to
  // believe that it never did.
  Facts Look(const AttemptRef& ref);

 private:
  struct Entry {
    pid_t pid = 0;
    ProcessBirth birth;
    std::string scratch;
  };
  using Entries = std::unordered_map<std::string, Entry>;  // by "RUN FENCE"

  void ReadFormer(const std::vector<std::string>& files) REQUIRES(mutex_);
  void Take(std::string_view line) REQUIRES(mutex_);
  Status OpenNew() REQUIRES(mutex_);
  bool Removed() const REQUIRES(mutex_);
  Status Append(const std::string& lines) REQUIRES(mutex_);
  static std::string LinesOf(const std::string& key, const Entry& entry);

  const DataFolder data_;
  const std::string folder_;
  const std::string boot_id_;
  Log& log_;
  Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);
  bool complete_ GUARDED_BY(mutex_) =
      false;  // the former daemon of this boot left its markers, and all could be read
  Fd fd_ GUARDED_BY(mutex_);
  std::string path_ GUARDED_BY(mutex_);
  int64_t number_ GUARDED_BY(mutex_) = 0;
  size_t size_ GUARDED_BY(mutex_) = 0;
  size_t next_size_ GUARDED_BY(mutex_) = kJournalMaxBytes;
  bool cut_off_ GUARDED_BY(mutex_) = false;  // the last line may be incomplete
};

}  // namespace duecourse
