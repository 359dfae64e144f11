// For tests: a folder of its own that is gone with the test. Nothing of it has a name that another run could
// have.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "base/check.h"

namespace duecourse {

class TestFolder {
 public:
  explicit TestFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : path_((parent / "duecourse-test-XXXXXX").string()) {
    CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace duecourse
