// The daemon's data folder, as the one it was when the executor began. What is missing below it is made again
// (somebody tidied up), but never the folder itself, and nothing in one that took its place: work and markers
// there would be a stranger's. Any thread; calls block.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace duecourse {

class DataFolder {
 public:
  explicit DataFolder(std::string path);  // absolute
  const std::string& path() const { return path_; }
  // Makes <path>/<name>, mode 0700; fine where it is there already. The error says what is with the folder.
  Status Remake(const std::string& name) const;

 private:
  const std::string path_;
  bool known_ = false;  // it was there
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace duecourse
