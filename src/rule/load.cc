// The one place of this room that touches the disk: the settings, the rule
// files, the calendars they name. Everything else works on texts.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "rule/builder.h"
#include "rule/parse_config.h"
#include "rule/place.h"

namespace duecourse {
namespace {

constexpr size_t kFilesMax = 100'000;
constexpr int kFoldersDeep = 8;
constexpr std::array<const char*, 3> kKernelFolders = {"/proc", "/sys", "/dev"};

void AddFileFault(FindingList& findings, const std::string& path, FaultText text) {
  Reader(path, findings).Fault({}, "", std::move(text));
}

// With every symbolic link followed; empty where it leads nowhere.
std::string RealPath(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  const char* real = ::realpath(path.c_str(), buffer.data());
  return real == nullptr ? "" : std::string(real);
}

bool IsInside(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

bool IsOfKernel(const std::string& real_path) {
  return std::any_of(kKernelFolders.begin(), kKernelFolders.end(),
                     [&](const char* folder) { return IsInside(real_path, folder); });
}

// ReadFile names the path, which the finding names already.
std::string WithoutPath(const std::string& message, const std::string& path) {
  std::string prefix = path + ": ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

Result<std::string> ReadText(const std::string& path) {
  if (IsOfKernel(RealPath(path)))
    return Error(StrCat(path, ": files of the kernel (/proc, /sys, /dev) are not read"));
  return ReadFile(path, kYamlMaxBytes);
}

bool IsRuleFile(const std::filesystem::path& path) {
  return path.extension() == ".yaml" || path.extension() == ".yml";
}

// The rule files under a folder, in the order of their names.
class RuleFolder {
 public:
  RuleFolder(std::string root, std::string config_path, FindingList& findings)
      : root_(std::move(root)),
        real_root_(RealPath(root_)),
        config_(RealPath(config_path)),
        findings_(findings) {}

  std::vector<std::string> List() {
    if (IsOfKernel(real_root_)) {
      AddFileFault(findings_, root_,
                   {"file_refused", "files of the kernel (/proc, /sys, /dev) are not read", ""});
      return {};
    }
    Walk(root_, 0);
    std::sort(files_.begin(), files_.end());
    return std::move(files_);
  }

 private:
  void Walk(const std::string& folder, int depth) {
    std::error_code error;
    std::filesystem::directory_iterator at(folder, error);
    for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
      const std::filesystem::path& path = at->path();
      if (path.filename().string().starts_with('.')) continue;
      std::error_code ignored;
      bool is_folder = std::filesystem::is_directory(path, ignored);
      if (!is_folder && !IsRuleFile(path)) continue;
      if (files_.size() >= kFilesMax) {
        return AddFileFault(findings_, root_,
                            {"too_many", StrCat("more than ", kFilesMax, " rule files"), ""});
      }
      Visit(path, is_folder, depth);
    }
    if (error)
      AddFileFault(findings_, folder,
                   {"file_unreadable", StrCat("cannot list this folder: ", ErrnoText(error.value())), ""});
  }
  void Visit(const std::filesystem::path& path, bool is_folder, int depth) {
    std::string name = path.string();
    std::string real = RealPath(name);
    if (real.empty()) {
      return AddFileFault(findings_, name,
                          {"file_unreadable", "this link leads nowhere", "mend it, or remove it"});
    }
    if (!IsInside(real, real_root_)) {
      return AddFileFault(
          findings_, name,
          {"file_refused", "this link leads out of the rules folder", "put the file itself there"});
    }
    if (real == config_) return;  // the settings may stand beside the rules
    if (!is_folder) return files_.push_back(std::move(name));
    if (IsRuleFile(path)) {
      return AddFileFault(
          findings_, name,
          {"file_refused", "this is a folder with the name of a rule file", "name it otherwise"});
    }
    if (depth >= kFoldersDeep) {
      return AddFileFault(
          findings_, name,
          {"file_refused", StrCat("folders of rules lie at most ", kFoldersDeep, " deep"), ""});
    }
    Walk(name, depth + 1);
  }

  std::string root_;
  std::string real_root_;
  std::string config_;
  FindingList& findings_;
  std::vector<std::string> files_;
};

Loaded Finish(SetBuilder& builder, FindingList& findings) {
  Loaded loaded;
  loaded.tasks_seen = builder.seen();
  loaded.readable = builder.Take();
  loaded.findings = findings.Take();
  bool refused = std::any_of(loaded.findings.begin(), loaded.findings.end(),
                             [](const Finding& f) { return f.severity == Finding::Severity::kError; });
  if (!refused) loaded.set = loaded.readable;
  return loaded;
}

ServerConfig LoadConfig(const LoadRequest& request, FindingList& findings) {
  ServerConfig config;
  if (request.config_path.empty()) return config;
  config.folder = ParentFolder(request.config_path);
  struct stat info {};
  bool absent = ::stat(request.config_path.c_str(), &info) != 0 && errno == ENOENT;
  if (absent && !request.config_named) return config;
  Result<std::string> text = ReadText(request.config_path);
  if (!text.ok()) {
    AddFileFault(findings, request.config_path,
                 {"file_unreadable", WithoutPath(text.error().message(), request.config_path), ""});
    return config;
  }
  size_t mark = findings.count();
  config = ParseConfig({request.config_path, *text, ReadText}, findings);
  findings.SortFrom(mark);
  return config;
}

}  // namespace

LoadedSettings LoadSettings(const LoadRequest& request) {
  FindingList findings;
  LoadedSettings loaded;
  loaded.config = LoadConfig(request, findings);
  loaded.findings = findings.Take();
  return loaded;
}

std::string RulesPlace(const LoadRequest& request, const ServerConfig& config) {
  if (!request.rules_path.empty()) return request.rules_path;
  return JoinPath(config.folder == "." ? "" : config.folder, config.rules);
}

Loaded LoadRules(const LoadRequest& request) {
  FindingList findings;
  ServerConfig config = LoadConfig(request, findings);
  SetBuilder builder(config, findings, true);
  const std::string rules = RulesPlace(request, config);
  std::vector<std::string> files;
  if (FolderExists(rules)) {
    files = RuleFolder(rules, request.config_path, findings).List();
  } else {
    files.push_back(rules);
  }
  for (const std::string& path : files) {
    Result<std::string> text = ReadText(path);
    if (text.ok()) {
      builder.AddFile(path, *text);
    } else {
      AddFileFault(findings, path, {"file_unreadable", WithoutPath(text.error().message(), path), ""});
    }
  }
  return Finish(builder, findings);
}

Loaded LoadRulesFromText(const std::vector<NamedText>& rules, const NamedText& config_text) {
  FindingList findings;
  ServerConfig config = ParseConfig({config_text.name, config_text.text, ReadText}, findings);
  findings.SortFrom(0);
  SetBuilder builder(config, findings, false);
  for (const NamedText& file : rules) builder.AddFile(file.name, file.text);
  return Finish(builder, findings);
}

}  // namespace duecourse
